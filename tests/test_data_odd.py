"""Problems, models and files with odd columns: levels and missing values."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import obliqua
from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem, encode
from obliqua.data.table import read_table
from obliqua.prune.division import folds, hold_out
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.model import Model

NAN = float("nan")


def rows_of(Z: Any) -> list[list[float | None]]:
    """A matrix as lists, None where missing, so that == compares it."""
    return [[None if value != value else value for value in row] for row in np.asarray(Z).tolist()]


# --- problems ----------------------------------------------------------------------------


def test_a_problem_knows_its_odd_columns() -> None:
    X = [["a", 1.0, 2.0, None], ["b", None, 3.0, "z"], ["a", 1.0, 4.0, "z"]]
    problem = encode(read_table(X), [0, 1, 1], 2)
    assert problem.n_levels.tolist() == [2, 0, 0, 1]
    assert problem.n_levels.dtype == np.int32
    assert problem.has_missing.tolist() == [False, True, False, True]
    assert problem.coded.tolist() == [True, True, False, True]
    part = problem.take(np.array([True, False, True]))
    assert part.n_levels.tolist() == [2, 0, 0, 1]
    assert part.has_missing.tolist() == [False, True, False, True]


def test_plain_problems_have_none() -> None:
    made = encode(np.ones((3, 2)), [0, 1, 1], 2)
    by_hand = Problem(np.ones((3, 2)), made.target, None, 1.0, made.encoding)
    for problem in (made, by_hand, encode(read_table(np.ones((3, 2))), [0, 1, 1], 2)):
        assert problem.n_levels.tolist() == [0, 0]
        assert not problem.coded.any()
        assert problem.fills is None


def test_rows_without_weight_are_as_if_they_were_not_there() -> None:
    X = [["a", 1.0], ["b", None], ["c", 2.0], ["b", 3.0]]
    for weights in ([1, 0, 2, 0], [1, 0, 2, 1]):
        kept = [row for row, weight in zip(X, weights, strict=True) if weight]
        y = np.arange(len(kept)) % 2
        codes = np.zeros(4, dtype=int)
        codes[np.flatnonzero(weights)] = y
        before = read_table(X)
        there = encode(before, codes, 2, sample_weight=weights)
        alone = encode(read_table(kept), y, 2, sample_weight=[w for w in weights if w])
        assert there.encoding == alone.encoding
        np.testing.assert_array_equal(there.Z, alone.Z)
        assert there.n_levels.tolist() == alone.n_levels.tolist()
        assert there.has_missing.tolist() == alone.has_missing.tolist() == [False, False]
        assert rows_of(before.Z) == [[0, 1], [1, None], [2, 2], [1, 3]]


def test_means_of_the_training_rows() -> None:
    X = [[1.0, "a", NAN, 5.0], [NAN, "b", NAN, 6.0], [4.0, None, NAN, 7.0]]
    table = read_table(X)
    assert encode(table, [0, 1, 1], 2).fills is None
    fills = encode(table, [0, 1, 1], 2, sample_weight=[2, 1, 1], fill="training").fills
    assert fills is not None
    assert rows_of([fills]) == [[2.0, None, None, 5.75]]
    assert encode(np.ones((2, 1)), [0, 1], 2, fill="training").fills is None


def test_all_missing_values_are_equal_when_rows_are_divided() -> None:
    """0/0 and numpy.nan differ in their bits; rows that differ in nothing else are equal."""
    other = np.array([0xFFF8000000000001], dtype=np.uint64).view(np.float64)[0]
    Z = np.arange(40.0).repeat(2)[:, None] * [1.0, 0.0]
    Z[::2, 1], Z[1::2, 1] = np.nan, other
    y = np.zeros(80, dtype=np.int64)
    problem = encode(read_table(Z), y, 1)
    same = encode(read_table(np.where(np.isnan(Z), np.nan, Z)), y, 1)
    for seed in range(5):
        np.testing.assert_array_equal(
            hold_out(problem, 0.3, seed)[1], hold_out(same, 0.3, seed)[1]
        )
        np.testing.assert_array_equal(folds(problem, 4, seed)[1], folds(same, 4, seed)[1])


# --- models and files --------------------------------------------------------------------


def stump(levels: tuple[Any, ...], tables: list[float]) -> Model:
    """A model that asks about one qualitative column."""
    builder = TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.5, ("no", "yes"), fill={0: 0.0}, tables={0: tables})
    builder.set_leaf("no", [3, 1])
    builder.set_leaf("yes", [1, 3])
    encoding = Encoding((Column("a", "qualitative", levels), Column("b")))
    return Model((builder.build(),), "single", encoding, np.array(["no", "yes"]))


def test_a_model_reads_tables() -> None:
    model = stump(("red", "green"), [0.0, 1.0])
    frame = pd.DataFrame({"b": [1.0, 2.0, 3.0, 4.0], "a": ["green", "red", "blue", None]})
    rows = model.rows(frame)
    assert rows_of(rows) == [[1, 1], [0, 2], [-1, 3], [None, 4]]
    assert model.predict(rows).tolist() == ["yes", "no", "no", "no"]
    other = pl.DataFrame({"a": ["green", "red", "blue", None], "b": [1, 2, 3, 4]})
    assert rows_of(model.rows(other)) == rows_of(rows)


def test_a_model_without_stand_ins_refuses_missing_values() -> None:
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.5, ("no", "yes"))
    builder.set_leaf("no", [3, 1])
    builder.set_leaf("yes", [1, 3])
    model = Model((builder.build(),), "single", Encoding.identity(1), np.arange(2))
    with pytest.raises(ValueError, match="X contains NaN"):
        model.rows([[NAN]])


@pytest.mark.parametrize(
    "levels",
    [
        ("a", "b\n", "\u00e9 \U0001f600", ""),
        (-3, 0, 2**60, 2**60 + 1),
        (-0.5, 0.1, 1e300),
        (False, True),
        (None, 1, 1.5, True, "1"),
        (),
    ],
    ids=repr,
)
def test_files_keep_levels(levels: tuple[Any, ...]) -> None:
    model = stump(levels, [0.0, 1.0])
    file = BytesIO()
    obliqua.save(model, file)
    file.seek(0)
    for again in (obliqua.load(file), pickle.loads(pickle.dumps(model))):
        assert again == model
        kept = again.encoding.columns[0].levels
        assert list(map(type, kept)) == list(map(type, levels))
        present = [[level, 1.0] for level in levels if level is not None]
        if present and None not in levels:
            np.testing.assert_array_equal(again.rows(present), model.rows(present))
            assert again.rows(present)[:, 0].tolist() == list(range(len(levels)))


def test_pickles_hold_no_more_than_the_levels() -> None:
    model = stump(("red", "green"), [0.0, 1.0])
    before = pickle.dumps(model.encoding.columns)
    model.rows([["red", 1.0]])
    assert pickle.dumps(model.encoding.columns) == before
