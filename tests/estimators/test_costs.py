"""Costs of mistakes: what estimators say and prune with them, keep of them, and refuse."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_val_score

import obliqua
from obliqua.errors import TreeError
from obliqua.export import export_text
from obliqua.io.format import to_bytes
from obliqua.plot import plot_tree
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

COSTS = [[0, 10, 80], [2, 0, 1], [1, 5, 0]]
MATRIX = np.array(COSTS)
LABELS = ["high", "low", "mid"]
METHODS = [
    obliqua.C45Classifier,
    obliqua.CartClassifier,
    obliqua.CartLCClassifier,
    obliqua.FisherTreeClassifier,
    obliqua.HHCartClassifier,
    obliqua.LMDTClassifier,
    obliqua.OC1Classifier,
    obliqua.ObliqueTreeClassifier,
    obliqua.QuestClassifier,
    obliqua.SADTClassifier,
]
PRUNINGS: list[dict[str, Any]] = [
    {"pruning": None},
    {"pruning": "holdout"},
    {"pruning": "holdout", "n_se": 1.0},
    {"pruning": "cv", "n_folds": 3},
    {"pruning": "reduced_error"},
    {"pruning": "pessimistic"},
    {"pruning": "pessimistic", "subtree_raising": True},
    {"ccp_alpha": 0.05},
]


def rows(n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that overlap."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3)).round(3)
    place = X[:, 0] + 0.7 * X[:, 1] + rng.normal(size=n)
    return X, np.array(["high", "low", "mid"])[np.digitize(place, [-0.6, 0.6])]


X, Y = rows()


def small(method: Any) -> dict[str, Any]:
    """Parameters with which a method is quick."""
    # Collapsing is a way to prune: C4.5 cuts splits that save nothing, by costs too.
    fewer = {"n_restarts": 2, "n_jumps": 1, "collapse": False}
    return {name: value for name, value in fewer.items() if name in method().get_params()}


@pytest.mark.parametrize("method", METHODS)
def test_every_tree_says_what_costs_least(method: Any) -> None:
    quick = small(method)
    plain = method(pruning=None, max_depth=2, random_state=0, **quick).fit(X, Y)
    priced = clone(plain).set_params(costs=COSTS).fit(X, Y)
    shares = priced.predict_proba(X)
    # Without pruning only what leaves say differs.
    assert replace(priced.tree_, costs=()) == plain.tree_
    assert np.array_equal(shares, plain.predict_proba(X))
    assert priced.predict(X).tolist() == priced.classes_[(shares @ COSTS).argmin(axis=1)].tolist()
    assert (priced.predict(X) != plain.predict(X)).any()


@pytest.mark.parametrize("params", PRUNINGS, ids=str)
@pytest.mark.parametrize("method", [obliqua.CartClassifier, obliqua.C45Classifier])
def test_each_mistake_costs_one_without_costs(method: Any, params: Any) -> None:
    plain = method(random_state=1, **params).fit(X, Y)
    priced = method(random_state=1, costs=1 - np.eye(3), **params).fit(X, Y)
    # Standard errors are found in another way, which may choose another size.
    if "n_se" not in params:
        assert replace(priced.tree_, costs=()) == plain.tree_
    assert priced.tree_.costs == ((0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0))


def test_pruned_trees_cost_less() -> None:
    """By the costs of 400 fresh rows, for each way to prune."""
    fresh, truth = rows(640)
    fresh, truth = fresh[240:], truth[240:]
    number = {label: k for k, label in enumerate(np.unique(Y))}
    costs = np.array([[0, 30, 30], [1, 0, 1], [1, 1, 0]])
    for params in PRUNINGS[1:7]:
        paid = {}
        for given in (None, costs):
            tree = obliqua.CartClassifier(random_state=0, costs=given, **params).fit(X, Y)
            said = [number[label] for label in tree.predict(fresh)]
            paid[given is None] = costs[[number[label] for label in truth], said].mean()
        assert paid[False] < paid[True]


def test_prices_of_leaves_are_in_the_unit_of_costs() -> None:
    tree = obliqua.CartClassifier(costs=COSTS)
    path = tree.cost_complexity_pruning_path(X, Y)
    ten = obliqua.CartClassifier(costs=10 * np.array(COSTS)).cost_complexity_pruning_path(X, Y)
    assert ten.ccp_alphas == pytest.approx(10 * path.ccp_alphas)
    assert ten.n_leaves.tolist() == path.n_leaves.tolist()
    full = obliqua.CartClassifier(costs=COSTS, pruning=None).fit(X, Y)
    codes = np.unique(Y, return_inverse=True)[1]
    said = np.unique(full.predict(X), return_inverse=True)[1]
    assert path.impurities[0] == pytest.approx(np.array(COSTS)[codes, said].mean())


def test_weights_and_priors_go_with_costs() -> None:
    """Costs are of weights, whatever has made them."""
    params: dict[str, Any] = {"pruning": None, "max_depth": 2}
    weights = np.random.default_rng(1).integers(1, 4, len(Y))
    priced = obliqua.CartClassifier(costs=COSTS, priors="equal", **params).fit(X, Y, weights)
    expected = priced.classes_[(priced.predict_proba(X) @ COSTS).argmin(axis=1)]
    assert priced.predict(X).tolist() == expected.tolist()


def test_the_order_of_rows_changes_nothing() -> None:
    order = np.random.default_rng(0).permutation(len(Y))
    for params in PRUNINGS:
        trees = [
            obliqua.CartClassifier(costs=[[0, 0.1, 0.3], [0.7, 0, 0.1], [0.2, 0.6, 0]], **params)
            .set_params(random_state=3)
            .fit(X[at], Y[at])
            .tree_
            for at in (slice(None), order)
        ]
        assert trees[0] == trees[1]


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1], [1, 0]], r"order of the labels \['high', 'low', 'mid'\]: 3 by 3.*\(2, 2\)"),
        ([0, 1, 2], r"3 by 3 numbers. Got shape \(3,\)"),
        ([[0, 1, 2], [1, 0, 1], [1, 1]], "costs must be a matrix of numbers"),
        ([["a", 1, 2], [1, 0, 1], [1, 1, 0]], "costs must be a matrix of numbers"),
        ([[0, -1, 2], [1, 0, 1], [1, 1, 0]], "Got -1.0 for rows of class 'high' that are called"),
        ([[0, 1, np.nan], [1, 0, 1], [1, 1, 0]], "Got nan .*'high' that are called 'mid'"),
        ([[0, 1, 2], [1, 0, np.inf], [1, 1, 0]], "Got inf .*'low' that are called 'mid'"),
        ([[0, 1, 2], [1, 0.5, 1], [1, 1, 0]], "0 on the diagonal.*Got 0.5 for the class 'low'"),
        (np.zeros((3, 3)), "must not all be 0"),
        ([[np.nan, 1, 2], [1, 0, 1], [1, 1, 0]], "from 0 to 1e.100. Got nan for rows of class"),
        (MATRIX * 1j, "matrix of numbers: got an array of type complex128"),
        ([["0", "1", "2"]] * 3, "matrix of numbers: got an array of type <U1"),
        (np.array([[0, "1", 2]] * 3, dtype=object), "matrix of numbers: got an array of type obj"),
        (np.ones((4, 4)) - np.eye(4), r"Got shape \(4, 4\). If these rows have not all classes"),
        (pd.DataFrame(MATRIX), r"nothing for the class 'high'. Its rows are \[0, 1, 2\]"),
        (
            pd.DataFrame(MATRIX, LABELS, ["high", "low", "middle"]),
            r"call a row of class 'high' 'mid'; its row has \['high', 'low', 'middle'\]",
        ),
        (pl.DataFrame(dict(zip(LABELS, MATRIX.T, strict=True))), "DataFrame has no names of rows"),
        ({"high": 1, "low": 2, "mid": 3}, "got 1 for the class 'high'"),
    ],
)
def test_what_are_no_costs_is_refused(costs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        obliqua.CartClassifier(costs=costs).fit(X, Y)


def labelled(order: list[str]) -> list[Any]:
    """The costs with labels in an order of one's own."""
    frame = pd.DataFrame(MATRIX, LABELS, LABELS).loc[order, order]
    # What is right costs nothing, and need not be said.
    table = {
        i: {j: c for j, c in row.items() if i != j} for i, row in frame.to_dict("index").items()
    }
    return [frame, table]


@pytest.mark.parametrize("kind", [0, 1], ids=["frame", "dict"])
def test_labels_of_costs_are_heeded(kind: int) -> None:
    costs = labelled(["mid", "high", "low"])[kind]
    expected = obliqua.CartClassifier(costs=COSTS, max_depth=3, random_state=0).fit(X, Y)
    found = obliqua.CartClassifier(costs=costs, max_depth=3, random_state=0).fit(X, Y)
    assert found.tree_ == expected.tree_
    assert clone(found).fit(X, Y).tree_ == expected.tree_


@pytest.mark.parametrize("kind", [0, 1], ids=["frame", "dict"])
def test_labels_that_rows_have_not_are_left_out(kind: int) -> None:
    costs, some = labelled(["mid", "high", "low"])[kind], Y != "low"
    found = obliqua.CartClassifier(costs=costs).fit(X[some], Y[some])
    kept = [0, 2]
    assert found.tree_.costs == tuple(map(tuple, MATRIX[np.ix_(kept, kept)].tolist()))
    # As in folds that do not heed the classes.
    order = np.argsort(Y, kind="stable")
    scores = cross_val_score(found, X[order], Y[order], cv=KFold(3), error_score="raise")
    assert len(scores) == 3
    free = {i: {j: float("low" in (i, j)) for j in LABELS if i != j} for i in LABELS}
    assert obliqua.CartClassifier(costs=free).fit(X[some], Y[some]).tree_.costs == ()


def test_what_is_printed_and_drawn_says_that_costs_were_used() -> None:
    for costs in (None, COSTS):
        tree = obliqua.CartClassifier(costs=costs, max_depth=2).fit(X, Y)
        said = "Leaves say the class that costs least" in export_text(tree)
        drawn = [text.get_text() for text in plot_tree(tree).texts]
        assert said == ("leaves: the class that costs least" in drawn) == (costs is not None)


def test_one_class_has_no_mistakes() -> None:
    tree = obliqua.CartClassifier(costs=[[0]], pruning="pessimistic").fit(X, np.zeros(len(X), int))
    assert tree.tree_.costs == ()


def test_what_moves_hyperplanes_knows_no_costs() -> None:
    with pytest.raises(ValueError, match="costs and refine=True make no sense together"):
        obliqua.HHCartClassifier(costs=COSTS, refine=True).fit(X, Y)
    student = obliqua.DistilledClassifier(
        obliqua.CartClassifier(), method=obliqua.CartClassifier(costs=COSTS)
    )
    with pytest.raises(ValueError, match="a student says what its teacher says"):
        student.fit(X, Y)


@pytest.mark.parametrize("combine", ["vote", "best"])
def test_several_trees_with_costs(combine: str) -> None:
    """Each votes for what costs least; the best is the cheapest."""
    method = obliqua.OC1Classifier(costs=COSTS, n_restarts=2, n_jumps=1, max_depth=2)
    model = obliqua.RepeatedTreesClassifier(
        method, n_estimators=5, combine=combine, selection="training", random_state=0
    ).fit(X, Y)
    assert all(tree.costs for tree in model.model_.trees)
    codes = np.unique(Y, return_inverse=True)[1]
    if combine == "best":
        paid = np.array(COSTS)[codes, model.tree_.leaf_label[model.tree_.apply(X)]].mean()
        assert model.selection_errors_.min() == pytest.approx(paid)
    else:
        votes = [tree.leaf_label[tree.apply(X)] for tree in model.model_.trees]
        counts = np.stack([np.bincount(v, minlength=3) for v in np.transpose(votes)])
        assert model.predict(X).tolist() == model.classes_[counts.argmax(axis=1)].tolist()


# --- trees and files ----------------------------------------------------------------------------


def priced_tree() -> Tree:
    return obliqua.CartClassifier(costs=COSTS, pruning=None, max_depth=2).fit(X, Y).tree_


def test_a_tree_keeps_its_costs() -> None:
    tree = priced_tree()
    assert tree.costs == ((0.0, 10.0, 80.0), (2.0, 0.0, 1.0), (1.0, 5.0, 0.0))
    plain = replace(tree, costs=())
    assert plain != tree
    assert plain.leaf_label.tolist() != tree.leaf_label.tolist()
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert Tree.from_arrays(tree.to_arrays()) == tree
    for part in (obliqua.collapse(tree, 1), tree.subtree(1)):
        assert part.costs == tree.costs
    leaf = int(np.flatnonzero(tree.is_leaf)[0])
    assert tree.graft(leaf, tree.subtree(1)).costs == tree.costs
    with pytest.raises(TreeError, match="mistakes cost the same"):
        tree.graft(leaf, plain.subtree(1))


def test_text_names_the_class_that_is_said() -> None:
    model = obliqua.CartClassifier(costs=COSTS, pruning=None, max_depth=2).fit(X, Y)
    tree, text = model.tree_, obliqua.export_text(model)
    said = model.classes_[tree.leaf_label[tree.is_leaf]].tolist()
    heaviest = model.classes_[tree.stats[tree.is_leaf].argmax(axis=1)].tolist()
    assert said != heaviest
    assert [
        text.count(f": {label} (") + text.count(f":  {label} (") for label in model.classes_
    ] == [said.count(label) for label in model.classes_]


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1], [1, 0]], "costs of a tree of 3 classes"),
        ([[0, 1, 2], [1, 0], [1, 1, 0]], r"rows of \[3, 2, 3\]"),
        ([[0, 1, 2], [1, 0, -1], [1, 1, 0]], "got -1.0 in row 1, column 2"),
        ([[0, 1, 2], [1, 1, 1], [1, 1, 0]], "0 on the diagonal; got 1.0 in row 1, column 1"),
        ([[0, 1, 2], [1, 0, float("nan")], [1, 1, 0]], "got nan in row 1, column 2"),
    ],
)
def test_a_tree_refuses_what_are_no_costs(costs: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Tree.from_arrays({**priced_tree().to_arrays(), "costs": costs})


def test_a_tree_of_numbers_has_no_costs() -> None:
    tree = obliqua.CartRegressor(max_depth=1).fit(X, X[:, 0]).tree_
    with pytest.raises(TreeError, match="Only a tree of classes has costs"):
        replace(tree, costs=((0.0,),)).validate()


def header_of(data: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read("header.json"))


def test_files_keep_costs(tmp_path: Any) -> None:
    model = obliqua.CartClassifier(costs=np.array(COSTS) / 7, random_state=0).fit(X, Y)
    obliqua.save(model, tmp_path / "tree.obliqua")
    again = obliqua.load(tmp_path / "tree.obliqua")
    assert again.tree_ == model.tree_
    assert np.array_equal(again.costs, model.costs)
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert clone(again).fit(X, Y).tree_ == model.tree_
    assert header_of(to_bytes(model.model_))["version"] == 7
    plain = Model.of_tree(replace(model.tree_, costs=()))
    assert header_of(to_bytes(plain))["version"] == 1
    obliqua.save(model.tree_, tmp_path / "bare.obliqua")
    assert obliqua.load(tmp_path / "bare.obliqua") == model.tree_


X3, Y3 = load_iris(return_X_y=True)
C3 = [[0, 0, 0], [0, 0, 0], [9, 9, 0]]


@pytest.mark.parametrize(
    "use",
    [
        lambda tree: obliqua.refined(tree, X3, Y3),
        lambda tree: obliqua.distil(tree, X3),
        lambda tree: obliqua.fidelity(tree, tree, X3),
        lambda tree: obliqua.RepeatedTreesClassifier(
            obliqua.OC1Classifier(costs=C3), n_estimators=2, combine="mean", random_state=0
        ).fit(X3, Y3),
    ],
    ids=["refined", "distil", "fidelity", "mean"],
)
def test_what_knows_no_costs_says_so(use: Any) -> None:
    tree = obliqua.CartClassifier(costs=C3, random_state=0).fit(X3, Y3)
    with pytest.raises(ValueError, match="costs"):
        use(tree)


def test_trees_of_a_tree_with_costs_say_what_it_says() -> None:
    tree = obliqua.CartClassifier(costs=C3, random_state=0).fit(X3, Y3)
    same = obliqua.AggregatedTreeClassifier(tree, prefit=True).fit(X3, Y3)
    np.testing.assert_array_equal(same.predict(X3), tree.predict(X3))
