"""`pool_rare_levels`: which levels count as one."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from obliqua.data import Column, Encoding, encoded_rows, pool_rare_levels, read_table


def pooled(column: list[Any], weights: Any = None) -> tuple[Column, np.ndarray, tuple[str, ...]]:
    table = read_table([[entry] for entry in column], [0])
    found, notes = pool_rare_levels(table, None if weights is None else np.asarray(weights, float))
    return found.encoding.columns[0], found.Z[:, 0], notes


def test_codes_and_levels() -> None:
    column, codes, notes = pooled(["b"] * 20 + ["a"] * 21 + [None] + [f"z{k}" for k in range(30)])
    assert column.levels == ("a", "b", "other levels")
    assert column.others
    np.testing.assert_array_equal(codes, [1] * 20 + [0] * 21 + [np.nan] + [2] * 30)
    assert len(notes) == 1
    assert notes[0] == (
        "Column 'x0' has 32 levels in 71 rows: so many tell rows apart and say little of new "
        "ones. Of them, the 30 with fewer than 20 rows count as one. Drop the column, or turn "
        "what it holds into numbers, a date for instance into days, or into fewer levels."
    )


@pytest.mark.parametrize(
    ("column", "touched"),
    [
        ([f"z{k}" for k in range(10)], False),  # few levels
        ([f"z{k}" for k in range(11)], True),
        ([f"z{k % 11}" for k in range(111)], False),  # more than ten rows per level
        ([f"z{k % 11}" for k in range(110)], True),
        ([k % 11 for k in range(110)], True),  # numbers as levels
        ([None] * 50 + [f"z{k % 11}" for k in range(110)], True),  # gaps are no rows of a level
        ([None] * 50, False),
    ],
)
def test_which_columns_are_touched(column: list[Any], touched: bool) -> None:
    table = read_table([[entry] for entry in column], [0])
    before = table.Z.copy()
    found, notes = pool_rare_levels(table)
    assert (found is not table) == bool(notes) == touched
    np.testing.assert_array_equal(table.Z, before)  # a copy is changed


def test_weights_count_as_rows() -> None:
    keys = [f"z{k}" for k in range(12)]
    assert pooled(keys, [10] * 11 + [11])[2] == ()
    assert pooled(keys, [9] * 11 + [20])[0].levels == ("z11", "other levels")
    assert pooled(keys, [0.5] * 12)[0].levels == ("other levels",)  # as if their mean were 1
    assert pooled(keys, [0.5, 1e300] + [0.5] * 10)[0].levels == ("other levels",)
    assert pooled(keys, [0, 0] + [1] * 10)[2] == ()  # ten levels that are there
    assert pooled(keys, [0] * 12)[2] == ()  # refused later


def test_a_level_with_the_name_of_the_others_is_one_of_them() -> None:
    column, codes, _ = pooled(["other levels"] * 30 + ["b"] * 20 + [f"z{k}" for k in range(30)])
    assert column.levels == ("b", "other levels")
    assert codes.tolist() == [1] * 30 + [0] * 20 + [1] * 30


def test_levels_that_are_not_named_are_read_as_the_others() -> None:
    known, _, _ = pooled([7] * 20 + list(range(100, 130)))
    assert known.levels == (7, "other levels")
    assert known.text is False
    assert encoded_rows([[7], [8], [None]], Encoding((known,)))[:, 0].tolist()[:2] == [0, 1]
    with pytest.raises(ValueError, match="held numbers when the tree was fitted"):
        encoded_rows([["seven"]], Encoding((known,)))
    every, _, _ = pooled([f"z{k}" for k in range(30)])
    assert every.text is None
    assert encoded_rows([["z3"], ["new"]], Encoding((every,)))[:, 0].tolist() == [0, 0]


def test_encodings_keep_the_others() -> None:
    column = Column("town", "qualitative", ("Bonn", "other levels"), others=True)
    encoding = Encoding((column, Column("age")))
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    assert encoding.to_dict()["columns"][0]["others"] is True
    assert "others" not in encoding.to_dict()["columns"][1]
    assert pickle.loads(pickle.dumps(column)) == column
    assert column != Column("town", "qualitative", ("Bonn", "other levels"))
    assert (column.code("Bonn"), column.code("Rome")) == (0, 1)
    with pytest.raises(ValueError, match="others of column 'town' must be True or False"):
        Column("town", "qualitative", (), others=True)
    with pytest.raises(ValueError, match="got 'yes' for 1 levels"):
        Column("town", "qualitative", ("Bonn",), others="yes")
