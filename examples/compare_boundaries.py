"""Axis-parallel and oblique splits on the same rows.

CART cuts a slanted border into steps; HHCART follows it with a few lines. Both trees are pruned
on held-out rows.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from obliqua import CartClassifier, HHCartClassifier, plot_boundary

cancer = load_breast_cancer(as_frame=True)
X, y = cancer.data[["worst radius", "worst concave points"]], cancer.target
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ax, model in zip(axes, (CartClassifier(), HHCartClassifier(scale="standard")), strict=True):
    model.set_params(random_state=0).fit(X, y)
    plot_boundary(model, X, y, ax=ax, class_names=cancer.target_names)
    ax.set_title(f"{type(model).__name__}, {model.get_n_leaves()} leaves", fontsize=9, loc="right")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
