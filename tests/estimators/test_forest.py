"""Forests: what their parameters promise, and what they say of rows out of bag."""

from __future__ import annotations

import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV

from estimators.registry import blobs
from interrupts import ctrl_c
from obliqua import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from obliqua._core.base.rng import child_key
from obliqua._core.forest.trees import draw_counts
from obliqua.data.problem import encode
from obliqua.errors import ProposerError, TreeError
from obliqua.forest import ForestRules, Sampling, forest_rows, grow_forest
from obliqua.methods.cart_lc import LinearCombination
from obliqua.methods.discriminants import Discriminants
from obliqua.methods.fdt import fisher_direction
from obliqua.methods.geometric import AngleBisector
from obliqua.methods.hhcart import Householder
from obliqua.methods.linear_programs import LinearPrograms
from obliqua.methods.means import class_means
from obliqua.methods.oc1 import Climb
from obliqua.methods.quest import Quest
from obliqua.methods.slopes import ModelSlopes, Slopes
from obliqua.prune import cost_complexity_path
from obliqua.tree.packed import PackedTrees
from problems import gaussians
from reference import forest as twin

BOTH: list[Any] = [ObliqueForestClassifier, ObliqueForestRegressor]
both = pytest.mark.parametrize("Forest", BOTH, ids=lambda cls: cls.__name__)
X, Y = blobs(150, seed=1)


def trees_of(forest: Any) -> PackedTrees:
    trees = forest.model_.trees
    assert isinstance(trees, PackedTrees)
    return trees


def sampling_of(forest: Any, y: Any = Y, weights: Any = None) -> Sampling:
    """How the forest has drawn rows of X with the default parameters."""
    problem = encode(X, y, int(np.max(y)) + 1, sample_weight=weights)
    rows = forest_rows(problem)
    return Sampling(rows, forest._seed, True, float(rows.count.sum()))


# --- directions of others ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("Forest", "proposer"),
    [
        (ObliqueForestClassifier, Householder()),
        (ObliqueForestClassifier, Discriminants()),
        (ObliqueForestClassifier, AngleBisector()),
        (ObliqueForestClassifier, LinearPrograms()),
        (ObliqueForestClassifier, Quest()),
        (ObliqueForestClassifier, Climb(n_restarts=1)),
        (ObliqueForestClassifier, LinearCombination()),
        (ObliqueForestClassifier, class_means),
        (ObliqueForestRegressor, Slopes()),
    ],
    ids=lambda given: getattr(given, "__name__", type(given).__name__),
)
def test_proposers_of_the_library(Forest: Any, proposer: Any) -> None:
    given: dict[str, Any] = {"directions": proposer, "random_state": 3}
    whole = Forest(8, **given).fit(X, Y)
    assert len(trees_of(whole).term_column) > 0
    grown = Forest(4, warm_start=True, n_jobs=2, **given).fit(X[::-1], Y[::-1])
    assert trees_of(grown.set_params(n_estimators=8).fit(X, Y)) == trees_of(whole)
    assert trees_of(Forest(8, random_state=3).fit(X, Y)) != trees_of(whole)


def test_planes_lie_as_a_proposer_says() -> None:
    asked: list[tuple[int, ...]] = []

    def one_to_minus_three(node: Any) -> Any:
        asked.append((*node.X.shape, len(node.y), len(node.sample_weight)))
        return [1.0, -3.0]

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2)) * [1.0, 1000.0]
    y = rows[:, 0] > 0.003 * rows[:, 1]
    forest = ObliqueForestClassifier(
        5, directions=one_to_minus_three, max_features=0, n_oblique=1, random_state=0
    ).fit(rows, y)
    trees = trees_of(forest)
    pairs = trees.coef.reshape(-1, 2) * rows.std(axis=0)
    np.testing.assert_allclose(pairs[0, 1] / pairs[0, 0], -3.0, rtol=0.2)  # of the root's rows
    assert all(k == 2 and n == n_y == n_w for n, k, n_y, n_w in asked)
    assert max(n for n, *_ in asked) == max(tree.n_samples[0] for tree in trees)
    assert forest.score(rows, y) > 0.97


@pytest.mark.parametrize(("n_classes", "n_oblique"), [(8, 2), (9, 3)])
def test_many_classes_have_a_direction_more(n_classes: int, n_oblique: int) -> None:
    labels = np.arange(len(X)) % n_classes
    default = ObliqueForestClassifier(3, random_state=0).fit(X, labels)
    given = ObliqueForestClassifier(3, n_oblique=n_oblique, random_state=0).fit(X, labels)
    assert trees_of(default) == trees_of(given)


@both
def test_an_error_of_a_proposer_ends_the_fit(Forest: Any) -> None:
    def confused(node: Any) -> Any:
        raise LookupError("no direction today")

    before = threading.active_count()
    with pytest.raises(LookupError, match="no direction today"):
        Forest(3, directions=confused, n_jobs=2).fit(X, Y)
    assert threading.active_count() == before


@both
def test_a_proposer_knows_how_deep_its_node_lies(Forest: Any) -> None:
    seen: list[tuple[int, int]] = []

    def noting(node: Any) -> Any:
        seen.append((node.depth, node.n_samples))
        return np.eye(node.n_features)

    forest = Forest(1, directions=noting, bootstrap=False, max_depth=3, random_state=0).fit(X, Y)
    tree = trees_of(forest)[0]
    # All rows stand at the root, and deeper nodes are as large as those of the tree.
    assert {depth for depth, _ in seen} == {0, 1, 2}
    sizes = set(zip(tree.node_depth.tolist(), tree.n_samples.tolist(), strict=True))
    assert set(seen) <= sizes
    asked_of = ObliqueForestClassifier(2, directions=Householder(), max_depth=3).fit(X, Y > 0)
    assert max(tree.depth for tree in trees_of(asked_of)) == 3


@both
@pytest.mark.parametrize("given", [Householder, AngleBisector, Slopes])
def test_the_class_of_a_proposer_is_none(Forest: Any, given: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"got the class {given.__name__} itself. Write {given.__name__}"
    ):
        Forest(2, directions=given).fit(X, Y)
    Tree = ObliqueTreeClassifier if Forest is ObliqueForestClassifier else ObliqueTreeRegressor
    with pytest.raises(TypeError, match=rf"proposer must be .* Write {given.__name__}\(\)"):
        Tree(given).fit(X, Y)


@both
def test_directions_that_nobody_asks_for_are_refused(Forest: Any) -> None:
    with pytest.raises(ValueError, match="With n_oblique=0 nodes compare no directions"):
        Forest(2, directions=Slopes(), n_oblique=0).fit(X, Y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (AngleBisector(), "AngleBisector parts classes, and numbers are learnt here.*Slopes"),
        (Quest(), "Quest parts classes"),
        (LinearPrograms(), "LinearPrograms parts classes"),
        (fisher_direction, "fisher_direction parts classes"),
        (class_means, "class_means parts classes"),
        (Householder(), r"learns classes; got a target for regression.*Slopes\(\)"),
        (ModelSlopes(), r"ModelSlopes compares cuts by linear functions.*Take .*Slopes\(\)"),
        (lambda node: node.counts, "A node has no 'counts'.* Numbers are learnt here, no classes"),
    ],
)
def test_proposers_that_forests_of_numbers_do_not_take(given: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, ProposerError, AttributeError), match=message):
        ObliqueForestRegressor(2, directions=given).fit(X, Y)


def test_settings_of_a_proposer_can_be_searched() -> None:
    forest = ObliqueForestClassifier(2, directions=Householder(tau=0.1), random_state=0)
    copied = clone(forest)
    assert copied.directions == forest.directions
    assert copied.directions is not forest.directions
    copied.set_params(directions__tau=0.2, directions__variant="dominant")
    assert copied.directions == Householder(tau=0.2, variant="dominant")
    assert forest.directions == Householder(tau=0.1)
    grid = GridSearchCV(forest, {"directions__variant": ["all", "dominant"]}, cv=2)
    assert grid.fit(X, Y > 0).best_params_["directions__variant"] in ("all", "dominant")
    with pytest.raises(ValueError, match="AngleBisector has no setting 'variant'"):
        AngleBisector().set_params(variant="all")
    with pytest.raises(ValueError, match="variant must be one of 'all', 'dominant'; got 'some'"):
        copied.set_params(directions__variant="some")
    assert "journal" not in Climb().get_params()


# --- the same bits -----------------------------------------------------------------------------


@both
def test_threads_change_no_bit(Forest: Any) -> None:
    one = Forest(12, oob_score=True, random_state=3).fit(X, Y)
    for n_jobs in (2, 8):
        other = Forest(12, oob_score=True, random_state=3, n_jobs=n_jobs).fit(X, Y)
        assert trees_of(other) == trees_of(one)
        assert other.oob_score_ == one.oob_score_
    rows = np.tile(X, (100, 1))
    np.testing.assert_array_equal(
        trees_of(one).sums(rows, 1), trees_of(one).sums(rows, 2), strict=True
    )


@both
@pytest.mark.parametrize("bootstrap", [True, False])
def test_another_order_of_rows_changes_no_bit(Forest: Any, bootstrap: bool) -> None:
    rng = np.random.default_rng(0)
    rough = np.round(X)  # with rows that are equal
    order = rng.permutation(len(X))
    options = {"bootstrap": bootstrap, "max_samples": 0.7, "oob_score": True, "random_state": 5}
    one = Forest(30, **options).fit(rough, Y)
    other = Forest(30, **options).fit(rough[order], Y[order])
    assert trees_of(one) == trees_of(other)


@both
@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_whole_weight_is_so_many_rows(Forest: Any, bootstrap: bool) -> None:
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weights[0] = 64
    again = np.repeat(np.arange(len(X)), weights)
    options = {
        "bootstrap": bootstrap,
        "max_samples": 0.8,
        "min_samples_leaf": 3,
        "random_state": 1,
    }
    one = Forest(6, **options).fit(X, Y, weights)
    assert trees_of(one) == trees_of(Forest(6, **options).fit(X[again], Y[again]))


@both
def test_trees_that_are_added_are_those_of_a_larger_forest(Forest: Any) -> None:
    whole = Forest(100, max_depth=4, oob_score=True, random_state=9).fit(X, Y)
    grown = Forest(50, max_depth=4, oob_score=True, random_state=9, warm_start=True).fit(X, Y)
    half = trees_of(grown)
    grown.set_params(n_estimators=100).fit(X, Y)
    assert trees_of(grown) == trees_of(whole)
    assert grown.oob_score_ == whole.oob_score_
    assert list(half) == list(trees_of(whole)[:50])


@both
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_limit_of_time_leaves_the_first_trees(Forest: Any, n_jobs: int) -> None:
    whole = Forest(30, random_state=2).fit(X, Y)
    assert not whole.timed_out_
    some = Forest(10**6, time_limit=0.02, random_state=2, n_jobs=n_jobs).fit(X, Y)
    assert some.timed_out_
    n = min(len(some), 30)
    assert list(trees_of(some)[:n]) == list(trees_of(whole)[:n])
    least = Forest(30, time_limit=0.0, random_state=2).fit(X, Y)
    assert len(least) == 1 and trees_of(least)[0] == trees_of(whole)[0]


@both
def test_a_larger_unit_of_weights_changes_no_split(Forest: Any) -> None:
    """The cubes of such weights are beyond the range of doubles."""
    weights = np.random.default_rng(0).choice([0.5, 1.25, 3.0], len(X))
    one = trees_of(Forest(3, bootstrap=False, random_state=0).fit(X, Y, weights))
    for scale in (2.0**-360, 2.0**360):
        other = trees_of(Forest(3, bootstrap=False, random_state=0).fit(X, Y, weights * scale))
        np.testing.assert_array_equal(other.threshold, one.threshold)
        np.testing.assert_array_equal(other.leaf_weight, one.leaf_weight * scale)
        assert other.weighed_in(1.0 / scale) == one


# --- samples -----------------------------------------------------------------------------------


def unscramble(x: int) -> int:
    """The number that `scramble` makes x of."""
    x ^= x >> 31 ^ x >> 62
    x = x * pow(0x94D049BB133111EB, -1, 2**64) & twin.MASK
    x ^= x >> 27 ^ x >> 54
    x = x * pow(0xBF58476D1CE4E5B9, -1, 2**64) & twin.MASK
    return x ^ x >> 30 ^ x >> 60


def test_the_largest_random_number_draws_no_thousand_rows() -> None:
    """Cumulative probabilities end below 1 - 2^-53 for some means, whatever is added."""
    inner = (unscramble(twin.MASK) - twin.GOLDEN) & twin.MASK
    key = (unscramble(inner) - twin.GOLDEN) & twin.MASK
    assert twin.mix(twin.mix(key, 0), 0) == twin.MASK
    for mean in np.arange(10, 160) / 10.0:
        counts, times = np.empty(1), np.empty(1, dtype=np.int32)
        draw_counts(
            np.zeros(1, np.uint64), np.ones(1, np.int64), np.array([mean]), key, counts, times,
            np.empty(0, np.uint8),
        )  # fmt: skip
        assert 10 < counts[0] < 80


def test_samples_have_the_size_that_is_asked_for() -> None:
    rows = forest_rows(encode(np.arange(4000.0)[:, None], np.arange(4000) % 2, 2))
    for size in (400.0, 4000.0, 80000.0):
        counts, times = Sampling(rows, 7, True, size).of_tree(0)
        assert abs(counts.sum() - size) < 5 * size**0.5
        np.testing.assert_array_equal(times, counts > 0)
    _, times = Sampling(rows, 7, False, 0.25).of_tree(0)
    assert abs(times.sum() - 1000) < 5 * 750**0.5


@both
def test_the_forms_of_max_samples(Forest: Any) -> None:
    def rows(**options: Any) -> float:
        trees = trees_of(Forest(20, max_depth=1, random_state=0, **options).fit(X, Y))
        return float(
            np.mean([tree.stats[0, : 1 if Forest is BOTH[1] else None].sum() for tree in trees])
        )

    assert abs(rows() - 150) < 5 * (150 / 20) ** 0.5
    assert abs(rows(max_samples=60) - 60) < 5 * (60 / 20) ** 0.5
    assert rows(max_samples=60) == rows(max_samples=0.4)
    assert rows(bootstrap=False) == 150
    assert rows(bootstrap=False, max_samples=60) == rows(bootstrap=False, max_samples=0.4)
    assert abs(rows(bootstrap=False, max_samples=60) - 60) < 5 * (36 / 20) ** 0.5
    with pytest.warns(UserWarning, match="very few"):
        assert rows(max_samples=1) < 3
    with pytest.raises(ValueError, match="max_samples must be at most"):
        rows(max_samples=10**12)


def test_a_class_that_is_missing_from_samples() -> None:
    y = np.where(np.arange(len(X)) == 4, 3, Y)
    forest = ObliqueForestClassifier(20, random_state=0, oob_score=True).fit(X, y)
    drawn = [sampling_of(forest, y).of_tree(t)[1] for t in range(20)]
    without = [t for t in range(20) if not drawn[t][sampling_of(forest, y).rows.target == 3].any()]
    assert 0 < len(without) < 20
    for t in without:
        assert trees_of(forest)[t].stats[0, 3] == 0
    proba = forest.predict_proba(X)
    assert proba.shape == (150, 4) and proba[4, 3] > 0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert forest.oob_decision_function_[4, 3] == 0  # nobody else is of its class


# --- weights of classes ------------------------------------------------------------------------


def few_of_a_class() -> tuple[np.ndarray, np.ndarray]:
    kept = (Y != 2) | (np.arange(len(Y)) % 6 == 2)
    return X[kept], Y[kept]


def shares(**options: Any) -> np.ndarray:
    """The mean share of each class in the roots."""
    rows, y = few_of_a_class()
    forest = ObliqueForestClassifier(30, max_depth=1, random_state=0, **options).fit(rows, y)
    roots = np.array([tree.stats[0] for tree in trees_of(forest)])
    return (roots / roots.sum(axis=1, keepdims=True)).mean(axis=0)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_weights_of_classes(bootstrap: bool) -> None:
    _, y = few_of_a_class()
    counts = np.bincount(y)
    off = 0.04 if bootstrap else 1e-6
    np.testing.assert_allclose(shares(bootstrap=bootstrap), counts / len(y), atol=off)
    np.testing.assert_allclose(
        shares(bootstrap=bootstrap, class_weight="balanced"), 1 / 3, atol=off
    )
    given = {0: 1.0, 1: 3.0, 2: 0.5}
    wanted = counts * [1.0, 3.0, 0.5]
    found = shares(bootstrap=bootstrap, class_weight=given)
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=off)
    # In each sample, not on average.
    found = shares(bootstrap=bootstrap, class_weight="balanced_subsample")
    np.testing.assert_allclose(found, 1 / 3, rtol=1e-12)


# --- out of bag --------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_said_out_of_bag(weighted: bool) -> None:
    """By definition: the mean of what those trees say whose sample has none of a row."""
    weights = np.random.default_rng(0).choice([0, 1, 2, 3], len(X)) if weighted else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Of .* rows .* were drawn for every tree")
        forest = ObliqueForestClassifier(30, oob_score=True, random_state=1).fit(X, Y, weights)
        regressor = ObliqueForestRegressor(30, oob_score=True, random_state=1).fit(X, Y, weights)
    for fitted, said in (
        (forest, forest.oob_decision_function_),
        (regressor, regressor.oob_prediction_[:, None]),
    ):
        sampling = sampling_of(forest, Y, weights)
        kept = np.ones(len(X), bool) if weights is None else weights > 0
        votes: list[list[Any]] = [[] for _ in X]
        for t, member in enumerate(fitted.estimators_):
            drawn = twin.sample(sampling, t)[2]
            starts = np.cumsum(sampling.rows.pieces) - sampling.rows.pieces
            says = member.predict_proba(X) if fitted is forest else member.predict(X)[:, None]
            for row, group, n in zip(
                np.flatnonzero(kept), sampling.rows.group, sampling.rows.count, strict=True
            ):
                if not any(drawn[starts[group] : starts[group] + n]):
                    votes[row].append(says[row])
        wanted = np.array(
            [np.mean(v, axis=0) if v else np.full(said.shape[1], np.nan) for v in votes]
        )
        np.testing.assert_allclose(said, wanted, rtol=1e-12)
    known = ~np.isnan(forest.oob_decision_function_[:, 0])
    guess = forest.oob_decision_function_[known].argmax(axis=1)
    assert forest.oob_score_ == accuracy_score(Y[known], guess)


def test_a_function_scores_labels() -> None:
    labels = np.array(["no", "yes"])[(Y > 0).astype(int)]
    seen = []

    def score(truth: Any, said: Any) -> float:
        seen.extend([*truth, *said])
        return f1_score(truth, said, pos_label="yes")

    forest = ObliqueForestClassifier(30, oob_score=score, random_state=0).fit(X, labels)
    assert set(seen) == {"no", "yes"}
    said = forest.classes_[forest.oob_decision_function_.argmax(axis=1)]
    assert forest.oob_score_ == f1_score(labels, said, pos_label="yes")


def test_rows_without_weight_are_never_judged() -> None:
    column = Y[:, None]  # as a table has it
    forest = ObliqueForestClassifier(40, oob_score=True, class_weight={2: 0.0}, random_state=0)
    with pytest.warns(Warning, match="column-vector"):
        forest.fit(X, column)
    np.testing.assert_array_equal(np.isnan(forest.oob_decision_function_[:, 0]), Y == 2)


@both
def test_rows_that_every_tree_has_drawn(Forest: Any) -> None:
    with pytest.warns(UserWarning, match="drawn for every tree"):
        forest = Forest(1, oob_score=True, random_state=0).fit(X, Y)
    said = forest.oob_prediction_ if Forest is BOTH[1] else forest.oob_decision_function_[:, 0]
    np.testing.assert_array_equal(np.isnan(said), ~sampling_of(forest).out_of_bag(0))
    with pytest.raises(ValueError, match="oob_score needs rows"):
        Forest(2, oob_score=True, bootstrap=False).fit(X, Y)


# --- more trees --------------------------------------------------------------------------------


@both
def test_what_a_warm_start_refuses(Forest: Any) -> None:
    forest = Forest(6, warm_start=True, random_state=0).fit(X, Y)
    before = trees_of(forest)
    with pytest.warns(UserWarning, match="nothing is grown"):
        forest.fit(X, Y)
    with pytest.raises(ValueError, match="must not be less than the 6 trees"):
        forest.set_params(n_estimators=3).fit(X, Y)
    forest.set_params(n_estimators=9)
    others = {
        "rows": (X + 1e-9, Y, None),
        "labels": (X, np.roll(Y, 1), None),
        "other labels": (X, 3 * Y + 1, None),  # in the same order
        "weights": (X, Y, np.arange(len(X)) + 1.0),
        "fewer rows": (X[1:], Y[1:], None),
    }
    for given in others.values():
        with pytest.raises(ValueError, match="must be those of the fit before"):
            forest.fit(*given)
    for option in ({"max_samples": 0.5}, {"bootstrap": False}):
        with pytest.raises(ValueError, match="bootstrap, max_samples"):
            forest.set_params(**option).fit(X, Y)
        forest.set_params(max_samples=None, bootstrap=True)
    assert trees_of(forest) is before
    assert len(forest.fit(X, Y)) == 9


# --- limits ------------------------------------------------------------------------------------


@both
def test_limits_of_growth(Forest: Any) -> None:
    forest = Forest(5, max_leaf_nodes=4, min_samples_leaf=7, random_state=0).fit(X, Y)
    for tree in trees_of(forest):
        assert tree.n_leaves == 4
        assert tree.n_samples[tree.is_leaf].min() >= 7
    free = trees_of(Forest(5, random_state=0).fit(X, Y))
    assert max(tree.depth for tree in free) > 2
    flat = Forest(5, max_depth=2, random_state=0).fit(X, Y)
    assert {tree.depth for tree in trees_of(flat)} == {2}


def test_of_equal_nodes_the_older_one_is_split_first() -> None:
    rows = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (5, 1))
    forest = ObliqueForestClassifier(4, max_leaf_nodes=3, bootstrap=False, random_state=0)
    for tree in trees_of(forest.fit(rows, np.tile(np.arange(4), 5))):
        assert tree.first_child.tolist() == [1, 3, -1, -1, -1]


@both
def test_pruning_by_the_price_of_a_leaf(Forest: Any) -> None:
    full = trees_of(Forest(4, random_state=0).fit(X, Y))
    price = 0.02
    pruned = trees_of(Forest(4, ccp_alpha=price, random_state=0).fit(X, Y))
    for found, tree in zip(pruned, full, strict=True):
        wanted = cost_complexity_path(tree).at_alpha(price)
        for name in ("first_child", "coef_idx", "coef", "threshold", "n_samples"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
        np.testing.assert_allclose(found.stats, wanted.stats, rtol=1e-12, atol=1e-12)
    assert sum(pruned.n_leaves) < sum(full.n_leaves)


@both
def test_paths_come_with_where_trees_begin(Forest: Any) -> None:
    forest = Forest(3, random_state=0).fit(X, Y)
    passed, begins = forest.decision_path(X[:20])
    assert begins.tolist() == np.cumsum([0, *(tree.n_nodes for tree in trees_of(forest))]).tolist()
    for k, tree in enumerate(trees_of(forest)):
        own = passed[:, begins[k] : begins[k + 1]].toarray()
        np.testing.assert_array_equal(own, tree.decision_path(X[:20]).toarray())


def test_as_good_as_another_forest_without_directions() -> None:
    """The same mean accuracy as scikit-learn's, within the noise of 5 divisions."""
    rows, y = make_classification(900, 12, n_informative=6, n_classes=3, random_state=0)
    differences = []
    for seed in range(5):
        train = np.random.default_rng(seed).random(900) < 0.6
        ours = ObliqueForestClassifier(60, n_oblique=0, random_state=seed)
        theirs = RandomForestClassifier(60, random_state=seed)
        scores = [
            m.fit(rows[train], y[train]).score(rows[~train], y[~train]) for m in (ours, theirs)
        ]
        differences.append(scores[0] - scores[1])
        assert (trees_of(ours).column >= 0).all()
    assert abs(np.mean(differences)) < 0.02


# --- odd input ---------------------------------------------------------------------------------


@both
def test_a_row_that_misses_values_nobody_has_missed(Forest: Any) -> None:
    forest = Forest(10, random_state=0).fit(X, Y)
    holes = X.copy()
    holes[:, 1] = np.nan
    mean = X.copy()
    mean[:, 1] = trees_of(forest).stand_in[1]
    np.testing.assert_allclose(mean[0, 1], X[:, 1].mean())
    np.testing.assert_array_equal(forest.predict(holes), forest.predict(mean))


def test_a_direction_of_one_column_keeps_its_stand_in() -> None:
    """Coefficient 1 and one term: it looks like a cut of a column, and is none."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.zeros(60), rng.choice([-0.75, -0.5, 0.0, 0.5, 0.75], 60)])
    y = ((rows[:, 1] > 0.2) ^ (rng.random(60) < 0.2)).astype(int)
    rows[:12, 1] = np.nan
    for seed in range(20):
        forest = ObliqueForestClassifier(5, max_features=0, bootstrap=False, random_state=seed)
        forest.fit(rows, y)
        for tree, leaves in zip(trees_of(forest), forest.apply(rows).T, strict=True):
            counted = np.bincount(leaves, minlength=tree.n_nodes)[tree.is_leaf]
            np.testing.assert_array_equal(counted, tree.n_samples[tree.is_leaf])


@both
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_importances_of_columns_of_any_size(Forest: Any, scale: float) -> None:
    forest = Forest(5, random_state=0).fit(X * scale, Y)
    spread = np.concatenate([tree.spread for tree in trees_of(forest)])
    spread = spread[~np.isnan(spread)]
    assert len(spread) and (spread > 0).all() and np.isfinite(spread).all()
    np.testing.assert_allclose(forest.feature_importances_.sum(), 1.0)


@both
def test_hardly_any_data(Forest: Any) -> None:
    for rows, y, weights in (
        (X[:1], Y[:1], None),
        (X, np.zeros(len(X), int), None),
        (X[:, :1], Y, None),
        (np.zeros_like(X), Y, None),
        (X, Y, np.arange(len(X)) == 4),
        (X, Y, np.where(np.arange(len(X)) == 4, 1e15, 1.0)),
        (X[:4], [0, 0, 0, 1], None),
    ):
        forest = Forest(5, random_state=0).fit(rows, y, weights)
        for tree in trees_of(forest):
            tree.validate()
        assert np.isfinite(forest.predict(rows)).all()


@both
def test_rows_that_cannot_be_walked_are_refused(Forest: Any) -> None:
    trees = trees_of(Forest(2, max_depth=2, random_state=0).fit(X, Y))
    for rows in (np.zeros((3, 0)), np.zeros((3, 1)), np.zeros(3), [["a"] * X.shape[1]]):
        for walk in (trees.apply, trees.sums, trees.leaves):
            with pytest.raises(TreeError):
                walk(rows)
    with pytest.raises(TreeError, match="Row 1 is infinite"):
        trees.sums(np.where(np.arange(3)[:, None] == 1, np.inf, np.zeros((3, X.shape[1]))))
    whole = np.zeros((2, X.shape[1]), dtype=int)
    np.testing.assert_array_equal(trees.sums(whole.tolist()), trees.sums(whole.astype(float)))


@both
def test_an_error_in_a_thread_reaches_the_caller(Forest: Any, monkeypatch: Any) -> None:
    trees = trees_of(Forest(2, max_depth=2, random_state=0).fit(X, Y))
    whole = np.zeros((70_000, X.shape[1]), dtype=np.int64)  # no rows of numbers
    for n_threads in (1, 2):
        with pytest.raises((TypeError, ValueError)):
            trees._walker.sums(whole, 3, n_threads)

    def broken(self: Sampling, tree: int) -> Any:
        if tree == 3:
            raise MemoryError("no room")
        return drawn(self, tree)

    drawn = Sampling.of_tree
    monkeypatch.setattr(Sampling, "of_tree", broken)
    with pytest.raises(MemoryError, match="no room"):
        Forest(50, n_jobs=2, random_state=0).fit(X, Y)


@both
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_fit_and_its_threads(Forest: Any, n_jobs: int) -> None:
    forest = Forest(4, random_state=0).fit(X, Y)
    before, alive = trees_of(forest), threading.active_count()
    forest.set_params(n_estimators=10**5, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt), ctrl_c(0.1):
        forest.fit(X, Y)
    assert threading.active_count() == alive
    assert trees_of(forest) is before


@both
def test_pickles(Forest: Any) -> None:
    forest = Forest(30, oob_score=True, warm_start=True, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(forest))
    assert trees_of(again) == trees_of(forest)
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))
    more = again.set_params(n_estimators=33).fit(X, Y)
    assert trees_of(more) == trees_of(Forest(33, random_state=0).fit(X, Y))


def test_a_thousand_trees_are_small() -> None:
    """A node takes 16 bytes, what it leads to the rest."""
    case = gaussians(60, seed=0)
    forest = ObliqueForestClassifier(1000, random_state=0, n_jobs=2).fit(case.X, case.y)
    trees = trees_of(forest)
    n_nodes, n_leaves, n_terms = len(trees.child), len(trees.leaf_rows), len(trees.coef)
    by_part = 16 * n_nodes + 20 * n_leaves + 12 * len(trees.entry_class) + 36 * n_terms
    assert trees.nbytes < by_part + 17 * len(trees.missing_side) + 30_000
    one = trees[0]
    whole = sum(v.nbytes for v in vars(one).values() if isinstance(v, np.ndarray))
    assert trees.nbytes < 0.5 * 1000 * whole
    assert len(pickle.dumps(forest)) < 1.1 * trees.nbytes + 20_000


def test_large_nodes_against_the_twin() -> None:
    """Enough rows for buckets within buckets, and for rows that directions leave out."""
    case = gaussians(700, n_columns=3, n_classes=3, seed=0)
    case.X[::50, 0] = 1e6
    case.X[::3, 2] = np.round(case.X[::3, 2])
    sampling = Sampling(forest_rows(encode(case.X, case.y, 3)), 5, True, 700.0)
    rules = ForestRules("gini", 3, 1, most_terms=3, max_depth=3)
    wanted = twin.grown(sampling, rules, 0)
    found = grow_forest(sampling, rules, 0, 1, n_threads=1)
    for name in ("child", "column", "threshold", "coef", "term_column", "leaf_weight"):
        np.testing.assert_array_equal(getattr(found, name), wanted[name], name)
    assert child_key(5, 0) == twin.child_key(5, 0)


@both
def test_levels_that_say_nothing_look_no_better_out_of_bag(Forest: Any) -> None:
    """Their numbers come from a tree's own rows: others would know what they are to be asked."""
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(4):  # of one table chance alone may be 0.06 off
        frame = pd.DataFrame(rng.integers(0, 50, (600, 6)).astype(str)).rename(columns=str)
        forest = Forest(60, oob_score=True, random_state=0)
        scores.append(forest.fit(frame, rng.integers(0, 2, 600)).oob_score_)
    chance = 0.5 if Forest is ObliqueForestClassifier else 0.0
    assert np.mean(scores) < chance + 0.03


@both
def test_levels_with_equal_means_are_told_apart(Forest: Any) -> None:
    rng = np.random.default_rng(0)
    level, number = np.tile(["m", "f"], 100), np.repeat([-1.0, 1.0], 100)
    frame = pd.DataFrame({"level": level, "number": number + rng.uniform(-0.5, 0.5, 200)})
    forest = Forest(40, oob_score=True, random_state=0)
    assert forest.fit(frame, ((level == "m") ^ (number > 0)).astype(int)).oob_score_ > 0.95


def test_what_samples_need_holds_on_to_no_rows() -> None:
    rows = forest_rows(encode(X, np.arange(len(X), dtype=np.int32) % 2, 2)).without_columns()
    assert all(getattr(rows, name).base is None for name in ("Z", "rank", "x", "source"))
