"""Tables with levels and missing values: what becomes what, in a fit and at prediction."""

from __future__ import annotations

import pickle
from decimal import Decimal
from io import BytesIO
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import obliqua
from obliqua._core.rng import row_hashes
from obliqua._fills import column_means
from obliqua.data import Column, Encoding, Problem, encode, encoded_rows, read_table
from obliqua.model import Model
from obliqua.prune.division import folds, hold_out, take
from obliqua.tree import TreeBuilder

NAN = float("nan")


def rows_of(Z: Any) -> list[list[float | None]]:
    """A matrix as lists, None where missing, so that == compares it."""
    return [[None if value != value else value for value in row] for row in np.asarray(Z).tolist()]


def levels_of(X: Any, place: int = 0, **how: Any) -> tuple[Any, ...]:
    return read_table(X, **how).encoding.columns[place].levels


def column_of(entries: list[Any]) -> np.ndarray:
    """A column of any objects as a matrix of one column."""
    matrix = np.empty((len(entries), 1), dtype=object)
    matrix[:, 0] = entries
    return matrix


# --- what becomes what -------------------------------------------------------------------

MIXED = {
    "town": ["Rome", None, "Bonn", "Rome"],
    "age": [31, None, 18, 40],
    "member": [True, False, None, True],
    "income": [1.5, 2.0, NAN, 0.25],
}
EXPECTED = [[1, 31, 1, 1.5], [None, None, 0, 2.0], [0, 18, None, None], [1, 40, 1, 0.25]]


def mixed_frames() -> dict[str, Any]:
    plain = pd.DataFrame(MIXED)
    nullable = plain.convert_dtypes()
    assert str(nullable["age"].dtype) == "Int64"
    assert str(nullable["member"].dtype) == "boolean"
    polar = pl.DataFrame(MIXED)
    objects = np.empty((4, 4), dtype=object)
    objects[:] = list(zip(*MIXED.values(), strict=True))
    return {
        "pandas": plain,
        "pandas objects": plain.astype(object),
        "pandas nullable": nullable,
        "pandas category": plain.astype({"town": "category"}),
        "pandas old strings": plain.assign(town=pd.Series(MIXED["town"], dtype=object)),
        "polars": polar,
        "polars categorical": polar.with_columns(pl.col("town").cast(pl.Categorical)),
        "polars enum": polar.with_columns(pl.col("town").cast(pl.Enum(["Rome", "Oslo", "Bonn"]))),
        "objects": objects,
        "list": objects.tolist(),
        "tuples": tuple(map(tuple, objects.tolist())),
    }


@pytest.mark.parametrize("kind", mixed_frames())
def test_every_kind_of_table_gives_the_same(kind: str) -> None:
    table = read_table(mixed_frames()[kind], names=list(MIXED))
    assert rows_of(table.Z) == EXPECTED
    assert table.Z.dtype == np.float64
    town = Column("town", "qualitative", ("Bonn", "Rome"))
    others = [Column(name) for name in ("age", "member", "income")]
    assert table.encoding == Encoding((town, *others))
    assert table.has_missing.tolist() == [True] * 4
    # The same rows again get the same codes.
    again = encoded_rows(mixed_frames()[kind], table.encoding)
    assert rows_of(again) == EXPECTED


def test_names_come_from_the_frame() -> None:
    assert read_table(pd.DataFrame(MIXED)).encoding.names == tuple(MIXED)
    assert read_table(pl.DataFrame(MIXED)).encoding.names == tuple(MIXED)
    assert read_table(pd.DataFrame([["a", 1]])).encoding.names == ("x0", "x1")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [2.0, NAN])
def test_a_matrix_of_floats_is_not_copied(dtype: Any, value: float) -> None:
    X = np.array([[1.0, value], [3.0, 4.0]], dtype=dtype)
    for chosen in ("from_dtype", None):
        table = read_table(X, chosen)
        assert table.Z is X
        assert encode(table, [0, 1], 2, sample_weight=[1, 2]).Z is X
    assert encoded_rows(X, table.encoding) is X
    frame = pd.DataFrame(X)
    assert np.shares_memory(read_table(frame).Z, frame.to_numpy())


@pytest.mark.parametrize(
    ("entries", "levels", "codes"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (["a", "", "nan"], ("", "a", "nan"), [1, 0, 2]),
        (["é", "z", "Z"], ("Z", "z", "é"), [2, 1, 0]),
        (["a", None, NAN, pd.NA, pd.NaT], ("a",), [0, None, None, None, None]),
        (["10", 9, "9", 10.0], (9, 10, "10", "9"), [2, 0, 3, 1]),
        ([True, "a", False], (False, True, "a"), [1, 2, 0]),
        ([True, "a", 0, 1.0], (0, 1, "a"), [1, 2, 0, 1]),
        ([np.str_("b"), "a"], ("a", "b"), [1, 0]),
        ([Decimal("0.5"), "a", 0.5], (0.5, "a"), [0, 1, 0]),
        ([None, None], (), [None, None]),
    ],
)
def test_levels(entries: list[Any], levels: tuple[Any, ...], codes: list[Any]) -> None:
    for order in (slice(None), slice(None, None, -1)):
        table = read_table(column_of(entries[order]))
        (column,) = table.encoding.columns
        assert column.kind == "qualitative"
        assert column.levels == levels
        assert list(map(type, column.levels)) == list(map(type, levels))
        assert rows_of(table.Z) == [[code] for code in codes[order]]


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (np.array([3, 1, 3]), (1, 3)),
        (np.array([0.5, -0.0, 0.0, NAN]), (0, 0.5)),
        (np.array([2**60, 2**60 + 1]), (2**60, 2**60 + 1)),
        (np.array([1e300, 2.0]), (2, 1e300)),
        (np.array([True, False]), (False, True)),
        (pd.Series([2, None], dtype="Int64"), (2,)),
        (pd.Series([True, None], dtype="boolean"), (1,)),
        (pl.Series([True, None, False]), (False, True)),
        (pl.Series([3, None, 1]), (1, 3)),
        (pd.Series([2.5, 1.0], dtype="category"), (1, 2.5)),
    ],
    ids=str,
)
def test_numbers_become_levels_by_value(column: Any, levels: tuple[Any, ...]) -> None:
    if isinstance(column, np.ndarray):
        frame: Any = column[:, None]
    else:
        frame = (pd if isinstance(column, pd.Series) else pl).DataFrame({"a": column})
    table = read_table(frame, [0])
    (known,) = table.encoding.columns
    assert (known.kind, known.levels) == ("qualitative", levels)
    np.testing.assert_array_equal(encoded_rows(frame, table.encoding), table.Z)
    assert set(table.Z[~np.isnan(table.Z)].tolist()) == set(range(len(levels)))


def test_equal_numbers_are_one_level() -> None:
    encoding = read_table(np.array([[1], [2]]), [0]).encoding
    for same in ([[1.0]], [[True]], [[Decimal(1)]], [[np.float32(1)]]):
        assert encoded_rows(column_of(same[0]), encoding).tolist() == [[0.0]]


def test_categories_without_rows_are_left_out() -> None:
    series = pd.Series(pd.Categorical(["b", "d", None], categories=["e", "d", "c", "b", "a"]))
    table = read_table(pd.DataFrame({"a": series}))
    assert table.encoding.columns[0].levels == ("b", "d")
    assert rows_of(table.Z) == [[0], [1], [None]]


def test_a_category_of_numbers_can_be_read_as_numbers() -> None:
    frame = pd.DataFrame({"a": pd.Series([10, 2, None], dtype="category")})
    assert levels_of(frame) == (2, 10)
    assert rows_of(read_table(frame, None).Z) == [[10], [2], [None]]


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (pd.DataFrame({"a": [None, None]}), "qualitative"),
        (pd.DataFrame({"a": [NAN, NAN]}), "numeric"),
        (pd.DataFrame({"a": pd.Series([None, None], dtype="str")}), "qualitative"),
        (pd.DataFrame({"a": pd.Series([None, None], dtype="category")}), "qualitative"),
        (pd.DataFrame({"a": pd.Series([None, None], dtype="Int64")}), "numeric"),
        (pl.DataFrame({"a": [None, None]}), "qualitative"),
        (pl.DataFrame({"a": [None, None]}, schema={"a": pl.String}), "qualitative"),
        (pl.DataFrame({"a": [None, None]}, schema={"a": pl.Float64}), "numeric"),
        ([[None], [None]], "qualitative"),
        (np.array([[NAN], [NAN]]), "numeric"),
    ],
)
def test_a_column_that_is_all_missing_is_kept(X: Any, kind: str) -> None:
    problem = encode(read_table(X), [0, 1], 2)
    assert problem.encoding.columns[0].kind == kind
    assert problem.encoding.columns[0].levels == ()
    assert problem.n_levels.tolist() == [0]
    assert problem.has_missing.tolist() == [True]
    assert np.isnan(problem.Z).all()
    # What comes later is unknown to it.
    later = encoded_rows([["a"]] if kind == "qualitative" else [[1.0]], problem.encoding)
    assert later.tolist() == [[-1.0]] if kind == "qualitative" else [[1.0]]


def test_ten_thousand_levels() -> None:
    rng = np.random.default_rng(0)
    codes = np.concatenate([rng.permutation(10_000), rng.integers(0, 10_000, 10_000)])
    names = np.array([f"level {code:05}" for code in range(10_000)], dtype=object)
    expected = codes.astype(float)[:, None]
    for frame in (
        pd.DataFrame({"a": names[codes]}),
        pd.DataFrame({"a": pd.Categorical(names[codes])}),
        pl.DataFrame({"a": names[codes].tolist()}),
        names[codes][:, None],
    ):
        table = read_table(frame)
        assert table.encoding.columns[0].levels == tuple(names)
        np.testing.assert_array_equal(table.Z, expected)
        np.testing.assert_array_equal(encoded_rows(frame, table.encoding), expected)


# --- which columns -----------------------------------------------------------------------

THREE = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [3.0, 3.0]})


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("from_dtype", "b"),
        (["b"], "b"),
        (["c", "b"], "bc"),
        ([1, 0], "ab"),
        ([-1, 1], "bc"),
        ((1,), "b"),
        (np.array([1]), "b"),
        (pd.Index(["b", "a"]), "ab"),
        ([True, True, False], "ab"),
        (np.array([False, True, False]), "b"),
        (pd.Series([True, True, True]), "abc"),
    ],
    ids=str,
)
def test_choosing_columns(chosen: Any, expected: str) -> None:
    for frame in (THREE, pl.DataFrame(THREE.to_dict("list"))):
        columns = read_table(frame, chosen).encoding.columns
        assert "".join(c.name for c in columns if c.kind == "qualitative") == expected


@pytest.mark.parametrize("chosen", [None, [], np.array([], dtype=bool), ["a"], [0], [True, False]])
def test_text_that_is_not_chosen_is_refused_by_name(chosen: Any) -> None:
    frame = THREE[["a", "b"]]
    with pytest.raises(
        ValueError, match=r"Column 'b' holds text, 'x' for instance, and .*drop it"
    ):
        read_table(frame, chosen)
    with pytest.raises(ValueError, match="Column 1 holds text"):
        read_table(frame.to_numpy(dtype=object), chosen if chosen is None else [0])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("b", "'from_dtype', None, or a list of names, of positions or of bools; got 'b'"),
        (1, "must be 'from_dtype', None, or a list"),
        (["d"], "asks for the column 'd', and X has none of this name; it has 'a', 'b', 'c'"),
        ([3], "asks for column 3, and X has 3 columns, numbered from 0 to 2"),
        ([-4], "asks for column -4"),
        ([True, False], "a bool for each column of X; got 2 for 3 columns"),
        (["b", 1], r"a list of names, of positions or of bools; got \['b', 1\]"),
        ([1.5], "must be 'from_dtype'"),
        ([[0], [1]], "must be 'from_dtype'"),
    ],
)
def test_bad_choices(chosen: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_table(THREE, chosen)


def test_names_need_names_that_are_different() -> None:
    with pytest.raises(ValueError, match="'b', and the columns of X have no names"):
        read_table(THREE.to_numpy(dtype=object), ["b"])
    twice = THREE.set_axis(["a", "a", "c"], axis=1)
    with pytest.raises(ValueError, match="the column 'a', and 2 columns of X have this name"):
        read_table(twice, ["a"])
    columns = read_table(twice).encoding.columns
    assert [(column.name, column.kind) for column in columns] == [
        ("a", "numeric"),
        ("a", "qualitative"),
        ("c", "numeric"),
    ]


# --- what is refused ---------------------------------------------------------------------


def times() -> pd.DataFrame:
    return pd.DataFrame({"n": [1, 2], "when": pd.to_datetime(["2020-01-01", "2021-01-01"])})


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (times(), ValueError, "Column 'when' has the type datetime64.*days since"),
        (pl.DataFrame({"d": times()["when"].tolist()}), ValueError, "'d' has the type Datetime"),
        (times().assign(when=lambda f: f["when"].diff()), ValueError, "'when' has the type timed"),
        (times().astype({"when": object}), TypeError, "'when' holds an object of type Timestamp"),
        (times().astype({"when": "category"}), TypeError, "'when' holds an object of type Timest"),
        (pd.DataFrame({"a": [[1], "b"]}), TypeError, "'a' holds an object of type list"),
        (pl.DataFrame({"a": [[1], [2]]}), TypeError, "'a' holds an object of type"),
        (pd.DataFrame({"a": [b"x", "b"]}), TypeError, "'a' holds an object of type bytes"),
        (pd.DataFrame({"a": [1j, "b"]}), TypeError, "'a' holds an object of type complex"),
        (pd.DataFrame({"a": ["b", "c"], "x": [1.0, np.inf]}), ValueError, "row 1, column 'x'"),
        (column_of([1, -np.inf, None]), ValueError, "infinity, first in row 1, column 0"),
        (column_of(["a", np.inf]), ValueError, "Column 0 contains infinity"),
        (column_of([None, 10**400]), ValueError, "Column 0 holds a number that is too large"),
        (np.array([[1.0], [np.inf]]), ValueError, "infinity, first in row 1, column 0"),
        (pl.DataFrame(MIXED).lazy(), ValueError, r"lazy frame of polars. Use X.collect\(\)"),
        (pd.DataFrame({"a": []}, dtype=str), ValueError, "got 0 rows and 1 columns"),
        (np.array([b"a", b"b"])[:, None], ValueError, "must hold real numbers; got dtype"),
        ([["a"], ["b", 1]], ValueError, "."),
    ],
)
def test_refused_tables(X: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read_table(X)


def test_missing_values_can_be_refused() -> None:
    for X in ([["a"], [None]], [[1.0], [NAN]], pd.DataFrame({"a": ["b", None]})):
        with pytest.raises(ValueError, match="X contains NaN, first in row 1, column"):
            read_table(X, missing=False)
        encoding = read_table(X).encoding
        with pytest.raises(ValueError, match="X contains NaN, first in row 1, column"):
            encoded_rows(X, encoding, missing=False)


# --- rows at prediction ------------------------------------------------------------------


def test_unseen_and_missing_levels() -> None:
    encoding = read_table([["b", 1.0], ["a", 2.0]]).encoding
    rows = [["a", 5.0], ["c", None], [None, 1.0], ["b", NAN]]
    assert rows_of(encoded_rows(rows, encoding)) == [[0, 5], [-1, None], [None, 1], [1, None]]


@pytest.mark.parametrize(
    ("fitted", "later", "message"),
    [
        (["10", "x1"], [10, 11], "held text when .*, and holds numbers now, 10 for instance"),
        ([10, 11], ["10", None], "held numbers when .*, and holds text now, '10' for instance"),
    ],
)
def test_levels_that_changed_their_type_are_refused(
    fitted: list[Any], later: list[Any], message: str
) -> None:
    encoding = read_table(column_of(fitted), [0]).encoding
    with pytest.raises(ValueError, match=message):
        encoded_rows(column_of(later), encoding)
    # A column with both is no mistake, nor is one in which everything is missing.
    both = read_table(column_of([*fitted, *later]), [0]).encoding
    assert np.all(encoded_rows(column_of(later), both)[:1] >= 0)
    assert np.isnan(encoded_rows([[NAN]], encoding)).all()


def test_text_in_a_numeric_column_is_refused() -> None:
    encoding = read_table(pd.DataFrame({"a": [1.0, 2.0]})).encoding
    with pytest.raises(ValueError, match=r"Column 'a' holds text, 'low' .*held numbers when the"):
        encoded_rows(pd.DataFrame({"a": ["low"]}), encoding)


def test_another_number_of_columns_is_refused() -> None:
    encoding = read_table([["a", 1.0]]).encoding
    with pytest.raises(ValueError, match="must have the 2 columns x0, x1; got 3"):
        encoded_rows([["a", 1.0, 2.0]], encoding)


entry = st.one_of(
    st.none(),
    st.just(NAN),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_infinity=False),
    st.text(max_size=3),
)


@given(st.lists(entry, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_codes_stand_for_their_levels(entries: list[Any], random: Any) -> None:
    table = read_table(column_of(entries), [0])
    levels = table.encoding.columns[0].levels
    for value, code in zip(entries, table.Z[:, 0].tolist(), strict=True):
        if value is None or value != value:
            assert code != code
        else:
            assert levels[int(code)] == value
    assert len(set(levels)) == len(levels)
    # Every level is used, and the order of the rows does not matter.
    assert {code for code in table.Z[:, 0].tolist() if code == code} == set(range(len(levels)))
    order = list(range(len(entries)))
    random.shuffle(order)
    other = read_table(column_of([entries[place] for place in order]), [0])
    assert other.encoding == table.encoding
    assert list(map(type, other.encoding.columns[0].levels)) == list(map(type, levels))
    np.testing.assert_array_equal(other.Z, table.Z[order])
    np.testing.assert_array_equal(encoded_rows(column_of(entries), table.encoding), table.Z)


@given(st.lists(st.text("abc", max_size=2), min_size=1, max_size=12))
def test_relabelled_levels_are_the_same_rows(entries: list[str]) -> None:
    """A one-to-one change of names that keeps the order changes nothing but the names."""
    table = read_table(column_of(entries))
    other = read_table(column_of([f"> {text}" for text in entries]))
    np.testing.assert_array_equal(table.Z, other.Z)
    assert [f"> {level}" for level in levels_of(column_of(entries))] == list(
        other.encoding.columns[0].levels
    )


# --- problems ----------------------------------------------------------------------------


def test_a_problem_knows_its_odd_columns() -> None:
    X = [["a", 1.0, 2.0, None], ["b", None, 3.0, "z"], ["a", 1.0, 4.0, "z"]]
    problem = encode(read_table(X), [0, 1, 1], 2)
    assert problem.n_levels.tolist() == [2, 0, 0, 1]
    assert problem.n_levels.dtype == np.int32
    assert problem.has_missing.tolist() == [False, True, False, True]
    assert problem.odd.tolist() == [True, True, False, True]
    part = take(problem, np.array([True, False, True]))
    assert part.n_levels.tolist() == [2, 0, 0, 1]
    assert part.has_missing.tolist() == [False, True, False, True]


def test_plain_problems_have_none() -> None:
    made = encode(np.ones((3, 2)), [0, 1, 1], 2)
    by_hand = Problem(np.ones((3, 2)), made.y, None, 1.0, 2, made.encoding)
    for problem in (made, by_hand, encode(read_table(np.ones((3, 2))), [0, 1, 1], 2)):
        assert problem.n_levels.tolist() == [0, 0]
        assert not problem.odd.any()
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


@given(
    st.lists(
        st.tuples(st.floats(allow_infinity=False, width=32), st.integers(1, 5)),
        min_size=1,
        max_size=9,
    ),
    st.randoms(use_true_random=False),
)
@example([(0.1, 3), (0.1, 2)], Random(0))
@example([(1.7e308, 3), (1.7e308, 2)], Random(0))
def test_means_are_exact(rows: list[tuple[float, int]], random: Any) -> None:
    values, weights = (np.array(part) for part in zip(*rows, strict=True))
    repeated = np.repeat(values, weights).tolist()
    random.shuffle(repeated)
    weighted = column_means(values[:, None], weights.astype(np.int64))
    np.testing.assert_array_equal(weighted, column_means(np.array(repeated)[:, None], None))
    present = values[~np.isnan(values)]
    if len(present):
        assert present.min() <= weighted[0] <= present.max()
    else:
        assert np.isnan(weighted[0])


def test_all_missing_values_are_equal_when_rows_are_divided() -> None:
    """0/0 and numpy.nan differ in their bits; rows that differ in nothing else stay together."""
    other = np.array([0xFFF8000000000001], dtype=np.uint64).view(np.float64)[0]
    Z = np.arange(40.0).repeat(2)[:, None] * [1.0, 0.0]
    Z[::2, 1], Z[1::2, 1] = np.nan, other
    y = np.zeros(80, dtype=np.int64)
    bits = row_hashes(Z, y, 1)
    problem = encode(read_table(Z), y, 1)
    for seed in range(5):
        held, fold = hold_out(problem, 0.3, seed), folds(problem, 4, seed)
        np.testing.assert_array_equal(held[::2], held[1::2])
        np.testing.assert_array_equal(fold[::2], fold[1::2])
        same = encode(read_table(np.where(np.isnan(Z), np.nan, Z)), y, 1)
        np.testing.assert_array_equal(hold_out(same, 0.3, seed), held)
    assert len(bits) == 80


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
