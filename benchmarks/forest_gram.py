"""How the time and the memory of `obliqua.spectrum.gram` grow, and how exact it is.

``python -m benchmarks.forest_gram`` grows forests on artificial data, finds the inner products of
their trees, and writes `benchmarks/results/growth/forest_gram.json` and the table
`docs/results/forest/gram.md`. From a forest of 100 trees with 266 leaves on 57 features, one of
the three is changed at a time. Errors are those against the sum over all cells of the grid, on
forests small enough for that.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import sys
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.ensemble import RandomForestClassifier as Forest

from benchmarks import machine
from benchmarks.measure import clock, limit_threads
from benchmarks.memory import high_water, settled
from benchmarks.report import ROOT, number, table
from obliqua.spectrum import Measure, TreeSum, energy, gram, measure_of, tree_sum_of

RESULT = ROOT / "benchmarks" / "results" / "growth" / "forest_gram.json"
TABLE = ROOT / "docs" / "results" / "forest" / "gram.md"

BASE = {"trees": 100, "leaves": 266, "features": 57}
SIZES = {"trees": (25, 50, 200), "leaves": (64, 128, 512), "features": (5, 20, 200)}
SETS = {
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}
MOST_CELLS = 20_000


def data(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes over columns of which most entries are 0, as counts of words are."""
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(n, p)) * (rng.random((n, p)) < 0.25)
    score = np.log1p(X) @ rng.normal(size=p)
    score += 0.5 * score.std() * rng.normal(size=n)
    return X, (score > np.quantile(score, 0.6)).astype(int)


def grown(trees: int, leaves: int, features: int) -> TreeSum:
    """The trees of a forest of that size, whose trees all have that many leaves."""
    X, y = data(20 * leaves, features)
    forest = Forest(trees, max_leaf_nodes=leaves, random_state=0).fit(X, y)
    return tree_sum_of(forest)


def measured(trees: TreeSum, measure: str | Measure = "uniform", X: Any = None) -> dict[str, Any]:
    """CPU seconds and bytes of the inner products of trees that are read already."""
    gc.collect()
    give_back()
    before = settled()
    found, cpu, _ = clock(lambda: gram(trees, measure, X))
    after = high_water()
    least = float(np.linalg.eigvalsh(found).min() / np.trace(found))
    taken = None if before is None or after is None else max(0, after - before)
    return {"cpu": cpu, "bytes": taken, "least eigenvalue": least}


def give_back() -> None:
    """Return memory that is free to the system, so that what is taken next is seen."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def growth(part: int) -> list[dict[str, Any]]:
    """One size changed at a time; `part` divides trees and leaves, for a quick look."""
    sizes = [BASE, *({**BASE, name: n} for name, values in SIZES.items() for n in values)]
    points = []
    for size in sizes:
        used = {**size, "trees": size["trees"] // part, "leaves": max(4, size["leaves"] // part)}
        trees = grown(**used)
        mean = trees.n_leaves / trees.n_trees
        point = {**used, "mean leaves": mean, **measured(trees)}
        print(point, file=sys.stderr, flush=True)
        points.append(point)
    return points


def parts_of_base(part: int) -> dict[str, float]:
    """CPU seconds of what else is asked of the forest from which sizes are changed."""
    trees = grown(BASE["trees"] // part, BASE["leaves"] // part, BASE["features"])
    on = measure_of(trees)
    found = {}
    for name, work in {
        "gram": lambda: gram(trees, on),
        "gram, single features and pairs": lambda: energy(trees, on, pairs=True, totals=False),
        "gram, single features and totals": lambda: energy(trees, on, pairs=False, totals=True),
    }.items():
        found[name] = clock(work)[1]
        print(name, found[name], file=sys.stderr, flush=True)
    return found


def sets(n_trees: int) -> list[dict[str, Any]]:
    """Forests on data that come with scikit-learn, by all three measures."""
    points = []
    for name, load in SETS.items():
        X, y = load(return_X_y=True)
        trees = tree_sum_of(Forest(n_trees, random_state=0).fit(X, y))
        for measure in ("uniform", "marginals", "empirical"):
            facts = {"data": name, "measure": measure, "leaves": trees.n_leaves / n_trees}
            points.append({**facts, **measured(trees, measure, X)})
            print(points[-1], file=sys.stderr, flush=True)
    return points


def enumerated(trees: TreeSum, on: Measure) -> np.ndarray:
    """The inner products as sums over all cells, in long numbers where there are any."""
    # The end of each interval, and a number inside the last one.
    ends = [[*f.entries, max(f.entries, default=0.0) + 1.0] for f in on.domain.features]
    rows = np.array(list(product(*ends)))
    shares = [on.share(f).astype(np.longdouble) for f in range(len(ends))]
    shares = [share / share.sum() for share in shares]
    mass = np.array([np.prod(p) for p in product(*shares)])
    said = np.array([v[t.apply(rows)] for t, v in zip(trees.trees, trees.values, strict=True)])
    return np.einsum("irk,jrk,r->ij", said, said, mass)


def errors() -> list[dict[str, Any]]:
    """The largest error beside the largest product, for ensembles with few cells."""
    X, y = load_wine(return_X_y=True)
    points = []
    for name, kind in {
        "random forest": Forest(10, max_leaf_nodes=8, random_state=0),
        "extra trees": ExtraTreesClassifier(5, max_leaf_nodes=8, random_state=0),
        "gradient boosting": GradientBoostingClassifier(n_estimators=4, random_state=0),
    }.items():
        fitted = kind.fit(X[:, :3], y)
        trees = tree_sum_of(fitted)
        for measure in ("uniform", "marginals"):
            on = measure_of(trees, measure, X[:, :3])
            if on.domain.size > MOST_CELLS:
                raise RuntimeError(f"{name} has {on.domain.size} cells, too many to enumerate")
            expected = enumerated(trees, on)
            error = float(np.abs(gram(trees, on) - expected).max() / np.abs(expected).max())
            points.append(
                {"ensemble": name, "measure": measure, "cells": on.domain.size, "error": error}
            )
    return points


def megabytes(taken: int | None) -> str:
    return number(None if taken is None else taken / 2**20)


def text(result: dict[str, Any]) -> str:
    """The tables as the documentation shows them."""
    grown_rows = [
        [
            f"{p['trees']} trees, {p['mean leaves']:.0f} leaves, {p['features']} features",
            number(p["cpu"]),
            megabytes(p["bytes"]),
        ]
        for p in result["growth"]
    ]
    set_rows = [
        [p["data"], p["measure"], f"{p['leaves']:.0f}", number(p["cpu"]), megabytes(p["bytes"])]
        for p in result["sets"]
    ]
    error_rows = [
        [p["ensemble"], p["measure"], f"{p['cells']:,}", f"{p['error']:.0e}"]
        for p in result["errors"]
    ]
    part_rows = [[name, number(cpu)] for name, cpu in result["parts"].items()]
    facts = result["machine"]
    return "\n\n".join(
        [
            table(["forest", "CPU s", "MB"], grown_rows),
            table(["what, for the first of these forests", "CPU s"], part_rows),
            table(["data", "measure", "leaves per tree", "CPU s", "MB"], set_rows),
            table(["ensemble", "measure", "cells", "relative error"], error_rows),
            f"One thread, {facts['date']}: {facts['cpu']}.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.forest_gram", description=__doc__)
    words.add_argument("--quick", action="store_true", help="small forests, print only")
    options = words.parse_args(arguments)
    part = 10 if options.quick else 1
    with limit_threads(1):
        result = {
            "machine": machine.facts(),
            "growth": growth(part),
            "parts": parts_of_base(part),
            "sets": sets(100 // part),
            "errors": errors(),
        }
    if options.quick:
        print(text(result))
        return 0
    for file, words_of in ((RESULT, json.dumps(result, indent=1)), (TABLE, text(result))):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(words_of + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
