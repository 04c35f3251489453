"""Linear functions in the nodes of trees, and what trees say, against plain loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.test_slopes import odd, table, weights_of
from obliqua.data.problem import Problem
from obliqua.engine.grow import grow
from obliqua.engine.linear_leaves import (
    LeafFit,
    line_errors,
    smoothed_leaves,
    smoothings_of,
    with_leaves,
)
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.slopes import ModelSlopes, Slopes
from obliqua.prune.reduced_error import node_errors
from obliqua.tree.tree import Tree
from problems import examples
from reference import lines as twin

seeds = st.integers(0, 10**6)


def case(seed: int, n: int = 60, weighted: bool = False, coded: bool = False) -> Problem:
    problem = table(seed, n, 1, weighted)
    return odd(problem, seed) if coded else problem


def grown(problem: Problem, leaves: int = 5, method: Any = None) -> Tree:
    rules = Rules(best_first=True, max_leaf_nodes=leaves, min_samples_leaf=3)
    return grow(problem, Proposals(method or Slopes(), scale="standard"), "squared_error", rules)


def weight_array(problem: Problem) -> Any:
    return np.array(weights_of(problem), dtype=np.float64)


def rows_of(tree: Tree, Z: Any) -> dict[int, list[int]]:
    """The rows that reach each node."""
    found: dict[int, list[int]] = {node: [] for node in range(tree.n_nodes)}
    for row, leaf in enumerate(tree.apply(Z).tolist()):
        for node in twin.path(tree, leaf):
            found[node].append(row)
    return found


def dense(tree: Tree, node: int) -> Any:
    coef = np.zeros(tree.n_features)
    there = slice(int(tree.leaf_ptr[node]), int(tree.leaf_ptr[node + 1]))
    coef[tree.leaf_idx[there]] = tree.leaf_coef[there]
    return coef


@examples(60)
@given(
    seed=seeds,
    n=st.integers(20, 70),
    weighted=st.booleans(),
    coded=st.booleans(),
    penalty=st.sampled_from([0.1, 1.0, 10.0]),
    most=st.sampled_from([None, None, 1, 2]),
)
def test_functions_of_nodes(
    seed: int, n: int, weighted: bool, coded: bool, penalty: float, most: int | None
) -> None:
    """Coefficients, intercept, limits and what is left over, at every node."""
    problem = case(seed, n, weighted, coded)
    tree = with_leaves(grown(problem), problem, LeafFit(penalty, max_features=most))
    tree.validate()
    Z, y, w = np.array(problem.Z, dtype=float), problem.target.values[:, 0], weight_array(problem)
    columns = twin.standard(Z, y, w, problem.n_levels.tolist(), problem.row_unit)
    rho = penalty / problem.row_unit
    for node, rows in rows_of(tree, Z).items():
        U, here, weight = columns.matrix[rows], y[rows], w[rows]
        assert (tree.leaf_low[node], tree.leaf_high[node]) == (here.min(), here.max())
        fit = twin.ridge(U, here, weight, rho)
        if most is not None:
            fit = twin.eliminated(U, here, weight, rho, most)
        coef = dense(tree, node) / columns.factor
        wide = max(np.abs(fit.coef).max(), 1e-6 * np.ptp(y))
        np.testing.assert_allclose(coef, fit.coef, rtol=1e-4, atol=1e-4 * wide)
        intercept = fit.mean - float((fit.coef * fit.middle).sum())
        size = np.abs(y).max() + (np.abs(fit.coef * fit.middle)).sum()
        assert tree.leaf_intercept[node] == pytest.approx(intercept, abs=1e-4 * size)
        # The plane goes through the means, to more digits than either has by itself.
        mean = np.average([line(tree, node, row) for row in Z[rows]], weights=weight)
        assert mean == pytest.approx(fit.mean, abs=1e-5 * np.ptp(y) + 1e-12 * size)
    by_hand = twin.node_errors(tree, Z, problem.target.values, w)
    scale = float(by_hand[0])
    np.testing.assert_allclose(tree.stats[:, -1], by_hand * problem.unit, atol=1e-12 * scale)
    np.testing.assert_allclose(node_errors(tree, problem), by_hand, atol=1e-12 * scale)


def line(tree: Tree, node: int, row: Any) -> float:
    """What a function says without limits."""
    free = replace(
        tree, leaf_low=np.full(tree.n_nodes, -np.inf), leaf_high=np.full(tree.n_nodes, np.inf)
    )
    return twin.value(free, node, row)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_trees_say_is_a_plain_loop(seed: int, coded: bool) -> None:
    """Also of rows far out, with gaps, with levels that nobody knows, and with infinite values."""
    problem = case(seed, 80, coded=coded)
    tree = with_leaves(grown(problem), problem, LeafFit(1.0))
    rng = np.random.default_rng(seed)
    Z = np.array(problem.Z, dtype=np.float64)
    plain = np.flatnonzero(problem.n_levels == 0)
    Z[:20, plain] *= 100.0
    if coded:
        Z[20:30, 0] = 7.0
        Z[30:40, 0] = -1.0
        Z[40:50, 0] = np.nan
        Z[50:60, 1] = np.nan
    leaf = tree.apply(Z)
    nodes = rng.integers(0, tree.n_nodes, len(Z))
    for where in (leaf, nodes):
        expected = [twin.value(tree, node, row) for node, row in zip(where, Z, strict=True)]
        assert tree.line_values(Z, where).tolist() == expected
        assert tree.said(Z, where).tolist() == [[value] for value in expected]
    np.testing.assert_array_equal(tree.predict(Z), tree.said(Z, leaf))
    assert (tree.predict(Z)[:, 0] >= tree.leaf_low[leaf]).all()
    assert (tree.predict(Z)[:, 0] <= tree.leaf_high[leaf]).all()
    # +inf and -inf that cancel are no number: then it is the mean.
    wild = np.array(Z)
    wild[:, plain] = np.inf * rng.choice([-1.0, 1.0], (len(Z), len(plain)))
    with np.errstate(invalid="ignore"):
        expected = [twin.value(tree, node, row) for node, row in zip(nodes, wild, strict=True)]
    assert tree.line_values(wild, nodes).tolist() == expected
    assert np.isfinite(expected).all()


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("strength", [3.0, 20.0])
@pytest.mark.parametrize("seed", range(4))
def test_smoothing(seed: int, strength: float, linear: bool) -> None:
    """(n f + m g) / (n + m), where g is what the node above says, and so on up to the root."""
    problem = case(seed, 80, weighted=seed % 2 == 1, coded=seed > 1)
    fit = LeafFit(1.0) if linear else LeafFit()
    plain = with_leaves(grown(problem), problem, fit)
    row_unit = problem.row_unit / problem.unit
    smooth = smoothed_leaves(plain, strength, row_unit)
    smooth.validate()
    Z, w = np.array(problem.Z, dtype=np.float64), weight_array(problem)
    y = problem.target.values[:, 0]
    n_rows = {node: w[rows].sum() * problem.row_unit for node, rows in rows_of(plain, Z).items()}

    def own(node: int, row: Any) -> float:
        return line(plain, node, row) if linear else float(plain.mean[node, 0])

    for row in range(0, len(Z), 7):
        way = twin.path(plain, int(plain.apply(Z[row : row + 1])[0]))
        said = own(0, Z[row])
        for node in way[1:]:
            said = (n_rows[node] * own(node, Z[row]) + strength * said) / (n_rows[node] + strength)
            if linear:
                said_there = min(max(said, plain.leaf_low[node]), plain.leaf_high[node])
            else:
                said_there = said
            found = smooth.said(Z[row : row + 1], np.array([node]))[0, 0]
            assert found == pytest.approx(said_there, rel=1e-9, abs=1e-9 * np.ptp(y))
    # As `with_leaves` has it, with the squared errors of what is said then.
    whole = with_leaves(grown(problem), problem, replace(fit, smoothing=strength))
    np.testing.assert_allclose(whole.predict(Z), smooth.predict(Z), rtol=1e-12)
    errors = twin.node_errors(whole, Z, problem.target.values, w) * problem.unit
    # The grid of constants is finer than this by far.
    np.testing.assert_allclose(whole.stats[:, -1], errors, rtol=1e-6, atol=1e-6 * errors[0])


def test_smoothing_of_nothing_changes_nothing() -> None:
    problem = case(3)
    tree = with_leaves(grown(problem), problem, LeafFit(1.0))
    assert smoothed_leaves(tree, 0.0) is tree
    root = with_leaves(grown(problem, 1), problem, LeafFit(1.0))
    assert smoothed_leaves(root, 5.0) is root


def test_several_outputs_are_smoothed_each() -> None:
    problem = table(4, 80, 3)
    plain = grown(problem)
    smooth = smoothed_leaves(plain, 4.0)
    for node in range(1, plain.n_nodes):
        n, above = plain.stats[node, 0], smooth.mean[plain.parent[node]]
        expected = (n * plain.mean[node] + 4.0 * above) / (n + 4.0)
        np.testing.assert_allclose(smooth.mean[node], expected, rtol=1e-12)
        more = plain.stats[node, 0] * ((smooth.mean[node] - plain.mean[node]) ** 2).sum()
        assert smooth.stats[node, -1] == pytest.approx(plain.stats[node, -1] + more)


def test_errors_of_other_rows_and_their_order() -> None:
    problem = case(5, 120, weighted=True, coded=True)
    tree = with_leaves(
        grown(problem.take(np.arange(80))), problem.take(np.arange(80)), LeafFit(1.0)
    )
    held = problem.take(np.arange(80, 120))
    Z, w = np.array(held.Z, dtype=np.float64), weight_array(held)
    expected = twin.node_errors(tree, Z, held.target.values, w)
    np.testing.assert_allclose(node_errors(tree, held), expected, rtol=1e-12)
    means = line_errors(tree, held, tree.apply(held.Z))
    weight = np.array([w[rows].sum() for rows in rows_of(tree, Z).values()])
    np.testing.assert_allclose(means * weight, expected, rtol=1e-12)
    order = np.random.default_rng(0).permutation(40)
    assert node_errors(tree, held.take(order)).tobytes() == node_errors(tree, held).tobytes()


def test_a_node_without_rows_costs_nothing() -> None:
    problem = case(5, 60)
    tree = with_leaves(grown(problem), problem, LeafFit(1.0))
    one = problem.take(np.array([0]))
    errors = node_errors(tree, one)
    assert np.isfinite(errors).all()
    assert (errors > 0).sum() <= len(twin.path(tree, int(tree.apply(one.Z)[0])))


def test_order_and_weights_change_no_bit() -> None:
    for coded, most in ((False, None), (True, 2)):
        problem = case(7, 200, weighted=True, coded=coded)
        fit = LeafFit(0.5, 0.0 if most else 6.0, most)

        def tree_of(problem: Problem, fit: LeafFit = fit) -> Tree:
            tree = grown(problem, 6, ModelSlopes(penalty=0.5))
            return with_leaves(tree, problem, fit)

        rules_free = problem.take(np.random.default_rng(1).permutation(200))
        assert tree_of(rules_free) == tree_of(problem)
        assert problem.weights is not None
        repeated = problem.take(np.repeat(np.arange(200), problem.weights))
        plain = replace(repeated, weights=None, row_counts=None)
        # The same tree for both, whose rows are told by weight: limits count rows otherwise.
        tree = grown(problem, 6)
        one, other = with_leaves(tree, problem, fit), with_leaves(tree, plain, fit)
        assert one == other


def test_fits_that_grow_the_same_tree() -> None:
    fits = [LeafFit(1.0, 0.0), LeafFit(1.0, 5.0), LeafFit(), LeafFit(smoothing=3.0), LeafFit(2.0)]
    assert smoothings_of(fits) == {
        LeafFit(1.0): fits[:2],
        LeafFit(): fits[2:4],
        LeafFit(2.0): fits[4:],
    }


def test_a_line_is_found_but_not_beyond_its_rows() -> None:
    from obliqua.data.problem import encode_numbers

    x = np.linspace(0.0, 1.0, 50)[:, None]
    problem = encode_numbers(x, 3.0 * x + 1.0)
    tree = with_leaves(grown(problem, 1), problem, LeafFit(1e-6))
    assert tree.predict(np.array([[0.5]]))[0, 0] == pytest.approx(2.5, abs=1e-5)
    assert tree.predict(np.array([[-9.0], [9.0]])).tolist() == [[1.0], [4.0]]
