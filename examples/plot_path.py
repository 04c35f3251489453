"""Why this answer: the way of one row.

A strip per node shows where the row lies among the others and what moves it there. Bars to the
left move it towards yes, bars to the right towards no.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from obliqua import HHCartClassifier, plot_path

cancer = load_breast_cancer(as_frame=True)
X, y = cancer.data, cancer.target
model = HHCartClassifier(max_features_per_split=4, max_leaf_nodes=6, pruning=None).fit(X, y)
plot_path(model, X.iloc[73], X=X, y=y, class_names=cancer.target_names)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
