"""Thermal training of linear machines, beside its twin."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interrupts import ctrl_c
from obliqua._core.methods.machine import TrainingWatch, train, winners
from problems import examples
from reference import lmdt as twin

SCHEDULES = [
    (2.0, 0.001, 0.995, 0.0005, 0.1),
    (2.0, 0.001, 0.9, 0.0005, 0.0),
    (0.5, 0.2, 0.99, 0.01, 0.1),
    (2.0, 1.9, 0.995, 0.0005, 0.1),  # frozen within a pass
    (2.0, 0.001, 1.0, 0.0, 0.0),  # never cools
]


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, classes, how often they are shown, and weights to start from."""
    rng = np.random.default_rng(seed)
    n, p, n_classes = int(rng.integers(1, 25)), int(rng.integers(0, 5)), int(rng.integers(2, 5))
    kind = rng.integers(0, 4)
    rows = rng.normal(size=(n, p)) if kind else rng.integers(-1, 2, (n, p)).astype(float)
    if kind == 2 and p:
        rows[:, 0] = 1.0  # a constant column
    if kind == 3:
        rows = rows[rng.integers(0, max(n // 2, 1), n)]  # equal rows, perhaps of several classes
    Y = np.column_stack([np.ones(n), rows])
    classes = rng.integers(0, n_classes, n).astype(np.int32)
    times = np.ones(n)
    if rng.random() < 0.5:
        times = rng.choice([0.25, 0.5, 1.0, 1.5, 2.0, 3.75], n)
    W = np.zeros((n_classes, p + 1))
    if rng.random() < 0.3:
        W = rng.normal(size=W.shape)
    return Y, classes, times, W


@examples(200)
@given(seed=st.integers(0, 10**9), schedule=st.sampled_from(SCHEDULES), passes=st.integers(0, 40))
def test_a_training_is_the_twins(seed: int, schedule: tuple[float, ...], passes: int) -> None:
    Y, classes, times, W = problem(seed)
    theirs = W.tolist()
    heat = twin.Heat(*schedule)
    expected = twin.train(Y.tolist(), classes.tolist(), times.tolist(), theirs, seed, heat, passes)
    corrections, n_passes, beta = train(Y, classes, times, W, seed, schedule, passes)
    assert (corrections, n_passes) == expected
    assert beta == heat.beta
    np.testing.assert_array_equal(W, theirs)
    assert winners(Y, W).tolist() == [twin.winner(theirs, row) for row in Y.tolist()]


@pytest.mark.parametrize("own", [0, 1, 2])
def test_one_step(own: int) -> None:
    """By hand: the winner is class 1 with a score of 3, the row's square is 1 + 4 = 5."""
    W = np.array([[1.0, 0.5], [3.0, 0.0], [0.0, -1.0]])
    row = np.array([[1.0, 2.0]])
    scores = W @ row[0]
    assert scores.tolist() == [2.0, 3.0, -2.0]
    before = W.copy()
    corrections, _, beta = train(
        row, np.array([own], dtype=np.int32), np.ones(1), W, 0, SCHEDULES[0], 1
    )
    k = (3.0 - scores[own]) / 10.0 + 0.1
    c = 0.0 if own == 1 else 4.0 / (2.0 + k)
    assert corrections == (own != 1)
    np.testing.assert_allclose(W[own] - before[own], c * row[0])
    np.testing.assert_allclose(W[1] - before[1], -c * row[0] if own != 1 else 0.0, atol=1e-12)
    assert beta == 2.0  # nothing rose before


def test_rows_far_on_the_wrong_side_are_left_alone() -> None:
    W = np.array([[10.0], [0.0]])  # k is (10 - 0) / 2 + 0.1 = 5.1
    held = W.copy()
    found = train(np.ones((1, 1)), np.array([1], np.int32), np.ones(1), W, 0, SCHEDULES[0], 100)
    assert found == (0, 1, 2.0)
    np.testing.assert_array_equal(W, held)
    hot = (6.0, *SCHEDULES[0][1:])
    assert train(np.ones((1, 1)), np.array([1], np.int32), np.ones(1), W, 0, hot, 100)[0] > 0


def test_training_ends_where_the_rows_that_are_wrong_are_too_far_away() -> None:
    """Two equal rows of two classes: after one correction the other is further than beta."""
    Y, classes = np.ones((2, 1)), np.array([0, 1], dtype=np.int32)
    W = np.zeros((2, 1))
    assert train(Y, classes, np.ones(2), W, 1, SCHEDULES[0], 10**6) == (1, 2, 2.0)


def shown_in_a_pass(times: np.ndarray, key: int) -> list[int]:
    """How often a training shows each row in its first pass, up to four times.

    Each row has a column of its own, and four classes are ahead of its class by so much that it
    is wrong, and corrected, four times in turn. Its weight then tells how often that was.
    """
    n, ahead, weight = len(times), 1.99, [0.0]
    while weight[-1] < ahead:  # with beta = 1 and epsilon = 0
        weight.append(weight[-1] + 1.0 / (1.0 + (ahead - weight[-1]) / 2.0))
    assert len(weight) == 5
    W = np.full((6, n), ahead)
    W[5] = 0.0
    classes = np.full(n, 5, dtype=np.int32)
    train(np.eye(n), classes, times, W, key, (1.0, 0.001, 1.0, 0.0, 0.0), 1)
    return [int(np.argmin(np.abs(np.array(weight) - own))) for own in W[5]]


def test_rows_are_shown_as_often_as_they_should_be() -> None:
    times = np.array([0.25, 1.0, 1.5, 2.0, 3.75, 0.5])
    every = []
    for key in range(2000):
        shown = shown_in_a_pass(times, key)
        order = twin.pass_order(times.tolist(), twin.random_numbers(key))
        assert shown == np.bincount(order, minlength=6).tolist()
        every.append(shown)
    assert (np.floor(times) <= np.min(every, axis=0)).all()
    assert (np.max(every, axis=0) <= np.ceil(times)).all()
    np.testing.assert_allclose(np.mean(every, axis=0), times, atol=0.05)


def test_threads_do_not_disturb_each_other() -> None:
    tasks = [problem(seed) for seed in range(40)]

    def run(task: tuple[np.ndarray, ...]) -> list[float]:
        Y, classes, times, W = task
        W = W.copy()
        train(Y, classes, times, W, 7, SCHEDULES[0], 200)
        return W.ravel().tolist()

    alone = [run(task) for task in tasks]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, tasks)) == alone


# --- when it is to end ------------------------------------------------------------------------

HOT = (2.0, 0.001, 1.0, 0.0, 0.0)  # never cools


def endless() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of no order at all, which a machine that does not cool corrects for ever."""
    rng = np.random.default_rng(5)
    Y = np.column_stack([np.ones(300), rng.normal(size=(300, 3))])
    return Y, rng.integers(0, 3, 300).astype(np.int32), np.ones(300), np.zeros((3, 4))


def test_training_ends_when_time_is_over() -> None:
    Y, classes, times, W = endless()
    watch = TrainingWatch(monotonic() + 0.02)
    corrections, passes, _ = train(Y, classes, times, W, 0, HOT, 2**62, watch)
    assert watch.late and not watch.stop
    assert corrections > 100 and passes > 10
    assert np.isfinite(W).all() and W.any()


def test_nothing_is_corrected_after_the_deadline() -> None:
    Y, classes, times, W = endless()
    watch = TrainingWatch(monotonic() - 1.0)
    assert not watch.late  # nobody has looked yet
    assert train(Y, classes, times, W, 0, HOT, 2**62, watch)[0] == 0
    assert watch.late and not W.any()


def test_who_sets_stop_ends_it() -> None:
    Y, classes, times, W = endless()
    watch = TrainingWatch()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(train, Y, classes, times, W, 0, HOT, 2**62, watch)
        watch.stop = True
        running.result()
    assert train(Y, classes, times, W, 0, HOT, 2**62, watch)[:2] == (0, 0)


def test_ctrl_c_comes_through() -> None:
    Y, classes, times, W = endless()
    with pytest.raises(KeyboardInterrupt), ctrl_c(after=0.05):
        train(Y, classes, times, W, 0, HOT, 2**62, TrainingWatch(monotonic() + 300.0))


def test_a_deadline_that_is_not_reached_changes_nothing() -> None:
    for seed in range(20):
        Y, classes, times, W = problem(seed)
        watched, watch = W.copy(), TrainingWatch(monotonic() + 1e6)
        alone = train(Y, classes, times, W, 7, SCHEDULES[0], 200)
        assert train(Y, classes, times, watched, 7, SCHEDULES[0], 200, watch) == alone
        np.testing.assert_array_equal(watched, W)
        assert not watch.late
