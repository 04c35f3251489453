"""Trees that say numbers: made, looked at, walked, saved, and read by everything that reads."""

from __future__ import annotations

import contextlib
import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

import obliqua
from obliqua import (
    DistilledClassifier,
    TreeBuilder,
    TreeError,
    export_graphviz,
    export_rules,
    export_text,
    plot_boundary,
    plot_path,
    plot_projection,
    plot_tree,
    tree_from_sklearn,
)
from obliqua.data.encoding import Encoding
from obliqua.data.problem import encode_numbers
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.errors import ModelFileError
from obliqua.explain import importances, margins, regions, subclasses
from obliqua.io.format import from_bytes, to_bytes
from obliqua.spectrum import Domain, spectrum_of, tree_of, tree_sum_of
from obliqua.tree.fold import fold
from obliqua.tree.model import Model
from obliqua.tree.surgery import collapse
from obliqua.tree.tree import Tree
from test_io import archive_of, members_of, with_header

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
ONE = np.round(np.where(X[:, 0] > 0.2, 3.0, X[:, 1]) + 0.1 * RNG.normal(size=120), 3)
TWO = np.column_stack([ONE, 10.0 * X[:, 2]])
NAMES = ["age", "bmi", "dose"]


@pytest.fixture(autouse=True)
def _no_window_and_no_figure_left() -> Iterator[None]:
    plt.switch_backend("agg")
    with mpl.rc_context(mpl.rcParamsDefault):
        yield
    plt.close("all")


def grown(y: np.ndarray, leaves: int = 6) -> Tree:
    return grow(encode_numbers(X, y), None, "squared_error", Rules(max_leaf_nodes=leaves))


def model_of(*trees: Tree, combine: str = "single") -> Model:
    return Model(trees, combine, Encoding.identity(3, NAMES), np.zeros(0))


def by_hand() -> Tree:
    builder = TreeBuilder(n_features=2, n_outputs=1)
    builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    builder.set_leaf("low", [9.0, 1.25, 2.25], n_samples=9)
    builder.set_leaf("high", value=3.5, n_samples=3)
    return builder.build()


# --- the builder, and what a tree is ----------------------------------------------------------


def test_inner_nodes_get_what_their_children_have_together() -> None:
    tree = by_hand()
    mean = (9 * 1.25 + 3 * 3.5) / 12
    error = 2.25 + 9 * (1.25 - mean) ** 2 + 3 * (3.5 - mean) ** 2
    np.testing.assert_allclose(tree.stats[0], [12.0, mean, error])
    assert tree.weighted_n_node_samples.tolist() == [12.0, 9.0, 3.0]
    assert tree.impurity[1] == 0.25
    assert repr(tree) == "Tree(3 nodes, 2 leaves, depth 1, 2 columns, 1 output)"


def test_what_a_builder_needs() -> None:
    for told in ({}, {"n_stats": 2, "n_outputs": 1}):
        with pytest.raises(TreeError, match="takes n_stats, the number of classes, or n_outputs"):
            TreeBuilder(2, **told)  # type: ignore[arg-type]
    with pytest.raises(TreeError, match="of a tree of classification needs stats"):
        TreeBuilder(2, 2).set_leaf("a", value=1.0)
    with pytest.raises(TreeError, match="needs stats or value, one of the two"):
        TreeBuilder(2, n_outputs=1).set_leaf("a")
    with pytest.raises(TreeError, match=r"must have 3 stats; got shape \(4,\)"):
        TreeBuilder(2, n_outputs=1).set_leaf("a", value=[1.0, 2.0])


@pytest.mark.parametrize("y", [ONE, TWO], ids=["one", "two"])
def test_views_are_those_of_scikit_learn(y: np.ndarray) -> None:
    theirs = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X.astype(np.float32), y)
    read = tree_from_sklearn(theirs)
    ours = grow(
        encode_numbers(X.astype(np.float32).astype(float), y),
        None,
        "squared_error",
        Rules(max_leaf_nodes=6),
    )
    np.testing.assert_array_equal(read.feature, ours.feature)
    np.testing.assert_array_equal(read.n_samples, ours.n_samples)
    np.testing.assert_allclose(read.stats, ours.stats, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(read.gain, ours.gain, rtol=1e-5)
    order = np.argsort(theirs.tree_.n_node_samples, kind="stable")
    mine = np.argsort(ours.n_node_samples, kind="stable")
    assert ours.value.shape == theirs.tree_.value.shape
    for view in ("impurity", "weighted_n_node_samples"):
        expected = np.sort(getattr(theirs.tree_, view))
        np.testing.assert_allclose(np.sort(getattr(ours, view)), expected, rtol=1e-6)
    assert theirs.tree_.n_node_samples[order].tolist() == ours.n_node_samples[mine].tolist()
    np.testing.assert_allclose(model_of(read).predict(X), theirs.predict(X))


def test_regressors_that_say_no_means_are_refused() -> None:
    with pytest.raises(TypeError, match="got one with criterion='absolute_error'"):
        tree_from_sklearn(DecisionTreeRegressor(criterion="absolute_error").fit(X, ONE))


def test_views_of_the_other_task_say_what_to_read() -> None:
    classes = TreeBuilder(2, 2)
    classes.set_leaf("a", [1, 2])
    for view, instead in (
        ("leaf_label", "mean"),
        ("proportion", "mean"),
        ("n_classes", "n_outputs"),
    ):
        with pytest.raises(TreeError, match=f"no '{view}'. Read '{instead}' instead"):
            getattr(by_hand(), view)
    with pytest.raises(TreeError, match="classes, no numbers, so it has no 'mean'"):
        _ = classes.build().mean


def test_the_task_stays_whatever_is_done() -> None:
    tree = grown(TWO)
    arrays = tree.to_arrays()
    assert arrays["task"] == "regression"
    leaf = int(np.flatnonzero(tree.is_leaf)[0])
    for other in (
        Tree.from_arrays(arrays),
        pickle.loads(pickle.dumps(tree)),
        tree.subtree(1),
        tree.graft(leaf, tree),
        collapse(tree, 1),
        fold(tree, scale=np.full(3, 2.0)),
        replace(tree, gain=tree.gain * 2),
    ):
        assert (other.task, other.n_outputs) == ("regression", 2)
        other.validate()
    assert Tree.from_arrays(arrays) == tree
    stats = {**arrays, "task": "classification"}
    assert Tree.from_arrays(stats) != tree
    del stats["task"]
    assert Tree.from_arrays(stats).task == "classification"
    with pytest.raises(TreeError, match="one is a tree of regression, the other of classific"):
        tree.graft(leaf, Tree.from_arrays(stats))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"task": "ranking"}, "must be one of 'classification', 'regression'; got 'ranking'"),
        ({"stats": np.ones((3, 2))}, "at least 3; got 2"),
        ({"stats": np.array([[1.0, 0, 0], [-1, 0, 0], [1, 0, 0]])}, "Node 1 has the weight -1"),
        ({"stats": np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, -2]])}, "Node 2 has the sum of squar"),
    ],
)
def test_what_is_no_tree_of_numbers(change: dict[str, Any], match: str) -> None:
    with pytest.raises(TreeError, match=match):
        Tree.from_arrays({**by_hand().to_arrays(), **change})


# --- models -----------------------------------------------------------------------------------


def test_models_say_numbers() -> None:
    first, second = grown(TWO, 3), grown(TWO, 7)
    said = [tree.mean[tree.apply(X)] for tree in (first, second)]
    assert model_of(first).predict(X).tolist() == said[0].tolist()
    total = model_of(first, second, combine="sum")
    np.testing.assert_array_equal(total.predict(X), said[0] + said[1])
    mean = model_of(first, second, combine="mean")
    np.testing.assert_array_equal(mean.predict(X), (said[0] + said[1]) / 2)
    assert model_of(grown(ONE)).predict(X).shape == (120,)
    assert (mean.task, mean.n_classes, mean.n_outputs) == ("regression", 0, 2)
    assert repr(mean) == "Model(2 trees, combine='mean', 3 columns, 2 outputs)"
    for ask in (mean.predict_index, mean.predict_proba):
        with pytest.raises(TreeError, match=r"says numbers and has no .* predict returns"):
            ask(X)
    found = tree_sum_of(mean)
    assert found.outputs == ("value 0", "value 1")
    np.testing.assert_allclose(found.value(X), mean.predict(X))


def test_models_that_do_not_fit_together() -> None:
    with pytest.raises(ValueError, match="one of single, mean, sum; got 'vote'"):
        model_of(grown(ONE), combine="vote")
    with pytest.raises(TreeError, match="columns and 1 outputs; tree 1 has 3 and 2"):
        model_of(grown(ONE), grown(TWO), combine="mean")
    with pytest.raises(TreeError, match="tree 0 is one of regression"):
        Model((grown(TWO),), "single", Encoding.identity(3), np.array([0, 1]))
    with pytest.raises(TreeError, match="columns and 3 classes; tree 0 has 3 and 2"):
        Model((grown(TWO),), "sum", Encoding.identity(3), np.arange(3))


# --- files ------------------------------------------------------------------------------------


def student() -> Model:
    y = (ONE > 1).astype(int)
    teacher = RandomForestClassifier(5, random_state=0)
    return DistilledClassifier(teacher, n_trees=2, random_state=0).fit(X, y).model_


def test_files_come_back_and_older_versions_refuse_them(tmp_path: Any) -> None:
    for model in (
        model_of(grown(ONE)),
        model_of(grown(TWO), grown(TWO, 3), combine="sum"),
        student(),  # its first tree is one of classes
    ):
        data = to_bytes(model)
        again = from_bytes(data)[0]
        assert again == model and to_bytes(again) == data
        header = json.loads(members_of(data)["header.json"])
        assert header["version"] == 2
        assert [facts["task"] for facts in header["trees"]] == [t.task for t in model.trees]
    obliqua.save(grown(TWO), tmp_path / "tree")
    assert obliqua.load(tmp_path / "tree") == grown(TWO)


def test_damaged_files_of_numbers() -> None:
    data = to_bytes(model_of(grown(ONE)))
    members = members_of(data)
    header = json.loads(members["header.json"])
    for task in ("ranking", "classification", None, ["regression"]):
        trees = [{**header["trees"][0], "task": task}]
        with pytest.raises(ModelFileError):
            from_bytes(with_header(data, trees=trees))
    with pytest.raises(ModelFileError):
        from_bytes(with_header(data, trees=[{"origin_labels": []}]))
    with pytest.raises(ModelFileError):  # what is no model of classes
        from_bytes(with_header(data, version=1))
    for end in range(0, len(data), 37):
        with pytest.raises(ModelFileError):
            from_bytes(data[:end])
    for bit in range(0, 8 * len(data), 211):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(ModelFileError):
            assert from_bytes(bytes(changed))[0] == model_of(grown(ONE))
    header["arrays"]["stats"]["shape"] = [3, header["arrays"]["stats"]["shape"][0] // 3]
    members["header.json"] = json.dumps(header).encode()
    with pytest.raises(ModelFileError):
        from_bytes(archive_of(members))


# --- words ------------------------------------------------------------------------------------


def test_text() -> None:
    assert export_text(by_hand(), feature_names=["age", "bmi"]).splitlines() == [
        "2 leaves, depth 1; 12 rows, mean 1.812, standard deviation 1.07",
        "",
        "age + 0.37*bmi <= 45 (12 rows)",
        "├─ yes: mean 1.25 (9 rows, standard deviation 0.5)",
        "└─ no:  mean 3.5 (3 rows)",
    ]
    shown = export_text(model_of(grown(TWO, 3)), class_names=["pain", "sleep"], max_depth=1)
    assert "means pain: " in shown and ", sleep: " in shown and "standard" not in shown
    with pytest.raises(ValueError, match="each of the 2 outputs; got 1 names"):
        export_text(grown(TWO), class_names=["pain"])


def test_means_are_told_apart() -> None:
    builder = TreeBuilder(n_features=1, n_outputs=1)
    builder.add_split("r", {0: 1.0}, 0.0, ("a", "b"))
    builder.set_leaf("a", value=12345.25)
    builder.set_leaf("b", value=12345.75)
    lines = export_text(builder.build()).splitlines()
    assert lines[-2:] == ["├─ yes: mean 12345.25", "└─ no:  mean 12345.75"]
    builder = TreeBuilder(n_features=1, n_outputs=1)
    builder.add_split("r", {0: 1.0}, 0.0, ("a", "b"))
    builder.set_leaf("a", value=1 / 3)
    builder.set_leaf("b", value=1e-17)
    lines = export_text(builder.build(), digits=2).splitlines()
    assert lines[-2:] == ["├─ yes: mean 0.333", "└─ no:  mean 0"]


def test_rules() -> None:
    rules = export_rules(by_hand(), feature_names=["age", "bmi"], order="value")
    assert [str(rule) for rule in rules] == [
        "if age + 0.37*bmi <= 45 then mean 1.25 (9 rows, standard deviation 0.5)",
        "if age + 0.37*bmi > 45 then mean 3.5 (3 rows)",
    ]
    assert (rules[0].label, rules[0].sd, rules[0].weight) == (1.25, 0.5, 9.0)
    tree = grown(TWO)
    exact = export_rules(grown(ONE), exact=True)
    assert [float(rule.class_name.removeprefix("mean ")) for rule in exact] == [
        rule.label for rule in exact
    ]
    rules = export_rules(tree, order="value")
    assert [rule.label for rule in rules] == sorted(map(tuple, tree.mean[tree.is_leaf].tolist()))
    with pytest.raises(ValueError, match="'rows', 'tree', 'value' for a tree of numbers"):
        export_rules(tree, order="share")


def test_graph_and_frame() -> None:
    graph = export_graphviz(by_hand())
    assert '1 [label="mean 1.25\\n9 rows, standard deviation 0.5", fillcolor="#f2f8fb"]' in graph
    assert '2 [label="mean 3.5\\n3 rows", fillcolor="#73b1d5"]' in graph  # the darkest
    frame = by_hand().to_frame()
    assert frame["mean"].tolist() == [1.8125, 1.25, 3.5]
    assert frame["sd"].tolist()[1:] == [0.5, 0.0]
    assert not {"class", "share"} & set(frame.columns)
    columns = grown(TWO).to_frame(NAMES, ["pain", "sleep"], library="polars").columns
    assert {"mean_pain", "mean_sleep"} <= set(columns) and "sd" not in columns


def test_a_later_tree_of_a_student() -> None:
    model = student()
    first, second = (export_text(model, tree=number) for number in range(2))
    assert "%" in first and "means" not in first
    assert "means class 0: " in second and "%" not in second
    added = 0.5 + sum(model.added[k][t.apply(X)] for k, t in enumerate(model.trees))
    np.testing.assert_allclose(model.predict_proba(X), np.clip(added, 0, 1), atol=1e-12)
    y = (ONE > 1).astype(int)
    for draw in (plot_tree, plot_boundary, plot_projection):
        draw(model, X, y, tree=1)


# --- pictures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [ONE, TWO], ids=["one", "two"])
def test_pictures(y: np.ndarray) -> None:
    model = model_of(grown(y), grown(y, 3), combine="mean")
    for labels in (None, y):
        for draw in (plot_boundary, plot_projection):
            ax = draw(model, X, labels, tree=0)
            assert len(ax.figure.axes) == 2  # with a scale of colours
            assert any(drawn.get_gid() == "rows" for drawn in ax.collections) == (labels is y)
        gids = {drawn.get_gid() for drawn in plot_tree(model, X, labels, tree=0).collections}
        assert "legend-scale" in gids and "node-0-histogram" in gids
        plot_path(model, X[0], X=X, y=labels, tree=0)
    plot_boundary(model, X, y)
    texts = [text.get_text() for text in plot_tree(model, tree=0).texts]
    assert any(text.startswith("mean " if y is ONE else "y0: ") for text in texts)
    with pytest.raises(ValueError, match=r"for each of the . outputs of the tree; got shape"):
        plot_tree(model, X, np.ones((120, 3)), tree=0)
    with pytest.raises(ValueError, match="y must be numbers"):
        plot_tree(model, X, np.full(120, "a"), tree=0)


def test_a_tree_of_one_leaf() -> None:
    builder = TreeBuilder(n_features=3, n_outputs=1)
    builder.set_leaf("root", value=2.5, n_samples=4)
    tree = builder.build()
    assert export_text(tree) == "1 leaf, depth 0; 4 rows, mean 2.5\n\nmean 2.5 (4 rows)"
    assert str(export_rules(tree)[0]) == "always mean 2.5 (4 rows)"
    assert 'label="mean 2.5\\n4 rows"' in export_graphviz(tree)
    for ax in (plot_tree(tree), plot_path(tree, X[0]), plot_boundary(tree, X, ONE)):
        ax.figure.canvas.draw()


def test_darker_is_larger() -> None:
    tree = grown(ONE)
    ax = plot_boundary(model_of(tree), X, features=["age", "bmi"])
    shown = {patch.get_gid(): sum(patch.get_facecolor()[:3]) for patch in ax.patches}
    leaves = np.flatnonzero(tree.is_leaf)
    leaves = leaves[np.argsort(tree.mean[leaves, 0])].tolist()
    light = [shown[f"leaf-{leaf}"] for leaf in leaves if f"leaf-{leaf}" in shown]
    assert len(light) > 2 and light == sorted(light, reverse=True)


# --- facts ------------------------------------------------------------------------------------


def test_facts() -> None:
    tree = grown(ONE)
    shares = np.zeros(3)
    np.add.at(shares, tree.coef_idx, tree.gain[~tree.is_leaf])
    np.testing.assert_allclose(importances(model_of(tree)), shares / shares.sum())
    assert len(regions(tree)) == tree.n_leaves
    assert len(margins(tree, X).nearest) == len(X)
    with pytest.raises(TreeError, match="hold numbers, no classes"):
        subclasses(tree, X, ONE)


def test_a_tree_comes_back_from_its_spectrum() -> None:
    builder = TreeBuilder(n_features=2, n_outputs=1)
    builder.add_split("r", {0: 1.0}, 0.5, ("a", "b"))
    builder.set_leaf("a", value=-2.0)
    builder.set_leaf("b", value=4.0)
    tree = builder.build()
    again = tree_of(spectrum_of(tree, Domain.of_levels([2, 2])))
    assert again.task == "regression" and again.weighted_n_node_samples.sum() == 0
    np.testing.assert_allclose(again.mean, [[1.0], [-2.0], [4.0]])
