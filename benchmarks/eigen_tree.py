"""How the time of a fit of 2C-ETCT grows with rows and features.

``python -m benchmarks.eigen_tree`` fits `EigenTreeClassifier` with its defaults to artificial data
and writes `benchmarks/results/growth/etct.json` and the table `docs/results/etct/growth.md`. Two
kinds of data: two normal classes that overlap, and labels without any relation to the rows, which
is the worst case, because no node is pure before it has few rows. n log n would mean an exponent
of about 1.1 between 1,000 and 100,000 rows. Features cost twice: a direction has more
coefficients, and there are more directions.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.measure import limit_threads
from benchmarks.report import ROOT, number, table
from obliqua import EigenTreeClassifier

RESULT = ROOT / "benchmarks" / "results" / "growth" / "etct.json"
TABLE = ROOT / "docs" / "results" / "etct" / "growth.md"

KINDS = {"normal": "two normal classes", "noise": "labels at random"}
ROWS = (1_000, 10_000, 100_000)
FEATURES = (5, 20, 50)
SMALL = (500, 8)


def data(kind: str, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of two classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    if kind == "normal":
        X += 1.35 * y[:, None] / math.sqrt(p)
    return X, y


def seconds(kind: str, n: int, p: int, rounds: int) -> dict[str, Any]:
    """CPU seconds of the fastest of some fits, and what was grown."""
    X, y = data(kind, n, p)
    times = []
    for _ in range(rounds):
        started = time.process_time()
        model = EigenTreeClassifier(random_state=0).fit(X, y)
        times.append(time.process_time() - started)
    found = {"kind": kind, "n": n, "p": p, "cpu": min(times)}
    return found | {"leaves": model.get_n_leaves(), "depth": model.get_depth()}


def measure(rounds: int, part: int) -> dict[str, Any]:
    """All sizes; `part` divides the numbers of rows, for a quick look."""
    points = []
    for kind in KINDS:
        for p in FEATURES:
            for n in ROWS:
                point = seconds(kind, n // part, p, rounds if n < ROWS[-1] else 1)
                print(point, file=sys.stderr, flush=True)
                points.append(point)
    small = seconds("normal", *SMALL, rounds=max(rounds, 20))
    return {"machine": machine.facts(), "points": points, "small": small}


def exponent(points: list[dict[str, Any]]) -> float:
    """Slope between the first and the last number of rows, both axes logarithmic."""
    first, last = points[0], points[-1]
    return math.log(last["cpu"] / first["cpu"]) / math.log(last["n"] / first["n"])


def text(result: dict[str, Any]) -> str:
    """The table as the documentation shows it."""
    rows, points = [], result["points"]
    for kind, title in KINDS.items():
        for p in FEATURES:
            line = [point for point in points if (point["kind"], point["p"]) == (kind, p)]
            rows.append(
                [title, str(p), *(number(point["cpu"]) for point in line), f"{exponent(line):.2f}"]
            )
    sizes = [f"{point['n']:,} rows" for point in points[: len(ROWS)]]
    small, facts = result["small"], result["machine"]
    return "\n\n".join(
        [
            table(["data", "features", *sizes, "exponent"], rows),
            f"{small['n']} × {small['p']}: {number(1000 * small['cpu'])} ms.",
            f"CPU seconds of a whole fit, {facts['date']}: {facts['cpu']}, one thread.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.eigen_tree", description=__doc__)
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--quick", action="store_true", help="small data, print only")
    options = words.parse_args(arguments)
    with limit_threads(1):
        result = measure(1, 20) if options.quick else measure(options.rounds, 1)
    if options.quick:
        print(text(result))
        return 0
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(text(result) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
