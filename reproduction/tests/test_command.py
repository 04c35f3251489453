"""``obliqua reproduce``: tables of the papers, resumed, interrupted and without some data."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from cli_sessions import BLOCK, rewritten
from cli_tools import Run
from interrupts import ctrl_c_means
from obliqua.errors import DatasetMissing
from obliqua.select.methods import Method
from reproduction import catalogue, command
from reproduction.papers.hhcart import TABLE_2
from reproduction.protocol import DataSet
from reproduction.store import Kept
from reproduction.tables import PaperTable

ROOT = Path(__file__).resolve().parents[2]
STUMP = Method("AP", "one split", "obliqua.CartClassifier", {"max_depth": 1})
OTHER = Method("new", "not in the paper", "obliqua.CartClassifier", {"max_depth": 2})


def absent() -> Any:
    raise DatasetMissing("stars are not to be had; put stars.csv into the folder")


QUICK = replace(TABLE_2, methods=(STUMP, OTHER), standard=("AP",))
#: Shows cells of the other one.
SHARED = replace(QUICK, name="shared", title="the same cells", cells_of="hhcart-table-2")
STARS = replace(
    QUICK,
    name="stars",
    title="with data that nobody has",
    data_sets=(*QUICK.choose_sets(["WINE"]), DataSet("stars", "bright ones", absent)),
)
MINE = replace(QUICK, name="mine", title="no paper has it", published={})
ALL_TABLES = catalogue.TABLES
TABLES = {table.name: table for table in (QUICK, SHARED, STARS, MINE)}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> dict[str, PaperTable]:
    """The command as in a clone, with methods that are quick."""
    monkeypatch.setattr("obliqua.cli.reproduce.clone", lambda: ROOT)
    monkeypatch.setattr(catalogue, "TABLES", TABLES)
    monkeypatch.setattr(catalogue, "OWN_TABLES", frozenset({"mine"}))
    return TABLES


def test_the_command_writes_what_it_prints(run: Run, folder: Path) -> None:
    words = ["hhcart-table-2", "--sets", "BS,WINE", "--repeats", "2,WINE=1", "--out", "new/folder"]
    result = run("reproduce", *words)
    text = (folder / "new/folder/hhcart-table-2.md").read_text("utf-8")
    assert "| BS | AP | 2 | 78.2 ± 1.3 |" in text
    assert "| WINE | AP | 1 | 89.2 ± 4.6 |" in text
    shown = " ".join(result.stdout.split())
    assert "HHCART, table 2" in shown
    assert "BS AP accuracy 78.2 ± 1.3" in shown
    assert "> 2 sd, worse" in shown
    assert "better and 2 worse by more than two." in shown
    # What names and columns mean, that repeats are few, and where files are.
    assert "AP one split" in shown
    assert "'2 sd, worse' is between one and two on the worse side" in shown
    assert "Warning: few repeats. Some figures have 1 in the place of 10" in shown
    assert "†" not in shown
    told = " ".join(result.stderr.split())
    assert "Note: written to new/folder: hhcart-table-2, each as .md and .csv; the cells" in told
    assert "|" not in shown
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert shown.count("z: ours minus the paper's, in standard deviations of single repeats") == 1
    assert "[1/3]" in result.stderr
    assert "left" in result.stderr
    with (folder / "new/folder/hhcart-table-2.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["set"], row["repeats"]) for row in rows] == [("BS", "2"), ("WINE", "1")]
    assert rows[0]["leaves_ours"] == "2.0"
    assert rows[1]["accuracy_ours_sd"] == ""

    # Again: refused, then completed by another method without repeating anything.
    assert "--resume" in run("reproduce", *words, code=1).stderr
    again = run("reproduce", *words, "--resume", "--methods", "AP,new")
    assert "[3/3] hhcart-table-2 WINE new" in again.stderr
    assert run("reproduce", *words, "--resume", "-q").stderr == ""


def test_files_of_results_are_the_same_for_any_number_of_jobs(run: Run) -> None:
    words = ["reproduce", "hhcart-table-2", "--sets", "BS,WINE", "--methods", "AP,new"]
    texts = []
    for jobs in ("1", "2"):
        run(*words, "--repeats", "2", "--jobs", jobs, "--out", jobs)
        texts.append(Path(jobs, "hhcart-table-2.csv").read_text("utf-8"))
    assert texts[0] == texts[1]


def test_all_are_the_tables_of_papers_and_shared_cells_are_computed_once(
    run: Run, folder: Path
) -> None:
    result = run("reproduce", "all", "--sets", "WINE", "--repeats", "2")
    assert "[4/4]" in result.stderr  # two of table 2, two of the stars' WINE, none of the shared
    files = sorted(path.name for path in (folder / "results").iterdir())
    assert files == [
        *("hhcart-table-2.csv", "hhcart-table-2.jsonl", "hhcart-table-2.md"),
        *("shared.csv", "shared.md", "stars.csv", "stars.jsonl", "stars.md"),
    ]
    one, other = (
        (folder / "results" / f"{n}.csv").read_text() for n in ("hhcart-table-2", "shared")
    )
    assert one == other
    assert "mine" not in result.stdout
    result = run("reproduce", "own", "--sets", "WINE", "--repeats", "1")
    assert "[1/1]" in result.stderr
    # The shared table alone makes the cells of the other one.
    run("reproduce", "shared", "--sets", "WINE", "--repeats", "1", "--out", "alone")
    assert Kept(folder / "alone" / "hhcart-table-2.jsonl").cells("WINE", "AP")


def test_data_that_cannot_be_had_do_not_stop_the_others(run: Run) -> None:
    result = run("reproduce", "stars", "--repeats", "1")
    assert "Left out: stars of stars. stars are not to be had; put stars.csv" in result.stderr
    assert "WINE" in result.stdout
    alone = run("reproduce", "stars", "--sets", "stars", "--out", "x", code=1)
    assert "none of the data can be had" in alone.stderr


def test_sets_can_be_left_out(run: Run) -> None:
    most = ",".join(s.name for s in TABLE_2.data_sets if s.name != "WINE")
    result = run("reproduce", "hhcart-table-2", "--without", most, "--repeats", "1")
    assert "[1/1] hhcart-table-2 WINE AP" in result.stderr


def test_claims_are_judged_by_the_folder_and_by_kept_logs(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One repeat in the folder cannot tell what ten that are kept do."""
    monkeypatch.setattr(catalogue, "TABLES", ALL_TABLES)
    words = ["--sets", "POL", "--methods", "20:20/sum_minority", "--repeats", "1", "--out", "new"]
    result = run("reproduce", "claims", *words)
    assert "[1/1] claims-artificial POL 20:20/sum_minority repeat 1" in result.stderr
    text = (folder / "new/claims.md").read_text("utf-8")
    (line,) = (row for row in text.splitlines() if "Sum minority easily finds" in row)
    assert "| **cannot be told** | 0 | 0 | 1 |" in line
    assert line.endswith("| 1 |")
    kept = (ROOT / "docs" / "claims.md").read_text("utf-8").splitlines()
    assert line not in kept
    assert sum(row in kept for row in text.splitlines() if row.startswith("| ")) > 100
    assert (folder / "new/claims_numbers.md").is_file()
    shown = " ".join(result.stdout.split())
    found = "20. Sum minority easily finds the exact tree of POL. (impurity measures; "
    assert found in shown
    assert "ours: cannot be told; 0 for, 0 against, 1 open; on these rows:" in shown
    assert re.search(r"\d+ verdicts: \d+ holds, \d+ does not hold, \d+ cannot be told", shown)
    assert "OC1's impurity measures" not in shown
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_list_needs_no_name(run: Run) -> None:
    shown = run("reproduce", "--list").stdout
    assert all(f"{name}: " in shown for name in TABLES)
    assert "Boston Housing" in shown
    assert "mine: " not in run("reproduce", "hhcart-table-2", "--list").stdout


WRONG_WORDS = {
    "no table": ([], "Name a table, or all"),
    "unknown table": (["hhcart-table-3"], "no table 'hhcart-table-3'. Did you mean 'hhcart-tab"),
    "no sets": (["hhcart-table-2", "--sets", ""], "empty name"),
    "no repeats": (["hhcart-table-2", "--repeats", "x"], "not of the form N[,SET=N]"),
    "empty repeats": (["hhcart-table-2", "--repeats", ""], "not of the form N[,SET=N]"),
    "half a repeat": (["hhcart-table-2", "--repeats", "3,BS=1.5"], "not of the form N[,SET=N]"),
    "a seed below 0": (["hhcart-table-2", "--seed", "-1"], "not a whole number from 0"),
    "no jobs": (["hhcart-table-2", "--jobs", "0"], "not a whole number other than 0"),
    "unknown set": (["hhcart-table-2", "--sets", "XX"], "--sets: no data set is called 'XX'; the"),
    "unknown left out": (["all", "--without", "XX"], "--without: no data set is called 'XX'"),
    "unknown method": (["all", "--methods", "XX"], "--methods: no method is called 'XX'; there"),
    "repeats of none": (["all", "--repeats", "1,XX=2"], "--repeats: no data set is called 'XX'"),
    "0 repeats": (
        ["all", "--repeats", "0"],
        "--repeats: there must be at least one repeat, got 0",
    ),
    "0 of one": (["all", "--repeats", "1,LET=0", "--sets", "WINE"], "got 0 for LET"),
    "nothing": (["stars", "--sets", "WINE", "--without", "WINE"], "Nothing is left to do"),
}


@pytest.mark.parametrize("name", WRONG_WORDS)
def test_wrong_words_are_found_before_the_results_are_looked_at(
    name: str, run: Run, folder: Path
) -> None:
    words, message = WRONG_WORDS[name]
    (folder / "results").mkdir()
    (folder / "results" / "hhcart-table-2.jsonl").write_text("earlier results", "utf-8")
    shown = " ".join(run("reproduce", *words, code=2).stderr.split())
    assert message in shown


def test_a_folder_that_cannot_be_made(run: Run, folder: Path) -> None:
    (folder / "file").write_text("", "utf-8")
    for out in ("file", "file/below"):
        result = run("reproduce", "hhcart-table-2", "--sets", "BS", "--out", out, code=1)
        assert f"The folder {out} cannot be made" in result.stderr


def test_an_interrupted_command_says_how_to_go_on(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: Any, **params: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.reproduce.work_off", interrupt)
    result = run("reproduce", "hhcart-table-2", "--sets", "WINE", code=130)
    assert "What is finished is kept in results; the same command with --resume" in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for single processes")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_is_finished(folder: Path, jobs: str) -> None:
    words = ["hhcart-table-2", "--sets", "WINE", "--methods", "A,D,AP", "--jobs", jobs]
    words += ["--repeats", "60", "--out", str(folder / "results")]
    program = [sys.executable, "-m", "obliqua", "reproduce", *words]
    with ctrl_c_means(signal.default_int_handler):
        process = subprocess.Popen(
            program,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT / "docs",  # from which the package is found, by all processes
            start_new_session=True,
        )
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(3)]
    os.killpg(process.pid, signal.SIGINT)
    out, rest = process.communicate(timeout=60)
    assert process.returncode == 130, "".join(lines) + rest
    assert out == ""
    assert "Traceback" not in rest
    assert rest.splitlines()[-1].startswith(f"Interrupted. What is finished is kept in {folder}")
    told = 3 + rest.count(" repeat ")
    kept = Kept(folder / "results" / "hhcart-table-2.jsonl")
    assert sum(map(len, kept.all_cells().values())) >= told
    if jobs == "1":
        return
    done = subprocess.run(
        [*program, "--resume", "--repeats", "1"],
        cwd=ROOT / "docs",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "WINE" in done.stdout


def test_time_left_is_told_no_finer_than_it_is_known() -> None:
    assert command._left(7) == "less than a minute left"
    assert command._left(100) == "2 min left"
    assert command._left(3900) == "1 h 05 min left"


@pytest.mark.skipif(os.name == "nt", reason="the sessions are for a Unix shell")
def test_the_sessions_of_the_guide_are_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "TABLES", ALL_TABLES)
    page = (ROOT / "docs" / "guides" / "reproduce.md").read_text("utf-8")
    assert len(BLOCK.findall(page)) == 2
    assert rewritten(page) == page


def test_every_option_has_help_and_is_in_the_guide() -> None:
    page = (ROOT / "docs" / "guides" / "reproduce.md").read_text("utf-8")
    for option in command.reproduce.params:
        if isinstance(option, click.Option):
            assert option.help and option.help.endswith(".")
            assert all(re.search(rf"(?<!\S){flag}\b", page) for flag in option.opts), option.opts
