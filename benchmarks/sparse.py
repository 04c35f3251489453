"""Sparse X, as text is: seconds and memory of a fit, beside scikit-learn's trees and forests.

``python -m benchmarks.sparse`` makes counts of words with 20 topics, of which each row has about
100 that are not 0, and measures each method in a process of its own: seconds of the processor,
peak memory above what was in use before, and accuracy on a fifth of the rows.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

SHAPE = (10_000, 50_000)
QUICK = (400, 2_000)
N_TOPICS = 20
OWN_WORDS = 100  # of a topic
METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "scikit-learn, tree": ("sklearn.tree", "DecisionTreeClassifier", {}),
    "CART, gini": ("obliqua", "CartClassifier", {"criterion": "gini", "pruning": None}),
    "CART, twoing": ("obliqua", "CartClassifier", {"pruning": None}),
    "CART, pruned": ("obliqua", "CartClassifier", {"criterion": "gini"}),
    "scikit-learn, forest": ("sklearn.ensemble", "RandomForestClassifier", {}),
    "forest, axis-parallel": ("obliqua", "ObliqueForestClassifier", {"n_oblique": 0}),
    "forest": ("obliqua", "ObliqueForestClassifier", {}),
}


class Measured(NamedTuple):
    """What a method takes."""

    fit: float  # seconds of the processor
    predict: float
    memory: float  # MB
    accuracy: float


def text(n_rows: int, n_words: int, seed: int = 0) -> tuple[Any, Any]:
    """Make counts of words: frequent ones and rare ones, and in a twentieth those of a topic."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, N_TOPICS, n_rows)
    frequency = 1.0 / (np.arange(n_words) + 10.0)
    row = np.repeat(np.arange(n_rows), rng.poisson(110, n_rows))
    word = rng.choice(n_words, size=len(row), p=frequency / frequency.sum())
    own = rng.random(len(row)) < 0.05
    words = rng.integers(0, n_words, (N_TOPICS, OWN_WORDS))
    word[own] = words[topic[row[own]], rng.integers(0, OWN_WORDS, own.sum())]
    counts = sparse.coo_array((np.ones(len(row)), (row, word)), shape=(n_rows, n_words))
    return sparse.csr_matrix(counts), topic


def measured(name: str, n_rows: int, n_words: int) -> Measured:
    """Fit to four fifths of the rows, and predict the others."""
    from importlib import import_module

    home, kind, params = METHODS[name]
    X, y = text(n_rows, n_words)
    train, test = slice(0, n_rows * 4 // 5), slice(n_rows * 4 // 5, None)
    columns, rows = X[train].tocsc(), X[test]
    method = getattr(import_module(home), kind)
    method(**params, random_state=0).fit(columns[:50, :50].tocsc(), y[:50])  # loads modules
    before = _peak()
    start = time.process_time()
    model = method(**params, random_state=0).fit(columns, y[train])
    fitted = time.process_time()
    accuracy = float(model.score(rows, y[test]))
    done = time.process_time()
    return Measured(fitted - start, done - fitted, _peak() - before, accuracy)


def _peak() -> float:
    """Return the largest memory of this process so far, in MB."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small table, to see that it runs")
    parser.add_argument("--methods", nargs="*", choices=tuple(METHODS), default=tuple(METHODS))
    given = parser.parse_args()
    shape = QUICK if given.quick else SHAPE
    X = text(*shape)[0]
    dense = shape[0] * shape[1] * 8 / 1e6
    print(
        f"{shape[0]:,} rows, {shape[1]:,} words, {X.nnz / shape[0]:.0f} of them in a row, "
        f"{N_TOPICS} topics; dense {dense:,.0f} MB"
    )
    print(f"  {'':24}{'fit, s':>8}{'predict, s':>12}{'memory, MB':>12}{'accuracy':>10}")
    for name in given.methods:
        with multiprocessing.get_context("spawn").Pool(1) as alone:
            found = alone.apply(measured, (name, *shape))
        print(
            f"  {name:24}{found.fit:8.2f}{found.predict:12.2f}{found.memory:12.0f}"
            f"{found.accuracy:10.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
