"""Size and time of saving and loading a tree, beside pickle, joblib and, if installed, skops.

``python -m benchmarks.files`` grows an oblique tree of about 10,000 nodes over 20 features and
prints, for each way to keep it, the size of the file and the fastest of several rounds.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.datasets import make_classification

import obliqua
from obliqua import HHCartClassifier

Writer = Callable[[Any, Path], None]
Reader = Callable[[Path], Any]


def fitted(n_nodes: int) -> Any:
    """A tree of exactly as many nodes, grown from labels that are mostly noise."""
    X, y = make_classification(
        3 * n_nodes, 20, n_informative=10, n_classes=3, flip_y=0.6, random_state=0
    )
    leaves = (n_nodes + 1) // 2
    model = HHCartClassifier(variant="dominant", pruning=None, max_leaf_nodes=leaves)
    return model.fit(X, y)


def _pickle(model: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(model, protocol=5))


def _unpickle(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def ways() -> dict[str, tuple[Writer, Reader]]:
    """Name, writer and reader of each way to keep a model."""
    found: dict[str, tuple[Writer, Reader]] = {
        "obliqua.save": (obliqua.save, obliqua.load),
        "pickle": (_pickle, _unpickle),
        "joblib.dump": (joblib.dump, joblib.load),
        "joblib.dump, compress=3": (lambda m, p: joblib.dump(m, p, compress=3), joblib.load),
    }
    try:
        from skops import io as skops
    except ImportError:
        print("skops is not installed and left out", file=sys.stderr)
    else:

        def load(path: Path) -> Any:
            return skops.load(path, trusted=skops.get_untrusted_types(file=path))

        found["skops"] = (skops.dump, load)
    return found


def fastest(task: Callable[[], Any], rounds: int) -> float:
    """Seconds of the fastest of some rounds."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        task()
        times.append(time.perf_counter() - started)
    return min(times)


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks.files", description=__doc__)
    words.add_argument("--nodes", type=int, default=10_001)
    words.add_argument("--rounds", type=int, default=10)
    options = words.parse_args(arguments)
    model = fitted(options.nodes)
    tree = model.tree_
    print(f"{tree.n_nodes:,} nodes, {len(tree.coef):,} coefficients, {tree.n_features} features")
    print(f"{'':26s}{'kB':>8s}{'save, ms':>10s}{'load, ms':>10s}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (write, read) in ways().items():
            path = Path(folder) / "model"
            try:
                saving = fastest(lambda w=write, p=path: w(model, p), options.rounds)
                loading = fastest(lambda r=read, p=path: r(p), options.rounds)
                same = np.array_equal(read(path).tree_.coef, tree.coef)
            except Exception as error:  # another library's trouble with our model
                print(f"{name:26s} failed: {type(error).__name__}: {error}")
                continue
            size = path.stat().st_size / 1000
            print(f"{name:26s}{size:8.0f}{1000 * saving:10.1f}{1000 * loading:10.1f}", end="")
            print("" if same else "   ANOTHER MODEL")
    return 0


if __name__ == "__main__":
    sys.exit(main())
