"""Discriminants beside HHCART's directions: time and training accuracy at equal leaves.

``python -m benchmarks.discriminants`` grows trees best first by gini, on letter (the papers' data,
see `obliqua.datasets`) and on synthetic data, round by round one method after the other, prints a
table and writes `docs/results/discriminants.csv`. ``--quick`` takes synthetic data of few rows
only, and writes nothing.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.measure import clock
from benchmarks.report import ROOT, number, table
from obliqua import datasets
from obliqua.data.problem import Problem, encode
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.methods.discriminants import Discriminants
from obliqua.methods.hhcart import Householder
from obliqua.tree.tree import Tree

RESULT = ROOT / "docs" / "results" / "discriminants.csv"
HEAD = ["data", "method", "leaves", "CPU seconds", "training accuracy"]
METHODS: dict[str, Any] = {
    "discriminants": Discriminants(),
    "without superclasses": Discriminants(superclasses=False),
    "HHCART(D) + Fisher": Householder(variant="dominant", fisher=True),
    "HHCART(D) + discriminants": Householder(variant="dominant", discriminants=True),
}


def problems(quick: bool) -> Iterator[tuple[str, Problem, int]]:
    """Name, data and number of leaves."""
    if not quick:
        rows = datasets.load_letter()
        names, y = np.unique(rows.target, return_inverse=True)
        yield "letter", encode(np.asarray(rows.data, dtype=np.float64), y, len(names)), 512
    n = 2_000 if quick else 100_000
    X, y = make_classification(n, 20, n_informative=10, random_state=0)
    yield f"{n:,} x 20, 2 classes", encode(X, y, 2), 32


def accuracy(tree: Tree, problem: Problem) -> float:
    """The share of the training rows whose leaf says their class."""
    said = tree.stats[tree.apply(problem.Z)].argmax(axis=1)
    return float((said == problem.y).mean())


def measure(quick: bool, rounds: int) -> list[list[Any]]:
    """One line for each problem and method, with the fastest of the rounds."""
    lines = []
    for name, problem, leaves in problems(quick):
        rules = Rules(max_leaf_nodes=leaves)
        times: dict[str, list[float]] = {title: [] for title in METHODS}
        trees = {}
        for _ in range(rounds):
            for title, method in METHODS.items():
                trees[title], cpu, _ = clock(partial(grow, problem, method, "gini", rules))
                times[title].append(cpu)
        for title, tree in trees.items():
            lines.append([name, title, tree.n_leaves, min(times[title]), accuracy(tree, problem)])
    return lines


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.discriminants", description=__doc__)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--quick", action="store_true", help="small data, print only")
    options = words.parse_args(arguments)
    lines = measure(options.quick, 1 if options.quick else options.rounds)
    shown = [[*line[:2], str(line[2]), number(line[3]), f"{line[4]:.4f}"] for line in lines]
    print(table(HEAD, shown))
    if not options.quick:
        with RESULT.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEAD, *lines])
    return 0


if __name__ == "__main__":
    sys.exit(main())
