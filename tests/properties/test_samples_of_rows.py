"""Directions from samples of rows: the same, whatever the parts, their order and memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import problems
from core.adapter import problem_of
from obliqua import (
    FisherTreeClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    OC1Classifier,
)
from obliqua.data import encode
from obliqua.data.problem import Problem, encode_numbers
from obliqua.engine import AtOnce, Proposals, RowsInParts, Rules, grow_from
from obliqua.engine.grow import grow
from obliqua.engine.passes import answered
from obliqua.engine.sampling import sampled
from obliqua.methods.cart_lc import LinearCombination
from obliqua.methods.fdt import fisher_direction
from obliqua.methods.hhcart import Householder
from obliqua.methods.means import class_means
from obliqua.methods.oc1 import Climb
from obliqua.methods.sadt import Anneal
from problems import examples
from properties.test_row_sources import Post, cut_up
from reference.sampling import sample


@examples(150)
@given(data=st.data(), most=st.integers(1, 40), key=st.integers(0, 2**64 - 1))
def test_samples(data: st.DataObject, most: int, key: int) -> None:
    """Duplicates, some with other weights, in ragged parts: equal rows are one."""
    case = data.draw(problems.cases(max_rows=40))
    problem = problem_of(case)
    weights = [1] * problem.n_rows if problem.weights is None else problem.weights.tolist()
    expected = sample(problem.Z, problem.y, weights, most, key)
    n_parts, seed = data.draw(st.sampled_from([1, 4, 16])), data.draw(st.integers(0, 99))
    source = RowsInParts(cut_up(problem, n_parts, seed), Post(seed))
    # What is thought to be the number of rows decides in how many passes they are found.
    n_rows = data.draw(st.sampled_from([1, problem.n_rows, 10**9]))
    found = answered(source, {1: sampled(n_rows, most, key)}, {})[1]
    rows = [tuple(row) for row in (found.Z.astype(np.float64) + 0.0).tolist()]
    assert list(zip(zip(rows, found.y.tolist(), strict=True), found.weights, strict=True)) == (
        expected
    )
    if problem.weights is None:
        assert found.n_counted == found.total_weight


def test_samples_of_numbers_tell_other_numbers_apart() -> None:
    X, y = np.zeros((6, 1)), np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]] * 2)
    source = RowsInParts(cut_up(encode_numbers(X, y), 3, 1))
    found = answered(source, {1: sampled(6, 5, 0)}, {})[1]
    assert sorted(zip(found.target.values[:, 1], found.weights, strict=True)) == [(2, 4), (3, 2)]


def of_rows(node: Any) -> Any:
    """Directions that depend on the order of rows, and on random numbers."""
    return node.X[node.rng.integers(0, node.n_samples, 3)] - node.X.mean(axis=0)


METHODS: dict[str, Any] = {
    "OC1": Proposals(Climb(n_restarts=3, guided="fisher"), scale="minmax"),
    "SADT": Proposals(Anneal(patience=100), axis_bias=0.0),
    "CART-LC": LinearCombination(),
    "trimmed": Proposals(Householder("dominant", trim=0.1), max_features=2),
    "FDT": Proposals(fisher_direction, axis_parallel=False),
    "means": Proposals(class_means, scale="robust"),
    "of rows": of_rows,
}


def three_classes(rounded: bool) -> Problem:
    rng = np.random.default_rng(rounded)
    X = rng.normal(size=(2000, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=2000) > 0) + (X[:, 2] > 1).astype(int)
    if not rounded:
        return encode(X, y, 3)
    return encode(np.round(X), y, 3, sample_weight=rng.integers(1, 4, 2000))


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.parametrize("rounded", [False, True])
def test_trees_do_not_depend_on_parts(name: str, rounded: bool) -> None:
    problem, method = three_classes(rounded), METHODS[name]
    for rules in (Rules(max_depth=6, min_samples_leaf=20), Rules(max_leaf_nodes=6)):
        how = (method, "gini", rules, 7)
        whole = grow_from(RowsInParts([problem]), *how, sample_rows=150)
        assert set(whole.origin_labels) - {"axis-parallel"}
        source = RowsInParts(cut_up(problem, 9, seed=1), Post())
        few = AtOnce(bins=4096, rows=200)
        assert grow_from(source, *how, sample_rows=150, at_once=few, few_rows=999) == whole
        # A sample of all rows is all rows.
        source = RowsInParts(cut_up(problem, 4, seed=1), Post())
        every = grow_from(source, *how, sample_rows=2000)
        assert every == grow(problem, method, "gini", rules, key=7) or name == "of rows"


def test_cuts_come_from_all_rows() -> None:
    """A sample of 40 rows finds where to look; the cut along it is the best of all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2))
    y = (X.sum(axis=1) > 0.7).astype(int)

    def diagonal(node: Any) -> Any:
        assert node.n_samples == 40
        return np.ones(2)

    tree = grow_from(RowsInParts([encode(X, y, 2)]), diagonal, rules=Rules(1), sample_rows=40)
    assert (tree.apply(X) == 1 + y).all()


@pytest.mark.parametrize("limit", ["min_samples_leaf", "min_weight_leaf"])
def test_limits_of_sides_count_in_proportion(limit: str) -> None:
    """Sides of 600 rows are none of a sample of 100, but they are of the node."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    problem = encode(X, (X.sum(axis=1) > 0).astype(int), 2)
    rules = Rules(max_depth=1, **{limit: 600})
    source = RowsInParts([problem])
    tree = grow_from(source, LinearCombination(), rules=rules, sample_rows=100)
    assert tree.origin_labels[tree.origin[0]] == "linear combination"


def test_nothing_proposed_is_an_axis_parallel_tree() -> None:
    problem, rules = three_classes(rounded=True), Rules(max_depth=3)
    tree = grow(problem, None, "gini", rules)
    for nothing in (None, np.empty((0, 4)), np.zeros((2, 4))):
        source = RowsInParts(cut_up(problem, 4, seed=1))
        found = grow_from(source, lambda _, told=nothing: told, "gini", rules, sample_rows=100)
        assert found == tree


def test_seed_and_node_change_the_sample() -> None:
    seen: list[Any] = []

    def watch(node: Any) -> None:
        seen.append({tuple(row) for row in node.X.tolist()})

    source = RowsInParts([three_classes(rounded=False)])
    for key in (1, 2):
        grow_from(source, watch, rules=Rules(2), sample_rows=100, key=key)
    assert [len(rows) for rows in seen] == [100] * 6
    assert all(len(a & b) < 60 for k, a in enumerate(seen) for b in seen[:k])


@pytest.mark.parametrize(
    "estimator",
    [
        OC1Classifier(n_restarts=2, max_depth=3, sample_rows=200),
        FisherTreeClassifier(max_depth=3, sample_rows=200),
        ObliqueTreeClassifier(of_rows, max_depth=3, sample_rows=200),
        ObliqueTreeRegressor(of_rows, max_depth=3, sample_rows=200),
    ],
)
def test_in_memory_the_order_of_rows_does_not_matter(estimator: Any) -> None:
    problem = three_classes(rounded=True)
    X, y, order = problem.Z, problem.y, np.random.default_rng(0).permutation(problem.n_rows)
    tree = estimator.fit(X, y).tree_
    assert estimator.fit(X[order], y[order]).tree_ == tree
    assert estimator.set_params(sample_rows=None).fit(X, y).tree_ != tree


def test_what_samples_cannot_do_is_refused() -> None:
    problem = three_classes(rounded=False)
    X, y = problem.Z, problem.y
    source = RowsInParts([problem])
    with pytest.raises(
        ValueError, match=r"Climb must see the rows .* or give sample_rows, 50,000"
    ):
        grow_from(source, Climb())
    with pytest.raises(ValueError, match="at the root only must see the rows") as refused:
        grow_from(source, Proposals(Climb(), at_root=True), sample_rows=100)
    assert "sample_rows" not in str(refused.value)
    with pytest.raises(ValueError, match="does not go with columns of levels or with missing"):
        OC1Classifier(sample_rows=100).fit(np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match="does not go with the criterion 'absolute_error'"):
        ObliqueTreeRegressor(criterion="absolute_error", sample_rows=100).fit(X, y)
    with pytest.raises(ValueError, match="does not go with a tree whose leaves say linear"):
        ObliqueTreeRegressor(leaf_model="linear", leaf_penalty=1.0, sample_rows=100).fit(X, y)
    # Slopes come from sums over all rows.
    slopes = ObliqueTreeRegressor(max_depth=3, pruning=None)
    tree = slopes.fit(X, y).tree_
    assert slopes.set_params(sample_rows=100).fit(X, y).tree_ == tree
