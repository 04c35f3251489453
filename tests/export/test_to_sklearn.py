"""Trees of scikit-learn that say what ours say."""

from __future__ import annotations

import dataclasses
import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import obliqua
from obliqua import (
    C45Classifier,
    CartClassifier,
    CartRegressor,
    HHCartClassifier,
    LMDTClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeRegressor,
    RepeatedTreesClassifier,
    Tree,
    TreeBuilder,
    to_sklearn,
    tree_from_sklearn,
)
from obliqua._typing import AnyArray
from obliqua.errors import CastWarning, TreeError
from obliqua.export import differing_rows
from obliqua.export.plane_values import PlaneValues
from obliqua.export.planes import _axis_cut
from obliqua.tree.binary import with_two_branches
from obliqua.tree.layout import NodeKind
from obliqua.tree.model import Model
from problems import examples
from strategies import rows, trees
from trees_to_read import mixed, people, single, strangers

IRIS = load_iris(as_frame=True)
KNOWN = (NodeKind.HYPERPLANE, NodeKind.LEVELS)


def leaves(fitted: Any, X: Any) -> AnyArray:
    """The leaf of each row in what `to_sklearn` made."""
    if isinstance(fitted, Pipeline):
        return fitted[-1].apply(fitted[:-1].transform(X))
    return fitted.apply(X)


# --- the same leaf ---------------------------------------------------------------------------


@examples(200)
@given(st.data())
def test_any_tree_leads_rows_to_the_same_leaf(data: st.DataObject) -> None:
    tree = data.draw(trees(kinds=KNOWN, tables=data.draw(st.booleans())))
    filled = not np.isnan(tree.fill).any()
    Z = data.draw(rows(tree, missing=filled))
    fitted = to_sklearn(tree)
    plain = not isinstance(fitted, Pipeline)
    Z = Z.astype(np.float32) if plain else Z
    assert np.array_equal(leaves(fitted, Z), with_two_branches(tree).apply(Z))
    assert np.array_equal(fitted.predict_proba(Z), Model.of_tree(tree).predict_proba(Z))
    assert len(differing_rows(tree, Z)) == 0


@examples(200)
@given(st.data())
def test_a_plain_tree_with_any_coefficients_keeps_its_leaves(data: st.DataObject) -> None:
    numbers = st.floats(width=64, allow_nan=False, allow_infinity=False)
    builder = TreeBuilder(1, 2)
    coef, cut = data.draw(numbers), data.draw(numbers)
    builder.add_split("root", {0: coef}, cut, ("a", "b"), fill={0: data.draw(numbers)})
    builder.set_leaf("a", [1, 0], 1)
    builder.set_leaf("b", [0, 1], 1)
    tree = builder.build()
    near = np.float32(np.clip(cut / coef if coef else cut, -3e38, 3e38))
    some = data.draw(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=False)))
    steps = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    Z = np.array([*steps, *some], dtype=np.float32)[:, None]
    assert np.array_equal(to_sklearn(tree).apply(Z), tree.apply(Z))


@pytest.mark.parametrize("coef", [1.0, 3.0, 0.1, 1e300, 1e-310, 5e-324, -1.0, -0.1, -1e-310])
@pytest.mark.parametrize("threshold", [0.0, 0.3, -7.1, 1e-300, 1e300, -1e300])
def test_a_cut_is_the_last_number_of_its_side(coef: float, threshold: float) -> None:
    cut, swapped = _axis_cut(coef, threshold)
    left = coef * min(cut, np.finfo(float).max) <= threshold
    assert left != swapped
    if np.isfinite(cut):
        with np.errstate(over="ignore"):
            beyond = np.float64(coef) * np.nextafter(cut, np.inf) <= threshold
        assert beyond == swapped


def test_a_threshold_that_all_or_no_numbers_reach() -> None:
    for coef, threshold in ((1e-310, 1e300), (-1e-310, -1e300), (1e-310, -1e300)):
        builder = TreeBuilder(1, 2)
        builder.add_split("root", {0: coef}, threshold, ("a", "b"))
        builder.set_leaf("a", [1, 0], 1)
        builder.set_leaf("b", [0, 1], 1)
        tree = builder.build()
        Z = np.array([[-3e38], [0.0], [3e38]], dtype=np.float32)
        fitted = to_sklearn(tree)
        assert np.isinf(fitted.tree_.threshold[0])
        assert np.array_equal(fitted.apply(Z), tree.apply(Z))


@examples(200)
@given(st.data())
def test_two_branches_say_what_many_say(data: st.DataObject) -> None:
    tree = data.draw(trees(kinds=KNOWN))
    Z = data.draw(rows(tree, missing=not np.isnan(tree.fill).any()))
    two = with_two_branches(tree)
    two.validate()
    assert two.n_leaves == tree.n_leaves
    assert (two.n_children[~two.is_leaf] == 2).all()
    ours, theirs = tree.apply(Z), two.apply(Z)
    assert np.array_equal(two.stats[theirs], tree.stats[ours])
    assert np.array_equal(two.n_samples[theirs], tree.n_samples[ours])
    if not (tree.n_children > 2).any():
        assert two is tree


def test_a_fitted_tree_of_classes() -> None:
    labels = np.asarray(IRIS.target_names)[IRIS.target]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(labels))
    model = CartClassifier(pruning=None).fit(IRIS.data, labels, sample_weight=weight)
    fitted = to_sklearn(model, IRIS.data)
    assert type(fitted) is DecisionTreeClassifier
    assert np.array_equal(fitted.apply(IRIS.data), model.apply(IRIS.data))
    assert np.array_equal(fitted.predict(IRIS.data), model.predict(IRIS.data))
    assert np.array_equal(fitted.predict_proba(IRIS.data), model.predict_proba(IRIS.data))
    assert fitted.classes_.tolist() == model.classes_.tolist()
    assert fitted.feature_names_in_.tolist() == list(IRIS.data.columns)
    tree, theirs = model.tree_, fitted.tree_
    for name in ("value", "impurity", "n_node_samples", "weighted_n_node_samples"):
        assert np.array_equal(getattr(theirs, name), getattr(tree, name)), name
    assert (theirs.max_depth, theirs.node_count) == (tree.depth, tree.n_nodes)
    assert np.array_equal(theirs.threshold, tree.node_threshold)
    assert np.allclose(fitted.feature_importances_.sum(), 1.0)
    paths = fitted.decision_path(IRIS.data) != model.decision_path(IRIS.data)
    assert paths.nnz == 0


def test_as_scikit_learn_has_fitted_it() -> None:
    X = IRIS.data.to_numpy(np.float32)
    theirs = DecisionTreeClassifier(random_state=0).fit(X, IRIS.target)
    made = to_sklearn(tree_from_sklearn(theirs))
    assert sorted(vars(made)) == sorted(vars(theirs))
    assert np.allclose(made.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-15)
    assert np.allclose(made.feature_importances_, theirs.feature_importances_)
    for name in ("impurity", "n_node_samples", "weighted_n_node_samples", "missing_go_to_left"):
        found, wanted = getattr(made.tree_, name), getattr(theirs.tree_, name)
        assert np.allclose(np.sort(found), np.sort(wanted)), name
        assert found.dtype == wanted.dtype


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_a_fitted_tree_of_numbers(criterion: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    model = CartRegressor(criterion=criterion, max_leaf_nodes=12, pruning=None).fit(X, y)
    fitted = to_sklearn(model, X)
    assert type(fitted) is DecisionTreeRegressor
    assert fitted.criterion == model.tree_.loss
    assert np.array_equal(fitted.predict(X), model.predict(X))
    assert np.array_equal(fitted.tree_.impurity, model.tree_.impurity)


def test_several_outputs() -> None:
    X, y = load_diabetes(return_X_y=True)
    X, both = X.astype(np.float32), np.stack([y, -y], axis=1)
    model = CartRegressor(max_leaf_nodes=9, pruning=None).fit(X, both)
    assert np.array_equal(to_sklearn(model).predict(X), model.predict(X))
    oblique = ObliqueTreeRegressor(max_leaf_nodes=9, pruning=None, leaf_model="constant")
    oblique.fit(X, both)
    assert np.array_equal(to_sklearn(oblique).predict(X), oblique.predict(X))


@pytest.mark.parametrize("fill", ["side", "node", "training"])
def test_missing_values_take_their_side(fill: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    y[np.isnan(X[:, 2])] = 1
    model = CartClassifier(fill=fill, pruning=None, max_leaf_nodes=30).fit(X, y)
    fitted = to_sklearn(model)
    new = X.copy()
    new[rng.random(X.shape) < 0.2] = np.nan
    assert fitted.tree_.missing_go_to_left.any()
    assert np.array_equal(fitted.apply(new), model.apply(new))


def test_what_a_tree_would_refuse_goes_with_more_rows() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.0, ("a", "b"))
    builder.set_leaf("a", [1, 0], 1)
    builder.set_leaf("b", [0, 3], 3)
    assert to_sklearn(builder.build()).predict([[np.nan]]).tolist() == [1]


# --- what goes in ------------------------------------------------------------------------------


def test_estimators_models_trees_and_files(tmp_path: Path) -> None:
    X, y = IRIS.data, IRIS.target_names[IRIS.target]
    model = CartClassifier(pruning=None).fit(X, y)
    obliqua.save(model, tmp_path / "model.obliqua")
    wanted = model.predict_proba(X)
    for given_one in (model, model.model_, obliqua.load(tmp_path / "model.obliqua")):
        fitted = to_sklearn(given_one)
        assert np.array_equal(fitted.predict_proba(X), wanted)
        assert fitted.feature_names_in_.tolist() == list(X.columns)
        assert fitted.classes_.tolist() == list(IRIS.target_names)
    of_tree = to_sklearn(model.tree_)
    assert np.array_equal(of_tree.predict_proba(X.to_numpy()), wanted)
    assert of_tree.classes_.tolist() == [0, 1, 2]
    for made in (model.to_sklearn(X), model.tree_.to_sklearn(X.to_numpy())):
        assert np.array_equal(made.tree_.threshold, of_tree.tree_.threshold)


def test_there_and_back() -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    model = CartRegressor(max_leaf_nodes=20, pruning=None).fit(X, y)
    back = tree_from_sklearn(to_sklearn(model))
    assert np.array_equal(back.apply(X), model.apply(X))
    assert np.allclose(back.stats, model.tree_.stats)


def test_a_tree_that_asks_nothing() -> None:
    assert to_sklearn(single([1, 3])).predict([[0.0]]).tolist() == [1]
    frame, labels = people(40)
    model = CartClassifier(max_leaf_nodes=2, min_samples_leaf=40, pruning=None).fit(frame, labels)
    fitted = to_sklearn(model, frame)
    assert np.array_equal(fitted.predict_proba(frame), model.predict_proba(frame))
    assert fitted[0].get_feature_names_out().tolist() == []


# --- rows that scikit-learn rounds -------------------------------------------------------------


def close_rows() -> tuple[AnyArray, AnyArray]:
    """Rows of which some differ by less than float32 can tell."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 2)), 1) + 1e-10 * rng.normal(size=(200, 2))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) ^ (rng.random(200) < 0.2)


def test_rows_that_differ_are_counted_and_named() -> None:
    X, y = close_rows()
    model = CartClassifier(pruning=None).fit(X, y)
    with pytest.warns(CastWarning) as caught:
        fitted = to_sklearn(model, X)
    wanted = np.flatnonzero(fitted.apply(X) != model.apply(X))
    found = differing_rows(model, X)
    assert len(wanted) > 10
    assert np.array_equal(found, wanted)
    text = str(caught[0].message)
    assert text.startswith(f"{len(wanted)} rows reach another leaf")
    assert f": {', '.join(map(str, wanted[:10]))}, ..." in text
    assert caught[0].filename == __file__
    assert len(differing_rows(model, X.astype(np.float32))) == 0


def test_one_row_too_large_for_float32() -> None:
    X = np.array([[0.0], [1.0], [1e200]])
    model = CartClassifier(pruning=None).fit(X, [0, 1, 1])
    with pytest.warns(CastWarning, match=r"^1 row reaches .* cannot be rounded: 2\."):
        to_sklearn(model, X)
    assert differing_rows(model, X).tolist() == [2]


def test_a_forest_differs_where_one_of_its_trees_does() -> None:
    X, y = close_rows()
    forest = ObliqueForestClassifier(n_estimators=7, n_oblique=0, random_state=0).fit(X, y)
    with pytest.warns(CastWarning):
        fitted = to_sklearn(forest, X)
    wanted = np.flatnonzero((fitted.apply(X) != forest.apply(X)).any(axis=1))
    assert len(wanted)
    assert np.array_equal(differing_rows(forest, X), wanted)


# --- oblique splits and levels -----------------------------------------------------------------


def test_an_oblique_tree_is_a_pipeline() -> None:
    wine = load_wine(as_frame=True)
    model = HHCartClassifier(max_features_per_split=3, extra_directions="fisher", pruning=None)
    model.fit(wine.data, wine.target)
    fitted = to_sklearn(model, wine.data)
    assert isinstance(fitted, Pipeline)
    assert np.array_equal(leaves(fitted, wine.data), model.apply(wine.data))
    assert np.array_equal(fitted.predict_proba(wine.data), model.predict_proba(wine.data))
    names = fitted[0].get_feature_names_out().tolist()
    text = sklearn.tree.export_text(fitted[-1], feature_names=names, max_depth=0)
    asked = obliqua.export_text(model).splitlines()[2]
    assert asked.startswith(names[fitted[-1].tree_.feature[0]])
    assert names[fitted[-1].tree_.feature[0]] in text


def test_rows_are_rounded_within_their_side() -> None:
    X, y = close_rows()
    model = HHCartClassifier(pruning=None).fit(X, y)
    fitted = to_sklearn(model, X)  # no warning: none differ
    values = fitted[0].transform(X)
    assert values.dtype == np.float32
    assert np.array_equal(leaves(fitted, X), model.apply(X))
    assert len(differing_rows(model, X)) == 0


def test_thresholds_that_float32_cannot_part_get_columns_of_their_own() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0}, 1.0, ("a", "b"))
    builder.add_split("b", {0: 1.0}, 1.0 + 1e-12, ("c", "d"))
    builder.add_split("d", {0: 1.0}, 5.0, ("e", "f"))
    builder.add_split("f", {0: 1.0, 1: 1.0}, 9.0, ("g", "h"))
    for leaf in "acegh":
        builder.set_leaf(leaf, [1, ord(leaf)], 1)
    tree = builder.build()
    Z = np.array([[1.0, 0], [1.0 + 5e-13, 0], [1.0 + 2e-12, 0], [6.0, 0], [6.0, 9]])
    fitted = to_sklearn(tree, Z)
    assert np.array_equal(leaves(fitted, Z), tree.apply(Z))
    assert len(set(tree.apply(Z).tolist())) == 5
    names = fitted[0].get_feature_names_out().tolist()
    assert names == ["x0 [0]", "x0 [1]", "x0 + x1"]


@pytest.mark.parametrize("method", [CartClassifier, C45Classifier, HHCartClassifier])
def test_levels_and_missing_values(method: Any) -> None:
    frame, labels = people()
    model = method(pruning=None).fit(frame, labels)
    fitted = to_sklearn(model, frame)
    for table in (frame, strangers()):
        assert np.array_equal(fitted.predict_proba(table), model.predict_proba(table))
    if method is not C45Classifier:  # its splits have many branches
        assert np.array_equal(leaves(fitted, strangers()), model.apply(strangers()))


def test_a_split_by_levels_is_one_column_that_names_them() -> None:
    frame = pd.DataFrame({"town": ["Oslo", "Rome", "Bonn", "Oslo", "Rome", "Bonn"]})
    model = CartClassifier(pruning=None).fit(frame, [0, 1, 1, 0, 1, 1])
    fitted = to_sklearn(model, frame)
    names = fitted[0].get_feature_names_out().tolist()
    assert len(names) == 1 and names[0].startswith("town ")
    assert np.unique(fitted[0].transform(frame)).tolist() == [0.0, 1.0]


def test_the_map_is_an_estimator_of_scikit_learn() -> None:
    model = HHCartClassifier(pruning=None).fit(IRIS.data, IRIS.target)
    fitted = to_sklearn(model)
    wanted = fitted.predict_proba(IRIS.data)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(IRIS.data), wanted)
    planes = clone(fitted[0])
    assert isinstance(planes, PlaneValues)
    assert np.array_equal(planes.transform(IRIS.data), fitted[0].transform(IRIS.data))
    assert planes.n_features_in_ == 4
    shuffled = IRIS.data[IRIS.data.columns[::-1]]
    assert np.array_equal(fitted[0].fit(shuffled).transform(shuffled), planes.transform(IRIS.data))
    named = fitted[0].set_output(transform="pandas").transform(IRIS.data)
    assert list(named.columns) == fitted[0].get_feature_names_out().tolist()


def test_thresholds_beyond_float32() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: 1.0}, 1e200, ("a", "b"))
    builder.add_split("a", {0: 1.0}, -1e150, ("c", "d"))
    builder.add_split("d", {0: 1.0}, -1e140, ("e", "f"))
    for leaf in "bcef":
        builder.set_leaf(leaf, [1, ord(leaf)], 1)
    tree = builder.build()
    Z = np.array([[1e201, 0.0], [0.0, 0.0], [-1e145, 1e30], [-1e160, 0.0]])
    fitted = to_sklearn(tree, Z)
    assert np.array_equal(leaves(fitted, Z), tree.apply(Z))
    assert len(set(tree.apply(Z).tolist())) == 4


# --- forests -----------------------------------------------------------------------------------


def test_forests_of_plain_trees() -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    numbers = ObliqueForestRegressor(n_estimators=9, n_oblique=0, random_state=0).fit(X, y)
    fitted = to_sklearn(numbers, X)
    assert type(fitted) is RandomForestRegressor
    assert np.array_equal(fitted.apply(X), numbers.apply(X))
    assert np.allclose(fitted.predict(X), numbers.predict(X), rtol=1e-13, atol=0)
    labels = np.where(y > 150, "high", "low")
    forest = ObliqueForestClassifier(n_estimators=9, n_oblique=0, random_state=0).fit(X, labels)
    fitted = to_sklearn(forest)
    assert type(fitted) is RandomForestClassifier
    assert np.array_equal(fitted.apply(X), forest.apply(X))
    assert np.allclose(fitted.predict_proba(X), forest.predict_proba(X), rtol=0, atol=1e-15)
    assert np.array_equal(fitted.predict(X), forest.predict(X))
    assert len(fitted) == 9 and fitted.feature_importances_.shape == (10,)
    one = to_sklearn(forest, tree=3)
    assert np.array_equal(one.apply(X), forest.apply(X)[:, 3])
    assert one.classes_.tolist() == ["high", "low"]


def test_a_tree_of_an_oblique_forest() -> None:
    X, y = IRIS.data.to_numpy(), IRIS.target.to_numpy()
    forest = ObliqueForestClassifier(n_estimators=4, random_state=0).fit(X, y)
    fitted = to_sklearn(forest, X, tree=1)
    assert np.array_equal(leaves(fitted, X), forest.apply(X)[:, 1])


# --- what is refused ---------------------------------------------------------------------------


def test_what_has_no_counterpart_is_refused_by_name() -> None:
    X, y = IRIS.data.to_numpy(), IRIS.target.to_numpy()
    refused: list[tuple[Any, str]] = [
        (LMDTClassifier().fit(X, y), "Node 0 is a linear machine"),
        (mixed(), "Node 2 is a linear machine"),
        (RepeatedTreesClassifier(random_state=0).fit(X, y), "combined by 'vote'.*tree=0"),
        (ObliqueForestClassifier(n_estimators=2).fit(X, y), "this one has oblique splits.*tree=0"),
        (
            ObliqueTreeRegressor(leaf_model="linear", max_leaf_nodes=3, pruning=None).fit(X, y),
            "linear functions.*leaf_model='constant'",
        ),
        (
            CartClassifier(costs=[[0, 1, 1], [5, 0, 1], [1, 1, 0]]).fit(X, y),
            r"costs.*replace\(tree, costs=\(\)\)",
        ),
    ]
    for model, why in refused:
        with pytest.raises(TreeError, match=why):
            to_sklearn(model)
        with pytest.raises(TreeError, match=why):
            differing_rows(model, X)
    frame, labels = people(60)
    forest = ObliqueForestClassifier(n_estimators=2, n_oblique=0).fit(frame, labels)
    with pytest.raises(TreeError, match="asks about levels"):
        to_sklearn(forest)
    with pytest.raises(TypeError, match="is not an estimator of obliqua"):
        to_sklearn(DecisionTreeClassifier().fit(X, y))


def test_costs_can_be_left_out() -> None:
    X, y = IRIS.data.to_numpy(np.float32), IRIS.target.to_numpy()
    model = CartClassifier(costs=[[0, 1, 1], [5, 0, 1], [1, 1, 0]]).fit(X, y)
    fitted = to_sklearn(dataclasses.replace(model.tree_, costs=()))
    assert np.array_equal(fitted.predict_proba(X), model.predict_proba(X))


def test_trees_that_are_added_up_are_refused() -> None:
    tree = single([1, 3], 4)
    added = Model((tree, tree), "sum", Model.of_tree(tree).encoding, np.arange(2))
    for model in (added, dataclasses.replace(added, trees=(tree,))):
        with pytest.raises(TreeError, match="combined by 'sum'"):
            to_sklearn(model)


# --- scikit-learn's own tools, and those of others ----------------------------------------------


def converted() -> list[tuple[Any, Any, list[str]]]:
    """Fitted trees of scikit-learn, rows for them, and what their columns are called."""
    plain = CartClassifier(max_depth=3, pruning=None).fit(IRIS.data, IRIS.target)
    oblique = HHCartClassifier(max_depth=3, pruning=None).fit(IRIS.data, IRIS.target)
    pipe = to_sklearn(oblique)
    frame = pipe[0].transform(IRIS.data)
    names = pipe[0].get_feature_names_out().tolist()
    return [
        (to_sklearn(plain), IRIS.data.to_numpy(), list(IRIS.data.columns)),
        (pipe[-1], frame, names),
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_scikit_learns_own_tools(which: int) -> None:
    fitted, _, names = converted()[which]
    text = sklearn.tree.export_text(fitted, feature_names=names)
    assert text.count("class:") == fitted.get_n_leaves()
    dot = io.StringIO()
    sklearn.tree.export_graphviz(fitted, dot, feature_names=names)
    assert dot.getvalue().count("->") == fitted.tree_.node_count - 1
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots()
    boxes = sklearn.tree.plot_tree(fitted, feature_names=names, ax=ax)
    plt.close(figure)
    assert len([box for box in boxes if "samples" in box.get_text()]) == fitted.tree_.node_count
    assert np.array_equal(fitted.tree_.compute_node_depths().max() - 1, fitted.get_depth())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", [0, 1])
def test_shap_adds_up(which: int) -> None:
    shap = pytest.importorskip("shap")
    fitted, X, _ = converted()[which]
    explainer = shap.TreeExplainer(fitted)
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    assert np.allclose(total, fitted.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", [0, 1])
def test_dtreeviz_and_supertree_read_it(which: int, tmp_path: Path) -> None:
    dtreeviz, supertree = pytest.importorskip("dtreeviz"), pytest.importorskip("supertree")
    fitted, X, names = converted()[which]
    classes = list(IRIS.target_names)
    drawn = dtreeviz.model(
        fitted, X_train=X, y_train=IRIS.target, feature_names=names, target_name="iris",
        class_names=classes,
    )  # fmt: skip
    path = [node.id for node in drawn.shadow_tree.predict_path(X[77])]
    way = fitted.tree_.decision_path(np.float32(X[77:78])).toarray()[0]
    assert path == np.flatnonzero(way).tolist()
    shown = supertree.SuperTree(fitted, X, IRIS.target, names, classes)
    shown.save_json_tree(str(tmp_path / "tree"))
    read = json.loads((tmp_path / "tree.json").read_text("utf-8"))
    assert read["node_data"]["threshold"] == fitted.tree_.threshold[0]


# --- what tools for scikit-learn find in a tree of ours ----------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_failures_of_other_tools_lead_to_the_conversion() -> None:
    model = CartClassifier().fit(IRIS.data, IRIS.target)
    with pytest.raises(TypeError, match=r"to_sklearn\(\) makes it.*node_threshold"):
        sklearn.tree.export_graphviz(model, None)
    numbers = CartRegressor().fit(IRIS.data, IRIS.target)
    with pytest.raises(TreeError, match=r"to_sklearn\(\) makes it.*node_threshold"):
        sklearn.tree.export_graphviz(numbers, None)
    theirs = {name for name in dir(to_sklearn(model).tree_) if not name.startswith("_")}
    for name in theirs:
        if not hasattr(model.tree_, name):
            with pytest.raises(AttributeError, match=rf"no '{name}'.*to_sklearn\(\)"):
                getattr(model.tree_, name)
    with pytest.raises(AttributeError, match=r"^A Tree of obliqua has no 'wood'\.$"):
        _ = model.tree_.wood  # type: ignore[attr-defined]


def test_a_tree_has_all_thresholds_by_node() -> None:
    tree: Tree = CartClassifier().fit(IRIS.data, IRIS.target).tree_
    assert len(tree.threshold) == tree.n_planes < tree.n_nodes == len(tree.node_threshold)
    assert "node_threshold" in (Tree.__doc__ or "")
