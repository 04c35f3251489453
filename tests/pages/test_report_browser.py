"""The report in a real browser: every part is clicked, dragged or typed into."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import obliqua
from export_cases import MAKERS, case, mixed_table
from obliqua import HHCartClassifier, ObliqueTreeRegressor, TreeBuilder, apply_edits, report
from obliqua.edit import fingerprint
from obliqua.pages import reports
from obliqua.words.subject import container_of

pytestmark = pytest.mark.needs("chromium")

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\u202egnitset\u202c",
    "'\"><b onmouseover=alert(3)>",
    "a\u2028b\x00c",
)


def iris() -> tuple[Any, pd.DataFrame, np.ndarray]:
    bunch = load_iris(as_frame=True)
    y = np.array(bunch.target_names)[bunch.target]
    return HHCartClassifier(pruning=None, max_depth=4).fit(bunch.data, y), bunch.data, y


def mixed() -> tuple[Any, pd.DataFrame, np.ndarray]:
    table, labels, _ = mixed_table()
    return HHCartClassifier(pruning=None, max_depth=4).fit(table, labels), table, labels


def numbers(leaf_model: str) -> tuple[Any, pd.DataFrame, np.ndarray]:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = ObliqueTreeRegressor(leaf_model=leaf_model, max_depth=3, pruning=None)
    return model.fit(X, y), X, y.to_numpy()


def assert_same(one: Any, model: Any, rows: np.ndarray, off: float = 0.0) -> None:
    """The page says of rows what the model says, to the last bit but for the exponential."""
    container, _ = container_of(model)
    said = one.answers(rows)
    if container.n_classes:
        expected = container.predict_proba(rows)
        assert [answer["chosen"] for answer in said] == container.predict_index(rows).tolist()
    else:
        expected = np.reshape(container.predict(rows), (len(rows), -1))
    found = np.array([answer["numbers"] for answer in said])
    assert np.abs(found - expected).max() <= (1e-14 if container.combine == "log_odds" else off)
    leaves = np.array([answer["leaves"] for answer in said])
    assert (leaves == np.reshape(container.apply(rows), leaves.shape)).all()


@pytest.mark.parametrize("name", MAKERS)
def test_page_says_what_the_model_says(name: str, opened: Callable[..., Any]) -> None:
    model, rows = case(name)
    assert_same(opened(report(model)), model, rows)


@pytest.mark.parametrize("name", ["forest", "votes", "log odds"])
def test_of_many_trees_some_are_on_the_page(
    name: str, opened: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, rows = case(name)
    trees = container_of(model)[0].trees
    monkeypatch.setattr(reports, "MOST_NODES", trees[0].n_nodes + trees[1].n_nodes)
    one = opened(report(model))
    assert "what the chosen tree alone says" in one.page.locator(".about").inner_text()
    for tree in (0, 1):
        one.page.get_by_label("Which tree").select_option(str(tree))
        leaves = [answer["leaves"] for answer in one.answers(rows)]
        assert leaves == trees[tree].apply(rows)[:, None].tolist()
    one.tab("Try a row")
    assert "tree 1 alone says" in one.page.locator(".said").inner_text()


def test_a_thousand_rows_and_their_embedded_twins(opened: Callable[..., Any]) -> None:
    model, table, _ = mixed()
    rng = np.random.default_rng(0)
    many = table.iloc[rng.integers(0, len(table), 1000)].reset_index(drop=True)
    many["mass (kg)"] += rng.normal(size=1000)
    one = opened(report(model, many, model.predict(many), max_rows=1000))
    rows = container_of(model)[0].rows(many)
    assert_same(one, model, rows)
    assert one.page.evaluate("() => obliqua.nEmbedded()") == 1000
    used = np.unique(model.tree_.coef_idx)
    kept = one.page.evaluate("() => Array.from({length: 1000}, (_, k) => obliqua.embedded(k))")
    found = np.array(kept, dtype=float)[:, used]
    assert np.array_equal(found, rows[:, used], equal_nan=True)


# --- edits ------------------------------------------------------------------------------------


def assert_edits_hold(one: Any, model: Any, rows: np.ndarray, X: Any, y: Any) -> Any:
    """The page's edits make the model that the page shows."""
    changed = apply_edits(model, one.edits())
    assert_same(one, changed, rows)
    counted = apply_edits(model, one.edits(), X, y)
    assert (counted.predict(X) == changed.predict(X)).all()
    return changed


def test_every_edit_of_classes(opened: Callable[..., Any], tmp_path: Path) -> None:
    model, X, y = iris()
    rows = X.to_numpy()
    one = opened(report(model, X, y))
    page = one.page
    inner = np.flatnonzero(~model.tree_.is_leaf)
    one.choose(int(inner[1]))
    page.get_by_role("button", name="Drop ").first.click()
    assert "drop" in one.said
    first = assert_edits_hold(one, model, rows, X, y)
    one.button("Take it")
    assert "axis-parallel" in one.said
    assert apply_edits(model, one.edits()).score(X, y) > 0.9
    page.get_by_label("Threshold", exact=True).fill("3,05")
    one.button(f"Set the threshold of node {inner[1]}")
    second = assert_edits_hold(one, model, rows, X, y)
    assert 3.05 in second.tree_.threshold
    one.choose(0)
    page.get_by_label("Digits").select_option("1")
    one.button("this question")
    assert "round to 1 digit" in one.said

    one.choose(int(inner[-1]))
    one.button("Make it a leaf")
    one.choose(int(np.flatnonzero(model.tree_.is_leaf)[0]))
    page.get_by_role("combobox", name="Class").select_option(label="virginica")
    page.get_by_role("button", name="Set the class").click()
    third = assert_edits_hold(one, model, rows, X, y)
    assert third.get_n_leaves() < model.get_n_leaves()

    one.tab("Edits")
    assert page.locator(".log li").count() == 6
    assert "→" in page.locator(".score").inner_text()
    with page.expect_download() as waiting:
        one.button("Save edits")
    waiting.value.save_as(tmp_path / "edits.json")
    assert (tmp_path / "edits.json").read_text("utf-8") == one.edits()

    for _ in range(6):
        one.button("Undo")
    assert_same(one, model, rows)
    one.button("Redo")
    assert_same(one, first, rows)
    page.locator(".port").click(position={"x": 5, "y": 5})
    page.keyboard.press("Control+z")
    assert_same(one, model, rows)
    page.locator("summary", has_text="Load edits").click()
    page.get_by_label("Load edits from a file").set_input_files(tmp_path / "edits.json")
    page.wait_for_function(
        "() => document.querySelector('.status').textContent.includes('loaded')"
    )
    assert_same(one, third, rows)


def test_the_cut_is_dragged_and_moved_by_keys(opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    rows = X.to_numpy()
    one = opened(report(model, X, y))
    one.choose(0)
    cut = one.page.locator(".along .cut .grip")
    box = cut.bounding_box()
    one.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] + 60, box["y"] + 20, steps=5)
    one.page.mouse.up()
    dragged = assert_edits_hold(one, model, rows, X, y)
    assert dragged.tree_.threshold[0] != model.tree_.threshold[0]
    assert (dragged.predict(X) != model.predict(X)).any()
    assert len(json.loads(one.edits())["edits"]) == 1
    one.page.locator(".along .cut").focus()
    one.page.keyboard.press("ArrowLeft")
    moved = assert_edits_hold(one, model, rows, X, y)
    assert moved.tree_.threshold[0] < dragged.tree_.threshold[0]


def test_a_drag_against_the_end_leaves_the_panel_alive(opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y))
    one.choose(0)
    for _ in range(2):
        box = one.page.locator(".along .cut .grip").bounding_box()
        one.page.mouse.move(box["x"] + 9, box["y"] + 20)
        one.page.mouse.down()
        one.page.mouse.move(box["x"] + 900, box["y"] + 20, steps=3)
        one.page.mouse.up()
    assert len(json.loads(one.edits())["edits"]) == 1
    one.choose(2)
    assert "2" in one.page.locator(".panel-body h2").first.inner_text()


def test_what_cannot_be_edited_is_not_offered(opened: Callable[..., Any], tmp_path: Path) -> None:
    model, _ = case("sum of classes")
    one = opened(report(model))
    one.choose(0)
    assert one.page.get_by_label("Threshold", exact=True).count() == 0
    label = {"tree": 0, "node": 1, "edit": "label", "class": 0.5}
    fields = {"format": "obliqua edits", "version": 1, "model": fingerprint(model)}
    (tmp_path / "edits.json").write_text(json.dumps(fields | {"edits": [label]}))
    one.tab("Edits")
    one.page.locator("summary", has_text="Load edits").click()
    one.page.get_by_label("Load edits from a file").set_input_files(tmp_path / "edits.json")
    one.page.wait_for_function(
        "() => document.querySelector('.status').textContent.includes('cannot be made')"
    )
    iris_model, X, y = iris()
    other = opened(report(iris_model, X, y))
    other.choose(0)
    other.page.get_by_label("Threshold", exact=True).fill("1e308")
    other.page.keyboard.press("Enter")
    assert len(json.loads(other.edits())["edits"]) == 1  # iris asks about one feature here
    other.choose(int(np.flatnonzero(~iris_model.tree_.is_leaf)[1]))
    other.page.get_by_label("Threshold", exact=True).fill("1.7e308")
    other.page.keyboard.press("Enter")
    assert all(
        np.isfinite(edit["plane"]["threshold"]) for edit in json.loads(other.edits())["edits"]
    )


def test_labels_beyond_what_javascript_counts(opened: Callable[..., Any], tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    labels = 2**60 + y.astype(np.int64)
    model = HHCartClassifier(pruning=None, max_depth=2).fit(X, labels)
    one = opened(report(model, X, labels))
    leaf = int(np.flatnonzero(model.tree_.is_leaf)[0])
    one.choose(leaf)
    one.page.get_by_role("combobox", name="Class").select_option("1")
    one.page.get_by_role("button", name="Set the class").click()
    saved = one.edits()
    assert json.loads(saved)["edits"][0]["class"] == 2**60 + 1
    (tmp_path / "edits.json").write_text(saved)
    one.tab("Edits")
    one.button("Undo")
    one.page.locator("summary", has_text="Load edits").click()
    one.page.get_by_label("Load edits from a file").set_input_files(tmp_path / "edits.json")
    one.page.wait_for_function(
        "() => document.querySelector('.status').textContent.includes('loaded')"
    )
    assert one.edits() == saved
    one.choose(leaf)
    assert f"{model.tree_.n_samples[leaf]} errors" in one.page.locator(".card.chosen").inner_text()


def test_edits_of_levels_and_gaps(opened: Callable[..., Any]) -> None:
    model, table, labels = mixed()
    rows = container_of(model)[0].rows(table)
    one = opened(report(model, table, labels))
    one.choose(0)
    one.page.get_by_label("Digits").select_option("2")
    one.button("all questions")
    rounded = assert_edits_hold(one, model, rows, table, labels)
    assert rounded.tree_ != model.tree_
    assert one.page.locator(".status").bounding_box()["height"] < 100
    field = one.page.get_by_label("Threshold", exact=True)
    shown = field.input_value()
    assert one.page.locator(".asked").inner_text().endswith(shown)
    field.fill("0.25")
    one.page.keyboard.press("Enter")
    assert one.page.locator(".asked").inner_text().endswith("0.25")
    focused = one.page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert focused == "Threshold"
    assert_edits_hold(one, model, rows, table, labels)
    for node in np.flatnonzero(~model.tree_.is_leaf)[:3].tolist():
        one.choose(node)
        if one.page.get_by_role("button", name="Take it").count():
            one.button("Take it")
    assert_edits_hold(one, model, rows, table, labels)


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_edits_of_numbers(leaf_model: str, opened: Callable[..., Any]) -> None:
    model, X, y = numbers(leaf_model)
    rows = X.to_numpy()
    one = opened(report(model, X, y))
    assert_same(one, model, rows)
    one.choose(0)
    one.button("all questions")
    leaf = int(np.flatnonzero(model.tree_.is_leaf)[0])
    one.choose(leaf)
    one.page.get_by_label("y", exact=True).fill("123.25")
    one.page.get_by_role("button", name="Set", exact=True).click()
    changed = assert_edits_hold(one, model, rows, X, y)
    assert 123.25 in changed.predict(X)
    one.tab("Edits")
    assert "R²" in one.page.locator(".score").inner_text()


def test_a_file_of_another_model_is_refused(opened: Callable[..., Any], tmp_path: Path) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y))
    one.tab("Edits")
    one.page.locator("summary", has_text="Load edits").click()
    for text, words in (
        ('{"format": "obliqua edits", "version": 1, "model": "x", "edits": []}', "another model"),
        ("[1", "no JSON"),
        ("{}", "no edits"),
    ):
        (tmp_path / "other.json").write_text(text)
        one.page.get_by_label("Load edits from a file").set_input_files(tmp_path / "other.json")
        one.page.wait_for_function(
            "words => document.querySelector('.status').textContent.includes(words)", arg=words
        )
    assert json.loads(one.edits())["edits"] == []
    (tmp_path / "any.json").write_text(
        '{"format": "obliqua edits", "version": 1, "edits": [{"node": 0, "edit": "collapse"}]}'
    )
    one.page.get_by_label("Load edits from a file").set_input_files(tmp_path / "any.json")
    one.page.wait_for_function("() => JSON.parse(obliqua.edits()).edits.length === 1")


def test_a_split_that_is_taken_keeps_the_sides(opened: Callable[..., Any]) -> None:
    """Questions that ask for "at least" have their large values on the left."""
    model, table, labels = mixed()
    rows = container_of(model)[0].rows(table)
    one = opened(report(model, table, labels))
    offered = 0
    for node in np.flatnonzero(~model.tree_.is_leaf).tolist():
        one.choose(node)
        if not one.page.get_by_role("button", name="Take it").count():
            continue
        one.button("Take it")
        offered += 1
        changed = apply_edits(model, one.edits())
        path = model.tree_.decision_path(rows).tocsc()[:, [node, model.tree_.first_child[node]]]
        here, left = (path[:, [k]].toarray().ravel() > 0 for k in (0, 1))
        again = changed.tree_.decision_path(rows).tocsc()
        now = again[:, [model.tree_.first_child[node]]].toarray().ravel() > 0
        assert (now == left)[here].mean() >= 0.5
        one.tab("Edits")
        one.button("Undo")
    assert offered > 2


def test_an_edited_forest_answers_as_the_page(opened: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=400) > 0).astype(int)
    model = obliqua.ObliqueForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    one = opened(report(model, X, y))
    one.choose(0)
    one.page.get_by_label("Digits").select_option("1")
    one.button("all questions")
    # Trees of forests are packed, and divide weights of classes in another way when they are not.
    assert_same(one, apply_edits(model, one.edits()), X, off=1e-15)
    assert_same(one, apply_edits(model, one.edits(), X, y), X, off=1e-15)


# --- looking ------------------------------------------------------------------------------------


def test_only_rows_that_are_there_are_taken(opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y))
    one.tab("Try a row")
    for text in ("abc", "-5", "1.5", "150"):
        one.page.get_by_label("Number of an embedded row").fill(text)
        one.button("Take")
        assert "row 0 of" in one.page.locator(".said").inner_text()
    one.button("Another")
    assert "row 1 of" in one.page.locator(".said").inner_text()


def test_a_row_is_tried(opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y))
    page = one.page
    one.tab("Try a row")
    page.get_by_label("Number of an embedded row").fill("120")
    one.button("Take")
    leaf = int(model.tree_.apply(X.to_numpy())[120])
    assert page.locator(".card.lit").last.get_attribute("data-node") == str(leaf)
    assert page.locator(".links .lit").count() == int(model.tree_.node_depth[leaf])
    assert "virginica" in page.locator(".said").inner_text()
    assert page.locator(".step").count() == int(model.tree_.node_depth[leaf])
    page.get_by_label("petal width (cm)", exact=True).fill("0.1")
    page.keyboard.press("Tab")
    row = X.iloc[[120]].assign(**{"petal width (cm)": 0.1})
    assert model.predict(row)[0] in page.locator(".said").inner_text()
    page.locator(".feature input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    assert "a row of your own" in page.locator(".said").inner_text()


def test_smallest_changes_change_the_answer_and_no_smaller_ones(
    opened: Callable[..., Any],
) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y))
    one.tab("Try a row")
    for number in (60, 100, 130):
        one.page.get_by_label("Number of an embedded row").fill(str(number))
        one.button("Take")
        found = one.page.locator(".changes li button")
        assert found.count() > 0
        now = model.predict(X.iloc[[number]])[0]
        for k in range(found.count()):
            words = found.nth(k).text_content()
            name = words.partition(" = ")[0]
            column = list(X.columns).index(name)
            found.nth(k).evaluate("button => button.click()")
            value = float(one.page.get_by_label(name, exact=True).input_value())
            z = X.to_numpy()[[number]]
            start = z[0, column]
            z[0, column] = value
            assert model.tree_.apply(z)[0] != model.tree_.apply(X.to_numpy()[[number]])[0]
            assert model.classes_[model.model_.predict_index(z)][0] != now
            z = np.repeat(X.to_numpy()[[number]], 200, axis=0)
            z[:, column] = start + (value - start) * np.linspace(0, 1 - 1e-9, 200)
            assert (model.classes_[model.model_.predict_index(z)] == now).all()
            one.button("Take")


def test_tree_is_folded_searched_zoomed_and_walked_by_keys(opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y))
    page = one.page
    n_nodes = model.tree_.n_nodes
    assert page.locator(".card").count() == n_nodes
    page.locator(".card .fold").first.click()
    assert page.locator(".card").count() == 1
    page.get_by_label("Search questions and answers").fill("virginica")
    page.keyboard.press("Enter")
    assert page.locator(".card.hit").count() > 0
    assert "1 of" in page.locator(".found").inner_text()
    one.button("All levels")
    assert page.locator(".card").count() == n_nodes
    before = page.locator(".stage").get_attribute("style")
    page.get_by_role("button", name="Zoom in").click()
    page.mouse.move(300, 600)
    page.mouse.wheel(0, -300)
    assert page.locator(".stage").get_attribute("style") != before
    one.button("Fit")
    page.locator('.card[data-node="0"]').focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".card.chosen").get_attribute("data-node") == "1"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert page.locator(".card.chosen").get_attribute("data-node") == "0"
    page.keyboard.press("Enter")
    assert page.locator(".card").count() == 1


def test_other_views_have_what_they_promise(opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y, X_test=X[::2], y_test=y[::2]))
    one.tab("How good")
    text = one.page.locator('[data-name="How good"]').inner_text()
    assert "training" in text and "test" in text and f"{100 * model.score(X, y):.1f}" in text
    assert one.page.locator('[data-name="How good"] table').count() >= 3
    one.tab("Features and regions")
    assert "petal" in one.page.locator('[data-name="Features and regions"]').inner_text()
    one.tab("As a list")
    items = one.page.locator(".nested li")
    assert items.count() == model.tree_.n_nodes
    items.locator("button.leaf-words").first.click()
    assert one.page.locator(".card.chosen").get_attribute("data-node") != "0"


def test_several_trees_are_chosen_from_a_list(opened: Callable[..., Any]) -> None:
    X, y = load_iris(return_X_y=True)
    model = obliqua.ObliqueForestClassifier(n_estimators=4, max_depth=3, random_state=0).fit(X, y)
    one = opened(report(model, X, y))
    assert_same(one, model, X)
    one.page.get_by_label("Which tree").select_option("2")
    one.tab("Try a row")
    leaf = one.answers(X[[0]])[0]["leaves"][2]
    assert one.page.locator(".card.lit").last.get_attribute("data-node") == str(leaf)


# --- habits -------------------------------------------------------------------------------------


def test_hostile_names_stay_text(opened: Callable[..., Any]) -> None:
    X, _ = load_iris(return_X_y=True)
    y = np.array(HOSTILE)[np.arange(len(X)) % len(HOSTILE)]
    frame = pd.DataFrame(X, columns=HOSTILE[:4])
    frame["town"] = np.array(HOSTILE)[np.arange(len(X)) // 40]
    model = HHCartClassifier(pruning=None, max_depth=3).fit(frame, y)
    one = opened(report(model, frame, y, title=HOSTILE[1]))
    one.page.on("dialog", lambda dialog: one.trouble.append(f"dialog: {dialog.message}"))
    for name in ("How good", "Features and regions", "As a list", "Tree"):
        one.tab(name)
    one.tab("Try a row")
    one.choose(0)
    one.button("this question")
    one.tab("Edits")
    assert one.page.locator("#page img, #page script, #page b[onmouseover]").count() == 0
    assert one.page.title() == HOSTILE[1]
    assert_same(one, apply_edits(model, one.edits()), container_of(model)[0].rows(frame))


@pytest.mark.parametrize("locale", ["de-DE", "ar-EG", "en-IN"])
def test_numbers_are_the_same_in_every_country(locale: str, opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y), locale=locale)
    one.choose(0)
    field = one.page.get_by_label("Threshold", exact=True)
    shown = field.input_value()
    assert shown == f"{float(shown):.12g}"
    for text, value in (("1.25", 1.25), ("1,5", 1.5), ("٢٫٥", 2.5), ("-1e-2", -0.01)):
        one.page.get_by_label("Threshold", exact=True).fill(text)
        one.page.keyboard.press("Enter")
        made = apply_edits(model, one.edits()).tree_
        scale = made.coef[
            np.argmax(np.abs(made.coef[: made.coef_ptr[1]] * made.spread[: made.coef_ptr[1]]))
        ]
        assert made.threshold[0] == pytest.approx(value * scale)
    n = len(json.loads(one.edits())["edits"])
    for text in ("1,234", "1.2.3", "twelve", "", "1e999"):
        one.page.get_by_label("Threshold", exact=True).fill(text)
        one.page.keyboard.press("Enter")
        assert len(json.loads(one.edits())["edits"]) == n
    assert "1e999" in one.said


def test_page_without_rows_says_what_is_missing(opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y, max_rows=0))
    assert one.page.evaluate("() => obliqua.nEmbedded()") == 0
    one.page.locator(".about summary").click()
    assert "No row is embedded" in one.page.locator(".about").inner_text()
    one.tab("Edits")
    assert "Nothing to judge" in one.page.locator(".score").inner_text()
    one.choose(0)
    one.button("Make it a leaf")
    assert apply_edits(model, one.edits()).get_n_leaves() == 1
    one.tab("Features and regions")
    assert one.page.locator(".warning").last.is_visible()
    one.page.locator(".regions-table tbody button").first.click()
    assert one.page.locator(".card.chosen").get_attribute("data-node") == "0"


def test_themes_paper_and_narrow_screens(opened: Callable[..., Any]) -> None:
    model, X, y = iris()
    one = opened(report(model, X, y, max_rows=0), color_scheme="dark")
    background = "() => getComputedStyle(document.body).backgroundColor"
    dark = one.page.evaluate(background)
    one.page.set_viewport_size({"width": 720, "height": 1000})
    one.page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    one.page.emulate_media(media="print")
    assert one.page.evaluate(background) == "rgb(255, 255, 255)"
    port, last = (one.page.locator(of).last.bounding_box() for of in (".port", '[aria-level="5"]'))
    assert port["y"] + port["height"] >= last["y"] + last["height"]
    assert one.page.locator(".about .note").first.is_visible()
    assert not one.page.locator(".side").is_visible()
    assert one.page.locator(".nested").is_visible()
    one.page.emulate_media(media="screen")
    one.button("Light")
    assert one.page.evaluate(background) != dark == "rgb(22, 25, 29)"
    one.page.set_viewport_size({"width": 390, "height": 800})
    width = one.page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 390


def test_tree_by_hand_without_any_rows(opened: Callable[..., Any]) -> None:
    builder = TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    builder.set_leaf("low", [8, 1])
    builder.set_leaf("high", [0, 5])
    tree = builder.build()
    one = opened(report(tree))
    one.tab("Try a row")
    one.page.get_by_label("x0", exact=True).fill("100")
    one.page.keyboard.press("Tab")
    assert "1 (100 %)" in one.page.locator(".said").inner_text()
    assert_same(one, tree, np.random.default_rng(0).normal(0, 100, (50, 2)))
