"""One split chosen anew by an estimator's own method."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from obliqua._subject import Subject
from obliqua._typing import AnyArray, FloatArray
from obliqua.explain._planes import plane_parts
from obliqua.tree import NodeKind, Tree

# The columns of a split, its coefficients and its threshold.
Split: TypeAlias = tuple[AnyArray, FloatArray, float]


def stump_maker(
    estimator: Any, subject: Subject, Z: AnyArray, codes: AnyArray, weights: FloatArray
) -> Callable[[Any, AnyArray, int], Split | None]:
    """Return what fits a copy of an estimator to rows of one node.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this library.
    subject : Subject
        Its tree.
    Z : ndarray of shape (n_rows, n_features)
        All rows that the estimator was fitted to.
    codes, weights : ndarray of shape (n_rows,)
        Their classes and their weights.

    Returns
    -------
    callable
        A function of a bag (with `Z`, `codes` and `weights`), of the rows drawn from it, and of
        a seed. It returns the split over the features' own units, or None if there is none.
    """
    from sklearn.base import clone

    known = estimator.get_params(deep=False)
    tree = subject.tree
    # Class weights and scales are made from all rows, not from those of a node.
    narrow = codes.astype(np.int32)
    found = estimator._weights_of_classes(subject.classes, narrow, weights)
    scale = estimator._feature_scale(Z, narrow, weights, found)
    class_weight = np.ones(len(subject.classes)) if found is None else found
    total = float((class_weight[codes] * weights).sum())

    def params_of(share: float) -> dict[str, Any]:
        """Make limits that refer to the whole tree refer to a share of its weight."""
        wanted = {
            "max_depth": 1,
            "max_leaf_nodes": None,
            "pruning": None,
            "ccp_alpha": None,
            "class_weight": None,
            "priors": None,
            "scale": None,
            "n_jobs": 1,
            "min_samples_split": rows_of(known["min_samples_split"], 2),
            "min_samples_leaf": rows_of(known["min_samples_leaf"], 1),
            "min_weight_fraction_leaf": min(0.5, known["min_weight_fraction_leaf"] / share),
            "min_impurity_decrease": known["min_impurity_decrease"] / share,
        }
        return {name: value for name, value in wanted.items() if name in known}

    def rows_of(limit: float, least: int) -> int:
        # The rows that grew the tree are those at its root.
        if isinstance(limit, Integral):
            return int(limit)
        return max(least, ceil(limit * int(tree.n_samples[0])))

    def make(bag: Any, rows: AnyArray, seed: int) -> Split | None:
        drawn = bag.codes[rows]
        if (drawn == drawn[0]).all():
            return None
        share = float((class_weight[bag.codes] * bag.weights).sum()) / total
        stump = clone(estimator).set_params(**params_of(min(share, 1.0)), random_state=seed)
        seen = bag.Z[rows] if scale is None else bag.Z[rows] * scale
        stump.fit(seen, drawn, None if found is None else class_weight[drawn])
        fitted: Tree = stump.tree_
        if fitted.kind[0] != NodeKind.HYPERPLANE:
            return None
        idx, coef, _, threshold = plane_parts(fitted, 0)
        # A normal over scaled features is one over the features once it is scaled itself.
        return idx, coef if scale is None else coef * scale[idx], threshold

    return make
