"""Which tree is the default: methods and prunings on many tables, and how far a seed decides.

``python -m benchmarks.defaults`` measures part by part and keeps what it finds in
`benchmarks/results/defaults/<part>.json`; the tables stand in docs/benchmarks.md. The papers'
tables are looked for in the folder that ``OBLIQUA_DATA`` names.

- *classes*: 21 tables, few and many rows, mixed columns, many classes, from the papers, from
  scikit-learn and made; of more than 10,000 rows 10,000 are drawn. Three rows in ten are held out:
  ten divisions of fewer than 1,000 rows, five of fewer than 5,000, else two.
- *numbers*: the sixteen tables of `benchmarks.regression` with their divisions, three of the five
  where there are more than 5,000 rows.
- *seeds*: the same rows with ten seeds, by held-out rows and by cross-validation, from 100 rows to
  10,000: how the leaves spread, accuracy on other rows, seconds.

The rules, written before anything was measured:

The default is the method and pruning that a stranger should start with, so it is chosen as a
stranger would, by accuracy, then by what there is to read, then by the time it takes.

1. Whoever needs more than 30 CPU seconds for a fit on any table (at most 7,000 rows to learn from)
   is out.
2. A candidate's score is the mean over the tables of its mean accuracy (of numbers: R squared) on
   held-out rows. The highest score leads. A candidate is as good as the leader if the mean
   difference over the tables, table by table, is at most one standard error of that mean.
3. Of those that are as good, the one with the fewest leaves (geometric mean over the tables) is
   the default; of those with at most a tenth more leaves than that, the one that takes the fewest
   CPU seconds (geometric mean).

How single trees are pruned by default, where the seed decides which rows are held out:
cross-validation up to the largest size measured at which, over tables and methods, its leaves
spread less over the seeds (mean standard deviation of their logarithm), it is not less accurate by
more than one standard error, and no fit took more than 5 CPU seconds on average; held-out rows
above that size.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split

from benchmarks import machine, regression
from benchmarks.measure import limit_threads, rounded
from benchmarks.report import NO_VALUE, ROOT, keep, number, table
from obliqua import datasets
from obliqua.select.methods import find_method

RESULTS = ROOT / "benchmarks" / "results" / "defaults"
MOST_ROWS = 10_000
MOST_SECONDS = 30.0  # of a fit that a default may take
MORE_LEAVES = 1.1  # at most so many times the leaves are as few
CV_SECONDS = 5.0  # that cross-validation may take on average
TICK = 0.001  # seconds; clocks may have seen nothing of a small fit

Row = dict[str, Any]
Rows = tuple[Any, Any]


# --- tables -----------------------------------------------------------------------------------


def _paper(name: str) -> Callable[[], Rows]:
    def load() -> Rows:
        X, y = getattr(datasets, f"load_{name}")(as_frame=True, return_X_y=True)
        return X, np.unique(np.asarray(y), return_inverse=True)[1]

    return load


def _scikit(name: str) -> Callable[[], Rows]:
    return lambda: getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)


def _planted(wrong: float) -> Rows:
    """An oblique tree of depth 3, and a share of the labels drawn anew."""
    X, y = datasets.make_planted_tree(6_000, depth=3, random_state=0, return_X_y=True)
    rng = np.random.default_rng(0)
    return X, np.where(rng.random(len(y)) < wrong, rng.integers(2, size=len(y)), y)


def _rules() -> Rows:
    """Classes by questions about single columns, so that oblique splits have no reason."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(3_000, 10))
    y = np.where(X[:, 0] > 0.6, X[:, 1] > 0.3, (X[:, 2] > 0.5) & (X[:, 3] < 0.7)).astype(int)
    return X, np.where(rng.random(len(y)) < 0.1, 1 - y, y)


def _customers() -> Rows:
    """Numbers of very different sizes, text with few and many levels, gaps that tell something."""
    import pandas as pd

    rng = np.random.default_rng(2)
    n = 4_000
    plan, region = rng.integers(3, size=n), rng.integers(40, size=n)
    months, calls = rng.exponential(24.0, size=n), rng.poisson(2.0, size=n)
    bill = 20.0 + 15.0 * plan + rng.normal(scale=8.0, size=n)
    usage = np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(6.0, 1.0, size=n))
    leaves = 0.05 * bill + 0.7 * calls - 0.08 * months + rng.normal(size=40)[region]
    leaves = leaves + np.where(np.isnan(usage), 1.5, 0.0) + rng.logistic(size=n)
    X = pd.DataFrame({"months": months, "calls": calls, "bill": bill, "usage": usage})
    X["plan"] = np.array(["basic", "plus", "all"], dtype=object)[plan]
    X["region"] = np.array([f"region {k}" for k in range(40)], dtype=object)[region]
    return X, (leaves > np.median(leaves)).astype(int)


def _many_classes() -> Rows:
    """Thirty overlapping clouds."""
    return sklearn_datasets.make_classification(
        3_000, 12, n_informative=10, n_redundant=2, n_classes=30, n_clusters_per_class=1,
        class_sep=2.0, random_state=3,
    )  # fmt: skip


#: Tables of our own making.
MADE: dict[str, Callable[[], Rows]] = {
    "planted, 20 % noise": lambda: _planted(0.2),
    "rules": _rules,
    "customers": _customers,
    "many classes": _many_classes,
}
CLASSES: dict[str, Callable[[], Rows]] = {
    **{
        name: _paper(name)
        for name in (
            "wine", "glass", "heart", "haberman", "bupa", "spect", "boston_housing",
            "balance_scale", "breast_cancer_wisconsin", "australian", "pima", "letter", "shuttle",
            "adult", "bank_full",
        )
    },
    "breast_cancer": _scikit("breast_cancer"),
    "digits": _scikit("digits"),
    **MADE,
}  # fmt: skip
QUICK = ("breast_cancer", "rules")


def drawn(rows: Rows, most: int) -> Rows:
    """So many of the rows at most, always the same ones."""
    X, y = rows
    if len(y) <= most:
        return X, y
    few = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    return part(X, few), y[few]


def part(X: Any, rows: Any) -> Any:
    """Some rows of an array or a frame."""
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def class_divisions(name: str, quick: bool) -> Iterator[tuple[Any, Any, Any, Any]]:
    """X to learn from and to try on, then y."""
    X, y = drawn(CLASSES[name](), 400 if quick else MOST_ROWS)
    n_divisions = 1 if quick else 10 if len(y) < 1_000 else 5 if len(y) < 5_000 else 2
    for seed in range(n_divisions):
        rows, new = train_test_split(
            np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed
        )
        yield part(X, rows), part(X, new), y[rows], y[new]


def number_divisions(name: str, quick: bool) -> Iterator[tuple[Any, Any, Any, Any]]:
    """The same of numbers."""
    X, y, fold = regression.rows_of(name)
    X, also = drawn((X, np.column_stack([y, fold])), 400 if quick else MOST_ROWS)
    y, fold = also.T
    for k in range(1 if quick else 3 if len(y) > 5_000 else regression.N_FOLDS):
        yield X[fold != k], X[fold == k], y[fold != k], y[fold == k]


# --- candidates -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A method of a name with a pruning, or with its own if that is None."""

    method: str
    pruning: str | None = None

    @property
    def name(self) -> str:
        kinds = {"holdout": ", held-out rows", "cv": ", cross-validation"}
        return self.method + ("" if self.pruning is None else kinds[self.pruning])

    def make(self, task: str, seed: int) -> Any:
        model = find_method(self.method, task).make(seed)
        return model if self.pruning is None else model.set_params(pruning=self.pruning)


def _pruned(*methods: str) -> list[Candidate]:
    return [Candidate(method, pruning) for method in methods for pruning in ("holdout", "cv")]


CANDIDATES = {
    "classification": [
        *_pruned("cart", "hhcart-a", "hhcart-d", "hhcart-d-fisher", "oc1"),
        Candidate("refined"),
    ],
    "regression": [
        *_pruned("cart", "cart-linear", "oblique", "oblique-linear"),
        *(Candidate(method) for method in ("refined", "refined-constant", "refined-linear")),
    ],
}


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so many seconds of the processor."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def measured(model: Any, X: Any, X_new: Any, y: Any, y_new: Any) -> Row:
    """Fit, and try on other rows."""
    start = process_time()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Column .* levels")  # of a hundred rows it is true
        model.fit(X, y)
    seconds = max(process_time() - start, TICK)
    found = {"score": float(model.score(X_new, y_new)), "cpu": seconds}
    return rounded({**found, "leaves": int(model.get_n_leaves())})


def measure(task: str, name: str, quick: bool) -> list[Row]:
    """All candidates on one table; one that takes too long is not asked again."""
    found: list[Row] = []
    divide = class_divisions if task == "classification" else number_divisions
    slow: set[str] = set()
    for k, division in enumerate(divide(name, quick)):
        for candidate in CANDIDATES[task]:
            row = {"table": name, "division": k, "candidate": candidate.name}
            if candidate.name in slow:
                continue
            try:
                with at_most(MOST_SECONDS):
                    found.append(row | measured(candidate.make(task, k), *division))
            except TimeoutError:
                slow.add(candidate.name)
                found.append(row | {"score": None, "cpu": None, "leaves": None})
        print(name, k, file=sys.stderr, flush=True)
    return found


# --- the choice -------------------------------------------------------------------------------


def by_table(rows: list[Row], candidate: str, figure: str) -> dict[str, float] | None:
    """The mean of a figure for each table; None if the candidate took too long on one."""
    picked = [row for row in rows if row["candidate"] == candidate]
    if any(row[figure] is None for row in picked):
        return None
    tables = dict.fromkeys(row["table"] for row in picked)
    return {
        name: float(np.mean([row[figure] for row in picked if row["table"] == name]))
        for name in tables
    }


def compared(one: dict[str, float], other: dict[str, float]) -> tuple[float, float]:
    """The mean difference over the tables, and its standard error."""
    gaps = np.array([one[name] - other[name] for name in other])
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))


def _geometric(values: dict[str, float]) -> float:
    return float(np.exp(np.mean(np.log(list(values.values())))))


@dataclass(frozen=True)
class Standing:
    """How a candidate did over all tables."""

    name: str
    score: float
    behind: float  # the leader's score less its own
    error: float  # the standard error of that
    leaves: float
    seconds: float
    most_seconds: float

    @property
    def as_good(self) -> bool:
        return self.behind <= self.error


def standings(rows: list[Row]) -> tuple[list[Standing], list[str]]:
    """All candidates, best first, and the names of those that took too long."""
    names = dict.fromkeys(row["candidate"] for row in rows)
    scores = {name: by_table(rows, name, "score") for name in names}
    finished = {name: found for name, found in scores.items() if found is not None}
    mean = {name: float(np.mean(list(found.values()))) for name, found in finished.items()}
    order = sorted(mean, key=lambda name: -mean[name])
    out = []
    for name in order:
        behind, error = compared(finished[order[0]], finished[name])
        leaves, cpu = by_table(rows, name, "leaves"), by_table(rows, name, "cpu")
        assert leaves is not None
        assert cpu is not None
        most = max(row["cpu"] for row in rows if row["candidate"] == name)
        sizes = _geometric(leaves), _geometric(cpu), most
        out.append(Standing(name, mean[name], behind, error, *sizes))
    return out, [name for name in names if name not in finished]


def choice(found: list[Standing]) -> Standing:
    """The default by the rules above."""
    good = [each for each in found if each.as_good]
    fewest = min(each.leaves for each in good)
    small = [each for each in good if each.leaves <= MORE_LEAVES * fewest]
    return min(small, key=lambda each: each.seconds)


def choice_text(rows: list[Row]) -> str:
    """What came out over all tables, the choice, and all scores."""
    found, slow = standings(rows)
    chosen = choice(found).name
    lines = [
        [
            f"**{each.name}**" if each.name == chosen else each.name,
            f"{each.score:.4f}",
            f"{each.behind:.4f} ± {each.error:.4f}" if each.behind else NO_VALUE,
            f"{each.leaves:.1f}",
            number(each.seconds),
            number(each.most_seconds),
        ]
        for each in found
    ]
    head = ["", "score", "behind the first", "leaves", "CPU s of a fit", "longest"]
    parts = [table(head, lines)]
    if slow:
        parts.append(f"Out, for a fit took more than {MOST_SECONDS:g} s: {', '.join(slow)}.")
    good = [each.name for each in found[1:] if each.as_good]
    parts.append(
        f"As good as {found[0].name}: {', '.join(good) or 'none'}. By the rules the default is "
        f"**{chosen}**.{_without_made(rows)}"
    )
    names = [each.name for each in found]
    scores = [by_table(rows, name, "score") or {} for name in names]
    tables = dict.fromkeys(row["table"] for row in rows)
    parts.append(
        table(
            ["table", *names],
            [[name, *(f"{score[name]:.3f}" for score in scores)] for name in tables],
        )
    )
    return "\n\n".join(parts)


def _without_made(rows: list[Row]) -> str:
    """Say what the choice would be without the tables that were made for it."""
    others = [row for row in rows if row["table"] not in MADE]
    if len({row["table"] for row in others}) in (0, 1, len({row["table"] for row in rows})):
        return ""
    first, second, *_ = found = standings(others)[0]
    return (
        f" Without the tables made here it is {choice(found).name}, with {first.name} ahead of "
        f"{second.name} by {second.behind:.4f} ± {second.error:.4f}."
    )


# --- seeds ------------------------------------------------------------------------------------

SIZES = (100, 300, 1_000, 3_000, 10_000)
#: Methods, and the tables from which rows are drawn.
SEEDED = {
    "classification": (
        ("cart", "hhcart-a", "hhcart-d-fisher"),
        ("adult", "bank_full", "letter", "shuttle"),
    ),
    "regression": (
        ("cart", "oblique"),
        ("california_housing", "seoul_bike", "temperature_max", "walmart"),
    ),
}


def all_rows(task: str, name: str) -> Rows:
    """All rows of a table."""
    return CLASSES[name]() if task == "classification" else regression.rows_of(name)[:2]


def measure_seeds(task: str, name: str, quick: bool) -> list[Row]:
    """Ten seeds on the same rows, for each size and pruning."""
    X, y = all_rows(task, name)
    order = np.random.default_rng(4).permutation(len(y))
    found = []
    for size in (100,) if quick else SIZES:
        if size > 0.8 * len(y):
            break
        rows, new = order[:size], order[size : size + MOST_ROWS]
        division = part(X, rows), part(X, new), y[rows], y[new]
        for candidate in _pruned(*SEEDED[task][0]):
            for seed in range(2 if quick else 10 if size < 10_000 else 5):
                row = measured(candidate.make(task, seed), *division)
                about = {"task": task, "table": name, "size": size, "seed": seed}
                pair = {"method": candidate.method, "pruning": candidate.pruning}
                found.append(about | pair | row)
        print(name, size, file=sys.stderr, flush=True)
    return found


def _spread(rows: list[Row]) -> tuple[float, float]:
    """The standard deviation of the logarithm of leaves, and the largest over the least."""
    leaves = np.array([row["leaves"] for row in rows])
    return float(np.log(leaves).std(ddof=1)), float(leaves.max() / leaves.min())


def _cases(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows by table and method."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["table"], row["method"]), []).append(row)
    return found


@dataclass(frozen=True)
class SeedFigures:
    """Both prunings at one size: held-out rows, then cross-validation."""

    size: int
    spread: tuple[float, float]
    ratio: tuple[float, float]
    score: tuple[float, float]
    gain: float  # of cross-validation
    error: float
    seconds: tuple[float, float]
    longest: float  # mean seconds of the slowest case by cross-validation

    @property
    def cross_validates(self) -> bool:
        return (
            self.spread[1] < self.spread[0]
            and self.gain >= -self.error
            and self.longest <= CV_SECONDS
        )


def seed_figures(rows: list[Row], task: str) -> list[SeedFigures]:
    """What came out at each size, over tables and methods."""
    out = []
    for size in dict.fromkeys(row["size"] for row in rows if row["task"] == task):
        here = [row for row in rows if row["task"] == task and row["size"] == size]
        both = [
            _cases([row for row in here if row["pruning"] == pruning])
            for pruning in ("holdout", "cv")
        ]
        spreads = np.array([[_spread(case) for case in kind.values()] for kind in both])
        figure = {
            name: np.array(
                [[np.mean([row[name] for row in case]) for case in kind.values()] for kind in both]
            )
            for name in ("score", "cpu")
        }
        gains = figure["score"][1] - figure["score"][0]
        out.append(
            SeedFigures(
                size=size,
                spread=tuple(spreads[:, :, 0].mean(axis=1)),
                ratio=tuple(np.exp(np.log(spreads[:, :, 1]).mean(axis=1))),
                score=tuple(figure["score"].mean(axis=1)),
                gain=float(gains.mean()),
                error=float(gains.std(ddof=1) / np.sqrt(len(gains))),
                seconds=tuple(np.exp(np.log(figure["cpu"]).mean(axis=1))),
                longest=float(figure["cpu"][1].max()),
            )
        )
    return out


def seeds_text(rows: list[Row]) -> str:
    """Both prunings at each size, for classes and for numbers."""
    parts = []
    for task, what in (("classification", "classes"), ("regression", "numbers")):
        found = seed_figures(rows, task)
        lines = [
            [
                f"{what}, {each.size:,} rows",
                *(f"{one:.2f}" for one in each.spread),
                *(f"{one:.1f}" for one in each.ratio),
                *(f"{one:.4f}" for one in each.score),
                f"{each.gain:+.4f} ± {each.error:.4f}",
                *(number(one) for one in each.seconds),
                number(each.longest),
            ]
            for each in found
        ]
        pairs = ("spread of leaves", "most / fewest leaves", "score")
        head = ["", *(f"{name}, {kind}" for name in pairs for kind in ("held-out", "cv"))]
        head += ["gain by cv", "CPU s, held-out", "CPU s, cv", "slowest cv"]
        parts.append(table(head, lines))
        sizes = [each.size for each in found if each.cross_validates]
        most = f"{max(sizes):,}" if sizes else "0"
        parts.append(f"By the rule {what} are cross-validated up to {most} rows.")
    return "\n\n".join(parts)


# --- running ----------------------------------------------------------------------------------


def _all_classes(quick: bool, only: list[str]) -> list[Row]:
    names = only or (QUICK if quick else CLASSES)
    return [row for name in names for row in measure("classification", name, quick)]


def _all_numbers(quick: bool, only: list[str]) -> list[Row]:
    names = only or ((*regression.TUNED, *regression.OTHERS)[: 2 if quick else None])
    return [row for name in names for row in measure("regression", name, quick)]


def _all_seeds(quick: bool, only: list[str]) -> list[Row]:
    found = []
    for task, (_, tables) in SEEDED.items():
        few = ["rules", "breast_cancer"] if task == "classification" else tables[:2]
        for name in few if quick else tables:
            if not only or name in only:
                found += measure_seeds(task, name, quick)
    return found


PARTS: dict[str, tuple[Callable[[bool, list[str]], list[Row]], Callable[[list[Row]], str]]] = {
    "classes": (_all_classes, choice_text),
    "numbers": (_all_numbers, choice_text),
    "seeds": (_all_seeds, seeds_text),
}


def page_text(part: str, result: dict[str, Any]) -> str:
    """What the page has of a part: its tables, and where and when they were measured."""
    facts = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    where = f"Measured on {facts['date']}: {facts['cpu']}, one thread, {versions}."
    return f"{PARTS[part][1](result['rows'])}\n\n{where}"


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    words.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    words.add_argument("--quick", action="store_true", help="little of it, print only")
    words.add_argument("--tables", nargs="+", default=[], help="only these; others are kept")
    options = words.parse_args(arguments)
    if not options.quick and "OBLIQUA_DATA" not in os.environ:
        print("OBLIQUA_DATA names no folder with the papers' tables", file=sys.stderr)
        return 1
    for name in options.parts or PARTS:
        with limit_threads(1):
            rows = PARTS[name][0](options.quick, options.tables)
        if options.quick:
            print(PARTS[name][1](rows))
            continue
        path = RESULTS / f"{name}.json"
        if options.tables and path.is_file():
            old = json.loads(path.read_text(encoding="utf-8"))["rows"]
            rows = [row for row in old if row["table"] not in options.tables] + rows
        facts = {"machine": machine.facts(), "versions": machine.versions({"obliqua"})}
        result = facts | {"rows": rows}
        keep(result, path, page_text(name, result), f"defaults-{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
