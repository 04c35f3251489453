"""``obliqua report``: the page that the library makes, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import obliqua
from cli_tools import Run, table


@pytest.fixture
def model(folder: Path, run: Run) -> Any:
    """A model, its rows, and others."""
    (folder / "rows.csv").write_text(table())
    (folder / "new.csv").write_text(table(seed=1))
    run("fit", "rows.csv", "-t", "y", "-m", "hhcart-d", "-o", "m.obliqua")
    return obliqua.load("m.obliqua")


def payload(path: str = "report.html") -> dict[str, Any]:
    text = Path(path).read_text("ascii").partition('id="payload">')[2]
    found: dict[str, Any] = json.loads(text.partition("</script>")[0])
    return found


def test_page_is_the_one_that_the_library_makes(run: Run, model: Any) -> None:
    done = run("report", "m.obliqua", "rows.csv", "--test", "new.csv", "-t", "y")
    rows, new = pd.read_csv("rows.csv"), pd.read_csv("new.csv")
    page = obliqua.report(
        model,
        rows.drop(columns="y"),
        rows["y"].to_numpy(),
        X_test=new.drop(columns="y"),
        y_test=new["y"].to_numpy(),
    )
    assert Path("report.html").read_text("ascii") == page.text
    assert done.stdout == ""
    assert done.stderr == "Note: The page is report.html. Open it in a browser.\n"
    # What was not named is not replaced.
    again = run("report", "m.obliqua", code=1)
    assert "report.html is there already" in again.stderr
    run("report", "m.obliqua", "-o", "report.html")
    assert payload()["sets"] == []


def test_rows_are_embedded_only_if_they_may_be(run: Run, model: Any) -> None:
    given = ("report", "m.obliqua", "rows.csv", "-t", "y")
    run(*given, "--no-rows", "--title", "Mine", "-o", "a.html")
    run(*given, "--rows", "7", "-o", "b.html")
    assert payload("a.html")["rows"] is None and payload("a.html")["title"] == "Mine"
    assert payload("b.html")["rows"]["n"] == 7


def test_numbers(run: Run, folder: Path) -> None:
    lines = table().replace("yes", "2.5").replace("no", "1.25")
    (folder / "rows.csv").write_text(lines)
    run("fit", "rows.csv", "-t", "y", "--task", "regression", "-m", "cart", "-o", "n.obliqua")
    run("report", "n.obliqua", "rows.csv", "-t", "y")
    (measured,) = payload()["sets"][0]["numbers"]
    assert measured["r2"] > 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["rows.csv", "-t", "z"], 1, "z"),
        (["-t", "y"], 2, "--target is a column of DATA"),
        (["--missing", "?"], 2, "--missing is for DATA"),
        (["none.csv", "-t", "y"], 1, "none.csv"),
        (["rows.csv", "-t", "y", "-o", "m.obliqua"], 1, "the file that is read"),
        (["rows.csv", "-t", "y", "-o", "no/page.html"], 1, "is not there"),
        (["rows.csv", "-t", "y", "--rows", "-1"], 2, "--rows"),
    ],
)
def test_wrong_words_are_named(
    words: list[str], code: int, message: str, run: Run, model: Any
) -> None:
    before = sorted(path.name for path in Path().iterdir())
    assert message in run("report", "m.obliqua", *words, code=code).stderr
    assert sorted(path.name for path in Path().iterdir()) == before
