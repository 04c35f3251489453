"""Soft labels: weights that are square errors, and trees that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import CartClassifier
from obliqua.criteria import get_criterion
from obliqua.data.encoding import Encoding
from obliqua.data.table import read_table
from obliqua.engine.soft_labels import additive_trees, soft_problem, summed
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from problems import examples
from reference import soft as twin


def problem(seed: int, n_rows: int = 40, n_classes: int = 3) -> tuple[Any, np.ndarray]:
    """Rows, some of whose values are equal, and shares."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3)).round(1)
    shares = random.dirichlet(np.full(n_classes, 0.5), size=n_rows)
    return X, shares


def cart(table: Any) -> Any:
    def grown(shares: np.ndarray, most: int, number: int) -> Tree:
        method = CartClassifier(criterion="gini", pruning=None, max_leaf_nodes=most)
        return method._grown(soft_problem(table, shares))

    return grown


def fitted(X: np.ndarray, shares: np.ndarray, max_leaves: int, n_trees: int) -> Model:
    table = read_table(X)
    trees = additive_trees(table, shares, max_leaves, n_trees, cart(table))
    combine = "single" if len(trees) == 1 else "sum"
    classes = np.arange(shares.shape[1])
    return Model(tuple(trees), combine, Encoding.identity(X.shape[1]), classes)


# --- soft labels --------------------------------------------------------------------------


@examples(60)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 6), st.sampled_from([0, 1, 4])
)
def test_rows_weigh_the_same_whatever_their_shares(
    seed: int, n_rows: int, n_classes: int, parts: int
) -> None:
    X, shares = problem(seed, n_rows, n_classes)
    X[:, 0] = np.arange(n_rows)  # says which row it is
    made = soft_problem(read_table(X), shares, parts=parts, seed=seed)
    weights = np.ones(made.n_rows, np.int64) if made.weights is None else made.weights
    sums = np.zeros((n_rows, n_classes))
    np.add.at(sums, (made.Z[:, 0].astype(int), made.y), weights)
    whole = sums.sum(axis=1)
    assert (whole == whole[0]).all()
    units = parts or 2**20
    assert np.abs(sums / whole[0] - shares).max() <= 1.0 / units + 1e-9
    assert (weights > 0).all()


def test_shares_are_rounded_to_the_nearest_unit() -> None:
    unit = 2.0**-20
    shares = np.array([[0.6, 0.4], [1.4, 2.0**20 - 1.4], [2.0**20 - 0.6, 0.6]])
    shares[1:] *= unit
    made = soft_problem(read_table([[0.0], [1.0], [2.0]]), shares)
    sums = np.zeros((3, 2))
    np.add.at(sums, (made.Z[:, 0].astype(int), made.y), made.weights * made.unit)
    units = sums / sums.sum(axis=1, keepdims=True) * 2**20
    assert units[1:].tolist() == [[1.0, 2.0**20 - 1], [2.0**20 - 1, 1.0]]
    assert units[0, 0] == round(0.6 * 2**20)


@examples(60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 6))
def test_shares_are_off_by_a_unit_at_most(seed: int, n_rows: int, n_classes: int) -> None:
    X, shares = problem(seed, n_rows, n_classes)
    X[:, 0] = np.arange(n_rows)
    made = soft_problem(read_table(X), shares)
    weights = np.ones(made.n_rows) if made.weights is None else made.weights * made.unit
    sums = np.zeros((n_rows, n_classes))
    np.add.at(sums, (made.Z[:, 0].astype(int), made.y), weights)
    off = sums / sums.sum(axis=1, keepdims=True) - shares
    # Ends of classes are to the nearest: two ends, half a unit each.
    assert np.abs(off).max() <= 2.0**-20 + 1e-15
    assert np.abs(np.cumsum(off, axis=1)).max() <= 2.0**-21 + 1e-15


def test_shares_of_nothing_are_left_out() -> None:
    made = soft_problem(read_table(np.array([[1.0], [2.0]])), np.array([[1.0, 0.0], [0.25, 0.75]]))
    assert made.Z[:, 0].tolist() == [1, 2, 2]
    assert made.y.tolist() == [0, 0, 1]
    assert made.weights is not None
    assert (made.weights / made.weights[0]).tolist() == [1, 0.25, 0.75]


def test_parts_are_drawn_by_the_shares() -> None:
    shares = np.tile([0.1, 0.3, 0.6], (20_000, 1))
    table = read_table(np.arange(20_000.0)[:, None])
    made = soft_problem(table, shares, parts=1, seed=3)
    assert made.n_rows == 20_000  # one part each
    np.testing.assert_allclose(np.bincount(made.y) / 20_000, shares[0], atol=0.02)
    again = soft_problem(table, shares, parts=1, seed=3)
    np.testing.assert_array_equal(made.y, again.y)
    assert (made.y != soft_problem(table, shares, parts=1, seed=4).y).any()


@examples(40)
@given(st.integers(0, 2**32 - 1))
def test_gini_is_the_square_error(seed: int) -> None:
    _, shares = problem(seed)
    left = np.random.default_rng(seed).random(len(shares)) < 0.5
    if left.all() or not left.any():
        return
    reduced = (
        twin.square_error(shares)
        - twin.square_error(shares[left])
        - twin.square_error(shares[~left])
    )
    gini = get_criterion("gini").goodness(shares[left].sum(axis=0), shares[~left].sum(axis=0))
    assert float(gini) == pytest.approx(reduced / len(shares), abs=1e-12)


# --- trees that add up --------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(("max_leaves", "sizes"), [(6, [6]), (9, [3, 3, 3]), (7, [4, 3])])
@pytest.mark.parametrize("seed", range(3))
def test_the_slow_way_gives_the_same(
    n_classes: int, max_leaves: int, sizes: list[int], seed: int
) -> None:
    X, shares = problem(seed, n_classes=n_classes)
    model = fitted(X, shares, max_leaves, len(sizes))
    trees = twin.residual_trees(X, shares, sizes)
    assert [tree.n_leaves for tree in model.trees] == sizes
    new = problem(seed + 100)[0]
    for rows in (X, new):
        expected = np.array([sum(twin.answer(tree, row) for tree in trees) for row in rows])
        np.testing.assert_allclose(
            model._sums(rows, 1) if len(sizes) > 1 else model.predict_proba(rows),
            expected,
            atol=1e-9,
        )
        clipped = np.maximum(expected, 0.0)
        np.testing.assert_allclose(
            model.predict_proba(rows), clipped / clipped.sum(axis=1, keepdims=True), atol=1e-9
        )
        np.testing.assert_array_equal(model.predict_index(rows), expected.argmax(axis=1))


@pytest.mark.parametrize("n_trees", [1, 2, 5])
def test_more_trees_never_add_to_the_square_error(n_trees: int) -> None:
    X, shares = problem(0, n_rows=120, n_classes=4)
    errors = []
    for n in range(1, n_trees + 1):
        model = fitted(X, shares, 4 * n, n)
        said = model.predict_proba(X) if n == 1 else model._sums(X, 1)
        np.testing.assert_allclose(said.sum(axis=1), 1.0)
        errors.append(((said - shares) ** 2).sum())
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == n_trees


def test_what_a_tree_does_not_need_is_for_the_next() -> None:
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    # Two sums: a tree of two leaves has all of the first that one cut can have.
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.1, 0.9]])
    model = fitted(X, shares, 8, 2)
    assert [tree.n_leaves for tree in model.trees] == [4]  # nothing was left over
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-6)
    small = fitted(X, shares, 4, 2)
    assert [tree.n_leaves for tree in small.trees] == [2, 2]
    np.testing.assert_allclose(small.predict_proba(X), shares, atol=1e-6)


def test_leaves_that_a_tree_could_not_use_go_to_the_next() -> None:
    # The first column has two values, and no tree is allowed the second one at first.
    X = np.column_stack([np.repeat([0.0, 1.0], 8), np.tile(np.arange(8.0), 2)])
    first = np.where(X[:, 0] == 0, 0.9, 0.1) + X[:, 1] / 100
    table, asked = read_table(X), []

    def grown(shares: np.ndarray, most: int, number: int) -> Tree:
        asked.append(most)
        return cart(table)(shares, 2 if number == 0 else most, number)

    trees = additive_trees(table, np.column_stack([first, 1 - first]), 9, 3, grown)
    assert [tree.n_leaves for tree in trees] == [2, 4, 3]
    assert asked == [3, 4, 3]


def test_one_class_is_a_leaf() -> None:
    model = fitted(np.arange(5.0)[:, None], np.ones((5, 1)), 8, 3)
    assert [tree.n_leaves for tree in model.trees] == [1]
    assert model.predict_proba(np.zeros((2, 1))).tolist() == [[1], [1]]


def test_gains_are_square_errors_per_row_in_all_trees() -> None:
    X, shares = problem(1, n_rows=60)
    table = read_table(X)
    first, second = additive_trees(table, shares, 8, 2, cart(table))
    said = first.stats[first.apply(X)] / first.n_samples[first.apply(X)][:, None]
    rest = shares - said
    for tree, values in ((first, shares), (second, rest)):
        leaf = tree.apply(X)
        left_over = sum(twin.square_error(values[leaf == one]) for one in np.unique(leaf))
        reduced = (twin.square_error(values) - left_over) / len(X)
        assert float(tree.gain.sum()) == pytest.approx(reduced, rel=1e-4)


def test_sums_are_counted_at_all_nodes() -> None:
    X, shares = problem(2)
    tree = cart(read_table(X))(shares, 5, 0)
    counted, leaf = summed(tree, X, shares)
    np.testing.assert_array_equal(leaf, tree.apply(X))
    path = tree.decision_path(X).toarray()
    np.testing.assert_allclose(counted.stats, path.T @ shares)
    np.testing.assert_array_equal(counted.n_samples, path.sum(axis=0))
