"""What the command makes of tables: good ones in many forms, and bad ones."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli_tools import Run, facts, table

FIT = ("-t", "y", "-m", "cart", "-o", "m.obliqua")


def fitted(run: Run, content: str | bytes, *words: str) -> str:
    """Fit to a table that is fine; the summary."""
    Path("t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    return run("fit", "t.csv", *FIT, *words).stdout


def refused(run: Run, content: str | bytes, *words: str) -> str:
    """Fit to a table that is not; the message. Nothing is written."""
    Path("t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("fit", "t.csv", *FIT, *words, code=1)
    assert result.stdout == ""
    assert [path.name for path in Path().iterdir()] == ["t.csv"]
    return result.stderr


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found_out(run: Run, delimiter: str) -> None:
    summary = facts(fitted(run, table().replace(",", delimiter)))
    assert summary["features"] == "3 numeric"
    assert summary["rows"] == "60"


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.rstrip(b"\n"),
        gzip.compress,
        lambda raw: raw.replace(b",", b" , "),
        lambda raw: raw + b"\n\n",
    ],
    ids=["BOM", "CRLF", "no last line end", "gzip", "spaces", "empty lines"],
)
def test_other_forms_give_the_same_model(run: Run, change: Any) -> None:
    fitted(run, table())
    plain = Path("m.obliqua").read_bytes()
    fitted(run, change(table().encode()))
    assert Path("m.obliqua").read_bytes() == plain


def test_parquet_and_standard_input_give_the_same_model(run: Run, data: Path) -> None:
    run("fit", "data.csv", *FIT)
    plain = Path("m.obliqua").read_bytes()
    pl.read_csv(data).write_parquet("t.parquet")
    run("fit", "t.parquet", *FIT)
    assert Path("m.obliqua").read_bytes() == plain
    for file in ("data.csv", "t.parquet"):
        run("fit", "-", *FIT, input=Path(file).read_bytes())
        assert Path("m.obliqua").read_bytes() == plain


@pytest.mark.parametrize(
    "name",
    [
        "größe",
        "身長",
        "<b>bold</b>",
        "[red]",
        "it's",
        "two\nlines",
        'a "quoted" name',
        "a, comma",
        ":smile:",
        "x" * 300,
    ],
)
def test_names_of_all_kinds(run: Run, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    text = table().replace("a,b", f"{quoted},b", 1)
    fitted(run, text)
    result = run("predict", "m.obliqua", "t.csv")
    assert len(result.stdout.splitlines()) == 61
    again = run("fit", "t.csv", *FIT, "--features", quoted)
    assert facts(again.stdout)["features"] == "1 numeric"
    Path("other.csv").write_text(table())
    missing = run("predict", "m.obliqua", "other.csv", code=1)
    assert repr(name) in missing.stderr


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["0.0", "1.0"], "0.0 (2), 1.0 (2)"),
        (["3", "-7"], "-7 (2), 3 (2)"),
        (["true", "false"], "false (2), true (2)"),
        (["あ", "<i>"], "<i> (2), あ (2)"),
        (["9" * 25, "7"], f"7 (2), {'9' * 25} (2)"),
    ],
)
def test_targets(run: Run, values: list[str], classes: str) -> None:
    text = "a,y\n" + "".join(f"{k},{values[k % 2]}\n" for k in range(4))
    assert facts(fitted(run, text))["classes"] == f"2: {classes}"


def test_a_column_without_a_name(run: Run) -> None:
    result = run("fit", "-", *FIT, "--drop", "column_1", input=",a,y\n1,1,p\n2,2,q\n")
    assert "column_1" in result.stderr
    assert facts(result.stdout)["features"] == "1 numeric"


# --- bad tables ------------------------------------------------------------------------------

BAD: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["t.csv is empty"]),
    "only spaces": (" \n\n", ["t.csv is empty"]),
    "header only": ("a,b,y\n", ["no rows", "'a', 'b', 'y'"]),
    "no header": ("1.5,2,3\n4,5,6\n", ["no header", "1.5, 2, 3"]),
    "duplicate names": ("a,b,a,y\n1,2,3,p\n", ["more than one column called 'a'"]),
    "a word among numbers": (
        "a,b,y\n12,1,p\nbig,2,q\n13,3,p\n",
        ["'a' has 1 value that is no number", "'big' in row 2 (line 3)"],
    ),
    "a word after many numbers": (
        "a,y\n" + "1,p\n2,q\n" * 6000 + "oops,p\n",
        ["'oops' in row 12001 (line 12002)", "--missing oops", "--categorical a", "--drop a"],
    ),
    "dates": (
        "a,day,y\n1,2020-01-31,p\n2,2020-02-01,q\n3,2020-02-30,q\n",
        [
            "'day' holds dates and 1 value that is none, first '2020-02-30' in row 3 (line 4)",
            "--missing 2020-02-30",
            "--drop day",
        ],
    ),
    "infinity": ("a,y\n1.5,p\ninf,q\n2.5,p\n", ["not finite, first inf in row 2 (line 3)"]),
    "both decimal signs": ("a;y\n1,5;p\n2.5;q\n2;p\n", ["first '1,5' in row 1 (line 2)"]),
    "target missing": ("a,Klass\n1,p\n2,q\n", ["no column 'y'", "'a', 'Klass'"]),
    "target without values": ("a,y\n1,p\n2,\n3,q\n", ["empty in 1 row", "--drop-missing-target"]),
    "one class": ("a,y\n1,p\n2,p\n", ["one class only"]),
    "only a target": ("y\np\nq\n", ["no column left"]),
    "too few values": (
        "a,b,y\n1,2,p\n2,q\n3,4,p\n5\n",
        ["record 3 has 2 values", "3 names: '2,q'. So it is in 1 more record", "an empty one"],
    ),
    "too few values, none of them there": ("a,b,y\n1,2,p\n,\n3,4,q\n", ["record 3 has 2"]),
    "too few values in quotes": ('a,b,y\n1,"2\n3",p\n2,q\n', ["record 3 has 2 values"]),
    "too many values": ("a,y\n1,p\n2,q,3\n", ["record 3 has 3 values", "2 names"]),
    "too many values, one of them huge": (
        f"a,y\n1,p\n2,{'q' * 200_000},3\n",
        ["record 3 has 3 values", "2 names"],
    ),
    "open quote": ('a,y\n1,"p\n2,q\n', ["cannot be read as CSV"]),
    "latin1": (b"a,y\n1,caf\xe9\n2,q\n", ["not UTF-8", "line 2", "0xe9", "iconv"]),
    "latin1 in the header": (b"caf\xe9,y\n1,p\n2,q\n", ["not UTF-8", "line 1"]),
    "utf-16": ("a,y\n1,p\n2,q\n".encode("utf-16"), ["not UTF-8", "iconv -f utf-16"]),
    "workbook": (b"PK\x03\x04" + b"\0" * 100, ["zip archive", "CSV"]),
    "broken parquet": (b"PAR1" + b"\1" * 100, ["Parquet", "cannot be read"]),
    "broken gzip": (gzip.compress(b"a,y\n1,p\n" * 999)[:40], ["cannot be unpacked"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables(run: Run, case: str) -> None:
    content, parts = BAD[case]
    message = refused(run, content)
    assert message.startswith("Error: ")
    for part in parts:
        assert part in message


def test_a_line_break_in_a_value_leaves_rows_but_no_lines(run: Run) -> None:
    message = refused(run, 'a,y\n1,"p\nq"\nx,r\n2,r\n3,r\n')
    assert "'x' in row 2;" not in message
    assert "'x' in row 2\n" in message


def test_lines_are_right_after_empty_ones(run: Run) -> None:
    assert "'x' in row 3 (line 4)" in refused(run, "a,y\n1,p\n\nx,q\n4,q\n5,p\n")


def test_the_wrong_delimiter(run: Run) -> None:
    message = refused(run, table(), "--delimiter", ";")
    assert "Is the delimiter right?" in message
    assert "'a,b,c,y'" in message


def test_a_misspelt_target(run: Run, data: Path) -> None:
    data.write_text(table().replace("a,b,c,y", "a,b,c,diagnosis"))
    result = run("fit", "data.csv", "-t", "Diagnose", code=1)
    assert "Did you mean 'diagnosis'?" in result.stderr


def test_rows_without_a_class_can_be_left_out(run: Run) -> None:
    text = "a,y\n1,p\n2,\n3,q\n"
    assert facts(fitted(run, text, "--drop-missing-target"))["rows"] == "2"


def test_parquet_types_that_are_no_numbers(run: Run) -> None:
    frame = pl.DataFrame({"day": [[1], [2]], "y": ["p", "q"]})
    frame.write_parquet("t.parquet")
    result = run("fit", "t.parquet", *FIT, code=1)
    assert "'day' is of type List(Int64)" in result.stderr
    assert "--drop day" in result.stderr


def test_a_folder_and_a_file_that_is_not_there(run: Run, data: Path) -> None:
    assert "is a folder" in run("fit", ".", *FIT, code=1).stderr
    assert "Did you mean 'data.csv'?" in run("fit", "date.csv", *FIT, code=1).stderr
    assert "is not there" in run("fit", "no/such/file.csv", *FIT, code=1).stderr


def test_a_comma_in_values_does_not_hide_the_semicolon(run: Run) -> None:
    for name in ('"a, x, z"', "a, x, z, w, v"):
        text = table().replace(",", ";").replace("a;b", f"{name};b")
        assert facts(fitted(run, text))["features"] == "3 numeric"
