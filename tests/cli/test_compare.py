"""``obliqua compare``: the table and its other forms."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import obliqua
from cli_tools import Run, people, table
from obliqua.select.methods import BY_DEFAULT

QUICK = ("compare", "data.csv", "-t", "y", "--folds", "3")


def test_the_table(run: Run, data: Path) -> None:
    result = run(*QUICK)
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "data.csv, target y: 60 rows, 3 features, 2 classes"
    assert [line.split()[0] for line in lines[4 : 4 + len(BY_DEFAULT)]] == list(BY_DEFAULT)
    assert max(map(len, lines)) <= 80
    assert "…" not in result.stdout
    assert "\x1b" not in result.stdout
    assert "3 stratified folds" in result.stdout


def test_a_wide_screen_says_what_the_methods_are(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "scikit-learn's tree" not in run(*QUICK).stdout
    monkeypatch.setenv("COLUMNS", "130")
    assert "scikit-learn's tree, not pruned" in run(*QUICK).stdout


@pytest.mark.parametrize("width", [78, 70, 60, 40, 30, 20])
def test_a_narrow_screen_cuts_no_figure(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    words = ("compare", "data.csv", "-t", "y", "-m", "cart,hhcart-d", "--folds", "3")
    monkeypatch.setenv("COLUMNS", "80")
    (wide,) = [line for line in run(*words).stdout.splitlines() if line.startswith("cart ")]
    monkeypatch.setenv("COLUMNS", str(width))
    result = run(*words)
    lines = result.stdout.splitlines()
    assert max(map(len, lines[1:])) <= width
    (at,) = [k for k, line in enumerate(lines) if line.startswith("cart ")]
    shown = lines[at].split()
    if width == 20:  # the star has a line of its own
        shown += lines[at + 1].split()
    assert shown[:11] == wide.split()[: min(11, len(shown))]  # the last one is a time
    assert {"...", "…"}.isdisjoint(result.stdout)
    assert len(shown) >= 4
    left_out = "fit ms; --format csv has all columns" in result.stderr
    assert left_out == (len(shown) < len(wide.split()))


def test_lines_have_no_spaces_at_their_ends(run: Run, data: Path) -> None:
    fit = run("fit", "data.csv", "-t", "y", "-o", "m.obliqua").stdout
    shown = run("show", "m.obliqua").stdout
    compared = run("compare", "data.csv", "-t", "y", "-m", "cart,means", "--folds", "3").stdout
    for text in (fit, shown, compared):
        assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_the_figures_are_the_librarys(run: Run, data: Path) -> None:
    frame = pl.read_csv(data)
    X, y = frame["a", "b", "c"].to_numpy(), frame["y"].to_numpy()
    expected = obliqua.compare(X, y, ["cart", "means"], n_folds=3, random_state=5)
    words = (*QUICK, "--methods", "cart,means", "--seed", "5", "--format", "json")
    got = json.loads(run(*words).stdout)
    assert json.loads(run(*words, "--jobs", "2").stdout)["methods"][0]["leaves"] is not None
    for mine, theirs in zip(got["methods"], expected.to_dict()["methods"], strict=True):
        for key in mine:
            assert key.startswith("seconds") or mine[key] == theirs[key]


def test_the_other_forms_agree(run: Run, data: Path) -> None:
    words = (*QUICK, "--methods", "cart,hhcart-d", "--repeats", "2")
    as_json = json.loads(run(*words, "--format", "json").stdout)
    as_csv = pl.read_csv(run(*words, "--format", "csv").stdout.encode())
    assert as_csv["method"].to_list() == ["cart", "hhcart-d"]
    assert as_csv["accuracy"].to_list() == [row["accuracy"] for row in as_json["methods"]]
    assert as_json["n_repeats"] == 2
    markdown = run(*words, "--format", "markdown").stdout
    assert markdown.startswith("| method | accuracy % |")


def test_settings_are_for_the_methods_that_have_them(run: Run, data: Path) -> None:
    words = (*QUICK, "--methods", "cart,sklearn", "--format", "json")
    rows = json.loads(run(*words, "--set", "pruning=none", "--set", "max_depth=1").stdout)
    assert [row["depth"] for row in rows["methods"]] == [1.0, 1.0]
    assert "no parameter 'tau'" in run(*words, "--set", "tau=0.1", code=2).stderr


def test_fewer_folds_are_noted_on_stderr(run: Run, data: Path) -> None:
    data.write_text(table() + "9,9,9,maybe\n9,9,8,maybe\n")
    result = run("compare", "data.csv", "-t", "y", "--methods", "cart", "--format", "csv")
    assert result.stderr == "Note: 2 folds instead of 10: the class 'maybe' has 2 rows.\n"


def test_tables_of_all_kinds(run: Run, data: Path) -> None:
    data.write_text(people(90))
    result = run(*QUICK, "--set", "max_depth=3")
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "data.csv, target y: 90 rows, 4 features (2 qualitative), 2 classes, 29 missing cells"
    )
    assert [line.split()[0] for line in lines[4 : 4 + len(BY_DEFAULT)]] == list(BY_DEFAULT)
    (noted,) = result.stderr.splitlines()
    assert noted.startswith("Note: sklearn takes no categories: each level is a column of 0 and 1")


def test_codes_as_categories(run: Run, data: Path) -> None:
    # Odd codes are yes: as numbers they need many splits, as categories one.
    rows = "".join(f"{k % 8},{['no', 'yes'][k % 2]}\n" for k in range(64))
    data.write_text("code,y\n" + rows)
    words = (*QUICK, "-m", "cart,sklearn", "--format", "json", "-q")
    words += ("--set", "max_depth=1", "--set", "pruning=none")
    as_numbers = json.loads(run(*words).stdout)["methods"]
    as_levels = json.loads(run(*words, "--categorical", "code").stdout)["methods"]
    assert as_numbers[0]["accuracy"] < 0.8
    assert as_levels[0]["accuracy"] == 1.0
    # One-hot, the other tree needs a split per level.
    assert as_levels[1]["accuracy"] < 0.8
    noted = run(*QUICK, "-m", "sklearn", "--categorical", "code").stderr
    assert noted.startswith("Note: sklearn takes no categories: each level is a column")


def test_rates_of_each_class(run: Run, data: Path) -> None:
    words = (*QUICK, "-m", "cart,means")
    plain, result = run(*words), run(*words, "--rates")
    assert "TPR %" not in plain.stdout
    table_of_rates = result.stdout.partition("TPR %")[2].splitlines()[2:6]
    assert [line.split()[:2] for line in table_of_rates[::2]] == [["no", "cart"], ["yes", "cart"]]
    (row, _) = json.loads(run(*words, "--format", "json").stdout)["methods"]
    figures = [line.split() for line in table_of_rates]
    assert float(figures[0][2]) == pytest.approx(100 * row["tpr[no]"], abs=0.05)
    assert float(figures[0][3]) == pytest.approx(100 * row["tnr[no]"], abs=0.05)
    # With two classes, what is found of one is what is not taken for the other.
    assert figures[0][2] == figures[2][3]
    assert "true positive rate" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    markdown = run(*words, "--rates", "--format", "markdown").stdout
    assert "| class | method | TPR % | TNR % |" in markdown
    assert "| no | cart | " in markdown
    assert "TPR %" not in run(*words, "--format", "markdown").stdout


def test_costs_are_paid_by_all_methods(run: Run, data: Path) -> None:
    words = (
        *QUICK,
        "--methods",
        "cart,sklearn",
        "--set",
        "costs={'no': {'yes': 1}, 'yes': {'no': 5}}",
    )
    found = json.loads(run(*words, "--format", "json").stdout)
    assert found["costs"] == [[0.0, 1.0], [5.0, 0.0]]
    assert all(row["mean_cost"] > 0 for row in found["methods"])
    text = run(*words).stdout
    assert " cost " in text
    assert "methods are compared by accuracy" in " ".join(text.split())
