"""All features in a split, or two.

Both trees see the same thirty features. Splits over two of them can be read. The share that is
right was counted on rows that the trees had not seen; the pictures show the rows of training.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from obliqua import HHCartClassifier, plot_tree

cancer = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(
    cancer.data, cancer.target, test_size=0.4, stratify=cancer.target, random_state=0
)
figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
for ax, limit in zip(axes, (None, 2), strict=True):
    model = HHCartClassifier(
        extra_directions="fisher", max_features_per_split=limit, max_depth=2, pruning=None
    ).fit(X, y)
    plot_tree(model, X, y, ax=ax, class_names=cancer.target_names, max_terms=2)
    right = model.score(X_test, y_test)
    ax.set_title(f"max_features_per_split={limit}, {right:.1%} of new rows right", fontsize=9)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
