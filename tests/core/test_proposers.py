"""Proposers in Python: what they see, what they may return, and what they cannot break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given

import problems
from core.adapter import (
    assert_equals_twin,
    assert_rows_reach_their_leaves,
    assert_same_substance,
    fixed,
    grow_tree,
    grow_twin,
    problem_of,
)
from obliqua.engine.proposals import Directions, Proposals
from obliqua.errors import NodeViewClosed, ProposerError
from problems import Case, examples
from reference import grow as twin_grow
from reference import search as twin_search


def only(function: Any) -> Proposals:
    """A function's directions without the axis-parallel ones."""
    return Proposals(function, axis_parallel=False)


# --- the same trees as the twin's -------------------------------------------------------------


@examples(50)
@given(case=problems.cases(), rules=problems.rules())
def test_proposing_the_columns_is_cart(case: Case, rules: dict[str, Any]) -> None:
    problem = problem_of(case)
    columns = only(lambda node: np.eye(case.X.shape[1]))
    assert_same_substance(
        grow_tree(problem, "twoing", rules, columns), grow_tree(problem, "twoing", rules)
    )


@examples(50)
@given(pair=problems.searches(), rules=problems.rules())
@pytest.mark.parametrize("axis_parallel", [False, True])
def test_fixed_oblique_directions(
    axis_parallel: bool, pair: tuple[Case, Any], rules: dict[str, Any]
) -> None:
    case, normals = pair
    problem = problem_of(case)
    columns = twin_search.axes(case.X.shape[1]) if axis_parallel else []

    def twin(node: twin_grow.Node) -> list[twin_search.Direction]:
        return [*columns, *twin_search.directions(normals)]

    proposer = Proposals(lambda node: normals, axis_parallel=axis_parallel)
    tree = grow_tree(problem, "gini", rules, proposer)
    assert_equals_twin(tree, grow_twin(problem, "gini", rules, twin))
    assert_rows_reach_their_leaves(tree, problem)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thresholds_between_neighbours(dtype: Any) -> None:
    """A midpoint of two neighbours of float32 is no float32: comparing there loses rows."""
    step = np.finfo(dtype).eps
    # the row on the right of the first split comes first, so its place shows where it went
    X = np.array([1.0 + 2 * step, 1.0 + step] + [1.0] * 9, dtype=dtype)[:, None]
    problem = problem_of(Case(X, np.array([1, 0] + [0] * 8 + [1]), 2))
    normals = [[1.0 / 3.0], [-0.3]]
    both = [*twin_search.axes(1), *twin_search.directions(normals)]
    for criterion in ("twoing", "sum_minority"):
        tree = grow_tree(problem, criterion, None, lambda node: np.array(normals))
        assert_equals_twin(tree, grow_twin(problem, criterion, None, lambda node: both))
        assert_rows_reach_their_leaves(tree, problem)


def mean_difference(node: Any) -> Any:
    """First class against the rest; the sums of integer columns do not depend on row order."""
    first = node.y == node.y.min()
    X = np.asarray(node.X, dtype=np.float64)
    return X[first].sum(axis=0) / first.sum() - X[~first].sum(axis=0) / (~first).sum()


@pytest.mark.parametrize("axis_parallel", [False, True])
@pytest.mark.parametrize("best_first", [False, True])
@pytest.mark.parametrize("criterion", ["twoing", "entropy"])
def test_directions_from_the_data(criterion: str, best_first: bool, axis_parallel: bool) -> None:
    case = problems.weighted(problems.integers(400, seed=9), "integers")
    problem = problem_of(case)
    rules = {"best_first": best_first, "min_samples_leaf": 2}
    columns = twin_search.axes(4) if axis_parallel else []

    def twin(node: twin_grow.Node) -> list[twin_search.Direction]:
        return [*columns, *twin_search.directions(mean_difference(node))]

    proposer = Proposals(mean_difference, axis_parallel=axis_parallel)
    tree = grow_tree(problem, criterion, rules, proposer)
    assert_equals_twin(tree, grow_twin(problem, criterion, rules, twin))
    assert_rows_reach_their_leaves(tree, problem)
    assert tree.n_nodes > 30


def test_columns_come_first_and_win_ties() -> None:
    case = problems.integers(200, seed=10)
    again = Proposals(lambda node: np.eye(4)[::-1], axis_parallel=True)
    assert_same_substance(grow_tree(case, proposer=again), grow_tree(case))


def test_an_object_with_propose_is_a_proposer() -> None:
    class Mine:
        def propose(self, node: Any) -> Any:
            return np.eye(node.n_features)

    case = problems.integers(80)
    assert_same_substance(grow_tree(case, proposer=only(Mine())), grow_tree(case))


def test_given_thresholds_are_the_only_ones() -> None:
    case = problems.integers(200, seed=11)
    problem = problem_of(case)
    normals, thresholds = np.vstack([np.eye(4), np.ones(4)]), [2.0, 3.0, 4.0, 5.0, 20.0]
    batch = Directions(normals, thresholds=thresholds)
    tree = grow_tree(problem, "gini", None, only(lambda node: batch))
    assert_equals_twin(tree, grow_twin(problem, "gini", None, fixed(normals, thresholds)))
    assert set(tree.threshold.tolist()) <= set(thresholds)
    assert tree.n_nodes > 5


# --- what may be returned ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda eye: eye.astype(np.float32), id="float32"),
        pytest.param(lambda eye: eye.astype(np.int64), id="integers"),
        pytest.param(lambda eye: eye.tolist(), id="list"),
        pytest.param(np.asfortranarray, id="Fortran order"),
        pytest.param(lambda eye: scipy.sparse.csr_array(eye), id="csr array"),
        pytest.param(lambda eye: scipy.sparse.coo_matrix(eye), id="coo matrix"),
        pytest.param(lambda eye: Directions(eye), id="Directions"),
        pytest.param(lambda eye: Directions(scipy.sparse.csc_array(eye)), id="sparse Directions"),
        pytest.param(lambda eye: np.vstack([eye * np.nan, eye, 0 * eye]), id="with broken rows"),
        pytest.param(lambda eye: 4.0 * eye, id="scaled by a power of two"),
    ],
)
def test_forms_of_the_same_directions(form: Any) -> None:
    case = problems.integers(100, seed=12)
    tree = grow_tree(case, proposer=only(lambda node: form(np.eye(4))))
    assert_same_substance(tree, grow_tree(case), but=("coef", "threshold"))


def test_one_normal_may_be_one_dimensional() -> None:
    case = problems.integers(60)
    tree = grow_tree(case, proposer=only(lambda node: np.array([0.0, 1.0, 0.0, 0.0])))
    assert set(tree.coef_idx.tolist()) == {1}


@pytest.mark.parametrize(
    "nothing",
    [
        pytest.param(None, id="None"),
        pytest.param(np.empty((0, 4)), id="no rows"),
        pytest.param(np.zeros((3, 4)), id="zeros"),
        pytest.param(np.full((2, 4), np.nan), id="NaN"),
        pytest.param(np.full((2, 4), -np.inf), id="infinity"),
        pytest.param(scipy.sparse.csr_array((0, 4)), id="no sparse rows"),
    ],
)
def test_no_usable_proposal_makes_a_leaf(nothing: Any) -> None:
    case = problems.integers(50)
    assert grow_tree(case, proposer=only(lambda node: nothing)).n_nodes == 1
    both = grow_tree(case, proposer=Proposals(lambda node: nothing, axis_parallel=True))
    assert_same_substance(both, grow_tree(case))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(np.ones((2, 5)), id="too many columns"),
        pytest.param(np.ones((2, 3)), id="too few columns"),
        pytest.param(np.ones(3), id="one normal, too short"),
        pytest.param(np.ones((1, 1, 4)), id="three dimensions"),
        pytest.param(1.0, id="a number"),
        pytest.param("ones", id="a string"),
        pytest.param([["a", "b", "c", "d"]], id="strings"),
        pytest.param(np.ones((1, 4)) * 1j, id="complex"),
        pytest.param([[1.0, 2.0, 3.0, 4.0], [1.0]], id="ragged"),
        pytest.param({"normals": 1}, id="a dict"),
    ],
)
def test_wrong_shapes_are_errors_of_the_proposer(wrong: Any) -> None:
    with pytest.raises(ProposerError, match=r"shape|must return (real )?numbers"):
        grow_tree(problems.integers(50), proposer=only(lambda node: wrong))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"thresholds": [1.0]}, id="too few thresholds"),
        pytest.param({"thresholds": np.ones(5)}, id="too many thresholds"),
        pytest.param({"labels": ["a"]}, id="too few labels"),
    ],
)
def test_directions_must_fit_together(options: Any) -> None:
    with pytest.raises(ProposerError):
        grow_tree(
            problems.integers(50), proposer=only(lambda node: Directions(np.eye(4), **options))
        )


class Mine(Exception):
    pass


@pytest.mark.parametrize("error", [Mine, KeyboardInterrupt])
def test_exceptions_come_through(error: type[BaseException]) -> None:
    calls = []

    def breaks(node: Any) -> Any:
        calls.append(node.depth)
        if len(calls) == 4:
            raise error("stop")
        return np.eye(node.n_features)

    case = problems.integers(100)
    with pytest.raises(error, match="stop"):
        grow_tree(case, proposer=only(breaks))
    assert len(calls) == 4
    assert_same_substance(grow_tree(case), grow_tree(case))


# --- what a node shows ------------------------------------------------------------------------


def test_a_node_shows_its_rows() -> None:
    case = problems.weighted(problems.integers(120, seed=13), "eighths")
    seen = []

    def look(node: Any) -> Any:
        assert node.X.shape == (node.n_samples, node.n_features) == (len(node.y), 4)
        assert node.X.dtype == np.float64
        assert node.n_classes == 3
        counts = np.bincount(node.y, weights=node.sample_weight, minlength=3)
        np.testing.assert_array_equal(counts, node.counts)
        for array in (node.X, node.y, node.sample_weight, node.counts):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        seen.append((node.depth, node.n_samples, *node.counts.tolist()))
        return np.eye(4)

    tree = grow_tree(case, proposer=only(look))
    twin = grow_twin(problem_of(case))
    inner = [i for i in range(tree.n_nodes) if tree.n_samples[i] > 1]
    impure = [i for i in inner if np.count_nonzero(tree.stats[i]) > 1]
    shown = [(twin["depth"][i], twin["n_samples"][i], *twin["stats"][i]) for i in impure]
    assert sorted(seen) == sorted(shown)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", problems.LAYOUTS)
def test_a_node_holds_the_values_themselves(layout: str, dtype: Any) -> None:
    case = problems.gaussians(60, dtype=dtype)
    rows = {tuple(row) for row in case.X.astype(np.float64).tolist()}

    def look(node: Any) -> Any:
        assert {tuple(row) for row in node.X.tolist()} <= rows
        return np.eye(node.n_features)

    laid = Case(problems.lay_out(case.X, layout), case.y, case.n_classes)
    assert_same_substance(grow_tree(laid, proposer=only(look)), grow_tree(case))


def test_a_node_is_dead_after_the_call() -> None:
    kept = []

    def keeps(node: Any) -> Any:
        kept.append(node)
        return np.eye(node.n_features)

    grow_tree(problems.integers(30), proposer=only(keeps))
    for node in kept:
        for name in ("X", "y", "sample_weight", "rng"):
            with pytest.raises(NodeViewClosed):
                getattr(node, name)


# --- random proposers -------------------------------------------------------------------------


def random_normals(node: Any) -> Any:
    return node.rng.normal(size=(3, node.n_features))


@pytest.mark.parametrize("case", [problems.integers(150), problems.gaussians(150)])
def test_random_directions_depend_on_key_and_path_only(case: Case) -> None:
    proposer = only(random_normals)
    tree = grow_tree(case, proposer=proposer, key=1)
    best = grow_tree(case, rules={"best_first": True}, proposer=proposer, key=1)
    assert_same_substance(tree, best)
    order = np.random.default_rng(0).permutation(len(case.y))
    assert_same_substance(tree, grow_tree(case.take(order), proposer=proposer, key=1))
    assert_same_substance(tree, grow_tree(case, proposer=proposer, n_threads=2, key=1))
    other = grow_tree(case, proposer=proposer, key=2)
    assert tree.threshold[0] != other.threshold[0]
