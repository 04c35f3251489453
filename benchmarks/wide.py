"""Tables with few rows and many features: seconds of a fit, beside scikit-learn's tree.

``python -m benchmarks.wide`` measures each method in a process of its own, in seconds of the
processor, and prints a table. No tree is pruned, but those that choose by cross-validation do.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from typing import Any

import numpy as np

SHAPES = ((200, 5_000), (200, 20_000))
QUICK = ((40, 400),)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "scikit-learn": ("DecisionTreeClassifier", {}),
    "CART": ("CartClassifier", {"pruning": None}),
    "HHCART(D)": ("HHCartClassifier", {"variant": "dominant", "pruning": None}),
    "HHCART(D) + Fisher": (
        "HHCartClassifier",
        {"variant": "dominant", "extra_directions": "fisher", "pruning": None},
    ),
    "HHCART(D) + discriminants": (
        "HHCartClassifier",
        {"variant": "dominant", "extra_directions": "discriminants", "pruning": None},
    ),
    "HHCART(D) + Fisher, 2 features": (
        "HHCartClassifier",
        {
            "variant": "dominant",
            "extra_directions": "fisher",
            "max_features_per_split": 2,
            "pruning": None,
        },
    ),
    "HHCART(A)": ("HHCartClassifier", {"variant": "all", "pruning": None}),
    "FDT": ("FisherTreeClassifier", {"pruning": None}),
    "QUEST, linear": ("QuestClassifier", {"split": "linear", "pruning": None}),
    "refined": ("RefinedTreeClassifier", {"random_state": 0}),
}


def rows_of(n_rows: int, n_features: int) -> tuple[Any, Any]:
    """Make noise, of which ten features decide the class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    return X, (X[:, :10].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(int)


def seconds_of(name: str, n_rows: int, n_features: int) -> float:
    """Fit twice, and return the seconds of the quicker fit: the first one loads modules."""
    import sklearn.tree

    import obliqua

    kind, params = METHODS[name]
    home: Any = sklearn.tree if name == "scikit-learn" else obliqua
    X, y = rows_of(n_rows, n_features)
    taken = []
    for _ in range(2):
        start = time.process_time()
        getattr(home, kind)(**params).fit(X, y)
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small table, to see that it runs")
    parser.add_argument("--methods", nargs="*", choices=tuple(METHODS), default=tuple(METHODS))
    given = parser.parse_args()
    for shape in QUICK if given.quick else SHAPES:
        print(f"{shape[0]} rows, {shape[1]:,} features: seconds, and times scikit-learn's")
        plain = None
        for name in dict.fromkeys(["scikit-learn", *given.methods]):
            with multiprocessing.get_context("spawn").Pool(1) as alone:
                taken = alone.apply(seconds_of, (name, *shape))
            plain = taken if plain is None else plain
            print(f"  {name:32} {taken:7.2f} {taken / plain:7.1f}", flush=True)


if __name__ == "__main__":
    main()
