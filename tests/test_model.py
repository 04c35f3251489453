"""Model: one tree or several, and how their answers are combined."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua.data.encoding import Encoding
from obliqua.errors import TreeError
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from problems import examples
from reference import walk
from strategies import rows, trees

LABELS = np.array(["no", "perhaps", "yes"])


def stump(threshold: float, left: list[float], right: list[float]) -> Tree:
    builder = TreeBuilder(n_features=1, n_stats=3)
    builder.add_split("root", {0: 1.0}, threshold, ("a", "b"))
    builder.set_leaf("a", left)
    builder.set_leaf("b", right)
    return builder.build()


A = stump(0.0, [6, 2, 0], [0, 1, 1])
B = stump(1.0, [1, 1, 8], [0, 5, 0])
C = stump(2.0, [0, 0, 1], [3, 0, 1])
Z = np.array([[-1.0], [0.5], [1.5], [2.5]])


def model(*members: Tree, combine: str = "single") -> Model:
    return Model(members, combine, Encoding.identity(1), LABELS)


def test_one_tree() -> None:
    single = model(A)
    assert single.predict_index(Z).tolist() == [0, 1, 1, 1]  # the first class at ties
    assert single.predict_index(Z).dtype == np.int64
    assert single.predict(Z).tolist() == ["no", "perhaps", "perhaps", "perhaps"]
    assert single.predict_proba(Z).tolist() == [[0.75, 0.25, 0], *[[0, 0.5, 0.5]] * 3]
    assert single.apply(Z).tolist() == [1, 2, 2, 2]
    assert single.n_classes == 3


def test_votes() -> None:
    votes = model(A, B, C, combine="vote")
    # A: no perhaps perhaps perhaps; B: yes yes perhaps perhaps; C: yes yes yes no
    assert votes.predict(Z).tolist() == ["yes", "yes", "perhaps", "perhaps"]
    np.testing.assert_allclose(votes.predict_proba(Z)[0], [1 / 3, 0, 2 / 3])
    assert votes.apply(Z).tolist() == [[1, 1, 1], [2, 1, 1], [2, 2, 1], [2, 2, 2]]


def test_tied_votes_go_to_the_first_class() -> None:
    assert model(A, B, combine="vote").predict(Z[:1]).tolist() == ["no"]


def test_mean() -> None:
    mean = model(A, B, combine="mean")
    expected = (model(A).predict_proba(Z) + model(B).predict_proba(Z)) / 2
    np.testing.assert_array_equal(mean.predict_proba(Z), expected)
    assert mean.predict_index(Z).tolist() == expected.argmax(axis=1).tolist()


def counted(tree: Tree, left: int, right: int) -> Tree:
    """The same stump with numbers of rows."""
    return replace(tree, n_samples=np.array([left + right, left, right]))


def test_sums() -> None:
    # Per row: A says (3/4, 1/4, 0) and (0, 1/2, 1/2); B adds (-1/6, -1/6, 1/3) and the like.
    first, second = counted(A, 8, 2), counted(B, 20, 30)
    total = model(first, second, combine="sum")
    expected = np.array([[0.75, 0.25, 0.0]] + [[0.0, 0.5, 0.5]] * 3)
    added = np.array([[1, 1, 8]] * 2 + [[0, 5, 0]] * 2) / np.array([[20], [20], [30], [30]])
    expected += added - added.mean(axis=1, keepdims=True)
    shares = np.maximum(expected, 0.0)
    np.testing.assert_allclose(total.predict_proba(Z), shares / shares.sum(axis=1, keepdims=True))
    assert (expected < 0).any()  # what is below 0 is cut off
    assert total.predict_index(Z).tolist() == expected.argmax(axis=1).tolist()
    assert total.apply(Z).tolist() == [[1, 1], [2, 1], [2, 2], [2, 2]]
    assert model(second, first, combine="sum").predict_proba(Z) == pytest.approx(
        total.predict_proba(Z)
    )
    assert model(first, combine="sum").predict_proba(Z) == pytest.approx(
        model(first).predict_proba(Z)
    )


def test_a_sum_of_one_tree() -> None:
    alone = model(counted(B, 20, 30), combine="sum")
    added = np.array([[1, 1, 8]] * 2 + [[0, 5, 0]] * 2) / np.array([[20], [20], [30], [30]])
    expected = 1 / 3 + added - added.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(alone.predict_proba(Z), expected)
    assert alone.predict_index(Z).tolist() == expected.argmax(axis=1).tolist()


def test_sums_need_rows_in_every_leaf() -> None:
    with pytest.raises(TreeError, match="tree 1 has leaves without any"):
        model(counted(A, 8, 2), counted(B, 3, 0), combine="sum")


def test_sums_that_would_be_lost_in_rounding() -> None:
    # Three equal numbers, so large that their mean need not be the same.
    equal = stump(0.0, [1e300, 1e300, 1e300], [1e300, 1e300, 1e300])
    with pytest.raises(TreeError, match=r"1073741824 per training row; tree 1 has 1e\+300"):
        model(counted(A, 8, 2), counted(equal, 1, 1), combine="sum")
    large = replace(counted(B, 1, 1), stats=counted(B, 1, 1).stats * 2.0**26)
    proba = model(large, large, combine="sum").predict_proba(Z)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@examples(100)
@given(st.data())
def test_any_tree(data: Any) -> None:
    tree = data.draw(trees(filled=True))
    Z = data.draw(rows(tree, missing=True))
    container = Model(
        (tree,), "single", Encoding.identity(tree.n_features), np.arange(tree.n_stats)
    )
    leaves = walk.apply(tree, Z)
    stats = tree.stats[leaves].tolist()
    assert container.predict_index(Z).tolist() == [row.index(max(row)) for row in stats]
    shares = container.predict_proba(Z)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for row, share in zip(stats, shares, strict=True):
        if sum(row) > 0:
            np.testing.assert_allclose(share, np.array(row) / sum(row))
    assert container.predict_index(Z, 2).tolist() == container.predict_index(Z).tolist()


def leaf(*stats: float) -> Tree:
    builder = TreeBuilder(n_features=1, n_stats=len(stats))
    builder.set_leaf("root", stats)
    return builder.build()


def test_totals_are_added_from_the_first_class_to_the_last() -> None:
    rng = np.random.default_rng(2)
    trees = tuple(leaf(*rng.random(20).tolist()) for _ in range(3))
    container = Model(trees, "pairs", Encoding.identity(1), np.arange(20))
    shares = container.predict_proba(np.zeros((1, 1)))[0]
    sums = container._sums(np.zeros((1, 1)), 1)[0]
    total = 0.0
    for number in sums.tolist():
        total += number
    assert shares.tolist() == (sums / total).tolist()
    assert total != sums.sum()  # another order would be noticed


def test_pairs_settle_ties_by_shares() -> None:
    # A vote for each class; the shares are 0.6, 0.4 + 0.9 and 0.1 + 1.
    container = model(leaf(6, 4, 0), leaf(0, 0, 5), leaf(0, 9, 1), combine="pairs")
    assert container.predict_index(Z).tolist() == [1] * len(Z)
    shares = container.predict_proba(Z)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares.argmax(axis=1) == 1).all()
    # Shares never outweigh a vote: here the first class has two votes and few shares.
    container = model(leaf(6, 5, 0), leaf(6, 0, 5), leaf(0, 1, 0), combine="pairs")
    assert container.predict_index(Z).tolist() == [0] * len(Z)
    assert model(leaf(6, 5, 0), leaf(6, 0, 5), leaf(0, 1, 0), combine="mean").predict_index(
        Z
    ).tolist() == [1] * len(Z)


def test_equality_and_pickling() -> None:
    both = model(A, B, combine="vote")
    both.predict(Z)
    again = pickle.loads(pickle.dumps(both))
    assert again == both
    assert set(vars(again)) == {"trees", "combine", "encoding", "classes"}
    assert model(A, B, combine="mean") != both
    assert model(B, A, combine="vote") != both
    assert Model((A, B), "vote", Encoding.identity(1, ["age"]), LABELS) != both
    assert Model((A, B), "vote", Encoding.identity(1), np.arange(3)) != both
    assert both != "model"
    assert repr(both) == "Model(2 trees, combine='vote', 1 columns, 3 classes)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(both)


def test_what_is_no_model() -> None:
    with pytest.raises(ValueError, match=r"one of single, vote, .*, log_odds; got 'median'"):
        model(A, combine="median")
    with pytest.raises(ValueError, match=r"at least one tree.*got 0"):
        model(combine="vote")
    with pytest.raises(ValueError, match="exactly one if combine is 'single'; got 2"):
        model(A, B)
    with pytest.raises(TreeError, match="must have 1 columns and 2 classes; tree 0 has 1 and 3"):
        Model((A,), "single", Encoding.identity(1), LABELS[:2])
    wide = Tree(**(A.to_arrays() | {"n_features": 2}))
    with pytest.raises(TreeError, match="must have 2 columns and 3 classes; tree 1 has 1 and 3"):
        Model((wide, A), "vote", Encoding.identity(2), LABELS)


def test_values_may_be_missing_where_something_stands_in() -> None:
    def tree(fill: dict[int, float] | None, splits: bool = True) -> Tree:
        builder = TreeBuilder(n_features=2, n_stats=2)
        if splits:
            builder.add_split("root", {0: 1.0}, 0.5, ("low", "high"), fill=fill)
            builder.set_leaf("low", [3, 0])
            builder.set_leaf("high", [0, 2])
        else:
            builder.set_leaf("root", [3, 2])
        return builder.build()

    def model(*trees: Tree) -> Model:
        combine = "single" if len(trees) == 1 else "vote"
        return Model(trees, combine, Encoding.identity(2), np.array([0, 1]))

    gap = np.array([[np.nan, 1.0]])
    for good in (model(tree({0: 0.0})), model(tree(None, splits=False))):
        assert good.takes_missing
        assert good.predict(good.rows(gap)).tolist() == [0]
    for bad in (model(tree(None)), model(tree({0: 0.0}), tree(None))):
        assert not bad.takes_missing
        with pytest.raises(ValueError, match="X contains NaN, first in row 0, column 0"):
            bad.rows(gap)


def test_logarithms_of_odds() -> None:
    def leaf(*values: float) -> Tree:
        builder = TreeBuilder(n_features=1, n_outputs=len(values))
        builder.set_leaf("root", value=values, n_samples=4)
        return builder.build()

    odds = np.exp([1.5, 2.0, 0.0])
    container = model(leaf(1, -1, 2), leaf(0.5, 3, -2), combine="log_odds")
    np.testing.assert_allclose(container.predict_proba(Z), [odds / odds.sum()] * len(Z))
    assert container.predict_index(Z).tolist() == [1] * len(Z)
    alone = model(leaf(1, -1, 2), combine="log_odds")
    assert alone.predict_index(Z).tolist() == [2] * len(Z)
    np.testing.assert_allclose(alone.predict_proba(Z).sum(axis=1), 1.0)
    far = model(leaf(1e9, 0, -1e9), combine="log_odds")  # whose powers no number holds
    assert far.predict_proba(Z).tolist() == [[1.0, 0.0, 0.0]] * len(Z)
    with pytest.raises(TreeError, match="number for each class; tree 0 is one of classification"):
        model(A, combine="log_odds")
    with pytest.raises(TreeError, match=r"must have 1 columns and 3 classes; tree 0 has 1 and 2"):
        model(leaf(0, 1), combine="log_odds")
