"""Pictures of trees in notebooks: whole, inert, and never in the way of scikit-learn's display."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import obliqua
from estimators.registry import PUBLIC
from obliqua import (
    C45Classifier,
    CartClassifier,
    CartRegressor,
    LMDTClassifier,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
    TreeBuilder,
    TreeError,
)
from obliqua.data.encoding import Column, Encoding
from obliqua.pages import picture
from obliqua.pages.picture import MAX_DEPTH, SMALLEST, tree_picture
from obliqua.tree.model import Model
from strategies import trees
from trees_to_read import NASTY, chain, mixed, nasty, oblique, people, single

SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {"svg", "title", "desc", "style", "rect", "path", "text", "clipPath", "g"}
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</svg>",
    "</script><script>alert(1)</script>",
    "</title></style>",
    "\u202egnirts\u200f",
    "tab\there\r\v\x00\x1b\ufffe",
    "half \ud800",
    "W" * 500,
    "&lt;b&gt; & \"x\" 'y'",
    "-->]]>",
    "url(https://example.org/x)",
    "Z" + "\u0338" * 300,
    "שלום עולם",
]
IRIS, WINE, DIABETES = (load(as_frame=True) for load in (load_iris, load_wine, load_diabetes))


def parsed(svg: str) -> ElementTree.Element:
    """Read a picture as strictly as can be: it is XML, in UTF-8, of known elements only."""
    root = ElementTree.fromstring(svg.encode("utf-8"))
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in KNOWN
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert "href" not in name
            assert "nan" not in value
            assert "url(" not in value or value.startswith("url(#obliqua-")
    return root


def words(svg: str) -> list[str]:
    """All lines of text that are seen."""
    return ["".join(text.itertext()) for text in parsed(svg).iter(f"{SVG}text")]


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height of each box."""
    root, found = parsed(svg), []
    for group in root.iter(f"{SVG}g"):
        x, y = map(float, re.findall(r"-?[\d.]+", group.attrib["transform"]))
        frame = group.find(f"{SVG}rect")
        assert frame is not None
        found.append((x, y, float(frame.attrib["width"]), float(frame.attrib["height"])))
    return found


def assert_tidy(svg: str) -> ElementTree.Element:
    """No two boxes overlap, and all lie within the picture."""
    root = parsed(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    found = boxes(svg)
    for x, y, w, h in found:
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height
    for (x1, y1, w1, h1), (x2, y2, w2, h2) in combinations(found, 2):
        assert x1 + w1 <= x2 or x2 + w2 <= x1 or y1 + h1 <= y2 or y2 + h2 <= y1
    assert root.attrib["role"] == "img"
    for name, tag in (("labelledby", "title"), ("describedby", "desc")):
        element = root.find(f"{SVG}{tag}")
        assert element is not None
        assert element.attrib["id"] == root.attrib[f"aria-{name}"]
        assert element.text
    return root


def named(columns: list[str], classes: list[str]) -> Model:
    """A tree that asks for each column and says each class."""
    builder = TreeBuilder(len(columns), len(classes))
    n = min(len(columns), len(classes) - 1)
    for k in range(n):
        normal = {k: 1.0, (k + 1) % len(columns): -0.25}
        builder.add_split(k, normal, 0.5, (("leaf", k), k + 1))
        builder.set_leaf(("leaf", k), np.eye(len(classes))[k], 1)
    builder.set_leaf(n, np.eye(len(classes))[n] + 0.5, 2)
    encoding = Encoding(tuple(Column(name) for name in columns))
    return Model((builder.build(),), "single", encoding, np.array(classes, dtype=object))


def machine() -> Any:
    return LMDTClassifier(random_state=0).fit(WINE.data, WINE.target)


def levels() -> Any:
    return C45Classifier().fit(*people())


def sides() -> Any:
    model = CartClassifier(max_leaf_nodes=8, pruning=None).fit(*people())
    assert model.tree_.missing_side.any()
    return model


def numbers() -> Any:
    model = ObliqueTreeRegressor(max_leaf_nodes=8, pruning=None, random_state=0)
    return model.fit(DIABETES.data, DIABETES.target)


def medians() -> Any:
    return CartRegressor(criterion="absolute_error").fit(DIABETES.data, DIABETES.target)


def lines() -> Any:
    model = ObliqueTreeRegressor(leaf_model="linear", random_state=0)
    return model.fit(DIABETES.data, DIABETES.target)


def outputs() -> Any:
    y = np.c_[DIABETES.target, -DIABETES.target, DIABETES.target**2]
    return CartRegressor(max_leaf_nodes=5).fit(DIABETES.data, y)


def forest() -> Any:
    return ObliqueForestClassifier(random_state=0).fit(IRIS.data, IRIS.target)


def huge() -> Any:
    tree = CartRegressor(pruning=None).fit([[0.0], [1.0], [2.0]], [-1.0, 0.0, 1.0]).tree_
    return replace(tree, stats=tree.stats * [1.0, 1.5e308, 1.0])


KINDS: list[Callable[[], Any]] = [
    *(machine, levels, sides, numbers, medians, lines, outputs, forest, mixed, oblique, nasty),
    *(lambda: single([3, 1], 4), lambda: single([0, 0]), lambda: chain(40)),
]


@pytest.mark.parametrize("make", KINDS)
def test_all_kinds_of_trees_are_drawn(make: Callable[[], Any]) -> None:
    svg = tree_picture(make())
    root = assert_tidy(svg)
    assert 1 <= len(boxes(svg)) <= 2 * 12
    assert len(svg) < 60_000
    assert root.find(f".//{SVG}script") is None


@settings(deadline=None)
@given(tree=trees())
def test_any_tree_is_drawn(tree: Any) -> None:
    assert_tidy(tree_picture(tree))


def test_numbers_that_are_too_large_for_their_difference_are_drawn() -> None:
    with np.errstate(all="ignore"):
        assert_tidy(tree_picture(huge()))


def test_questions_answers_and_rows_are_said() -> None:
    model = obliqua.CartClassifier().fit([[0.0]] * 3 + [[1.0]], ["cold"] * 3 + ["warm"])
    said = words(tree_picture(model))
    for text in ("x0 <= 0.5", "4 rows", "cold", "3 rows", "warm", "1 row", "100 %", "yes", "no"):
        assert text in said
    assert "2 leaves, depth 1; 4 rows" in said


def test_each_kind_says_what_is_its_own() -> None:
    assert "which of 3 scores is" in words(tree_picture(machine()))
    assert "which town?" in words(tree_picture(levels()))
    assert any("[missing: " in text for text in words(tree_picture(sides())))
    assert any(text.startswith("mean ") for text in words(tree_picture(numbers())))
    assert any(text.startswith("median ") for text in words(tree_picture(medians())))
    assert any("+ (" in text for text in words(tree_picture(lines())))
    assert sum(text.count(", ") == 2 for text in words(tree_picture(outputs()))) >= 4


def test_links_are_as_wide_as_rows_are_many() -> None:
    tree = oblique()
    widths = [
        float(path.attrib["stroke-width"])
        for path in parsed(tree_picture(tree)).iter(f"{SVG}path")
        if path.attrib.get("class") == "oq-link"
    ]
    assert len(widths) == tree.n_nodes - 1
    assert widths[0] / widths[1] == pytest.approx(59 / 41, rel=0.02)


def test_a_large_tree_is_cut_and_its_leaves_are_counted() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    model = CartClassifier(max_leaf_nodes=60, pruning=None).fit(X, X[:, 0] * X[:, 1] > 0)
    for max_leaves in (2, 5, 12):
        svg = tree_picture(model, max_leaves=max_leaves)
        below = [int(number) for number in re.findall(r">\+(\d+) leaves<", svg)]
        ends = (len(boxes(svg)) + 1) // 2
        assert 2 <= ends <= max_leaves
        assert svg.count("stroke-dasharray") == len(below) > 0
        assert sum(below) + ends - len(below) == model.tree_.n_leaves == 60


def test_a_deep_tree_is_cut() -> None:
    said = words(tree_picture(chain(40)))
    assert f"+{41 - MAX_DEPTH} leaves" in said
    assert len(boxes(tree_picture(chain(40)))) == 2 * MAX_DEPTH + 1


def test_of_too_many_branches_the_largest_are_drawn() -> None:
    builder = TreeBuilder(1, 2)
    names = [f"leaf {k}" for k in range(30)]
    builder.add_machine("root", [{0: float(k)} for k in range(30)], [0.0] * 30, tuple(names))
    for k, name in enumerate(names):
        builder.set_leaf(name, [k + 1, 0], k + 1)
    svg = tree_picture(builder.build())
    assert_tidy(svg)
    assert len(boxes(svg)) == 13
    assert any("the 12 largest of 30 branches" in text for text in words(svg))
    assert "30 rows" in words(svg)
    assert "18 rows" not in words(svg)


def test_a_forest_shows_its_first_tree_and_makes_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = forest()
    made: list[int] = []
    packed = type(model.model_.trees)
    make = packed._tree
    monkeypatch.setattr(packed, "_tree", lambda self, k: made.append(k) or make(self, k))
    assert any(text.startswith("The first of 100 trees") for text in words(tree_picture(model)))
    assert set(made) == {0}
    assert any("Number 7, from 0, of 100" in text for text in words(tree_picture(model, tree=7)))
    with pytest.raises(TreeError, match="100 trees"):
        tree_picture(model, tree=100)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="max_leaves"):
        tree_picture(oblique(), max_leaves=1)
    with pytest.raises(TypeError, match="can be read"):
        tree_picture("a tree")


# --- names ------------------------------------------------------------------------------------


def assert_inert(svg: str) -> None:
    assert_tidy(svg)
    # What a browser would take for an element of HTML, whatever it makes of SVG.
    tags = set(re.findall(r"<\s*/?\s*([^\s>/]*)", svg))
    assert tags <= KNOWN
    assert not re.search("[\x00-\x08\x0b-\x1f\u200e\u200f\u202a-\u202e\ufffe\ufeff]", svg)
    assert svg.count("\u2068") == svg.count("\u2069")


def test_hostile_names_are_text() -> None:
    svg = tree_picture(named(HOSTILE, HOSTILE), max_leaves=12)
    assert_inert(svg)
    assert "\\u202e" in tree_picture(named(["\u202egnirts"], ["a", "b"]))
    assert_inert(tree_picture(named(NASTY, HOSTILE)))
    for name in HOSTILE:
        assert_inert(tree_picture(named([name], ["a", name])))


@settings(deadline=None)
@given(
    columns=st.lists(st.text(max_size=80), min_size=1, max_size=4),
    classes=st.lists(st.text(max_size=80), min_size=2, max_size=4, unique=True),
)
def test_any_names_are_text(columns: list[str], classes: list[str]) -> None:
    assert_inert(tree_picture(named(columns, classes)))


@settings(deadline=None)
@given(names=st.lists(st.sampled_from([*HOSTILE, "a", "b"]), min_size=2, max_size=4, unique=True))
def test_levels_are_text(names: list[str]) -> None:
    builder = TreeBuilder(1, 2)
    children = tuple(f"leaf {k}" for k in range(len(names)))
    builder.add_levels("root", 0, list(range(len(names))), children)
    for child in children:
        builder.set_leaf(child, [1, 0], 1)
    encoding = Encoding((Column("colour", "qualitative", tuple(names)),))
    assert_inert(tree_picture(Model((builder.build(),), "single", encoding, np.array(["x", "y"]))))


def test_names_do_not_make_the_picture_wide() -> None:
    short = parsed(tree_picture(named(["a" * 18], ["x" * 18, "y"])))
    long = parsed(tree_picture(named(["a" * 500], ["x" * 500, "y" * 500])))
    assert float(long.attrib["width"]) <= 1.3 * float(short.attrib["width"])
    assert long.attrib["height"] == short.attrib["height"]
    width = float(long.attrib["width"])
    assert f"min-width: {SMALLEST * width:.0f}px" in long.attrib["style"]


def test_names_that_look_alike_when_they_are_short_are_told_apart() -> None:
    names = [f"measured in the {word} of the year" for word in ("first half", "second half")]
    said = " ".join(words(tree_picture(named(names, ["a", "b", "c"]))))
    assert "[0]" in said
    assert "[1]" in said


def test_a_name_from_the_right_does_not_turn_the_question_round() -> None:
    said = words(tree_picture(named(["שלום עולם"], ["a", "b"])))
    assert any("\u2068שלום עולם\u2069" in text for text in said)


# --- notebooks --------------------------------------------------------------------------------


def same(html: str) -> str:
    """Leave out what differs from call to call: the numbers in ids."""
    return re.sub(r"(sk-(?:container|estimator)-id|obliqua-[0-9a-f]{8})-\d+", r"\1", html)


def fitted(Estimator: Any) -> Any:
    model = Estimator()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    rows = IRIS if sklearn.base.is_classifier(model) else DIABETES
    return model.fit(rows.data, rows.target)


@pytest.mark.parametrize("Estimator", PUBLIC, ids=[cls.__name__ for cls in PUBLIC])
def test_below_the_diagram_stands_the_tree(Estimator: Any) -> None:
    model = fitted(Estimator)
    diagram, shown = estimator_html_repr(model), model._repr_html_()
    assert same(shown).startswith(same(diagram))
    assert "Fitted" in shown
    svg = re.search(r"<svg .*?</svg>", shown[len(diagram) - 20 :], re.DOTALL)
    assert svg is not None
    assert_tidy(svg[0])
    forms = model._repr_mimebundle_(include=None, exclude=None)
    assert same(forms["text/html"]) == same(shown)
    assert forms["text/plain"] == repr(model)
    assert "<details open" in shown


def test_an_estimator_that_is_not_fitted_is_shown_as_scikit_learn_does() -> None:
    model = CartClassifier()
    assert same(model._repr_html_()) == same(estimator_html_repr(model))
    assert "obliqua-picture" not in model._repr_mimebundle_()["text/html"]


def test_inside_others_nothing_changes() -> None:
    pipe = make_pipeline(StandardScaler(), CartClassifier()).fit(IRIS.data, IRIS.target)
    search = GridSearchCV(CartClassifier(), {"max_depth": [1, 2]}).fit(IRIS.data, IRIS.target)
    for model in (pipe, search):
        assert "obliqua-picture" not in model._repr_html_()
        assert "CartClassifier" in model._repr_html_()


def test_display_as_text_is_respected() -> None:
    model = CartClassifier().fit(IRIS.data, IRIS.target)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize("broken", ["model", "trees", "names", "drawing"])
def test_what_cannot_be_drawn_leaves_the_diagram(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CartClassifier().fit(IRIS.data, IRIS.target)
    if broken == "model":
        model.model_ = None
    elif broken == "trees":
        model.model_.__dict__["trees"] = (None,)
    elif broken == "names":
        model.model_.__dict__["encoding"] = Encoding(())
    else:
        monkeypatch.setattr(picture, "_top", lambda *_: 1 / 0)
    diagram = same(estimator_html_repr(model))
    assert same(model._repr_html_()) == diagram
    assert same(model._repr_mimebundle_()["text/html"]) == diagram


@pytest.mark.skipif(
    not hasattr(sklearn.base.BaseEstimator, "_get_fitted_attr_html"),
    reason="scikit-learn shows fitted attributes since 1.9",
)
def test_fitted_attributes_are_shown_but_for_those_that_cannot_be_made() -> None:
    model = ObliqueTreeClassifier(random_state=0).fit(IRIS.data, IRIS.target)
    own = sklearn.base.BaseEstimator._get_fitted_attr_html(model)
    table = model._get_fitted_attr_html()
    assert table._repr_html_inner() == own._repr_html_inner()
    assert "feature_importances_" in table
    # Without spreads nobody can say which feature of a split matters how much.
    tree = replace(model.tree_, spread=np.full_like(model.tree_.spread, np.nan))
    model._hold(replace(model.model_, trees=(tree,)), model.feature_names_in_)
    with pytest.raises(TreeError):
        _ = model.feature_importances_
    table = model._get_fitted_attr_html()
    assert set(own) - set(table) == {"feature_importances_"}
    assert "Fitted attributes" in model._repr_html_()
    assert "obliqua-picture" in model._repr_html_()


def test_ids_are_used_once() -> None:
    model = CartClassifier().fit(IRIS.data, IRIS.target)
    page = "".join([model._repr_html_(), model._repr_html_(), tree_picture(mixed())])
    ids = re.findall(r' id="(obliqua-[^"]*)"', page)
    assert len(ids) == len(set(ids)) > 10
    used = re.findall(r"url\(#([^)]*)\)", page)
    assert set(used) <= set(ids)


def test_a_tree_by_hand_without_rows_is_drawn() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.5, ("a", "b"))
    builder.set_leaf("a", [0, 0])
    builder.set_leaf("b", [0, 0])
    tree: Tree = builder.build()
    said = words(tree_picture(tree))
    assert [text for text in said if "row" in text] == ["2 leaves, depth 1; no rows"]
