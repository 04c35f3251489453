"""A larger tree with ten classes.

More than twelve leaves have smaller boxes, and larger trees lie on their side. With more than
eight classes each node names those that mostly take either branch.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from obliqua import HHCartClassifier, plot_tree

X, y = load_digits(return_X_y=True, as_frame=True)
model = HHCartClassifier(variant="dominant", max_features_per_split=4, max_leaf_nodes=16)
model.set_params(pruning=None).fit(X, y)
plot_tree(model, X, y, max_terms=2)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=80)
else:
    plt.show()
