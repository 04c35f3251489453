"""Tables with levels and missing values: what becomes what, in a fit and at prediction."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import encode
from obliqua.data.table import encoded_rows, read_table
from problems import examples

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
        ([False, "a", 0], (0, "a"), [0, 1, 0]),
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
        (pl.Series([Decimal("2.50"), None, Decimal("1.00")]), (1, 2.5)),
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
        (times().rename(columns={"when": 0}), ValueError, "Column .* datetime64.*days since"),
        (pl.DataFrame({"d": [[1], [2]]}), TypeError, "'d' holds an object of type ndarray"),
        (
            times()[["when"]].diff().set_axis([0], axis=1),
            ValueError,
            "Column 0 has the type timed",
        ),
        (times().astype(object).set_axis([0, 1], axis=1), TypeError, "object of type Timestamp"),
        (times().astype({"when": "category"}), TypeError, "'when' holds an object of type Timest"),
        (pd.DataFrame({"a": [[1], "b"]}), TypeError, "'a' holds an object of type list"),
        (pl.DataFrame({"a": [[1], [2]]}), TypeError, "'a' holds an object of type"),
        (pd.DataFrame({"a": pd.cut([1, 2], 2)}), TypeError, "holds an object of type Interval"),
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


@examples(100)
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


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_long_integers_keep_their_digits_beside_a_gap(kind: str) -> None:
    ids = [1234567890123456000 + k for k in range(4)]
    make = {
        "pandas": lambda values: pd.DataFrame({"id": pd.array(values, dtype="Int64")}),
        "polars": lambda values: pl.DataFrame({"id": values}, schema={"id": pl.Int64}),
    }[kind]
    table = read_table(make([*ids, None]), ["id"])
    assert table.encoding.columns[0].levels == tuple(ids)
    np.testing.assert_array_equal(table.Z[:, 0], [0, 1, 2, 3, np.nan])
    new = encoded_rows(make([ids[2], None]), table.encoding)
    np.testing.assert_array_equal(new[:, 0], [2, np.nan])
    assert read_table(make([*ids, None])).Z[0, 0] == float(ids[0])


def test_numbers_of_pandas_own_types_may_be_missing() -> None:
    """Nothing is qualitative here, so the frame is read as a matrix; NA is no number to NumPy."""
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None], dtype="Int64"),
            "b": pd.array([None, 0.5], dtype="Float64"),
            "c": pd.array([True, None], dtype="boolean"),
            "d": [3.0, 4.0],
        }
    )
    expected = [[1.0, None, 1.0, 3.0], [None, 0.5, None, 4.0]]
    table = read_table(frame)
    assert rows_of(table.Z) == expected
    assert table.has_missing.tolist() == [True, True, True, False]
    assert rows_of(encoded_rows(frame, table.encoding)) == expected
    with pytest.raises(ValueError, match=r"row 0, column 1\. .* that read_table makes of X"):
        encode(frame, [0, 1], 2)
    assert encode(table, [0, 1], 2).has_missing.tolist() == [True, True, True, False]
