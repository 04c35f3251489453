"""What the report's page is made of, without a browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from export_cases import mixed_table
from obliqua import CartClassifier, HHCartClassifier, ModelFileIOError, report, save
from obliqua.pages.given_rows import GivenRows, embedded, packed

NOTHING = load_iris(as_frame=True).data[:0]


@pytest.fixture(scope="module")
def iris() -> tuple[Any, pd.DataFrame, np.ndarray]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return HHCartClassifier(pruning=None).fit(X, y), X, y.to_numpy()


class Page(HTMLParser):
    """The parts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        self.texts[attributes.get("id") or tag] = (
            self.texts.get(attributes.get("id") or tag, "") + data
        )

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.texts["payload"])
        return found


def test_page_is_whole_and_reaches_nowhere(iris: Any) -> None:
    text = report(*iris).text
    page = Page(text)
    assert text.isascii()
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy is not None and "default-src 'none'" in policy and "unsafe" not in policy
    for tag, attributes in page.tags:
        assert not {"src", "onload", "onclick", "style"} & attributes.keys(), tag
        assert attributes.get("href", "data:,") == "data:,"
    # No address but that of the kind of drawing.
    addresses = set(re.findall(r"https?://[^\s\"'`\\)]+", text))
    assert addresses <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/XML/1998/namespace",
        "http://www.w3.org/2000/xmlns/",
    }


def test_scripts_and_styles_are_those_that_the_policy_knows(iris: Any) -> None:
    import base64
    import hashlib

    text = report(*iris).text
    for tag in ("script", "style"):
        inside = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.S)
        assert len(inside) == 1
        known = base64.b64encode(hashlib.sha256(inside[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{known}'" in text


def test_same_call_gives_the_same_bytes(iris: Any) -> None:
    model, X, y = iris
    assert report(model, X, y).text == report(model, X, y).text


def test_rows_are_embedded_as_they_are_and_drawn_if_there_are_many(iris: Any) -> None:
    model, X, y = iris
    rows = Page(report(model, X, y, X_test=X[:30], y_test=y[:30]).text).payload["rows"]
    assert rows["n"] == 180
    some = Page(report(model, X, y, max_rows=40).text).payload
    assert some["rows"]["n"] == 40
    assert any("40 of 150 training rows" in note for note in some["notes"])
    none = Page(report(model, X, y, max_rows=0).text).payload
    assert none["rows"] is None and none["sets"][0]["classes"]["accuracy"] == 1.0
    assert any("No row is embedded" in note for note in none["notes"])


def test_many_wide_rows_stay_below_the_limit() -> None:
    Z = np.random.default_rng(0).normal(size=(5000, 300))
    rows, n = embedded([GivenRows("training", Z, np.zeros(5000, int))], np.ones(300, bool), 2000)
    assert rows is not None and n == [rows["n"]] and 50 <= rows["n"] < 2000
    assert len(json.dumps(rows)) < 330_000


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.0, -128.0], "i1"),
        ([1.0, np.nan], "f4"),
        ([300.0], "i2"),
        ([70_000.0], "i4"),
        ([0.5], "f4"),
        ([0.1], "f8"),
        ([1e300, -0.25], "f8"),
    ],
)
def test_numbers_are_packed_exactly(values: list[float], kind: str) -> None:
    import base64

    made = packed(np.array(values))
    assert made["type"] == kind
    again = np.frombuffer(base64.b64decode(made["data"]), dtype=f"<{kind}").astype(float)
    assert np.array_equal(again, values, equal_nan=True)


def test_page_of_64_leaves_and_100000_rows_is_below_a_megabyte() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 16))
    y = rng.integers(0, 5, 100_000)
    model = CartClassifier(max_leaf_nodes=64, pruning=None).fit(X, y)
    page = report(model, X, y)
    assert model.get_n_leaves() == 64
    assert len(page.text) < 1_000_000


def test_training_rows_that_are_others_are_noticed(iris: Any) -> None:
    model, X, y = iris
    assert not any(
        "counted other" in note for note in Page(report(model, X, y).text).payload["notes"]
    )
    fewer = Page(report(model, X[:90], y[:90]).text).payload["notes"]
    assert any("counted other" in note for note in fewer)


def test_mixed_tables_say_levels_and_ranges() -> None:
    table, labels, _ = mixed_table()
    model = HHCartClassifier(pruning=None).fit(table, labels)
    columns = {c["name"]: c for c in Page(report(model, table, labels).text).payload["columns"]}
    assert columns["town"]["levels"] == ["Aa", "Bé", "C'c", 'D"d', "e;--"]
    assert columns["age"]["mayMiss"] and columns["floor"]["whole"]
    assert columns["age"]["low"] == table["age"].min()


def test_notebooks_get_a_frame_that_can_reach_nothing(iris: Any) -> None:
    shown = Page(report(*iris)._repr_html_())
    ((tag, attributes),) = shown.tags
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts allow-downloads"
    assert attributes["srcdoc"] == report(*iris).text


def test_saving_happens_completely_or_not_at_all(iris: Any, tmp_path: Path) -> None:
    page = report(*iris)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == page.text.encode()
    with pytest.raises(ModelFileIOError):
        page.save(tmp_path / "no folder" / "page.html")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"y": [0] * 10}, ValueError, "a row for each label"),
        ({"y": ["what"] * 150}, ValueError, "none of the tree's classes"),
        ({"X": None}, ValueError, "no X"),
        ({"X_test": NOTHING}, ValueError, "needs y_test"),
        ({"X": NOTHING, "y": []}, ValueError, "no rows|minimum of 1"),
        ({"X": NOTHING[["sepal length (cm)"]]}, ValueError, "feature names"),
        ({"max_rows": -1}, ValueError, "max_rows"),
        ({"max_rows": None}, TypeError, "max_rows"),
        ({"title": 3}, TypeError, "title"),
        ({"model": LogisticRegression()}, TypeError, "LogisticRegression"),
        ({"model": HHCartClassifier()}, NotFittedError, "not fitted"),
        ({"class_names": ["a"]}, ValueError, "class_names"),
    ],
)
def test_wrong_input_is_named(change: dict[str, Any], error: Any, words: str, iris: Any) -> None:
    given = dict(zip(("model", "X", "y"), iris, strict=True)) | change
    with pytest.raises(error, match=words):
        report(**given)


def test_file_of_a_model_gives_the_same_page(iris: Any, tmp_path: Path) -> None:
    from obliqua import load

    model, X, y = iris
    save(model, tmp_path / "m.obliqua")
    assert report(load(tmp_path / "m.obliqua"), X, y).text == report(model, X, y).text
