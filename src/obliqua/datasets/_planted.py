"""Rows whose classes a random oblique tree has given: the best possible accuracy is 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from obliqua._core.base.linalg import product
from obliqua._typing import AnyArray, FloatArray
from obliqua.data.weights import round_significant
from obliqua.datasets._chance import generator, orthonormal, whole_number
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree

__all__ = ["make_planted_tree"]

_PROBE = 4096  # rows that say where the borders of the tree lie


def make_planted_tree(
    n_rows: int = 10_000,
    depth: int = 4,
    n_features: int = 10,
    *,
    n_classes: int = 2,
    random_state: Any = None,
    return_X_y: bool = False,
) -> Any:
    """Make rows and let a random tree of dense hyperplanes say their classes.

    The features are normal, with standard deviations between 0.5 and 2, and then turned, so that
    no axis means anything. Each split has a random direction, and leaves a share of the rows
    between 0.3 and 0.7 on its left. The two leaves of a last split have different classes. No
    greedy search sees such a tree: single splits of it are hardly better than chance.

    Parameters
    ----------
    n_rows : int, default=10000
        The number of rows.
    depth : int, default=4
        The depth of the tree; it has ``2 ** depth`` leaves.
    n_features : int, default=10
        The number of features.
    n_classes : int, default=2
        The number of classes.
    random_state : int, Generator or RandomState, default=None
        The seed, of the tree and of the rows. None: another one each time.
    return_X_y : bool, default=False
        Whether to return the rows and the classes only.

    Returns
    -------
    Bunch
        With `data`, `target`, `feature_names`, `target_names` and `tree`, the true `Tree`; or the
        pair ``(data, target)``.

    Examples
    --------
    >>> from obliqua.datasets import make_planted_tree
    >>> rows = make_planted_tree(1000, depth=2, random_state=0)
    >>> rows.tree
    Tree(7 nodes, 4 leaves, depth 2, 10 columns, 2 stats)
    >>> bool((rows.tree.leaf_label[rows.tree.apply(rows.data)] == rows.target).all())
    True
    """
    n_rows = whole_number("n_rows", n_rows, 1)
    depth = whole_number("depth", depth, 1)
    n_features = whole_number("n_features", n_features, 1)
    n_classes = whole_number("n_classes", n_classes, 2)
    if random_state is None:
        random_state = np.random.default_rng()
    chance = generator(random_state, "another one each time")
    turned, _ = orthonormal(_normal(chance, n_features, n_features))
    form = round_significant(chance.uniform(0.5, 2.0, size=n_features))[:, None] * turned.T
    probe = product(_normal(chance, max(_PROBE, 64 << depth), n_features), form)
    tree = _planted(probe, depth, n_classes, chance)
    data = product(_normal(chance, n_rows, n_features), form)
    target: AnyArray = tree.leaf_label[tree.apply(data)]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        feature_names=[f"x{k}" for k in range(n_features)],
        target_names=np.arange(n_classes),
        tree=tree,
    )


def _normal(chance: np.random.Generator, *shape: int) -> FloatArray:
    """Draw normal numbers of 24 bits: the last ones are those of a C library's logarithm."""
    return round_significant(chance.normal(size=shape))


def _planted(probe: FloatArray, depth: int, n_classes: int, chance: np.random.Generator) -> Tree:
    """Draw a tree; the rows of `probe` say where half of the rows of a node lie."""
    builder = TreeBuilder(n_features=probe.shape[1], n_stats=n_classes)
    waiting: list[tuple[str, FloatArray, int]] = [("", probe, 0)]
    while waiting:
        path, rows, level = waiting.pop()
        if level == depth:
            continue
        normal = _normal(chance, probe.shape[1])
        heights = product(rows, normal)
        border = float(round_significant(np.quantile(heights, chance.uniform(0.3, 0.7))))
        sides = (path + "l", path + "r")
        builder.add_split(path, normal, border, sides)
        if level + 1 == depth:
            classes = chance.choice(n_classes, size=2, replace=False)
            for side, label in zip(sides, classes.tolist(), strict=True):
                builder.set_leaf(side, np.eye(n_classes)[label])
        waiting.append((sides[1], rows[heights > border], level + 1))
        waiting.append((sides[0], rows[heights <= border], level + 1))
    return builder.build()
