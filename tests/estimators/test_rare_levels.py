"""A column with about as many levels as rows does no harm, in any method."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import obliqua
from obliqua.explain import split_stability
from obliqua.select.methods import find_method

N = 2000  # training rows; as many again are test rows
SAYS = r"Column 'key' has [\d,]+ levels in 2,000 rows: so many tell rows apart"
# One of each way to use levels: cuts of an order, branches, numbers in hyperplanes that are found
# or moved, linear machines, an encoding of its own, and columns of ones.
# What becomes of keys is decided before a method sees them; others take long and tell no more.
METHODS = ["cart", "c45", "hhcart-a", "refined"]
METHODS += [pytest.param(name, marks=pytest.mark.long) for name in ("fdt", "oc1", "lmdt", "etct")]


def table(seed: int, levels: int = 0) -> tuple[pl.DataFrame, np.ndarray, pl.Series]:
    """Four numbers, what depends on them, and keys; all are different if there are no `levels`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * N, 4))
    y = X[:, 0] + X[:, 1] - 0.5 * X[:, 2] + 0.7 * rng.normal(size=2 * N)
    codes = rng.integers(0, levels, 2 * N) if levels else rng.permutation(2 * N)
    return pl.DataFrame(X), y, pl.Series("key", [f"k{code}" for code in codes.tolist()])


def gains(model: Any, levels: int, numbers: bool = False) -> float:
    """The mean over two tables of what the column of keys brings on test rows."""
    found = []
    for seed in range(2):
        X, y, keys = table(seed, levels)
        y = y if numbers else y > 0
        with_keys = X.with_columns(keys)
        alone = model.fit(X[:N], y[:N]).score(X[N:], y[N:])
        with pytest.warns(UserWarning, match=SAYS):
            model.fit(with_keys[:N], y[:N])
        found.append(model.score(with_keys[N:], y[N:]) - alone)
    return float(np.mean(found))


@pytest.mark.parametrize("name", METHODS)
def test_keys_cost_at_most_a_point(name: str) -> None:
    assert gains(find_method(name).make(0), 0) >= -0.01


@pytest.mark.parametrize("levels", [0, 1000, 200])
def test_keys_cost_at_most_a_point_whatever_their_number(levels: int) -> None:
    assert gains(obliqua.CartClassifier(pruning="cv", random_state=0), levels) >= -0.01
    model = obliqua.CartRegressor(pruning="cv", random_state=0)
    assert gains(model, levels, numbers=True) >= -0.01


def test_two_columns_of_keys_and_one_of_dates() -> None:
    X, y, keys = table(3)
    days = pl.Series("day", np.arange(2 * N) % 1500).cast(pl.Date).cast(pl.String)
    more = X.with_columns(keys, keys.reverse().alias("name"), days)
    alone = obliqua.CartClassifier(pruning=None).fit(X[:N], y[:N] > 0)
    with pytest.warns(UserWarning, match="so many tell rows apart") as said:
        model = obliqua.CartClassifier(pruning=None).fit(more[:N], y[:N] > 0)
    assert [str(each.message).split("'")[1] for each in said] == ["key", "name", "day"]
    assert all(each.filename == __file__ for each in said)  # the line that calls fit
    assert (model.predict(more[N:]) == alone.predict(X[N:])).all()


def test_a_student_is_spared_too() -> None:
    X, y, keys = table(4)
    X, y = X.with_columns(keys)[: N // 4], y[: N // 4] > 0
    teacher = obliqua.HHCartClassifier(random_state=0)
    with pytest.warns(UserWarning, match="Column 'key' has") as said:
        model = obliqua.DistilledClassifier(teacher, n_generated=100, random_state=0).fit(X, y)
    assert "500 levels in 500 rows" in str(said[-1].message)  # others are the teacher's
    assert said[-1].filename == __file__
    assert model.model_.encoding.columns[4].levels == ("other levels",)


def test_ordinary_columns_are_left_alone() -> None:
    """Eight levels, some of them rare: the tree of a fit that pools nothing."""
    rng = np.random.default_rng(0)
    level = np.minimum(rng.geometric(0.4, 300), 8)
    X = pl.DataFrame({"a": rng.normal(size=300), "b": [f"level {k}" for k in level]})
    y = (X["a"].to_numpy() + 0.3 * level + rng.normal(size=300)) > 1
    for Estimator in (obliqua.CartClassifier, obliqua.HHCartClassifier, obliqua.C45Classifier):
        bare = Estimator(random_state=0)
        bare._pools_levels = False
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = Estimator(random_state=0).fit(X, y)
        assert model.tree_ == bare.fit(X, y).tree_
        assert model.model_.encoding == bare.model_.encoding
        assert not model.model_.encoding.columns[1].others


def towns(seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """A few towns that matter, and many that are there once or twice."""
    rng = np.random.default_rng(seed)
    large = np.array(["Bonn", "Oslo", "Rome"])[rng.integers(0, 3, 300)]
    names = [*large, *(f"village {k}" for k in rng.integers(0, 150, 200))]
    names = [names[k] for k in rng.permutation(500)]
    X = pl.DataFrame({"size": rng.normal(size=500), "town": names})
    y = (X["town"] == "Rome").to_numpy() ^ (rng.random(500) < 0.1)
    return X, y


@pytest.mark.filterwarnings("ignore:Column 'town'")
def test_full_levels_stay_and_new_ones_go_with_the_rare() -> None:
    X, y = towns()
    model = obliqua.CartClassifier(pruning=None, max_depth=1).fit(X, y)
    column = model.model_.encoding.columns[1]
    assert column.levels == ("Bonn", "Oslo", "Rome", "other levels")
    assert "town not in {Rome} (500 rows)" in obliqua.export_text(model)
    new = pl.DataFrame({"size": [0.0] * 3, "town": ["village 7", "nowhere", "other levels"]})
    assert len(set(model.apply(new).tolist())) == 1
    assert model.predict(pl.DataFrame({"size": [0.0], "town": ["Rome"]})).tolist() == [True]


@pytest.mark.filterwarnings("ignore:Column 'town'")
def test_neither_order_nor_repeated_rows_matter() -> None:
    X, y = towns()
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, 500)
    model = obliqua.CartClassifier(pruning=None).fit(X, y, weights)
    rows = np.repeat(np.arange(500), weights)
    repeated = obliqua.CartClassifier(pruning=None).fit(X[rows], y[rows])
    assert repeated.model_.encoding == model.model_.encoding
    assert (repeated.predict_proba(X) == model.predict_proba(X)).all()
    order = rng.permutation(500)
    other = obliqua.CartClassifier(pruning=None).fit(X[order], y[order], weights[order])
    assert other.tree_ == model.tree_
    assert other.model_.encoding == model.model_.encoding


@pytest.mark.filterwarnings("ignore:Column 'town'")
def test_files_keep_the_level_of_the_others(tmp_path: Path) -> None:
    X, y = towns()
    model = obliqua.HHCartClassifier(random_state=0).fit(X, y)
    obliqua.save(model, tmp_path / "m.obliqua")
    loaded = obliqua.load(tmp_path / "m.obliqua")
    assert loaded.model_.encoding == model.model_.encoding
    assert loaded.model_.encoding.columns[1].others
    new, _ = towns(1)
    assert (loaded.predict_proba(new) == model.predict_proba(new)).all()


def test_compare_says_it_once() -> None:
    X, y, keys = table(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = obliqua.compare(X.with_columns(keys)[:200], y[:200] > 0, ["cart"], n_folds=2)
    assert [note for note in result.notes if "'key' has 200 levels in 200 rows" in note]


def test_stability_chooses_splits_among_the_levels_of_the_tree() -> None:
    """At a node with few rows per level no level is pooled, for none was when the tree grew."""
    rng = np.random.default_rng(2)
    level = rng.integers(0, 30, 400)
    X = pl.DataFrame({"a": rng.normal(size=400), "b": [f"level {k}" for k in level]})
    y = (level % 2 == 0) ^ (X["a"].to_numpy() > 1)
    model = obliqua.CartClassifier(max_depth=3, pruning=None).fit(X, y)
    small = int(model.tree_.first_child[0])
    assert model.tree_.n_samples[small] < 300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert split_stability(model, X, y, n_resamples=3)
