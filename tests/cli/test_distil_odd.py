"""``obliqua distil`` with odd tables: labels written otherwise, words, huge numbers, few rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

import obliqua
from cli_tools import Run

SMALL = ("--leaves", "8", "--generated", "300", "-o", "s.obliqua")
CASES: dict[str, tuple[Any, list[str]]] = {
    "bool": ([False, True], ["False", "True"]),
    "objects": (np.array([False, True], dtype=object), ["False", "True"]),
    "small letters": ([False, True], ["false", "true"]),
    "float": ([1.0, 2.0], ["1.0", "2.0"]),
    "whole": ([1.0, 2.0], ["1", "2"]),
    "fraction": ([0.5, 1.5], ["0.5", "1.5"]),
    "integer": ([1, 2], ["1.0", "2.0"]),
    "text": (["1", "2"], ["1", "2"]),
}


@pytest.fixture
def frame(data: Path) -> pl.DataFrame:
    return pl.read_csv(data)


def teacher_file(frame: pl.DataFrame, classes: Any, named: bool = True) -> tuple[str, ...]:
    X = frame.drop("y")
    fitted = GaussianNB().fit(X if named else X.to_numpy(), (frame["y"] == "yes").to_numpy())
    fitted.classes_ = np.array(classes)  # scikit-learn would refuse to learn fractions
    joblib.dump(fitted, "t.joblib")
    return ("--teacher", "t.joblib", "--trust-pickle", *SMALL)


@pytest.mark.parametrize("case", CASES)
def test_labels_are_matched_by_text(run: Run, frame: pl.DataFrame, case: str) -> None:
    classes, words = CASES[case]
    line = teacher_file(frame, classes)
    yes = (frame["y"] == "yes").to_list()
    frame.with_columns(y=pl.Series([words[int(one)] for one in yes])).write_csv("words.csv")
    out = run("distil", "words.csv", "-t", "y", *line, "--test", "words.csv")
    lost = obliqua.load("s.obliqua").fidelity_["data"]
    assert lost["teacher_accuracy"] > 0.8
    assert out.stdout.count("accuracy") == 2
    assert "does not know" not in out.stderr


@pytest.mark.parametrize(
    "classes",
    [[False, True], np.array([False, True], dtype=object), [1.0, 2.0], ["no", "yes"]],
    ids=repr,
)
def test_labels_that_the_teacher_does_not_know(
    run: Run, frame: pl.DataFrame, classes: Any
) -> None:
    line = teacher_file(frame, classes)
    words = [str(classes[int(one == "yes")]) for one in frame["y"]]
    accuracies = []
    for odd in (0, 15):
        column = pl.Series(["maybe"] * odd + words[odd:])
        frame.with_columns(y=column).write_csv("odd.csv")
        result = run("distil", "odd.csv", "-t", "y", *line, "--test", "odd.csv")
        accuracies.append(float(result.stdout.split("accuracy")[-1].split()[0]))
        assert ("15 of them have a class that the model does not know" in result.stderr) == bool(
            odd
        )
    assert accuracies[1] < accuracies[0] - 15, "such rows count as mistakes"
    frame.with_columns(y=pl.lit("maybe")).write_csv("odd.csv")
    error = run("distil", "odd.csv", "-t", "y", *line, code=1).stderr
    assert "none of the labels is a class" in error


def test_teachers_of_several_labels(run: Run, frame: pl.DataFrame) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    X = frame.drop("y").to_numpy()
    joblib.dump(OneVsRestClassifier(LogisticRegression()).fit(X, (X > 0).astype(int)), "t.joblib")
    line = ("distil", "data.csv", "-t", "y", "--teacher", "t.joblib", "--trust-pickle", *SMALL)
    assert "Give one classifier per target" in run(*line, code=1).stderr


def test_order_of_columns_without_names(run: Run, frame: pl.DataFrame) -> None:
    words = "in the order of data.csv: 'a', 'b', 'c'."
    line = ("distil", "data.csv", "-t", "y")
    assert words in run(*line, *teacher_file(frame, ["no", "yes"], named=False)).stderr
    assert run(*line, *teacher_file(frame, ["no", "yes"], named=True)).stderr == ""


def test_words_and_infinities(run: Run, frame: pl.DataFrame) -> None:
    line = ("distil", "odd.csv", "-t", "y", *SMALL)
    text = frame.with_columns(pl.col("a").cast(pl.String))
    few = pl.Series(["gone", *text["a"].to_list()[1:]])
    text.with_columns(a=few).write_csv("odd.csv")
    error = run(*line, code=1).stderr
    assert "--missing gone" in error
    assert "--drop a" in error
    run(*line, "--missing", "gone")  # what it says helps
    run(*line, "--drop", "a")
    text.with_columns(a=pl.Series(["inf", *text["a"].to_list()[1:]])).write_csv("odd.csv")
    error = run(*line, code=1).stderr
    assert "column 'a' has 1 value that is not finite" in error
    assert "oc1-vote" not in error
    text.with_columns(a=pl.Series(["NA", *text["a"].to_list()[1:]])).write_csv("odd.csv")
    assert "Column 'a': 'NA' is missing (1 cell)" in run(*line).stderr


@pytest.mark.parametrize("taught", [False, True])
def test_numbers_beyond_what_the_teacher_takes(
    run: Run, frame: pl.DataFrame, taught: bool
) -> None:
    large = frame.with_columns(b=pl.Series([1e300, *frame["b"].to_list()[1:]]))
    large.write_csv("large.csv")
    line = ["distil", "large.csv", "-t", "y", *SMALL]
    if taught:
        forest = RandomForestClassifier(3, random_state=0)
        joblib.dump(forest.fit(frame.drop("y"), frame["y"].to_numpy()), "f.joblib")
        line += ["--teacher", "f.joblib", "--trust-pickle"]
    assert "large.csv: 'b' has numbers beyond 3.4e+38" in run(*line, code=1).stderr
    line = [*line, "--test", "large.csv"]
    line[1] = "data.csv"
    assert "rows of large.csv: 'b' has numbers beyond" in run(*line, code=1).stderr


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["1,2,yes"], "one class only, 'yes'"),
        (["1,2,yes"] * 9, "one class only, 'yes'"),
        (["1,2,yes", "2,2,no"], "Nothing can be learnt from 2 rows of few.csv"),
        (["1,2,yes", "1,2,no"] * 5, "the teacher says the same of all rows"),
    ],
)
def test_too_little_to_learn_from(run: Run, rows: list[str], words: str) -> None:
    Path("few.csv").write_text("\n".join(["a,b,y", *rows, ""]))
    result = run("distil", "few.csv", "-t", "y", *SMALL)
    assert words in result.stderr
    assert result.stderr.count("Note:") == 1


def test_folders_in_which_nothing_can_be_made(run: Run, data: Path) -> None:
    error = run("distil", "data.csv", "-t", "y", "-o", "/proc/x.obliqua", code=1).stderr
    assert "does not exist" not in error
