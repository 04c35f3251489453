"""Trees with levels and missing values inside their splits, checked node by node against twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem
from obliqua.data.target import Classes
from obliqua.engine import axis_cuts
from obliqua.engine import grow as growing
from obliqua.engine.grow import grow
from obliqua.engine.proposals import AXIS, Directions, NodeView, Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.discriminants import Discriminants
from obliqua.methods.hhcart import Householder
from obliqua.methods.means import class_means
from obliqua.tree.tree import Tree
from problems import examples
from reference import criteria
from reference.crimcoord import distinct_top, from_counts

METHODS = {
    "CART": AXIS,
    "HHCART(D)": Householder(variant="dominant"),
    "HHCART(A), Fisher": Householder(fisher=True),
    "discriminants": Discriminants(),
}
N_LEVELS = (0, 4, 0, 3, 0)


def problem(
    seed: int,
    n: int = 60,
    n_classes: int = 3,
    weighted: bool = False,
    sides: bool = False,
) -> Problem:
    """Numeric and qualitative columns with gaps, ties and repeated rows.

    Two columns are plain; the last one is the number of a qualitative one, so they tie.
    """
    rng = np.random.default_rng(seed)
    Z = np.column_stack(
        [
            rng.integers(0, 6, n) / 2,
            rng.integers(0, 4, n),
            np.exp(rng.integers(0, 9, n) / 3),
            rng.integers(0, 3, n),
        ]
    )
    score = Z[:, 0] + np.array([1.0, -1.0, 0.5, 2.0])[Z[:, 1].astype(int)] + np.log(Z[:, 2])
    y = np.digitize(score + 0.5 * rng.normal(size=n), [2.0, 3.5][: n_classes - 1])
    Z = np.column_stack([Z, Z[:, 3]])
    holes = rng.random(Z.shape) < 0.15
    Z[holes & np.array([False, True, True, seed % 3 == 0, False])] = np.nan
    return as_problem(Z, y, rng.integers(1, 4, n) if weighted else None, n_classes, sides)


def as_problem(
    Z: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    n_classes: int,
    sides: bool = False,
) -> Problem:
    columns = tuple(
        Column(f"x{k}", "qualitative", tuple(range(m))) if m else Column(f"x{k}")
        for k, m in enumerate(N_LEVELS)
    )
    return Problem(
        np.ascontiguousarray(Z),
        Classes(y.astype(np.int32), n_classes),
        None if weights is None else weights.astype(np.int64),
        1.0,
        Encoding(columns),
        np.array(N_LEVELS, dtype=np.int32),
        np.isnan(Z).any(axis=0),
        sides=sides,
    )


def dressed(data: Problem, rows: np.ndarray) -> np.ndarray:
    """The rows of a node as numbers: levels by their shares of the classes, gaps by means."""
    out = data.Z[rows].copy()
    w = np.ones(len(rows), int) if data.weights is None else data.weights[rows]
    for k, m in enumerate(N_LEVELS):
        gap = np.isnan(out[:, k])
        if m:
            codes = np.where(gap, m, np.nan_to_num(out[:, k])).astype(int)
            counts = np.zeros((m + 1, data.n_classes))
            np.add.at(counts, (codes, data.y[rows]), w)
            out[:, k] = from_counts(counts)[codes]
        elif gap.all():
            out[:, k] = 0.0
        else:
            out[gap, k] = np.average(out[~gap, k], weights=w[~gap])
    return out


def best_axis_goodness(data: Problem, rows: np.ndarray, code: int) -> float:
    X = dressed(data, rows)
    w = np.ones(len(rows), int) if data.weights is None else data.weights[rows]
    best = 0.0
    for column in X.T:
        values = np.unique(column.round(9))
        for cut in (values[1:] + values[:-1]) / 2:
            left = np.bincount(
                data.y[rows][column <= cut], w[column <= cut], minlength=data.n_classes
            )
            right = np.bincount(
                data.y[rows][column > cut], w[column > cut], minlength=data.n_classes
            )
            sides = [int(v) for v in left], [int(v) for v in right]
            best = max(best, criteria.goodness(code, *sides))
    return best


def plain_gini(left: np.ndarray, right: np.ndarray) -> float:
    """The gini gain as a user would write it; the exact one, so that ties stay ties."""
    return criteria.goodness(1, [int(v) for v in left], [int(v) for v in right])


def counts_of(data: Problem, rows: np.ndarray, column: int) -> np.ndarray:
    """How often each level, missing ones last, is there with each class."""
    raw = data.Z[rows, column]
    m = N_LEVELS[column]
    codes = np.where(np.isnan(raw), m, np.nan_to_num(raw)).astype(int)
    counts = np.zeros((m + 1, data.n_classes))
    np.add.at(counts, (codes, data.y[rows]), 1)
    return counts


def passes(tree: Tree, Z: np.ndarray) -> np.ndarray:
    return tree.decision_path(Z).toarray().astype(bool)


@pytest.mark.parametrize("name", METHODS)
@examples(25)
@given(
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
    n_classes=st.integers(2, 3),
    sides=st.booleans(),
)
def test_rows_reach_the_leaves_that_counted_them(
    name: str, seed: int, weighted: bool, n_classes: int, sides: bool
) -> None:
    data = problem(seed, n_classes=n_classes, weighted=weighted, sides=sides)
    tree = grow(data, METHODS[name], "twoing", Rules(zero_gain=bool(seed % 2)))
    tree.validate()
    w = np.ones(data.n_rows) if data.weights is None else data.weights
    found = np.zeros_like(tree.stats)
    np.add.at(found, (tree.apply(data.Z), data.y), w)
    np.testing.assert_array_equal(found[tree.is_leaf], tree.stats[tree.is_leaf])
    inner = ~tree.is_leaf
    assert (tree.gain[inner] >= tree.axis_gain[inner] - 1e-12).all()


@examples(25)
@given(seed=st.integers(0, 10**6), weighted=st.booleans(), n_classes=st.integers(2, 3))
def test_the_best_cut_of_all_columns_is_found(seed: int, weighted: bool, n_classes: int) -> None:
    """Every node of a CART gains what a search over all dressed columns gains.

    Where the levels have no single first coordinate, another one may be as right.
    """
    data = problem(seed, n_classes=n_classes, weighted=weighted)
    tree = grow(data, AXIS, "gini", Rules())
    reached = passes(tree, data.Z)
    total = data.total_weight
    for node in range(tree.n_nodes):
        rows = np.flatnonzero(reached[:, node])
        if not all(distinct_top(counts_of(data, rows, k)) for k in (1, 3)):
            continue
        best = best_axis_goodness(data, rows, 1) * tree.stats[node].sum() / total
        if tree.is_leaf[node]:
            assert best <= 1e-12
        else:
            assert tree.gain[node] == pytest.approx(best, rel=1e-9)
            assert tree.axis_gain[node] == tree.gain[node]


@pytest.mark.parametrize("name", [*METHODS, "class means"])
@examples(15)
@given(seed=st.integers(0, 10**6))
def test_tables_and_stand_ins_are_those_of_the_node(name: str, seed: int) -> None:
    data = problem(seed)
    tree = grow(data, METHODS.get(name, class_means), "twoing", Rules())
    reached = passes(tree, data.Z)
    for k, plane in enumerate(tree.plane_of_coef.tolist()):
        rows = np.flatnonzero(reached[:, tree.node_of_plane[plane]])
        column = int(tree.coef_idx[k])
        gap = np.isnan(data.Z[rows, column])
        table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
        assert len(table) == N_LEVELS[column]
        if len(table):
            counts = counts_of(data, rows, column)
            if not distinct_top(counts):
                continue
            numbers, expected = np.append(table, tree.fill[k]), from_counts(counts)
            sign = 1.0 if numbers @ expected >= 0 else -1.0
            np.testing.assert_allclose(numbers, sign * expected, atol=1e-6)
        elif gap.any() and not gap.all():
            assert tree.fill[k] == pytest.approx(dressed(data, rows)[gap, column][0], abs=1e-6)
        if len(table) or gap.any() or np.diff(tree.coef_ptr)[plane] > 1:
            values = dressed(data, rows)[:, column]
            assert tree.spread[k] == pytest.approx(values.std(), rel=1e-5, abs=1e-7)


def gaps_and_levels(node: NodeView) -> Directions:
    """A proposer that a missing value or the code of a level would lead astray."""
    assert np.isfinite(node.X).all()
    return class_means(node)


ASKED = {
    "a proposer": (gaps_and_levels, "twoing"),
    "a proposer alone": (Proposals(class_means, axis_parallel=False), "twoing"),
    "a criterion": (AXIS, plain_gini),
    "a criterion and Householder": (METHODS["HHCART(D)"], plain_gini),
    "Householder alone": (Proposals(METHODS["HHCART(D)"], axis_parallel=False), "gini"),
    "scaled": (Proposals(class_means, scale="standard", max_features=2), "gini"),
}


@pytest.mark.parametrize("name", ASKED)
@examples(15)
@given(
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
    best_first=st.booleans(),
    sides=st.booleans(),
)
def test_python_sees_numbers(
    name: str, seed: int, weighted: bool, best_first: bool, sides: bool
) -> None:
    data = problem(seed, weighted=weighted, sides=sides)
    proposer, criterion = ASKED[name]
    rules = Rules(best_first=best_first, zero_gain=bool(seed % 2))
    tree = grow(data, proposer, criterion, rules)
    tree.validate()
    w = np.ones(data.n_rows) if data.weights is None else data.weights
    found = np.zeros_like(tree.stats)
    np.add.at(found, (tree.apply(data.Z), data.y), w)
    np.testing.assert_array_equal(found[tree.is_leaf], tree.stats[tree.is_leaf])
    assert tree.n_leaves > 2


@examples(25)
@given(
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
    zero_gain=st.booleans(),
    sides=st.booleans(),
)
def test_a_criterion_in_python_grows_the_compiled_tree(
    seed: int, weighted: bool, zero_gain: bool, sides: bool
) -> None:
    data = problem(seed, weighted=weighted, sides=sides)
    rules = Rules(zero_gain=zero_gain)
    compiled, asked = grow(data, AXIS, "gini", rules), grow(data, AXIS, plain_gini, rules)
    arrays = ("first_child", "coef_idx", "coef", "fill", "table", "threshold", "missing_side")
    for array in (*arrays, "stats"):
        np.testing.assert_array_equal(getattr(asked, array), getattr(compiled, array), array)
    np.testing.assert_allclose(asked.gain, compiled.gain, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("best_first", [False, True])
@pytest.mark.parametrize("criterion", ["twoing", "entropy", "max_minority"])
def test_threads_change_nothing(
    name: str, best_first: bool, criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (growing, axis_cuts):
        monkeypatch.setattr(module, "SERIAL_ROWS", 64)
    rules = Rules(best_first=best_first, max_leaf_nodes=20 if best_first else None)
    for seed in range(6):
        data = problem(seed, n=400, weighted=seed % 2 == 0, sides=seed % 4 < 2)
        alone = grow(data, METHODS[name], criterion, rules)
        assert grow(data, METHODS[name], criterion, rules, n_threads=3) == alone
        assert alone.n_leaves > 10


@pytest.mark.parametrize("name", METHODS)
@examples(20)
@given(seed=st.integers(0, 10**6), exponent=st.integers(1, 30))
def test_the_unit_of_weights_means_nothing(name: str, seed: int, exponent: int) -> None:
    data = problem(seed, weighted=True)
    assert data.weights is not None
    finer = replace(data, weights=data.weights << exponent, unit=0.5**exponent)
    assert grow(finer, METHODS[name], "twoing") == grow(data, METHODS[name], "twoing")


def test_levels_weigh_as_much_in_large_nodes() -> None:
    """Their numbers have one standard deviation of 1, however many rows there are."""
    data = problem(4, n=5000)
    tree = grow(data, Proposals(METHODS["HHCART(D)"], axis_parallel=False), "twoing")
    levels = np.diff(tree.table_ptr) > 0
    root = tree.plane_of_coef == 0
    assert (levels & root).any()
    np.testing.assert_allclose(tree.spread[levels & root], 1.0, rtol=1e-6)
    assert np.abs(tree.coef[levels & root]).max() > 0.01


def test_more_classes_than_levels() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 300)
    y = (2 * rng.integers(0, 20, 300) + codes).astype(np.int32)
    encoding = Encoding((Column("a", "qualitative", ("x", "y")),))
    Z = codes[:, None].astype(float)
    levels = np.array([2], dtype=np.int32)
    tree = grow(Problem(Z, Classes(y, 40), None, 1.0, encoding, levels), AXIS, "twoing")
    assert tree.n_leaves == 2
    assert tree.table[0] * tree.table[1] < 0


@pytest.mark.parametrize("name", METHODS)
@examples(20)
@given(seed=st.integers(0, 10**6), weighted=st.booleans(), sides=st.booleans())
def test_the_order_of_the_rows_changes_nothing(
    name: str, seed: int, weighted: bool, sides: bool
) -> None:
    data = problem(seed, weighted=weighted, sides=sides)
    other = data.take(np.random.default_rng(seed).permutation(data.n_rows))
    assert grow(other, METHODS[name], "twoing") == grow(data, METHODS[name], "twoing")


@pytest.mark.parametrize("name", METHODS)
@examples(20)
@given(seed=st.integers(0, 10**6), sides=st.booleans())
def test_a_weight_is_a_repeated_row(name: str, seed: int, sides: bool) -> None:
    data = problem(seed, weighted=True, sides=sides)
    assert data.weights is not None
    repeated = replace(data.take(np.repeat(np.arange(data.n_rows), data.weights)), weights=None)
    one, two = (grow(d, METHODS[name], "twoing") for d in (data, repeated))
    for array in ("kind", "coef_idx", "coef", "threshold", "table", "fill", "stats", "gain"):
        np.testing.assert_array_equal(getattr(one, array), getattr(two, array))


@pytest.mark.parametrize("name", METHODS)
@examples(20)
@example(seed=155184)
@given(seed=st.integers(0, 10**6))
def test_names_of_levels_change_nothing(name: str, seed: int) -> None:
    """Levels numbered in another way: the same rows together in the leaves."""
    data = problem(seed)
    rng = np.random.default_rng(seed)
    Z = data.Z.copy()
    for k, m in enumerate(N_LEVELS):
        if m:
            there = ~np.isnan(Z[:, k])
            Z[there, k] = rng.permutation(m)[Z[there, k].astype(int)]
    other = as_problem(Z, data.y, None, data.n_classes)
    one, two = grow(data, METHODS[name], "twoing"), grow(other, METHODS[name], "twoing")
    np.testing.assert_array_equal(one.apply(data.Z), two.apply(Z))


def test_unseen_levels_count_nothing() -> None:
    data = problem(1)
    tree = grow(data, METHODS["HHCART(D)"], "twoing")
    rows = data.Z.copy()
    rows[:, 1] = -1.0
    leaves = tree.apply(rows)
    rows[:, 1] = 1e9
    np.testing.assert_array_equal(tree.apply(rows), leaves)
    assert len(np.unique(leaves)) > 1


@pytest.mark.parametrize("name", METHODS)
def test_many_levels(name: str) -> None:
    rng = np.random.default_rng(0)
    n, m = 20_000, 10_000
    codes = rng.integers(0, m, n)
    y = (rng.random(m) < 0.5)[codes].astype(np.int32)
    Z = np.column_stack([rng.normal(size=n), codes.astype(float)])
    encoding = Encoding((Column("a"), Column("b", "qualitative", tuple(range(m)))))
    data = Problem(
        Z, Classes(y, 2), None, 1.0, encoding, np.array([0, m], np.int32), np.zeros(2, dtype=bool)
    )
    tree = grow(data, METHODS[name], "twoing")
    assert tree.n_leaves == 2
    assert (tree.leaf_label[tree.apply(Z)] == y).all()


def test_a_column_without_any_value_never_splits() -> None:
    data = problem(2)
    Z = data.Z.copy()
    Z[:, [0, 1]] = np.nan
    tree = grow(as_problem(Z, data.y, None, data.n_classes), AXIS, "twoing")
    assert not np.isin(tree.coef_idx, [0, 1]).any()
