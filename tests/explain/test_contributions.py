"""What features add to an answer: exactly, and by the rule that is stated."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris, load_wine

from obliqua import (
    CartClassifier,
    CartRegressor,
    DistilledClassifier,
    EigenTreeClassifier,
    HHCartClassifier,
    LMDTClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeRegressor,
    RepeatedTreesClassifier,
    Tree,
    TreeBuilder,
    collapse,
)
from obliqua._typing import AnyArray
from obliqua.data.encoding import Encoding
from obliqua.errors import TreeError
from obliqua.explain import Contributions, contributions
from obliqua.tree.layout import NodeKind
from obliqua.tree.model import Model
from problems import examples
from strategies import rows, trees
from trees_to_read import mixed, people, single, strangers

X, Y = load_iris(return_X_y=True)


def assert_exact(found: Contributions, said: AnyArray) -> None:
    """Contributions add up to what a model says, bit for bit, in any order."""
    said = np.asarray(said).reshape(len(said), -1)
    assert np.array_equal(found.prediction, said)
    shuffled = found.values[:, np.random.default_rng(0).permutation(found.values.shape[1])]
    for values in (found.values, shuffled):
        assert np.array_equal(found.bias + values.sum(axis=1) + found.remainder, said)
        assert np.array_equal(values.sum(axis=1) + found.bias + found.remainder, said)
    for row in range(min(len(said), 40)):  # without rounding at all, which takes long
        for output in range(said.shape[1]):
            parts = [found.bias[output], *found.values[row, :, output]]
            exact = sum(map(Fraction, [*parts, found.remainder[row, output]]))
            assert exact == Fraction(said[row, output])
            assert math.fsum(parts) == found.bias[output] + found.values[row, :, output].sum()


def changes(tree: Tree, node_values: AnyArray, Z: AnyArray) -> list[list[Fraction]]:
    """What the features of splits about one column add, for the last output, without rounding."""
    added = []
    for way in tree.decision_path(Z).toarray():
        here = [Fraction(0)] * tree.n_features
        nodes = np.flatnonzero(way).tolist()
        for node, child in pairwise(nodes):
            column = int(tree.coef_idx[tree.coef_ptr[tree.plane_ptr[node]]])
            here[column] += Fraction(node_values[child, -1]) - Fraction(node_values[node, -1])
        added.append(here)
    return added


# --- exactly -----------------------------------------------------------------------------------


@examples(200)
@given(st.data())
def test_contributions_of_any_tree_add_up_exactly(data: st.DataObject) -> None:
    tree = data.draw(trees())
    Z = data.draw(rows(tree, missing=not np.isnan(tree.fill).any()))
    assert_exact(contributions(tree, Z), Model.of_tree(tree).predict_proba(Z))


@examples(200)
@given(st.data())
def test_any_numbers_in_the_nodes(data: st.DataObject) -> None:
    shape = data.draw(trees(kinds=(NodeKind.HYPERPLANE,), shape=(3, 0, 3), tables=False))
    numbers = st.floats(-1e300, 1e300) | st.floats(-1.0, 1.0) | st.sampled_from([0.0, 5e-324])
    means = data.draw(st.lists(numbers, min_size=shape.n_nodes, max_size=shape.n_nodes))
    stats = np.stack([np.ones(shape.n_nodes), means, np.zeros(shape.n_nodes)], axis=1)
    tree = dataclasses.replace(shape, stats=stats, task="regression")
    Z = data.draw(rows(tree, missing=not np.isnan(tree.fill).any()))
    for model in (
        Model.of_tree(tree),
        Model((tree,) * 3, "mean", Encoding.identity(3), np.zeros(0)),
        Model((tree,) * 3, "sum", Encoding.identity(3), np.zeros(0)),
    ):
        assert_exact(contributions(model, Z), model.predict(Z))


@pytest.mark.parametrize("leaf", [1e-30, 5e-324, 0.0, -1e-300, 0.05, 1e30])
def test_a_small_answer_beside_a_large_bias(leaf: float) -> None:
    # -1 + 1e-30 is no double: this is what the remainder is for.
    builder = TreeBuilder(1, n_outputs=1)
    builder.add_split("root", {0: 1.0}, 0.0, ("a", "b"))
    builder.set_leaf("a", value=leaf, n_samples=1)
    builder.set_leaf("b", value=2.0, n_samples=1)
    tree = builder.build()
    assert_exact(contributions(tree, [[-1.0], [1.0]]), [leaf, 2.0])


def test_splits_about_one_feature_give_it_the_change() -> None:
    model = CartClassifier(pruning=None).fit(X, Y)
    found = contributions(model, X)
    wanted = changes(model.tree_, model.tree_.proportion, X)
    assert np.allclose(found.values[:, :, -1], np.array(wanted, dtype=float), rtol=0, atol=1e-14)
    assert np.allclose(found.bias, 1 / 3)
    assert_exact(found, model.predict_proba(X))


def test_features_that_no_split_asks_about_add_nothing() -> None:
    model = CartClassifier(max_depth=1, pruning=None).fit(X, Y)
    used = np.unique(model.tree_.coef_idx)
    found = contributions(model, X)
    assert not np.delete(found.values, used, axis=1).any()
    assert found.values[:, used].any()


ESTIMATORS = [
    HHCartClassifier(pruning=None),
    LMDTClassifier(random_state=0),
    ObliqueForestClassifier(n_estimators=7, random_state=0),
    RepeatedTreesClassifier(n_estimators=3, random_state=0),
    EigenTreeClassifier(),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_all_that_say_classes(model: Any) -> None:
    model.fit(X, Y)
    found = contributions(model, X)
    assert_exact(found, model.predict_proba(X))
    assert np.abs(found.remainder).max() < 4e-15
    if len(model.model_.trees) > 1:
        one = contributions(model, X, tree=1)
        assert_exact(one, model.model_.trees[1].proportion[model.apply(X)[:, 1]])


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize(
    "model",
    [
        CartRegressor(),
        ObliqueTreeRegressor(leaf_model="constant"),
        ObliqueForestRegressor(n_estimators=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_all_that_say_numbers(model: Any, outputs: int) -> None:
    rows_, y = load_diabetes(return_X_y=True)
    y = np.stack([y, -(y**2)], axis=1)[:, :outputs]
    model.fit(rows_, y[:, 0] if outputs == 1 else y)
    found = contributions(model, rows_)
    assert found.values.shape == (len(y), 10, outputs)
    assert_exact(found, model.predict(rows_))


def test_a_mean_has_the_means_of_its_members() -> None:
    forest = ObliqueForestClassifier(n_estimators=6, random_state=0).fit(X, Y)
    members = [contributions(forest, X, tree=number) for number in range(6)]
    found = contributions(forest, X)
    assert np.allclose(found.values, np.mean([one.values for one in members], axis=0), atol=1e-14)
    assert np.allclose(found.bias, np.mean([one.bias for one in members], axis=0))


def test_votes_change_as_a_whole() -> None:
    model = RepeatedTreesClassifier(n_estimators=4, random_state=0).fit(X, Y)
    found = contributions(model, X)
    # A path may change the vote of a tree, a quarter, and oblique splits share that out.
    total = found.values.sum(axis=1)
    assert np.allclose(total * 4, np.round(total * 4), atol=1e-13)
    assert_exact(found, model.predict_proba(X))


def test_trees_without_splits() -> None:
    forest = Model((single([1, 2, 4]),) * 3, "mean", Encoding.identity(1), np.arange(3))
    found = contributions(forest, [[0.0], [1.0]])
    assert not found.values.any()
    assert_exact(found, forest.predict_proba(np.zeros((2, 1))))


# --- oblique splits ------------------------------------------------------------------------------


def one_split(**more: Any) -> Tree:
    """x0 + 2 x1 - x2 <= 1, from which classes change by a half."""
    builder = TreeBuilder(3, 2)
    builder.add_split("root", {0: 1.0, 1: 2.0, 2: -1.0}, 1.0, ("a", "b"), **more)
    builder.set_leaf("a", [1, 0], 1)
    builder.set_leaf("b", [0, 1], 1)
    return builder.build()


def shares(tree: Tree, row: list[float]) -> list[float]:
    """The shares that features have in the change, which is a half."""
    return (2 * np.abs(contributions(tree, [row]).values[0, :, 1])).tolist()


def test_an_oblique_split_belongs_to_what_has_pushed() -> None:
    tree = one_split(fill={0: 1.0, 1: 0.0, 2: 0.0})
    assert shares(tree, [4.0, 0.5, 0.0]) == [0.75, 0.25, 0.0]  # pushes right by 3, 1, 0
    assert shares(tree, [4.0, -1.0, -1.0]) == [0.75, 0.0, 0.25]  # 3, -2, 1: one pulls
    assert shares(tree, [0.0, -1.5, 0.0]) == [0.25, 0.75, 0.0]  # left by 1, 3, 0
    assert shares(tree, [0.0, 0.5, 0.0]) == [1.0, 0.0, 0.0]  # left by 1; x1 pulls


def test_it_does_not_blow_up_where_pushes_cancel() -> None:
    tree = one_split(fill={0: 0.0, 1: 0.0, 2: -1.0})  # the mean lies on the plane
    row = [1e6, -5e5, -1.0 + 1e-9]  # all pushes together are about 1e-9
    assert np.allclose(shares(tree, row), [0.0, 1.0, 0.0], rtol=0, atol=1e-12)


def test_where_nothing_pushes_coefficients_and_spread_decide() -> None:
    tree = one_split(fill={0: 0.0, 1: 0.0, 2: 0.0})
    assert shares(tree, [0.0, 0.0, 0.0]) == [0.25, 0.5, 0.25]  # the spread is not known
    spread = dataclasses.replace(tree, spread=np.array([4.0, 0.5, 3.0]))
    assert shares(spread, [0.0, 0.0, 0.0]) == [0.5, 0.125, 0.375]
    still = dataclasses.replace(tree, spread=np.zeros(3))
    assert np.allclose(shares(still, [0.0, 0.0, 0.0]), 1 / 3)
    assert shares(one_split(), [0.0, 0.0, 0.0]) == [0.25, 0.5, 0.25]  # nor are stand-ins


def test_what_is_missing_has_sent_a_row_aside() -> None:
    tree = one_split(fill={0: 0.0, 1: 0.0, 2: 0.0}, missing="right")
    assert shares(tree, [np.nan, 7.0, 0.0]) == [1.0, 0.0, 0.0]
    assert shares(tree, [np.nan, 7.0, np.nan]) == [0.5, 0.0, 0.5]
    filled = one_split(fill={0: 0.0, 1: 0.0, 2: 0.0})
    assert shares(filled, [np.nan, 7.0, 0.0]) == [0.0, 1.0, 0.0]


def test_levels_count_from_the_middle_of_their_scores() -> None:
    builder = TreeBuilder(2, 2)
    tables, fill = {0: [3.0, -1.0]}, {0: -1.0, 1: 5.0}
    builder.add_split("root", {0: 1.0, 1: 1.0}, 5.5, ("a", "b"), tables=tables, fill=fill)
    builder.set_leaf("a", [1, 0], 1)
    builder.set_leaf("b", [0, 1], 1)
    tree = builder.build()
    assert shares(tree, [0.0, 6.0]) == [0.75, 0.25]
    assert shares(tree, [1.0, 2.0]) == [0.25, 0.75]
    assert shares(tree, [np.nan, 2.0]) == [0.25, 0.75]


def test_a_linear_machine_belongs_to_what_made_its_branch_win() -> None:
    builder = TreeBuilder(2, 2)
    normals = [{0: 1.0, 1: 1.0}, {0: -1.0, 1: 1.0}]
    builder.add_machine("root", normals, [0.0, 0.0], ("a", "b"), fill={0: 0.0, 1: 0.0})
    builder.set_leaf("a", [1, 0], 1)
    builder.set_leaf("b", [0, 1], 1)
    # Both branches count x1 alike, so it has decided nothing.
    assert shares(builder.build(), [2.0, 9.0]) == [1.0, 0.0]
    assert shares(builder.build(), [-2.0, 9.0]) == [1.0, 0.0]


def test_huge_and_tiny_pushes() -> None:
    tree = one_split(fill={0: 0.0, 1: 0.0, 2: 0.0})
    assert shares(tree, [1e308, 1e308, -1e308]) == [0.0, 1.0, 0.0]  # 2e308 is infinite
    small = dataclasses.replace(tree, threshold=np.array([0.0]))
    assert shares(small, [4e-320, 2e-320, 0.0]) == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("method", [CartClassifier, HHCartClassifier])
def test_levels_and_gaps_in_a_table(method: Any) -> None:
    frame, labels = people()
    model = method(pruning=None).fit(frame, labels)
    found = contributions(model, strangers())
    assert_exact(found, model.predict_proba(strangers()))
    assert found.features == tuple(frame.columns)
    assert found.outputs == ("no", "yes")
    assert (np.abs(found.values).max(axis=(0, 2)) > 0).all()


def test_linear_functions_in_leaves() -> None:
    rows_, y = load_diabetes(return_X_y=True)
    for method in (CartRegressor, ObliqueTreeRegressor):
        model = method(leaf_model="linear", max_leaf_nodes=6, pruning=None).fit(rows_, y)
        assert model.tree_.has_lines
        found = contributions(model, rows_)
        assert_exact(found, model.predict(rows_))
        assert found.bias == pytest.approx(y.mean())
        for scale in (0.0, 3.0, 40.0, 1e9, 1e300):
            assert_exact(contributions(model, rows_ * scale), model.predict(rows_ * scale))
        twice = Model((model.tree_,) * 3, "mean", model.model_.encoding, model.model_.classes)
        assert_exact(contributions(twice, rows_), twice.predict(rows_))
    frame, labels = people()
    tree = CartRegressor(leaf_model="linear", max_leaf_nodes=4, pruning=None)
    tree.fit(frame, (labels == "yes").astype(float))
    assert_exact(contributions(tree, strangers()), tree.predict(strangers()))


def test_the_function_of_the_root_comes_first() -> None:
    X2 = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5], [0.2, 0.8]])
    y = 3 * X2[:, 0] + X2[:, 1]
    model = CartRegressor(leaf_model="linear", max_leaf_nodes=2, pruning=None, min_samples_leaf=1)
    tree = collapse(model.fit(np.tile(X2, (20, 1)), np.tile(y, 20)).tree_, 0)
    assert tree.n_nodes == 1 and tree.has_lines
    found = contributions(tree, X2)
    assert_exact(found, tree.predict(X2))
    # Each adds its coefficient times how far it is above its mean.
    away = tree.leaf_coef * (X2 - X2.mean(axis=0))
    assert np.allclose(found.values[:, :, 0], away, rtol=0, atol=0.02)
    assert (found.values[1, 1, 0] < 0) and (found.values[1, 0, 0] > 0)
    # Beyond the limits of the function terms get less, and far beyond only those that push.
    beyond, far = contributions(tree, [[2.0, 1.0], [1e6, -1e3]]).values[:, :, 0]
    assert beyond.sum() == pytest.approx(tree.leaf_high[0] - tree.mean[0, 0])
    assert 0 < beyond[1] < away[2, 1]
    assert far[1] == 0.0 and far[0] == pytest.approx(beyond.sum())


# --- what is refused, and words ----------------------------------------------------------------


def test_what_does_not_add_up_is_refused() -> None:
    student = DistilledClassifier(n_trees=2, max_leaves=6, random_state=0).fit(X, Y)
    assert student.model_.combine == "sum"
    with pytest.raises(TreeError, match=r"those below 0 are cut.*tree=0"):
        contributions(student, X)
    assert contributions(student, X, tree=1).values.shape == (150, 4, 3)
    stats = np.array([[2, -1.7e308, 0], [1, -1.7e308, 0], [1, 1.7e308, 0]])
    huge = dataclasses.replace(one_split(), stats=stats, task="regression")
    with pytest.raises(TreeError, match="another unit"):
        contributions(huge, [[0.0, 0.0, 0.0]])


def test_words() -> None:
    wine = load_wine(as_frame=True)
    labels = wine.target_names[wine.target]
    model = CartClassifier(max_depth=2, pruning=None).fit(wine.data, labels)
    found = contributions(model, wine.data)
    assert repr(found) == "Contributions(178 rows, 13 features, 3 outputs)"
    text = found.text(0)
    head, start, *terms = text.splitlines()
    assert head == f"class_0: {found.prediction[0, 0]:.3f}"
    assert start.split() == ["0.331", "for", "any", "row"]
    sizes = [abs(float(term.split()[0])) for term in terms]
    assert sizes == sorted(sizes, reverse=True)
    named = {term.split(maxsplit=1)[1] for term in terms}
    values = zip(found.features, found.values[0, :, 0], strict=True)
    assert named == {name for name, value in values if value}
    total = float(start.split()[0]) + sum(float(term.split()[0]) for term in terms)
    assert total == pytest.approx(float(head.split()[1]), abs=2e-3)
    assert found.text(0, output=2).startswith("class_2: ")
    few = found.text(0, max_terms=0).splitlines()
    assert few[-1].endswith(f"({len(terms)} more)")
    of_all = contributions(mixed(), [["red", 1.0]])
    assert of_all.text(digits=2).splitlines()[0].startswith("x: 0.")
    assert contributions(single([0, 0]), [[0.0]]).text().splitlines()[1:] == [
        "  0.500  for any row"
    ]
