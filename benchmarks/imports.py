"""How long small calls take, most of it imports, beside importing scikit-learn's trees.

``python -m benchmarks.imports`` starts fresh interpreters, one program after another and round
after round, and prints the shortest processor time of each: imports, and commands on a table of
344 rows with words and gaps. Last comes the prediction of one row of a pandas frame.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np

PROGRAMS = {
    "nothing": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import obliqua": ["-c", "import obliqua"],
    "from obliqua import Tree": ["-c", "from obliqua import Tree"],
    "import sklearn.tree": ["-c", "import sklearn.tree"],
    "from obliqua import CartClassifier": ["-c", "from obliqua import CartClassifier"],
    "from obliqua import HHCartClassifier": ["-c", "from obliqua import HHCartClassifier"],
    "obliqua --help": ["-m", "obliqua", "--help"],
    "obliqua fit --help": ["-m", "obliqua", "fit", "--help"],
    "obliqua fit": ["-m", "obliqua", "fit", "table.csv", "-t", "kind", "-o", "model.obliqua"],
    "obliqua predict": ["-m", "obliqua", "predict", "model.obliqua", "table.csv"],
    "obliqua show": ["-m", "obliqua", "show", "model.obliqua"],
}
YARDSTICK = "import sklearn.tree"


def table(n_rows: int = 344) -> str:
    """CSV with four columns of numbers, two of words and three kinds, some cells empty."""
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=n_rows)
    X = (rng.normal(size=(n_rows, 4)) + kind[:, None]).round(2).astype(str)
    X[rng.random(X.shape) < 0.01] = ""
    words = np.array(["a", "b", "c"])[rng.integers(3, size=n_rows)], np.where(kind, "m", "f")
    columns = [*X.T, *words, np.array(["one", "two", "three"])[kind]]
    rows = zip(*columns, strict=True)
    return "\n".join(["n1,n2,n3,n4,w1,w2,kind", *map(",".join, rows)]) + "\n"


def measure(words: list[str], folder: Path) -> float:
    """Return the processor time of an interpreter of its own, start-up included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, capture_output=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def predict_one_row(file: Path, rounds: int) -> float:
    """Return the time of a prediction of one row of a pandas frame with words."""
    import pandas as pd

    from obliqua import HHCartClassifier

    frame = pd.read_csv(file)
    rows = frame.drop(columns="kind")
    model = HHCartClassifier(random_state=0).fit(rows, frame["kind"])
    row = rows.iloc[:1]
    clock = time.process_time
    return (
        min(timeit.repeat(lambda: model.predict(row), timer=clock, number=20, repeat=rounds)) / 20
    )


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="how often each is started (15)")
    rounds = parser.parse_args(words).rounds
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "table.csv").write_text(table(), "utf-8")
        for _ in range(rounds):
            for name, program in PROGRAMS.items():
                times[name].append(measure(program, folder))
        times["predict, one row of a pandas frame"] = [
            predict_one_row(folder / "table.csv", rounds)
        ]
    yardstick = min(times[YARDSTICK])
    print(f"the shortest processor time of {rounds} runs in fresh interpreters")
    for name, taken in times.items():
        print(
            f"{name:38} {1000 * min(taken):8.2f} ms   {min(taken) / yardstick:6.4f} of {YARDSTICK}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
