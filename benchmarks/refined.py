"""Refined trees beside greedy ones of the same number of leaves.

``python -m benchmarks.refined`` measures `RefinedTreeClassifier` part by part. Each part keeps a
row for each problem, number of leaves, method and seed in `benchmarks/results/refined/<part>.json`
and writes the table `docs/results/refined/<part>.md`. A run replaces the rows that it measures
again; each row has its date and the load average. Accuracy is that of held-out rows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.adapters.bench_ydf import Ydf
from benchmarks.measure import clock, limit_threads
from benchmarks.refined_tables import (
    ALWAYS,
    COMPARED,
    CYCLES,
    GREEDY,
    PER_SPLIT,
    PER_TREE,
    REFINED,
    SMALL_GREEDY,
    SMALL_REFINED,
    TWO_THREADS,
    Row,
    equal_text,
    mean,
    million_text,
    probabilities_text,
    small_text,
    sparse_text,
)
from benchmarks.report import ROOT
from obliqua import DatasetMissing, HHCartClassifier, RefinedTreeClassifier, datasets

RESULTS = ROOT / "benchmarks" / "results" / "refined"
TABLES = ROOT / "docs" / "results" / "refined"
LEAST_SHARE = 1e-9  # a share of 0 for what happens counts as this in the log loss


# --- problems ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Division:
    """Rows to learn from and rows to try on."""

    problem: str
    seed: int
    X: Any
    y: Any
    X_new: Any
    y_new: Any


def codes(y: Any) -> Any:
    """Labels as integers, which all libraries take."""
    return np.unique(np.asarray(y), return_inverse=True)[1].astype(np.int64)


def divided(problem: str, seed: int, X: Any, y: Any, n_train: int | None = None) -> Division:
    """The first rows to learn from and the others to try on, or 70 % and 30 % at random."""
    from sklearn.model_selection import train_test_split

    y = codes(y)
    if n_train is not None:
        return Division(problem, seed, X[:n_train], y[:n_train], X[n_train:], y[n_train:])
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=seed)
    return Division(problem, seed, X, y, X_new, y_new)


def letter(seed: int, n_train: int | None = None) -> Division:
    division = "first 15,000 / last 5,000 rows" if n_train else "random 70 / 30"
    return divided(f"letter, {division}", seed, *datasets.load_letter(return_X_y=True), n_train)


def digits(seed: int) -> Division:
    from sklearn.datasets import load_digits

    return divided("digits", seed, *load_digits(return_X_y=True))


def pima(seed: int) -> Division:
    return divided("pima", seed, *datasets.load_pima(return_X_y=True))


def income(seed: int) -> Division:
    """Income (Adult): qualitative features, fixed test rows."""
    import pandas as pd

    load = partial(datasets.load_adult, return_X_y=True, as_frame=True)
    (X, y), (X_new, y_new) = load(subset="train"), load(subset="test")
    return divided("income", seed, pd.concat([X, X_new]), pd.concat([y, y_new]), len(y))


def some_rows(load: Any, n_rows: int, seed: int) -> Division:
    """A table of both kinds of features, of which some rows are learnt from."""
    X, y = load(return_X_y=True, as_frame=True)
    name = load.__name__.removeprefix("load_")
    order = np.random.default_rng(seed).permutation(len(y))
    return divided(f"{name}, {n_rows:,} rows", seed, X.iloc[order], y.iloc[order], n_rows)


def planted(depth: int, seed: int, n_rows: int = 10_000) -> Division:
    """Labels that a random oblique tree has given: the best possible accuracy is 1."""
    rows = datasets.make_planted_tree(2 * n_rows, depth, 10, random_state=seed)
    return divided(f"planted, depth {depth}", seed, rows.data, rows.target, n_rows)


def synthetic(n_rows: int, seed: int) -> Division:
    """scikit-learn's clusters: two to a class, ten features that tell, five that repeat them."""
    from sklearn.datasets import make_classification

    n_all = n_rows + min(n_rows // 5, 100_000)
    X, y = make_classification(n_all, 20, n_informative=10, n_redundant=5, random_state=seed)
    return divided(f"make_classification, {n_rows:,} × 20", seed, X, y, n_rows)


# --- methods ----------------------------------------------------------------------------------


class YdfTree:
    """A model of ydf with the face of scikit-learn's."""

    def __init__(self, model: Any) -> None:
        self.predict = partial(Ydf().predict, model)
        self.get_n_leaves = partial(Ydf().leaves, model)
        self.get_depth = partial(Ydf().depth, model)


#: Fits a model: rows, classes, leaves or None, seed.
Fit = Callable[[Any, Any, int | None, int], Any]


def greedy(X: Any, y: Any, n_leaves: int | None, seed: int, **more: Any) -> Any:
    kind = {"variant": "dominant", "extra_directions": "fisher", "scale": "standard"}
    rules = {"criterion": "gini", "max_leaf_nodes": n_leaves, "pruning": None, "n_jobs": 1}
    return HHCartClassifier(**{**kind, **rules, **more}, random_state=seed).fit(X, y)


def refined(X: Any, y: Any, n_leaves: int | None, seed: int, **more: Any) -> Any:
    rules = {"max_leaf_nodes": n_leaves, "n_jobs": 1, **more}
    return RefinedTreeClassifier(**rules, random_state=seed).fit(X, y)


def scikit(X: Any, y: Any, n_leaves: int | None, seed: int) -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=seed)
    if n_leaves is not None:
        return model.fit(X, y)
    sizes = {"max_leaf_nodes": [2, 3, 4, 6, 8, 12, 16, 24, 32]}
    return GridSearchCV(model, sizes, cv=5).fit(X, y).best_estimator_


def ydf(X: Any, y: Any, n_leaves: int | None, seed: int, **more: Any) -> Any:
    from ydf import CartLearner

    rules = {"validation_ratio": 0.0, "min_examples": 1, "max_depth": -1, "num_threads": 1}
    # What it calls nodes are leaves.
    size = {"growing_strategy": "BEST_FIRST_GLOBAL", "max_num_nodes": n_leaves}
    learner = CartLearner(label="y", random_seed=seed, **rules, **size, **more)
    return YdfTree(learner.train({"x": X, "y": y}, verbose=0))


OTHERS: dict[str, Fit] = {"scikit-learn": scikit}
if Ydf().missing() is None:
    OTHERS["ydf CART"] = ydf
    OTHERS["ydf CART, sparse oblique"] = partial(ydf, split_axis="SPARSE_OBLIQUE")
EQUAL: dict[str, Fit] = {GREEDY: greedy, REFINED: refined, **OTHERS}


# --- measuring --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """How much is measured."""

    seeds: int
    repeats: int
    quick: bool
    methods: tuple[str, ...] = ()
    warm: set[str] = field(default_factory=set)


def measured(run: Run, one: Division, n_leaves: int | None, name: str, fit: Fit) -> Row:
    """Fit, the least time of all repeats; a small fit before it loads what a first one loads."""
    if name not in run.warm:
        few = slice(0, 300)
        fit(one.X[few], one.y[few], 3, one.seed)
        run.warm.add(name)
    fits = [clock(lambda: fit(one.X, one.y, n_leaves, one.seed)) for _ in range(run.repeats)]
    model = fits[-1][0]
    row = {
        "problem": one.problem,
        "wanted": n_leaves,
        "method": name,
        "seed": one.seed,
        "accuracy": round(float((model.predict(one.X_new) == one.y_new).mean()), 5),
        "leaves": int(model.get_n_leaves()),
        "depth": int(model.get_depth()),
        "cpu": round(min(cpu for _, cpu, _ in fits), 4),
        "wall": round(min(wall for _, _, wall in fits), 4),
        "load": round(os.getloadavg()[0], 1),
        "date": machine.facts()["date"],
    }
    print(*row.values(), file=sys.stderr, flush=True)
    return {**row, "model": model}


def each(
    run: Run, divisions: Iterable[Division], sizes: tuple[int, ...], methods: dict[str, Fit]
) -> Iterator[Row]:
    """All methods on all problems with all numbers of leaves."""
    for one in divisions:
        for n_leaves in sizes:
            for name, fit in methods.items():
                if not run.methods or name in run.methods:
                    row = measured(run, one, n_leaves, name, fit)
                    row.pop("model")
                    yield row


def measure_letter(run: Run) -> Iterator[Row]:
    sizes = (8,) if run.quick else (64, 256)
    for load in (digits,) if run.quick else (letter, partial(letter, n_train=15_000)):
        yield from each(run, (load(seed) for seed in range(run.seeds)), sizes, EQUAL)


def measure_planted(run: Run) -> Iterator[Row]:
    methods = {GREEDY: greedy, REFINED: refined, CYCLES: partial(refined, cycles=6), **OTHERS}
    n_rows, n_seeds = (1_000, 1) if run.quick else (10_000, 10)
    for depth in (2, 4):
        divisions = (planted(depth, seed, n_rows) for seed in range(n_seeds))
        yield from each(run, divisions, (2**depth,), methods)


def measure_classification(run: Run) -> Iterator[Row]:
    n_rows = 2_000 if run.quick else 100_000
    sizes = (16,) if run.quick else (16, 32)
    yield from each(run, (synthetic(n_rows, seed) for seed in range(run.seeds)), sizes, EQUAL)


def measure_million(run: Run) -> Iterator[Row]:
    methods = {name: fit for name, fit in EQUAL.items() if "sparse" not in name}  # takes minutes
    methods[TWO_THREADS] = partial(refined, n_jobs=2)
    yield from each(run, [synthetic(5_000 if run.quick else 1_000_000, 0)], (16,), methods)


def measure_tables(run: Run) -> Iterator[Row]:
    """Where refinement may lose: noisy labels and many levels, few leaves."""
    methods: dict[str, Fit] = {
        GREEDY: greedy,
        REFINED: refined,
        ALWAYS: partial(refined, compare_greedy=False),
        COMPARED: partial(refined, compare_greedy=True),
    }
    for load in (datasets.load_adult, datasets.load_bank_full):
        for n_rows in (500,) if run.quick else (4_000, 20_000):
            divisions = (some_rows(load, n_rows, seed) for seed in range(run.seeds))
            yield from each(run, divisions, (8,) if run.quick else (8, 32), methods)


def measure_sparse(run: Run) -> Iterator[Row]:
    """At most so many features per split, refined and greedy, and in the whole tree.

    The rules were found with seeds below 100.
    """
    methods: dict[str, Fit] = {}
    for most in PER_SPLIT:
        methods[f"greedy {most}"] = partial(greedy, max_features_per_split=most)
        methods[f"refined {most}"] = partial(refined, max_features_per_split=most)
    for most in PER_TREE:
        methods[f"per tree {most}"] = partial(refined, max_features_per_tree=most)
    for seed in range(100, 100 + run.seeds):
        yield from each(run, [digits(seed)], (4 if run.quick else 16,), methods)
        if not run.quick:
            yield from each(run, [letter(seed)], (64,), methods)
            yield from each(run, [synthetic(20_000, seed), planted(4, seed)], (16,), methods)


def measure_small(run: Run) -> Iterator[Row]:
    """The nine small sets: the mean of five folds; methods choose the number of leaves."""
    from sklearn.model_selection import StratifiedKFold

    from reproduction.papers.hhcart import DATA_SETS

    methods: dict[str, Fit] = {
        SMALL_GREEDY: partial(greedy, pruning="cv", prune_root=True),
        SMALL_REFINED: refined,
        ALWAYS: partial(refined, compare_greedy=False),
        "scikit-learn": scikit,
    }
    n_sets, n_folds = (1, 2) if run.quick else (9, 5)
    for data in DATA_SETS[:n_sets]:
        rows = data.load()
        X, y = np.asarray(rows.X, dtype=np.float64), codes(rows.y)
        for seed in range(run.seeds):
            division = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
            folds = list(division.split(X, y))
            parts = [Division(data.title, seed, X[a], y[a], X[b], y[b]) for a, b in folds]
            for name, fit in methods.items():
                if not run.methods or name in run.methods:
                    yield _mean_of([measured(run, part, None, name, fit) for part in parts])


def _mean_of(rows: list[Row]) -> Row:
    """One row for all folds."""
    keys = ("accuracy", "leaves", "depth", "cpu", "wall")
    means = {key: round(mean(rows, key), 5) for key in keys}
    chosen = [getattr(row.pop("model"), "chosen_", None) for row in rows]
    return {**rows[-1], **means, "refined": chosen.count("refined")}


def measure_probabilities(run: Run) -> Iterator[Row]:
    """Log loss and Brier score of what leaves say of the classes."""
    problems: list[tuple[Callable[[int], Division], int | None]] = [(pima, None)]
    more = [(digits, 16), (letter, 64), (letter, 256), (income, 32)]
    problems += [(digits, 4)] if run.quick else more
    for load, n_leaves in problems:
        for seed in range(run.seeds):
            one = load(seed)
            for way in ("frequencies", "smoothed", "calibrated"):
                row = measured(run, one, n_leaves, way, partial(refined, probabilities=way))
                shares = row.pop("model").predict_proba(one.X_new)
                yield {**row, **scores(shares, one.y_new)}


def scores(shares: Any, y: Any) -> dict[str, float]:
    """Log loss, Brier score, and the share of rows whose class had a share of 0."""
    own = shares[np.arange(len(y)), y]
    loss = -np.log(np.maximum(own, LEAST_SHARE))
    brier = (shares**2).sum(axis=1) - 2.0 * own + 1.0
    found = {"log_loss": loss, "brier": brier, "zero": own == 0.0}
    return {key: round(float(values.mean()), 5) for key, values in found.items()}


#: What measures a part, and what writes its table.
PARTS: dict[str, tuple[Callable[[Run], Iterator[Row]], Callable[[list[Row]], str]]] = {
    "letter": (measure_letter, equal_text),
    "planted": (measure_planted, equal_text),
    "classification": (measure_classification, equal_text),
    "small": (measure_small, small_text),
    "sparse": (measure_sparse, sparse_text),
    "probabilities": (measure_probabilities, probabilities_text),
    "tables": (measure_tables, equal_text),
    "million": (measure_million, million_text),
}


# --- files ------------------------------------------------------------------------------------


def merged(old: list[Row], new: list[Row]) -> list[Row]:
    """Rows that were measured again replace those before; the others stay where they are."""
    keys = ("problem", "wanted", "method", "seed")
    return list({tuple(row[key] for key in keys): row for row in [*old, *new]}.values())


def read(name: str) -> list[Row]:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8"))["rows"] if path.is_file() else []


def keep(name: str, rows: list[Row]) -> None:
    """Write the rows of a part."""
    for folder in (RESULTS, TABLES):
        folder.mkdir(parents=True, exist_ok=True)
    about = {"machine": machine.facts(), "versions": machine.versions({"obliqua", "ydf"})}
    result = {**about, "rows": merged(read(name), rows)}
    text = json.dumps(result, indent=1) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.refined", description=__doc__)
    words.add_argument("--only", metavar="letter,planted", help="parts; all if not given")
    words.add_argument("--methods", default="", help="methods, divided by ';'; all if not given")
    words.add_argument("--seeds", type=int, default=3, help="planted trees always have ten")
    words.add_argument("--repeats", type=int, default=1, help="fits; the fastest counts")
    words.add_argument("--quick", action="store_true", help="small data, print only")
    words.add_argument("--report", action="store_true", help="only write the tables")
    options = words.parse_args(arguments)
    names = options.only.split(",") if options.only else [*PARTS]
    if unknown := set(names) - set(PARTS):
        words.error(f"no part is called {min(unknown)!r}; there are {', '.join(PARTS)}")
    seeds, methods = 1 if options.quick else options.seeds, options.methods.split(";")
    run = Run(seeds, options.repeats, options.quick, tuple(filter(None, methods)))
    for name in names:
        measure, text = PARTS[name]
        try:
            with limit_threads(1):
                rows = [] if options.report else list(measure(run))
        except DatasetMissing as error:
            print(f"{name} is left out: {error}")
            continue
        if rows and not options.quick:
            keep(name, rows)
        if options.quick:
            print(text(rows))
        else:
            (TABLES / f"{name}.md").write_text(text(read(name)) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
