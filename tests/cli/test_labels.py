"""Labels and identifiers are what stands in the file, and classes of two files are matched."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import obliqua
from cli_tools import Run, facts, table
from obliqua.cli._labels import class_numbers

FIT = ("-t", "y", "-m", "cart", "--set", "pruning=none")


def with_labels(yes: str, no: str, path: str = "t.csv") -> None:
    Path(path).write_text(table().replace("yes", yes).replace("no", no))


def with_ids(path: str, ids: list[str], end: str = "\n") -> None:
    lines = table(len(ids)).splitlines()
    rows = zip(["id", *ids], lines, strict=True)
    Path(path).write_bytes("".join(f"{id_},{line}{end}" for id_, line in rows).encode())


def column(text: str, name: str) -> list[str]:
    return pl.read_csv(text.encode(), infer_schema_length=0)[name].to_list()


@pytest.mark.parametrize(
    "ids",
    [
        ["007", "010", "011"],
        ["1.50", "2.0", "3"],
        ["TRUE", "FALSE", "true"],
        ["1e3", "+1", "-0"],
        ["12345678901234567890123", "1", "2"],
        ["a", "007", "1.0"],
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_identifiers_are_copied_as_text(run: Run, model: Path, ids: list[str], end: str) -> None:
    with_ids("ids.csv", ids, end)
    got = run("predict", "m.obliqua", "ids.csv", "--id", "id", "-q").stdout
    assert column(got, "id") == ids
    Path("ids.csv.gz").write_bytes(gzip.compress(Path("ids.csv").read_bytes()))
    assert run("predict", "m.obliqua", "ids.csv.gz", "--id", "id", "-q").stdout == got
    run("predict", "m.obliqua", "ids.csv", "--id", "id", "-o", "out.parquet")
    assert pl.read_parquet("out.parquet")["id"].to_list() == ids


def test_an_identifier_that_is_a_feature_too(run: Run, model: Path) -> None:
    text = "a,b,c\n1.50,2,3\n-2.0,1,00\n"
    got = run("predict", "m.obliqua", "-", "--id", "a", input=text).stdout
    assert column(got, "a") == ["1.50", "-2.0"]
    assert column(got, "prediction") == ["yes", "no"]


def test_an_empty_identifier(run: Run, model: Path) -> None:
    with_ids("ids.csv", ["007", "", "1"])
    got = run("predict", "m.obliqua", "ids.csv", "--id", "id", "-q").stdout
    assert column(got, "id") == ["007", None, "1"]


def test_identifiers_of_parquet_keep_their_type(run: Run, model: Path, data: Path) -> None:
    pl.read_csv(data).with_row_index("row").write_parquet("t.parquet")
    run("predict", "m.obliqua", "t.parquet", "--id", "row", "-o", "out.parquet")
    assert pl.read_parquet("out.parquet")["row"].dtype == pl.UInt32


@pytest.mark.parametrize(
    ("yes", "no", "kind"),
    [
        ("01", "02", "U"),
        ("1.0", "2.0", "U"),
        ("TRUE", "FALSE", "U"),
        ("+1", "-1", "U"),
        ("1", "2", "i"),
        (" 1", "2 ", "i"),
        ("-1", "1", "i"),
        ("true", "false", "b"),
    ],
)
def test_labels_are_written_back_as_they_were(run: Run, yes: str, no: str, kind: str) -> None:
    with_labels(yes, no)
    said = facts(run("fit", "t.csv", *FIT, "-o", "m.obliqua").stdout)
    assert all(f"{label.strip()} (" in said["classes"] for label in (yes, no))
    assert obliqua.load("m.obliqua").classes_.dtype.kind == kind
    result = run("predict", "m.obliqua", "t.csv", "--proba", "--score", "y")
    assert set(column(result.stdout, "prediction")) == {yes.strip(), no.strip()}
    assert f"proba_{yes.strip()}" in result.stdout
    assert result.stderr == "accuracy 100.0 % on 60 rows\n"
    shown = run("show", "m.obliqua").stdout
    assert f" {yes.strip()} (" in shown
    assert f" {min(yes.strip(), no.strip())}, {max(yes.strip(), no.strip())}\n" in shown


def test_labels_that_differ_only_in_writing_are_noted(run: Run) -> None:
    text = "a,y\n" + "1,1\n2,01\n3,2\n" * 3
    result = run("fit", "-", *FIT, "-o", "m.obliqua", input=text)
    assert facts(result.stdout)["classes"] == "3: 01 (3), 1 (3), 2 (3)"
    assert "'01' and '1' are two classes" in result.stderr


@pytest.mark.parametrize(
    ("fitted", "given"),
    [
        (("1", "2"), ("01", "02")),
        (("01", "02"), ("1", "2")),
        (("1", "0"), ("1.0", "0.0")),
        (("true", "false"), ("TRUE", "FALSE")),
        (("True", "False"), ("true", "false")),
    ],
)
def test_labels_of_another_kind_are_matched(
    run: Run, fitted: tuple[str, str], given: tuple[str, str]
) -> None:
    with_labels(*fitted, path="fitted.csv")
    with_labels(*given, path="given.csv")
    said = run("fit", "fitted.csv", *FIT, "-o", "m.obliqua", "--test", "given.csv").stdout
    assert "100.0 % on 60 rows of given.csv" in said
    result = run("predict", "m.obliqua", "given.csv", "--score", "y")
    assert result.stderr == "accuracy 100.0 % on 60 rows\n"
    run("show", "m.obliqua", "--plot", "t.svg", "--data", "given.csv", "-t", "y")
    assert Path("t.svg").exists()


def test_labels_of_parquet_are_matched(run: Run, data: Path) -> None:
    truth = pl.read_csv(data).with_columns(pl.col("y") == "yes")
    truth.write_parquet("bool.parquet")
    said = facts(run("fit", "bool.parquet", *FIT, "-o", "m.obliqua").stdout)
    assert said["classes"].startswith("2: false (")
    with_labels("TRUE", "FALSE")
    result = run("predict", "m.obliqua", "t.csv", "--score", "y")
    assert result.stderr == "accuracy 100.0 % on 60 rows\n"
    assert set(column(result.stdout, "prediction")) == {"true", "false"}
    assert ": true (" in run("show", "m.obliqua", "--rules").stdout.replace("then ", ": ")


def test_unknown_labels_are_wrong_and_counted(run: Run, model: Path) -> None:
    text = table().replace("yes", "maybe", 3)
    Path("t.csv").write_text(text)
    result = run("predict", "m.obliqua", "t.csv", "--score", "y")
    assert result.stderr == (
        "accuracy 95.0 % on 60 rows; 3 of them have a class that the model does not know: "
        "'maybe'\n"
    )
    result = run("show", "m.obliqua", "--plot", "t.svg", "--data", "t.csv", "-t", "y")
    assert "60 rows; 3 of them have a class that the model does not know" in result.stderr
    said = run("fit", "data.csv", *FIT, "-o", "x.obliqua", "--test", "t.csv").stdout
    assert "95.0 % on 60 rows of t.csv; 3 of them" in said


def test_only_unknown_labels_are_an_error(run: Run, model: Path) -> None:
    with_labels("1", "0")
    for words in (
        ("predict", "m.obliqua", "t.csv", "--score", "y"),
        ("show", "m.obliqua", "--plot", "t.svg", "--data", "t.csv", "-t", "y"),
    ):
        result = run(*words, code=1)
        assert "none of the labels is a class that the model knows" in result.stderr
        assert "They are '0', '1'; the model's classes are 'no', 'yes'" in result.stderr
        assert result.stdout == ""
    assert not Path("t.svg").exists()


def test_writing_tells_classes_apart_where_it_must() -> None:
    classes = np.array(["01", "1", "2"])
    assert class_numbers(classes, np.array(["1", "01", "1.0", "2.0"])).tolist() == [1, 0, -1, -1]
    assert class_numbers(np.array([1, 2]), np.array(["2.0", "x"])).tolist() == [1, -1]
    assert class_numbers(np.array([False, True]), np.array([1, 0])).tolist() == [-1, -1]
