"""Ctrl-C during a comparison: what was finished is kept."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import obliqua
from obliqua.cli import INTERRUPTED, _output
from obliqua.cli._app import app
from obliqua.errors import PartlyCompared


def rows(n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + X[:, 1] > 0, "p", "q")


def stopping(after: int) -> Any:
    """Progress that is interrupted after so many fits."""

    def step(done: int, total: int, name: str) -> None:
        if done == after:
            raise KeyboardInterrupt

    return step


@pytest.mark.parametrize(
    ("after", "repeats", "n_folds", "n_repeats"),
    [(7, 1, 3, 1), (8, 1, 4, 1), (12, 2, 5, 1), (19, 2, 5, 1), (20, 2, 10, 2)],
)
def test_finished_folds_are_kept(after: int, repeats: int, n_folds: int, n_repeats: int) -> None:
    X, y = rows()
    how: dict[str, Any] = {"n_folds": 5, "n_repeats": repeats}
    with pytest.raises(PartlyCompared) as caught:
        obliqua.compare(X, y, ["cart", "hhcart-d"], progress=stopping(after), **how)
    part = caught.value.result
    whole = obliqua.compare(X, y, ["cart", "hhcart-d"], **how)
    for name, values in part.folds.items():
        assert len(values) == n_folds
        np.testing.assert_array_equal(values[:, :4], whole.folds[name][:n_folds, :4])
    assert part.n_repeats == n_repeats
    assert part.notes[-1] == f"Stopped after {n_folds} of {5 * repeats} folds."
    assert ("the first" in part.reading()) == (n_folds < 5)
    assert len(part.rows()) == 2


@pytest.mark.parametrize("after", [1, 3])
def test_less_than_two_folds_tell_nothing(after: int) -> None:
    X, y = rows()
    with pytest.raises(KeyboardInterrupt) as caught:
        obliqua.compare(X, y, ["cart", "hhcart-d"], n_folds=5, progress=stopping(after))
    assert not isinstance(caught.value, PartlyCompared)


def test_advise_keeps_what_was_measured_before_the_trees_of_equal_size() -> None:
    X, y = rows()
    counted: list[str] = []

    def step(done: int, total: int, name: str) -> None:
        counted.append(name)
        if "@" in name:
            raise KeyboardInterrupt

    with pytest.raises(PartlyCompared) as caught:
        obliqua.advise(X, y, n_folds=3, n_repeats=1, progress=step)
    part = caught.value.result
    assert set(part.folds) == {name for name in counted if "@" not in name}
    assert part.notes[-1] == "Stopped before trees of equal size were grown."


@pytest.mark.parametrize("after", [1, 20])
def test_advise_keeps_the_first_repeat(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obliqua.select.advise.settled", lambda evidence: False)
    X, y = rows()
    first: list[str] = []

    def step(done: int, total: int, name: str) -> None:
        first.append(name)
        if len(first) > 3 * len(set(first)) and done == 3 * len(set(first)) + after:
            raise KeyboardInterrupt

    with pytest.raises(PartlyCompared) as caught:
        obliqua.advise(X, y, n_folds=3, progress=step)
    part = caught.value.result
    assert {len(values) for values in part.folds.values()} == {3}
    assert part.n_repeats == 1
    assert part.notes[-1] == "Stopped after 3 of 6 folds."


@pytest.mark.parametrize("command", ["compare", "advise"])
def test_the_command_prints_what_is_known(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows()
    lines = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    monkeypatch.setattr(_output._Estimate, "__call__", lambda self, *of: stopping(30)(*of))
    words = [command, str(file), "-t", "y", "--folds", "5"]
    words += ["-m", "cart,c45,hhcart-d,means,sklearn", "--repeats", "2"][
        : 4 * (command == "compare")
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == INTERRUPTED
    assert "Note: Stopped after" in result.stderr
    assert result.stderr.endswith("Interrupted.\n")
    assert "Means ± standard deviations over" in result.stdout


def test_the_time_is_estimated_after_the_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(_output, "note", said.append)
    for seconds, known, expected in (
        (0.4, 0, []),
        (10, 300, []),  # about what was said before it started
        (10, 30, ["4 of 40 fits are done; all take about 7 minutes."]),
    ):
        clock = itertools.count(0, seconds)
        monkeypatch.setattr(_output.time, "monotonic", lambda clock=clock: 4 * next(clock))
        estimate = _output._Estimate(10, {_output.EXPECTED: known})
        for done in range(1, 41):
            estimate(done, 40, "cart")
        assert [text.partition(" Ctrl-C")[0] for text in said] == expected
