"""``obliqua predict``: columns by name, results as CSV or Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import obliqua
from cli_tools import Run


def read(text: str) -> pl.DataFrame:
    return pl.read_csv(text.encode())


def test_the_classes_are_those_of_the_model(run: Run, model: Path, data: Path) -> None:
    result = run("predict", "m.obliqua", "data.csv")
    frame, tree = pl.read_csv(data), obliqua.load(model)
    assert read(result.stdout)["prediction"].to_list() == list(tree.predict(frame["a", "b", "c"]))
    assert result.stderr == "Note: 1 column not used: 'y'.\n"
    assert run("predict", "m.obliqua", "data.csv", "-q").stderr == ""


def test_columns_are_found_by_name(run: Run, model: Path, data: Path) -> None:
    plain = run("predict", "m.obliqua", "data.csv").stdout
    frame = pl.read_csv(data)
    other = frame.select("c", pl.lit("text").alias("remark"), "a", pl.lit(None).alias("e"), "b")
    other.write_csv("other.csv")
    result = run("predict", "m.obliqua", "other.csv")
    assert result.stdout == plain
    assert "2 columns not used: 'remark', 'e'" in result.stderr


def test_missing_columns_are_all_named(run: Run, model: Path) -> None:
    Path("other.csv").write_text("A,c\n1,2\n")
    result = run("predict", "m.obliqua", "other.csv", code=1)
    assert "lacks 2 columns that the model needs: 'a', 'b'" in result.stderr
    assert "Did you mean 'A' for 'a'?" in result.stderr
    assert result.stdout == ""


def test_shares_and_an_identifier(run: Run, model: Path, data: Path) -> None:
    frame = pl.read_csv(data).with_row_index("row")
    frame.write_csv("with_id.csv")
    got = read(run("predict", "m.obliqua", "with_id.csv", "--proba", "--id", "row").stdout)
    assert got.columns == ["row", "prediction", "proba_no", "proba_yes"]
    assert got["row"].to_list() == list(range(60))
    shares = obliqua.load(model).predict_proba(frame["a", "b", "c"])
    assert np.array_equal(got["proba_no", "proba_yes"].to_numpy(), shares)


def test_an_identifier_with_the_name_of_a_result(run: Run, model: Path, data: Path) -> None:
    pl.read_csv(data).rename({"y": "prediction"}).write_csv("o.csv")
    result = run("predict", "m.obliqua", "o.csv", "--id", "prediction", code=1)
    assert "rename it" in result.stderr
    result = run("predict", "m.obliqua", "o.csv", "--id", "predictions", code=1)
    assert "Did you mean 'prediction'?" in result.stderr


@pytest.mark.parametrize("option", ["--id", "--score"])
def test_a_column_that_is_not_there(run: Run, model: Path, data: Path, option: str) -> None:
    result = run("predict", "m.obliqua", "data.csv", option, "nope", code=1)
    assert result.stderr.startswith(f"Error: {option}: data.csv has no column 'nope'.")


def test_an_identifier_that_is_no_value(run: Run, model: Path, data: Path) -> None:
    lists = pl.Series("id", [[1, 2]] * 60)
    pl.read_csv(data).with_columns(lists).write_parquet("t.parquet")
    result = run("predict", "m.obliqua", "t.parquet", "--id", "id", code=1)
    assert "cannot be written as .csv" in result.stderr
    run("predict", "m.obliqua", "t.parquet", "--id", "id", "-o", "out.parquet")


def test_the_score_goes_to_stderr(run: Run, model: Path, data: Path) -> None:
    result = run("predict", "m.obliqua", "data.csv", "--score", "y")
    assert result.stderr == "accuracy 100.0 % on 60 rows\n"
    frame = pl.read_csv(data)
    y = [None, "no" if frame["y"][1] == "yes" else "yes", *frame["y"][2:].to_list()]
    frame.with_columns(y=pl.Series(y)).write_csv("o.csv")
    result = run("predict", "m.obliqua", "o.csv", "--score", "y")
    assert result.stderr == "accuracy 98.3 % on 59 rows (1 row without a class left out)\n"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.PQ"])
def test_files(run: Run, model: Path, data: Path, name: str) -> None:
    plain = read(run("predict", "m.obliqua", "data.csv", "--proba").stdout)
    result = run("predict", "m.obliqua", "data.csv", "--proba", "-o", name)
    assert result.stdout == ""
    reader = pl.read_csv if name.endswith("csv") else pl.read_parquet
    assert reader(name).equals(plain)
    assert sorted(path.name for path in Path().iterdir()) == sorted(
        ["data.csv", "m.obliqua", name]
    )


def test_files_that_cannot_be_written(run: Run, model: Path, data: Path) -> None:
    predict = ("predict", "m.obliqua", "data.csv", "-o")
    assert ".csv" in run(*predict, "out.xlsx", code=2).stderr
    assert "ends in nothing" in run(*predict, "out", code=2).stderr
    assert "is a folder" in run(*predict, ".", code=1).stderr
    assert "is not there" in run(*predict, "no/out.csv", code=1).stderr


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="Windows has no /dev/null")
def test_a_device_needs_no_ending(run: Run, model: Path, data: Path) -> None:
    result = run("predict", "m.obliqua", "data.csv", "-o", "/dev/null")
    assert result.stdout == ""
    assert Path("/dev/null").is_char_device()


def test_standard_input(run: Run, model: Path, data: Path) -> None:
    plain = run("predict", "m.obliqua", "data.csv").stdout
    assert run("predict", "m.obliqua", "-", input=data.read_bytes()).stdout == plain
    assert "standard input is empty" in run("predict", "m.obliqua", "-", code=1, input="").stderr


@pytest.mark.parametrize("content", [b"", b"no model", b"PK\x03\x04" + b"\0" * 50])
def test_model_files_that_are_none(run: Run, data: Path, content: bytes) -> None:
    Path("bad.obliqua").write_bytes(content)
    result = run("predict", "bad.obliqua", "data.csv", code=1)
    assert result.stderr.startswith("Error: ")
    assert "bad.obliqua" in result.stderr


def test_no_model(run: Run, model: Path, data: Path) -> None:
    assert "Did you mean 'm.obliqua'?" in run("predict", "n.obliqua", "data.csv", code=1).stderr
    assert "is a folder" in run("predict", ".", "data.csv", code=1).stderr


def test_a_tree_without_names(run: Run, data: Path) -> None:
    frame = pl.read_csv(data)
    tree = obliqua.CartClassifier().fit(frame["a", "b"].to_numpy(), frame["y"].to_numpy())
    for number, thing in enumerate((tree, tree.model_, tree.tree_)):
        obliqua.save(thing, f"{number}.obliqua")
        result = run("predict", f"{number}.obliqua", "data.csv", code=1)
        assert "fitted without names" in result.stderr
        frame.rename({"a": "x0", "b": "x1"}).write_csv("named.csv")
        got = read(run("predict", f"{number}.obliqua", "named.csv").stdout)
        assert got.height == 60
