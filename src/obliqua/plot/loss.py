"""The curve of a refinement's loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua._typing import FloatArray
from obliqua.plot._canvas import axes_of, check_ax

BLUE = "#0072b2"
SIZE = 8.0  # points


def plot_loss(curve: Any, *, ax: Any = None) -> Any:
    """Draw how the loss of a refined tree fell, pass by pass.

    It falls within each stage, and jumps up where the tree was made smaller or its gates became
    soft again. If it is still falling steeply at the end, cycles or more leaves may help.

    Parameters
    ----------
    curve : RefinedTreeClassifier or array-like of shape (n_passes,)
        A fitted classifier, or its `loss_curve_`.
    ax : matplotlib Axes, default=None
        Where to draw; without it, a figure is made.

    Returns
    -------
    matplotlib Axes
        What was drawn in. The line has the gid ``loss``.

    Raises
    ------
    ValueError
        If there is no curve, because the greedy tree was kept.
    MissingDependency
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from obliqua import RefinedTreeClassifier, plot_loss
    >>> from obliqua.datasets import make_planted_tree
    >>> X, y = make_planted_tree(2000, depth=1, random_state=0, return_X_y=True)
    >>> tree = RefinedTreeClassifier(max_leaf_nodes=2, random_state=0).fit(X, y)
    >>> plot_loss(tree).get_xlabel()
    'pass over the rows'
    """
    check_ax(ax)
    values = _checked(getattr(curve, "loss_curve_", curve))
    ax = axes_of(ax, (6.0, 3.0), "Drawing a loss")
    (line,) = ax.plot(np.arange(1, len(values) + 1), values, color=BLUE, linewidth=1.2)
    line.set_gid("loss")
    ax.set_xlabel("pass over the rows", fontsize=SIZE + 1)
    ax.set_ylabel("mean loss", fontsize=SIZE + 1)
    ax.tick_params(labelsize=SIZE)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _checked(curve: Any) -> FloatArray:
    try:
        values: FloatArray = np.asarray(curve, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"plot_loss() takes a fitted RefinedTreeClassifier or its loss_curve_; got "
            f"{type(curve).__name__}."
        ) from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("The curve of a loss is a list of finite numbers, one per pass.")
    if len(values) == 0:
        raise ValueError(
            "There is no loss to draw: nothing was refined. The greedy tree was kept, or the tree "
            "has one leaf; see `chosen_`."
        )
    return values
