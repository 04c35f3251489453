"""`plot_path`: the nodes are those that the row passes, and its values are told truly."""

from __future__ import annotations

import itertools
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from obliqua import CartClassifier, HHCartClassifier, TreeBuilder, plot_path
from obliqua.plot._rows import Sample, along, moves_of
from obliqua.words.subject import subject_of
from plot.pictures import (
    all_kinds,
    assert_tidy,
    boxes,
    by_gid,
    coloured,
    data,
    grown,
    words,
)


@pytest.mark.parametrize("with_rows", [False, True])
@pytest.mark.parametrize("number", [0, 17, 123])
def test_the_strips_are_the_nodes_on_the_way(number: int, with_rows: bool) -> None:
    model, X, y = grown(30)
    rows = {"X": X, "y": y} if with_rows else {}
    ax = plot_path(model, X[number], **rows)
    way = model.decision_path(X[number : number + 1]).indices
    found = boxes(ax)
    assert sorted(found) == sorted(way.tolist())
    tops = [found[k].y1 for k in sorted(found)]
    assert tops == sorted(tops, reverse=True)
    assert_tidy(ax)


@pytest.mark.parametrize("number", range(0, 300, 60))
def test_the_row_stands_on_its_side_of_the_cut(number: int) -> None:
    model, X, y = grown(20)
    ax = plot_path(model, X[number], X=X, y=y)
    way = model.decision_path(X[number : number + 1]).indices.tolist()
    for node, after in itertools.pairwise(way):
        cut = by_gid(ax, f"node-{node}-histogram-cut").popitem()[1].get_xdata()[0]
        triangle = by_gid(ax, f"node-{node}-row").popitem()[1].get_xy()[:, 0].mean()
        goes_left = after == model.tree_.first_child[node]
        assert triangle <= cut + 0.05 if goes_left else triangle >= cut - 0.05
        answer = by_gid(ax, f"node-{node}-answer").popitem()[1].get_text()
        assert answer.endswith("yes" if goes_left else "no")


def test_moves_add_up_to_the_distance_from_the_mean() -> None:
    model, X, y = grown(10)
    subject, tree = subject_of(model), model.tree_
    weight = np.arange(1.0, len(X) + 1)
    sample = Sample(subject, X, y, weight)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        scale = along(subject, node)
        assert scale is not None
        z = X[5:6]
        rows = sample.at(node)
        mean = np.average(scale.sign * scale.values(tree, X[rows]), weights=weight[rows])
        for limit in (1, 2, 9):
            moves = moves_of(scale, sample, node, z, limit, subject)
            total = sum(move for _, move in moves.terms) + moves.others
            assert moves.value == pytest.approx(float(scale.sign * scale.values(tree, z)[0]))
            assert total == pytest.approx(moves.value - mean)
            assert len(moves.terms) + moves.n_others == len(scale.question.terms)
        alone = moves_of(scale, None, node, z, 9, subject)
        assert sum(move for _, move in alone.terms) == pytest.approx(alone.value)


def test_a_bar_to_the_left_moves_towards_yes() -> None:
    """Also where the question is turned round: x0 - x1 <= 0 may be asked as x1 - x0 >= 0."""
    for normal in ({0: 2.0, 1: -1.0}, {0: -2.0, 1: 1.0}):
        builder = TreeBuilder(n_features=2, n_stats=2)
        builder.add_split("root", normal, 0.0, ("a", "b"))
        builder.set_leaf("a", [1, 0])
        builder.set_leaf("b", [0, 1])
        tree = builder.build()
        ax = plot_path(tree, [1.0, 0.5])
        corners = by_gid(ax, "node-0-move-0").popitem()[1].get_paths()[0].vertices[:, 0]
        axis = by_gid(ax, "node-0-histogram-cut")
        assert axis
        goes_left = tree.apply(np.array([[1.0, 0.5]]))[0] == 1
        middle = by_gid(ax, "node-0-move-1").popitem()[1].get_paths()[0].vertices[:, 0]
        # x0 moves the row most, and the other feature the other way.
        assert (corners.mean() < middle.mean()) == goes_left


def test_a_row_can_be_given_in_many_ways() -> None:
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = HHCartClassifier(pruning=None, max_depth=3).fit(frame, y)
    rows = (
        frame.iloc[3],
        frame.iloc[[3]],
        X[3],
        X[3].tolist(),
        frame.iloc[3][list("edcba")],
    )
    found = {words(plot_path(model.model_, row)) for row in rows}
    assert len(found) == 1
    assert {words(plot_path(model, row)) for row in rows[:4]} == found


def test_close_values_are_told_apart() -> None:
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.285714, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    assert "0.285724 > 0.285714, no" in words(plot_path(builder.build(), [0.285724]))


def test_numbers_and_signs_are_never_shortened() -> None:
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 2460013.80574321, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    row = 2460013.80574329
    ax = plot_path(builder.build(), [row])
    lines = by_gid(ax, "node-0-answer")["node-0-answer"]
    assert len(lines) == 2
    left, relation, right, answer = " ".join(line.get_text() for line in lines).split()[2:]
    assert (relation, answer) == (">", "no")
    assert float(left) > float(right.rstrip(","))
    assert_tidy(ax)


def test_rows_are_taken_once_and_not_for_every_feature() -> None:
    X, y = data(2, n_features=40)
    model = HHCartClassifier(pruning=None, max_depth=1).fit(X, y)
    subject = subject_of(model)
    sample = Sample(subject, X, y)
    taken = []

    class Counting(np.ndarray[Any, Any]):
        def __getitem__(self, key: Any) -> Any:
            taken.append(key)
            return np.asarray(self)[key]

    sample.Z = sample.Z.view(Counting)
    scale = along(subject, 0)
    assert scale is not None
    assert len(scale.question.terms) == 40
    moves_of(scale, sample, 0, X[:1], 4, subject)
    assert len(taken) == 1


def test_far_rows_single_leaves_and_unreached_nodes() -> None:
    X, y = data()
    model = HHCartClassifier(pruning=None, max_depth=3).fit(X, y)
    for row in (np.full(5, 1e6), np.full(5, -1e300), np.zeros(5)):
        assert_tidy(plot_path(model, row, X=X[:2], y=y[:2]))
    alone = CartClassifier().fit([[0.0], [1.0]], ["only", "only"])
    ax = plot_path(alone, [3.0])
    assert "only: 100 %" in words(ax)
    assert_tidy(ax)


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        (np.zeros((2, 5)), {}, r"one row, of shape .* got shape \(2, 5\)"),
        (3.0, {}, r"got shape \(\)"),
        ([0.0, 1.0], {}, "2 features"),
        ([0.0, 1.0, np.inf, 0.0, 0.0], {}, "infinity"),
        (np.zeros(5), {"y": [0]}, "give X as well"),
        (np.zeros(5), {"max_terms": 0}, "max_terms"),
    ],
)
def test_errors_say_what_was_wrong(row: Any, options: dict[str, Any], message: str) -> None:
    model, _, _ = grown(3)
    with pytest.raises(ValueError, match=message):
        plot_path(model, row, **options)
    assert not plt.get_fignums()


def test_linear_machines_and_level_sets() -> None:
    model = all_kinds()
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 2)), rng.integers(0, 5, 50)])
    ax = plot_path(model, [2.0, 1.0, "blue"], X=coloured(X), y=model.predict(X))
    text = words(ax)
    assert "this row takes branch 1" in text
    assert "this row takes branch 2" in text
    assert_tidy(ax)
