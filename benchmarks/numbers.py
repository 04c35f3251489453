"""Regression trees: fit time and memory of our trees beside scikit-learn's.

``python -m benchmarks.numbers`` grows unlimited trees with one thread, by turns, and takes the
least CPU time of all rounds. Ratios are to scikit-learn's tree with as many rows in a leaf. Our
trees are grown with two threads too, for the wall time. It writes
`benchmarks/results/numbers/numbers.json` and the table in docs/benchmarks.md. Memory is the peak
of one fit in a process of its own, above what X takes.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks import machine
from benchmarks.measure import limit_threads
from benchmarks.memory import high_water, settled
from benchmarks.problems import SEED
from benchmarks.report import NO_VALUE, ROOT, all_sections, keep, number, table

RESULT = ROOT / "benchmarks" / "results" / "numbers" / "numbers.json"
N_COLUMNS = 20


class Entry(NamedTuple):
    """A tree that is measured."""

    name: str  # of its class
    leaf_rows: int  # the fewest rows of a leaf
    n_threads: int = 1

    @property
    def label(self) -> str:
        rows = "1 row" if self.leaf_rows == 1 else f"{self.leaf_rows} rows"
        threads = ", two threads" if self.n_threads == 2 else ""
        return f"{self.name}, leaves of {rows}{threads}"

    @property
    def reference(self) -> str:
        """The label of the tree that it is compared with."""
        return Entry(REFERENCE, self.leaf_rows).label


REFERENCE = "DecisionTreeRegressor"
ENTRIES = {
    entry.label: entry
    for entry in (
        Entry("CartRegressor", 1),
        Entry("CartRegressor", 1, 2),
        Entry("ObliqueTreeRegressor", 1),
        Entry("ObliqueTreeRegressor", 1, 2),
        Entry(REFERENCE, 1),
        Entry("ObliqueTreeRegressor", 5),  # its default
        Entry("ObliqueTreeRegressor", 5, 2),
        Entry(REFERENCE, 5),
    )
}


def make(entry: Entry) -> Any:
    """An unfitted tree without other limits."""
    if entry.name == REFERENCE:
        from sklearn.tree import DecisionTreeRegressor

        return DecisionTreeRegressor(min_samples_leaf=entry.leaf_rows, random_state=SEED)
    import obliqua

    return getattr(obliqua, entry.name)(
        pruning=None, min_samples_leaf=entry.leaf_rows, n_jobs=entry.n_threads
    )


def problem(n_rows: int) -> tuple[Any, Any]:
    """Columns of which three tell something, and noise."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    return X, 2.0 * X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_rows)


def measure(n_rows: int, rounds: int) -> dict[str, Any]:
    """Everything about one size."""
    X, y = problem(n_rows)
    found: dict[str, Any] = {label: {"fit_cpu": np.inf, "wall": np.inf} for label in ENTRIES}
    for entry in ENTRIES.values():  # what is imported or started once is no part of a fit
        make(entry).fit(*problem(200))
    for turn in range(rounds):
        for name, figures in found.items():
            tree = make(ENTRIES[name])
            started, clock = process_time(), perf_counter()
            tree.fit(X, y)
            figures["fit_cpu"] = min(figures["fit_cpu"], process_time() - started)
            figures["wall"] = min(figures["wall"], perf_counter() - clock)
            print(f"{n_rows:,} rows {turn + 1}/{rounds} {name}: least so far "
                  f"{figures['fit_cpu']:.3f} s CPU", file=sys.stderr, flush=True)  # fmt: skip
            figures["leaves"] = int(tree.get_n_leaves())
            figures["r2"] = float(tree.score(X, y))
    for name, figures in found.items():
        figures["memory"] = peak(n_rows, name, X.nbytes)
    return {"rows": n_rows, "rounds": rounds, "trees": found}


def peak(n_rows: int, name: str, size: int) -> float | None:
    """The peak of a fit above X, in units of X; None if it is not known."""
    command = [sys.executable, "-m", "benchmarks.numbers", "--peak", name, "--rows", str(n_rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout.split()
    return int(said[-1]) / size if done.returncode == 0 and said[-1:] != ["unknown"] else None


def print_peak(n_rows: int, name: str) -> None:
    """What `peak` runs in the new process."""
    make(ENTRIES[name]).fit(*problem(200))
    X, y = problem(n_rows)
    gc.collect()
    before = settled()
    tree = make(ENTRIES[name]).fit(X, y)
    after = high_water()
    del tree
    print("unknown" if before is None or after is None else max(0, after - before))


def section(size: dict[str, Any]) -> str:
    """The table of one size."""
    trees = size["trees"]
    rows = [
        [
            name,
            number(figures["fit_cpu"], 3),
            number(figures["fit_cpu"] / trees[ENTRIES[name].reference]["fit_cpu"]),
            number(figures["wall"], 3),
            f"{figures['leaves']:,}",
            f"{figures['r2']:.4f}",
            NO_VALUE if figures["memory"] is None else number(figures["memory"]),
        ]
        for name, figures in trees.items()
    ]
    head = ["", "CPU s", "ratio", "wall s", "leaves", "R² on the training rows", "memory / X"]
    title = f"**{size['rows']:,} × {N_COLUMNS}**, least of {size['rounds']} rounds."
    return f"{title}\n\n{table(head, rows)}"


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.numbers", description=__doc__)
    words.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--quick", action="store_true", help="few rows, print only")
    words.add_argument("--peak", help=argparse.SUPPRESS)
    options = words.parse_args(arguments)
    with limit_threads(1):
        if options.peak is not None:
            print_peak(options.rows[0], options.peak)
            return 0
        sizes = [2_000] if options.quick else options.rows
        rounds = 1 if options.quick else options.rounds
        found = [measure(n_rows, rounds) for n_rows in sizes]
    result = {
        "machine": machine.facts(),
        "versions": machine.versions({"obliqua"}),
        "seed": SEED,
        "problems": found,
    }
    text = all_sections(result, section)
    if options.quick:
        print(text)
    else:
        keep(result, RESULT, text, "numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
