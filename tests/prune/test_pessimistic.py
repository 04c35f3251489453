"""Pessimistic pruning against its twin, and what must change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import problems
import reference.pessimistic as twin
from core.adapter import assert_same_substance, grow_tree, problem_of
from obliqua.criteria import get_criterion
from obliqua.data.problem import Problem, encode
from obliqua.prune import pessimistic_errors, prune_pessimistic
from obliqua.prune.reduced_error import add_upwards
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree
from problems import Case, examples
from strategies import rows, trees

KINDS = ("integers", "eighths", "tenths", "with zeros")
cases = problems.cases(max_rows=30, max_columns=3, max_classes=3, weights=KINDS)
noisy = st.builds(problems.integers, st.integers(10, 60), st.just(2), seed=st.integers(0, 50))
factors = st.sampled_from([0.5, 0.4, 0.25, 0.1, 0.01, 1e-4])
bounds = st.sampled_from(["j48", "c45", "exact"])
flags = st.booleans()


# --- the estimate ---------------------------------------------------------------------------


@examples(300)
@given(
    n=st.one_of(st.integers(0, 400).map(float), st.floats(0.01, 500)),
    share=st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)),
    factor=st.one_of(factors, st.floats(1e-6, 0.5)),
    bound=bounds,
)
def test_the_estimate_is_the_twins(n: float, share: float, factor: float, bound: str) -> None:
    for e in (n * share, float(np.floor(n * share))):
        found = float(pessimistic_errors(n, e, factor, bound))
        assert found == pytest.approx(twin.expected(n, e, factor, bound), rel=1e-6, abs=1e-9)
        assert e * (1 - 1e-12) <= found <= n


@pytest.mark.parametrize("factor", [0.5, 0.25, 0.05])
def test_the_exact_limit_is_a_limit(factor: float) -> None:
    """At this rate, so few errors are seen just with the probability of the factor."""
    for n in (1, 2, 6, 16, 187):
        for e in {0, 1, n // 3, n - 1} - {n}:
            rate = float(pessimistic_errors(n, e, factor, "exact")) / n
            assert twin.is_limit(n, e, rate, factor)


def test_the_example_of_the_book() -> None:
    """Chapter 4: 0.206, 0.143 and 0.750 for leaves without errors, 0.157 for one in sixteen."""
    n = np.array([6.0, 9.0, 1.0])
    for bound in ("j48", "c45", "exact"):
        rates = pessimistic_errors(n, 0, 0.25, bound) / n
        assert rates.round(3).tolist() == [0.206, 0.143, 0.75]
    assert round(float(pessimistic_errors(16, 1, 0.25, "c45")) / 16, 3) == 0.157


def test_the_approximations_are_near_the_exact_limit() -> None:
    n = np.arange(2.0, 200.0)[:, None]
    e = np.floor(n * np.linspace(0, 0.6, 7))
    exact = pessimistic_errors(n, e, 0.25, "exact")
    for bound in ("j48", "c45"):
        assert np.abs(pessimistic_errors(n, e, 0.25, bound) - exact).max() < 0.5


@pytest.mark.parametrize("bound", ["j48", "c45", "exact"])
@pytest.mark.parametrize("n", [5e-324, 1e-300, 1e-9, 1.0, 1e16, 1e200, 1e302, 1.7e308])
def test_extreme_weights(n: float, bound: str) -> None:
    e = n * np.array([0.0, 1e-8, 0.3, 0.5])
    found = pessimistic_errors(n, e, 0.25, bound)
    assert np.isfinite(found).all()
    assert (found <= n).all()


@pytest.mark.parametrize("factor", [0.0, -1.0, 0.6, 1.0, np.nan, "a", None])
def test_factors_that_mean_nothing(factor: Any) -> None:
    tree = grow_tree(problems.integers(20))
    for call in (
        lambda: pessimistic_errors(5, 1, factor),
        lambda: prune_pessimistic(tree, confidence_factor=factor),
    ):
        with pytest.raises(ValueError, match=r"above 0 and at most 0\.5"):
            call()


@pytest.mark.parametrize(
    ("n", "e", "message"),
    [
        (np.nan, 0, "rows n must be finite and not negative; got nan"),
        ([3, np.inf], 0, "rows n must be finite and not negative; got inf"),
        (-1, 0, "rows n must be finite and not negative; got -1.0"),
        (5, np.nan, "errors e must be finite and not negative; got nan"),
        (5, [1, -2], "errors e must be finite and not negative; got -2.0"),
        ([9, 5], 6, "more errors than rows: .* got n=5.0, e=6.0"),
    ],
)
def test_numbers_that_mean_nothing(n: Any, e: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pessimistic_errors(n, e)


def test_errors_that_are_more_than_the_rows_by_rounding() -> None:
    assert float(pessimistic_errors(3.0, 3.0 + 1e-12)) == 3.0


def test_an_unknown_bound() -> None:
    with pytest.raises(ValueError, match="j48, c45, exact; got 'wilson'"):
        prune_pessimistic(grow_tree(problems.integers(20)), bound="wilson")


# --- pruning --------------------------------------------------------------------------------


def rows_of(problem: Problem) -> list[twin.Row]:
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    scaled = (weights * problem.unit).tolist()
    return list(zip(problem.Z.tolist(), problem.y.tolist(), scaled, strict=True))


def assert_is_the_twins(found: Tree, expected: twin.Node, tree: Tree, problem: Problem) -> None:
    """The same questions in the same places, with the rows that reach them."""
    nodes = twin.level_order(expected)
    found.validate()
    assert found.n_children.tolist() == [len(node["children"]) for node in nodes]
    assert found.n_samples.tolist() == [len(node["rows"]) for node in nodes]
    sums = [twin.counts(node, tree.n_stats) for node in nodes]
    np.testing.assert_allclose(found.stats, sums, rtol=1e-12)
    for place, node in enumerate(nodes):
        if node["children"]:
            ours, theirs = found.subtree(place), tree.subtree(node["number"])
            assert ours.kind[0] == theirs.kind[0]
            assert ours.origin[0] == theirs.origin[0]
            size = int(ours.plane_ptr[1])
            np.testing.assert_array_equal(ours.threshold[:size], theirs.threshold[:size])
            ends = slice(0, int(ours.coef_ptr[size]))
            np.testing.assert_array_equal(ours.coef[ends], theirs.coef[ends])
        else:
            assert found.gain[place] == 0.0
    np.testing.assert_array_equal(
        np.bincount(found.apply(problem.Z), minlength=found.n_nodes)[found.is_leaf],
        found.n_samples[found.is_leaf],
    )


@examples(200)
@given(case=st.one_of(cases, noisy), factor=factors, bound=bounds, prune_root=flags, up=flags)
def test_pruning_a_grown_tree(
    case: Case, factor: float, bound: str, prune_root: bool, up: bool
) -> None:
    problem = problem_of(case)
    tree = grow_tree(problem, rules={"zero_gain": True})
    pruned = prune_pessimistic(
        tree,
        problem,
        confidence_factor=factor,
        prune_root=prune_root,
        bound=bound,
        subtree_raising=up,
    )
    top = twin.nested(tree, rows_of(problem))
    weight = case.sample_weight
    per_weight = 1.0  # weights that are not all whole numbers count as if their mean were 1
    if weight is not None and (weight % 1 != 0).any():
        per_weight = np.count_nonzero(weight) / weight.sum()
    pruner = twin.Pruner(tree, factor, bound, up, per_weight)
    assert_is_the_twins(pruned, pruner.prune(top, keep=not prune_root), tree, problem)


@pytest.mark.parametrize("seed", range(20))
def test_much_noise(seed: int) -> None:
    """Here branches are raised, some of them over what was raised before."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (250, 3)).astype(float)
    y = np.where(rng.random(250) < 0.4, rng.integers(0, 3, 250), X[:, 0] > X[:, 1])
    case = Case(X, y.astype(np.int64), 3, rng.integers(1, 3, 250).astype(float))
    problem = problem_of(case)
    tree = grow_tree(problem, "entropy")
    for factor in (0.5, 0.25, 0.05):
        pruned = prune_pessimistic(tree, problem, confidence_factor=factor, prune_root=True)
        top = twin.nested(tree, rows_of(problem))
        expected = twin.Pruner(tree, factor, "j48", True).prune(top)
        assert_is_the_twins(pruned, expected, tree, problem)


def counted(tree: Tree, problem: Problem) -> Tree:
    """The same tree with the sums of these rows."""
    reached = tree.apply(problem.Z)
    sums = np.zeros((tree.n_nodes, tree.n_stats))
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    np.add.at(sums, (reached, problem.y), weights)
    numbers = np.bincount(reached, minlength=tree.n_nodes).astype(np.float64)[:, None]
    return replace(
        tree,
        stats=add_upwards(tree, sums) * problem.unit,
        n_samples=add_upwards(tree, numbers)[:, 0].astype(np.int64),
    )


@examples(200)
@given(data=st.data(), factor=factors, bound=bounds, prune_root=flags, up=flags)
def test_pruning_a_tree_of_any_kind(
    data: Any, factor: float, bound: str, prune_root: bool, up: bool
) -> None:
    """Linear machines and sets of levels have more than two branches; values may be missing."""
    tree = data.draw(trees(max_splits=8, filled=True))
    Z = data.draw(rows(tree, missing=True, max_rows=24))
    classes = st.integers(0, tree.n_stats - 1)
    y = np.array(data.draw(st.lists(classes, min_size=len(Z), max_size=len(Z))))
    weight = data.draw(st.sampled_from([None, 1.0 + (np.arange(len(Z)) % 3)]))
    plain = encode(np.zeros((len(Z), 1)), y, tree.n_stats, sample_weight=weight)
    problem = replace(plain, Z=Z)
    tree = counted(tree, problem)
    pruned = prune_pessimistic(
        tree,
        problem if up else None,
        confidence_factor=factor,
        prune_root=prune_root,
        bound=bound,
    )
    top = twin.nested(tree, rows_of(problem))
    expected = twin.Pruner(tree, factor, bound, up).prune(top, keep=not prune_root)
    assert_is_the_twins(pruned, expected, tree, problem)


@examples(100)
@given(
    case=problems.cases(weights=("integers", "with zeros")),
    factor=factors,
    prune_root=flags,
    up=flags,
    random=st.randoms(use_true_random=False),
)
def test_weights_and_order(
    case: Case, factor: float, prune_root: bool, up: bool, random: Any
) -> None:
    """A weight of two is a row twice, and rows may come in any order."""
    weight = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    order = np.repeat(np.arange(len(case.y)), weight.astype(np.int64)).tolist()
    random.shuffle(order)
    repeated = replace(case.take(np.array(order, dtype=np.int64)), sample_weight=None)

    def pruned(one: Case) -> Tree:
        problem = problem_of(one)
        return prune_pessimistic(
            grow_tree(problem),
            problem if up else None,
            confidence_factor=factor,
            prune_root=prune_root,
        )

    assert_same_substance(pruned(case), pruned(repeated), but=("n_samples", "gain"))


# --- raising --------------------------------------------------------------------------------


def stripes(n_rows: int = 400) -> Case:
    """The border is at 0 along the second column; a first split at 0.9 only gets in the way."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 2)) * 2 - 1
    return Case(X, (X[:, 1] > 0).astype(np.int64), 2)


def in_the_way(case: Case) -> Tree:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0}, 0.9, ("low", "high"))
    builder.add_split("low", {1: 1.0}, 0.0, ("a", "b"))
    builder.add_split("high", {1: 1.0}, -0.5, ("c", "d"))
    for leaf in "abcd":
        builder.set_leaf(leaf, [0, 0])
    for name in ("root", "low", "high"):
        builder.annotate(name, gain=0.125, axis_gain=0.25)
    return counted(builder.build(), problem_of(case))


def test_a_branch_is_raised() -> None:
    case = stripes()
    problem, tree = problem_of(case), in_the_way(case)
    assert prune_pessimistic(tree, prune_root=True).n_leaves == 4
    kept = prune_pessimistic(tree, problem=problem)
    assert kept == tree
    raised = prune_pessimistic(tree, problem=problem, prune_root=True)
    assert raised.n_leaves == 2
    assert raised.coef_idx.tolist() == [1]
    assert raised.threshold.tolist() == [0.0]
    assert raised.stats[1:].tolist() == np.diag(np.bincount(case.y)).tolist()
    assert raised.n_samples[0] == 400
    assert np.isnan(raised.axis_gain[0])
    # as good as it was, for more rows
    assert raised.gain[0] == pytest.approx(0.125 * 400 / tree.n_samples[1])


def test_a_criterion_measures_what_was_raised() -> None:
    case = stripes()
    gini = get_criterion("gini")
    raised = prune_pessimistic(
        in_the_way(case), problem=problem_of(case), prune_root=True, criterion=gini
    )
    assert raised.gain[0] == float(gini.goodness(*raised.stats[1:]))


@examples(100)
@given(case=st.one_of(cases, noisy), factor=factors)
def test_gains_after_raising(case: Case, factor: float) -> None:
    problem = problem_of(case)
    criterion = get_criterion("gini")
    tree = grow_tree(problem, "gini")
    pruned = prune_pessimistic(
        tree, problem, confidence_factor=factor, prune_root=True, criterion=criterion
    )
    for node in np.flatnonzero(~pruned.is_leaf):
        first = int(pruned.first_child[node])
        share = pruned.stats[node].sum() / pruned.stats[0].sum()
        goodness = float(criterion.goodness(pruned.stats[first], pruned.stats[first + 1]))
        assert pruned.gain[node] == pytest.approx(share * goodness, rel=1e-9)


def test_a_function_measures_what_was_raised() -> None:
    """It sees weights as they were given, and its answers are checked as while growing."""
    case = replace(stripes(), sample_weight=np.full(400, 0.5))
    problem, tree = problem_of(case), in_the_way(case)
    seen = []

    def difference(left: Any, right: Any) -> float:
        seen.append((left.tolist(), right.tolist()))
        return float(np.abs(left - right).sum())

    ours = get_criterion(difference)
    raised = prune_pessimistic(tree, problem, prune_root=True, criterion=ours)
    sides = raised.stats[1:].tolist()
    assert raised.stats[0].sum() == 200.0
    assert seen[-1] == (sides[0], sides[1])
    assert raised.gain[0] == 200.0
    odd = get_criterion(lambda left, right: np.nan)
    with pytest.raises(ValueError, match=r"must return a finite number .* got NaN"):
        prune_pessimistic(tree, problem, prune_root=True, criterion=odd)


def test_gains_come_from_rows_and_not_from_what_a_tree_remembers() -> None:
    case = stripes()
    tree, problem = in_the_way(case), problem_of(case)
    stats = tree.stats.copy()
    stats[1:] = 0.0
    forgetful = prune_pessimistic(replace(tree, stats=stats), problem, prune_root=True)
    assert forgetful.n_leaves == 2
    assert forgetful == prune_pessimistic(tree, problem, prune_root=True)


def test_other_rows_are_refused() -> None:
    case = stripes()
    tree, problem = in_the_way(case), problem_of(case)
    cases = {
        "2 classes, the rows have 3": (encode(case.X, case.y, 3), ValueError),
        "rows that the tree was grown from": (encode(case.X[:300], case.y[:300], 2), ValueError),
        "got float": (0.05, TypeError),
    }
    for message, (other, kind) in cases.items():
        with pytest.raises(kind, match=message):
            prune_pessimistic(tree, other)
    assert prune_pessimistic(tree, problem) == tree


# --- large and odd --------------------------------------------------------------------------


def test_a_tree_without_counts() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.0, ("low", "high"))
    builder.set_leaf("low", [0, 0])
    builder.set_leaf("high", [0, 0])
    tree = builder.build()
    assert prune_pessimistic(tree).n_leaves == 2
    assert prune_pessimistic(tree, prune_root=True).n_leaves == 1


def test_weights_too_large_to_be_added() -> None:
    """Both sides are of the first class: one leaf errs no more than two."""
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.0, ("low", "high"))
    builder.set_leaf("low", [1e308, 0.3e308])
    builder.set_leaf("high", [0.7e308, 0.2e308])
    for bound in ("j48", "c45", "exact"):
        assert prune_pessimistic(builder.build(), prune_root=True, bound=bound).n_leaves == 1


@pytest.mark.parametrize("weight", [1e200, 1e290, 1e305])
def test_all_nodes_are_measured_in_one_scale(weight: float) -> None:
    case = stripes()
    wrong = np.arange(400) % 10 == 0
    y = np.where(wrong, 1 - case.y, case.y)
    case = replace(case, y=y, sample_weight=np.full(400, weight))
    raised = prune_pessimistic(in_the_way(case), problem_of(case), prune_root=True)
    assert raised.n_leaves == 2
    assert raised.threshold.tolist() == [0.0]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(np.int64)
    problem = problem_of(Case(X, y, 2, np.full(400, weight)))
    tree = grow_tree(problem, rules={"max_depth": 6})
    assert prune_pessimistic(tree, problem, prune_root=True).n_leaves > 10


def chain(labels: list[int]) -> tuple[Tree, Problem]:
    """A tree of one long branch, with three rows of one label in each leaf."""
    builder = TreeBuilder(1, 2)
    *first, last = labels
    for depth, label in enumerate(first):
        builder.add_split(depth, {0: 1.0}, float(depth), (f"leaf {depth}", depth + 1))
        builder.set_leaf(f"leaf {depth}", [3 * (1 - label), 3 * label], 3)
    builder.set_leaf(len(first), [3 * (1 - last), 3 * last], 3)
    Z = np.repeat(np.arange(float(len(labels))), 3)[:, None]
    return builder.build(), encode(Z, np.repeat(labels, 3), 2)


def test_deep_trees() -> None:
    """A tree of one long branch is deeper than Python's recursion."""
    labels = np.random.default_rng(0).integers(0, 2, 1501).tolist()
    tree, problem = chain(labels)
    plain = prune_pessimistic(tree, prune_root=True)
    raised = prune_pessimistic(tree, problem, prune_root=True)
    assert plain.n_leaves == 1501
    # Pruning all that is below anew after each of so many raises would take minutes.
    assert 600 < raised.n_leaves < 900
    raised.validate()
    assert raised.stats[0].tolist() == tree.stats[0].tolist()


def test_a_long_branch_is_the_twins() -> None:
    tree, problem = chain(np.random.default_rng(1).integers(0, 2, 51).tolist())
    pruned = prune_pessimistic(tree, problem, prune_root=True)
    assert pruned.n_leaves < 40
    top = twin.nested(tree, rows_of(problem))
    expected = twin.Pruner(tree, 0.25, "j48", True).prune(top)
    assert_is_the_twins(pruned, expected, tree, problem)
