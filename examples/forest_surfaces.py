"""One tree, a random forest and an oblique forest on the same rows.

Three classes meet along slanted borders. Colours are the chances of the classes; the share above
each picture was counted on other rows.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from obliqua import CartClassifier, ObliqueForestClassifier

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(3000, 2))
along = X[:, 0] + X[:, 1] + 0.4 * rng.normal(size=3000)
y = np.digitize(along, [-1.5, 1.5])
X, X_new, y, y_new = X[:400], X[400:], y[:400], y[400:]

models = {
    "one tree, CART": CartClassifier(),
    "n_oblique=0, a random forest": ObliqueForestClassifier(n_oblique=0),
    "oblique forest": ObliqueForestClassifier(),
}
grid = np.linspace(-3, 3, 80)
pixels = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.set_params(random_state=0).fit(X, y)
    chances = model.predict_proba(pixels) @ plt.get_cmap("Set2")([0, 1, 2])[:, :3]
    ax.imshow(chances.reshape(80, 80, 3), origin="lower", extent=(-3, 3, -3, 3), gid="surface")
    ax.scatter(*X.T, s=4, c=plt.get_cmap("Dark2")(y), gid="rows")
    ax.set_title(f"{name}: {100 * model.score(X_new, y_new):.1f} %", fontsize=9)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
