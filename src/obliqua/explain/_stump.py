"""One split chosen anew by an estimator's own method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray
from obliqua.data.problem import encode
from obliqua.data.table import Table
from obliqua.tree.layout import NodeKind, pointers
from obliqua.tree.tree import Tree
from obliqua.words.levels import table_of
from obliqua.words.subject import Subject


def stump_maker(
    estimator: Any, subject: Subject, Z: AnyArray, codes: AnyArray, weights: FloatArray
) -> Callable[[Any, AnyArray, int], Tree | None]:
    """Return what fits a copy of an estimator to rows of one node."""
    # Class weights and scales are made from all rows, not from those of a node.
    narrow = codes.astype(np.int32)
    found = estimator._weights_of_classes(subject.classes, narrow, weights)
    missing: BoolArray = np.asarray(np.isnan(Z).any(axis=0))
    table = Table(np.asarray(Z), subject.encoding, missing)
    scale = estimator._feature_scale(table, narrow, weights, found)
    means: FloatArray | None = None
    if estimator.get_params(deep=False).get("fill") == "training":
        means = encode(table, narrow, len(subject.classes), weights, found).means
        means = np.where(_coded(subject), np.nan, means)
    total = float((weights if found is None else found[codes] * weights).sum())
    return _Stumps(estimator, subject, found, scale, means, total).make


@dataclass(frozen=True, eq=False)
class _Stumps:
    """Fits copies of an estimator to rows of one node, with what was made from all rows."""

    estimator: Any
    subject: Subject
    class_weight: FloatArray | None
    scale: FloatArray | None
    means: FloatArray | None
    total: float

    def make(self, bag: Any, rows: AnyArray, seed: int) -> Tree | None:
        """Fit a copy to rows of a bag; None if it finds no split."""
        from sklearn.base import clone

        drawn = bag.codes[rows]
        if (drawn == drawn[0]).all():
            return None
        share = float((self._weights_of(bag.codes) * bag.weights).sum()) / self.total
        stump = clone(self.estimator).set_params(
            **self._params(min(share, 1.0)), random_state=seed
        )
        seen = bag.Z[rows]
        if self.means is not None:
            seen = np.where(np.isnan(seen), self.means, seen)
        seen = seen if self.scale is None else seen * self.scale
        stump.fit(seen, drawn)
        if stump.tree_.kind[0] != NodeKind.HYPERPLANE:
            return None
        return _in_own_terms(stump.model_, self.subject, self.scale, self.means)

    def _weights_of(self, codes: AnyArray) -> FloatArray:
        """Return the weight of each row's class."""
        return np.ones(len(codes)) if self.class_weight is None else self.class_weight[codes]

    def _by_code(self) -> dict[int, float] | None:
        """Return the weights of the classes by their codes, which are a stump's labels."""
        return None if self.class_weight is None else dict(enumerate(self.class_weight.tolist()))

    def _params(self, share: float) -> dict[str, Any]:
        """Make limits that refer to the whole tree refer to a share of its weight."""
        known = self.estimator.get_params(deep=False)
        wanted = {
            "max_depth": 1,
            "max_leaf_nodes": None,
            "pruning": None,
            "collapse": False,
            "ccp_alpha": None,
            "class_weight": self._by_code(),
            "priors": None,
            "scale": None,
            "n_jobs": 1,
            "categorical_features": np.flatnonzero(_coded(self.subject)).tolist() or None,
            "min_samples_split": self._rows(known["min_samples_split"], 2),
            "min_samples_leaf": self._rows(known["min_samples_leaf"], 1),
            "min_weight_fraction_leaf": min(0.5, known["min_weight_fraction_leaf"] / share),
            "min_impurity_decrease": known["min_impurity_decrease"] / share,
        }
        return {name: value for name, value in wanted.items() if name in known}

    def _rows(self, limit: float, least: int) -> int:
        # The rows that grew the tree are those at its root.
        if isinstance(limit, Integral):
            return int(limit)
        return max(least, ceil(limit * int(self.subject.tree.n_samples[0])))


def _coded(subject: Subject) -> list[bool]:
    """Say which columns are qualitative."""
    return [column.kind == "qualitative" for column in subject.encoding.columns]


def _in_own_terms(
    stump: Any, subject: Subject, scale: FloatArray | None, means: FloatArray | None
) -> Tree:
    """Say a stump over scaled features and codes of its own in those of the subject."""
    tree: Tree = stump.trees[0]
    coef, fill = tree.coef, tree.fill
    if scale is not None:
        # A normal over scaled features is one over the features once it is scaled itself.
        coef, fill = coef * scale[tree.coef_idx], fill / scale[tree.coef_idx]
    if means is not None:
        there = means[tree.coef_idx]
        fill = np.where(np.isnan(there), fill, there)
    tables = []
    for k, place in enumerate(tree.coef_idx.tolist()):
        own = table_of(tree, k)
        table = np.zeros(len(subject.encoding.columns[place].levels) if len(own) else 0)
        # Its levels are codes of the subject; those of no known level are -1.
        for number, level in zip(own.tolist(), stump.encoding.columns[place].levels, strict=False):
            if 0 <= int(level) < len(table):
                table[int(level)] = number
        tables.append(table)
    return replace(
        tree,
        coef=coef,
        fill=fill,
        table=np.concatenate([np.zeros(0), *tables]),
        table_ptr=pointers([len(table) for table in tables]),
    )
