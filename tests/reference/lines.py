"""Twin of linear functions in leaves: least squares with a penalty, by `numpy.linalg.solve`.

A function is f(x) = a + c.x with the c that minimises sum of w (y - f)^2 + penalty |c|^2, over
columns that all rows have standardised. It says nothing beyond the numbers of its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import search
from reference.slopes import priced

Floats = NDArray[np.float64]

LEAST_PENALTY = 1e-9
LEVEL_ROWS = 10.0
PIECES = 17


@dataclass(frozen=True)
class Fit:
    """A function of standardised columns, and what it leaves over, the penalty included."""

    coef: Floats
    middle: Floats
    mean: float
    left: float


def ridge(U: Floats, y: Floats, w: Floats, penalty: float, wanted: Any = None) -> Fit:
    """Least squares with a penalty; of the wanted columns, if not all are."""
    middle = (w[:, None] * U).sum(axis=0) / w.sum()
    mean = float((w * y).sum() / w.sum())
    off, rest = U - middle, y - mean
    keep = np.ones(U.shape[1], dtype=bool) if wanted is None else np.asarray(wanted, dtype=bool)
    some = off[:, keep]
    matrix = some.T @ (w[:, None] * some)
    matrix += (penalty + LEAST_PENALTY * w.sum()) * np.eye(len(matrix))
    moment = some.T @ (w * rest)
    coef = np.zeros(U.shape[1])
    coef[keep] = np.linalg.solve(matrix, moment)
    left = float((w * rest * rest).sum() - moment @ coef[keep])
    return Fit(coef, middle, mean, left)


def eliminated(U: Floats, y: Floats, w: Floats, penalty: float, most: int) -> Fit:
    """One column after another goes, the one that matters least, until few enough are left."""
    fit = ridge(U, y, w, penalty)
    wanted = fit.coef != 0.0
    off = U - fit.middle
    width = np.sqrt((w[:, None] * off**2).sum(axis=0) / w.sum())
    while wanted.sum() > most:
        size = np.where(wanted, np.abs(fit.coef) * width, np.inf)
        wanted[int(np.argmin(size))] = False
        fit = ridge(U, y, w, penalty, wanted)
    return fit


@dataclass(frozen=True)
class Standard:
    """Columns as functions see them: missing values filled, levels as numbers, of spread 1."""

    matrix: Floats
    factor: Floats
    fill: Floats
    tables: dict[int, Floats]


def standard(
    Z: Floats, y: Floats, w: Floats, n_levels: Sequence[int], row_unit: float
) -> Standard:
    """The columns of all rows; a unit of weight counts as `row_unit` rows."""
    matrix = np.array(Z, dtype=np.float64)
    factor, fill = np.ones(Z.shape[1]), np.zeros(Z.shape[1])
    tables = {}
    for column, levels in enumerate(n_levels):
        values = matrix[:, column].copy()
        absent = np.isnan(values)
        if levels == 0:
            fill[column] = np.average(values[~absent], weights=w[~absent])
            off = values[~absent] - fill[column]
            sd = np.sqrt(np.average(off**2, weights=w[~absent]))
            factor[column] = 1.0 / sd if sd > 0.0 else 1.0
            matrix[absent, column] = fill[column]
        else:
            numbers = np.zeros(levels + 1)
            level = np.where(absent, levels, values).astype(int)
            mean = np.average(y, weights=w)
            for k in range(levels + 1):
                there = level == k
                rise = (w[there] * (y[there] - mean)).sum()
                numbers[k] = rise / (w[there].sum() + LEVEL_ROWS / row_unit)
            numbers -= np.average(numbers[level], weights=w)
            sd = np.sqrt(np.average(numbers[level] ** 2, weights=w))
            numbers = numbers / sd if sd > 0.0 else 0.0 * numbers
            matrix[:, column] = numbers[level]
            tables[column], fill[column] = numbers[:-1], float(numbers[-1])
    return Standard(matrix * factor, factor, fill, tables)


# --- what a tree says ------------------------------------------------------------------------


def value(tree: Any, node: int, row: Sequence[float]) -> float:
    """What the function of a node says of a row, within its limits."""
    total = float(tree.leaf_intercept[node])
    for k in range(int(tree.leaf_ptr[node]), int(tree.leaf_ptr[node + 1])):
        raw = float(row[int(tree.leaf_idx[k])])
        table = tree.leaf_table[int(tree.leaf_table_ptr[k]) : int(tree.leaf_table_ptr[k + 1])]
        if np.isnan(raw):
            raw = float(tree.leaf_fill[k])
        elif len(table):
            raw = float(table[int(raw)]) if 0 <= raw < len(table) else 0.0
        total += float(tree.leaf_coef[k]) * raw
    if np.isnan(total):
        total = float(tree.stats[node, 1])
    return min(max(total, float(tree.leaf_low[node])), float(tree.leaf_high[node]))


def path(tree: Any, node: int) -> list[int]:
    """A node and all above it, the root first."""
    found = [node]
    while found[0]:
        found.insert(0, int(tree.parent[found[0]]))
    return found


def node_errors(tree: Any, Z: Floats, y: Floats, w: Floats) -> Floats:
    """What the rows that reach each node would cost if it were a leaf; y has its outputs."""
    errors = np.zeros(tree.n_nodes)
    for row, leaf in enumerate(tree.apply(Z).tolist()):
        for node in path(tree, leaf):
            said = [value(tree, node, Z[row])] if tree.has_lines else tree.mean[node]
            errors[node] += w[row] * float(((y[row] - said) ** 2).sum())
    return errors


# --- cuts ------------------------------------------------------------------------------------


def quantile_cuts(z: Floats, w: Sequence[int], tolerance: float) -> list[int]:
    """How many rows lie left of each cut: at each 17th, the next place where values differ.

    Also below equal values that have a 17th of the weight.
    """
    order = np.argsort(z, kind="stable")
    total = sum(w)
    ends = [
        i
        for i in range(1, len(order) + 1)
        if i == len(order) or z[order[i]] - z[order[i - 1]] > tolerance
    ]
    below = {end: sum(w[row] for row in order[:end]) for end in [0, *ends]}
    places = set()
    for piece in range(1, PIECES):
        places |= {next(end for end in ends if PIECES * below[end] >= piece * total)}
    for start, end in pairwise([0, *ends]):
        if PIECES * (below[end] - below[start]) >= total:
            places.add(start)
    return sorted(places - {0, len(order)})


@dataclass(frozen=True)
class ModelCut:
    """A cut, and what it is worth: how much less is left over, per weight."""

    worth: float
    direction: int
    threshold: float
    left: frozenset[int]


def model_cuts(
    X: Floats,
    U: Floats,
    y: Floats,
    w: Sequence[int],
    directions: Sequence[search.Direction],
    penalty: float,
    n_rows: float,
    price: float,
    min_rows: int = 1,
) -> list[ModelCut]:
    """All cuts that are tried. `penalty` is in units of weight; U: columns of the functions."""
    weights = np.array(w, dtype=np.float64)
    total = weights.sum()
    variance = ridge(U, y, weights, penalty).left / total
    found = []
    for number, direction in enumerate(directions):
        z, tolerance = search.project(X, direction)
        order = np.argsort(z, kind="stable")
        for cut in quantile_cuts(z, w, tolerance):
            if min(cut, len(order) - cut) < min_rows:
                continue
            left, right = order[:cut], order[cut:]
            after = sum(
                ridge(U[side], y[side], weights[side], penalty).left for side in (left, right)
            )
            worth = priced(variance - after / total, variance, n_rows, len(direction.idx), price)
            threshold = search.midpoint(float(z[left[-1]]), float(z[right[0]]))
            found.append(ModelCut(worth, number, threshold, frozenset(left.tolist())))
    return found
