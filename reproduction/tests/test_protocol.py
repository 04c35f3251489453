"""The protocol: folds, seeds, pooling, resuming, and the same figures for any number of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obliqua.select.methods import Method
from reproduction import protocol
from reproduction.catalogue import TABLES
from reproduction.protocol import CellResult, DataSet, folds, run_cell, summarise
from reproduction.rows import ExperimentRows
from reproduction.running import TablePart
from reproduction.running import run as run_part
from reproduction.store import Kept, ResultsError, Store

CART = Method("cart", "axis-parallel", "obliqua.CartClassifier", {"max_depth": 3})
STUMP = Method("stump", "one split", "obliqua.CartClassifier", {"max_depth": 1})


def cloud(n_rows: int = 61, seed: int = 0) -> ExperimentRows:
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    X = np.round(rng.normal(size=(n_rows, 3)) + y[:, None], 1)
    return ExperimentRows(X, np.array(["a", "b", "c"])[y])


def fixed() -> ExperimentRows:
    train, test = cloud(), cloud(40, seed=1)
    return ExperimentRows(train.X, train.y, test.X, test.y)


ONE = DataSet("one", "a cloud", cloud)
TWO = DataSet("two", "another", lambda: cloud(47, seed=2))
TRAIN_TEST = DataSet("fixed", "fixed test rows", fixed)
SETS = [ONE, TWO, TRAIN_TEST]
REPEATS = {"one": 3, "two": 2, "fixed": 2}


def silent(line: str) -> None:
    """Say nothing."""


def test_no_table_leaves_pruning_to_the_default() -> None:
    """Papers hold rows out; a default that changes must not change what was measured."""
    methods = [method for table in TABLES.values() for method in table.methods]
    assert any(method.make(0).get_params().get("pruning") == "auto" for method in methods)
    for method in methods:
        model = protocol.as_published(method, 0)
        ways = model.get_params() if hasattr(model, "get_params") else {}
        ways = {name: way for name, way in ways.items() if name.rpartition("__")[2] == "pruning"}
        assert "auto" not in [way for way in ways.values() if isinstance(way, str)], method.name


def run(
    sets: list[DataSet], methods: list[Method], repeats: dict[str, int], store: Store, **more: Any
) -> None:
    run_part(TablePart(store, sets, methods, repeats), **more)


def without_times(path: Path) -> Any:
    """All cells of a file, by set, method and repeat."""
    kept = Kept(path)
    found: Any = {}
    for name in (data_set.name for data_set in [*SETS, DRAWN]):
        for method in ("cart", "stump"):
            for repeat, cell in kept.cells(name, method).items():
                del cell["seconds"], cell["cpu_ms"]
                found.setdefault(name, {}).setdefault(method, {})[repeat] = cell
    return found


class Watched:
    """Stands in for an estimator and keeps what it is given."""

    log: list[Any] = []  # noqa: RUF012

    def __init__(self, random_state: int) -> None:
        self.log.append(("seed", random_state))

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.log.append(("fit", X.ravel().astype(int)))

    def predict(self, X: np.ndarray) -> np.ndarray:
        self.log.append(("predict", X.ravel().astype(int)))
        return np.where(X.ravel() % 2 == 0, "a", "b")

    def get_n_leaves(self) -> int:
        return len(self.log)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Method:
    """A method whose estimator logs; it is given away by name like any other."""
    monkeypatch.setattr(protocol, "Watched", Watched, raising=False)
    monkeypatch.setattr(Watched, "log", [])
    return Method("watched", "", "reproduction.protocol.Watched")


NUMBERED = ExperimentRows(np.arange(23.0)[:, None], np.array(["a", "b"])[np.arange(23) % 2])


# --- folds and seeds --------------------------------------------------------------------------


def test_folds_divide_the_rows() -> None:
    parts = folds(23, np.random.default_rng(0), 5)
    assert sorted(len(part) for part in parts) == [4, 4, 5, 5, 5]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(23))


@pytest.mark.parametrize("n_folds", [1, 24])
def test_bad_numbers_of_folds(n_folds: int) -> None:
    with pytest.raises(ValueError, match="n_folds"):
        folds(23, np.random.default_rng(0), n_folds)


def test_each_row_is_tested_once_and_never_on_its_own_tree(watched: Method) -> None:
    cell = run_cell("numbered", NUMBERED, watched, 0, 0)
    fitted = [rows for what, rows in Watched.log if what == "fit"]
    tested = [rows for what, rows in Watched.log if what == "predict"]
    assert len(fitted) == len(tested) == len(cell.leaves) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate(tested)), np.arange(23))
    for train, test in zip(fitted, tested, strict=True):
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(23))
    assert cell.confusion == [[12, 0], [0, 11]]


def logged(method: Method, data_set: str, repeat: int, seed: int) -> tuple[Any, list[int]]:
    """The test folds, in order, and the seeds of the trees."""
    Watched.log.clear()
    run_cell(data_set, NUMBERED, method, repeat, seed)
    tested = [rows.tolist() for what, rows in Watched.log if what == "predict"]
    return tested, [value for what, value in Watched.log if what == "seed"]


def test_repeats_seeds_and_data_sets_have_their_own_folds(watched: Method) -> None:
    first = logged(watched, "one", 0, 0)
    assert logged(watched, "one", 0, 0) == first
    for other in (("one", 1, 0), ("one", 0, 1), ("two", 0, 0)):
        parts, seeds = logged(watched, *other)
        assert parts != first[0]
        assert not set(seeds) & set(first[1])
    assert len(set(first[1])) == 5


def test_fixed_test_rows_give_one_tree_per_repeat(watched: Method) -> None:
    rows = ExperimentRows(NUMBERED.X, NUMBERED.y, NUMBERED.X[:4], NUMBERED.y[:4])
    cells = [run_cell("numbered", rows, watched, repeat, 0) for repeat in range(2)]
    seeds = [value for what, value in Watched.log if what == "seed"]
    assert len(seeds) == len(set(seeds)) == 2
    for cell in cells:
        assert len(cell.leaves) == 1
        assert cell.confusion == [[2, 0], [0, 2]]
    assert all(len(rows) == 23 for what, rows in Watched.log if what == "fit")


# --- figures ----------------------------------------------------------------------------------


def test_means_and_sample_standard_deviations() -> None:
    cells = [
        CellResult(["a", "b"], [[8, 2], [0, 10]], [2, 4], 0.0),  # 90 %, 3 leaves
        CellResult(["a", "b"], [[9, 1], [0, 10]], [5, 5], 0.0),  # 95 %, 5 leaves
        CellResult(["a", "b"], [[10, 0], [0, 10]], [6, 8], 0.0),  # 100 %, 7 leaves
    ]
    found = summarise(cells)
    assert found.repeats == 3
    assert found.accuracy == pytest.approx((95.0, 5.0))
    assert found.leaves == pytest.approx((5.0, 2.0))
    first_f = (16 / 18 + 20 / 22) / 2
    assert summarise(cells[:1]).macro_f[0] == pytest.approx(first_f)
    assert np.isnan(summarise(cells[:1]).accuracy[1])


# --- runs -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The results of a run that nothing has interrupted, in one process."""
    path = tmp_path_factory.mktemp("whole") / "results.jsonl"
    run(SETS, [CART, STUMP], REPEATS, Store(path, "t", 5), progress=silent)
    return without_times(path)


def test_a_run_fills_every_cell(whole: Any) -> None:
    for data_set, repeats in REPEATS.items():
        for method in ("cart", "stump"):
            assert list(whole[data_set][method]) == list(range(repeats))


def test_any_number_of_jobs_gives_the_same(whole: Any, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run(SETS, [CART, STUMP], REPEATS, Store(path, "t", 5), n_jobs=2, progress=silent)
    assert without_times(path) == whole


@pytest.mark.parametrize("finished", [1, 4, 13])
def test_a_run_that_was_interrupted_goes_on(whole: Any, tmp_path: Path, finished: int) -> None:
    path = tmp_path / "results.jsonl"
    lines: list[str] = []

    def interrupt(line: str) -> None:
        lines.append(line)
        if len(lines) == finished:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(SETS, [CART, STUMP], REPEATS, Store(path, "t", 5), progress=interrupt)
    again: list[str] = []
    store = Store(path, "t", 5, resume=True)
    run(SETS, [CART, STUMP], REPEATS, store, progress=again.append)
    assert len(again) == 14 - finished
    assert without_times(path) == whole
    assert [file.name for file in tmp_path.iterdir()] == ["results.jsonl"]


def test_progress_goes_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([ONE], [STUMP], {"one": 2}, Store(tmp_path / "r.jsonl", "t", 0))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "[2/2] one stump repeat 2:" in shown.err


def test_a_method_that_does_not_exist_is_found_at_once(tmp_path: Path) -> None:
    for absent in (
        Method("x", "", "obliqua.NoSuchClassifier"),
        Method("x", "", "no_such_module.Classifier"),
        Method("x", "", "obliqua.CartClassifier", {"no_such_parameter": 1}),
    ):
        with pytest.raises(ValueError, match="the method x cannot be made"):
            run([ONE], [STUMP, absent], {"one": 1}, Store(tmp_path / "r.jsonl", "t", 0))
    assert not (tmp_path / "r.jsonl").exists()


# --- results that must not be mixed -----------------------------------------------------------


def test_results_are_never_overwritten_or_mixed(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run([ONE], [STUMP], {"one": 1}, Store(path, "t", 0), progress=silent)
    before = path.read_text("utf-8")
    with pytest.raises(ResultsError, match="--resume"):
        Store(path, "t", 0)
    with pytest.raises(ResultsError, match="another seed: 0, now 1"):
        Store(path, "t", 1, resume=True)
    with pytest.raises(ResultsError, match="another table"):
        Store(path, "u", 0, resume=True)
    other = Method("stump", "", "obliqua.CartClassifier", {"max_depth": 2})
    with pytest.raises(ResultsError, match="another setting of the method stump"):
        run([ONE], [other], {"one": 1}, Store(path, "t", 0, resume=True), progress=silent)
    shuffled = cloud()
    order = np.random.default_rng(0).permutation(len(shuffled.y))
    reordered = DataSet("one", "", lambda: ExperimentRows(shuffled.X[order], shuffled.y[order]))
    with pytest.raises(ResultsError, match="another checksum of the data set one"):
        run([reordered], [STUMP], {"one": 1}, Store(path, "t", 0, resume=True), progress=silent)
    assert path.read_text("utf-8") == before


# --- rows that are drawn anew, and methods that grow no trees ---------------------------------


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = np.round(rng.normal(size=(30, 2)), 3)
    return X, np.where(X[:, 0] > 0, "a", "b")


def sampled() -> ExperimentRows:
    return ExperimentRows(*draw(np.random.default_rng(0)), draw=draw)


DRAWN = DataSet("s", "drawn anew", sampled)


def seen_by(method: Method, repeat: int, seed: int = 0) -> list[int]:
    """Whole numbers of the test rows, in order, of a method that logs."""
    Watched.log.clear()
    labels = np.resize(["a", "b"], 9)
    rows = ExperimentRows(np.zeros((9, 1)), labels, draw=_whole)
    run_cell("drawn", rows, method, repeat, seed)
    return [int(x) for what, rows in Watched.log if what == "predict" for x in rows]


def _whole(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(1000, size=(9, 1)).astype(float), np.resize(["a", "b"], 9)


def test_each_repeat_draws_rows_of_its_own(watched: Method) -> None:
    first = seen_by(watched, 0)
    assert any(first)  # not the sample, which is all zeros
    assert seen_by(watched, 0) == first
    assert seen_by(watched, 1) != first
    assert seen_by(watched, 0, seed=1) != first


def test_all_methods_see_the_same_drawn_rows() -> None:
    stump, again = (run_cell("s", sampled(), method, 2, 0) for method in (STUMP, CART))
    assert sum(map(sum, stump.confusion)) == 30
    assert [sum(row) for row in stump.confusion] == [sum(row) for row in again.confusion]


def test_drawn_rows_have_another_checksum_and_run_in_processes(tmp_path: Path) -> None:
    assert sampled().checksum != ExperimentRows(*draw(np.random.default_rng(0))).checksum
    for jobs in (1, 2):
        store = Store(tmp_path / f"{jobs}.jsonl", "t", 0)
        run([DRAWN], [CART], {"s": 3}, store, n_jobs=jobs, progress=silent)
    one, two = (without_times(tmp_path / f"{jobs}.jsonl") for jobs in (1, 2))
    assert one == two
    matrices = [cell["confusion"] for cell in one["s"]["cart"].values()]
    assert len({str(matrix) for matrix in matrices}) > 1


def bayes(random_state: int) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def test_a_method_without_trees_has_no_leaves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(protocol, "bayes", bayes, raising=False)
    method = Method("bayes", "no tree", "reproduction.protocol.bayes")
    cell = run_cell("one", cloud(), method, 0, 0)
    assert cell.leaves == []
    found = summarise([cell, cell])
    assert np.isnan(found.leaves).all()
    assert found.accuracy[0] > 50
    said: list[str] = []
    run([ONE], [method], {"one": 1}, Store(tmp_path / "x.jsonl", "t", 0), progress=said.append)
    assert "leaves" not in said[0]
    assert "nan" not in said[0]
