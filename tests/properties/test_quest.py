"""QUEST at every node against its twin, and what must hold whatever the data are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem, encode
from obliqua.data.target import Classes
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Directions, NodeView, Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.quest import Quest, _OrderedRows, linear_cut, quadratic_cut, two_groups
from obliqua.testing import check_proposer
from obliqua.tree.tree import Tree
from problems import Case, cases, examples, gaussians
from reference import quest as twin

ALPHA = 0.05
LEVELS = (0, 4, 0, 3, 0)
VARIANTS = [Quest(a, b) for a in ("univariate", "linear") for b in ("quadratic", "linear")]
each_variant = pytest.mark.parametrize("quest", VARIANTS, ids=str)


def table(seed: int, n: int = 70, n_classes: int = 3, gaps: float = 0.1) -> Problem:
    """Numbers and levels with ties, gaps, whole weights, and a column that differs in spread."""
    rng = np.random.default_rng(seed)
    Z = np.column_stack(
        [
            rng.integers(0, 6, n) / 2,
            rng.integers(0, 4, n),
            rng.normal(size=n),
            rng.integers(0, 3, n),
            np.zeros(n),
        ]
    )
    score = Z[:, 0] + np.array([1.0, -1.0, 0.5, 2.0])[Z[:, 1].astype(int)]
    y = np.digitize(score + rng.normal(size=n), [0.8, 2.0, 3.0][: n_classes - 1])
    Z[:, 4] = rng.normal(size=n) * (1 + 3 * (y == 1))
    Z[rng.random(Z.shape) < gaps] = np.nan
    columns = tuple(
        Column(f"x{k}", "qualitative", tuple(range(m))) if m else Column(f"x{k}")
        for k, m in enumerate(LEVELS)
    )
    return Problem(
        np.ascontiguousarray(Z),
        Classes(y.astype(np.int32), n_classes),
        rng.integers(1, 4, n),
        1.0,
        Encoding(columns),
        np.array(LEVELS, dtype=np.int32),
        np.isnan(Z).any(axis=0),
    )


def nodes_of(problem: Problem, quest: Quest) -> list[dict[str, Any]]:
    """What the proposer saw at each node, rows repeated by weight, and what it said."""
    seen: list[dict[str, Any]] = []

    def spy(node: NodeView) -> Directions | None:
        said = quest.propose(node)
        times = node.sample_weight.astype(int)
        names = ("X", "encoded", "y")
        arrays = {name: np.repeat(getattr(node, name), times, axis=0) for name in names}
        if said is None:
            assert (node.X[0] == node.X).all()
        else:
            seen.append({**arrays, "n_levels": node.n_levels.copy(), "said": said})
        return said

    grow(problem, Proposals(spy, axis_parallel=False), rules=Rules(zero_gain=True))
    return seen


def superclass(node: dict[str, Any], means: np.ndarray) -> np.ndarray:
    classes, counts = np.unique(node["y"], return_counts=True)
    return np.isin(node["y"], classes[two_groups(means, counts.astype(float))])


def class_means(node: dict[str, Any], X: np.ndarray) -> np.ndarray:
    return np.array([X[node["y"] == c].mean(axis=0) for c in np.unique(node["y"])])


def expected_threshold(z: np.ndarray, first: np.ndarray, kind: str) -> float | None:
    """From the twin; None where the means are equal, and where no superclass varies."""
    means = float(z[first].mean()), float(z[~first].mean())
    variances = float(z[first].var()), float(z[~first].var())
    share, middle = float(first.mean()), sum(means) / 2
    if kind == "linear":
        variances = (share * variances[0] + (1 - share) * variances[1],) * 2
    if max(variances) < 1e-12 * np.ptp(z) ** 2 or abs(means[0] - means[1]) < 1e-9 * np.ptp(z):
        return None
    if min(variances) < 1e-12 * np.ptp(z) ** 2:
        return beside(z, first if variances[0] < variances[1] else ~first)
    points = twin.crossings(means, variances, share)
    point = min(points, key=lambda x: abs(x - middle), default=middle)
    return point if z.min() <= point < z.max() else middle


def beside(z: np.ndarray, point: np.ndarray) -> float:
    """Halfway from the one value of a superclass to the next row, on the side of the others."""
    values = np.unique(z)
    place = int(np.argmin(np.abs(values - z[point].mean())))
    up = z[~point].mean() > values[place]
    return float(values[place] + values[place + (1 if up else -1)]) / 2


@pytest.mark.parametrize("kind", ["quadratic", "linear"])
@pytest.mark.parametrize("seed", range(12))
def test_univariate_splits_are_the_twins(seed, kind):
    problem = table(seed, n_classes=2 + seed % 3, gaps=0.1 * (seed % 2))
    nodes = nodes_of(problem, Quest("univariate", kind, ALPHA))
    assert len(nodes) > 5
    compared = 0
    for node in nodes:
        column = int(np.flatnonzero(node["said"].normals)[0])
        check_column(node, column, node["said"].labels[0])
        z = node["X"][:, column]
        first = superclass(node, class_means(node, z[:, None]) / max(np.ptp(z), 1e-300))
        threshold = expected_threshold(z, first, kind)
        if threshold is not None:
            compared += 1
            assert node["said"].thresholds[0] == pytest.approx(threshold, abs=2e-7 * np.ptp(z))
    assert compared >= 5


def check_column(node: dict[str, Any], column: int, label: str) -> None:
    """The column is the one that the twin's tests choose, for the reason that is given."""
    free = [k for k, n in enumerate(node["n_levels"]) if np.ptp(node["X"][:, k]) > 0]
    p = {
        k: (twin.p_of_levels if node["n_levels"][k] else twin.p_of_numbers)(
            node["encoded"][:, k], node["y"]
        )
        for k in free
    }
    # Too few values prove nothing, unless all columns are like that.
    numeric = [k for k in free if not node["n_levels"][k]]
    known = {k: ~np.isnan(node["encoded"][:, k]) for k in numeric}
    few = [k for k in numeric if known[k].sum() <= len(set(node["y"][known[k]]))]
    if len(few) < len(numeric):
        p |= dict.fromkeys(few, 1.0)
    if min(p.values()) < ALPHA / 5 * (1 - 1e-9):
        assert label == ("chi-square test" if node["n_levels"][column] else "F test")
        assert p[column] <= min(p.values()) * (1 + 1e-6)
        return
    spreads = {k: twin.p_of_spread(node["encoded"][:, k], node["y"]) for k in numeric}
    if len(few) < len(numeric):
        spreads |= dict.fromkeys(few, 1.0)
    if spreads and min(spreads.values()) < ALPHA / 8 * (1 - 1e-9):
        assert label == "Levene's test"
        assert spreads[column] <= min(spreads.values()) * (1 + 1e-6)
    else:
        assert label == "smallest p-value"
        assert p[column] <= min(p.values()) * (1 + 1e-6)


@pytest.mark.parametrize("up", [True, False])
def test_a_superclass_with_one_value_is_cut_off_towards_the_others(up):
    """The mean of the others decides, by weight, and not the number of rows on each side."""
    z = np.array([0.0, 0.0, 0.0, -1.0, -2.0, -3.0, 1.0]) * (1 if up else -1)
    y = np.array([0, 0, 0, 1, 1, 1, 1], dtype=np.int32)
    weight = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0])
    for weights, cut in ((weight, 0.5), (None, -0.5)):
        problem = encode(z[:, None], y, 2, weights)
        node = grow(problem, Proposals(Quest(), axis_parallel=False), rules=Rules(max_depth=1))
        assert node.threshold[0] == pytest.approx(cut if up else -cut, abs=1e-6)


def test_all_reasons_to_choose_a_column_are_tested():
    labels = {
        node["said"].labels[0]
        for seed in range(12)
        for node in nodes_of(table(seed, n_classes=2 + seed % 3), VARIANTS[0])
    }
    assert labels == {"F test", "chi-square test", "Levene's test", "smallest p-value"}


@pytest.mark.parametrize("kind", ["quadratic", "linear"])
@pytest.mark.parametrize("seed", range(8))
def test_linear_splits_are_the_twins(seed, kind):
    problem = table(seed, n=150, n_classes=2 + seed % 3)
    compared = 0
    for node in nodes_of(problem, Quest("linear", kind)):
        X = node["X"]
        free = np.ptp(X, axis=0) > 0
        if node["said"].labels[0] != "linear discriminant" or len(np.unique(X, axis=0)) < 20:
            continue
        spread = X[:, free].std(axis=0)
        first = superclass(node, class_means(node, X[:, free] / spread))
        within = np.cov(X[first][:, free].T / spread[:, None], bias=True) + np.cov(
            X[~first][:, free].T / spread[:, None], bias=True
        )
        if np.linalg.cond(within) > 1e6:
            continue
        expected = twin.direction(X[:, free] / spread, first)
        normal = node["said"].normals[free] * spread
        size = np.linalg.norm(normal) * np.linalg.norm(expected)
        assert normal @ expected / size == pytest.approx(1.0, abs=1e-9)
        z = X @ node["said"].normals
        threshold = expected_threshold(z, first, kind)
        if threshold is not None:
            assert node["said"].thresholds[0] == pytest.approx(threshold, abs=2e-7 * np.ptp(z))
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("n_rows", [12, 29, 31, 60])
def test_fewer_rows_than_columns(n_rows):
    """Then the pseudoinverse of the total covariance gives the direction."""
    rng = np.random.default_rng(n_rows)
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 30)) + y[:, None] * rng.normal(size=30)
    X *= 10.0 ** rng.integers(-3, 4, 30)
    said = []

    def look(node: NodeView) -> None:
        said.append(Quest("linear").propose(node))

    grow(encode(X, y.astype(np.int32), 2), Proposals(look, axis_parallel=False))
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    between = standard[y == 0].mean(axis=0) - standard[y == 1].mean(axis=0)
    expected = np.linalg.pinv(standard.T @ standard, rcond=1e-8, hermitian=True) @ between
    normal = said[0].normals * X.std(axis=0)
    cosine = normal @ expected / np.linalg.norm(normal) / np.linalg.norm(expected)
    assert cosine == pytest.approx(1.0, abs=1e-9)
    if n_rows < 30:  # there is a direction along which the classes do not vary
        z = X @ said[0].normals
        assert max(np.ptp(z[y == 0]), np.ptp(z[y == 1])) < 1e-4 * np.ptp(z)


# --- split points --------------------------------------------------------------------------------

unit = st.floats(0.0, 1.0)
part = st.floats(0.02, 0.98)
variance = st.floats(1e-4, 0.3)


@examples(300)
@given(unit, unit, variance, variance, part)
def test_quadratic_cuts_are_where_the_densities_cross(mean_a, mean_b, var_a, var_b, share):
    cut = quadratic_cut(mean_a, mean_b, var_a, var_b, share)
    assert cut == pytest.approx(quadratic_cut(mean_b, mean_a, var_b, var_a, 1 - share), abs=1e-6)
    points = twin.crossings((mean_a, mean_b), (var_a, var_b), share)
    middle = (mean_a + mean_b) / 2
    if not points:  # none, or both in one point or far away
        one, other = twin.log_densities(cut, (mean_a, mean_b), (var_a, var_b), share)
        assert cut == pytest.approx(middle) or one == pytest.approx(other, rel=1e-6, abs=1e-6)
        return
    distance = min(abs(x - middle) for x in points)
    assert abs(cut - middle) == pytest.approx(distance, rel=1e-5, abs=1e-6)
    assert min(abs(x - cut) for x in points) <= 1e-5 * (1 + distance)


@examples(200)
@given(unit, unit, variance, part)
def test_linear_cuts_are_where_the_densities_cross(mean_a, mean_b, var, share):
    cut = linear_cut(mean_a, mean_b, var, share)
    if abs(mean_a - mean_b) < 1e-3:
        assert np.isfinite(cut)
        return
    assert [cut] == pytest.approx(twin.crossings((mean_a, mean_b), (var, var), share), abs=1e-9)
    assert cut == pytest.approx(quadratic_cut(mean_a, mean_b, var, var, share))


def test_equal_means_and_other_spreads_are_cut_below():
    assert quadratic_cut(0.5, 0.5, 0.01, 0.04, 0.5) == pytest.approx(0.5 - 0.13596, abs=1e-4)
    assert quadratic_cut(0.5, 0.5, 0.04, 0.01, 0.5) == pytest.approx(0.5 - 0.13596, abs=1e-4)
    assert quadratic_cut(0.5, 0.5, 0.04, 0.04, 0.9) == 0.5
    assert linear_cut(0.5, 0.5, 0.04, 0.9) == 0.5


# --- superclasses --------------------------------------------------------------------------------


@examples(200)
@given(st.integers(3, 7), st.integers(1, 3), st.integers(0, 10**6))
def test_superclasses_cannot_be_made_better_by_one_move(n_classes, width, seed):
    rng = np.random.default_rng(seed)
    means = rng.integers(0, 12, (n_classes, width)) / 4
    near = two_groups(means, np.ones(n_classes))
    if np.ptp(means, axis=0).max() == 0:
        assert near.tolist() == [True] + [False] * (n_classes - 1)
        return
    assert near.any()
    assert not near.all()
    assert twin.is_local_optimum(means, near)


def test_superclasses_are_mostly_the_best():
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(200):
        means = rng.normal(size=(6, 2))
        found = twin.squares(means, two_groups(means, np.ones(6)))
        missed += found > twin.best_two_groups(means) + 1e-9
    assert missed < 20


@examples(200)
@given(st.integers(3, 7), st.integers(0, 10**6))
def test_superclasses_along_one_feature_are_the_best(n_classes, seed):
    rng = np.random.default_rng(seed)
    means = rng.integers(0, 12, (n_classes, 1)) / 4 if seed % 2 else rng.random((n_classes, 1))
    if np.ptp(means) > 0:
        found = twin.squares(means, two_groups(means, np.ones(n_classes)))
        assert found <= twin.best_two_groups(means) + 1e-9


def test_superclasses_of_equal_means():
    assert two_groups(np.ones((4, 2)), np.array([1.0, 3.0, 2.0, 3.0])).tolist() == [
        *(False, True, False, False)
    ]


# --- whole trees ---------------------------------------------------------------------------------


def tree_of(case: Case, quest: Quest, **rules: Any) -> tuple[Problem, Tree]:
    problem = encode(case.X, case.y.astype(np.int32), case.n_classes, case.sample_weight)
    rules = {"zero_gain": True, **rules}
    return problem, grow(problem, Proposals(quest, axis_parallel=False), rules=Rules(**rules))


def assert_full(problem: Problem, tree: Tree) -> None:
    """Leaves are pure, or their rows are all equal."""
    leaf = tree.apply(problem.Z)
    for k in np.unique(leaf):
        rows = problem.Z[leaf == k]
        assert (tree.stats[k] > 0).sum() == 1 or (rows == rows[0]).all()


@each_variant
@examples(60)
@given(case=cases())
def test_trees_grow_until_rows_are_equal(quest, case):
    problem, tree = tree_of(case, quest)
    assert_full(problem, tree)


@each_variant
@examples(60)
@given(case=cases(), seed=st.integers(0, 10**6))
def test_the_order_of_rows_changes_nothing(quest, case, seed):
    order = np.random.default_rng(seed).permutation(len(case.y))
    assert tree_of(case, quest)[1] == tree_of(case.take(order), quest)[1]


def test_sums_do_not_depend_on_the_order_of_rows():
    """Not even in their last bit, before anything is rounded."""
    case = gaussians(500)
    sums = []

    def look(node: NodeView) -> None:
        sums.append(_OrderedRows(node).means)

    for order in (np.arange(500), np.random.default_rng(0).permutation(500)):
        taken = case.take(order)
        problem = encode(taken.X, taken.y.astype(np.int32), taken.n_classes)
        grow(problem, Proposals(look, axis_parallel=False))
    assert len(sums) == 2
    np.testing.assert_array_equal(*sums)


@each_variant
@pytest.mark.parametrize("seed", range(4))
def test_a_weight_is_so_many_rows(quest, seed):
    problem = table(seed)
    assert problem.weights is not None
    times = problem.weights
    repeated = Problem(
        np.repeat(problem.Z, times, axis=0),
        Classes(np.repeat(problem.y, times), problem.n_classes),
        None,
        1.0,
        problem.encoding,
        problem.n_levels,
        problem.has_missing,
    )
    one, other = (
        grow(p, Proposals(quest, axis_parallel=False), rules=Rules(zero_gain=True))
        for p in (problem, repeated)
    )
    np.testing.assert_allclose(one.stats, other.stats)
    np.testing.assert_array_equal(one.coef_idx, other.coef_idx)
    np.testing.assert_allclose(one.threshold, other.threshold, atol=1e-6)


@each_variant
def test_tables_with_gaps_in_any_order(quest):
    problem = table(3)
    order = np.random.default_rng(0).permutation(problem.n_rows)
    assert problem.weights is not None
    shuffled = problem.take(order)
    trees = [
        grow(p, Proposals(quest, axis_parallel=False), rules=Rules(zero_gain=True))
        for p in (problem, shuffled)
    ]
    assert trees[0] == trees[1]
    assert trees[0].n_leaves > 10


@each_variant
def test_the_proposer_passes_the_check(quest):
    assert check_proposer(quest).ok


@each_variant
def test_many_classes(quest):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 4)
    case = Case(np.column_stack([y + 0.25 * rng.random(240), rng.random(240)]), y, 60)
    problem, tree = tree_of(case, quest)
    assert_full(problem, tree)


# --- what the engine makes of thresholds ---------------------------------------------------------


def test_a_split_without_gain_is_made_only_if_the_rules_say_so():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    for zero_gain, leaves in ((True, 4), (False, 1)):
        _, tree = tree_of(Case(X, y, 2), Quest(), zero_gain=zero_gain)
        assert tree.n_leaves == leaves


def test_codes_of_levels_and_gaps_can_be_seen():
    problem = table(0)
    seen = []

    def look(node: NodeView) -> None:
        seen.append((node.encoded.copy(), node.n_levels.copy(), node.X.copy()))
        with pytest.raises(ValueError, match="read-only"):
            node.encoded[0] = 0.0

    grow(problem, Proposals(look, axis_parallel=False, scale="standard"))
    encoded, n_levels, X = seen[0]
    np.testing.assert_array_equal(encoded, problem.Z)
    assert n_levels.tolist() == list(LEVELS)
    assert np.isfinite(X).all()
