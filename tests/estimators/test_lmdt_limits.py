"""LMDT's limits: the clock, Ctrl-C, and the number of leaves."""

from __future__ import annotations

import os
import signal
from itertools import count
from threading import Timer, main_thread
from typing import Any

import numpy as np
import pytest

import obliqua._core.machine as machine
from estimators.registry import blobs, full_grown
from obliqua import CartClassifier, LMDTClassifier
from obliqua.data import encode
from obliqua.methods._journal import Journal
from obliqua.methods.lmdt import LMDT, grow_lmdt

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


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_fit(n_jobs: int) -> None:
    """With these settings a training would take hours."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    endless = {"cooling_rate": 1.0, "cooling_step": 0.0, "epsilon": 0.0, "max_passes": 2**40}
    model = LMDTClassifier(n_jobs=n_jobs, random_state=0, **endless)
    timer = Timer(0.2, signal.pthread_kill, (main_thread().ident, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, labels)
    timer.join()
    assert not hasattr(model, "tree_")
    model.set_params(time_limit=0.05, pruning=None).fit(rows, labels)
    assert model.timed_out_ is True
    assert model.n_hyperplanes_ > 100
    model.tree_.validate()
