"""How many leaves, and refined or greedy: held-out rows say it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from obliqua import RefinedTreeClassifier
from obliqua.data.problem import Problem, encode
from obliqua.data.table import read_table
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.prune.cost_complexity import prune_alike
from obliqua.refine import Recipe, Schedule, Watch
from obliqua.refine.choice import (
    STAGES,
    TINY_DECAYS,
    SizeChoice,
    _comparable,
    _is_worse,
    _Setting,
    _Trials,
    choose,
    divisions,
    is_small,
    may_be_axis_parallel,
    sizes_up_to,
    training_error,
)
from obliqua.tree.tree import Tree
from problems import gaussians


def grower(problem: Problem, n_leaves: int | None, depth: int = 0) -> Tree:
    rules = Rules(max_leaf_nodes=n_leaves, best_first=n_leaves is not None)
    return grow(problem, None, "gini", rules, depth=depth)


def chosen(
    problem: Problem,
    n_leaves: int | None,
    compared: bool = False,
    watch: Watch | None = None,
    passes: float = 4.0,
    made: Any = grower,
) -> SizeChoice:
    recipe = Recipe(schedule=Schedule(passes=passes))
    rivals = {"greedy": made} if compared else {}
    return choose(problem, made, rivals, n_leaves, None, recipe, 0, 1, watch or Watch())


def slanted(n_rows: int, seed: int = 0) -> Problem:
    """One hyperplane parts the classes, and no axis-parallel split does."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 4))
    return encode(X, (X.sum(axis=1) > 0).astype(int), 2)


def empty(n_rows: int, n_features: int) -> Problem:
    return encode(np.zeros((n_rows, n_features)), np.arange(n_rows) % 2, 2)


def test_sizes() -> None:
    assert sizes_up_to(0) == [1]
    assert sizes_up_to(1) == [1]
    assert sizes_up_to(5) == [1, 2, 3, 4]
    assert sizes_up_to(130) == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128]
    assert sizes_up_to(512)[-1] == 512


def test_what_is_small() -> None:
    assert is_small(empty(2999, 3))
    assert not is_small(empty(3000, 3))
    assert is_small(empty(5999, 60))
    assert not is_small(empty(6000, 60))


def test_where_axis_parallel_trees_are_tried() -> None:
    """Where rows are few, but not too few for each feature."""
    assert not may_be_axis_parallel(empty(59, 6))
    assert may_be_axis_parallel(empty(60, 6))
    assert not may_be_axis_parallel(empty(3000, 3))


def test_levels_and_gaps_count_as_weights() -> None:
    frame = pd.DataFrame({"level": np.arange(3000) % 28 + 0.0, "number": np.ones(3000)})
    frame["level"] = frame["level"].astype(int).astype(str).astype("category")
    y = np.arange(3000) % 2
    assert not is_small(encode(read_table(frame), y, 2))  # 28 levels and a number: 2,900
    frame.loc[0, "number"] = np.nan
    assert not is_small(encode(read_table(frame), y, 2))  # and a gap: 3,000
    frame.loc[0, "level"] = None
    assert is_small(encode(read_table(frame), y, 2))


def test_a_row_of_weight_two_is_two_rows() -> None:
    X, y = np.zeros((1500, 3)), np.arange(1500) % 2
    assert is_small(encode(X, y, 2))
    assert not is_small(encode(X, y, 2, sample_weight=np.where(y, 3.0, 1.0)))
    assert not is_small(encode(X, y, 2, sample_weight=np.full(1500, 2.0)))
    # Weights that are no numbers of rows say nothing of how many there are; nor do classes.
    assert is_small(encode(X, y, 2, sample_weight=np.where(y, 30.5, 1.0)))
    assert is_small(encode(X, y, 2, class_weight=[3.0, 3.0]))


def test_a_single_row() -> None:
    problem = encode(np.ones((1, 2)), [0], 1)
    for n_leaves in (None, 3):
        choice = chosen(problem, n_leaves, True)
        assert (choice.n_leaves, choice.kind) == (n_leaves or 1, "refined")
        assert len(choice.sizes) == 0


def test_nothing_is_tried_if_nothing_is_asked() -> None:
    choice = chosen(slanted(50), 7)
    assert (choice.n_leaves, choice.kind) == (7, "refined")
    assert len(choice.sizes) == len(choice.scores) == 0
    assert np.isnan(choice.greedy_score)


def test_the_number_of_leaves() -> None:
    """Two leaves are right; many are not better, and some of them are tried in vain."""
    choice = chosen(slanted(600), None, passes=60.0)
    assert choice.n_leaves in (2, 3)
    assert choice.sizes.tolist()[:3] == [1, 2, 3]
    assert len(choice.sizes) < len(sizes_up_to(30))
    assert choice.scores[1] > 0.95 > choice.scores[0] + 0.3
    assert np.isnan(choice.greedy_score)


def test_noise_wants_one_leaf() -> None:
    rng = np.random.default_rng(1)
    y = (rng.random(400) < 0.3).astype(int)
    assert chosen(encode(rng.normal(size=(400, 3)), y, 2), None).n_leaves == 1


def test_refined_or_greedy() -> None:
    problem = slanted(600)
    choice = chosen(problem, 2, True)
    assert choice.kind == "refined"
    assert choice.sizes.tolist() == [2]
    assert choice.scores[0] > choice.greedy_score + 0.1
    many = chosen(slanted(100), 2 * STAGES[0], True, passes=1.0)
    assert many.sizes.tolist() == [2 * STAGES[0]], "a given number is tried alone"
    # Three leaves part these stripes, two do not: the greedy tree is given one more.
    X = np.random.default_rng(0).normal(size=(1200, 2))
    stripes = encode(X, (np.abs(X[:, 0]) > 0.7).astype(int), 2)
    choice = chosen(
        stripes, 2, True, made=lambda part, n, depth=0: grower(part, 3 if n == 2 else n, depth)
    )
    assert choice.kind == "greedy"
    assert choice.greedy_score > choice.scores[0]


def test_of_settings_that_are_as_good_the_simplest_is_taken() -> None:
    """The smallest tree, and of its decays the strongest."""
    least, more = np.zeros(1000), np.zeros(1000)
    # 20 against 18 that differ: 2 < sqrt(38) / 2
    least[:18], more[18:38] = 1.0, 1.0
    assert not _is_worse(more, least, 0.5)
    assert _is_worse(more, least, 0.0)
    assert not _is_worse(least, least, 0.0)
    trials = _Trials(divisions(slanted(50), 0), grower, Recipe(), 0, 1, Watch())
    worse = np.ones(1000)
    usual, strong = (_Setting(4, decay) for decay in (0.01, 0.1))
    trials.wrong = {_Setting(2, 0.1): worse, usual: more, strong: more, _Setting(6, 0.01): least}
    assert trials.best_size(0.5) == 4
    assert trials.best_size(0.0) == 6
    assert trials.best(0.5) == _Setting(6, 0.01)
    del trials.wrong[_Setting(6, 0.01)]
    trials.wrong[_Setting(8, 0.1)] = more
    assert trials.best(0.5) == strong
    assert trials.best(0.5, n_se=100.0) == _Setting(2, 0.1)
    trials.wrong[strong] = worse
    assert trials.best(0.5) == usual
    sizes, scores = trials.scores()
    assert sizes.tolist() == [2, 4, 8]
    assert scores[0] < scores[1] == scores[2]


def test_few_rows_choose_the_decay() -> None:
    """A line in many columns, with much noise, wants a strong one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 30))
    y = (X[:, :5].sum(axis=1) + rng.normal(size=150) > 0).astype(int)
    choice = chosen(encode(X, y, 2), 2, True, passes=20.0)
    assert choice.decay in TINY_DECAYS[1:]
    assert choice.sizes.tolist() == [2]
    many = chosen(slanted(3000), 2, True, passes=1.0)
    assert many.decay is None, "with many rows it is the usual one"


def test_large_sizes_are_tried_if_smaller_ones_leave_something() -> None:
    chess = np.random.default_rng(0).uniform(size=(1500, 2))
    y = np.floor(6 * chess).sum(axis=1).astype(int) % 2
    assert chosen(encode(chess, y, 2), None).sizes.max() > STAGES[0]
    assert chosen(slanted(1500), None).sizes.max() == STAGES[0]


def test_folds_in_threads() -> None:
    problem = slanted(300)
    recipe = Recipe(schedule=Schedule(passes=4.0))
    one, two = (
        choose(problem, grower, {"greedy": grower}, None, None, recipe, 0, n_threads, Watch())
        for n_threads in (1, 2)
    )
    assert one.scores.tolist() == two.scores.tolist()
    assert (one.n_leaves, one.decay, one.kind) == (two.n_leaves, two.decay, two.kind)


def test_no_time_tries_one_size() -> None:
    choice = chosen(slanted(200), None, True, watch=Watch(0.0))
    assert choice.sizes.tolist() == [1]
    assert np.isnan(choice.greedy_score)


def test_scores_are_accuracies_on_rows_that_were_held_out() -> None:
    case = gaussians(300, 3, 3)
    problem = encode(case.X, case.y, 3)
    seen: list[tuple[int, Tree]] = []

    def remembered(some: Problem, n_leaves: int | None, depth: int = 0) -> Tree:
        tree = grower(some, n_leaves, depth)
        if n_leaves == 4:  # those that are refined begin with more
            seen.append((some.n_rows, tree))
        return tree

    choice = chosen(problem, 4, True, made=remembered)
    parts = divisions(problem, 0)
    assert [n_rows for n_rows, _ in seen] == [train.n_rows for train, _ in parts]
    pruned = prune_alike([tree for _, tree in seen], [test for _, test in parts])
    right = 0
    for tree, (_, test) in zip(pruned, parts, strict=True):
        right += int((tree.stats[tree.apply(test.Z)].argmax(axis=1) == test.y).sum())
    assert choice.greedy_score == pytest.approx(right / 300)


def test_divisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five folds, or one division if there are very many rows."""
    problem = slanted(200)
    five = divisions(problem, 0)
    assert [train.n_rows + test.n_rows for train, test in five] == [200] * 5
    held = np.concatenate([test.Z for _, test in five])
    np.testing.assert_array_equal(np.sort(held[:, 0]), np.sort(problem.Z[:, 0]))
    monkeypatch.setattr("obliqua.refine.choice.ONE_DIVISION", 199)
    rarest = int(problem.counts.min())
    monkeypatch.setattr("obliqua.refine.choice.ONE_DIVISION_OF_CLASS", rarest + 1)
    assert len(divisions(problem, 0)) == 5, "a class is rare"
    monkeypatch.setattr("obliqua.refine.choice.ONE_DIVISION_OF_CLASS", rarest)
    ((train, test),) = divisions(problem, 0)
    assert (train.n_rows, test.n_rows) == (160, 40)


def test_a_given_number_of_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are used, also where rows are many."""
    monkeypatch.setattr("obliqua.refine.choice.ONE_DIVISION", 100)
    monkeypatch.setattr("obliqua.refine.choice.FEW_ROWS", 100)
    monkeypatch.setattr("obliqua.refine.choice.FEW_PER_WEIGHT", 1)
    problem = slanted(300)
    assert [test.n_rows for _, test in divisions(problem, 0, 10)] == [30] * 10
    assert len(divisions(slanted(3), 0, 10)) == 3
    grown: list[int] = []

    def counted(some: Problem, n_leaves: int | None, depth: int = 0) -> Tree:
        grown.append(some.n_rows)
        return grower(some, n_leaves, depth)

    recipe = Recipe(schedule=Schedule(passes=1.0))
    choose(problem, counted, {}, None, 2, recipe, 0, 1, Watch(), n_folds=4)
    assert set(grown) == {225}


def test_copies_do_not_make_trees_look_good() -> None:
    """Whole weights count as repeated rows; none of them is on both sides of a division."""
    case = gaussians(200, 3, 2)
    weights = np.random.default_rng(0).integers(1, 9, 200).astype(float)
    problem = encode(case.X, case.y, 2, sample_weight=weights)
    for train, test in divisions(problem, 0):
        assert set(train.Z[:, 0].tolist()).isdisjoint(test.Z[:, 0].tolist())


def test_as_many_folds_of_weighted_rows_as_of_repeated_ones() -> None:
    X = np.random.default_rng(0).normal(size=(8, 3))
    y, weights = np.arange(8) % 2, np.arange(30, 38)
    weighted = encode(X, y, 2, sample_weight=weights)
    repeated = encode(np.repeat(X, weights, axis=0), np.repeat(y, weights), 2)
    for n_folds in None, 10:
        sizes = [
            [float(test.total_weight) for _, test in divisions(problem, 0, n_folds)]
            for problem in (weighted, repeated)
        ]
        assert sizes[0] == sizes[1]
        assert len(sizes[0]) == (n_folds or 5)


def test_who_wants_a_smaller_tree_gets_no_greedy_one() -> None:
    """One leaf is worse than the greedy tree, but the best refined one is not."""
    recipe = Recipe(schedule=Schedule(passes=4.0))
    choice = choose(
        slanted(300), grower, {"greedy": grower}, None, None, recipe, 0, 1, Watch(), n_se=1e3
    )
    assert (choice.kind, choice.n_leaves) == ("refined", 1)
    assert choice.scores[0] < choice.greedy_score < choice.scores.max()


def test_weights_are_counted() -> None:
    """Rows of weight 3 count as three rows of the score."""
    case = gaussians(200, 3, 2)
    light = chosen(encode(case.X, case.y, 2), 3, True)
    heavy = chosen(encode(case.X, case.y, 2, sample_weight=np.full(200, 3.0)), 3, True)
    assert light.scores.tolist() == heavy.scores.tolist()
    some = chosen(encode(case.X, case.y, 2, sample_weight=1 + 4 * case.y), 3, True)
    assert some.scores.tolist() != light.scores.tolist()


# --- what is chosen on real data ----------------------------------------------------------


def test_tiny_data_stay_greedy() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10))
    y = (X[:, 0] > 0).astype(int)
    model = RefinedTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    assert model.chosen_ == "greedy"
    assert model.greedy_score_ > 0.9
    assert model.tree_.n_leaves == 2
    forced = RefinedTreeClassifier(max_leaf_nodes=4, compare_greedy=False, random_state=0)
    assert forced.fit(X, y).chosen_ == "refined"
    assert np.isnan(forced.greedy_score_)


def test_borders_along_axes() -> None:
    """A chessboard of few rows: no tree of hyperplanes is as good as one along its lines."""
    X = np.random.default_rng(1).uniform(0.0, 3.0, size=(300, 3))
    y = (X[:, 0].astype(int) + 2 * X[:, 1].astype(int)) % 3
    new = np.random.default_rng(2).uniform(0.0, 3.0, size=(2000, 3))
    y_new = (new[:, 0].astype(int) + 2 * new[:, 1].astype(int)) % 3
    model = RefinedTreeClassifier(random_state=0).fit(X, y)
    assert model.chosen_ == "axis-parallel"
    assert (np.diff(model.tree_.coef_ptr) == 1).all(), "every split is along one feature"
    refined = RefinedTreeClassifier(compare_greedy=False, random_state=0).fit(X, y)
    assert model.score(new, y_new) > refined.score(new, y_new) + 0.01
    assert model.greedy_score_ > refined.cv_scores_.max()


def test_greedy_trees_of_noise_are_pruned() -> None:
    """The price of the fewest errors alone leaves 74 leaves."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 5))
    model = RefinedTreeClassifier(random_state=0).fit(X, rng.random(2000) < 0.5)
    assert model.chosen_ == "axis-parallel"
    assert model.get_n_leaves() < 16


@pytest.mark.parametrize("time_limit", [None, 0.0])
def test_a_given_number_above_the_first_sizes(time_limit: float | None) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = RefinedTreeClassifier(max_leaf_nodes=17, time_limit=time_limit, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9
    assert model.cv_sizes_.tolist() == [17]


def test_weights_of_all_divisions_have_one_scale() -> None:
    X = np.zeros((6, 1))
    y = np.array([0, 1, 0, 1, 0, 1])
    problem = encode(X, y, 2, sample_weight=np.array([0.5, 0.5, 0.5, 0.5, 37.125, 0.5]))
    few, many = _comparable([problem.take(np.arange(3)), problem.take(np.arange(3, 6))])
    assert (few[0], many[0]) == (many[2], few[0])
    assert many[1] == 74.25 * few[0] <= 1.0


def test_a_decay_that_holds_the_tree_back_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the tree errs more on its own rows than such trees did on others."""
    import obliqua.refine.choice as module

    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)

    def fitted(decay: float | None, error: float) -> RefinedTreeClassifier:
        choice = SizeChoice(4, "refined", np.array([4]), np.ones(1), 0.5, decay, None, error)
        monkeypatch.setattr(module, "choose", lambda *_: choice)
        return RefinedTreeClassifier(random_state=0).fit(X, y)

    usual, strong = fitted(None, 0.0), fitted(3.0, 1.0)
    expected = [training_error(model.tree_) for model in (usual, strong)]
    assert expected[0] < 0.05 < expected[1] - 0.1
    for error, same in ((expected[1] - 0.01, usual), (expected[1], strong)):
        model = fitted(3.0, error)
        assert model.tree_ == same.tree_
        assert model.loss_curve_.tolist() == same.loss_curve_.tolist()


@pytest.mark.parametrize("better", [False, True])
def test_a_tree_that_needs_few_of_its_leaves(
    monkeypatch: pytest.MonkeyPatch, better: bool
) -> None:
    """Where rows are many it is made once more with so many; fewer training errors decide."""
    import obliqua.refine as module

    asked: list[int] = []

    def made(problem: Problem, _: Any, n_leaves: int, *more: Any) -> Tree:
        asked.append(n_leaves)
        more[-1].curve.append(float(n_leaves))
        return grower(problem, 4 if n_leaves == 8 else 6 if better else 3)

    def fitted(n_rows: int, **params: Any) -> RefinedTreeClassifier:
        asked.clear()
        case = gaussians(n_rows, 4, 4)
        params = {"max_leaf_nodes": 8, "compare_greedy": False, "random_state": 0, **params}
        return RefinedTreeClassifier(**params).fit(case.X, case.y)

    monkeypatch.setattr(module, "refined_tree", made)
    model = fitted(4000)
    assert asked == [8, 4]
    assert model.tree_.n_leaves == (6 if better else 4)
    assert model.loss_curve_.tolist() == ([4.0] if better else [8.0])
    # Few rows do not tell; four leaves are all that have room; there is no time.
    for other in (fitted(400), fitted(4000, max_depth=2), fitted(4000, time_limit=0.0)):
        assert other.tree_.n_leaves == 4
        assert other.loss_curve_.tolist() == [8.0]
