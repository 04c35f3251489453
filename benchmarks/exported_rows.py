"""Rows for the benchmarks of exported models: random ones, and ones next to thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua.export.computation import Computation
from obliqua.export.self_test import self_test
from obliqua.tree.layout import NodeKind


def random_rows(computation: Computation, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of entries out of the self-test, numbers of them shaken."""
    known = self_test(computation).rows
    rows = known[rng.integers(0, len(known), (n, known.shape[1])), np.arange(known.shape[1])]
    for place, column in enumerate(computation.columns):
        if column.kind == "numeric":
            rows[:, place] += rng.normal(size=n) * np.nanstd(known[:, place])
    return rows


def plane_of(tree: Any, node: int, rng: np.random.Generator) -> tuple[list[Any], float]:
    """The terms and the threshold of a hyperplane, or of the difference of two of a machine."""

    def terms(plane: int, sign: float) -> list[Any]:
        part = range(tree.coef_ptr[plane], tree.coef_ptr[plane + 1])
        tables = [tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]] for k in part]
        return [
            (tree.coef_idx[k], sign * tree.coef[k], t) for k, t in zip(part, tables, strict=True)
        ]

    first = int(tree.plane_ptr[node])
    if tree.kind[node] != NodeKind.MACHINE:
        return terms(first, 1.0), float(tree.threshold[first])
    a, b = first + rng.choice(tree.n_children[node], 2, replace=False)
    return terms(a, 1.0) + terms(b, -1.0), float(tree.threshold[a] - tree.threshold[b])


def moved_to(
    rows: np.ndarray, terms: list[Any], threshold: float, rng: np.random.Generator
) -> np.ndarray:
    """Rows with a number moved so that the sum of terms is next to the threshold."""
    slopes: dict[int, float] = {}
    value = np.zeros(len(rows))
    for column, coefficient, table in terms:
        entry = rows[:, column]
        if len(table):
            inside = (entry >= 0) & (entry < len(table))
            entry = np.where(inside, table[np.where(inside, entry, 0).astype(int)], 0.0)
        else:
            slopes[column] = slopes.get(column, 0.0) + coefficient
        value += coefficient * entry
    free = [column for column, slope in slopes.items() if slope]
    if not free:
        return rows[:0]
    column, at = rng.choice(free, len(rows)), np.arange(len(rows))
    slope = np.array([slopes[c] for c in column.tolist()])
    aim = threshold * (1.0 + rng.uniform(-1e-12, 1e-12, len(rows)))
    with np.errstate(over="ignore", invalid="ignore"):
        rows[at, column] = (aim - (value - slope * rows[at, column])) / slope
    return rows[np.isfinite(rows).all(axis=1)]


def near_rows(computation: Computation, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows whose value at a split that they reach is off its threshold by 1e-12 at most."""
    base = random_rows(computation, 20_000, rng)
    base = base[~np.isnan(base).any(axis=1)]
    ways = []  # a split of a tree, and the rows that reach it
    for number in range(min(computation.n_trees, 20)):
        tree = computation.part(number).tree
        reached = tree.decision_path(base).tocsc()
        for node in np.flatnonzero(~tree.is_leaf & (tree.kind != NodeKind.LEVELS)).tolist():
            here = reached.indices[reached.indptr[node] : reached.indptr[node + 1]]
            if len(here):
                ways.append((tree, node, here))
    parts: list[np.ndarray] = [base[:0]]
    while sum(map(len, parts)) < n:  # rows of splits on levels alone cannot be moved
        for tree, node, here in ways:
            rows = base[rng.choice(here, n // len(ways) + 1)]
            parts.append(moved_to(rows, *plane_of(tree, node, rng), rng))
    return np.concatenate(parts)[:n]
