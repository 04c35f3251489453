"""``obliqua distil``: the student, what was lost, and what it refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.naive_bayes import GaussianNB

import obliqua
from cli_tools import Run, people, table
from obliqua import DistilledClassifier, distil

SMALL = ("--leaves", "8", "--generated", "300", "-o", "s.obliqua")


@pytest.fixture
def votes(run: Run, data: Path) -> str:
    run("fit", "data.csv", "-t", "y", "-m", "oc1-vote", "-o", "votes.obliqua")
    return "votes.obliqua"


def said(summary: str) -> dict[str, list[str]]:
    """The lines of the summary, by what they are about."""
    found: dict[str, list[str]] = {}
    for line in summary.splitlines():
        found.setdefault(line[:12].strip(), []).append(line[12:].strip())
    return found


def test_a_forest_is_fitted_and_distilled(run: Run, data: Path) -> None:
    result = run("distil", "data.csv", "-t", "y", "--seed", "3", *SMALL)
    frame = pl.read_csv(data)
    X, y = frame.drop("y").cast(pl.Float64), frame["y"].to_numpy()
    same = DistilledClassifier(
        obliqua.ObliqueForestClassifier(random_state=3),
        max_leaves=8,
        n_generated=300,
        random_state=3,
    ).fit(X, y)
    ours = obliqua.load("s.obliqua")
    assert ours.model_.trees == same.model_.trees
    assert ours.fidelity_ == same.fidelity_
    lines = said(result.stdout)
    assert lines["rows"] == ["60, 12 of them held out, and 300 generated"]
    assert lines["leaves"] == ["8"]
    agreement = 100 * same.fidelity_["data"]["agreement"]
    assert lines["agreement"][0] == f"{agreement:.1f} % on 12 rows held out"
    assert lines["agreement"][1].endswith("on 2,000 rows generated")
    accuracy = same.fidelity_["data"]["student_accuracy"]
    assert lines["accuracy"][0].startswith(f"{100 * accuracy:.1f} %, that of the teacher ")
    assert "may know" not in result.stdout  # neither has seen these rows
    assert lines["saved"][0].startswith("s.obliqua, ")
    assert result.stderr == ""


def test_a_model_file_teaches(run: Run, votes: str) -> None:
    result = run("distil", "data.csv", "--teacher", votes, *SMALL, "--trees", "2", "-m", "cart")
    teacher, frame = obliqua.load(votes), pl.read_csv("data.csv")
    X = frame.drop("y").cast(pl.Float64)
    same = distil(
        teacher, X, max_leaves=8, n_trees=2, method="cart", n_generated=300, random_state=0
    )
    assert obliqua.load("s.obliqua").model_ == same.model_
    lines = said(result.stdout)
    assert lines["teacher"] == ["votes.obliqua, RepeatedTreesClassifier"]
    assert lines["leaves"] == ["8 in 2 trees that are added up"]
    assert "accuracy" not in lines
    with_y = run("distil", "data.csv", "--teacher", votes, "-t", "y", *SMALL).stdout
    assert said(with_y)["agreement"][0].endswith("held out, which the teacher may know")
    assert "may know" not in said(with_y)["agreement"][1]
    shown = run("show", "s.obliqua").stdout
    assert "DistilledClassifier" in shown
    predicted = run("predict", "s.obliqua", "data.csv", "--proba").stdout
    assert predicted.splitlines()[0] == "prediction,proba_no,proba_yes"


def test_bare_models_and_trees_teach(run: Run, model: Path) -> None:
    fitted = obliqua.load(model)
    obliqua.save(fitted.model_, "bare.obliqua")
    run("distil", "data.csv", "--teacher", "bare.obliqua", *SMALL)
    by_model = obliqua.load("s.obliqua").model_
    run("distil", "data.csv", "--teacher", str(model), *SMALL)
    assert obliqua.load("s.obliqua").model_ == by_model
    obliqua.save(fitted.tree_, "tree.obliqua")
    assert "x0" in run("distil", "data.csv", "--teacher", "tree.obliqua", *SMALL, code=1).stderr
    Path("x.csv").write_text(Path("data.csv").read_text().replace("a,b,c", "x0,x1,x2", 1))
    run("distil", "x.csv", "--teacher", "tree.obliqua", *SMALL)
    assert obliqua.load("s.obliqua").classes_.tolist() == [0, 1]


def test_categories_and_gaps(run: Run) -> None:
    Path("people.csv").write_text(people(120))
    run("fit", "people.csv", "-t", "y", "-m", "cart", "-o", "m.obliqua")
    run("distil", "people.csv", "--teacher", "m.obliqua", "-t", "y", *SMALL)
    student = obliqua.load("s.obliqua")
    assert student.model_.encoding.columns[1].levels == ("Bonn", "Oslo", "Rome")
    assert student.fidelity_["data"]["agreement"] > 0.8
    run("distil", "people.csv", "-t", "y", *SMALL)  # by a forest
    student = obliqua.load("s.obliqua")
    assert student.model_.encoding.columns[1].levels == ("Bonn", "Oslo", "Rome")
    assert student.fidelity_["data"]["rows"] == 24


def test_other_rows_to_measure_on(run: Run, data: Path) -> None:
    Path("test.csv").write_text(table(40, seed=1))
    out = run("distil", "data.csv", "-t", "y", "--test", "test.csv", *SMALL).stdout
    assert said(out)["agreement"][2].endswith("on 40 rows of test.csv")
    assert len(said(out)["accuracy"]) == 2
    frame = pl.read_csv("test.csv").drop("y")
    frame.write_csv("plain.csv")
    out = run("distil", "data.csv", "-t", "y", "--test", "plain.csv", *SMALL).stdout
    assert len(said(out)["accuracy"]) == 1
    everything = run("distil", "data.csv", "-t", "y", "--holdout", "0", *SMALL).stdout
    assert len(said(everything)["agreement"]) == 1


@pytest.mark.parametrize("named", [True, False])
def test_pickles_need_trust(run: Run, data: Path, named: bool) -> None:
    frame = pl.read_csv(data)
    X = frame.drop("y")
    forest = ExtraTreesClassifier(10, random_state=0)
    forest.fit(X if named else X.to_numpy(), frame["y"].to_numpy())
    joblib.dump(forest, "forest.joblib")
    words = ("distil", "data.csv", "-t", "y", "--teacher", "forest.joblib", *SMALL)
    error = run(*words, code=1).stderr
    assert "runs code that is in it: say --trust-pickle if you trust who made it" in error
    out = run(*words, "--trust-pickle").stdout
    assert said(out)["teacher"] == ["forest.joblib, ExtraTreesClassifier"]
    same = distil(
        forest,
        X.cast(pl.Float64) if named else X.to_numpy(),
        frame["y"].to_numpy(),
        max_leaves=8,
        n_generated=300,
        random_state=0,
    )
    assert obliqua.load("s.obliqua").model_ == same.model_
    Path("forest").write_bytes(pickle.dumps(forest))  # whatever it is called
    words = ("distil", "data.csv", "-t", "y", "--teacher", "forest", *SMALL)
    assert "--trust-pickle" in run(*words, code=1).stderr


@pytest.mark.parametrize("named", [True, False])
def test_columns_of_a_pickled_teacher(run: Run, data: Path, named: bool) -> None:
    frame = pl.read_csv(data)
    X = frame.drop("y")
    fitted = GaussianNB().fit(X if named else X.to_numpy(), frame["y"].to_numpy())
    joblib.dump(fitted, "t.joblib")
    line = ("distil", "data.csv", "--teacher", "t.joblib", "--trust-pickle", *SMALL)
    if named:  # finds its columns, and takes no others
        assert said(run(*line).stdout)["teacher"] == ["t.joblib, GaussianNB"]
        assert "--drop: the teacher knows" in run(*line, "--drop", "a", code=2).stderr
        return
    error = run(*line, code=1).stderr
    assert "GaussianNB takes 3 columns, and data.csv has 4 for it: 'a', 'b', 'c', 'y'." in error
    assert "--target leaves the column of the classes out" in error
    assert "has 2 for it: 'b', 'c'" in run(*line, "-t", "y", "--drop", "a", code=1).stderr
    assert said(run(*line, "--drop", "y").stdout)["leaves"] == ["8"]


def test_trust_is_not_needed_for_model_files(run: Run, votes: str) -> None:
    plain = run("distil", "data.csv", "--teacher", votes, *SMALL)
    trusted = run("distil", "data.csv", "--teacher", votes, "--trust-pickle", *SMALL)
    assert trusted.stdout == plain.stdout


class Trap:
    """Leaves a file behind when it is loaded."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("sprung"),)


def test_nothing_is_loaded_without_trust(run: Run, data: Path) -> None:
    Path("trap.pkl").write_bytes(pickle.dumps(Trap()))
    run("distil", "data.csv", "--teacher", "trap.pkl", *SMALL, code=1)
    assert not Path("sprung").exists()
    run("distil", "data.csv", "--teacher", "trap.pkl", "--trust-pickle", *SMALL, code=1)
    assert Path("sprung").exists()


@pytest.mark.parametrize(
    ("teacher", "words"),
    [
        (RandomForestRegressor(3), "not fitted"),
        (GaussianNB(), "not fitted"),
        ([1, 2], "list has none"),
    ],
)
def test_what_cannot_teach(run: Run, data: Path, teacher: Any, words: str) -> None:
    joblib.dump(teacher, "t.joblib")
    line = ("distil", "data.csv", "--teacher", "t.joblib", "--trust-pickle", *SMALL)
    assert words in run(*line, code=1).stderr


def test_what_is_refused(run: Run, data: Path, votes: str) -> None:
    assert "--target" in run("distil", "data.csv", code=2).stderr
    line = ("distil", "data.csv", "-t", "y")
    assert "--trees 5" in run(*line, "--leaves", "9", "--trees", "5", code=2).stderr
    assert "not in the range 0<=x<1" in run(*line, "--holdout", "1", code=2).stderr
    assert "is not there" in run(*line, "--teacher", "none.obliqua", code=1).stderr
    assert "No such file" in run(*line, "--teacher", "no.pkl", "--trust-pickle", code=1).stderr
    Path("damaged.pkl").write_bytes(b"\x80\x04nonsense")
    words = (*line, "--teacher", "damaged.pkl", "--trust-pickle")
    assert "cannot be loaded" in run(*words, code=1).stderr
    Path("text.obliqua").write_text("text")
    assert "not a model file" in run(*line, "--teacher", "text.obliqua", code=1).stderr
    drop = (*line, "--teacher", votes, "--drop", "a")
    assert "--drop: the teacher knows" in run(*drop, code=2).stderr
    assert "the file that is read" in run(*line, "-o", "data.csv", code=1).stderr
    assert "is the file that is read" in run(*line, "--teacher", votes, "-o", votes, code=1).stderr
    Path("student.obliqua").write_text("mine")
    assert "is there already" in run(*line, code=1).stderr
    assert Path("student.obliqua").read_text() == "mine"
    lacking = pl.read_csv("data.csv").drop("b")
    lacking.write_csv("lacking.csv")
    assert (
        "lacks 1 column" in run("distil", "lacking.csv", "--teacher", votes, *SMALL, code=1).stderr
    )


def test_jobs_do_not_change_the_file(run: Run, data: Path) -> None:
    line = ("distil", "data.csv", "-t", "y", "--leaves", "8", "--generated", "300")
    run(*line, "-o", "one.obliqua")
    run(*line, "-o", "two.obliqua", "--jobs", "2")
    assert Path("one.obliqua").read_bytes() == Path("two.obliqua").read_bytes()
    assert np.array_equal(obliqua.load("one.obliqua").classes_, ["no", "yes"])


# --- odd tables: labels written otherwise, words, huge numbers, few rows -----------------------

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


def test_numbers_beyond_what_the_teacher_takes(run: Run, frame: pl.DataFrame) -> None:
    large = frame.with_columns(b=pl.Series([1e300, *frame["b"].to_list()[1:]]))
    large.write_csv("large.csv")
    forest = RandomForestClassifier(3, random_state=0)
    joblib.dump(forest.fit(frame.drop("y"), frame["y"].to_numpy()), "f.joblib")
    line = ["distil", "large.csv", "-t", "y", *SMALL, "--teacher", "f.joblib", "--trust-pickle"]
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
