"""``obliqua edit``: a saved model changed as an edits file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import obliqua
from cli_tools import Run, facts, table
from obliqua.edit import fingerprint

PLANE = {
    "terms": [{"column": "a", "coefficient": 1}, {"column": "b", "coefficient": 1}],
    "threshold": 0.5,
    "missing": None,
}
SPLIT = {"node": 0, "edit": "split", "kind": "hyperplane", "plane": PLANE}


@pytest.fixture
def model(folder: Path, run: Run) -> obliqua.CartClassifier:
    """A model, rows to count, and edits for it."""
    (folder / "rows.csv").write_text(table())
    run("fit", "rows.csv", "-t", "y", "-m", "cart", "--set", "pruning=none", "-o", "m.obliqua")
    fitted = obliqua.load("m.obliqua")
    below = int(np.flatnonzero(~fitted.tree_.is_leaf)[1])
    write([SPLIT, {"node": below, "edit": "collapse", "words": "enough"}], fingerprint(fitted))
    return fitted


def write(edits: Any, model: str | None = None) -> None:
    fields = {"format": "obliqua edits", "version": 1, "model": model, "edits": edits}
    Path("edits.json").write_text(json.dumps(fields), "utf-8")


def test_a_model_is_edited(run: Run, model: obliqua.CartClassifier) -> None:
    before = Path("m.obliqua").read_bytes()
    done = run("edit", "m.obliqua", "edits.json", "-o", "new.obliqua")
    edited = obliqua.load("new.obliqua")
    assert edited.tree_ == obliqua.apply_edits(model, "edits.json").tree_
    assert np.isnan(edited.tree_.gain[0])
    lines = done.stdout.splitlines()
    assert lines[0].startswith("1. node 0: asks a + b <= 0.5 (before: ")
    assert lines[1] == "2. enough"
    n, now = model.get_n_leaves(), edited.get_n_leaves()
    assert lines[2] == f"leaves  {n} before, {now} now"
    assert lines[3].startswith("saved   new.obliqua, ")
    assert "Give DATA to count it anew" in done.stderr
    assert Path("m.obliqua").read_bytes() == before
    shown = run("show", "new.obliqua", "--details")
    assert "rows not known" in shown.stdout
    assert "Importances are not known" in shown.stderr


def test_rows_are_counted(run: Run, model: obliqua.CartClassifier) -> None:
    done = run("edit", "m.obliqua", "edits.json", "rows.csv", "-t", "y", "-o", "new.obliqua")
    edited = obliqua.load("new.obliqua")
    assert edited.tree_.n_samples[0] == edited.tree_.n_samples[1:3].sum() == 60
    said = facts(done.stdout.replace("accuracy  ", "accuracy            "))["accuracy"]
    frame = pd.read_csv("rows.csv")
    scores = [100 * fitted.score(frame[["a", "b", "c"]], frame["y"]) for fitted in (model, edited)]
    assert said == f"{scores[0]:.1f} % before, {scores[1]:.1f} % now on 60 rows"
    assert "not known" not in done.output


def test_numbers(run: Run, folder: Path) -> None:
    (folder / "rows.csv").write_text(table())
    run("fit", "rows.csv", "-t", "c", "--drop", "y", "--set", "max_depth=2", "-o", "m.obliqua")
    write([{"node": 0, "edit": "collapse"}, {"node": 0, "edit": "label", "value": 0.25}])
    words = ["edit", "m.obliqua", "edits.json", "rows.csv", "-t", "c", "-o", "new.obliqua"]
    done = run(*words)
    assert "2. node 0: says 0.25 (before: mean" in done.stdout
    assert "R squared" in done.stdout
    assert "now on 60 rows" in " ".join(done.stdout.split())
    edited, rows = obliqua.load("new.obliqua"), pd.read_csv("rows.csv")[["a", "b"]]
    assert set(edited.predict(rows)) == {0.25}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "Missing option '--output'"),
        (["-o", "m.obliqua"], 1, "m.obliqua is the file that is read"),
        (["-o", "edits.json"], 1, "edits.json is the file that is read"),
        (["rows.csv", "-t", "y", "-o", "rows.csv"], 1, "rows.csv is the file that is read"),
        (["rows.csv", "-o", "x"], 2, "DATA needs --target"),
        (["-t", "y", "-o", "x"], 2, "--target is for DATA, which is not given"),
        (["--missing", "?", "-o", "x"], 2, "--missing is for DATA"),
        (["rows.csv", "-t", "z", "-o", "x"], 1, "z"),
    ],
)
@pytest.mark.usefixtures("model")
def test_wrong_words(run: Run, words: list[str], code: int, message: str) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    done = run("edit", "m.obliqua", "edits.json", *words, code=code)
    assert message in " ".join(done.stderr.split())
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.usefixtures("model")
def test_edits_that_cannot_be_done(run: Run) -> None:
    words = ["m.obliqua", "edits.json", "-o", "x.obliqua"]
    write([{"node": 99, "edit": "collapse"}])
    assert "Edit 1 of 1 (collapse, node 99)" in run("edit", *words, code=1).stderr
    write([], "0" * 64)
    assert "made for a model with the fingerprint" in run("edit", *words, code=1).stderr
    Path("edits.json").write_text("not JSON")
    assert "The edits are no JSON" in run("edit", *words, code=1).stderr
    Path("edits.json").unlink()
    assert "edits.json is not there" in run("edit", *words, code=1).stderr
    Path("edits.json").mkdir()
    run("edit", *words, code=1)
    assert not Path("x.obliqua").exists()
