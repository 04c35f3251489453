"""A slice through the regions of a tree.

The tree knows four features; two are shown and the others are held at their medians. Rows fade
with their distance from the slice.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from obliqua import HHCartClassifier, plot_boundary

iris = load_iris(as_frame=True)
model = HHCartClassifier(extra_directions="fisher", random_state=0).fit(iris.data, iris.target)
plot_boundary(
    model,
    iris.data,
    iris.target,
    features=["petal length (cm)", "petal width (cm)"],
    class_names=iris.target_names,
)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=130)
else:
    plt.show()
