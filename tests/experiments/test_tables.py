"""A published table beside ours, and the command that makes it."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from obliqua.experiments import __main__ as command
from obliqua.experiments.hhcart import METHODS, PROTOTYPE_2, PUBLISHED_2, TABLE_2
from obliqua.experiments.protocol import Method, Summary
from obliqua.experiments.store import Store
from obliqua.experiments.tables import Comparison, Entry, Figure, Row, Table, run_table

STUMP = Method("AP", "one split", "obliqua.CartClassifier", {"max_depth": 1})
OTHER = Method("new", "not in the paper", "obliqua.CartClassifier", {"max_depth": 2})


def small_table() -> Table:
    """Table 2 with methods that are quick."""
    return replace(TABLE_2, methods=(STUMP, OTHER), standard=("AP",))


def row(accuracy: float, leaves: float, published: Entry) -> Row:
    ours = Summary(10, (accuracy, 1.0), (leaves, 0.5), (0.5, 0.01))
    return Row("BS", "A", published, Entry(), ours)


PAPER = Entry(Figure(90.0, 2.0), Figure(10.0, 1.0))


def test_z_counts_published_standard_deviations() -> None:
    found = row(93.0, 7.5, PAPER)
    assert found.z_accuracy == 1.5
    assert found.z_leaves == -2.5
    assert math.isnan(row(93.0, 7.5, Entry()).z_accuracy)


def test_what_is_outside_two_is_marked_and_judged() -> None:
    rows = (row(93.0, 7.5, PAPER), row(85.9, 11.0, PAPER), row(94.0, 12.0, PAPER))
    text = Comparison(TABLE_2, rows).markdown()
    assert "| +1.50 |" in text
    assert "| **-2.50** |" in text
    assert "| **-2.05** |" in text
    assert "| +2.00 |" in text  # two is not more than two
    assert "Within 2: 4 of 6 cells." in text
    assert "BS A, leaves: z = -2.50 (better)" in text
    assert "BS A, accuracy: z = -2.05 (worse)" in text


def test_cells_without_a_published_figure_are_not_judged() -> None:
    compared = Comparison(TABLE_2, (row(93.0, 7.5, Entry()),))
    assert compared.judged() == []
    assert "Within" not in compared.markdown()
    assert "nan" not in compared.markdown() + compared.csv()


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    def head(*rows: Row) -> str:
        return Comparison(TABLE_2, rows).markdown().splitlines()[2]

    first = "| set | method | repeats | accuracy: "
    all_of_one = "paper | ours | z | leaves: paper | ours | z |"
    assert head(row(93.0, 7.5, Entry())) == f"{first}ours | leaves: ours |"
    assert head(row(93.0, 7.5, Entry()), row(93.0, 7.5, PAPER)) == first + all_of_one
    assert head(row(93.0, math.nan, Entry(Figure(90.0)))) == f"{first}paper | ours |"
    seen = replace(row(93.0, 7.5, PAPER), prototype=Entry(leaves=Figure(8.0)))
    text = Comparison(TABLE_2, (row(93.0, 7.5, Entry()), seen)).markdown()
    assert "leaves: paper | prototype | ours | z |" in text.splitlines()[2]
    for line in text.splitlines()[3:6]:  # all lines have as many cells
        assert line.count("|") == text.splitlines()[2].count("|")


def test_the_tables_of_figures_are_complete() -> None:
    names = [data_set.name for data_set in TABLE_2.data_sets]
    assert list(PUBLISHED_2) == list(PROTOTYPE_2) == names
    assert {tuple(entries) for entries in PUBLISHED_2.values()} == {TABLE_2.standard}
    assert {tuple(entries) for entries in PROTOTYPE_2.values()} == {("A", "D", "AP")}
    for entries in PUBLISHED_2.values():
        for entry in entries.values():
            assert entry.accuracy.sd > 0
            assert entry.leaves.sd > 0


def test_published_means_are_those_of_the_paper() -> None:
    """A slip in copying would move them. The means themselves were worked out separately."""
    small = [name for name in PUBLISHED_2 if name not in ("SHUT", "LET")]
    for method, accuracy, leaves in (
        *(("A", 79.12, 6.73), ("D", 78.13, 8.72), ("AP", 77.17, 13.8)),
        *(("OC1+program", 78.69, 7.08), ("LC", 77.98, 8.31)),
    ):
        entries = [PUBLISHED_2[name][method] for name in small]
        assert sum(e.accuracy.mean for e in entries) / 9 == pytest.approx(accuracy, abs=0.006)
        assert sum(e.leaves.mean for e in entries) / 9 == pytest.approx(leaves, abs=0.05)


def test_methods_have_names_of_their_own() -> None:
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    assert set(TABLE_2.standard) <= set(names)
    assert not any("," in name or "=" in name for name in names)


def test_unknown_names_are_errors_that_list_the_known(tmp_path: Path) -> None:
    for words in ({"data_sets": ["XX"]}, {"methods": ["XX"]}, {"repeats": {"XX": 1}}):
        choice: Any = words
        with pytest.raises(ValueError, match="is called 'XX'; there are"):
            run_table(small_table(), Store(tmp_path / "r.json", "t", 0), **choice)
    with pytest.raises(ValueError, match="at least one repeat, got 0"):
        run_table(small_table(), Store(tmp_path / "r.json", "t", 0), repeats=0)


# --- the command ------------------------------------------------------------------------------


def exit_code(words: list[str]) -> int:
    """Of the command, whether it returns the code or leaves at once."""
    try:
        return command.main(words)
    except SystemExit as left:
        return int(left.code or 0)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command with methods that are quick."""
    monkeypatch.setattr(command, "TABLES", {"hhcart-table-2": small_table()})


@pytest.mark.usefixtures("quick")
def test_the_command_writes_what_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    words = ["hhcart-table-2", "--sets", "BS,WINE", "--repeats", "2,WINE=1", "--out", str(out)]
    assert command.main(words) == 0
    shown = capsys.readouterr()
    assert (out / "hhcart-table-2.md").read_text("utf-8") == shown.out
    assert "| BS | AP | 2 | 78.2 ± 1.3 |" in shown.out
    assert "| WINE | AP | 1 | 89.2 ± 4.6 |" in shown.out
    with (out / "hhcart-table-2.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["set"], row["repeats"]) for row in rows] == [("BS", "2"), ("WINE", "1")]
    assert rows[0]["leaves_ours"] == "2.0"
    assert rows[1]["accuracy_ours_sd"] == ""

    # Again: refused, then completed by another method without repeating anything.
    assert command.main(words) == 2
    assert "--resume" in capsys.readouterr().err
    assert command.main([*words, "--resume", "--methods", "AP,new"]) == 0
    assert "[3/3] WINE new" in capsys.readouterr().err


@pytest.mark.usefixtures("quick")
def test_the_command_lists_and_complains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["hhcart-table-2", "--list"]) == 0
    assert "Boston Housing" in capsys.readouterr().out
    assert command.main(["hhcart-table-2", "--sets", "XX", "--out", str(tmp_path)]) == 2
    assert "error: --sets: no data set is called 'XX'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["no-such-table"])
    capsys.readouterr()
    assert list(tmp_path.iterdir()) == []


WRONG_WORDS = {
    "no sets": (["--sets", ""], "argument --sets: expected names with commas"),
    "no methods": (["--methods", " , "], "argument --methods: expected names with commas"),
    "no repeats": (["--repeats", "x"], r"argument --repeats: expected N[,SET=N]"),
    "empty repeats": (["--repeats", ""], r"argument --repeats: expected N[,SET=N]"),
    "half a repeat": (["--repeats", "3,BS=1.5"], r"argument --repeats: expected N[,SET=N]"),
    "a seed below 0": (["--seed", "-1"], "argument --seed: expected a whole number of at least 0"),
    "no seed": (["--seed", "x"], "argument --seed: expected a whole number of at least 0"),
    "no jobs": (["--jobs", "0"], "argument --jobs: expected a whole number other than 0"),
    "unknown set": (["--sets", "XX"], "--sets: no data set is called 'XX'; there are BS,"),
    "unknown method": (["--methods", "XX"], "--methods: no method is called 'XX'; there are AP,"),
    "repeats of none": (["--repeats", "1,XX=2"], "--repeats: no data set is called 'XX'"),
    "0 repeats": (["--repeats", "0", "--sets", "WINE"], "--repeats: .* got 0 for WINE"),
    "0 of one": (["--repeats", "1,LET=0", "--sets", "WINE"], "--repeats: .* got 0 for LET"),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", WRONG_WORDS)
def test_wrong_words_are_found_before_the_results_are_looked_at(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, message = WRONG_WORDS[name]
    (tmp_path / "hhcart-table-2.json").write_text("earlier results", "utf-8")
    assert exit_code(["hhcart-table-2", "--out", str(tmp_path), *words]) == 2
    pattern = re.escape(message).replace(re.escape(".*"), ".*")
    assert re.search(pattern, capsys.readouterr().err.splitlines()[-1])


@pytest.mark.usefixtures("quick")
def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("", "utf-8")
    for out in (file, file / "below"):
        assert exit_code(["hhcart-table-2", "--sets", "BS", "--out", str(out)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"error: --out: the folder {out} cannot be made: ")


@pytest.mark.usefixtures("quick")
def test_blanks_after_commas_are_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--sets", "BS, WINE", "--methods", "AP, new", "--repeats", "0, BS=1, WINE=2"]
    assert command.main(["hhcart-table-2", *words, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "| BS | new | 1 |" in shown
    assert "| WINE | AP | 2 |" in shown


def test_the_list_needs_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}: " in shown for name in command.TABLES)
    assert "at most 1 feature per split" in shown
    assert "at most 2 features per split" in shown
    assert exit_code([]) == 2
    names = ", ".join(sorted(command.TABLES))
    assert f"the name of a table is missing; there are: {names}" in capsys.readouterr().err


@pytest.mark.usefixtures("quick")
def test_an_interrupted_command_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*args: Any, **params: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_table", interrupt)
    assert command.main(["hhcart-table-2", "--out", str(tmp_path)]) == 130
    assert "--resume" in capsys.readouterr().err
