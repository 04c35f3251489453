"""C4.5 grows the tree that its definition says, on small problems full of ties and gaps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem
from obliqua.data.target import Classes
from obliqua.engine.rules import Rules
from obliqua.methods.c45 import C45, grow_c45
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from problems import examples
from reference import c45 as twin

UNITS = (1.0, 0.25, 2.0)


def drawn_column(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
    """A column of numbers or levels, and its number of levels."""
    kind = rng.integers(0, 7)
    if kind == 0:
        return rng.integers(0, 3, n) / 2.0, 0
    if kind == 1:
        return rng.normal(size=n), 0
    if kind == 2:
        return np.full(n, 0.1), 0
    if kind == 3:
        return 1.0 + rng.integers(0, 4, n) * np.finfo(float).eps, 0
    if kind == 4:
        return np.full(n, np.nan), 0
    n_levels = int(rng.integers(1, 6))
    return rng.integers(0, n_levels, n).astype(float), n_levels


def problem(seed: int) -> Problem:
    """A small problem; some labels follow a column, some are noise."""
    rng = np.random.default_rng(seed)
    n, p, n_classes = int(rng.integers(2, 26)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
    columns = [drawn_column(rng, n) for _ in range(p)]
    Z = np.column_stack([values for values, _ in columns])
    y = rng.integers(0, n_classes, n)
    first = np.nan_to_num(Z[:, 0])
    y = np.where(rng.random(n) < 0.6, (first * 2).astype(int) % n_classes, y)
    if rng.random() < 0.5:
        Z[rng.random(Z.shape) < 0.25] = np.nan
    if rng.random() < 0.5:  # equal rows with labels of their own
        Z = Z[rng.integers(0, max(n // 2, 1), n)]
    weights = rng.integers(1, 5, n) if rng.random() < 0.5 else None
    unit = float(rng.choice(UNITS)) if weights is not None else 1.0
    return make(Z, y, weights, unit, n_classes, [levels for _, levels in columns])


def make(
    Z: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    unit: float,
    n_classes: int,
    n_levels: list[int],
) -> Problem:
    columns = tuple(
        Column(f"x{k}", "qualitative", tuple(range(m))) if m else Column(f"x{k}")
        for k, m in enumerate(n_levels)
    )
    return Problem(
        Z,
        Classes(y.astype(np.int32), n_classes),
        None if weights is None else weights.astype(np.int64),
        unit,
        Encoding(columns),
        np.array(n_levels, dtype=np.int32),
        np.isnan(Z).any(axis=0),
    )


def as_data(data: Problem) -> twin.Data:
    weights = np.ones(data.n_rows, int) if data.weights is None else data.weights
    return twin.Data(
        data.Z.tolist(),
        data.y.tolist(),
        [int(w) * Fraction(data.unit) for w in weights],
        data.n_levels.tolist(),
        data.n_classes,
    )


choices = st.fixed_dictionaries(
    {
        "criterion": st.sampled_from(["gain_ratio", "gain_ratio", "entropy"]),
        "mdl_correction": st.booleans(),
        "binary": st.booleans(),
        "min_class_share": st.sampled_from([0.1, 0.0, 0.5]),
    }
)
limits = st.fixed_dictionaries(
    {
        "min_weight_leaf": st.sampled_from([0, 1, 2, 3]),
        "min_samples_leaf": st.sampled_from([1, 1, 2, 3]),
        "max_depth": st.sampled_from([None, None, 1, 2]),
        "zero_gain": st.booleans(),
    }
)


def assert_same(tree: Tree, node: int, expected: dict[str, Any], data: Problem) -> None:
    """A node and all below it are what the twin says."""
    rows = expected["rows"]
    assert tree.n_samples[node] == len(rows)
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    sums = np.bincount(data.y[rows], weights[rows], minlength=data.n_classes) * data.unit
    np.testing.assert_array_equal(tree.stats[node], sums)
    assert tree.n_children[node] == len(expected["children"])
    if not expected["children"]:
        assert tree.kind[node] == NodeKind.LEAF
        return
    plane = int(tree.plane_ptr[node])
    at = int(tree.coef_ptr[plane])
    assert tree.coef_idx[at] == expected["column"]
    assert tree.gain[node] == pytest.approx(expected["gain"], rel=1e-9, abs=1e-12)
    heaviest = expected["heaviest"]
    if "threshold" in expected:
        assert tree.kind[node] == NodeKind.HYPERPLANE
        assert tree.threshold[plane] == expected["threshold"]
        assert (tree.fill[at] > tree.threshold[plane]) == (heaviest == 1)
        there = np.array(expected["children"][heaviest]["rows"])
        there = there[~np.isnan(data.Z[there, expected["column"]])]
        mean = np.average(data.Z[there, expected["column"]], weights=weights[there])
        assert tree.fill[at] == pytest.approx(mean)
    else:
        assert tree.kind[node] == NodeKind.LEVELS
        table = tree.table[tree.table_ptr[at] : tree.table_ptr[at + 1]]
        n_levels = data.n_levels[expected["column"]]
        ways = [expected["levels"].get(level, heaviest) for level in range(n_levels)]
        assert table.tolist() == ways
        assert tree.threshold[plane] == tree.fill[at] == heaviest
    for k, child in enumerate(expected["children"]):
        assert_same(tree, int(tree.first_child[node]) + k, child, data)


@examples(400)
@given(seed=st.integers(0, 10**9), method=choices, limit=limits, collapse=st.booleans())
def test_the_tree_is_the_twins(
    seed: int, method: dict[str, Any], limit: dict[str, Any], collapse: bool
) -> None:
    data = problem(seed)
    rules = Rules(**{**limit, "max_depth": limit["max_depth"]})
    tree = grow_c45(data, C45(**method, collapse=collapse), rules)
    tree.validate()
    least = limit["min_weight_leaf"] * Fraction(data.unit)  # rules are in grid units
    options = twin.Options(**method, **{**limit, "min_weight_leaf": least})
    expected = twin.grow(as_data(data), options)
    if collapse:
        expected = twin.collapsed(as_data(data), expected)
    assert_same(tree, 0, expected, data)


@examples(100)
@given(seed=st.integers(0, 10**9), method=choices, limit=limits)
def test_rows_reach_the_leaves_that_counted_them(
    seed: int, method: dict[str, Any], limit: dict[str, Any]
) -> None:
    data = problem(seed)
    tree = grow_c45(data, C45(**method), Rules(**limit))
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    found = np.zeros_like(tree.stats)
    np.add.at(found, (tree.apply(data.Z), data.y), weights * data.unit)
    np.testing.assert_array_equal(found[tree.is_leaf], tree.stats[tree.is_leaf])


@examples(100)
@given(seed=st.integers(0, 10**9), method=choices, limit=limits)
def test_the_order_of_the_rows_changes_nothing(
    seed: int, method: dict[str, Any], limit: dict[str, Any]
) -> None:
    data = problem(seed)
    order = np.random.default_rng(seed).permutation(data.n_rows)
    weights = None if data.weights is None else data.weights[order]
    levels = data.n_levels.tolist()
    other = make(data.Z[order], data.y[order], weights, data.unit, data.n_classes, levels)
    one, two = (grow_c45(part, C45(**method), Rules(**limit)) for part in (data, other))
    assert one == two


@examples(100)
@given(seed=st.integers(0, 10**9), method=choices, zero_gain=st.booleans())
def test_weights_count_rows(seed: int, method: dict[str, Any], zero_gain: bool) -> None:
    data = problem(seed)
    counts = np.random.default_rng(seed).integers(1, 4, data.n_rows)
    levels = data.n_levels.tolist()
    weighted = make(data.Z, data.y, counts, 1.0, data.n_classes, levels)
    rows = np.repeat(np.arange(data.n_rows), counts)
    repeated = make(data.Z[rows], data.y[rows], None, 1.0, data.n_classes, levels)
    rules = Rules(min_weight_leaf=2, zero_gain=zero_gain)
    one, two = (grow_c45(part, C45(**method), rules) for part in (weighted, repeated))
    np.testing.assert_array_equal(one.stats, two.stats)
    np.testing.assert_array_equal(one.table, two.table)
    np.testing.assert_array_equal(one.threshold, two.threshold)


@examples(100)
@given(seed=st.integers(0, 10**9), method=choices, most=st.integers(1, 8))
def test_a_limit_on_leaves(seed: int, method: dict[str, Any], most: int) -> None:
    """The largest gains come first, and without a limit in reach the tree is the same."""
    data = problem(seed)
    kind = C45(**method, collapse=False)
    whole = grow_c45(data, kind, Rules())
    assert grow_c45(data, kind, Rules(best_first=True)) == whole
    assert grow_c45(data, kind, Rules(max_leaf_nodes=whole.n_leaves)) == whole
    few = grow_c45(data, kind, Rules(max_leaf_nodes=most))
    assert few.n_leaves <= max(most, 1)
    if few.n_nodes > 1:
        assert few.gain[0] == whole.gain[0]
