"""``obliqua reproduce`` where it is installed: a clone has the rest, a stranger's folder not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli_tools import Run, Shell
from obliqua.cli.reproduce import clone

OURS = '[project]\nname = "obliqua"\n'
COMMAND = """
import click

@click.command()
@click.argument("name")
@click.option("--sets")
def reproduce(name, sets):
    click.echo(f"{name} on {sets}")
"""


def make_clone(folder: Path, project: str | None, command: str) -> Path:
    """A folder with a package `reproduction` and perhaps a project file; a folder below it."""
    package = folder / "reproduction"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "command.py").write_text(command)
    if project is not None:
        (folder / "pyproject.toml").write_text(project)
    below = folder / "some" / "where"
    below.mkdir(parents=True)
    return below


def test_elsewhere_it_says_where_the_tables_are_made(run: Run) -> None:
    for words in (["hhcart-table-2", "--sets", "BS", "-q"], ["--list"], []):
        shown = " ".join(run("reproduce", *words, code=1).stderr.split())
        assert "stands in its source repository; call this command in a clone of it." in shown
    assert "clone of obliqua's source repository" in run("reproduce", "--help").stdout


def test_the_command_is_found_from_any_folder_of_a_clone(folder: Path, shell: Shell) -> None:
    below = make_clone(folder / "clone", OURS, COMMAND)
    done = shell("obliqua reproduce tables --sets BS", cwd=below)
    assert (done.returncode, done.stdout) == (0, "tables on BS\n"), done.stderr


@pytest.mark.parametrize(
    "project",
    [None, '[project]\nname = "other"\n', "[project", 'project = "obliqua"\n', "[tool]\n"],
)
def test_a_strangers_package_is_not_imported(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, project: str | None
) -> None:
    monkeypatch.chdir(make_clone(folder / "other", project, "raise SystemExit('imported')"))
    assert clone() is None
    assert "source repository" in run("reproduce", "tables", code=1).stderr


def test_the_nearest_clone_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_clone(folder, OURS, COMMAND)
    monkeypatch.chdir(make_clone(folder / "some" / "inner", OURS, COMMAND))
    assert clone() == folder / "some" / "inner"
    monkeypatch.chdir(folder / "some")
    assert clone() == folder


def test_a_clone_of_another_time_is_told(folder: Path, shell: Shell) -> None:
    below = make_clone(folder / "clone", OURS, "from obliqua.later import nothing\n")
    done = shell("obliqua reproduce tables", cwd=below)
    assert done.returncode == 1
    assert "does not fit the obliqua that is installed" in " ".join(done.stderr.split())
    assert "No module named 'obliqua.later'" in " ".join(done.stderr.split())


def test_another_package_of_the_name_is_refused(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was there before, so that the clone's cannot be imported."""
    make_clone(folder / "before", None, COMMAND)
    for name in [name for name in sys.modules if name.split(".")[0] == "reproduction"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(folder / "before")
    import reproduction.command

    found = reproduction.command.__file__
    monkeypatch.chdir(make_clone(folder / "clone", OURS, COMMAND))
    shown = run("reproduce", "tables", code=1).stderr
    assert "Another package is called reproduction" in shown
    assert found.split("/")[-1] in shown
    for name in ("reproduction", "reproduction.command"):
        monkeypatch.delitem(sys.modules, name)
