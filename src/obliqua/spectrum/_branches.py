"""Which branch of a split each level of a feature takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from obliqua._typing import Int64Array
from obliqua.data.encoding import QUALITATIVE, Encoding
from obliqua.errors import TreeError
from obliqua.spectrum.domain import INTERVALS, Domain
from obliqua.tree.from_sklearn import BEYOND
from obliqua.tree.layout import KIND_NAMES, NodeKind
from obliqua.tree.tree import Tree

# The place of the largest finite number in the order of all of them.
_LARGEST = int(np.float64(np.finfo(np.float64).max).view(np.int64))


def split_column(tree: Tree, node: int) -> int:
    """Return the coefficient of the one column that a split asks about."""
    kind = NodeKind(int(tree.kind[node]))
    plane = int(tree.plane_ptr[node])
    start, end = int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])
    used = [k for k in range(start, end) if tree.coef[k] != 0.0]
    if kind == NodeKind.MACHINE or len(used) > 1:
        what = (
            KIND_NAMES[kind] if kind == NodeKind.MACHINE else f"a split over {len(used)} columns"
        )
        raise TreeError(
            f"Node {node} is {what}. A spectrum over discrete features can be found of trees "
            "whose splits ask about one column each: take a method such as C45Classifier or "
            "CartClassifier, or scikit-learn's trees."
        )
    return used[0] if used else start


def cut_of(tree: Tree, node: int, k: int) -> float:
    """Return the largest number that goes to the lower side of a split of one numeric column.

    The walk compares the rounded product of coefficient and number with the threshold. That is
    monotone, so there is one place where the answer changes; none, and an infinite cut, if all
    numbers take the same side.
    """
    factor = float(tree.coef[k])
    threshold = float(tree.threshold[tree.plane_ptr[node]])
    if factor == 0.0:
        return np.inf if threshold >= 0.0 else -np.inf
    if factor == 1.0:
        return np.inf if threshold >= BEYOND else threshold
    low, high = -_LARGEST - 1, _LARGEST  # all numbers in their order, and what is before them
    while low < high:
        middle = (low + high + 1) // 2
        # Whether the number is on the side of -inf: left for a positive factor.
        if (factor * _number(middle) <= threshold) == (factor > 0):
            low = middle
        else:
            high = middle - 1
    if low in (-_LARGEST - 1, _LARGEST):
        return -np.inf if low < 0 else np.inf
    return _number(low)


def _number(place: int) -> float:
    """Return the finite number at a place in the order of all; 0 is that of 0."""
    magnitude = float(np.int64(abs(place)).view(np.float64))
    return magnitude if place >= 0 else -magnitude


def cuts_of(tree: Tree, encoding: Encoding) -> Iterator[tuple[int, float]]:
    """Yield the column and the cut of every split of a numeric column; some may come twice."""
    # What most trees are: one numeric column with coefficient 1 against a threshold.
    one_each = len(tree.coef) == tree.n_planes == np.count_nonzero(~tree.is_leaf)
    if encoding.numeric and one_each and len(tree.table) == 0 and (tree.coef == 1.0).all():
        there = tree.threshold < BEYOND
        yield from zip(tree.coef_idx[there].tolist(), tree.threshold[there].tolist(), strict=True)
        return
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        k = split_column(tree, node)
        column = int(tree.coef_idx[k])
        if encoding.columns[column].kind == QUALITATIVE:
            continue
        _check_numeric(tree, node, k, encoding.columns[column].name)
        cut = cut_of(tree, node, k)
        if np.isfinite(cut):
            yield column, cut


def _check_numeric(tree: Tree, node: int, k: int, name: str) -> None:
    if tree.table_ptr[k + 1] > tree.table_ptr[k]:
        raise TreeError(
            f"Node {node} asks about levels of the column {name!r}, whose levels are not known. "
            "Give the estimator or the Model that the tree is of, which knows them, or a Domain "
            "of your own."
        )


def branches_of(tree: Tree, node: int, domain: Domain) -> tuple[int, Int64Array]:
    """Return the feature that a split asks about, and the branch that each of its levels takes."""
    k = split_column(tree, node)
    column = int(tree.coef_idx[k])
    feature = domain.features[column]
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    threshold = float(tree.threshold[tree.plane_ptr[node]])
    factor = float(tree.coef[k])
    if feature.kind == INTERVALS:
        _check_numeric(tree, node, k, feature.name)
        return column, _sides_of_intervals(domain, column, cut_of(tree, node, k), factor)
    numbers = feature.numbers
    if len(table):
        inside = (numbers >= 0) & (numbers < len(table))
        codes = np.where(inside, numbers, 0).astype(np.int64)
        if tree.kind[node] == NodeKind.LEVELS:
            return column, np.where(inside, table[codes], threshold).astype(np.int64)
        numbers = np.where(inside, table[codes], 0.0)
    return column, (factor * numbers > threshold).astype(np.int64)


def _sides_of_intervals(domain: Domain, column: int, cut: float, factor: float) -> Int64Array:
    feature = domain.features[column]
    thresholds = feature.numbers
    n_low = int(np.searchsorted(thresholds, cut)) + (cut > -np.inf)
    if np.isfinite(cut) and (n_low > len(thresholds) or thresholds[n_low - 1] != cut):
        raise TreeError(
            f"A split cuts {feature.name!r} at {cut!r}, inside an interval of the domain. Make "
            "the domain of all trees that it is for: Domain.of_trees(trees, encoding)."
        )
    above = np.arange(feature.cardinality) >= n_low
    return (above if factor >= 0 else ~above).astype(np.int64)
