"""Splits by linear programming beside Fisher's: accuracy, size and time on small data sets.

``python -m benchmarks.linear_programs`` cross-validates trees of one kind each, pruned on held-out
rows as `ObliqueTreeClassifier` does it by default, five times in ten folds that all methods share,
prints a table and writes `docs/results/linear-programs.csv`. ``--quick`` takes two sets that need
no files, once in three folds, and writes nothing.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import RepeatedStratifiedKFold

from benchmarks.measure import clock
from benchmarks.report import ROOT, table
from obliqua import CartClassifier, ObliqueTreeClassifier, datasets
from obliqua.methods.discriminants import Discriminants
from obliqua.methods.linear_programs import LinearPrograms

RESULT = ROOT / "docs" / "results" / "linear-programs.csv"
HEAD = ["data", "method", "accuracy", "sd", "leaves", "CPU ms"]
SETS = (
    "balance_scale",
    "breast_cancer_wisconsin",
    "bupa",
    "glass",
    "heart",
    "iris",
    "pima",
    "wine",
)
METHODS: dict[str, Any] = {
    "CART": CartClassifier(pruning="holdout"),
    "Fisher": ObliqueTreeClassifier(Discriminants(superclasses=False), pruning="holdout"),
    "linear programs": ObliqueTreeClassifier(LinearPrograms(), pruning="holdout"),
}


def problems(quick: bool) -> Iterator[tuple[str, Any, Any]]:
    """Name, rows without missing values, and classes."""
    if quick:
        yield "iris", *load_iris(return_X_y=True)
        yield "breast cancer", *load_breast_cancer(return_X_y=True)
        return
    for name in SETS:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        rows = np.asarray(X, dtype=np.float64)
        whole = ~np.isnan(rows).any(axis=1)
        yield name.replace("_", " "), rows[whole], np.asarray(y)[whole]


def measure(quick: bool) -> list[list[Any]]:
    """One line for each problem and method: means over folds, and the sd of whole repeats."""
    lines = []
    n_folds, n_repeats = (3, 1) if quick else (10, 5)
    for name, X, y in problems(quick):
        folds = list(
            RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=0).split(
                X, y
            )
        )
        for title, method in METHODS.items():
            scores, leaves, times = [], [], []
            for train, test in folds:
                tree, cpu, _ = clock(partial(method.fit, X[train], y[train]))
                scores.append(tree.score(X[test], y[test]))
                leaves.append(tree.get_n_leaves())
                times.append(1000 * cpu)
            repeats = np.reshape(scores, (n_repeats, n_folds)).mean(axis=1)
            figures = [100 * repeats.mean(), 100 * repeats.std(), np.mean(leaves), np.mean(times)]
            lines.append([name, title, *(round(float(v), 2) for v in figures)])
    return lines


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(
        prog="python -m benchmarks.linear_programs", description=__doc__
    )
    words.add_argument("--quick", action="store_true", help="small data, print only")
    options = words.parse_args(arguments)
    lines = measure(options.quick)
    print(table(HEAD, [[*line[:2], *(str(v) for v in line[2:])] for line in lines]))
    if not options.quick:
        with RESULT.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEAD, *lines])
    return 0


if __name__ == "__main__":
    sys.exit(main())
