"""``obliqua fit``: the model, the summary, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import obliqua
from cli_tools import Run, facts, people, table
from obliqua.select.methods import METHODS, default_method


def test_the_model_is_the_one_that_the_library_fits(run: Run, data: Path) -> None:
    run("fit", "data.csv", "-t", "y", "-m", "hhcart-d", "--seed", "3", "--set", "max_depth=2")
    ours = obliqua.load("model.obliqua")
    frame = pl.read_csv(data)
    X, y = frame.drop("y"), frame["y"].to_numpy()
    same = obliqua.HHCartClassifier(variant="dominant", max_depth=2, random_state=3).fit(X, y)
    assert ours.tree_ == same.tree_
    assert list(ours.feature_names_in_) == ["a", "b", "c"]


def test_jobs_do_not_change_the_file(run: Run, data: Path) -> None:
    run("fit", "data.csv", "-t", "y", "-o", "one.obliqua")
    run("fit", "data.csv", "-t", "y", "-o", "two.obliqua", "--jobs", "2")
    assert Path("one.obliqua").read_bytes() == Path("two.obliqua").read_bytes()


def test_the_summary(run: Run, data: Path) -> None:
    whole = ("-m", "hhcart-a", "--set", "pruning=none")
    result = run("fit", "data.csv", "-t", "y", *whole, "-o", "m.obliqua")
    assert result.stderr == ""
    said, tree = facts(result.stdout), obliqua.load("m.obliqua")
    assert said["rows"] == "60"
    assert said["features"] == "3 numeric"
    assert "missing" not in said
    assert said["classes"].startswith("2: no (")
    assert said["leaves"] == str(tree.get_n_leaves())
    assert said["depth"] == str(tree.get_depth())
    assert said["accuracy"] == "100.0 % on the training rows; for new ones see --holdout"
    # Where new rows are measured, or a tree of one leaf learns nothing by heart, that is needless.
    measured = run("fit", "data.csv", "-t", "y", "--holdout", "0.2", "-o", "h.obliqua").stdout
    assert "% on the training rows\n" in measured and "% on 12 rows held out\n" in measured
    (data.parent / "same.csv").write_text("a,y\n1,p\n1,p\n1,q\n")
    alone = run("fit", "same.csv", "-t", "y", *whole, "-o", "s.obliqua").stdout
    assert "66.7 % on the training rows\n" in alone
    assert said["saved"].startswith("m.obliqua, ")


def test_the_method_if_none_is_named(run: Run, folder: Path) -> None:
    rng = np.random.default_rng(0)
    for task, names, most in (
        ("classification", ("refined", "hhcart-d-fisher"), 5_000),
        ("regression", ("oblique-linear", "oblique"), 400),
    ):
        assert [default_method(task, n) for n in (most, most + 1)] == list(names)
        assert run("fit", "--help").stdout.count(names[0]) > 1
    X = rng.normal(size=(30, 401)).round(3)
    pl.DataFrame(X, [f"x{k}" for k in range(401)]).with_columns(y=X[:, 0]).write_csv("wide.csv")
    words = ("fit", "wide.csv", "-t", "y", "-o", "m.obliqua")
    assert facts(run(*words).stdout)["method"].startswith("oblique, ")
    assert facts(run(*words, "--drop", "x1").stdout)["method"].startswith("oblique-linear, ")


@pytest.mark.parametrize("method", [name for name in METHODS if name != "sklearn"])
def test_every_method_fits(run: Run, data: Path, method: str) -> None:
    said = facts(run("fit", "data.csv", "-t", "y", "-m", method).stdout)
    assert said["method"] == f"{method}, {METHODS[method].title}"


def test_a_greedy_tree_that_is_kept_is_named(run: Run, folder: Path) -> None:
    X = np.random.default_rng(1).uniform(0.0, 3.0, size=(300, 3))
    y = (X[:, 0].astype(int) + 2 * X[:, 1].astype(int)) % 3  # a chessboard
    pl.DataFrame(X, ["a", "b", "c"]).with_columns(y=y).write_csv("board.csv")
    said = facts(run("fit", "board.csv", "-t", "y", "-m", "refined").stdout)
    assert said["kept"] == "the axis-parallel tree, which was better on held-out rows"


def test_scikit_learns_tree_cannot_be_saved(run: Run, data: Path) -> None:
    assert "cart" in run("fit", "data.csv", "-t", "y", "-m", "sklearn", code=2).stderr


def test_accuracy_on_rows_held_out(run: Run, data: Path) -> None:
    words = ("fit", "data.csv", "-t", "y", "--holdout", "0.25", "-o", "m.obliqua")
    words += ("-m", "hhcart-a", "--set", "pruning=holdout")
    result = run(*words)
    said = facts(result.stdout)
    grown = obliqua.load("m.obliqua").tree_.n_samples[0]
    assert said["rows"] == f"45, {grown} of them grew the tree, the others pruned it"
    assert said["accuracy"].endswith("% on 15 rows held out")
    assert run(*words).stdout == result.stdout
    assert run(*words, "--seed", "1").stdout != result.stdout
    tree = obliqua.load("m.obliqua")
    assert tree.tree_.n_samples[0] <= 45


def test_accuracy_on_another_file(run: Run, data: Path) -> None:
    run("fit", "data.csv", "-t", "y", "-o", "m.obliqua")
    lines = table(30, seed=1).splitlines()
    # The columns in another order, and one more.
    other = [",".join([*reversed(line.split(",")), "7"]) for line in lines]
    Path("test.csv").write_text("\n".join(["y,c,b,a,id", *other[1:]]))
    result = run("fit", "data.csv", "-t", "y", "--test", "test.csv", "-o", "m.obliqua")
    frame = pl.read_csv("test.csv")
    tree = obliqua.load("m.obliqua")
    expected = np.mean(tree.predict(frame["a", "b", "c"]) == frame["y"].to_numpy())
    assert f"{100 * expected:.1f} % on 30 rows of test.csv" in result.stdout


def test_which_columns_are_used(run: Run, data: Path) -> None:
    run("fit", "data.csv", "-t", "y", "--features", "c,a", "-o", "m.obliqua")
    assert list(obliqua.load("m.obliqua").feature_names_in_) == ["c", "a"]
    run("fit", "data.csv", "-t", "y", "--drop", "a", "-o", "m.obliqua")
    assert list(obliqua.load("m.obliqua").feature_names_in_) == ["b", "c"]
    fit = ("fit", "data.csv", "-t", "y")
    assert "give one" in run(*fit, "--drop", "a", "--features", "b", code=1).stderr
    assert "no column 'z'" in run(*fit, "--features", "a,z", code=1).stderr
    assert "no column 'z'" in run(*fit, "--drop", "z", code=1).stderr
    assert "the target" in run(*fit, "--features", "a,y", code=1).stderr
    assert "no column left" in run(*fit, "--drop", "a,b,c", code=1).stderr


def test_weights(run: Run, data: Path) -> None:
    run("fit", "data.csv", "-t", "y", "--weight", "c", "-o", "m.obliqua", code=1)
    frame = pl.read_csv(data).with_columns(c=pl.col("c").abs())
    frame.write_csv(data)
    run("fit", "data.csv", "-t", "y", "--weight", "c", "-o", "m.obliqua")
    model = obliqua.load("m.obliqua")
    assert list(model.feature_names_in_) == ["a", "b"]
    same = obliqua.RefinedTreeClassifier()
    same.fit(frame["a", "b"], frame["y"].to_numpy(), sample_weight=frame["c"].to_numpy())
    assert model.tree_ == same.tree_


def test_the_summary_is_weighted(run: Run) -> None:
    # A tree of one leaf says p to all: 8 of 12 rows, but 2 of 11 in weight.
    rows = "".join(
        f"0,{label},{weight}\n" for label, weight in [("p", 0.25)] * 8 + [("q", 2.25)] * 4
    )
    Path("t.csv").write_text("a,y,w\n" + rows)
    Path("plain.csv").write_text("a,y\n0,p\n0,q\n0,p\n0,p\n")
    fit = ("fit", "t.csv", "-t", "y", "-m", "cart", "--set", "pruning=none", "-o", "m.obliqua")
    assert "66.7 % on the training rows" in run(*fit, "--drop", "w").stdout
    out = run(*fit, "--weight", "w", "--test", "t.csv").stdout
    said = facts(out)
    assert said["classes"] == "2: p (8), q (4)"
    assert said["weights"] == "w, 11 in all: p (2), q (9)"
    assert "81.8 % of weight on the training rows\n" in out
    assert "81.8 % of weight on 12 rows of t.csv" in out
    out = run(*fit, "--weight", "w", "--test", "plain.csv").stdout
    assert "25.0 % on 4 rows of plain.csv" in out


def test_negative_weights_are_refused(run: Run, data: Path) -> None:
    result = run("fit", "data.csv", "-t", "y", "--weight", "c", code=1)
    assert "negative" in result.stderr.lower()
    assert "no column 'w'" in run("fit", "data.csv", "-t", "y", "--weight", "w", code=1).stderr
    assert "is the target" in run("fit", "data.csv", "-t", "y", "--weight", "y", code=1).stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("max_depth=3", 3),
        ("max_depth=None", None),
        ("max_depth=none", None),
        ("prune_fraction=0.25", 0.25),
        ("prune_root=true", True),
        ("pruning=cv", "cv"),
        ("fill=training", "training"),
        ("class_weight={'no': 2.0}", {"no": 2.0}),
    ],
)
def test_settings(run: Run, data: Path, text: str, value: object) -> None:
    run("fit", "data.csv", "-t", "y", "-m", "hhcart-a", "--set", text, "-o", "m.obliqua")
    assert obliqua.load("m.obliqua").get_params()[text.partition("=")[0]] == value


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("max_deph=3", 2, "Did you mean 'max_depth'?"),
        ("pruning=none", 2, "Methods that have it: cart, c45, hhcart-a"),
        ("max_depth", 2, "name=value"),
        ("=3", 2, "name=value"),
        ("random_state=3", 2, "--seed"),
        ("n_jobs=2", 2, "--jobs"),
        ("max_depth=three", 2, "Got 'three'"),
        ("max_depth=0", 2, "max_depth"),
        ("fill=median", 2, "'fill' parameter"),
        ("categorical_features=[0]", 2, "--categorical"),
        ("class_weight={'maybe': 2}", 1, "maybe"),
    ],
)
def test_bad_settings(run: Run, data: Path, text: str, code: int, part: str) -> None:
    assert part in run("fit", "data.csv", "-t", "y", "--set", text, code=code).stderr
    assert not Path("model.obliqua").exists()


def test_settings_that_exclude_each_other(run: Run, data: Path) -> None:
    both = ["--set", "priors=equal", "--set", "class_weight=balanced"]
    assert "leave one of them out" in run("fit", "data.csv", "-t", "y", *both, code=2).stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--seed", "-1"],
        ["--seed", "x"],
        ["--jobs", "0"],
        ["--holdout", "0"],
        ["--holdout", "1"],
        ["--method", "hhcard"],
        ["--drop", "a,,b"],
        ["--drop", '"a'],
        ["--delimiter", "ab"],
        ["--no-such-option"],
    ],
)
def test_wrong_usage(run: Run, data: Path, words: list[str]) -> None:
    result = run("fit", "data.csv", "-t", "y", *words, code=2)
    assert words[0] in result.stderr
    assert result.stdout == ""
    assert not Path("model.obliqua").exists()


def test_a_model_is_not_replaced_by_accident(run: Run, data: Path) -> None:
    Path("model.obliqua").write_text("precious")
    result = run("fit", "data.csv", "-t", "y", code=1)
    assert "--output" in result.stderr
    assert Path("model.obliqua").read_text() == "precious"
    run("fit", "data.csv", "-t", "y", "--output", "model.obliqua")
    assert obliqua.load("model.obliqua").n_classes_ == 2


def test_a_file_that_cannot_be_written_is_found_before_the_fit(run: Run, data: Path) -> None:
    assert "is not there" in run("fit", "no.csv", "-t", "y", code=1).stderr
    for target in ("no/such/folder/m.obliqua", "."):
        result = run("fit", "no.csv", "-t", "y", "-o", target, code=1)
        assert "folder" in result.stderr


def test_an_unwritable_folder(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write everywhere, so the question is answered here.
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "permission" in run("fit", "data.csv", "-t", "y", code=1).stderr


def test_classes_with_one_row(run: Run) -> None:
    rows = "".join(f"{k},c{k}\n" for k in range(4))
    said = run("fit", "-", "-t", "y", input="a,y\n" + rows)
    assert facts(said.stdout)["classes"].startswith("4: c0 (1)")
    result = run(
        "fit", "-", "-t", "y", "--holdout", "0.5", "-o", "x", code=1, input="a,y\n" + rows
    )
    assert "--holdout takes rows of each class, but the class 'c0' has only one" in result.stderr


@pytest.mark.parametrize(("share", "held", "left"), [("0.999", 60, 0), ("0.01", 1, 59)])
def test_a_share_that_leaves_a_class_out(
    run: Run, data: Path, share: str, held: int, left: int
) -> None:
    result = run("fit", "data.csv", "-t", "y", "--holdout", share, "-o", "x", code=1)
    assert f"would hold out {held} of 60 rows and leave {left} to grow" in result.stderr
    assert "a row of each of the 2 classes" in result.stderr
    assert "test_size" not in result.stderr


def test_rows_are_said_to_prune_only_if_they_do(run: Run, data: Path) -> None:
    fit = ("fit", "data.csv", "-t", "y", "-m", "hhcart-a", "-o", "m.obliqua", "--set")
    for setting in ("pruning=none", "pruning=cv", "pruning=auto", "ccp_alpha=0"):
        assert facts(run(*fit, setting).stdout)["rows"] == "60"
        assert "pruned it" not in run("show", "m.obliqua").stdout
    for setting in ("pruning=reduced_error", "prune_fraction=0.25"):
        held = ("--set", "pruning=holdout") if "=0.25" in setting else ()
        said = facts(run(*fit, setting, *held).stdout)["rows"]
        grown = obliqua.load("m.obliqua").tree_.n_samples[0]
        assert said == f"60, {grown} of them grew the tree, the others pruned it"
        share = 25 if "=0.25" in setting else 10
        assert (
            f"{grown} grew the tree, about {share} % of all pruned"
            in run("show", "m.obliqua").stdout
        )


def test_rows_without_weight_do_not_prune(run: Run) -> None:
    rows = "".join(f"{k},{k % 2},{int(k < 30)}\n" for k in range(40))
    fit = ("fit", "-", "-t", "y", "-m", "cart", "--set", "pruning=holdout", "--weight", "w")
    said = run(*fit, input="a,y,w\n" + rows).stdout
    grown = obliqua.load("model.obliqua").tree_.n_samples[0]
    assert grown < 30
    assert facts(said)["rows"] == f"40, {grown} of them grew the tree, {30 - grown} pruned it"


def test_a_name_with_a_comma_is_quoted(run: Run, data: Path) -> None:
    data.write_text(table().replace("a,b", '"a, b",b', 1))
    fit = ("fit", "data.csv", "-t", "y", "-m", "cart", "-o", "m.obliqua")
    for option in ("--drop", "--features"):
        message = run(*fit, option, "a, b", code=1).stderr
        assert f"""stands in quotes: {option} '"a, b"'""" in message
        run(*fit, option, '"a, b"')


def test_methods_that_are_listed_can_be_used(run: Run, data: Path) -> None:
    message = run("fit", "data.csv", "-t", "y", "-m", "foo", code=2).stderr
    assert "The methods are cart, c45, hhcart-a" in message
    assert "sklearn" not in message
    message = run("compare", "data.csv", "-t", "y", "-m", "foo", code=2).stderr
    assert "sklearn" in message


def test_a_doubtful_target_is_noted(run: Run) -> None:
    rows = "".join(f"{k},{k}\n" for k in range(30))
    result = run("fit", "-", "-t", "y", input="a,y\n" + rows)
    assert "Note: The number of unique classes" in result.stderr
    quiet = run("fit", "-", "-t", "y", "-q", "-o", "m.obliqua", input="a,y\n" + rows)
    assert quiet.stderr == ""
    assert facts(quiet.stdout)["classes"].startswith("30: ")


# --- several trees ----------------------------------------------------------------------------


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


def test_a_forest_is_fitted_shown_and_asked(run: Run, data: Path) -> None:
    words = ("--set", "n_estimators=5", "-o", "m.obliqua", "--jobs", "2")
    said = facts(run("fit", "data.csv", "-t", "y", "-m", "forest", *words).stdout)
    model = obliqua.load("m.obliqua")
    assert isinstance(model, obliqua.ObliqueForestClassifier)
    assert len(model) == 5
    assert said["leaves"] == str(sum(member.get_n_leaves() for member in model))
    assert said["rows"] == "60"
    assert "ObliqueForestClassifier" in run("show", "m.obliqua", "--tree", "4").stdout
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
def test_wrong_settings_inside(run: Run, data: Path, setting: str, message: str) -> None:
    words = ("fit", "data.csv", "-t", "y", "-m", "oc1-vote", "--set", setting)
    assert message in " ".join(run(*words, code=2).stderr.split())


def test_a_method_that_was_taken_away_has_no_settings(run: Run, data: Path) -> None:
    words = ("fit", "data.csv", "-t", "y", "-m", "oc1-vote")
    wrong = ("--set", "estimator=none", "--set", "estimator__n_jumps=2")
    assert "--set: estimator__n_jumps is" in " ".join(run(*words, *wrong, code=2).stderr.split())


def test_numbers_are_recognised(run: Run, data: Path) -> None:
    frame = pl.read_csv(data)
    said = facts(run("fit", "data.csv", "-t", "a", "--drop", "y", "--holdout", "0.2").stdout)
    assert said["method"] == "oblique-linear, oblique, linear functions in the leaves"
    assert said["numbers"].startswith("a, from ")
    assert "root mean square error" in said["R squared"]
    tree = obliqua.load("model.obliqua")
    assert isinstance(tree, obliqua.ObliqueTreeRegressor)
    result = run("predict", "model.obliqua", "data.csv", "--score", "a", "-o", "told.csv")
    assert "\nR squared " in result.stderr
    told = pl.read_csv("told.csv")["prediction"].to_numpy()
    assert told.tolist() == tree.predict(frame.select("b", "c")).tolist()
    assert "leaves from" in facts(run("show", "model.obliqua").stdout)["numbers"]
    wrong = run("predict", "model.obliqua", "data.csv", "--proba", code=2)
    assert "predicts numbers" in wrong.stderr


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0.5, 1.0, 2.0], "regression"),
        (list(range(60)), "regression"),
        (list(range(30)), "classification"),
        (["1e2", "x"], "classification"),
        ([10**30 + k for k in range(3)], "classification"),
        ([f"{k:03}" for k in range(60)], "classification"),
    ],
)
def test_what_a_target_is(run: Run, tmp_path: Path, values: list[object], task: str) -> None:
    lines = [f"{k},{values[k % len(values)]}" for k in range(120)]
    (tmp_path / "t.csv").write_text("a,y\n" + "\n".join(lines) + "\n")
    said = facts(run("fit", "t.csv", "-t", "y", "-m", "cart", "-o", "m.obliqua").stdout)
    assert ("numbers" in said) == (task == "regression")


def test_the_task_can_be_told(run: Run, tmp_path: Path) -> None:
    rows = "\n".join(f"{k},{k % 3}" for k in range(40))
    (tmp_path / "t.csv").write_text(f"a,y\n{rows}\n")
    words = ("fit", "t.csv", "-t", "y", "-o", "m.obliqua", "--task", "regression")
    assert facts(run(*words).stdout)["numbers"] == "y, from 0 to 2, mean 0.975"
    assert "learns classes. For numbers there are cart" in run(*words, "-m", "oc1", code=2).stderr
    (tmp_path / "q.csv").write_text("a,y\n1,0.25\n2,1.5\n")
    as_classes = run("fit", "q.csv", "-t", "y", "--task", "classification", code=1)
    assert "a quantity" in as_classes.stderr and "0.25 in row 1 (line 2)" in as_classes.stderr


def test_words_among_numbers_of_a_target(run: Run, tmp_path: Path) -> None:
    cells = [f"{k / 8}" for k in range(40)]
    for word, said in (("NA", "empty in 1 row"), ("high", "'high'"), ("0,38", "'0,38'")):
        lines = "\n".join(f'{k},"{cell}"' for k, cell in enumerate([*cells, word]))
        (tmp_path / "t.csv").write_text(f"a,y\n{lines}\n")
        assert said in run("fit", "t.csv", "-t", "y", code=1).stderr
    (tmp_path / "t.csv").write_text("a,y\n" + "\n".join(f"{k},{c}" for k, c in enumerate(cells)))
    pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": [0.5, float("nan"), 1.5, 2.5]}).write_parquet(
        tmp_path / "t.parquet"
    )
    words = ("fit", "t.parquet", "-t", "y", "--drop-missing-target", "-o", "m.obliqua")
    assert facts(run(*words).stdout)["rows"] == "3"


def test_a_method_for_classes_makes_classes_of_many_numbers(run: Run, tmp_path: Path) -> None:
    lines = "\n".join(f"{k},{k % 60}" for k in range(240))
    (tmp_path / "t.csv").write_text(f"a,y\n{lines}\n")
    guessed = run("fit", "t.csv", "-t", "y", "-m", "cart", "-o", "n.obliqua")
    assert "--task classification" in guessed.stderr
    assert "classes" in facts(run("fit", "t.csv", "-t", "y", "-m", "hhcart-d").stdout)
