"""Columns of numbers and of categories: found out, given, and read as a model knows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import obliqua
from cli_tools import Run, facts, people
from obliqua.data.encoding import Column
from obliqua.tree.builder import TreeBuilder

FIT = ("-t", "y", "-m", "cart", "--set", "pruning=none", "-o", "m.obliqua")


def columns(path: str = "m.obliqua") -> dict[str, Column]:
    return {column.name: column for column in obliqua.load(path).model_.encoding.columns}


def kinds(run: Run, text: str, *words: str) -> dict[str, str]:
    """Fit to a table; what the columns have become."""
    Path("t.csv").write_text(text)
    run("fit", "t.csv", *FIT, *words)
    return {name: column.kind for name, column in columns().items()}


def one(values: list[str]) -> str:
    """A table with these values in a column a, and classes."""
    return "a,y\n" + "".join(f"{value},{'pq'[k % 2]}\n" for k, value in enumerate(values))


# --- fitting -----------------------------------------------------------------------------


def test_the_model_is_the_one_that_the_library_fits(run: Run) -> None:
    Path("t.csv").write_text(people())
    result = run("fit", "t.csv", "-t", "y", "-m", "hhcart-d", "-o", "m.obliqua")
    frame = pl.read_csv("t.csv")
    X, y = frame.drop("y"), frame["y"].to_numpy()
    same = obliqua.HHCartClassifier(variant="dominant", random_state=0).fit(X, y)
    model = obliqua.load("m.obliqua")
    assert model.tree_ == same.tree_
    assert model.model_.encoding == same.model_.encoding
    said = facts(result.stdout)
    assert said["features"] == "2 numeric, 2 qualitative"
    assert said["levels"] == "town (3), job (2)"
    assert said["missing"] == "20 cells: age (12), town (8)"
    assert result.stderr == ""


def test_parquet_gives_the_same_model(run: Run) -> None:
    Path("t.csv").write_text(people())
    run("fit", "t.csv", *FIT)
    plain = Path("m.obliqua").read_bytes()
    for change in (
        lambda frame: frame,
        lambda frame: frame.with_columns(pl.col("town", "job").cast(pl.Categorical)),
        lambda frame: frame.with_columns(age=pl.col("age").fill_null(float("nan"))),
    ):
        change(pl.read_csv("t.csv")).write_parquet("t.parquet")
        run("fit", "t.parquet", *FIT)
        assert Path("m.obliqua").read_bytes() == plain


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", "-3e2", ".5"], "numeric"),
        (["1", "", " 2 ", "3"], "numeric"),
        (["1", "NA", "n/a", "?", "NaN", "null", "2"], "numeric"),
        (["true", "FALSE", "True", "NA"], "numeric"),
        (["007", "008"], "qualitative"),
        (["red", "blue", "NA"], "qualitative"),
        (["NA", "NA", "red", "NA"], "qualitative"),
        (["NA", "NA"], "qualitative"),
        (["1", "x", "y"], "qualitative"),
        (["yes", "no"], "qualitative"),
        (["true", "false", "maybe"], "qualitative"),
        (["1-2", "3-4"], "qualitative"),
        (["2020-01", "2020-13"], "qualitative"),
        (["20240131", "20240132"], "numeric"),
    ],
)
def test_what_a_column_is(run: Run, values: list[str], kind: str) -> None:
    assert kinds(run, one(values * 3)) == {"a": kind}


def test_words_for_missing_numbers_are_noted(run: Run) -> None:
    Path("t.csv").write_text(one(["1", "NA", "2", "?", "3", "4"]))
    result = run("fit", "t.csv", *FIT)
    assert result.stderr == "Note: Column 'a': '?', 'NA' is missing (2 cells).\n"
    assert facts(result.stdout)["missing"] == "2 cells: a (2)"
    # Among words they are words, unless a user says otherwise.
    Path("t.csv").write_text(one(["u", "NA", "v", "?"] * 2))
    assert facts(run("fit", "t.csv", *FIT).stdout)["levels"] == "a (4)"
    said = facts(run("fit", "t.csv", *FIT, "--missing", "NA", "--missing", "?").stdout)
    assert said["levels"] == "a (2)"
    assert said["missing"] == "4 cells: a (4)"


@pytest.mark.parametrize("word", ["-999", "-999.0", "-9.99e2"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_number_that_stands_for_missing(run: Run, word: str, form: str) -> None:
    Path("t.csv").write_text(one(["1", "-999", "2", "-999.00"] * 2))
    pl.read_csv("t.csv").write_parquet("t.parquet")
    result = run("fit", f"t.{form}", *FIT, "--missing", word)
    assert facts(result.stdout)["missing"] == "4 cells: a (4)"
    assert result.stderr == ""


def test_a_word_for_missing_that_nothing_holds_is_noted(run: Run) -> None:
    Path("t.csv").write_text(one(["1", "2"]))
    result = run("fit", "t.csv", *FIT, "--missing", "-9", "--missing", "?")
    assert "no cell holds '-9', which --missing names" in result.stderr
    assert "no cell holds '?', which --missing names" in result.stderr


def test_a_missing_class_may_have_a_word(run: Run) -> None:
    Path("t.csv").write_text("a,y\n1,p\n2,?\n3,q\n")
    message = run("fit", "t.csv", *FIT, "--missing", "?", code=1).stderr
    assert "'y' is empty in 1 row, first in row 2 (line 3)" in message
    said = facts(run("fit", "t.csv", *FIT, "--missing", "?", "--drop-missing-target").stdout)
    assert said["classes"] == "2: p (1), q (1)"


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["1", "2", "10"], (1, 2, 10)),
        (["-1", "0", "1"], (-1, 0, 1)),
        (["007", "010"], ("007", "010")),
        (["1.0", "2.0"], ("1.0", "2.0")),
        (["1", "2a"], ("1", "2a")),
        (["true", "false"], ("false", "true")),
        (["1", "", "2"], (1, 2)),
        (["2020-01-31", "2020-02-01"], ("2020-01-31", "2020-02-01")),
    ],
)
def test_categories_that_are_given(run: Run, values: list[str], levels: tuple[Any, ...]) -> None:
    assert kinds(run, one(values * 2), "--categorical", "a") == {"a": "qualitative"}
    assert columns()["a"].levels == levels
    assert obliqua.load("m.obliqua").categorical_features == (
        ["a"] if isinstance(levels[0], int) else "from_dtype"
    )


def test_types_can_be_given_for_many_columns(run: Run) -> None:
    text = "a,b,c,y\n" + "".join(f"{k % 3},{k % 4},{k},{'pq'[k % 2]}\n" for k in range(12))
    given = ("--categorical", "a", "--categorical", "b,a")
    assert kinds(run, text, *given) == {"a": "qualitative", "b": "qualitative", "c": "numeric"}
    assert obliqua.load("m.obliqua").categorical_features == ["a", "b"]
    assert kinds(run, text, "--drop", "a", "--drop", "b") == {"c": "numeric"}


def test_text_in_a_column_that_is_said_to_be_numeric(run: Run) -> None:
    Path("t.csv").write_text(one(["12", "?", "low", "13", "high"]))
    message = run("fit", "t.csv", *FIT, "--numeric", "a", code=1).stderr
    assert "column 'a' has 2 values that are no numbers, first 'low' in row 3 (line 4)" in message
    assert "--missing low" in message
    words = ("--missing", "low", "--missing", "high")
    assert kinds(run, one(["12", "?", "low", "13", "high"]), "--numeric", "a", *words) == {
        "a": "numeric"
    }


@pytest.mark.parametrize("values", [["1", "x"], ["1", "x", "2"], ["1.5", "1,5"]])
def test_what_would_be_a_guess(run: Run, values: list[str]) -> None:
    values = [f'"{value}"' for value in values]
    Path("t.csv").write_text(one(values * 2))
    message = run("fit", "t.csv", *FIT, code=1).stderr
    assert "If they are categories: --categorical a\nTo leave them out: --drop a\n" in message
    assert ("--missing x" in message) == ('"x"' in values)
    assert kinds(run, one(values * 2), "--categorical", "a") == {"a": "qualitative"}


def test_text_of_parquet_is_text(run: Run) -> None:
    pl.DataFrame({"a": ["1", "2", "3", None], "y": ["p", "q", "p", "q"]}).write_parquet(
        "t.parquet"
    )
    result = run("fit", "t.parquet", *FIT)
    assert "'a' is text, though of numbers only; --numeric" in result.stderr
    assert columns()["a"].levels == ("1", "2", "3")
    assert run("fit", "t.parquet", *FIT, "--numeric", "a").stderr == ""
    assert columns()["a"].kind == "numeric"


def test_levels_that_count_as_one(run: Run) -> None:
    """They and new ones are read as the same level, be they text or numbers."""
    for word, options in (("c", ()), ("", ("--categorical", "a"))):
        many = [f"{word}{k}" for k in range(100, 130)]
        Path("t.csv").write_text(one([f"{word}7", f"{word}8"] * 25 + many))
        said = run("fit", "t.csv", *FIT, *options).stderr
        assert said.startswith(
            "Note: Column 'a' has 32 levels in 80 rows: so many tell rows apart"
        )
        assert said.count("Note") == 1
        assert [str(level) for level in columns()["a"].levels] == [
            f"{word}7",
            f"{word}8",
            "other levels",
        ]
        new = f"a\n{word}7\n{word}8\n{word}101\n{word}999\nodd\n"
        result = run("predict", "m.obliqua", "-", input=new)
        first, second, *others = result.stdout.split()[1:]
        assert (first, second) == ("p", "q")
        assert len(set(others)) == 1
        assert "does not know" not in result.stderr


def test_columns_of_no_use_are_noted(run: Run) -> None:
    text = one([f"c{k}" for k in range(30)])
    Path("t.csv").write_text(text)
    assert "'a' has 30 levels in 30 rows" in run("fit", "t.csv", *FIT).stderr
    Path("t.csv").write_text("a,b,y\n1,,p\n2,,q\n")
    result = run("fit", "t.csv", *FIT)
    assert result.stderr == "Note: Column 'b' is empty in all rows; no split uses it.\n"
    new = "a,b\n1,word\n2,7\n"
    assert run("predict", "m.obliqua", "-", "-q", input=new).stdout == "prediction\np\nq\n"


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--categorical", "a", "--numeric", "b,a"], 2, "both name 'a'"),
        (["--categorical", "z"], 1, "--categorical: data.csv has no column 'z'"),
        (["--numeric", "z"], 1, "--numeric: data.csv has no column 'z'"),
        (["--categorical", "y"], 1, "'y', which is no feature"),
        (["--categorical", "a", "--drop", "a"], 1, "'a', which is no feature"),
    ],
)
def test_refused(run: Run, data: Path, words: list[str], code: int, part: str) -> None:
    assert part in run("fit", "data.csv", *FIT, *words, code=code).stderr
    assert not Path("m.obliqua").exists()


def test_a_method_for_numbers_says_who_takes_the_rest(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def takes(estimator: Any) -> bool:
        return not isinstance(estimator, obliqua.ObliqueTreeClassifier)

    monkeypatch.setattr("obliqua.cli.fit.takes_tables", takes)
    Path("t.csv").write_text(people())
    fit = ("fit", "t.csv", *FIT, "-m", "means")
    message = run(*fit, code=1).stderr
    assert "column 'age' has 12 empty cells, first in row" in message
    assert "column 'town' holds text, for instance '" in message
    assert "To leave them out: --drop town,job" in message
    assert "Methods that take categories and gaps are cart, c45, hhcart-a" in message
    assert "--missing" not in message
    assert facts(run(*fit, "--features", "size").stdout)["features"] == "1 numeric"
    message = run(*fit, "--categorical", "town", code=2).stderr
    assert "means takes numbers only. Methods that take categories are cart," in message


# --- reading as a model knows it ---------------------------------------------------------

TRAINED = """zip,flag,grade,code,x,y
000,true,1,10,0.5,p
001,false,2,11,0.7,q
002,true,none,12,0.1,p
000,false,1,10,,p
001,true,3,11,0.3,q
002,false,2,12,0.2,p
"""


@pytest.fixture
def trained(run: Run) -> Any:
    Path("t.csv").write_text(TRAINED)
    run("fit", "t.csv", *FIT, "--categorical", "zip,grade,code")
    return obliqua.load("m.obliqua").model_


def rows_of(run: Run, model: Any, path: str) -> list[list[float]]:
    """The codes and numbers that a model makes of a file."""
    from obliqua.cli._app import app
    from obliqua.cli._data import read_table
    from obliqua.cli._types import read_as

    with app.make_context("obliqua", ["show", "m.obliqua"]):
        frame = read_as(read_table(path), model.encoding.columns)
    rows: list[list[float]] = model.rows(frame).tolist()
    return rows


def test_files_are_read_as_the_model_knows_them(run: Run, trained: Any) -> None:
    assert columns()["zip"].levels == ("000", "001", "002")
    assert columns()["grade"].levels == ("1", "2", "3", "none")
    assert columns()["code"].levels == (10, 11, 12)
    head = "code,grade,zip,x,flag\n"
    expected = [[1, 1, 0, 2, 1], [2, 0, 1, 0, 3]]
    other = [[-1, 1, -1, 2, 1], [-1, 0, 1, 0, 3]]  # where levels are text, writing counts
    for row, values in (
        ("12,1,001,1,true\n10,2,002,3,false\n", expected),  # as in training
        ("12.0,1.0,1,1e0,TRUE\n010,2,2,+3,False\n", other),
    ):
        Path("n.csv").write_text(head + row)
        assert rows_of(run, trained, "n.csv") == values
    types = {"code": [12.0, 10.0], "grade": [1, 2], "zip": ["001", "002"], "x": [1, 3]}
    pl.DataFrame({**types, "flag": [True, False]}).write_parquet("n.parquet")
    assert rows_of(run, trained, "n.parquet") == expected


def test_the_command_and_the_library_read_levels_alike(run: Run, trained: Any) -> None:
    cells = ["001", "1", "1e0", "01", "1.0"]
    rows = "".join(f"{cell},true,1,10,2\n" for cell in cells)
    Path("n.csv").write_text("zip,flag,grade,code,x\n" + rows)
    frame = pl.read_csv("n.csv", schema_overrides={"zip": pl.String, "grade": pl.String})
    frame = frame.with_columns(pl.col("flag").cast(pl.Float64))
    assert rows_of(run, trained, "n.csv") == trained.rows(frame).tolist()
    noted = run("predict", "m.obliqua", "n.csv").stderr
    unknown = "'01', '1', '1.0', '1e0'"
    assert noted == (
        f"Note: Column 'zip': 4 rows have levels that the model does not know: {unknown}.\n"
    )


def test_numbers_that_are_written_in_another_way_are_noted(run: Run, trained: Any) -> None:
    rows = "001,true,1,10.0,2\n001,true,1,11.0,2\n001,true,1,12,2\n"
    Path("n.csv").write_text("zip,flag,grade,code,x\n" + rows)
    assert [row[3] for row in rows_of(run, trained, "n.csv")] == [0, 1, 2]
    assert run("predict", "m.obliqua", "n.csv").stderr == (
        "Note: Column 'code': '10.0' is read as the level 10, and 1 more in the same way.\n"
    )
    long = "9007199254740992,9007199254740994,q"
    Path("t.csv").write_text("a,b,y\n" + f"{long}\n1,2,p\n" * 3)
    run("fit", "t.csv", *FIT, "--categorical", "a,b")
    Path("n.csv").write_text("a,b\n9007199254740993,9007199254740994\n")
    assert rows_of(run, obliqua.load("m.obliqua").model_, "n.csv") == [[-1, 1]]


def test_many_bad_columns_still_have_advice(run: Run, trained: Any) -> None:
    names = [f"c{k}" for k in range(8)]
    Path("t.csv").write_text(
        ",".join([*names, "y"]) + "\n" + "1,2,3,4,5,6,7,8,p\n2,2,3,4,5,6,7,8,q\n"
    )
    run("fit", "t.csv", *FIT)
    for n_bad in (1, 5, 6, 7, 8):
        cells = ["inf"] * n_bad + ["1"] * (8 - n_bad)
        Path("n.csv").write_text(",".join(names) + "\n" + ",".join(cells) + "\n")
        message = run("predict", "m.obliqua", "n.csv", code=1).stderr
        assert message.endswith("Replace such values, or leave their rows or their column out.\n")


def test_what_is_missing_or_not_known(run: Run, trained: Any) -> None:
    Path("n.csv").write_text("zip,flag,grade,code,x\n,,,,\n9,NA,77,other,?\n001,true,1,10,2\n")
    got = rows_of(run, trained, "n.csv")
    # A line without anything is no row.
    np.testing.assert_array_equal(got[0], [-1, np.nan, -1, -1, np.nan])
    assert got[1] == [1, 1, 0, 0, 2]
    Path("n.csv").write_text("zip,flag,grade,code,x,id\n,,,,,1\n")
    np.testing.assert_array_equal(rows_of(run, trained, "n.csv"), [[np.nan] * 5])
    # One row in which nothing is known is as good as many.
    Path("n.csv").write_text("zip,flag,grade,code,x\nu,,v,w,\n")
    np.testing.assert_array_equal(rows_of(run, trained, "n.csv"), [[-1, np.nan, -1, -1, np.nan]])


def test_a_word_is_none_of_the_numbers(run: Run) -> None:
    pl.DataFrame({"a": [1e300, 0.5, 1.5, 7.0] * 2, "y": list("ppqp") * 2}).write_parquet(
        "t.parquet"
    )
    run("fit", "t.parquet", *FIT, "--categorical", "a")
    assert columns()["a"].levels == (0.5, 1.5, 7, 1e300)
    Path("n.csv").write_text("a,b\nword,1\n7,1\n1e300,1\n2.5,1\n")
    model = obliqua.load("m.obliqua").model_
    assert rows_of(run, model, "n.csv") == [[-1], [2], [3], [-1]]


def test_codes_of_parquet_may_be_missing(run: Run) -> None:
    nan = float("nan")
    pl.DataFrame({"a": [1.0, 2.0, nan, None] * 2, "y": list("pqpq") * 2}).write_parquet(
        "t.parquet"
    )
    said = facts(run("fit", "t.parquet", *FIT, "--categorical", "a").stdout)
    assert said["levels"] == "a (2)"
    assert said["missing"] == "4 cells: a (4)"
    model = obliqua.load("m.obliqua").model_
    got = rows_of(run, model, "t.parquet")[:4]
    np.testing.assert_array_equal(got, [[0], [1], [nan], [nan]])


def test_a_row_of_empty_cells_is_predicted(run: Run, trained: Any) -> None:
    rows = ["zip,flag,grade,code,x", "001,1,1,10,2", ",,,,", "", "  ", "002,1,1,10,2"]
    result = run("predict", "m.obliqua", "-", input="\n".join(rows) + "\n\n")
    assert result.stderr == "Note: standard input: 3 lines without any value left out.\n"
    assert len(result.stdout.splitlines()) == 4
    result = run("fit", "-", *FIT, input="a,b,y\n1,2,p\n,,\n\n3,4,q\n")
    assert result.stderr == "Note: standard input: 2 lines without any value left out.\n"


def test_levels_that_are_not_known_are_noted(run: Run, trained: Any) -> None:
    Path("n.csv").write_text("zip,flag,grade,code,x\n9,1,1,10,1\n8,1,1,ten,1\n001,1,1,10,2\n")
    result = run("predict", "m.obliqua", "n.csv")
    assert result.stdout == "prediction\np\np\nq\n"
    assert result.stderr.splitlines() == [
        "Note: Column 'zip': 2 rows have levels that the model does not know: '8', '9'.",
        "Note: Column 'code': 1 row has a level that the model does not know: 'ten'.",
    ]


def test_what_no_number_can_be_made_of(run: Run, trained: Any) -> None:
    head = "zip,flag,grade,code,x\n001,true,1,10,2\n001,false,1,10,3\n"
    Path("n.csv").write_text(head + "001,maybe,1,10,2020-01-31\n")
    result = run("predict", "m.obliqua", "n.csv", code=1)
    assert "column 'flag' holds text, for instance" in result.stderr
    assert "column 'x' has 1 value that is no number, first '2020-01-31' in row 3 (line 4)" in (
        result.stderr
    )
    assert "--categorical" not in result.stderr
    assert result.stdout == ""
    Path("n.csv").write_text(head + "001,true,1,10,inf\n")
    assert "not finite, first inf in row 3" in run("predict", "m.obliqua", "n.csv", code=1).stderr
    Path("n.csv").write_text(head + "001,true,1,10,gone\n")
    words = ("predict", "m.obliqua", "n.csv")
    assert "--missing gone" in run(*words, code=1).stderr
    assert run(*words, "--missing", "gone").stdout == "prediction\nq\nq\nq\n"


def test_dates_are_neither_levels_nor_numbers(run: Run, trained: Any) -> None:
    day = pl.Series("zip", ["2020-01-31"]).str.to_date()
    frame = pl.DataFrame({"zip": day, "flag": [True], "grade": ["1"], "code": [10], "x": [1.0]})
    frame.write_parquet("n.parquet")
    message = run("predict", "m.obliqua", "n.parquet", code=1).stderr
    assert "column 'zip' is of type Date" in message


def test_predictions_are_the_librarys(run: Run) -> None:
    Path("t.csv").write_text(people(120))
    Path("new.csv").write_text(people(50, seed=1, towns=("Bonn", "Oslo", "Rome", "Paris")))
    fit = run("fit", "t.csv", "-t", "y", "-m", "hhcart-a", "-o", "m.obliqua", "--test", "new.csv")
    result = run("predict", "m.obliqua", "new.csv", "--proba", "--score", "y")
    frame, model = pl.read_csv("new.csv"), obliqua.load("m.obliqua")
    got = pl.read_csv(result.stdout.encode())
    X, y = frame.drop("y"), frame["y"].to_numpy()
    assert got["prediction"].to_list() == model.predict(X).tolist()
    assert np.array_equal(got["proba_no", "proba_yes"].to_numpy(), model.predict_proba(X))
    right = 100 * np.mean(model.predict(X) == y)
    assert f"{right:.1f} % on 50 rows of new.csv" in fit.stdout
    assert f"accuracy {right:.1f} % on 50 rows\n" in result.stderr
    assert "that the model does not know: 'Paris'" in result.stderr
    assert "that the model does not know: 'Paris'" in fit.stderr


def test_a_model_without_stand_ins(run: Run) -> None:
    builder = TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    builder.set_leaf("low", [8, 1], n_samples=9)
    builder.set_leaf("high", [0, 5], n_samples=5)
    obliqua.save(builder.build(), "m.obliqua")
    Path("n.csv").write_text("x0,x1\n1,2\n1,\n1,NA\n")
    message = run("predict", "m.obliqua", "n.csv", code=1).stderr
    assert "column 'x1' has 2 empty cells, first in row 2 (line 3)" in message
    assert "The model has no way for what is missing." in message
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.set_leaf("root", [8, 1], n_samples=9)
    obliqua.save(builder.build(), "leaf.obliqua")
    assert run("predict", "leaf.obliqua", "-", input="x0,z\n,1\n").stdout == "prediction\n0\n"


def test_a_model_with_levels_of_several_types(run: Run) -> None:
    X = np.array([[1, 0.0], ["a", 0.0], [2.5, 0.0], [True, 1.0]] * 3, dtype=object)
    model = obliqua.CartClassifier(pruning=None).fit(X, ["p", "q", "p", "q"] * 3)
    obliqua.save(model, "m.obliqua")
    assert columns()["x0"].levels == (1, 2.5, "a")
    Path("n.csv").write_text("x0,x1\n1,0\na,0\n2.50,0\nzz,0\n")
    got = rows_of(run, model.model_, "n.csv")
    assert got == [[0, 0], [2, 0], [1, 0], [-1, 0]]


def test_show_says_what_the_columns_are(run: Run) -> None:
    Path("t.csv").write_text(people())
    run("fit", "t.csv", *FIT)
    said = facts(run("show", "m.obliqua").stdout)
    assert said["features"] == "4: age, town, job, size (2 numeric, 2 qualitative)"
    assert (
        obliqua.export_text(obliqua.load("m.obliqua"), width=80) in run("show", "m.obliqua").stdout
    )
    message = run("show", "m.obliqua", "--missing", "?", code=2).stderr
    assert "--missing is for the table of --data" in message
