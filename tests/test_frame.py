"""A tree as a table: a row per node, columns of one type each."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import MissingDependency, Tree
from problems import examples
from strategies import trees
from trees_to_read import NASTY, mixed, nasty, oblique, single

NAMES = (["age", "bmi"], ["healthy", "ill"])


def test_a_small_tree() -> None:
    frame = oblique().to_frame(*NAMES)
    assert frame.columns.tolist() == [
        *("node", "parent", "depth", "side", "kind", "question", "n_features", "rows", "weight"),
        *("class", "share", "gain", "axis_gain", "gain_over_axis", "origin"),
        *("count_healthy", "count_ill"),
    ]
    assert frame["parent"].tolist() == [pd.NA, 0, 0, 1, 1, 4, 4]
    assert frame["side"].tolist()[1:] == ["left", "right"] * 3
    assert frame["question"].tolist()[:2] == ["age + 0.37*bmi <= 45", "age <= 40"]
    assert frame["question"].isna().tolist() == frame["kind"].eq("leaf").tolist()
    assert frame["n_features"].tolist() == [2, 1, 0, 0, 1, 0, 0]
    assert frame["rows"].tolist() == [100, 59, 41, 51, 8, 4, 4]
    assert frame["class"].tolist()[:3] == ["healthy", "healthy", "ill"]
    assert frame["share"].tolist()[:2] == pytest.approx([0.55, 53 / 59])
    assert frame["gain_over_axis"][0] == pytest.approx(0.05)
    assert np.isnan(frame["gain"][2]) and frame["gain"][4] == 0.0
    assert frame["origin"].tolist()[0] == "mean of\nclasses" and frame["origin"][2] is pd.NA
    np.testing.assert_array_equal(frame[["count_healthy", "count_ill"]], oblique().stats)


def test_all_kinds_of_nodes() -> None:
    frame = mixed().trees[0].to_frame(["colour", "size"], list("xyz"), "polars")
    assert frame["kind"].to_list()[:4] == ["levels", "leaf", "machine", "hyperplane"]
    note = "score(colour): code 2 0.75, code 0 -0.5, any other level 0, missing -0.5"
    assert frame["question"].to_list()[:4] == [
        "which colour?",
        None,
        "largest of: 2*size - 1; -size + 3; -0.5",
        f"size + score(colour) >= -0.25 [{note}]",
    ]
    known = mixed().trees[0].to_frame(mixed().encoding, list("xyz"), "polars")
    assert "[score(colour): blue 0.75, red -0.5, any" in known["question"][3]
    assert frame["side"].to_list()[:5] == [None, "branch 0", "branch 1", "branch 2", "branch 0"]
    assert frame["n_features"].to_list()[:4] == [1, 0, 1, 2]
    assert frame["share"][-1] is None and frame["weight"][-1] == 0.0


@examples(60)
@given(trees(), st.sampled_from(["pandas", "polars"]))
def test_types(tree: Tree, library: str) -> None:
    frame = tree.to_frame(library=library)
    assert len(frame) == tree.n_nodes
    number = {"rows", "node", "depth", "n_features"}
    text = {"side", "kind", "question", "class", "origin"}
    for name in frame.columns:
        got = str(frame[name].dtype)
        if name in number:
            assert got in ("int64", "Int64")
        elif name == "parent":
            assert got == "Int64"
        elif name in text:
            assert got in ("string", "String")
        else:
            assert got in ("float64", "Float64")
    if library == "polars":
        assert frame["axis_gain"].null_count() == np.isnan(tree.axis_gain).sum()
        assert not any(frame[name].is_nan().any() for name in ("gain", "share", "axis_gain"))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names(library: str) -> None:
    frame = nasty().to_frame(NASTY, NASTY, library)
    assert len(set(frame.columns)) == len(frame.columns) == 15 + len(NASTY)
    assert "count_two\nlines" in frame.columns and "count_half \\ud800" in frame.columns
    question = frame["question"][0]
    assert "`two\\nlines`" in question and "same [10] + same [11]" in question
    assert "half \\ud800" in list(frame["class"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_classes_whose_names_are_equal_once_escaped_stay_apart(library: str) -> None:
    frame = single([1.0, 2.0]).to_frame(["x"], ["\ud800", "\\ud800"], library)
    assert [frame[f"count_\\ud800 [{k}]"][0] for k in (0, 1)] == [1.0, 2.0]
    assert frame["class"][0] == "\\ud800 [1]"


def test_what_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="library must be 'pandas' or 'polars'; got 'excel'"):
        oblique().to_frame(library="excel")
    with pytest.raises(ValueError, match="each of the 2 columns; got 1 names"):
        oblique().to_frame(["age"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependency, match=r"pandas frame needs .* pip install pandas$"):
        oblique().to_frame()
