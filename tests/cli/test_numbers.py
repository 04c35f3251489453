"""The commands on a table whose target is numbers."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor

import obliqua
from cli_tools import Run, facts
from obliqua.select import advise as asking
from obliqua.select.candidates import NUMBER_CANDIDATES
from obliqua.select.methods import NUMBER_METHODS

SMALL = ("--leaves", "8", "--generated", "300", "-m", "cart", "-o", "s.obliqua")


@pytest.fixture
def houses(folder: Path) -> str:
    rng = np.random.default_rng(0)
    area, age = rng.uniform(20, 200, 80).round(1), rng.integers(0, 90, 80)
    town = np.where(rng.random(80) < 0.5, "north", "south")
    price = (area * np.where(town == "north", 3.0, 2.0) - age + rng.normal(size=80)).round(2)
    frame = pl.DataFrame({"area": area, "age": age, "town": town, "price": price})
    frame.write_csv(folder / "houses.csv")
    return "houses.csv"


@pytest.mark.parametrize("method", [name for name in NUMBER_METHODS if name != "sklearn"])
def test_every_method_fits_and_is_shown(run: Run, houses: str, method: str) -> None:
    said = facts(run("fit", houses, "-t", "price", "-m", method, "-o", "m.obliqua").stdout)
    assert said["method"] == f"{method}, {NUMBER_METHODS[method].title}"
    assert ("features per leaf" in said) == obliqua.load("m.obliqua").model_.trees[0].has_lines
    assert "leaves, depth" in run("show", "m.obliqua").stdout
    run("show", "m.obliqua", "--rules")


def test_spread_and_quantiles_are_predicted(run: Run, houses: str) -> None:
    quantiles = ("--set", "quantiles=[0.1,0.9]")
    run("fit", houses, "-t", "price", "-m", "cart-linear", *quantiles, "-o", "m.obliqua")
    found = pl.read_csv(io.StringIO(run("predict", "m.obliqua", houses, "--spread").stdout))
    assert found.columns == ["prediction", "spread", "quantile_0.1", "quantile_0.9"]
    tree = obliqua.load("m.obliqua")
    X = pl.read_csv(houses).drop("price").cast({"age": pl.Float64})
    np.testing.assert_allclose(found["spread"], tree.predict_std(X))
    np.testing.assert_allclose(found[:, 2:].to_numpy(), tree.predict_quantiles(X))
    run("fit", houses, "-t", "price", "-o", "plain.obliqua")
    plain = run("predict", "plain.obliqua", houses, "--spread").stdout
    assert plain.startswith("prediction,spread\n")
    told = run("predict", "plain.obliqua", houses, "--proba", code=2).stderr
    assert "--spread says how far" in told
    run("fit", houses, "-t", "town", "-o", "c.obliqua")
    assert "--proba adds" in run("predict", "c.obliqua", houses, "--spread", code=2).stderr


def test_compare(run: Run, houses: str) -> None:
    words = ("compare", houses, "-t", "price", "-m", "cart,cart-linear", "--folds", "3")
    shown = run(*words).stdout
    assert "80 rows, 3 features (1 qualitative), numbers to learn" in shown
    assert "R2" in shown and "RMSE" in shown and "MAE" in shown
    found = json.loads(run(*words, "--format", "json").stdout)
    assert found["task"] == "regression" and found["best"] == "cart-linear"
    assert {"r2", "rmse", "mae", "features_per_leaf", "p_value"} <= set(found["methods"][0])
    assert "--rates are of classes" in run(*words, "--rates", code=2).stderr


def test_the_task_of_compare(run: Run, houses: str) -> None:
    words = ("compare", houses, "-t", "age", "--folds", "2", "--format", "json")
    found = run(*words, "-m", "cart")
    assert json.loads(found.stdout)["task"] == "regression"
    assert "learnt as numbers; --task classification" in found.stderr
    told = run(*words, "-m", "oc1,oblique", "--task", "regression", code=2).stderr
    assert "oc1 learns classes. For numbers there are cart, " in told
    told = run(*words, "-m", "oblique", "--task", "classification", code=2).stderr
    assert "oblique learns numbers. For classes there are cart, " in told
    told = run("compare", houses, "-t", "town", "--task", "regression", code=1).stderr
    assert "holds text" in told and "--task classification" in told


def test_what_cannot_be_compared(run: Run, folder: Path) -> None:
    (folder / "same.csv").write_text("a,y\n" + "\n".join(f"{k},2.5" for k in range(9)) + "\n")
    (folder / "few.csv").write_text("a,y\n1,1.5\n2,2.5\n3,5\n")
    for command in ("compare", "advise"):
        same = run(command, "same.csv", "-t", "y", code=1).stderr
        assert "2.5 in all 9 rows, so there is nothing to learn" in same
        assert "needs at least 4 rows; got 3" in run(command, "few.csv", "-t", "y", code=1).stderr


def test_advise(run: Run, houses: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [
        replace(each, method=replace(each.method, params={"n_estimators": 5}))
        if each.name == "forest"
        else each
        for each in NUMBER_CANDIDATES
        if each.name != "refined"
    ]
    monkeypatch.setattr(asking, "NUMBER_CANDIDATES", tuple(chosen))
    monkeypatch.setattr(asking, "SIZES", (2,))
    words = ("advise", houses, "-t", "price", "--folds", "4", "--repeats", "1")
    shown = run(*words).stdout
    assert "R2 of trees of equal size" in shown
    assert "Take a" in shown
    assert "obliqua fit houses.csv -t price -m cart-linear" in shown
    assert json.loads(run(*words, "--json").stdout)["task"] == "regression"


def test_distil(run: Run, houses: str) -> None:
    words = ("distil", houses, "-t", "price", "--drop", "town")
    said = run(*words, *SMALL).stdout
    assert "like the teacher    R squared 0." in said and "on 16 rows held out" in said
    assert "like the truth      R squared 0." in said
    student = obliqua.load("s.obliqua")
    assert isinstance(student, obliqua.DistilledRegressor) and student.get_n_leaves() == 8
    told = run(*words, "--trees", "2", "-o", "t.obliqua", code=2).stderr
    assert "a student of numbers is one tree; got 2" in told
    told = run(*words, "-m", "oc1", "-o", "t.obliqua", code=2).stderr
    assert "oc1 is not for numbers; take one of cart, oblique, refined" in told


def test_files_teach(run: Run, houses: str) -> None:
    run("fit", houses, "-t", "price", "-o", "m.obliqua")
    said = run("distil", houses, "--teacher", "m.obliqua", "--test", houses, *SMALL).stdout
    assert "of houses.csv" in said and "like the truth" not in said
    frame = pl.read_csv(houses)
    X = frame.select("area", "age").to_numpy().astype(float)
    joblib.dump(RandomForestRegressor(5).fit(X, frame["price"].to_numpy()), "f.joblib")
    words = ("distil", houses, "--teacher", "f.joblib", "--trust-pickle", "--drop", "town")
    said = run(*words, "-t", "price", *SMALL[:-1], "t.obliqua").stdout
    assert "which the teacher may\n" in said or "may know" in said
    told = run(*words, "--task", "classification", "-o", "u.obliqua", code=2).stderr
    assert "the teacher is of another kind, regression" in told


def test_counts_that_are_taken_for_classes_are_told(run: Run, folder: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=60), "visits": np.arange(60) % 9})
    frame = frame.with_columns(few=pl.col("visits") % 3, code=pl.col("visits").cast(str) + "x")
    frame.write_csv(folder / "c.csv")
    frame.write_parquet(folder / "c.parquet")
    for name in ("c.csv", "c.parquet"):
        said = run("fit", name, "-t", "visits", "--features", "a", "-o", "m.obliqua").stderr
        assert "Note: 'visits' has 9 different whole numbers, which are learnt as classes" in said
        assert "--task regression learns them as numbers." in said
        assert said.count("Note:") == 1
    for target in ("few", "code"):
        words = ("-t", target, "--features", "a", "-o", "m.obliqua")
        assert "whole numbers" not in run("fit", "c.csv", *words).stderr
    for given in (("--task", "classification"), ("--task", "regression"), ("-m", "oblique")):
        words = ("-t", "visits", "--features", "a", "-o", "m.obliqua", *given)
        assert "whole numbers" not in run("fit", "c.csv", *words).stderr


def test_a_forest_teaches_numbers_of_categories(run: Run, houses: str) -> None:
    run("distil", houses, "-t", "price", *SMALL)
    student = obliqua.load("s.obliqua")
    levels = [column.levels for column in student.model_.encoding.columns if column.levels]
    assert len(levels) == 1 and len(levels[0]) > 1  # the column of text, as it came
    assert student.fidelity_["data"]["r2"] > 0.5


def test_an_empty_column_is_shown_as_empty(run: Run, houses: str, folder: Path) -> None:
    table = pl.read_csv(folder / houses).with_columns(nothing=pl.lit(None, pl.String))
    table.write_csv(folder / "gap.csv")
    fitted = facts(run("fit", "gap.csv", "-t", "price", "-o", "m.obliqua").stdout)
    assert fitted["features"] == "2 numeric, 1 qualitative, 1 empty"
    shown = " ".join(run("show", "m.obliqua").stdout.split())
    assert "(2 numeric, 1 qualitative, 1 empty)" in shown


def test_a_target_of_text_is_not_to_be_dropped(run: Run, houses: str) -> None:
    error = run("fit", houses, "-t", "town", "--task", "regression", code=1).stderr
    assert "the target must be numbers" in error and "--task classification" in error
    assert "--drop" not in error
