"""fold: a tree over mapped columns walks the original columns to the same leaves."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obliqua.errors import TreeError
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.fold import fold
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from problems import examples
from reference import walk
from strategies import numbers, rows, trees

powers = st.integers(-8, 8).flatmap(lambda k: st.sampled_from([2.0**k, -(2.0**k)]))


def split(normal: Any, threshold: float, n_features: int = 3, **options: Any) -> Tree:
    builder = TreeBuilder(n_features=n_features, n_stats=1)
    builder.add_split("root", normal, threshold, ("a", "b"), **options)
    builder.annotate("root", gain=0.5, axis_gain=0.25, origin="first")
    builder.set_leaf("a", [1])
    builder.set_leaf("b", [1])
    return builder.build()


def level_split(column: int = 0) -> Tree:
    builder = TreeBuilder(n_features=2, n_stats=1)
    builder.add_levels("root", column, [0, 1, 0], ("a", "b"), unseen=1, missing=1)
    builder.set_leaf("a", [1])
    builder.set_leaf("b", [1])
    return builder.build()


def is_close_to_a_boundary(tree: Tree, row: Any, slack: float = 1e-9) -> bool:
    """Whether a row's way depends on less than rounding: its values nearly meet a threshold."""
    for node in walk.path(tree, row)[:-1]:
        planes = range(tree.plane_ptr[node], tree.plane_ptr[node + 1])
        if tree.kind[node] == NodeKind.LEVELS:
            continue
        values = []
        size = 1.0
        for plane in planes:
            values.append(walk.plane_value(tree, plane, row) - float(tree.threshold[plane]))
            part = range(tree.coef_ptr[plane], tree.coef_ptr[plane + 1])
            size = max(
                size,
                abs(float(tree.threshold[plane])),
                *(abs(float(tree.coef[k]) * walk.entry(tree, k, row)) for k in part),
                *(abs(float(tree.coef[k])) for k in part),
            )
        values = [*sorted(values), 0.0] if len(values) == 1 else sorted(values)
        if abs(values[-1] - values[-2]) <= slack * size:
            return True
    return False


def coded_columns(tree: Tree) -> np.ndarray:
    coded = np.zeros(tree.n_features, dtype=bool)
    coded[tree.coef_idx[np.diff(tree.table_ptr) > 0]] = True
    return coded


def assert_same_leaves(tree: Tree, Z: np.ndarray, folded: Tree, X: np.ndarray) -> None:
    """Compare the leaves of all rows that do not lie on a boundary within rounding."""
    for number, (ours, theirs) in enumerate(
        zip(folded.apply(X).tolist(), tree.apply(Z).tolist(), strict=True)
    ):
        assert ours == theirs or is_close_to_a_boundary(tree, Z[number].tolist())


# --- column by column --------------------------------------------------------------------


@examples(120)
@given(st.data())
def test_scales_by_powers_of_two_are_exact(data: Any) -> None:
    tree = data.draw(trees())
    X = data.draw(rows(tree))
    n = tree.n_features
    scale = np.array(data.draw(st.lists(powers, min_size=n, max_size=n)))
    scale[coded_columns(tree)] = 1.0
    folded = fold(tree, scale=scale)
    assert folded.apply(X).tolist() == tree.apply(X.astype(float) * scale).tolist()


@examples(120)
@given(st.data())
def test_shift_and_scale(data: Any) -> None:
    tree = data.draw(trees(filled=True))
    X = data.draw(rows(tree, missing=True)).astype(float)
    n = tree.n_features
    shift = np.array(data.draw(st.lists(st.floats(-100, 100), min_size=n, max_size=n)))
    scale = np.array(
        data.draw(st.lists(st.floats(0.01, 100) | st.floats(-100, -0.01), min_size=n, max_size=n))
    )
    coded = coded_columns(tree)
    shift[coded], scale[coded] = 0.0, 1.0
    assert_same_leaves(tree, (X - shift) * scale, fold(tree, shift=shift, scale=scale), X)


def test_nothing_to_fold() -> None:
    tree = split({0: 0.5, 1: 2.0}, 3.0, fill={0: 1.0})
    assert fold(tree) == tree
    assert fold(tree, shift=0.0, scale=1.0) == tree


@pytest.mark.parametrize(
    ("scale", "shift", "coef", "threshold"),
    [(0.25, 10.0, 1.0, 12.0), (-0.25, 10.0, -1.0, -8.0), (3.0, 0.0, 1.0, 0.5 / 3.0)],
)
def test_splits_by_one_column_stay_so(
    scale: float, shift: float, coef: float, threshold: float
) -> None:
    folded = fold(split({1: 1.0}, 0.5), shift=shift, scale=scale)
    assert folded.coef.tolist() == [coef]
    assert folded.threshold.tolist() == [threshold]


@pytest.mark.parametrize("threshold", [1e-300, -5e-324, 1e300])
@pytest.mark.parametrize("scale", [2.0**60, 2.0**-60])
def test_thresholds_that_cannot_be_divided(threshold: float, scale: float) -> None:
    """They keep the scale as a coefficient, which is exact, instead of losing digits."""
    tree = split({0: 1.0}, threshold, n_features=1)
    folded = fold(tree, scale=scale)
    edge = threshold / scale
    X = np.array([[edge], [np.nextafter(edge, -np.inf)], [np.nextafter(edge, np.inf)], [0.0]])
    X = X[np.isfinite(X * scale).ravel() & np.isfinite(X).ravel()]
    assert folded.apply(X).tolist() == tree.apply(X * scale).tolist()


def test_a_scale_of_zero_makes_a_constant() -> None:
    tree = split({0: 1.0, 1: 1.0}, 0.5, fill={0: 7.0, 1: 8.0})
    folded = fold(tree, shift=[3.0, 0.0, 0.0], scale=[0.0, 1.0, 1.0])
    X = np.array([[1e9, 0.25, 0.0], [-1e9, 0.75, 0.0]])
    assert folded.apply(X).tolist() == [1, 2]
    assert folded.fill.tolist() == [3.0, 8.0]
    alone = fold(split({0: 1.0}, 0.5), scale=0.0)
    assert alone.apply(X).tolist() == [1, 1]


def test_fill_values_are_mapped_back() -> None:
    folded = fold(split({0: 2.0, 1: 1.0}, 0.0, fill={0: 3.0}), shift=10.0, scale=0.5)
    assert folded.fill[0] == 16.0
    assert np.isnan(folded.fill[1])


def test_what_is_remembered_stays() -> None:
    tree = split({0: 2.0, 1: 1.0}, 0.0)
    folded = fold(tree, shift=1.0, scale=3.0)
    for name in ("stats", "n_samples", "gain", "axis_gain", "origin", "first_child"):
        np.testing.assert_array_equal(getattr(folded, name), getattr(tree, name))
    assert folded.origin_labels == tree.origin_labels


def test_a_machine_is_not_divided() -> None:
    """Its planes are compared with each other, so none may be scaled alone."""
    builder = TreeBuilder(n_features=2, n_stats=1)
    builder.add_machine("root", [{0: 1.0}, {1: 1.0}], [0.0, 0.0], ("a", "b"))
    builder.set_leaf("a", [1])
    builder.set_leaf("b", [1])
    folded = fold(builder.build(), scale=[4.0, 1.0])
    assert folded.coef.tolist() == [4.0, 1.0]


@pytest.mark.parametrize("options", [{"shift": [1.0, 0, 0]}, {"scale": 2.0}])
def test_level_tables_are_not_mapped(options: dict[str, Any]) -> None:
    tree = split({1: 1.0, 0: 1.0}, 0.5, tables={0: [1.0, 2.0]})
    with pytest.raises(TreeError, match=r"Node 0 has a level table for column 0.*scale 1 there"):
        fold(tree, **options)
    folded = fold(tree, shift=[0.0, 1.0, 0.0], scale=[1.0, 2.0, 1.0])
    assert folded.table.tolist() == [1.0, 2.0]
    assert folded.threshold.tolist() == [2.5]


# --- by a matrix -------------------------------------------------------------------------


@examples(120)
@given(st.data())
def test_matrix(data: Any) -> None:
    tree = data.draw(trees(tables=False, filled=False))
    n, m = tree.n_features, data.draw(st.integers(1, 4))
    entries = st.sampled_from([0.0, 0.0, 1.0, -1.0, 2.0, 0.3, -7.7])
    M = np.array(data.draw(st.lists(entries, min_size=n * m, max_size=n * m))).reshape(n, m)
    b = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.5, -0.7]), min_size=n, max_size=n)))
    X = np.array(data.draw(st.lists(numbers, min_size=5 * m, max_size=5 * m))).reshape(5, m)
    Z = X @ M.T + b
    folded = fold(tree, matrix=M, offset=b)
    assert folded.n_features == m
    assert_same_leaves(tree, Z, folded, X)
    assert fold(tree, matrix=sparse.csr_matrix(M), offset=b) == folded


@examples(100)
@given(st.data())
def test_columns_can_be_moved_with_their_tables(data: Any) -> None:
    """A tree that was grown on some of the columns, in another order."""
    tree = data.draw(trees(filled=True))
    Z = data.draw(rows(tree, missing=True)).astype(float)
    n, m = tree.n_features, tree.n_features + 2
    place = data.draw(st.permutations(range(m)))[:n]
    M = np.zeros((n, m))
    M[np.arange(n), place] = 1.0
    X = np.full((len(Z), m), 1e9)
    X[:, place] = Z
    folded = fold(tree, matrix=M)
    # Coefficients come in the new order of columns, so sums may differ by rounding.
    assert_same_leaves(tree, Z, folded, X)
    np.testing.assert_array_equal(folded.axis_gain, tree.axis_gain)


def test_a_matrix_that_mixes_forgets_the_axis_gain() -> None:
    tree = split({0: 1.0}, 0.5, n_features=1)
    assert np.isnan(fold(tree, matrix=[[1.0, 1.0]]).axis_gain).all()
    assert fold(tree, matrix=[[0.0, 2.0]]).axis_gain[0] == 0.25


def test_normals_that_become_zero() -> None:
    folded = fold(split({0: 1.0, 1: -1.0}, 0.5, n_features=2), matrix=[[1.0, 2.0], [1.0, 2.0]])
    assert folded.coef.tolist() == [0.0]
    assert folded.apply(np.array([[5.0, 6.0]])).tolist() == [1]


def test_fill_values_through_a_matrix() -> None:
    tree = split({0: 1.0, 1: 1.0}, 0.5, n_features=2, fill={0: 3.0, 1: 5.0})
    diagonal = fold(tree, matrix=np.diag([2.0, 1.0]), offset=[1.0, 0.0])
    assert diagonal.fill.tolist() == [1.0, 5.0]
    for mixing in ([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]):
        with pytest.raises(TreeError, match=r"Node 0 has fill values.*fill=numpy\.nan"):
            fold(tree, matrix=mixing)
        assert np.isnan(fold(tree, matrix=mixing, fill=np.nan).fill).all()
    given_fill = fold(tree, matrix=[[1.0, 1.0], [0.0, 1.0]], fill=[7.0, np.nan])
    assert given_fill.fill[0] == 7.0
    assert np.isnan(given_fill.fill[1])
    # a constant is never missing
    constant = fold(tree, matrix=[[0.0, 0.0], [0.0, 1.0]], offset=[0.25, 0.0])
    assert constant.fill.tolist() == [5.0]


@pytest.mark.parametrize(
    "tree",
    [level_split(), split({0: 1.0, 1: 1.0}, 0.5, n_features=2, tables={0: [1.0, 2.0]})],
    ids=["set of levels", "level table"],
)
def test_level_tables_may_only_be_moved(tree: Tree) -> None:
    for matrix in ([[1.0, 1.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]):
        with pytest.raises(TreeError, match=r"Node 0 has a level table for column 0.*move it"):
            fold(tree, matrix=matrix)
    with pytest.raises(TreeError, match="level table for column 0"):
        fold(tree, matrix=np.eye(2), offset=[1.0, 0.0])
    moved = fold(tree, matrix=[[0.0, 1.0], [1.0, 0.0]])
    Z = np.array([[0.0, 0.1], [1.0, -1.0], [2.0, 0.1], [3.0, 9.0]])
    assert moved.apply(Z[:, ::-1]).tolist() == tree.apply(Z).tolist()


def test_a_column_cannot_be_a_number_and_a_code() -> None:
    tree = split({0: 1.0, 1: 1.0}, 0.5, n_features=2, tables={0: [1.0, 2.0]})
    with pytest.raises(TreeError, match="maps column 0 to a numeric and to a qualitative"):
        fold(tree, matrix=[[1.0], [1.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shift": [1.0, 2.0]}, r"shift must be one number or one per column, 3; got .*\(2,\)"),
        ({"scale": np.nan}, "scale must be finite"),
        ({"shift": np.inf}, "shift must be finite"),
        ({"matrix": np.eye(2)}, r"one row per column of the tree, 3; got shape \(2, 2\)"),
        ({"matrix": np.full((3, 3), np.nan)}, "matrix must be finite"),
        ({"matrix": [1.0, 2.0, 3.0]}, "one row per column of the tree, 3"),
        ({"matrix": np.empty((3, 0))}, "at least one column"),
        ({"matrix": np.eye(3), "scale": 2.0}, "either shift and scale, or matrix and offset"),
        ({"offset": 1.0}, "together with a matrix only"),
        ({"fill": 1.0}, "together with a matrix only"),
        ({"matrix": np.eye(3), "offset": [1.0]}, "offset must be one number or one per column"),
        ({"scale": 1e308, "shift": 1e308}, "makes a (threshold|coef) of the tree overflow"),
    ],
)
def test_maps_that_cannot_be_folded(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        fold(split({0: 1.0, 1: 1e10}, 0.5), **options)


def test_folding_changes_nothing_else() -> None:
    tree = split({0: 1.0, 1: 2.0}, 0.5)
    before = dataclasses.replace(tree)
    fold(tree, shift=1.0, scale=2.0)
    fold(tree, matrix=np.ones((3, 2)))
    assert tree == before
