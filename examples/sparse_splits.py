"""All features in a split, or two.

Both trees see the same thirty features. Splits over two of them give up a little accuracy, and
can be read.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from obliqua import HHCartClassifier, plot_tree

cancer = load_breast_cancer(as_frame=True)
X, y = cancer.data, cancer.target
figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
for ax, limit in zip(axes, (None, 2), strict=True):
    model = HHCartClassifier(
        extra_directions="fisher", max_features_per_split=limit, max_depth=2, pruning=None
    ).fit(X, y)
    plot_tree(model, X, y, ax=ax, class_names=cancer.target_names, max_terms=2)
    ax.set_title(f"max_features_per_split={limit}, {model.score(X, y):.1%} right", fontsize=9)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
