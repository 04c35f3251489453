"""OC1 beside the original program: CPU time per tree, hyperplanes per second, growth.

``python -m benchmarks.oc1`` fits the trees of tables 1 and 2 of the OC1 paper (Murthy, Kasif,
Salzberg, 1994), writes `benchmarks/results/oc1/oc1.json` and the tables in docs/benchmarks.md.

The program's figures are those of `reproduction.papers.oc1`: version 3, fifty trees each, user
time on a shared machine of two cores. They come from another day than ours, so small differences
of speed mean nothing. Trees are fitted to the training rows of a five-fold cross-validation: with
the program's settings, so that both search in the same way, and with ours.

Growth: whole unpruned trees on synthetic data, 20 starts and 5 jumps, no limit of time.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from benchmarks import machine
from benchmarks.growth import exponent
from benchmarks.report import ROOT, keep, number, table
from obliqua import OC1Classifier
from obliqua.select.methods import Method
from reproduction.papers.oc1 import PROGRAM_1, PROGRAM_2, TABLE_1, TABLE_2
from reproduction.protocol import as_published, folds
from reproduction.rows import ExperimentRows

RESULT = ROOT / "benchmarks" / "results" / "oc1" / "oc1.json"

#: table, data set, ours, ours with the program's settings
Case = tuple[str, str, str, str]
CASES: tuple[Case, ...] = (
    *(("1", name, "OC1", "OC1+program") for name in ("cancer", "iris", "housing", "diabetes")),
    *(
        ("2", name, mode, f"{mode}+program")
        for name in ("LS10", "POL", "RCB")
        for mode in ("0:0", "0:20", "20:0", "20:20")
    ),
)
QUICK: tuple[Case, ...] = (("1", "iris", "OC1", "OC1+program"), ("2", "POL", "0:0", "0:0+program"))

# what grows, its sizes, and what stays as it is
SERIES: dict[str, tuple[str, list[int], dict[str, int]]] = {
    "rows": ("n", [6_250, 12_500, 25_000, 50_000, 100_000], {"p": 20}),
    "features": ("p", [5, 10, 20, 40], {"n": 12_500}),
}


def fit_all(method: Method, rows: ExperimentRows, rounds: int) -> dict[str, float]:
    """Means over five trees: CPU milliseconds of the best round, hyperplanes, leaves."""
    cpu, tried, leaves = [], [], []
    for fold, test in enumerate(folds(len(rows.y), np.random.default_rng(0))):
        train = np.ones(len(rows.y), dtype=bool)
        train[test] = False
        times = []
        for _ in range(rounds):
            model = as_published(method, fold)
            started = time.process_time()
            model.fit(rows.X[train], rows.y[train])
            times.append(time.process_time() - started)
        cpu.append(1000.0 * min(times))
        tried.append(model.n_hyperplanes_)
        leaves.append(model.get_n_leaves())
    return {
        "cpu_ms": float(np.mean(cpu)),
        "hyperplanes": float(np.mean(tried)),
        "leaves": float(np.mean(leaves)),
    }


def measure_tables(cases: tuple[Case, ...], rounds: int) -> list[dict[str, Any]]:
    """The runs of the paper's tables, with the program's figures beside them."""
    found = []
    for which, name, ours, like in cases:
        paper, program = (TABLE_1, PROGRAM_1) if which == "1" else (TABLE_2, PROGRAM_2)
        (data_set,) = paper.choose_sets([name])
        rows = data_set.load()
        reference = program[name][ours]
        run: dict[str, Any] = {
            "set": name,
            "mode": ours,
            "program": {
                "cpu_ms": reference.cpu_ms.mean,
                "hyperplanes": reference.hyperplanes.mean,
                "leaves": reference.leaves.mean,
            },
        }
        for key, method in zip(("same", "ours"), paper.choose_methods([like, ours]), strict=True):
            run[key] = fit_all(method, rows, rounds)
        print(f"{name} {ours}: {run['same']} {run['ours']}", file=sys.stderr, flush=True)
        found.append(run)
    return found


def measure_growth(part: int) -> dict[str, Any]:
    """All series; `part` divides the numbers of rows, for a quick look."""
    series = {}
    for title, (grows, sizes, rest) in SERIES.items():
        points = []
        for size in sizes if part == 1 else sizes[:2]:
            at = {**rest, grows: size}
            n, p = at["n"] // part, at["p"]
            X, y = make_classification(
                n, p, n_informative=max(p // 2, 5), n_redundant=0, random_state=0
            )
            started = time.process_time()
            model = OC1Classifier(pruning=None, random_state=0).fit(X, y)
            cpu = time.process_time() - started
            point = {"n": n, "p": p, "cpu": cpu, "leaves": model.get_n_leaves()}
            points.append({**point, "hyperplanes": model.n_hyperplanes_})
            print(f"{title}: {points[-1]}", file=sys.stderr, flush=True)
        series[title] = {"grows": grows, "points": points}
    return series


def measure(quick: bool, rounds: int) -> dict[str, Any]:
    """Everything. The first fit of a process is slower, so one is made that does not count."""
    OC1Classifier(random_state=0).fit(*make_classification(100, random_state=0))
    return {
        "machine": machine.facts(),
        "tables": measure_tables(QUICK if quick else CASES, rounds),
        "growth": measure_growth(50 if quick else 1),
    }


def per_second(run: dict[str, float]) -> float:
    return 1000.0 * run["hyperplanes"] / run["cpu_ms"]


def text(result: dict[str, Any]) -> str:
    """The tables as the documentation shows them."""
    rows = []
    for run in result["tables"]:
        program, same, ours = run["program"], run["same"], run["ours"]
        rows.append(
            [
                f"{run['set']} {run['mode']}",
                *(number(one["cpu_ms"], 3) for one in (program, same, ours)),
                number(program["cpu_ms"] / same["cpu_ms"]),
                number(program["cpu_ms"] / ours["cpu_ms"]),
                *(number(per_second(one)) for one in (program, same, ours)),
                *(f"{one['leaves']:.1f}" for one in (program, same, ours)),
            ]
        )
    head = ["", "CPU ms per tree: program", "same settings", "ours"]
    head += ["times faster: same settings", "ours"]
    head += ["hyperplanes per CPU s: program", "same settings", "ours"]
    head += ["leaves: program", "same settings", "ours"]
    growth = []
    for series in result["growth"].values():
        points, grows = series["points"], series["grows"]
        fixed = ", ".join(f"{k} = {points[0][k]:,}" for k in ("n", "p") if k != grows)
        rates = [point["hyperplanes"] / point["cpu"] for point in points]
        growth.append(
            [
                fixed,
                f"{grows} = " + ", ".join(f"{point[grows]:,}" for point in points),
                ", ".join(number(point["cpu"]) for point in points),
                f"{exponent(points, grows):.2f}",
                ", ".join(number(rate) for rate in rates),
                ", ".join(f"{point['leaves']:,}" for point in points),
            ]
        )
    sizes = ["", "sizes", "CPU seconds, whole unpruned tree", "exponent"]
    sizes += ["hyperplanes per CPU s", "leaves"]
    facts = result["machine"]
    return "\n\n".join(
        [
            table(head, rows),
            table(sizes, growth),
            f"Measured on {facts['date']}: {facts['cpu']}, one thread.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.oc1", description=__doc__)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--quick", action="store_true", help="few and small data, print only")
    options = words.parse_args(arguments)
    if options.quick:
        print(text(measure(True, 1)))
        return 0
    result = measure(False, options.rounds)
    keep(result, RESULT, text(result), "oc1")
    print(text(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
