"""How long it takes to import obliqua, beside scikit-learn's trees.

``python -m benchmarks.imports`` starts fresh interpreters, one program after another and round
after round, and prints the shortest time of each.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

PROGRAMS = {
    "nothing": "pass",
    "import numpy": "import numpy",
    "import obliqua": "import obliqua",
    "from obliqua import Tree": "from obliqua import Tree",
    "import sklearn.tree": "import sklearn.tree",
    "from obliqua import CartClassifier": "from obliqua import CartClassifier",
    "from obliqua import HHCartClassifier": "from obliqua import HHCartClassifier",
}
TIMED = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def measure(program: str) -> float:
    """Seconds that the program takes in an interpreter of its own, start-up not counted."""
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(program)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="how often each is started (15)")
    rounds = parser.parse_args(words).rounds
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(rounds):
        for name, program in PROGRAMS.items():
            times[name].append(measure(program))
    yardstick = min(times["import sklearn.tree"])
    print(f"the shortest of {rounds} imports in fresh interpreters")
    for name, taken in times.items():
        print(
            f"{name:38} {1000 * min(taken):7.1f} ms"
            f"   {min(taken) / yardstick:5.2f} of sklearn.tree"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
