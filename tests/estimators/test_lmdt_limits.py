"""LMDT's limits: the clock, Ctrl-C, and the number of leaves."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

import obliqua._core.methods.machine as machine
from estimators.registry import assert_sound, blobs, full_grown
from interrupts import ctrl_c
from obliqua import CartClassifier, LMDTClassifier
from obliqua.data.problem import encode
from obliqua.engine.compiled import Journal
from obliqua.methods.lmdt import LMDT, grow_lmdt
from trees_to_read import people

X, Y = blobs(200, 3, 4, seed=2)


# --- time -----------------------------------------------------------------------------------


def test_no_time_at_all() -> None:
    """Nodes without a machine are divided as CART does it."""
    model = full_grown(LMDTClassifier, time_limit=0).fit(X, Y)
    cart = CartClassifier(criterion="entropy", pruning=None).fit(X, Y)
    assert model.timed_out_ is True
    assert model.n_hyperplanes_ == 0
    assert set(model.tree_.origin_labels) == {"axis-parallel"}
    assert model.get_n_leaves() == cart.get_n_leaves()
    np.testing.assert_array_equal(model.predict(X), cart.predict(X))


def test_time_enough() -> None:
    model = full_grown(LMDTClassifier, time_limit=1000).fit(X, Y)
    assert model.timed_out_ is False
    assert model.tree_ == full_grown(LMDTClassifier).fit(X, Y).tree_
    pure = full_grown(LMDTClassifier, time_limit=0).fit(X, np.zeros(len(X), dtype=int))
    assert pure.timed_out_ is False  # there was nothing to search for


@pytest.mark.parametrize("params", [{}, {"max_features": 1}, {"eliminate": False}], ids=str)
def test_a_tree_is_whole_whenever_time_is_over(
    params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock counts the looks at it, so time is over at each of them in turn."""
    noisy = np.where(np.arange(len(Y)) % 5 == 0, (Y + 1) % 4, Y)
    whole = grow_lmdt(encode(X, noisy, 4), LMDT(**params))
    labels, tried = set(), []
    for looks in (1, 2, 3, 4, 8, 16, 10**6):
        clock = count(1)
        monkeypatch.setattr(machine, "monotonic", lambda clock=clock: next(clock))
        method = LMDT(journal=Journal(deadline=looks), **params)
        tree = grow_lmdt(encode(X, noisy, 4), method)
        tree.validate()
        assert method.journal.timed_out == (looks < 10**6)
        assert (tree.stats[tree.is_leaf] > 0).sum(axis=1).max() == 1
        if "max_features" in params:
            assert tree.n_node_features.max() == 1
        labels |= {tree.origin_labels[origin] for origin in tree.origin[:1]}
        tried.append(method.journal.tried)
    assert tree == whole
    assert labels == {"axis-parallel", "linear machine"}
    assert tried == sorted(tried) and tried[0] == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_fit(n_jobs: int) -> None:
    """With these settings a training would take hours."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    endless = {
        "cooling_rate": 1.0,
        "cooling_step": 0.0,
        "extra_distance": 0.0,
        "max_passes": 2**40,
    }
    model = LMDTClassifier(n_jobs=n_jobs, random_state=0, time_limit=300.0, **endless)
    with pytest.raises(KeyboardInterrupt), ctrl_c(after=0.2):
        model.fit(rows, labels)
    assert not hasattr(model, "tree_")
    model.set_params(time_limit=0.05, pruning=None).fit(rows, labels)
    assert model.timed_out_ is True
    assert model.n_hyperplanes_ > 100
    model.tree_.validate()


# --- leaves ---------------------------------------------------------------------------------


def apart(n_classes: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Classes on a circle, of different sizes, which one machine divides."""
    sizes = 10 * np.arange(3, 3 + n_classes)
    y = np.repeat(np.arange(n_classes), sizes)
    angle = 2 * np.pi * y / n_classes
    noise = np.random.default_rng(0).normal(size=(len(y), 2)) * 0.05
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise, y


@pytest.mark.parametrize("most", [2, 3, 4, 5, 6])
def test_a_machine_with_too_many_branches_keeps_the_heaviest(most: int) -> None:
    rows, y = apart()
    tree = full_grown(LMDTClassifier, max_leaf_nodes=most).fit(rows, y).tree_
    assert tree.n_leaves == min(most, 5)
    assert tree.n_children[0] == min(most, 5)
    assert set(tree.origin_labels) == {"linear machine"}
    # The last classes are the heaviest; theirs are the branches, all of them with rows.
    heaviest = np.arange(5)[-most:]
    leaves = tree.stats[tree.is_leaf]
    assert (leaves[np.arange(len(leaves)), heaviest] == 10 * (3 + heaviest)).all()
    assert leaves.sum() == len(y)


def test_as_many_leaves_as_there_may_be() -> None:
    """Two circles of three classes, far from each other."""
    rows, y = apart(3)
    both = np.concatenate([rows, rows * 0.8 + [40.0, 0.0]])
    labels = np.concatenate([y, y + 3])
    counts = []
    for most in range(2, 8):
        tree = full_grown(LMDTClassifier, max_leaf_nodes=most).fit(both, labels).tree_
        tree.validate()
        counts.append(tree.n_leaves)
    assert counts == [2, 3, 4, 5, 6, 6]


@pytest.mark.parametrize("most", [2, 3, 7])
def test_tables_stay_within_the_limit(most: int) -> None:
    """Levels and holes become the same numbers when a machine is narrowed."""
    frame, _ = people(400)
    value = frame["pay"].fillna(0) + 2.0 * frame["town"].isin(["Oslo", "Rome"])
    labels = np.digitize(value, [-0.5, 0.3, 1.4, 2.2])
    model = full_grown(LMDTClassifier, max_leaf_nodes=most).fit(frame, labels)
    assert model.get_n_leaves() == most
    assert_sound(model, frame, labels)


def test_a_limit_of_leaves_and_of_gain() -> None:
    rows, y = apart()
    model = full_grown(LMDTClassifier, max_leaf_nodes=2, min_impurity_decrease=1.5)
    assert model.fit(rows, y).get_n_leaves() == 1  # two of five classes are at most 1 bit
    assert model.set_params(max_leaf_nodes=5).fit(rows, y).get_n_leaves() == 5


# --- parameters -----------------------------------------------------------------------------

HEAT = ("temperature", "lowest_temperature", "cooling_step", "extra_distance")


@pytest.mark.parametrize("name", HEAT)
@pytest.mark.parametrize("size", [1.0, 1e300, 1e-300])
def test_the_largest_numbers_make_finite_trees(name: str, size: float) -> None:
    """Warnings are errors here, and rows may be as large or small as numbers are."""
    noisy = np.where(np.arange(len(Y)) % 5 == 0, (Y + 1) % 4, Y)
    tree = full_grown(LMDTClassifier, **{name: 1e50}).fit(X * size, noisy).tree_
    tree.validate()
    assert np.isfinite(tree.coef).all() and np.isfinite(tree.threshold).all()
    assert (tree.stats[tree.is_leaf] > 0).sum(axis=1).max() == 1


@pytest.mark.parametrize("name", HEAT)
@pytest.mark.parametrize("value", [1e51, 1e308, np.inf, np.nan, -1.0])
def test_numbers_that_are_too_large_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"'{name}' parameter .* in the range .* 1e\+50\]"):
        LMDTClassifier(**{name: value}).fit(X, Y)
