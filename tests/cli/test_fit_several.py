"""``obliqua fit`` with several trees."""

from __future__ import annotations

from pathlib import Path

import pytest

import obliqua
from cli_tools import Run, facts, people


def test_a_vote_is_fitted_shown_and_asked(run: Run, data: Path) -> None:
    words = ("--set", "n_estimators=3", "--set", "estimator__n_restarts=2", "-o", "m.obliqua")
    said = facts(run("fit", "data.csv", "-t", "y", "-m", "oc1-vote", *words).stdout)
    model = obliqua.load("m.obliqua")
    assert len(model.model_.trees) == 3
    assert model.estimator.n_restarts == 2
    assert said["leaves"] == str(model.get_n_leaves())
    assert said["rows"] == "60"
    shown = run("show", "m.obliqua", "--tree", "2")
    assert "RepeatedTreesClassifier" in shown.stdout
    assert run("show", "m.obliqua", "--tree", "3", code=1).stderr.count("3 trees") == 1
    assert len(run("predict", "m.obliqua", "data.csv").stdout.split()) >= 60


def test_the_best_is_one_tree(run: Run, data: Path) -> None:
    run("fit", "data.csv", "-t", "y", "-m", "oc1-vote", "--set", "combine=best", "-o", "m.obliqua")
    model = obliqua.load("m.obliqua")
    assert model.model_.trees == (model.tree_,)


def test_categories_reach_the_method_inside(run: Run) -> None:
    Path("people.csv").write_text(people())
    words = ("--categorical", "age", "--set", "n_estimators=2", "-o", "m.obliqua")
    run("fit", "people.csv", "-t", "y", "-m", "oc1-vote", *words)
    assert obliqua.load("m.obliqua").estimator.categorical_features == ["age", "town", "job"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("estimator__random_state=2", "estimator__random_state is set with --seed"),
        ("estimator__n_restarts=0", "'n_restarts' parameter of OC1Classifier"),
        ("n_restarts=2", "no parameter 'n_restarts'. Did you mean 'estimator__n_restarts'?"),
        ("n_estimator=2", "no parameter 'n_estimator'. Did you mean 'n_estimators'?"),
        ("estimator=3", "estimator must be a tree classifier of obliqua"),
    ],
)
def test_wrong_settings(run: Run, data: Path, setting: str, message: str) -> None:
    words = ("fit", "data.csv", "-t", "y", "-m", "oc1-vote", "--set", setting)
    assert message in " ".join(run(*words, code=2).stderr.split())


def test_a_method_that_was_taken_away_has_no_settings(run: Run, data: Path) -> None:
    words = ("fit", "data.csv", "-t", "y", "-m", "oc1-vote")
    wrong = ("--set", "estimator=none", "--set", "estimator__n_jumps=2")
    assert "--set: estimator__n_jumps is" in " ".join(run(*words, *wrong, code=2).stderr.split())
