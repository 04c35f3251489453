"""Refining a draft: what it depends on and what not, its steps, its clock, its curve."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from obliqua._core.refine.soft import Descent, SoftTree
from obliqua.data.problem import Problem, encode
from obliqua.data.table import read_table
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.discriminants import Discriminants
from obliqua.refine.descent import (
    AT_STAKE,
    LIGHT_SIDE,
    NEAR,
    Schedule,
    Watch,
    _heed_light_sides,
    _heights,
    _Order,
    _refined,
    _scaled,
    _shares,
    _times,
    _weighted_by,
    refine,
)
from obliqua.refine.draft import FLOOR, Draft, class_counts, draft_of, logits_of
from obliqua.refine.rows import SoftRows, soft_rows
from reference import refine as twin

SHORT = Schedule(passes=4.0)


def mixed(n_rows: int = 400, **options: Any) -> Problem:
    frame, y = twin.mixed_frame(n_rows, 7)
    return encode(read_table(frame), y, 3, **options)


def grown(problem: Problem, n_leaves: int = 8) -> tuple[Draft, SoftRows]:
    rules = Rules(max_leaf_nodes=n_leaves, best_first=True)
    tree = grow(problem, Proposals(Discriminants(), scale="standard"), "gini", rules)
    rows = soft_rows(problem)
    return draft_of(tree, rows.columns), rows


def refined(problem: Problem, **options: Any) -> Draft:
    draft, rows = grown(problem)
    return refine(draft, rows, SHORT, **options)


def errors(draft: Draft, rows: SoftRows) -> int:
    counts = draft.counts(rows)
    return int(counts.sum() - counts.max(axis=1).sum())


def test_threads_have_no_influence() -> None:
    problem = mixed()
    one = refined(problem, key=3)
    for n_threads in (2, 3):
        other = refined(problem, key=3, n_threads=n_threads)
        assert other.normals.tobytes() == one.normals.tobytes()


def test_threads_have_no_influence_on_large_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those consist of blocks, and rows are mixed in groups."""
    monkeypatch.setattr(Schedule, "_batch_size", lambda *_: 128)
    problem = mixed()
    one = refined(problem, key=3)
    for n_threads in (2, 3, 8):
        other = refined(problem, key=3, n_threads=n_threads)
        assert other.normals.tobytes() == one.normals.tobytes()
    monkeypatch.undo()
    assert refined(problem, key=3).normals.tobytes() != one.normals.tobytes()


@pytest.mark.parametrize(("n_rows", "size"), [(100, 64), (100, 128), (1, 256), (16, 128)])
def test_an_order_has_each_row_once(n_rows: int, size: int) -> None:
    order = _Order(n_rows, size)
    first, second = (order.mixed(key).tolist() for key in (1, 2))
    assert sorted(first) == sorted(second) == list(range(n_rows))
    if n_rows > 8:
        assert first != second


def test_really_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of many rows are shared out, small ones are not."""
    import obliqua.refine.descent as module

    seen: list[int] = []

    class Counted(module.Descent):
        def __init__(self, *args: Any) -> None:
            seen.append(self.n_threads)

    monkeypatch.setattr(module, "Descent", Counted)
    draft, rows = grown(mixed())
    refine(draft, rows, SHORT, n_threads=8)
    assert seen == [2]  # 64 rows, at least 32 for each
    monkeypatch.setattr(module, "_ROWS_PER_THREAD", 8)
    several = refine(draft, rows, SHORT, n_threads=5)
    assert seen[1:] == [5]
    assert several.normals.tobytes() == refine(draft, rows, SHORT).normals.tobytes()


def test_the_order_of_rows_and_repeated_rows_have_no_influence() -> None:
    frame, y = twin.mixed_frame(300, 8)
    times = np.random.default_rng(0).integers(1, 4, 300)
    often = np.random.default_rng(1).permutation(np.repeat(np.arange(300), times))
    weighted = encode(read_table(frame), y, 3, sample_weight=times)
    repeated = encode(read_table(frame.iloc[often]), y[often], 3)
    one, other = refined(weighted), refined(repeated)
    np.testing.assert_array_equal(one.child, other.child)
    assert one.normals.tobytes() == other.normals.tobytes()
    eightfold = encode(read_table(frame), y, 3, sample_weight=8.0 * times)
    assert refined(eightfold).normals.tobytes() == one.normals.tobytes()
    plain = refined(encode(read_table(frame), y, 3))
    assert plain.normals.tobytes() != one.normals.tobytes(), "weights count"


def test_the_draft_that_is_given_stays() -> None:
    draft, rows = grown(mixed())
    before = draft.normals.copy()
    after = refine(draft, rows, SHORT)
    np.testing.assert_array_equal(draft.normals, before)
    np.testing.assert_array_equal(after.child, draft.child)
    assert np.abs(after.normals - before).max() > 0.1


def test_it_errs_less_and_finds_levels_and_gaps() -> None:
    """Splits that know nothing of levels and gaps learn what these are worth."""
    draft, rows = grown(mixed(800), 6)
    columns = rows.columns
    normals = draft.normals.copy()
    normals[:, columns.stride :] = 0.0
    blind = Draft(draft.child, normals)
    watch = Watch()
    after = refine(blind, rows, Schedule(passes=40.0), watch=watch)
    assert errors(after, rows) < 0.5 * errors(blind, rows)
    assert errors(after, rows) <= errors(draft, rows)
    assert len(watch.curve) == 40
    assert watch.curve[-1] < watch.curve[0] - 0.2
    # Green costs 1.5 and black is worth 2, to nodes in which that matters.
    green, black = (columns.levels[3] + code for code in (2, 0))
    names = ["black", "blue", "green", "red", "white"]
    assert names == sorted(names)
    there = after.normals[:, 0] > 0.1
    assert there.any()
    gain = after.normals[there, black] - after.normals[there, green]
    assert gain.max() > 1.0
    for place in (columns.missing[0], columns.missing[3]):
        assert np.abs(after.normals[:, place]).max() > 0.05


def test_one_batch_of_all_rows_against_the_twin() -> None:
    """The whole of `refine`: scaling, logits, decay by share of rows, and a step of Adam."""
    frame, y = twin.mixed_frame(60, 9)
    problem = encode(read_table(frame), y, 3, sample_weight=1 + np.arange(60) % 3)
    draft, rows = grown(problem, 4)
    schedule = Schedule(passes=1.0, decay=0.3)
    found = refine(draft, rows, schedule)
    full = twin.full_rows(rows.arrays, rows.columns.width)
    weight = rows.weight.astype(float)
    w = draft.normals.astype(float)
    leaf, reached = np.empty(60, dtype=np.int32), np.zeros((draft.n_nodes, 60), dtype=bool)
    for row in range(60):
        at = 0
        while at >= 0:
            reached[at, row] = True
            at = int(draft.child[at, int(full[row] @ w[at] > 0)])
        leaf[row] = -1 - at
    for node, here in enumerate(reached):
        z, share = full[here] @ w[node], weight[here] / weight[here].sum()
        w[node] /= np.sqrt(share @ (z - share @ z) ** 2)
    counts = class_counts(leaf, rows, draft.n_leaves)
    a = logits_of(counts, rows)[:, :3].astype(float)
    pulled = np.ones(w.shape[1])
    pulled[rows.columns.constant] = 0.0
    how = twin.Loss(2.0, 0.2, 0.3 * (reached @ weight) / 60.0, pulled)
    slope, _ = twin.gradients((draft.child, w, a), full, rows.y, weight, how)
    expected = w + twin.Adam(w.shape).step(slope, 0.02)
    sure = np.abs(slope) > 1e-6  # the first step is as long as the rate, whatever the gradient
    assert sure[:, rows.columns.owner >= 0].mean() > 0.9
    np.testing.assert_allclose(found.normals[sure], expected[sure], atol=2e-4)
    without = twin.gradients((draft.child, w, a), full, rows.y, weight, twin.Loss(2.0, 0.2))[0]
    assert (np.sign(without) != np.sign(slope))[sure].any(), "the decay must be seen in the step"


def test_scaled_heights_have_a_deviation_of_one() -> None:
    draft, rows = grown(mixed(), 5)
    # A fourth node that no row reaches goes by all rows; a constant height stays as it is.
    normals = draft.normals.copy()
    normals[-1] = 0.0
    normals[-1, rows.columns.constant] = 5.0
    odd = Draft(draft.child, normals)
    scaled, leaf, reached = _scaled(odd, rows)
    np.testing.assert_array_equal(scaled[-1], normals[-1])
    assert reached[0] == pytest.approx(1.0)
    np.testing.assert_array_equal(leaf, odd.walk(rows)[0])
    assert _heights(scaled[0], rows).std() == pytest.approx(1.0, rel=1e-4)
    heights = twin.full_rows(rows.arrays, rows.columns.width) @ scaled[0].astype(float)
    np.testing.assert_allclose(_heights(scaled[0], rows), heights, atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_gates_of_light_sides_against_the_twin(seed: int) -> None:
    """Sharper, until no more rows of the other side stand near than the light side has."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(300, 2)), 1)
    weight = rng.integers(1, 4, 300)
    rows = soft_rows(encode(X, (X[:, 0] > 0).astype(int), 2, sample_weight=weight))
    child = np.array([[1, 2], [-1, -2], [-3, -4]], dtype=np.int32)
    normals = rng.normal(size=(3, rows.columns.width)).astype(np.float32)
    normals[:, rows.columns.constant] += rng.choice([-2.5, 0.0, 2.5], 3)
    normals, _, reached = _scaled(Draft(child, normals), rows)
    before, after = Draft(child, normals), Draft(child, normals.copy())
    at_stake = _heed_light_sides(after, rows, reached)
    doubled = np.log2(after.normals[:, 0] / before.normals[:, 0])
    expected, share = twin.light_sides(before, rows, reached, LIGHT_SIDE, NEAR, AT_STAKE)
    np.testing.assert_array_equal(doubled, expected)
    np.testing.assert_allclose(at_stake, share)


def test_light_sides_are_seen() -> None:
    """A line with one row in 300 beyond it: the gate is made sharper, and stays."""
    X = np.random.default_rng(0).normal(size=(3_000, 3))
    draft, rows = grown(encode(X, (X.sum(axis=1) > 4.8).astype(int), 2), 2)
    normals, _, reached = _scaled(draft, rows)
    sharper = Draft(draft.child, normals.copy())
    _heed_light_sides(sharper, rows, reached)
    assert (sharper.normals == 4.0 * normals).all()
    found = errors(refine(draft, rows), rows)
    assert found < 0.5 * (rows.y == 1).sum()


def test_rare_classes_are_looked_at_more_often_and_weigh_the_same() -> None:
    y = np.repeat([0, 1, 2], [2_000, 900, 4])
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    rows = soft_rows(encode(X, y, 3, sample_weight=1 + np.arange(len(y)) % 3))
    times = _times(rows, 64)
    assert [set(times[rows.y == k]) for k in range(3)] == [{1}, {1}, {len(y) // 64 // 4}]
    visits = np.repeat(np.arange(len(y)), times)
    weight = _weighted_by(rows, times).weight[visits].astype(float)
    assert weight.mean() == pytest.approx(1.0, rel=1e-6)
    for k in range(3):
        here = weight[rows.y[visits] == k].sum() / weight.sum()
        assert here == pytest.approx(rows.class_share[k], rel=1e-5)
    # Many small classes are not rare ones.
    many = soft_rows(encode(X, np.arange(len(y)) % 400, 400))
    assert (_times(many, 64) == 1).all()
    assert _weighted_by(many, _times(many, 64)) is many


def test_what_soft_gates_would_forget_is_refined_with_sharper_ones() -> None:
    """One row in 300 is in a ball, which takes several splits."""
    X = np.random.default_rng(0).normal(size=(6_000, 3))
    y = ((X - 1.0) ** 2).sum(axis=1) < 0.2
    draft, rows = grown(encode(X, y.astype(int), 2), 8)
    few = int(y.sum())
    watch = Watch()
    assert errors(refine(draft, rows, watch=watch), rows) < 0.5 * few
    assert len(watch.curve) == 30, "of the last try only"
    at_once = _refined(draft, rows, Schedule(), 0, 1, Watch(), 0)
    assert errors(at_once, rows) == few, "soft gates shut"


def test_a_node_that_no_row_reaches_is_scaled_by_all_rows() -> None:
    problem = mixed(100)
    rows = soft_rows(problem)
    normals = np.zeros((2, rows.columns.width), dtype=np.float32)
    normals[0, rows.columns.constant] = 1.0  # all rows go right
    normals[1, 1] = 40.0
    draft = Draft(np.array([[1, -1], [-2, -3]], np.int32), normals)
    scaled, _, reached = _scaled(draft, rows)
    assert reached.tolist() == [1.0, 0.0]
    assert _heights(scaled[1], rows).std() == pytest.approx(1.0, rel=1e-5)
    assert np.isfinite(refine(draft, rows, SHORT).normals).all()


def test_masked_weights_stay_zero() -> None:
    draft, rows = grown(mixed())
    mask = np.ones_like(draft.normals)
    mask[:, 1] = 0.0
    after = refine(Draft(draft.child, draft.normals * mask, mask), rows, SHORT)
    assert not after.normals[:, 1].any()
    assert after.normals[:, 0].all()


def test_the_constant_is_not_drawn_to_zero() -> None:
    """Where all rows are of one class nothing is learnt, so only the decay moves normals."""
    rng = np.random.default_rng(0)
    problem = encode(rng.normal(size=(64, 2)), np.zeros(64, dtype=int), 2)
    rows = soft_rows(problem)
    normals = np.zeros((1, rows.columns.width), dtype=np.float32)
    normals[0, :3] = [1.0, 1.0, 1.0]
    draft = Draft(np.array([[-1, -2]], np.int32), normals)
    start, _, _ = _scaled(draft, rows)
    after = refine(draft, rows, Schedule(passes=20.0, decay=1.0)).normals[0]
    none = refine(draft, rows, Schedule(passes=20.0, decay=0.0)).normals[0]
    assert (np.abs(after[:2]) < np.abs(start[0, :2]) - 0.05).all()
    assert np.abs(none - start[0])[:3].max() < 0.5
    assert abs(after[2] - none[2]) < 0.1 < abs(start[0, 2])


@pytest.mark.parametrize(("size", "n_blocks"), [(64, 1), (61, 1), (128, 4)])
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_classes", [3, 9])
def test_small_trees_have_the_bits_of_lists_of_rows(
    size: int, n_blocks: int, n_threads: int, n_classes: int
) -> None:
    """Columns of zeros make a tree too wide to be a small one, and change nothing else."""
    draft, rows = grown(mixed(400), 12)
    x, more_ptr, more, y, weight = rows.arrays
    assert more is not None, "levels too"
    stride, pad = x.shape[1], 1024
    assert draft.n_nodes * stride <= pad < draft.n_nodes * (stride + pad)
    y = np.where(y == 2, np.arange(len(y)) % (n_classes - 2) + 2, y).astype(np.int32)
    found = []
    for zeros in (0, pad):
        columns = (np.hstack([x, np.zeros((len(x), zeros), dtype=np.float32)]), more_ptr)
        normals = np.insert(draft.normals, [stride] * zeros, 0.0, axis=1)
        logits = np.zeros((draft.n_leaves, 8 if n_classes <= 8 else 16), dtype=np.float32)
        moved = (*columns, (more + zeros).astype(np.int32), y, weight)
        soft = SoftTree(moved, (draft.child, normals, logits), n_classes, FLOOR)
        ones = np.ones(max(normals.shape), dtype=np.float32)
        shares = _shares(np.ones(draft.n_nodes), draft, n_classes, n_threads)
        decays, limits = np.full(draft.n_nodes, 1e-3, dtype=np.float32), (50, 2.0, 8.0, 0.02, 0.05)
        descent = Descent(soft, size, limits, decays, ones, None, shares, n_blocks)
        order = np.random.default_rng(0).permutation(len(x))
        with ThreadPoolExecutor(n_threads) as pool:
            for step in range(0, 12, 4):
                runs = [pool.submit(descent.run, order, 0, 4, step, k) for k in range(n_threads)]
                for run in runs:
                    run.result(60.0)
        found.append((np.delete(normals, range(stride, stride + zeros), axis=1), logits))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (found[0][0] != draft.normals).any()


def test_a_thread_that_will_not_come_is_not_waited_for() -> None:
    draft, rows = grown(mixed(200))
    n_nodes, width = draft.normals.shape
    soft = Draft(draft.child, draft.normals.copy()).soft(rows)
    ones = np.ones(max(n_nodes, width), dtype=np.float32)
    shares = np.array([[0, 0], [1, 1], [n_nodes, n_nodes + 1]], dtype=np.int32)
    limits = (100, 2.0, 8.0, 0.02, 0.05)
    descent = Descent(soft, 64, limits, ones[:n_nodes], ones[:width], None, shares)
    with ThreadPoolExecutor(1) as pool:
        alone = pool.submit(descent.run, np.arange(200), 0, 3, 0, 0)
        with pytest.raises(TimeoutError):
            alone.result(0.05)
        descent.give_up()
        alone.result(10.0)


def test_refinement_that_was_cut_short_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Soft gates, hardened too early, may be worse than those at the start: then these stay."""
    draft, rows = grown(mixed())

    class Short(Watch):
        looks = 0

        @property
        def is_up(self) -> bool:
            self.looks += 1
            return self.looks > 3

    wild = Schedule(passes=50.0, rate=5.0)
    monkeypatch.setattr("obliqua.refine.descent._CHUNK", 1)
    cut = refine(draft, rows, wild, watch=Short())
    assert cut.normals.tobytes() == draft.normals.tobytes()
    gentle = refine(draft, rows, Schedule(passes=50.0, rate=1e-4), watch=Short())
    assert gentle.normals.tobytes() != draft.normals.tobytes()
    assert errors(gentle, rows) <= errors(draft, rows)


def test_decay_with_few_rows() -> None:
    assert [Schedule()._decay_with(n) for n in (999, 1000)] == [1e-2, 1e-3]
    assert Schedule(decay=0.5)._decay_with(10) == 0.5


def test_one_leaf_is_left_alone() -> None:
    rows = soft_rows(mixed(50))
    draft = Draft(np.empty((0, 2), np.int32), np.empty((0, rows.columns.width), np.float32))
    assert refine(draft, rows) is draft


def test_no_time_leaves_the_splits_where_they_are() -> None:
    draft, rows = grown(mixed())
    watch = Watch(0.0)
    assert watch.is_up
    after = refine(draft, rows, watch=watch)
    assert watch.curve == []
    np.testing.assert_array_equal(after.counts(rows), draft.counts(rows))


def test_time_ends_it() -> None:
    draft, rows = grown(mixed())
    watch = Watch(0.1)
    refine(draft, rows, Schedule(passes=1e6), watch=watch)
    assert watch.is_up
    assert 0 < len(watch.curve) < 1e5
    assert np.isfinite(watch.curve).all()


def test_passes() -> None:
    """128,000 / n, between the least and 400; the least falls where there are very many rows."""
    usual = Schedule()
    found = [usual._passes_over(n) for n in (100, 1_000, 10_000, 20_000, 80_000, 10_000_000)]
    assert found == [400.0, 128.0, 30.0, 30.0, 7.5, 4.0]
    assert Schedule(least_passes=15.0)._passes_over(10_000) == 15.0
    assert Schedule(passes=2.5)._passes_over(10) == 2.5
    sizes = [usual._batch_size(n) for n in (10, 159_999, 160_000, 320_000, 10**7)]
    assert sizes == [64, 64, 128, 256, 256]


def test_parts_of_passes() -> None:
    draft, rows = grown(mixed(640))
    watch = Watch()
    refine(draft, rows, Schedule(passes=2.5), watch=watch)
    assert len(watch.curve) == 3
    assert 0.0 < watch.curve[2] < 2.0


def test_a_watch_without_limits_is_never_up() -> None:
    lines: list[str] = []
    assert not Watch().is_up
    Watch().say("nobody listens")
    Watch(note=lines.append).say("x")
    assert lines == ["x"]
