"""Rows and points: what `Domain.codes`, `codes_of_table` and `value` take and refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discrete_trees import random_case
from obliqua import C45Classifier
from obliqua.spectrum import Domain, Feature, LeafSum, leaf_sum_of, spectrum_of

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
DOMAIN = Domain.of_levels([2, 2])
LETTERS = Domain((Feature("c", "levels", ("x", "y", "z")), Feature("v", "values", (5.0, 10.0))))
TREE = C45Classifier().fit(X, X[:, 0]).tree_
SPECTRUM, LEAVES = spectrum_of(TREE, DOMAIN), leaf_sum_of(TREE, DOMAIN)
TABLE: dict[str, Any] = {"c": ["y", "z", None, "w"], "v": [5, 10, 5, 7]}
FRAME = pd.DataFrame(TABLE)


# --- rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (FRAME, r"'c' holds what is no number, 'y' for instance.*Domain\.codes_of_table"),
        (FRAME.astype({"c": "category"}), r"'c' holds .*'y'"),
        ([["y", 5], ["z", 10]], r"'c' holds .*'y'.*codes_of_table"),
        ([["1", 5], ["2", 10]], "'c' holds .*'1'"),
        (np.array([["1", 5]], dtype=object), "'c' holds .*'1'"),
        (np.array([[{}, 5]], dtype=object), "'c' holds .*{}"),
        (np.array([[1j, 5]]), "'c' holds .*1j"),
        ([[1, 2], [3]], "same length"),
        ([1, 2], r"shape \(2,\)"),
    ],
    ids=str,
)
def test_rows_that_no_tree_walks(rows: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LETTERS.codes(rows)


def test_rows_of_objects_are_read() -> None:
    rows = np.array([[1, 5.0], [None, 10]], dtype=object)
    assert LETTERS.codes(rows).tolist() == [[1, 0], [-1, 1]]
    assert LETTERS.codes(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    "table",
    [
        FRAME,
        FRAME.astype({"c": "category"}),
        pl.DataFrame(TABLE),
        FRAME.to_numpy(dtype=object),
        [["y", 5], ["z", 10.0], [None, 5], ["w", 7]],
    ],
    ids=["pandas", "categories", "polars", "objects", "lists"],
)
def test_codes_of_a_table(table: Any) -> None:
    assert LETTERS.codes_of_table(table).tolist() == [[1, 0], [2, 1], [-1, 0], [-1, -1]]


def test_codes_of_a_table_are_those_of_the_trees() -> None:
    frame = pd.DataFrame(
        {"sky": ["sun", "rain", "fog"] * 20, "wind": [0, 1] * 30, "on": [True, False, True] * 20}
    )
    y = (frame["sky"] == "fog") | (frame["wind"] == 1)
    model = C45Classifier().fit(frame, y)
    for domain in (
        Domain.of_table(frame),
        Domain.of_trees(model.tree_, model.model_.encoding),
    ):
        codes = domain.codes_of_table(frame)
        for make in (spectrum_of, leaf_sum_of):
            found = make(model.tree_, domain, "votes").value(codes)[:, 1]
            np.testing.assert_allclose(found, model.predict(frame), atol=1e-14)
    numbers = Domain.of_levels([2, 2])
    assert numbers.codes_of_table(X).tolist() == numbers.codes(X).tolist() == X.tolist()
    nothing = Domain.of_table([[None, 1], [None, 2]])
    assert nothing.codes_of_table([["a", 1], [None, 3]]).tolist() == [[-1, 0], [-1, -1]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (FRAME[["v", "c"]], r"order of the domain, c, v; got v, c\. Use X\[list"),
        (FRAME[["c"]], "2 columns c, v; got 1"),
        ([[1, 5], [2, 10]], "held text when the domain was made, and holds numbers now"),
        ([["y", "5"]], "holds text, '5'.*when the domain was made"),
        ([["y", np.inf]], "infinity"),
        ([], "X must have two dimensions"),
    ],
    ids=str,
)
def test_tables_of_other_columns(table: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LETTERS.codes_of_table(table)


# --- values of both kinds of functions -------------------------------------------------------


@pytest.mark.parametrize("function", [SPECTRUM, LEAVES], ids=["spectrum", "leaves"])
@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([["a", "b"]], r"whole numbers; Domain\.codes.*codes_of_table"),
        ([["0", "1"]], r"whole numbers.*Got \[\['0', '1'\]\]"),
        (np.array([[{}, 1]], dtype=object), "whole numbers"),
        ([[0.5, 1.0]], "whole numbers"),
        ([[np.nan, 1.0]], "whole numbers"),
        ([[0, 1], [0]], "same length"),
        ([0, 1], r"2 levels; got an array of shape \(2,\)"),
        ([[0]], r"shape \(1, 1\)"),
        ([[0, 1], [0, 2]], "Feature 1 has 2 levels, numbered from 0; row 1 has 2"),
        ([[-2, 1]], "row 0 has -2"),
        ([[1e30, 1]], r"row 0 has 1e\+30"),
        ([[np.inf, 1]], "row 0 has inf"),
        (np.array([[2**64 - 1, 0]], dtype=np.uint64), "row 0 has 18446744073709551615"),
    ],
    ids=str,
)
def test_points(function: Any, codes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function.value(codes)


@pytest.mark.parametrize("seed", range(10))
def test_values_of_leaves_are_those_of_the_spectrum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, domain, values = random_case(seed)
    rng = np.random.default_rng(seed)
    # Levels from -1, not known, on.
    codes = rng.integers(-1, domain.cardinalities, (60, domain.n_features))
    expected = spectrum_of(tree, domain, values).value(codes)
    leaves = leaf_sum_of(tree, domain, values)
    for block in (2**22, 1):
        monkeypatch.setattr("obliqua.spectrum.boxes._BLOCK", block)
        np.testing.assert_allclose(leaves.value(codes), expected, rtol=0, atol=1e-13)
    unknown = leaves.value(np.full((1, domain.n_features), -1))
    np.testing.assert_allclose(unknown, [leaves.mean], rtol=0, atol=1e-13)


def test_values_at_no_points_and_of_constants() -> None:
    assert LEAVES.value(np.zeros((0, 2))).shape == (0, 2)
    constant = LeafSum(DOMAIN, np.array([[2.0], [1.0]]), {})
    assert constant.value([[0, 1], [-1, -1]]).tolist() == [[3.0], [3.0]]
    nothing = LeafSum(DOMAIN, np.zeros((0, 1)), {})
    assert nothing.value([[True, False]]).tolist() == [[0.0]]
