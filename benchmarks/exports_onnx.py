"""ONNX beside `predict`: leaves that differ, and rows in a second.

``python -m benchmarks.exports_onnx`` runs random rows and rows that were made to lie on thresholds
through onnxruntime, for models of every kind. Outside the certificate's bound no leaf may differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.exported_rows import near_rows, random_rows
from obliqua import export_onnx
from obliqua.export.certificate import bound_of, certified
from obliqua.export.computation import Computation
from obliqua.export.onnx import missing_mark

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
CHUNK = 50_000  # rows that go through at once


def onnx_rows(session: Any, computation: Computation, rows: Any) -> dict[str, Any]:
    """Return encoded rows as a session takes them, quickly."""
    inputs = session.get_inputs()
    if inputs[0].name == "X":
        kind = np.float64 if "double" in inputs[0].type else np.float32
        return {"X": rows.astype(kind)}
    given = {}
    for one, column, values in zip(inputs, computation.columns, rows.T, strict=True):
        if one.type == "tensor(string)":
            texts = np.array(
                [*map(str, column.levels), "?? unknown", missing_mark(column)], object
            )
            n = len(column.levels)
            code = np.where(np.isnan(values), n + 1, np.where(values < 0, n, values)).astype(int)
            given[one.name] = texts[code][:, None]
        else:
            given[one.name] = values.astype(np.float64 if "double" in one.type else np.float32)[
                :, None
            ]
    return given


def differing(model: Any, rows: Any, numbers: str) -> tuple[int, int, int]:
    """Return how many rows differ, how many are within the bound, and how many differ outside."""
    import onnxruntime

    computation = Computation.of(model)
    proto = export_onnx(model, leaves=True, numbers=numbers, n_tests=0)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    bounds = bound_of("onnx", numbers, computation)
    differ = close = outside = 0
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        (leaves,) = session.run(["leaves"], onnx_rows(session, computation, part))
        other = (leaves != computation.model.apply(part).reshape(len(part), -1)).any(axis=1)
        near = np.zeros(len(part), dtype=bool)
        near[certified(computation, part, "onnx", numbers, bounds).near] = True
        differ, close = differ + int(other.sum()), close + int(near.sum())
        outside += int((other & ~near).sum())
    return differ, close, outside


def speed(model: Any, rows: Any, repeats: int) -> tuple[float, float]:
    """Return rows in a second: of `predict_proba`, and of onnxruntime on one thread."""
    import onnxruntime

    computation = Computation.of(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    proto = export_onnx(model, n_tests=0)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    # The values of all splits are there at once: 8 bytes for each row and split.
    parts = [onnx_rows(session, computation, rows[k : k + 500]) for k in range(0, len(rows), 500)]
    least = [np.inf, np.inf]
    for _ in range(repeats):
        for at, run in enumerate(
            (
                lambda: computation.model.predict_proba(rows),
                lambda: [session.run(None, part) for part in parts],
            )
        ):
            began = time.process_time()
            run()
            least[at] = min(least[at], time.process_time() - began)
    return len(rows) / least[0], len(rows) / least[1]


def main() -> None:
    """Print both tables."""
    from sklearn.datasets import make_classification

    import obliqua
    from export_cases import MAKERS, case

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    quick = parser.parse_args().quick
    n_random, n_near = (2_000, 500) if quick else (1_000_000, 100_000)
    print(f"{'model':22}{'numbers':9}{'rows':>10}{'differ':>8}{'in bound':>10}{'outside':>9}")
    for name in MAKERS:
        if name in ("linear machines", "by hand"):
            continue
        model, _ = case(name)
        computation, rng = Computation.of(model), np.random.default_rng(0)
        n_trees = computation.n_trees
        many = random_rows(computation, max(n_random // n_trees, 1000), rng)
        near = near_rows(computation, n_near // n_trees, rng)
        for numbers in ("double", "float"):
            for kind in (many, near):
                found = differing(model, kind, numbers)
                print(f"{name:22}{numbers:9}{len(kind):10}{found[0]:8}{found[1]:10}{found[2]:9}")
                assert found[2] == 0, "a leaf differs outside the bound"
    X, y = make_classification(
        2_000 if quick else 20_000, 16, n_informative=10, n_classes=8, random_state=0
    )
    for name, estimator in (
        ("one tree", obliqua.HHCartClassifier(random_state=0)),
        ("forest of 50", obliqua.ObliqueForestClassifier(50, random_state=0)),
    ):
        here, there = speed(estimator.fit(X, y), X, 2 if quick else 5)
        print(f"{name}: {here:.3g} rows/s with predict_proba, {there:.3g} with onnxruntime")


if __name__ == "__main__":
    main()
