"""SADTClassifier: what its parameters do, and what a user sees of its trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

import obliqua
from estimators.registry import assert_sound, blobs
from obliqua import SADTClassifier
from obliqua.datasets import make_ls10, make_pol
from obliqua.select.methods import find_method
from reference.criteria import entropy

X, Y = load_wine(return_X_y=True)


def full(**params: Any) -> SADTClassifier:
    return SADTClassifier(**{"pruning": None, "random_state": 0, **params})


def labels(model: Any) -> set[str]:
    tree = model.tree_
    return {tree.origin_labels[k] for k in tree.origin[~tree.is_leaf]}


def test_it_finds_what_axes_cannot() -> None:
    """Bands across the diagonal: five of them, in as many leaves."""
    rows, classes = make_pol(600, return_X_y=True)
    model = full().fit(rows, classes)
    assert 5 <= model.get_n_leaves() <= 7
    assert labels(model) == {"simulated annealing"}
    assert_sound(model, rows, classes)
    assert model.score(rows, classes) == 1.0
    assert obliqua.CartClassifier(pruning=None).fit(rows, classes).get_n_leaves() > 20


def test_the_same_seed_gives_the_same_tree() -> None:
    one, again, other = (full(random_state=seed).fit(X, Y) for seed in (3, 3, 4))
    assert one.tree_ == again.tree_ and one.n_hyperplanes_ == again.n_hyperplanes_
    assert one.tree_ != other.tree_
    threads = full(random_state=3, n_jobs=3).fit(X, Y)
    assert one.tree_ == threads.tree_ and one.n_hyperplanes_ == threads.n_hyperplanes_


@pytest.mark.parametrize("moves", ["one", "all"])
def test_patience_is_what_a_node_costs(moves: str) -> None:
    rows, classes = blobs(200, 3, 2)
    tried = []
    for patience in (0, 50, 1000):
        model = full(moves=moves, patience=patience, max_depth=1).fit(rows, classes)
        tried.append(model.n_hyperplanes_)
        assert isinstance(model.n_hyperplanes_, int) and model.timed_out_ is False
    assert tried[0] == 1 and tried[1] > 50 and tried[2] > 1000


def test_annealing_beats_descent() -> None:
    """A hyperplane in ten dimensions: heat finds better splits than none at all."""
    rows, classes = make_ls10(800, return_X_y=True)

    def gain(**schedule: Any) -> float:
        trees = [
            full(max_depth=1, random_state=seed, **schedule).fit(rows, classes)
            for seed in range(5)
        ]
        return float(np.mean([tree.tree_.gain[0] for tree in trees]))

    assert gain() > gain(temperature=0.0) + 0.02
    assert gain() > gain(temperature=10.0, cooling=1.0) + 0.2


def test_moves_differ() -> None:
    one, every = (full(moves=moves).fit(X, Y) for moves in ("one", "all"))
    assert one.tree_ != every.tree_
    for model in (one, every):
        assert model.score(X, Y) == 1.0


def test_time_runs_out() -> None:
    rows, classes = blobs(300, 4, 3)
    model = full(time_limit=0).fit(rows, classes)
    assert model.timed_out_ is True and model.n_hyperplanes_ == 0
    assert labels(model) == {"axis-parallel"}
    assert_sound(model, rows, classes)
    in_time = full(time_limit=1000).fit(rows, classes)
    assert in_time.timed_out_ is False
    assert in_time.tree_ == full().fit(rows, classes).tree_


def test_features_of_a_split_are_limited() -> None:
    model = full(max_features_per_split=3).fit(X, Y)
    sizes = np.diff(model.tree_.coef_ptr)
    assert sizes.max() == 3
    assert_sound(model, X, Y)
    single = full(max_features_per_split=1).fit(X, Y)
    assert np.diff(single.tree_.coef_ptr).max() == 1 and single.n_hyperplanes_ == 0


def test_units_do_not_matter() -> None:
    """Powers of two change no bit; the paper's scaling is at work."""
    model = full().fit(X, Y)
    other = full().fit(X * 2.0 ** np.arange(-6, 7), Y)
    np.testing.assert_array_equal(model.tree_.stats, other.tree_.stats)
    np.testing.assert_array_equal(model.tree_.gain, other.tree_.gain)


def test_levels_and_missing_values() -> None:
    rng = np.random.default_rng(0)
    n = 300
    colour = rng.choice(["red", "green", "blue"], size=n)
    size = rng.normal(size=n)
    size[::7] = np.nan
    weight = rng.normal(size=n)
    frame = pd.DataFrame({"colour": colour, "size": size, "weight": weight})
    y = (np.nan_to_num(size) + weight + 2.0 * (colour == "red")) > 0.5
    model = full(patience=2000, cooling=0.9995).fit(frame, y)
    assert model.score(frame, y) == 1.0
    root = model.tree_
    assert set(root.coef_idx[: root.coef_ptr[1]].tolist()) == {0, 1, 2}
    assert np.isfinite(root.spread[: root.coef_ptr[1]]).all()
    np.testing.assert_allclose(root.spread[0], 1.0, rtol=1e-6)  # numbers of levels


def test_a_criterion_in_python() -> None:
    rows, y = load_iris(return_X_y=True)

    def own(left: Any, right: Any) -> float:
        return entropy([int(k) for k in left], [int(k) for k in right])

    params = {"patience": 100, "cooling": 0.99}
    model = full(criterion=own, **params).fit(rows, y)
    assert model.n_hyperplanes_ > 100
    assert model.score(rows, y) == 1.0


def test_what_was_noted_is_saved(tmp_path: Path) -> None:
    model = full(max_depth=2).fit(X, Y)
    obliqua.save(model, tmp_path / "wine.obliqua")
    again = obliqua.load(tmp_path / "wine.obliqua")
    assert type(again) is SADTClassifier
    assert again.n_hyperplanes_ == model.n_hyperplanes_ > 0
    assert again.timed_out_ is False
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "wrong",
    [
        {"moves": "two"},
        {"temperature": -0.1},
        {"cooling": 0.0},
        {"cooling": 1.1},
        {"patience": -1},
        {"patience": 1.5},
        {"time_limit": -1.0},
    ],
)
def test_parameters_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SADTClassifier(**wrong).fit(X, Y)


def test_endless_settings_are_refused_or_end() -> None:
    """Infinite heat is no number; patience beyond counting is brought down."""
    for bad in (np.inf, np.nan):
        with pytest.raises(ValueError, match="temperature"):
            full(temperature=bad).fit(X, Y)
    model = full(patience=10**30, max_depth=1).fit(X[:4], [0, 0, 1, 1])
    assert model.score(X[:4], [0, 0, 1, 1]) == 1.0


def test_it_can_be_named() -> None:
    method = find_method("sadt")
    assert method.estimator == "obliqua.SADTClassifier"
