"""The table of pruners, and pruners of one's own in the place of a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import problems
from core.adapter import grow_tree, problem_of
from obliqua import (
    CartClassifier,
    CartRegressor,
    HHCartClassifier,
    RepeatedTreesClassifier,
    load,
    save,
)
from obliqua.data.problem import Problem
from obliqua.prune import (
    PRUNERS,
    Pruned,
    Pruner,
    Seedless,
    get_pruner,
    grow_pruned,
    hold_out,
    pruners,
)
from obliqua.tree.spread import measure_spread
from obliqua.tree.surgery import collapse
from obliqua.tree.tree import Tree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)

Grow = Callable[[Problem], Tree]


class TopSplit:
    """Leaves the first split only, grown from three quarters of the rows."""

    def prune(self, problem: Problem, grow: Grow, seed: int) -> Pruned:
        whole, held = hold_out(problem, 0.25, seed)
        rows = whole.take(~held)
        tree = grow(rows)
        return Pruned(collapse(tree, np.flatnonzero(~tree.is_leaf)[1:]), rows)


class Whole(Seedless):
    """Cuts nothing."""

    def prune(self, problem: Problem, grow: Grow, seed: int) -> Pruned:
        return Pruned(grow(problem), problem)


@pytest.mark.parametrize("Estimator", [CartClassifier, HHCartClassifier])
def test_an_object_takes_the_place_of_a_name(Estimator: Any) -> None:
    model = Estimator(pruning=TopSplit(), random_state=3).fit(X, Y)
    assert model.get_n_leaves() == 2
    assert model.tree_.n_samples[0] == 150
    again = clone(model).fit(X, Y)
    assert again.tree_ == model.tree_
    assert Estimator(pruning=TopSplit(), random_state=4).fit(X, Y).tree_ != model.tree_
    whole = Estimator(pruning=Whole()).fit(X, Y)
    assert whole.tree_ == Estimator(pruning=None).fit(X, Y).tree_


def test_spreads_are_those_of_the_rows_that_grew_the_tree() -> None:
    problem = problem_of(problems.integers(60))
    tree, rows = TopSplit().prune(problem, grow_tree, 5)
    assert rows.n_rows < problem.n_rows
    expected = measure_spread(tree, rows.Z, rows.weights)
    assert grow_pruned(problem, grow_tree, TopSplit(), 5) == expected


def test_a_price_per_leaf_takes_the_place_of_an_object() -> None:
    model = CartClassifier(pruning=TopSplit(), ccp_alpha=0.0).fit(X, Y)
    assert model.tree_ == CartClassifier(pruning=None).fit(X, Y).tree_


@pytest.mark.parametrize(
    ("pruning", "alpha", "heeds"),
    [
        ("auto", None, True),
        ("holdout", None, True),
        ("cv", None, True),
        ("reduced_error", None, True),
        ("pessimistic", None, False),
        (None, None, False),
        ("holdout", 0.1, False),
        (TopSplit(), None, True),
        (Whole(), None, False),
    ],
)
def test_who_heeds_the_seed(pruning: Any, alpha: float | None, heeds: bool) -> None:
    assert CartClassifier(pruning=pruning, ccp_alpha=alpha)._heeds_seed() == heeds


def test_trees_may_differ_by_what_an_object_draws() -> None:
    model = RepeatedTreesClassifier(
        CartClassifier(pruning=TopSplit()), n_estimators=3, random_state=0
    )
    assert len({tree.threshold[0] for tree in model.fit(X, Y).model_.trees}) > 1


def test_a_file_says_that_an_object_was_not_kept(tmp_path: Any) -> None:
    file = tmp_path / "model.obliqua"
    save(CartClassifier(pruning=TopSplit(), random_state=0).fit(X, Y), file)
    model = load(file)
    assert model.get_n_leaves() == 2
    with pytest.raises(ValueError, match=r"'pruning' \(an object of class TopSplit\)"):
        model.fit(X, Y)


# --- names ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRUNERS)
def test_names_are_those_of_pruners(name: str) -> None:
    pruner = get_pruner(name, n_se=np.float32(0.5), n_folds=np.int8(3), prune_root=np.bool_(True))
    assert isinstance(pruner, Pruner)
    assert get_pruner(pruner) is pruner
    assert all(type(value) in (float, int, bool, type(None)) for value in vars(pruner).values())
    assert vars(pruner)["prune_root"] is True


# --- by the number of rows -----------------------------------------------------------------


@pytest.mark.parametrize("Estimator", [CartClassifier, CartRegressor])
@pytest.mark.parametrize(("most", "kind"), [(199, "holdout"), (200, "cv")])
def test_few_rows_are_cross_validated(
    most: int, kind: str, Estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruners, "MOST_CROSS_VALIDATED", most)
    params: dict[str, Any] = {"prune_fraction": 0.3, "n_folds": 3, "n_se": 0.5, "prune_root": True}
    noisy = np.where(RNG.random(200) < 0.2, 1 - Y, Y)
    found = Estimator(**params).fit(X, noisy)
    assert found.tree_ == Estimator(pruning=kind, **params).fit(X, noisy).tree_
    grown = {"cv": 200, "holdout": 140}
    assert found.tree_.n_samples[0] == grown[kind]


def test_a_weight_of_two_is_two_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruners, "MOST_CROSS_VALIDATED", 200)
    weights = np.ones(200)
    assert CartClassifier().fit(X, Y, weights).tree_.n_samples[0] == 200
    weights[7] = 2.0
    assert CartClassifier().fit(X, Y, weights).tree_.n_samples[0] < 200
    # Weights of classes are no numbers of rows.
    heavy = CartClassifier(class_weight={0: 1, 1: 5}).fit(X, Y)
    assert heavy.tree_.n_samples[0] == 200


# --- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize("bad", [3, "pessimism", object(), grow_tree])
def test_an_estimator_refuses_what_is_no_pruner(bad: Any) -> None:
    message = (
        r"The 'pruning' parameter of CartClassifier must be a str among .*'cv'.*, an object "
        r"implementing 'prune' or None. Got .* instead"
    )
    with pytest.raises(ValueError, match=message):
        CartClassifier(pruning=bad).fit(X, Y)


def test_a_class_in_the_place_of_an_object() -> None:
    with pytest.raises(TypeError, match=r"give an object of it, such as TopSplit\(\)"):
        CartClassifier(pruning=TopSplit).fit(X, Y)  # type: ignore[arg-type]


def test_without_an_estimator() -> None:
    with pytest.raises(ValueError, match=r"There is no pruning 'pessimism'. Use one of auto"):
        get_pruner("pessimism")
    with pytest.raises(TypeError, match=r"an object with a method 'prune'. Got 3"):
        get_pruner(3)  # type: ignore[arg-type]


def test_a_pruner_that_returns_a_bare_tree() -> None:
    class Bare:
        def prune(self, problem: Problem, grow: Grow, seed: int) -> Any:
            return grow(problem)

    with pytest.raises(TypeError, match=r"must return Pruned\(tree, rows\).*Bare.prune returned"):
        CartClassifier(pruning=Bare()).fit(X, Y)
