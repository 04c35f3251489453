"""A tree and what its nodes see.

Each node shows its question and the rows that reach it, along the question's own direction. At
most three features in a split keep the questions short.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from obliqua import HHCartClassifier, plot_tree

X, y = load_wine(return_X_y=True, as_frame=True)
model = HHCartClassifier(
    extra_directions="fisher", max_features_per_split=3, max_leaf_nodes=4, pruning=None
).fit(X, y)
plot_tree(model, X, y, class_names=["cultivar 1", "cultivar 2", "cultivar 3"])

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=200)
else:
    plt.show()
