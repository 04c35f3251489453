"""How HHCART's time grows with rows, features and classes.

``python -m benchmarks.growth`` grows unpruned trees on synthetic data, one size after the other,
writes `benchmarks/results/growth/hhcart.json` and the table in docs/benchmarks.md. An exponent of
1 means: twice as many, twice the time. The appendix of the paper says, for one node:
C p^2 (p + n log n) for HHCART(A) and C n p (p + log n) for HHCART(D). The last line is one tree of
10,000 rows and 67 features with at most 3 features in a split.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any

from sklearn.datasets import make_classification

from benchmarks import machine
from benchmarks.report import ROOT, keep, number, table
from obliqua import HHCartClassifier

RESULT = ROOT / "benchmarks" / "results" / "growth" / "hhcart.json"

# what grows, its sizes, and what stays as it is
SERIES: dict[str, tuple[str, list[int], dict[str, int]]] = {
    "D, rows": ("n", [6_000, 12_000, 24_000, 48_000, 96_000], {"p": 20, "C": 2}),
    "D, features": ("p", [10, 20, 40, 80], {"n": 12_000, "C": 2}),
    "D, classes": ("C", [2, 4, 8, 16], {"n": 12_000, "p": 20}),
    "A, rows": ("n", [6_000, 12_000, 24_000], {"p": 10, "C": 2}),
    "A, features": ("p", [5, 10, 20, 40], {"n": 6_000, "C": 2}),
    "A, classes": ("C", [2, 4, 8], {"n": 6_000, "p": 10}),
}


def seconds(n: int, p: int, C: int, rounds: int, **parameters: Any) -> tuple[float, int]:
    """CPU seconds of the fastest of some fits, and the leaves of the tree."""
    informative = max(p // 2, 5)
    X, y = make_classification(
        n, p, n_informative=informative, n_redundant=0, n_classes=C, random_state=0
    )
    times = []
    for _ in range(rounds):
        started = time.process_time()
        model = HHCartClassifier(pruning=None, **parameters).fit(X, y)
        times.append(time.process_time() - started)
    return min(times), model.get_n_leaves()


def measure(rounds: int, part: int) -> dict[str, Any]:
    """All series; `part` divides the numbers of rows, for a quick look."""
    series = {}
    for title, (grows, sizes, rest) in SERIES.items():
        points = []
        for size in sizes:
            at = {**rest, grows: size}
            at["n"] //= part
            variant = "dominant" if title.startswith("D") else "all"
            cpu, leaves = seconds(**at, rounds=rounds, variant=variant)
            print(f"{title}: {at} {cpu:.3f} s, {leaves} leaves", file=sys.stderr, flush=True)
            points.append({**at, "cpu": cpu, "leaves": leaves})
        series[title] = {"grows": grows, "points": points}
    cpu, leaves = seconds(
        10_000 // part, 67, 2, rounds, variant="dominant", max_features_per_split=3
    )
    sparse = {"n": 10_000 // part, "p": 67, "cpu": cpu, "leaves": leaves}
    return {"machine": machine.facts(), "series": series, "sparse": sparse}


def exponent(points: list[dict[str, Any]], grows: str) -> float:
    """Slope between the first and the last size, both axes logarithmic."""
    first, last = points[0], points[-1]
    return math.log(last["cpu"] / first["cpu"]) / math.log(last[grows] / first[grows])


def text(result: dict[str, Any]) -> str:
    """The table as the documentation shows it."""
    rows = []
    for title, series in result["series"].items():
        points, grows = series["points"], series["grows"]
        fixed = ", ".join(f"{k} = {points[0][k]:,}" for k in ("n", "p", "C") if k != grows)
        rows.append(
            [
                f"HHCART({title[0]}), {fixed}",
                f"{grows} = " + ", ".join(f"{point[grows]:,}" for point in points),
                ", ".join(number(point["cpu"]) for point in points),
                f"{exponent(points, grows):.2f}",
            ]
        )
    sparse = result["sparse"]
    facts = result["machine"]
    return "\n\n".join(
        [
            table(["", "sizes", "CPU seconds, whole unpruned tree", "exponent"], rows),
            (
                f"{sparse['n']:,} × {sparse['p']} with at most 3 features per split, HHCART(D): "
                f"{number(sparse['cpu'])} s, {sparse['leaves']:,} leaves."
            ),
            f"Measured on {facts['date']}: {facts['cpu']}, one thread.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--quick", action="store_true", help="small data, print only")
    options = words.parse_args(arguments)
    if options.quick:
        print(text(measure(1, 20)))
        return 0
    result = measure(options.rounds, 1)
    keep(result, RESULT, text(result), "growth")
    return 0


if __name__ == "__main__":
    sys.exit(main())
