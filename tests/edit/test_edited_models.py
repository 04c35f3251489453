"""What becomes of estimators and models of all kinds when they are edited."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import obliqua
from export_cases import case, mixed_table
from obliqua import TreeBuilder, TreeError, apply_edits
from obliqua.edit import log_of, read_edits
from obliqua.tree.model import Model
from trees_to_read import mixed, oblique

X, Y = load_iris(return_X_y=True)
A, B = load_diabetes(return_X_y=True)


def split(column: int, threshold: float, node: int = 0, tree: int = 0) -> dict[str, Any]:
    plane = {"terms": [{"column": column, "coefficient": 1.0}], "threshold": threshold}
    return {"tree": tree, "node": node, "edit": "split", "kind": "hyperplane", "plane": plane}


def again(model: Any) -> Any:
    """What a file gives back."""
    stream = io.BytesIO()
    obliqua.save(model, stream)
    stream.seek(0)
    return obliqua.load(stream)


# --- estimators ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "note"),
    [
        (obliqua.OC1Classifier(random_state=0), "n_hyperplanes_"),
        (obliqua.RefinedTreeClassifier(max_leaf_nodes=4, cycles=1, random_state=0), "cv_scores_"),
        (
            obliqua.ObliqueForestClassifier(4, oob_score=True, random_state=0),
            "oob_score_",
        ),
        (obliqua.EigenTreeClassifier(random_state=0), "_found"),
        (obliqua.RepeatedTreesClassifier(obliqua.CartClassifier(), n_estimators=3), "oob_score_"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.parametrize("with_rows", [False, True])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_edited_estimator_is_an_ordinary_one(
    estimator: Any, note: str, with_rows: bool
) -> None:
    fitted = estimator.fit(X, Y)
    before = fitted.predict_proba(X)
    data = (X, Y) if with_rows else ()
    edited = apply_edits(fitted, [split(2, 2.5)], *data)
    assert type(edited) is type(fitted)
    assert edited.model_.trees[0].threshold[0] == 2.5
    assert note not in vars(edited)
    loaded = again(edited)
    assert loaded.model_ == edited.model_
    assert (loaded.predict(X) == edited.predict(X)).all()
    assert obliqua.from_json(obliqua.export_json(edited)).model_ == edited.model_
    assert (fitted.predict_proba(X) == before).all()
    if with_rows:
        assert edited.feature_importances_.sum() == pytest.approx(1.0)
    else:
        with pytest.raises(TreeError, match=r"gains is not known.*Give rows to apply_edits"):
            _ = edited.feature_importances_
        assert not hasattr(edited, "feature_importances_")
    assert "<div" in edited._repr_html_()  # which asks for all attributes


def test_quantiles_of_leaves_are_left_out() -> None:
    fitted = obliqua.CartRegressor(max_depth=2, quantiles=[0.1, 0.9]).fit(A, B)
    edited = apply_edits(fitted, [split(2, 0.0), {"node": 3, "edit": "label", "value": 7}])
    with pytest.raises(ValueError, match="No quantiles"):
        edited.predict_quantiles(A)
    assert fitted.predict_quantiles(A).shape == (len(A), 2)
    # How far rows lie from what leaves say is not known either, where they may be others.
    assert np.isnan(edited.predict_std(A)).all()
    assert not np.isnan(apply_edits(fitted, [split(2, 0.0)], A, B).predict_std(A)).any()


def test_what_weighs_its_trees_is_refused_by_name() -> None:
    model = obliqua.OrthogonalTreesClassifier(
        obliqua.RepeatedTreesClassifier(obliqua.CartClassifier(max_depth=2), n_estimators=3)
    )
    rows = np.random.default_rng(0).integers(0, 3, (90, 3)).astype(float)
    fitted = model.fit(rows, rows[:, 0] > rows[:, 1])
    with pytest.raises(TreeError, match=r"OrthogonalTreesClassifier weighs its trees.*model_"):
        apply_edits(fitted, [])
    assert apply_edits(fitted.model_, []) == fitted.model_


def test_a_forest_has_plain_trees_and_says_the_same() -> None:
    fitted, rows = case("forest of numbers")
    tree = fitted.model_.trees[1]
    leaf = int(np.flatnonzero(tree.is_leaf)[0])
    edited = apply_edits(fitted, [{"tree": 1, "node": leaf, "edit": "label", "value": 1e6}])
    assert isinstance(edited.model_.trees, tuple)
    here = tree.apply(rows) == leaf
    said, before = edited.model_.predict(rows), fitted.model_.predict(rows)
    assert here.any() and not here.all()
    np.testing.assert_array_equal(said[~here], before[~here])
    raised = (1e6 - float(tree.mean[leaf, 0])) / len(fitted.model_.trees)
    np.testing.assert_allclose(said[here], before[here] + raised)


def test_what_is_asked_of_a_forest_that_was_edited() -> None:
    forest = obliqua.ObliqueForestRegressor(3, random_state=0).fit(A, B)
    edited = apply_edits(forest, [{"tree": 1, "node": 0, "edit": "collapse"}])
    passed, first = edited.decision_path(A[:4])
    assert np.diff(first).tolist()[1] == 1
    assert passed.shape == (4, first[-1])
    for ask in (edited.predict_std, edited.proximities):
        with pytest.raises(TreeError, match=r"were edited by hand.*as it was fitted"):
            ask(A[:4])
    with pytest.raises(ValueError, match="With warm_start=True"):
        edited.set_params(n_estimators=5, warm_start=True).fit(A, B)


def test_labels_where_they_would_have_no_effect() -> None:
    label = {"tree": 0, "node": 1, "edit": "label", "class": 0.5}
    for name in ("mean of trees", "sum of classes"):
        model, _ = case(name)
        with pytest.raises(
            TreeError, match="by the shares in their leaves, which a class does not"
        ):
            apply_edits(model, [label])
    forest, _ = case("forest")
    leaf = int(np.flatnonzero(forest.model_.trees[0].is_leaf)[0])
    with pytest.raises(TreeError, match="Single trees and trees that vote take labels"):
        apply_edits(forest, [{**label, "node": leaf, "class": "low"}])


def test_trees_that_are_added_up() -> None:
    model, rows = case("sum of classes")
    with pytest.raises(TreeError, match="says how much per training row"):
        apply_edits(model, [split(0, 0.0)])
    smaller = apply_edits(model, [{"tree": 2, "node": 1, "edit": "collapse"}])
    assert smaller.trees[2].n_leaves < model.trees[2].n_leaves
    for name in ("sum of classes", "sum of numbers", "log odds"):
        model, rows = case(name)
        with pytest.raises(TreeError, match=r"are added up.*Leave X and y out"):
            apply_edits(model, [], rows, np.zeros(len(rows)))
    number, rows = case("sum of numbers")
    rows = rows[~np.isnan(rows).any(axis=1)]
    edited = apply_edits(number, [split(0, 0.0)])
    assert not np.array_equal(edited.predict(rows), number.predict(rows))


def test_a_tree_of_several_must_be_named() -> None:
    model, _ = case("votes")
    for tree, message in ((None, "say which one with 'tree'"), (99, "trees, numbered from 0")):
        with pytest.raises(TreeError, match=message):
            apply_edits(model, [{"tree": tree, "node": 0, "edit": "collapse"}])


# --- leaves ----------------------------------------------------------------------------------


def test_a_leaf_with_a_linear_function_becomes_a_constant() -> None:
    fitted, rows = case("linear leaves")
    tree = fitted.tree_
    leaves = tree.apply(rows)
    leaf = int(leaves[0])
    table, _, numbers = mixed_table()
    for data in ((), (table, numbers)):
        edited = apply_edits(fitted, [{"node": leaf, "edit": "label", "value": -3.5}], *data)
        said = edited.model_.predict(rows)
        assert (said[leaves == leaf] == -3.5).all()
        others = leaves != leaf
        assert (said[others] == fitted.model_.predict(rows)[others]).all()
        assert edited.tree_.leaf_gain[leaf] == 0.0
        edited.tree_.validate()


def test_the_error_of_a_labelled_leaf_follows_from_its_rows() -> None:
    for leaf_model in ("constant", "linear"):
        fitted = obliqua.CartRegressor(max_depth=2, leaf_model=leaf_model, pruning=None).fit(A, B)
        leaf = int(np.flatnonzero(fitted.tree_.is_leaf)[0])
        edited = apply_edits(fitted, [{"node": leaf, "edit": "label", "value": 100}])
        here = fitted.apply(A) == leaf
        error = ((B[here] - 100) ** 2).sum()
        np.testing.assert_allclose(edited.tree_.stats[leaf], [here.sum(), 100, error], rtol=1e-6)
        assert edited.tree_.n_samples[leaf] == here.sum()
    medians = obliqua.CartRegressor(max_depth=2, criterion="absolute_error").fit(A, B)
    edited = apply_edits(medians, [{"node": 3, "edit": "label", "value": 100}])
    assert edited.tree_.n_samples[3] == -1  # distances from the median do not tell
    counted = apply_edits(medians, [{"node": 3, "edit": "label", "value": 100}], A, B)
    here = counted.apply(A) == 3
    assert counted.tree_.stats[3, -1] == pytest.approx(np.abs(B[here] - 100).sum())


def test_a_class_that_the_stats_choose_needs_no_mark() -> None:
    edits = [{"node": 2, "edit": "label", "class": label} for label in (0, 1)]
    tree = oblique()
    assert apply_edits(tree, edits[:1]).leaf_label.tolist()[2] == 0
    assert tree.leaf_label[2] == 1
    assert not len(apply_edits(tree, edits).relabelled)


def test_refining_would_lose_labels() -> None:
    fitted = obliqua.CartClassifier(max_depth=2).fit(X, Y)
    edited = apply_edits(fitted, [{"node": 1, "edit": "label", "class": 2}])
    with pytest.raises(ValueError, match=r"given a class by hand\. Refine first"):
        obliqua.refined(edited, X, Y)


def test_labels_of_all_types() -> None:
    builder = TreeBuilder(1, 2)
    builder.set_leaf("root", [3, 1])
    tree = builder.build()
    for classes, given in (
        (np.array([False, True]), True),
        (np.array([0.5, 1.0]), 1),  # as JavaScript writes it
        (np.array([0.5, np.inf]), {"float": "inf"}),
        (np.array([3, 4], dtype=np.int16), 4),
        (np.array(["1", "2"], dtype=object), "2"),
    ):
        model = Model((tree,), "single", Model.of_tree(tree).encoding, classes)
        edit = {"node": 0, "edit": "label", "class": given}
        edited = apply_edits(model, [edit])
        assert edited.predict(np.zeros((1, 1))).tolist() == [classes.tolist()[1]]
        assert log_of(model, read_edits([edit]))[0].startswith("node 0: says")
    for classes, given in ((np.array([0, 1]), True), (np.array(["1", "2"]), 1)):
        model = Model((tree,), "single", Model.of_tree(tree).encoding, classes)
        with pytest.raises(TreeError, match="there is no class"):
            apply_edits(model, [{"node": 0, "edit": "label", "class": given}])


def test_a_number_that_is_too_far_away() -> None:
    fitted = obliqua.CartRegressor(max_depth=1).fit(A, B)
    with pytest.raises(TreeError, match=r"Edit 1 of 1.*too far"):
        apply_edits(fitted, [{"node": 1, "edit": "label", "value": 1e200}])
    two = obliqua.CartRegressor(max_depth=1).fit(A, np.c_[B, -B])
    for value in (1, [1, 2, 3], [1, "2"]):
        with pytest.raises(TreeError, match="a list of 2 numbers"):
            apply_edits(two, [{"node": 1, "edit": "label", "value": value}])
    edited = apply_edits(two, [{"node": 1, "edit": "label", "value": [1, 2]}])
    assert edited.predict(A[two.apply(A) == 1])[0].tolist() == [1.0, 2.0]


# --- counted anew ----------------------------------------------------------------------------


def test_without_a_change_all_is_counted_as_it_was() -> None:
    """The counts of a fit come out again; what the best axis-parallel split gains does not."""
    for estimator, rows, y in (
        (obliqua.HHCartClassifier(pruning=None, criterion="twoing"), X, Y),
        (obliqua.CartClassifier(pruning=None, class_weight={0: 1, 1: 2.5, 2: 1}), X, Y),
        (obliqua.C45Classifier(pruning=None, criterion="entropy", mdl_correction=False), X, Y),
        (obliqua.CartRegressor(max_depth=3, criterion="poisson"), A, B),
        (obliqua.CartRegressor(max_depth=3, criterion="absolute_error"), A, B),
        (obliqua.CartRegressor(max_depth=3), A, np.c_[B, 2 * B]),
    ):
        tree = estimator.fit(rows, y).tree_
        found = apply_edits(estimator, [], rows, y).tree_
        for name in ("n_samples", "kind", "threshold", "coef", "relabelled"):
            np.testing.assert_array_equal(getattr(found, name), getattr(tree, name))
        np.testing.assert_allclose(found.stats, tree.stats, rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(found.gain, tree.gain, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.spread, tree.spread, rtol=1e-6)
        assert np.isnan(found.axis_gain).all()


def test_levels_and_gaps_are_counted_anew() -> None:
    for name in ("levels and gaps", "sets of levels", "linear leaves"):
        table, labels, numbers = mixed_table()
        fitted, _ = case(name)
        y = numbers if name == "linear leaves" else labels
        tree, found = fitted.tree_, apply_edits(fitted, [], table, y).tree_
        np.testing.assert_array_equal(found.n_samples, tree.n_samples)
        np.testing.assert_allclose(found.stats, tree.stats, rtol=1e-6)
        known = ~np.isnan(tree.spread)
        np.testing.assert_allclose(found.spread[known], tree.spread[known], rtol=1e-4)
        np.testing.assert_allclose(found.leaf_spread, tree.leaf_spread, rtol=1e-4)
        np.testing.assert_allclose(found.leaf_gain, tree.leaf_gain, rtol=1e-4, atol=1e-9)


def test_classes_of_leaves_stay_and_shares_follow_the_rows() -> None:
    tree = oblique()
    rows = np.array([[10.0, 10.0], [10.0, 10.0], [90.0, 90.0]])
    edited = apply_edits(tree, [], rows, [1, 1, 0], [1.0, 2.0, 0.5])
    assert edited.leaf_label[[2, 3]].tolist() == tree.leaf_label[[2, 3]].tolist() == [1, 0]
    assert edited.proportion[[2, 3]].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert edited.relabelled.tolist() == [-1, -1, 1, 0, -1, -1, -1]
    # No row has come to the others, which say what they said.
    assert edited.proportion[[5, 6]].tolist() == tree.proportion[[5, 6]].tolist()
    assert edited.n_samples.tolist() == [3, 2, 1, 2, -1, -1, -1]
    assert edited.gain[4] == 0.0


def test_trees_about_pairs_count_rows_of_their_classes() -> None:
    fitted, _ = case("pairs")
    rows = np.random.default_rng(5).normal(size=(240, 5))
    y = fitted.predict(rows)
    edited = apply_edits(fitted, [], rows, y)
    for tree, before in zip(edited.model_.trees, fitted.model_.trees, strict=True):
        pair = fitted.classes_[before.stats[0] > 0]
        assert tree.n_samples[0] == np.isin(y, pair).sum()


def test_rows_need_labels() -> None:
    tree = oblique()
    rows = np.zeros((3, 2))
    with pytest.raises(ValueError, match="got no y"):
        apply_edits(tree, [], rows)
    with pytest.raises(ValueError, match="which are not given"):
        apply_edits(tree, [], y=[0, 1])
    with pytest.raises(ValueError, match="label 7, which is none of the tree's classes"):
        apply_edits(tree, [], rows, [0, 7, 1])
    with pytest.raises(ValueError, match="at least one non-zero"):
        apply_edits(tree, [], rows, [0, 1, 1], [0, 0, 0])


# --- readers ---------------------------------------------------------------------------------


def unknown() -> Model:
    """A model in which nearly nothing is known, with a leaf that was relabelled."""
    label = {"node": 1, "edit": "label", "class": "z"}
    builder = TreeBuilder(2, 3)
    builder.add_split("r", {1: 1.0, 0: 0.5}, 0.0, ("a", "m"), tables={0: [1.0, 2.0, 3.0]})
    builder.add_split("m", {1: 1.0}, 2.0, ("b", "c"))
    for name, stats in (("a", [3, 0, 1]), ("b", [0, 2, 0]), ("c", [0, 0, 5])):
        builder.set_leaf(name, stats, sum(stats))
    builder.annotate("m", gain=0.5, axis_gain=0.25)
    model = Model((builder.build(),), "single", mixed().encoding, mixed().classes)
    return apply_edits(model, [split(1, 1.0), label])


def test_words_say_what_is_not_known() -> None:
    model = unknown()
    text = obliqua.export_text(model, details=True)
    assert "z (rows not known, 25 %; x: 75 %; labelled by hand)" in text
    assert "gain not known" in text
    assert "edited by hand" in text
    assert "Edited by hand: some leaves say another class than most of their rows have." in text
    rules = obliqua.export_rules(model)
    assert {rule.rows for rule in rules} == {None}
    for order in ("rows", "share", "class", "tree"):
        assert len(obliqua.export_rules(model, order=order)) == 3
    assert "rows not known" in str(rules[0])
    dot = obliqua.export_graphviz(model)
    for written in (text, dot, *map(str, rules)):
        assert "-1" not in written
        assert "nan" not in written


def test_frames_have_gaps() -> None:
    for library in ("pandas", "polars"):
        frame = unknown().trees[0].to_frame(library=library)
        rows = frame["rows"].to_list()
        assert rows[0] == 11
        assert all(value is None or value != value for value in map(_plain, rows[1:]))
        for name in ("weight", "gain", "count_0"):
            values = frame[name].to_list()[1:]
            assert all(value is None or value != value for value in values), name
        shares = frame["share"].to_list()
        assert shares[1] == 0.25  # of the class that it says


def _plain(value: Any) -> Any:
    return None if repr(value) == "<NA>" else value


def test_pictures_of_what_is_not_known() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    model = unknown()
    for draw in (
        lambda: obliqua.plot_tree(model),
        lambda: obliqua.plot_path(model, np.array([["red", 1.5]], dtype=object)),
        lambda: obliqua.plot_tree(apply_edits(_numbers(), [split(2, 0.0)])),
    ):
        figure = draw().figure
        texts = [text.get_text() for text in figure.findobj(plt.Text)]
        assert not [text for text in texts if "nan" in text or "-1 row" in text]
        assert any("not known" in text for text in texts)
        plt.close(figure)


def _numbers() -> Any:
    return obliqua.CartRegressor(max_depth=2).fit(A, B)


def test_numbers_without_rows_have_no_deviation() -> None:
    edited = apply_edits(_numbers(), [split(2, 0.0)])
    text = obliqua.export_text(edited)
    assert text.count("(rows not known)") == 6
    assert all(np.isnan(rule.sd) for rule in obliqua.export_rules(edited))


def test_trees_of_scikit_learn_know_no_unknown_rows() -> None:
    with pytest.raises(TreeError, match="were given classes by hand"):
        obliqua.to_sklearn(unknown())
    fitted = obliqua.CartClassifier(max_depth=2).fit(X, Y)
    edited = apply_edits(fitted, [split(2, 2.0)])
    theirs = obliqua.to_sklearn(edited)
    assert (theirs.predict(X) == edited.predict(X)).all()
    assert theirs.tree_.n_node_samples.min() == 0


# --- trees -----------------------------------------------------------------------------------


def test_what_is_done_to_trees_keeps_labels() -> None:
    tree = apply_edits(oblique(), [{"node": 6, "edit": "label", "class": 1}])
    assert tree.relabelled.tolist() == [-1] * 6 + [1]
    assert pickle.loads(pickle.dumps(tree)) == tree != oblique()
    part = tree.subtree(4)
    assert part.relabelled.tolist() == [-1, -1, 1]
    assert not len(tree.subtree(3).relabelled)
    assert not len(obliqua.collapse(tree, 4).relabelled)
    assert obliqua.collapse(tree, 3) == tree
    for joined in (oblique().graft(2, part), part.graft(1, oblique())):
        by_hand = joined.relabelled >= 0
        assert joined.leaf_label[by_hand].tolist() == [1]
        assert joined.stats[by_hand].tolist() == [[3.0, 1.0]] == [tree.stats[6].tolist()]
    assert obliqua.Tree.from_arrays(tree.to_arrays()) == tree


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("relabelled", [-1, -1, 2, -1, -1, -1, -1], "Node 2 is relabelled as class 2 of 2"),
        ("relabelled", [0] + [-1] * 6, "Node 0 is relabelled, but no leaf"),
        ("relabelled", [0, 1], "'relabelled'.*must have 7 entries; got 2"),
        ("n_samples", [-2] * 7, "Node 0 has -2 rows"),
        ("gain", [0, 0, np.nan, 0, 0, 0, 0], "Node 2 is a leaf, whose gain is 0"),
        ("gain", [np.inf] * 7, "'gain'.*infinity"),
    ],
)
def test_arrays_that_make_no_edited_tree(field: str, value: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        obliqua.Tree.from_arrays({**oblique().to_arrays(), field: np.array(value)})


def test_numbers_are_not_relabelled() -> None:
    arrays = _numbers().tree_.to_arrays()
    labels = np.full(len(arrays["kind"]), -1)
    labels[-1] = 0
    with pytest.raises(TreeError, match="Only a tree of classes"):
        obliqua.Tree.from_arrays({**arrays, "relabelled": labels})


def test_the_log_in_words() -> None:
    model = mixed()
    edits = [
        {**split(1, 2.0, node=3), "words": "as\nI like it"},
        split(1, 3.0, node=3),
        {"node": 2, "edit": "collapse"},
        {"node": 1, "edit": "label", "class": "z"},
    ]
    assert log_of(model, read_edits(edits)) == [
        r"as\nI like it",
        "node 3: asks size <= 3 (before: size + score(colour) >= -0.25)",
        "node 2: becomes a leaf, x",
        "node 1: says z (before: x)",
    ]
