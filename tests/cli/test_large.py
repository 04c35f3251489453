"""Tables that are read part by part, and in passes, give what tables in memory give."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cli_tools import Run, people, table
from obliqua.cli import _blocks, _memory, _passes
from obliqua.sources.rows import MemoryPlan

pytest.importorskip("pyarrow")

Fit = Callable[..., str]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any table is too large, and is read in parts of a thousand bytes."""
    monkeypatch.setattr(_blocks, "LEAST_BLOCK", 1000)
    monkeypatch.setattr(_blocks, "MOST_BLOCK", 1000)
    whole = _blocks.bytes_in_memory
    monkeypatch.setattr(
        _blocks, "bytes_in_memory", lambda paths, factors: whole(paths, factors) + 10**9
    )


def both_ways(run: Run, *words: str, much: str = "100GB", little: str = "500MB") -> str:
    """Fit in memory and in parts; the files must be the same. Return the notes of the second."""
    run("fit", *words, "-o", "whole.obliqua", "--memory", much)
    told = run("fit", *words, "-o", "parts.obliqua", "--memory", little).stderr
    assert "is read in passes" in told
    assert Path("whole.obliqua").read_bytes() == Path("parts.obliqua").read_bytes()
    assert not list(Path().glob(".obliqua*"))
    return told


def mixed(n_rows: int, seed: int = 0) -> pl.DataFrame:
    """Columns of all kinds that become numbers, and some that are left out."""
    rng = np.random.default_rng(seed)
    a, b, day = (
        rng.normal(size=n_rows).round(4),
        rng.normal(size=n_rows),
        rng.integers(0, 900, n_rows),
    )
    y = a - b + day / 300 + rng.normal(size=n_rows) > 1
    return pl.DataFrame(
        {
            "id": np.arange(1, n_rows + 1),
            "a": a,
            "price": [f"{1e4 * one:,.2f} $" for one in b],
            "when": (np.datetime64("2021-01-01") + day).astype("datetime64[D]"),
            "code": [f"row-{k}" for k in rng.permutation(n_rows)],
            "flag": rng.integers(0, 2, n_rows).astype(bool),
            "w": rng.integers(1, 4, n_rows),
            "y": y.astype(int),
        }
    )


def test_a_tree_grown_in_passes_is_the_same(run: Run) -> None:
    frame = mixed(40_000)
    frame.write_csv("t.csv")
    words = "-t", "y", "-m", "cart", "--set", "max_depth=3", "--weight", "w"
    told = both_ways(run, "t.csv", *words, much="1GB", little="17MB")
    assert "Column 'id' counts the rows, 1 to 40000" in told
    assert "Column 'code' has 40,000 different texts in 40,000 rows" in told


@pytest.mark.usefixtures("small_parts")
def test_a_pattern_of_files(run: Run) -> None:
    frame = mixed(600).with_columns(pl.col("a").cast(pl.Float32))
    frame[:150].write_parquet("p_0.parquet")
    frame[150:].write_parquet("p_1.parquet", row_group_size=100)
    words = "-t", "y", "-m", "cart", "--weight", "w", "--drop", "price"
    told = both_ways(run, "p_*.parquet", *words)
    assert "Column 'id' counts the rows, 1 to 600" in told
    frame.drop("flag").write_parquet("p_2.parquet")
    told = run("fit", "p_*.parquet", *words, "--memory", "500MB", code=1).stderr
    assert "p_2.parquet lacks 1 column that p_0.parquet has: 'flag'" in told


@pytest.mark.usefixtures("small_parts")
def test_files_that_do_not_go_together(run: Run) -> None:
    """A file is named, with the row in it, whether all are read at once or not."""
    words = "-t", "y", "-m", "cart", "-o", "m.obliqua"
    Path("p_0.csv").write_text(table(60))
    Path("p_1.csv").touch()
    for memory, cells in (("100GB", "1 row"), ("500MB", "some rows")):
        told = run("fit", "p_*.csv", *words, "--memory", memory, code=1).stderr
        assert "p_1.csv is empty. A table has a header" in told
        Path("p_2.csv").write_text(table(60) + "1,2,3,\n")
        told = run("fit", "p_0.csv", "p_2.csv", *words, "--memory", memory, code=1).stderr
        assert f"'y' is empty in {cells}, first in row 61 (line 62) of p_2.csv" in told
    told = run("fit", "p_0.csv", "p_?.csv", *words, code=1).stderr
    assert "p_0.csv is given twice" in told
    assert "-, is read alone" in run("fit", "-", "p_0.csv", *words, code=2).stderr


@pytest.mark.usefixtures("small_parts")
def test_columns_that_begin_without_values(run: Run) -> None:
    """As the first of some Parquet files often has them; files are given one by one."""
    frame = mixed(400).select("a", "y", late=pl.Series(["u", "v"] * 200), none=None)
    frame[:100].with_columns(late=None).write_parquet("p_0.parquet")
    frame[100:].write_parquet("p_1.parquet")
    files = "p_0.parquet", "p_1.parquet"
    assert "late" not in both_ways(run, *files, "-t", "y", "-m", "cart")
    run("predict", "whole.obliqua", *files, "-o", "said.csv")
    assert pl.read_csv("said.csv").height == 400
    frame.with_columns(late=1.5).write_parquet("p_2.parquet")
    words = "-t", "y", "-m", "cart", "--memory", "500MB"
    told = run("fit", *files, "p_2.parquet", *words, code=1).stderr
    assert "p_2.parquet: column 'late' holds numbers, and text in the files before" in told


@pytest.mark.usefixtures("small_parts")
def test_levels_gaps_and_late_columns(run: Run) -> None:
    # The column late has no values in the first parts, and zip is whole numbers as categories.
    lines = people(300).splitlines()
    rows = [f"{line},{'' if k < 200 else k % 7},{k % 5}" for k, line in enumerate(lines[1:])]
    Path("t.csv").write_text("\n".join([f"{lines[0]},late,zip", *rows]) + "\n")
    told = both_ways(run, "t.csv", "-t", "y", "-m", "cart", "--categorical", "zip")
    assert "late" not in told
    Path("t.csv.gz").write_bytes(gzip.compress(Path("t.csv").read_bytes()))
    both_ways(run, "t.csv.gz", "-t", "y", "-m", "hhcart-d", "--missing", "Bonn")


@pytest.mark.usefixtures("small_parts")
def test_numbers_that_are_learnt(run: Run) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{'NA' if a > 2 else round(3 * a, 2)}" for a in rng.normal(size=300)]
    Path("t.csv").write_text("\n".join(["a,y", *rows]) + "\n")
    words = "t.csv", "-t", "y", "-m", "cart"
    assert "missing in" in run("fit", *words, "--memory", "500MB", code=1).stderr
    both_ways(run, *words, "--drop-missing-target")


@pytest.mark.usefixtures("small_parts")
def test_predictions_in_parts_are_the_same(run: Run) -> None:
    Path("t.csv").write_text(people(200))
    run("fit", "t.csv", "-t", "y", "-m", "cart", "-o", "m.obliqua", "--memory", "100GB")
    Path("n.csv").write_text(people(300, seed=1, towns=("Bonn", "Oslo", "Bern")))
    words = "predict", "m.obliqua", "n.csv", "--proba", "--id", "job", "--score", "y"
    whole = run(*words, "--memory", "100GB")
    parts = run(*words, "--memory", "500MB")
    assert whole.stdout == parts.stdout
    assert whole.stderr.splitlines()[-1] == parts.stderr.splitlines()[-1]
    assert parts.stderr.count("some rows have levels that the model does not know: 'Bern'") == 1
    for name in ("a.csv", "a.parquet"):
        run(*words, "--memory", "100GB", "-o", name)
        run(*words, "--memory", "500MB", "-o", f"parts_{name}")
    assert Path("a.csv").read_bytes() == Path("parts_a.csv").read_bytes()
    assert pl.read_parquet("a.parquet").equals(pl.read_parquet("parts_a.parquet"))
    piped = run("predict", "m.obliqua", "-", "--memory", "20MB", input=Path("n.csv").read_text())
    assert piped.stdout == run("predict", "m.obliqua", "n.csv").stdout


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("first", "late", "said"),
    [
        ("1.5", "many", "column 'b' holds text, for instance 'many' in row 451 (line 452)"),
        ("1.5", "1,5", "written in another way from row 451 (line 452) on, '1,5'"),
        ("yes", "3", "written in another way"),
        ("13/01/2020", "01/13/2020", "'b'"),
    ],
)
def test_what_later_rows_do_not_keep_to(run: Run, first: str, late: str, said: str) -> None:
    cells = [first if k < 300 else "" if k < 450 else late for k in range(500)]
    rows = [f'{k},"{cell}",{k % 2}' for k, cell in enumerate(cells)]
    Path("t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    before = sorted(Path().iterdir())
    choice = ["--numeric", "b"] if first == "yes" else []
    result = run("fit", "t.csv", "-t", "y", *choice, "--memory", "500MB", code=1)
    assert said in result.stderr
    assert sorted(Path().iterdir()) == before


@pytest.mark.usefixtures("small_parts")
def test_an_unfinished_prediction_leaves_no_file(run: Run) -> None:
    Path("t.csv").write_text(table(60))
    run("fit", "t.csv", "-t", "y", "-m", "cart", "-o", "m.obliqua")
    Path("n.csv").write_text(table(400).rstrip("\n") + "\n1,2,oops,yes\n")
    before = sorted(Path().iterdir())
    words = "predict", "m.obliqua", "n.csv", "-o", "out.csv", "--memory", "500MB"
    assert "'oops' in row 401" in run(*words, code=1).stderr
    assert sorted(Path().iterdir()) == before


@pytest.mark.usefixtures("small_parts")
def test_interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("obliqua.cli._passes.WatchedPasses.read", interrupted)
    Path("t.csv").write_text(table())
    words = "fit", "t.csv", "-t", "y", "-m", "cart", "--memory", "500MB"
    assert run(*words, code=130).stderr.endswith("Interrupted.\n")
    assert sorted(Path().iterdir()) == [Path("t.csv")]


@pytest.mark.usefixtures("small_parts")
def test_what_needs_all_rows(run: Run) -> None:
    Path("t.csv").write_text(table())
    words = "fit", "t.csv", "-t", "y", "--memory", "500MB"
    told = run(*words, "-m", "c45", code=1).stderr
    assert "c45 needs all rows in memory" in told
    assert "--memory" in told
    assert "hhcart-d" in told
    assert "oc1" not in told
    assert "sample_rows" not in told
    assert "--types" in run(*words, "--types", code=1).stderr
    assert "hhcart-d-fisher" in run(*words).stderr


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("method", ["oc1", "fdt"])
def test_what_needs_samples(run: Run, method: str) -> None:
    Path("t.csv").write_text(table())
    words = "fit", "t.csv", "-t", "y", "--memory", "500MB", "-m", method
    told = run(*words, code=1).stderr
    assert "--set sample_rows=50000" in told
    assert "reads in passes: cart, hhcart-a, hhcart-d, hhcart-d-fisher, hhcart-3, forest." in told
    assert "is read in passes" not in told
    run(*words, "--set", "sample_rows=100")


def test_messages_of_passes_are_those_of_the_command(run: Run) -> None:
    mixed(40_000).write_csv("t.csv")
    words = "fit", "t.csv", "-t", "y", "-m", "cart", "--features", "a,flag,w,price", "--memory"
    told = run(*words, "17MB", "--set", "pruning=cv", code=1).stderr
    assert "--set pruning=holdout, reduced_error or none" in told
    assert "memory_limit" not in told
    assert "such as 500MB" in run(*words, "3", code=2).stderr


def test_other_commands_refuse_what_does_not_fit(
    run: Run, data: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_memory, "memory_at_hand", lambda: 1000)
    for words in (
        ["compare", "data.csv", "-t", "y"],
        ["report", str(model), "data.csv"],
    ):
        assert "would take about" in run(*words, code=1).stderr


def test_what_a_control_group_has_left(tmp_path: Path) -> None:
    for name, text in (
        ("memory.max", "1000"),
        ("memory.current", "700"),
        ("memory.stat", "anon 5\ninactive_file 200\n"),
    ):
        (tmp_path / name).write_text(text)
    assert list(_memory._left_in(tmp_path, "memory.max", "memory.current")) == [500]
    (tmp_path / "memory.max").write_text("max")
    assert list(_memory._left_in(tmp_path, "memory.max", "memory.current")) == []


@pytest.mark.usefixtures("small_parts")
def test_a_negative_weight_is_refused_with_its_row(run: Run) -> None:
    rows = [f"{k % 7},{-1 if k == 300 else 1},{k % 2}" for k in range(400)]
    Path("t.csv").write_text("\n".join(["a,w,y", *rows]) + "\n")
    words = "fit", "t.csv", "-t", "y", "-m", "cart", "--weight", "w", "--memory", "500MB"
    assert "column 'w' has -1 in row 301 (line 302)" in run(*words, code=1).stderr


def test_pieces_written_anew_name_no_row() -> None:
    piece = _passes.WrittenPiece(None, None, frozenset(), "t.csv", print)  # type: ignore[arg-type]
    assert piece.row(3) == "one of its rows"


@pytest.mark.usefixtures("small_parts")
def test_a_late_column_after_rows_were_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_passes, "GROUP", 1)
    rows = [f"{k * 37 % 101},{'' if k < 300 else k % 5},{k % 2}" for k in range(500)]
    Path("t.csv").write_text("\n".join(["a,late,y", *rows]) + "\n")
    both_ways(run, "t.csv", "-t", "y", "-m", "cart", "--set", "max_depth=3")


@pytest.mark.usefixtures("small_parts")
def test_endless_numbers_are_refused(run: Run) -> None:
    a = np.random.default_rng(0).normal(size=400)
    pl.DataFrame({"a": a, "y": np.where(np.arange(400) == 350, np.inf, a)}).write_parquet(
        "t.parquet", row_group_size=100
    )
    words = "fit", "t.parquet", "-t", "y", "-m", "cart", "--task", "regression", "--memory"
    for memory in ("100GB", "500MB"):
        told = run(*words, memory, code=1).stderr
        assert "1 value that is not finite, first inf in row 351" in told


@pytest.mark.usefixtures("small_parts")
def test_targets_of_several_types(run: Run) -> None:
    frame = mixed(400).select("a", "flag", "y")
    frame[:200].with_columns(pl.col("y").cast(pl.Int32)).write_parquet("p_0.parquet")
    late = frame[200:].with_columns(pl.when(pl.col("a") > 1).then(2**40).otherwise("y").alias("y"))
    late.write_parquet("p_1.parquet")
    frame[:50].with_columns(pl.col("y").cast(pl.Int8)).write_parquet("p_2.parquet")
    both_ways(run, "p_*.parquet", "-t", "y", "-m", "cart")
    frame[:50].with_columns(pl.col("y").cast(pl.String)).write_parquet("p_3.parquet")
    told = run("fit", "p_*.parquet", "-t", "y", "-m", "cart", "--memory", "500MB", code=1).stderr
    assert "p_3.parquet: the target 'y' is of type String" in told


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("task", "what"), [("classification", "class"), ("regression", "value")])
def test_a_target_that_is_always_the_same(run: Run, task: str, what: str) -> None:
    Path("t.csv").write_text("a,y\n" + "".join(f"{k},5\n" for k in range(400)))
    words = "fit", "t.csv", "-t", "y", "-m", "cart", "--task", task, "--memory"
    said = [run(*words, memory, code=1).stderr.splitlines()[-1] for memory in ("100GB", "500MB")]
    assert f"one {what} only, 5" in said[0]
    assert f"one {what} only, 5" in said[1]


@pytest.mark.usefixtures("small_parts")
def test_threads_follow_the_plan(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    plan = MemoryPlan.of
    monkeypatch.setattr(MemoryPlan, "of", lambda limit, n, table: plan(limit, min(n, 2), table))
    watched = _passes.WatchedPasses.__call__

    def noted(self: _passes.WatchedPasses, *words: Any) -> Any:
        seen.append(self.n_threads)
        return watched(self, *words)

    monkeypatch.setattr(_passes.WatchedPasses, "__call__", noted)
    Path("t.csv").write_text(table())
    run("fit", "t.csv", "-t", "y", "-m", "cart", "--memory", "500MB", "--jobs", "3")
    assert set(seen) == {2}
