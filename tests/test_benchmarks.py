"""The benchmark runs, survives missing libraries, and its tables say what its files say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


def assert_on_page(text: str, part: str) -> None:
    from benchmarks.report import PAGE, placed

    page = (ROOT / PAGE).read_text("utf-8")
    assert placed(page, text, part) == page, f"run python -m benchmarks.{part}"


def report(*words: str) -> int:
    from benchmarks.report import main

    return main([*words])


def run(*words: str) -> int:
    from benchmarks.run import main

    return main([*words])


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder and the content of what a quick run writes."""
    root = tmp_path_factory.mktemp("repository")
    folder = root / "benchmarks" / "results"
    # In a process of its own, as `make` calls it: threads and clocks are its own too.
    words = ["--quick", "--adapters", "obliqua", "scikit", "--results", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads((folder / "tiny.json").read_text("utf-8"))
    return root, result


def test_quick_run_measures_obliqua_and_scikit_learn(quick: tuple[Path, dict[str, Any]]) -> None:
    _, result = quick
    measured = {(case["adapter"], case["threads"]) for case in result["cases"]}
    ours = {"obliqua CART", "obliqua HHCART(D)", "obliqua HHCART(A)"}
    assert measured == {(name, n) for name in ours for n in (1, 2)} | {("scikit-learn", 1)}
    for case in result["cases"]:
        assert case["failure"] is None
        assert case["fit_cpu"] > 0
        assert case["predict_wall"] > 0
        assert case["row_us"] > 0
        assert case["accuracy"] == 1.0
        assert case["leaves"] > 40
        assert case["depth"] >= 7


def test_report_writes_between_the_markers_and_notices_changes(
    quick: tuple[Path, dict[str, Any]],
) -> None:
    root, _ = quick
    (root / "docs").mkdir()
    pages = [root / "README.md", root / "docs" / "benchmarks.md"]
    for page in pages:
        page.write_text("above\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nbelow\n", "utf-8")
    assert report("--check", "--root", str(root)) == 1
    assert report("--root", str(root)) == 0
    assert report("--check", "--root", str(root)) == 0
    for page in pages:
        text = page.read_text("utf-8")
        assert text.startswith("above\n<!-- bench:begin -->\n")
        assert text.endswith("\n<!-- bench:end -->\nbelow\n")
        assert "| obliqua CART |" in text
        assert "old" not in text


def test_report_needs_its_markers(
    tmp_path: Path, quick: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    _, result = quick
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    (folder / "tiny.json").write_text(json.dumps(result), "utf-8")
    (tmp_path / "README.md").write_text("no markers\n", "utf-8")
    assert report("--root", str(tmp_path)) == 1
    assert "README.md needs the lines" in capsys.readouterr().err


def test_the_tables_of_this_repository_are_up_to_date() -> None:
    assert any((ROOT / "benchmarks" / "results").glob("*.json"))
    assert report("--check") == 0, "run python -m benchmarks.report"


def test_missing_data_get_a_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OBLIQUA_DATA", raising=False)
    assert run("--problems", "letter", "--adapters", "zeros") == 2
    assert "OBLIQUA_DATA is not set" in capsys.readouterr().err
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    assert run("--problems", "letter", "--adapters", "zeros") == 2
    assert "without letter.csv" in capsys.readouterr().err


def test_a_library_that_is_missing_or_fails_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import adapters
    from benchmarks.adapters.bench_zeros import Zeros

    class Absent(Zeros):
        name = "absent"
        module = "a_module_that_nobody_has_written"

    class Failing(Zeros):
        name = "failing"

        def fit(self, X: Any, y: Any, n_threads: int) -> Any:
            raise MemoryError("as promised")

    monkeypatch.setattr(adapters, "ALL", (Absent(), Failing(), Zeros()))
    assert run("--quick", "--no-memory", "--results", str(tmp_path)) == 0
    result = json.loads((tmp_path / "tiny.json").read_text("utf-8"))
    assert result["left_out"] == {"absent": "not installed"}
    assert {case["adapter"]: case["failure"] for case in result["cases"]} == {
        "failing": "MemoryError",
        "zeros": None,
    }


def test_every_adapter_describes_itself() -> None:
    from benchmarks import adapters, problems

    tiny = problems.load("tiny")
    names = [adapter.name for adapter in adapters.ALL]
    assert len(set(names)) == len(names)
    assert adapters.REFERENCE in names
    for adapter in adapters.ALL:
        assert 1 in adapter.threads
        assert adapter.supports(tiny) is None
        assert (adapter.version() is None) == (adapter.missing() == "not installed")


# --- tables with qualitative columns ----------------------------------------------------------


def test_a_case_that_fails_is_said_to_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import tables

    X, y = tables.PROBLEMS["tiny"][1]()
    monkeypatch.chdir(ROOT)
    chosen = [tables.Case("obliqua CART", lambda frame: None, tables._cart)]
    (reason,) = tables.measure_memory(X, y, chosen, patience=600.0).values()
    assert reason.startswith("failed: ValueError: Expected 2D array")
    assert chosen == []
    assert "Traceback" in capsys.readouterr().err


def test_one_hot_columns_are_dense_or_sparse() -> None:
    from benchmarks import tables
    from scipy.sparse import issparse

    few, _ = tables.levels(100, 10)
    many, _ = tables.levels(2_000, 1_000)
    dense = tables.one_hot(few)
    assert dense.dtype == np.float32
    assert dense[:, :10].sum(axis=1).tolist() == [1.0] * 100
    sparse = tables.one_hot(many)
    assert issparse(sparse)
    assert sparse.shape == (2_000, 1_004)
    np.testing.assert_allclose(sparse[:, 1_000:].toarray(), many.iloc[:, 1:], rtol=1e-6)


def test_the_page_has_the_tables_of_the_results() -> None:
    from benchmarks import tables

    result = json.loads(tables.RESULT.read_text("utf-8"))
    assert [problem["name"] for problem in result["problems"]] == list(tables.FULL)
    assert_on_page(tables.text(result), "tables")


def test_trees_on_tables_are_fast_enough() -> None:
    """The goal: at most three times the time of scikit-learn's tree on one-hot columns."""
    from benchmarks import tables

    result = json.loads(tables.RESULT.read_text("utf-8"))
    for problem in result["problems"]:
        reference = problem["cases"][tables.REFERENCE]
        for name in ("obliqua CART", "obliqua HHCART(D)", "obliqua HHCART(D), text"):
            assert problem["cases"][name]["fit_cpu"] <= 3.0 * reference["fit_cpu"]


# --- FDT, QUEST and C4.5 ----------------------------------------------------------------------


def test_the_page_has_the_times_of_the_methods() -> None:
    from benchmarks import methods

    result = json.loads(methods.RESULT.read_text("utf-8"))
    assert [problem["name"] for problem in result["problems"]] == list(methods.FULL)
    assert_on_page(methods.text(result), "methods")


# --- OC1 --------------------------------------------------------------------------------------


def test_the_page_has_the_times_of_oc1() -> None:
    from benchmarks import oc1

    result = json.loads(oc1.RESULT.read_text("utf-8"))
    assert [(run["set"], run["mode"]) for run in result["tables"]] == [
        (name, mode) for _, name, mode, _ in oc1.CASES
    ]
    points = result["growth"]["rows"]["points"]
    assert (points[-1]["n"], points[-1]["p"]) == (100_000, 20)
    assert_on_page(oc1.text(result), "oc1")


@pytest.mark.parametrize("part", ["tables", "planted", "limits"])
def test_the_page_says_what_the_results_of_regression_say(part: str) -> None:
    from benchmarks import regression

    result = json.loads((regression.RESULTS / f"{part}.json").read_text("utf-8"))
    assert_on_page(regression.page_text(part, result), f"regression-{part}")


@pytest.mark.parametrize("part", ["classes", "numbers", "seeds"])
def test_the_page_says_what_the_results_of_defaults_say(part: str) -> None:
    from benchmarks import defaults

    result = json.loads((defaults.RESULTS / f"{part}.json").read_text("utf-8"))
    assert_on_page(defaults.page_text(part, result), f"defaults-{part}")


@pytest.mark.parametrize(
    ("part", "task"), [("classes", "classification"), ("numbers", "regression")]
)
def test_the_default_is_what_the_rules_choose(part: str, task: str) -> None:
    from benchmarks import defaults

    from obliqua.select.methods import default_method

    rows = json.loads((defaults.RESULTS / f"{part}.json").read_text("utf-8"))["rows"]
    assert len({row["table"] for row in rows}) >= 12
    found, _ = defaults.standings(rows)
    assert defaults.choice(found).name.split(",")[0] == default_method(task, 10)


def test_the_size_of_cross_validation_is_what_the_rule_gives() -> None:
    from benchmarks import defaults

    from obliqua.prune.pruners import MOST_CROSS_VALIDATED

    rows = json.loads((defaults.RESULTS / "seeds.json").read_text("utf-8"))["rows"]
    most = [
        max(each.size for each in defaults.seed_figures(rows, task) if each.cross_validates)
        for task in defaults.SEEDED
    ]
    assert min(most) == MOST_CROSS_VALIDATED


def test_ties_go_to_few_leaves_then_to_little_time() -> None:
    from benchmarks.defaults import choice, standings

    def rows(
        name: str, scores: tuple[float, ...], leaves: int, cpu: float
    ) -> list[dict[str, Any]]:
        figures = {"candidate": name, "division": 0, "leaves": leaves, "cpu": cpu}
        return [{"table": str(k), "score": score, **figures} for k, score in enumerate(scores)]

    first = rows("first", (0.9, 0.8, 0.7), 20, 1.0)
    tied = rows("tied", (0.8, 0.85, 0.7), 10, 2.0)
    quick = rows("quick", (0.8, 0.85, 0.7), 11, 1.5)
    worse = rows("worse", (0.8, 0.7, 0.61), 2, 0.1)
    slow = [{**row, "cpu": None, "score": None} for row in rows("slow", (1, 1, 1), 1, 1.0)]
    found, out = standings([*worse, *quick, *tied, *first, *slow])
    assert out == ["slow"]
    assert found[0].name == "first"
    assert [each.name for each in found if not each.as_good] == ["worse"]
    assert choice(found).name == "quick"
    assert choice([each for each in found if each.name != "quick"]).name == "tied"


@pytest.mark.parametrize("part", ["accuracy", "numbers", "size"])
def test_the_page_says_what_the_results_of_forests_say(part: str) -> None:
    from benchmarks import forests

    result = json.loads((forests.RESULTS / f"{part}.json").read_text("utf-8"))
    assert_on_page(forests.page_text(part, result), f"forests-{part}")


def test_the_guide_says_what_the_results_of_scale_say() -> None:
    from benchmarks import scale
    from benchmarks.report import placed

    page = (ROOT / scale.PAGE).read_text("utf-8")
    assert scale.page_text()
    assert placed(page, scale.page_text(), "scale", scale.PAGE) == page, (
        "run python -m benchmarks.scale --report"
    )


def test_scores_of_forests_are_those_of_their_definitions() -> None:
    from benchmarks import forests

    found = forests.scores(np.array([[1.0, 0.0], [0.25, 0.75], [1.0, 0.0]]), np.array([0, 1, 1]))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["brier"] == pytest.approx((0.0 + 2 * 0.25**2 + 2.0) / 3)
    assert found["log_loss"] == pytest.approx(-(np.log(0.75) + np.log(0.001)) / 3)


# --- the duel ---------------------------------------------------------------------------------


def duel_rows(method: str, *scores: float | None) -> list[dict[str, Any]]:
    """A row for each division of one table; None is a failure."""
    about = {"set": "t", "wanted": 4, "mode": "default", "method": method}
    return [
        about | {"division": k} | ({"failure": "x"} if s is None else {"accuracy": s})
        for k, s in enumerate(scores)
    ]


def test_who_failed_once_has_the_last_place_and_equal_ones_share_a_rank() -> None:
    from benchmarks import duel_tables

    rows = [
        *duel_rows("obliqua refined", 0.7, 0.9),
        *duel_rows("a", 0.8, 0.8),
        *duel_rows("b", 1.0, None),
        *duel_rows("c", 0.9, 0.9),
        *duel_rows("d", None, None),
    ]
    expected = {"obliqua refined": 2.5, "a": 2.5, "b": 5.0, "c": 1.0, "d": 5.0}
    assert duel_tables.mean_ranks(rows, "accuracy") == expected
    ((gap, name, size, who, text),) = duel_tables.lost(rows)
    assert (name, size, who, text) == ("t", 4, "c", "10.0 ± 10.0")
    assert gap == pytest.approx(0.1)
    failed = [*duel_rows("obliqua refined", None, 0.9), *duel_rows("a", 0.8, 0.8)]
    assert duel_tables.losses(failed) == ["lost: t, 4 leaves: a, ours failed"]
    lines = duel_tables.failures({"rows": rows, "left_out": {"e": "not installed"}})
    assert lines == [
        "left out: e: not installed",
        "failed: b: x, 1 of 2 fits: t",
        "failed: d: x, 2 of 2 fits: t",
    ]


def test_rows_measured_again_replace_their_own_only() -> None:
    from benchmarks import duel

    old = [*duel_rows("a", 0.1, 0.2), *duel_rows("b", 0.3, 0.4)]
    new = duel_rows("a", 0.5, 0.6)
    assert duel.merged(old, new) == [*new, *duel_rows("b", 0.3, 0.4)]


def test_a_contender_that_takes_too_long_or_fails_is_said_to() -> None:
    from benchmarks import duel
    from benchmarks.adapters.base import Contender
    from benchmarks.adapters.bench_zeros import Zeros

    class Odd(Contender, Zeros):
        """Never ends with 8 leaves, fails with 9."""

        def grow(self, X: Any, y: Any, n_leaves: int, seed: int, **setting: Any) -> Any:
            while n_leaves == 8:
                pass
            if n_leaves == 9:
                raise MemoryError("as promised")

    rows = np.zeros((6, 1)), np.array([0, 1] * 3), np.zeros((2, 1))
    worker = duel.Worker(Odd())
    try:
        found = [worker.ask(duel.Job(*rows, n_leaves, 0, each=1)) for n_leaves in (4, 8, 9, 4)]
    finally:
        worker.stop()
    assert [answer.get("failure") for answer in found] == [
        None,
        duel.TOO_SLOW,
        "MemoryError",
        None,
    ]
    assert found[0]["said"][""].tolist() == [0, 0]


def test_tuning_takes_the_setting_that_is_right_on_held_out_rows() -> None:
    from benchmarks import duel
    from benchmarks.adapters.base import Contender
    from benchmarks.adapters.bench_zeros import Zeros

    class Constant(Contender, Zeros):
        def grow(self, X: Any, y: Any, n_leaves: int, seed: int, **setting: Any) -> Any:
            return setting["label"]

        def predict(self, model: Any, X: Any, n_threads: int = 1) -> Any:
            return np.full(len(X), model)

    settings = ({"label": 0}, {"label": 1}, {"label": 1})
    job = duel.Job(np.zeros((9, 1)), np.array([0, 1, 1] * 3), np.zeros((1, 1)), 2, 0, settings)
    assert duel.chosen(Constant(), job) is settings[1]


def test_all_contenders_may_choose_from_as_many_settings() -> None:
    from benchmarks import adapters

    names = [each.name for each in adapters.CONTENDERS]
    assert len(set(names)) == len(names)
    for each in adapters.CONTENDERS:
        assert each.settings[0] == {}
        assert len(each.settings) == 3
        assert (each.version() is None) == (each.missing() == "not installed")


@pytest.mark.parametrize("part", ["equal", "published"])
def test_the_pages_say_what_the_results_of_the_duel_say(part: str) -> None:
    from benchmarks import duel
    from benchmarks.report import placed

    result = duel.read(part)
    assert_on_page(duel.page_text(part, result), f"duel-{part}")
    if part == "equal":
        assert {row["set"] for row in result["rows"]} == set(duel.SETS)
        page = (ROOT / "README.md").read_text("utf-8")
        assert placed(page, duel.readme_sentence(result), "duel", "README.md") == page
