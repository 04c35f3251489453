"""Columns as they come: dates, row numbers, codes, separators and signs."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import obliqua
from cli_tools import Run, facts

FIT = ("-t", "y", "-m", "cart", "--set", "pruning=none", "-o", "m.obliqua")
DAYS = "days since 1970-01-01"


def rows_of_days(layout: str = "%Y-%m-%d", n: int = 40, delimiter: str = ",") -> str:
    """A table with days in the column `when`, and whether they are of a weekend."""
    rng = np.random.default_rng(1)
    lines = [delimiter.join(["when", "a", "y"])]
    for day in rng.integers(19700, 20000, n).tolist():
        moment = np.datetime64(day, "D").astype("M8[s]").item()
        rest = "rest" if moment.isoweekday() > 5 else "work"
        lines.append(delimiter.join([moment.strftime(layout), f"{rng.normal():.2f}", rest]))
    return "\n".join(lines) + "\n"


def column(run: Run, values: list[str], *words: str) -> tuple[list[object], str]:
    """Fit to a column a: its numbers or levels as the model has them, and what was noted."""
    cells = [f'"{value}"' if "," in value else value for value in values]
    lines = [f"{cell},{k % 5},{'pq'[k % 2]}" for k, cell in enumerate(cells)]
    Path("t.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    noted = run("fit", "t.csv", *FIT, *words).stderr
    Path("n.csv").write_text(
        "a,b\n" + "\n".join(line[:-2] for line in lines) + "\n", encoding="utf-8"
    )
    model = obliqua.load("m.obliqua").model_
    found = model.encoding.columns[0]
    if found.kind == "qualitative":
        return list(found.levels), noted
    from obliqua.cli._app import app
    from obliqua.cli._data import read_table
    from obliqua.cli._types import read_as

    with app.make_context("obliqua", ["show", "m.obliqua", "-q"]):
        frame = read_as(read_table("n.csv"), model.encoding.columns)
    return frame["a"].to_list(), noted


# --- dates -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout",
    [
        *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%b-%Y", "%B %d, %Y"),
        *("%Y%m%d", "%d %B %Y", "%b %d %Y"),
    ],
)
def test_days_are_learnt_from_and_predicted(run: Run, layout: str) -> None:
    Path("t.csv").write_text(rows_of_days(layout).replace(", 20", " 20"), encoding="utf-8")
    noted = run("fit", "t.csv", *FIT).stderr
    first = {
        "%d/%m/%Y": ", the day first,",
        "%m/%d/%Y": ", the month first,",
        "%Y%m%d": " in whole numbers, year first,",
    }.get(layout, "")
    assert noted == (
        f"Note: Column 'when' holds dates{first} and becomes 'when (year)', 'when (month)', "
        f"'when (weekday)', 'when ({DAYS})'.\n"
    )
    assert "when (weekday) <= 5.5" in run("show", "m.obliqua").stdout
    result = run("predict", "m.obliqua", "t.csv", "--score", "y")
    assert result.stderr.splitlines()[-1] == "accuracy 100.0 % on 40 rows"
    assert "not used" not in result.stderr
    # Another table has the same days in another form, or the numbers themselves.
    Path("n.csv").write_text(rows_of_days("%Y-%m-%dT00:00:00Z"), encoding="utf-8")
    assert run("predict", "m.obliqua", "n.csv").stdout == result.stdout
    frame = pl.read_csv("n.csv").with_columns(pl.col("when").str.to_datetime(time_zone="UTC"))
    frame.write_parquet("n.parquet")
    assert run("predict", "m.obliqua", "n.parquet").stdout == result.stdout
    model = obliqua.load("m.obliqua")
    in_python = model.predict(frame.drop("y"))
    assert in_python.tolist() == result.stdout.split()[1:]


def test_the_test_rows_have_dates_too(run: Run) -> None:
    Path("t.csv").write_text(rows_of_days(), encoding="utf-8")
    result = run("fit", "t.csv", *FIT, "--test", "t.csv")
    assert "accuracy            100.0 % on 40 rows of t.csv" in result.stdout


def test_parquet_gives_the_same_model(run: Run) -> None:
    Path("t.csv").write_text(rows_of_days(), encoding="utf-8")
    run("fit", "t.csv", *FIT)
    plain = Path("m.obliqua").read_bytes()
    pl.read_csv("t.csv", try_parse_dates=True).write_parquet("t.parquet")
    run("fit", "t.parquet", *FIT)
    assert Path("m.obliqua").read_bytes() == plain


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        (
            ["2024-03-01 13:30", "2024-03-02T06:45:36.0Z"],
            ["year", "month", "weekday", "hour", DAYS],
        ),
        (["3/31/24 1:30 PM", "4/1/24 12:15 AM"], ["year", "month", "weekday", "hour", DAYS]),
        (["13:30", "6:45"], ["hour"]),
        (["Mar-2018", "Feb-2018"], ["year", "month", DAYS]),
        (["March 2018", "Sept 2018"], ["year", "month", DAYS]),
        (["2018-03", "2018-12"], ["year", "month", DAYS]),
        (["2018/3", ""], ["year", "month", DAYS]),
        (["01.02.24", "NA"], ["year", "month", "weekday", DAYS]),
    ],
)
def test_parts(run: Run, cells: list[str], parts: list[str]) -> None:
    lines = [f"{cell},{'pq'[k % 2]}" for k, cell in enumerate(cells * 4)]
    Path("t.csv").write_text("a,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    run("fit", "t.csv", *FIT)
    model = obliqua.load("m.obliqua").model_
    assert list(model.encoding.names) == [f"a ({part})" for part in parts]
    assert run("predict", "m.obliqua", "t.csv", "-q").stdout.count("\n") == 9


def test_what_the_parts_are(run: Run) -> None:
    Path("t.csv").write_text(
        "a,y\n3/31/24 1:30 PM,p\n12/1/68 12:15 AM,q\n,p\n1/2/69,q\n", encoding="utf-8"
    )
    noted = run("fit", "t.csv", *FIT).stderr
    assert "holds dates, the month first, of 1969 to 2068 and becomes" in noted
    shown = run("fit", "t.csv", "-t", "y", "--types", "-q").stdout.splitlines()
    said = {line[:27].strip(): line[27:].strip() for line in shown}
    assert said["a (year)"] == "numbers, 1,969 to 2,068; 1 missing"
    assert said["a (month)"] == "numbers, 1 to 12; 1 missing"
    assert said["a (weekday)"] == "numbers, 4 to 7; 1 missing"
    assert said["a (hour)"] == "numbers, 0 to 13.5; 1 missing"
    assert said["a"] == "dates, of which columns are made"


def test_days_in_whole_numbers_can_stay_numbers(run: Run) -> None:
    found, noted = column(run, ["20240131", "20231205"] * 3, "--numeric", "a")
    assert found == [20240131.0, 20231205.0] * 3
    assert not noted


@pytest.mark.parametrize("day", ["{} août 2024", "{}. Dezember 2023", "{} de enero de 2024"])
def test_months_that_are_not_english_are_text(run: Run, day: str) -> None:
    days = [day.format(k) for k in range(1, 9)]
    levels, noted = column(run, days * 3)
    assert sorted(map(str, levels)) == sorted(days)
    said = f"Note: Column 'a' may be dates, {days[0]!r}, but of names of months only English ones"
    assert noted == f"{said} are read; it is taken for categories.\n"


def test_the_day_or_the_month_first_is_asked(run: Run) -> None:
    text = "when,y\n03/04/2024,p\n05/06/2024,q\n"
    Path("t.csv").write_text(text, encoding="utf-8")
    message = run("fit", "t.csv", *FIT, code=1).stderr
    assert "may have the day or the month first, '03/04/2024' in row 1 (line 2)" in message
    assert "--dates dmy or --dates mdy" in message
    for order, months in (("dmy", "4 to 6"), ("mdy", "3 to 5")):
        shown = run("fit", "t.csv", "-t", "y", "--types", "--dates", order).stdout
        assert f"numbers, {months}" in shown
    run("fit", "t.csv", *FIT, "--dates", "dmy")
    message = run("predict", "m.obliqua", "t.csv", code=1).stderr
    assert "--dates dmy or --dates mdy" in message
    run("predict", "m.obliqua", "t.csv", "--dates", "dmy")
    # No question where both are the same.
    Path("t.csv").write_text("when,y\n03/03/2024,p\n05/05/2024,q\n", encoding="utf-8")
    run("fit", "t.csv", *FIT)


def test_dates_can_be_categories_or_left_out(run: Run) -> None:
    Path("t.csv").write_text(rows_of_days(), encoding="utf-8")
    assert "1 numeric, 1 qualitative" in run("fit", "t.csv", *FIT, "--categorical", "when").stdout
    assert facts(run("fit", "t.csv", *FIT, "--drop", "when").stdout)["features"] == "1 numeric"
    run("fit", "t.csv", *FIT, "--drop", f"when ({DAYS}),when (year)")
    names = obliqua.load("m.obliqua").model_.encoding.names
    assert names == ("when (month)", "when (weekday)", "a")
    message = run("fit", "t.csv", *FIT, "--drop", "when (hour)", code=1).stderr
    assert "--drop names 'when (hour)', which is no part of dates" in message


def test_a_table_without_the_dates(run: Run) -> None:
    Path("t.csv").write_text(rows_of_days(), encoding="utf-8")
    run("fit", "t.csv", *FIT)
    message = run("predict", "m.obliqua", "-", input="a,y\n1,p\n", code=1).stderr
    assert "lacks 4 columns that the model needs: 'when (year)'" in message
    text = "when,a\n2024-01-01,1\nsoon,1\n2024-01-02,2\n"
    message = run("predict", "m.obliqua", "-", input=text, code=1).stderr
    assert "'when' holds dates and 1 value that is none, first 'soon' in row 2" in message


# --- columns that count the rows ---------------------------------------------------------


def numbered(n: int, start: int) -> str:
    lines = [f"{k + start},{k % 7},{'pq'[k >= n // 2]}" for k in range(n)]
    return "id,a,y\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("start", [0, 1])
def test_row_numbers_are_left_out(run: Run, start: int) -> None:
    Path("t.csv").write_text(numbered(30, start), encoding="utf-8")
    pl.read_csv("t.csv").write_parquet("t.parquet")
    for file in ("t.csv", "t.parquet"):
        result = run("fit", file, *FIT)
        assert result.stderr == (
            f"Note: Column 'id' counts the rows, {start} to {29 + start}, and is left out; "
            "--numeric id keeps it.\n"
        )
        assert obliqua.load("m.obliqua").model_.encoding.names == ("a",)
    for words in (("--numeric", "id"), ("--features", "id,a")):
        result = run("fit", "t.csv", *FIT, *words)
        assert "left out" not in result.stderr
        assert obliqua.load("m.obliqua").model_.encoding.names == ("id", "a")
    shown = run("compare", "t.csv", "-t", "y", "-m", "cart", "--folds", "2")
    assert "30 rows, 1 feature, 2 classes" in shown.stdout


def test_row_numbers_of_rows_that_are_left(run: Run) -> None:
    Path("t.csv").write_text(numbered(30, 1).replace("10,2,p", "10,2,"), encoding="utf-8")
    noted = run("fit", "t.csv", *FIT, "--drop-missing-target").stderr
    assert "'id' counts the rows, 1 to 30" in noted


def test_what_counts_no_rows(run: Run) -> None:
    for text in (
        numbered(12, 1),  # few may well rise by 1
        numbered(30, 2),
        numbered(30, 1).replace("\n9,", "\n8,"),
    ):
        Path("t.csv").write_text(text, encoding="utf-8")
        assert run("fit", "t.csv", *FIT).stderr == ""
        assert obliqua.load("m.obliqua").model_.encoding.names == ("id", "a")
    Path("t.csv").write_text(
        "\n".join(
            line.replace(",3", "") for line in ["n,y", *(f"{k},{'pq'[k % 2]}" for k in range(30))]
        )
        + "\n"
    )
    run("fit", "t.csv", *FIT)  # a column that is alone stays
    assert obliqua.load("m.obliqua").model_.encoding.names == ("n",)


# --- numbers as they are written ---------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1 234", "567", "1 234 567"], [1234.0, 567.0, 1234567.0]),
        (["1\u202f234,5", "12\u00a0345,25"], [1234.5, 12345.25]),
        (["€ 1'234.50", "€ 99"], [1234.5, 99.0]),
        (["-1 234 €", "5 €"], [-1234.0, 5.0]),
        (["1,234", "12", "1,234,567.5"], [1234, 12, 1234567.5]),
        (["1,234", "999"], [1234, 999]),
        (["1,5", "2,25", "3"], [1.5, 2.25, 3]),
        (["1.234,5", "12"], [1234.5, 12]),
        (["12%", "3.5 %"], [12, 3.5]),
        (["$1,200.50", "-$3", "$-4"], [1200.5, -3, -4]),
        (["5 €", "7,50 €"], [5, 7.5]),
        (["£5", "7"], [5, 7]),
    ],
)
def test_numbers_with_signs(run: Run, cells: list[str], numbers: list[float]) -> None:
    found, noted = column(run, cells * 2)
    assert found == numbers * 2
    assert noted.startswith(f"Note: Column 'a': {cells[0]!r} is read as {numbers[0]:.15g}.")


def test_a_comma_in_a_file_with_semicolons_is_a_decimal_one(run: Run) -> None:
    Path("t.csv").write_text("a;y\n1,234;p\n2,345;q\n", encoding="utf-8")
    assert "'1,234' is read as 1.234." in run("fit", "t.csv", *FIT).stderr
    Path("t.csv").write_text('a,y\n"1,234",p\n"2,345",q\n', encoding="utf-8")
    assert "'1,234' is read as 1234." in run("fit", "t.csv", *FIT).stderr


@pytest.mark.parametrize("cells", [["12%", "0.12"], ["$5", "€5"], ["1,23,4", "5,6,7"]])
def test_what_is_no_one_kind_of_number(run: Run, cells: list[str]) -> None:
    lines = [f'"{cell}",{"pq"[k % 2]}' for k, cell in enumerate(cells * 2)]
    Path("t.csv").write_text("a,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    result = run("fit", "t.csv", "-t", "y", "--types", code=1 if "0.12" in cells else 0)
    assert "is read as" not in result.stderr


def test_a_target_with_signs_is_numbers(run: Run) -> None:
    lines = [f'{k % 9},"${1000 + 37 * k:,}"' for k in range(60)]
    Path("t.csv").write_text("a,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    assert facts(run("fit", "t.csv", *FIT).stdout)["numbers"].startswith("y, from 1,000 to 3,183")


def test_codes_are_categories(run: Run) -> None:
    found, noted = column(run, ["00123", "04567", "10115"] * 2)
    assert found == ["00123", "04567", "10115"]
    assert noted == (
        "Note: Column 'a': '00123' has zeros in front, as codes have; it is taken for "
        "categories, --numeric makes numbers of it.\n"
    )
    assert column(run, ["00123", "04567"] * 2, "--numeric", "a") == ([123, 4567] * 2, "")
    assert column(run, ["0.5", "00.7"] * 2)[0] == [0.5, 0.7] * 2


def test_yes_and_no(run: Run) -> None:
    assert column(run, ["yes", "no"] * 3) == (["no", "yes"], "")
    assert column(run, ["?", "yes", "no"] * 3)[0] == ["?", "no", "yes"]
    assert column(run, ["Yes", "NO", ""] * 2, "--numeric", "a")[0][:2] == [1, 0]


def test_lines_that_end_in_cr(run: Run) -> None:
    Path("t.csv").write_bytes(b"a,b,y\r1,2,p\r3,4,q\r1,5,p\r")
    assert facts(run("fit", "t.csv", *FIT).stdout)["rows"] == "3"


def test_a_million_columns_have_an_answer_at_once(run: Run) -> None:
    names = ",".join(f"c{k}" for k in range(1_000_000))
    Path("t.csv").write_text(f"{names},y\n" + "1," * 1_000_000 + "p\n", encoding="utf-8")
    start = time.process_time()
    message = run("fit", "t.csv", *FIT, code=1).stderr
    assert time.process_time() - start < 10  # reading all of it takes minutes
    assert "has 1,000,001 columns, and the command takes at most 100,000." in message


# --- --types -----------------------------------------------------------------------------


def test_types_are_printed_and_nothing_is_fitted(run: Run) -> None:
    text = "id,town,age,y\n" + "".join(
        f"{k},{'ABCDEFG'[k % 7]},{'' if k % 9 == 0 else 20 + k % 30},{'pq'[k % 2]}\n"
        for k in range(40)
    )
    Path("t.csv").write_text(text, encoding="utf-8")
    for command in ("fit", "compare", "advise"):
        shown = run(command, "t.csv", "-t", "y", "--types").stdout
        assert shown == (
            "id    left out\n"
            "town  7 categories: A, B, C, D, E, ...\n"
            "age   numbers, 20 to 49; 5 missing\n"
            "y     target, 2 classes\n"
        )
    assert not Path("model.obliqua").exists()
    shown = run("fit", "t.csv", "-t", "age", "--types", "--drop-missing-target").stdout
    assert "age   target, numbers, 20 to 49" in shown or "classes" in shown


def test_types_of_the_others_are_printed_beside_an_error(run: Run) -> None:
    Path("t.csv").write_text("a,b,c,y\n1,x,5,p\n2,z,6,q\n3 kg,x,7,p\n", encoding="utf-8")
    for command in ("fit", "compare", "advise"):
        result = run(command, "t.csv", "-t", "y", "--types", code=1)
        lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
        assert lines == [
            "a cannot be read",
            "b 2 categories: x, z",
            "c numbers, 5 to 7",
            "y target, 2 classes",
        ]
        assert "column 'a' has 1 value that is no number, first '3 kg' in row 3" in result.stderr
    assert not run("fit", "t.csv", "-t", "y", code=1).stdout


# --- texts that tell rows apart ------------------------------------------------------------


def names(n: int = 40, gap: str = "") -> str:
    """A table whose first column is another text in each row; `gap` is the first one."""
    rng = np.random.default_rng(0)
    lines = ["name,a,b,y"]
    for k in range(n):
        a, b = rng.normal(size=2).round(3).tolist()
        name = gap if k == 0 else f"somebody {k}"
        lines.append(f"{name},{a},{b},{'p' if a + b > 0 else 'q'}")
    return "\n".join(lines) + "\n"


def test_names_are_left_out(run: Run) -> None:
    Path("t.csv").write_text(names(gap="me"), encoding="utf-8")
    result = run("fit", "t.csv", "-t", "y", "-o", "m.obliqua")
    assert result.stderr == (
        "Note: Column 'name' has 40 different texts in 40 rows, which tell rows apart and say "
        "nothing of new ones; it is left out. --categorical name keeps it.\n"
    )
    assert facts(result.stdout)["features"] == "2 numeric"
    assert obliqua.load("m.obliqua").model_.encoding.names == ("a", "b")
    assert "name  left out" in run("fit", "t.csv", "-t", "y", "--types").stdout
    assert "not used: 'name', 'y'" in run("predict", "m.obliqua", "t.csv").stderr


@pytest.mark.parametrize("words", [("--categorical", "name"), ("--features", "name,a,b")])
def test_names_that_are_asked_for_stay(run: Run, words: tuple[str, ...]) -> None:
    Path("t.csv").write_text(names(gap="me"), encoding="utf-8")
    result = run("fit", "t.csv", "-t", "y", "-o", "m.obliqua", *words)
    assert facts(result.stdout)["levels"] == "name (40)"


def test_names_that_are_missing_for_some_stay(run: Run) -> None:
    """Whether a cabin is known told who survived."""
    Path("t.csv").write_text(names(), encoding="utf-8")
    result = run("fit", "t.csv", "-t", "y", "-o", "m.obliqua")
    assert facts(result.stdout)["features"] == "2 numeric, 1 qualitative"


def test_names_alone_are_not_left_out(run: Run) -> None:
    Path("t.csv").write_text(names(gap="me"), encoding="utf-8")
    result = run("fit", "t.csv", "-t", "y", "--drop", "a,b", "-o", "m.obliqua")
    assert facts(result.stdout)["features"] == "0 numeric, 1 qualitative"


def test_texts_that_come_again_stay(run: Run) -> None:
    """Twenty rows of one level are enough to learn something of it."""
    rows = "".join(f"town,{k % 7},{'pq'[k % 2]}\n" for k in range(20))
    others = "".join(f"other {k},{k % 7},{'pq'[k % 2]}\n" for k in range(30))
    Path("t.csv").write_text(f"place,a,y\n{rows}{others}", encoding="utf-8")
    result = run("fit", "t.csv", "-t", "y", "-o", "m.obliqua")
    assert facts(result.stdout)["levels"] == "place (31)"


# --- a tree that always says the same ------------------------------------------------------


def test_a_tree_that_always_says_the_same_says_so(run: Run) -> None:
    rng = np.random.default_rng(0)
    a = rng.random(400).round(4)
    rare = rng.random(400) < np.where(a > 0.5, 0.3, 0.01)
    lines = [f"{x},{'yes' if y else 'no'}" for x, y in zip(a.tolist(), rare.tolist(), strict=True)]
    Path("t.csv").write_text("a,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    words = ("-t", "y", "-m", "cart", "--set", "max_leaf_nodes=2", "--set", "pruning=none", "-o")
    said = run("fit", "t.csv", *words, "m.obliqua").stdout
    assert "answer              always no, the class of most rows. Shares of classes" in said
    assert "class_weight=balanced" in said
    said = run("fit", "t.csv", *words, "n.obliqua", "--set", "class_weight=balanced").stdout
    assert "answer" not in said
