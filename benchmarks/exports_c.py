"""What `export_c` is worth: leaves that differ, what whole numbers change, bytes and speed.

``python -m benchmarks.exports_c`` needs gcc and ``OBLIQUA_DATA``. Rows near thresholds are made
within 1e-12 of one that they meet. A leaf may differ where numbers are rounded, but then `certify`
must have named the row: "unproven" counts those that it did not.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

import obliqua
from benchmarks.exported_rows import near_rows, random_rows
from benchmarks.problems import load
from obliqua.export.certificate import bound_of, certified
from obliqua.export.computation import Computation

NUMBERS = ("double", "float", "int16")
CHUNK = 50_000
ROUNDS = 7
MANY = """
void tree_apply_all(const double *x, size_t n, int32_t *leaves)
{
    for (size_t k = 0; k < n; ++k)
        tree_apply(x + k * TREE_N_FEATURES, leaves + k * TREE_N_TREES);
}
"""
CLASSES = """
void tree_predict_all(const double *x, size_t n, int32_t *labels)
{
    for (size_t k = 0; k < n; ++k)
        labels[k] = tree_predict(x + k * TREE_N_FEATURES);
}
"""
OPTIONS = ["-O2", "-march=native", "-ffp-contract=fast"]


class Program:
    """A model compiled by gcc."""

    def __init__(self, model: Any, numbers: str, rows: Any = None) -> None:
        self.computation = Computation.of(model)
        text = obliqua.export_c(model, numbers=numbers, rows=rows, n_tests=0) + MANY
        if not self.computation.says_numbers:
            text += CLASSES
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder, "model.c"), Path(folder, "model.so")
            source.write_text(text, "ascii")
            command = ["gcc", "-shared", "-fPIC", *OPTIONS, str(source), "-o", str(made)]
            subprocess.run(command, check=True)
            self.library = ctypes.CDLL(str(made))

    def run(self, function: str, rows: np.ndarray, per_row: int) -> np.ndarray:
        out = np.empty((len(rows), per_row), dtype=np.int32)
        pointer = ctypes.c_void_p
        getattr(self.library, f"tree_{function}_all")(
            rows.ctypes.data_as(pointer),
            ctypes.c_size_t(len(rows)),
            out.ctypes.data_as(pointer),
        )
        return out

    def apply(self, rows: np.ndarray) -> np.ndarray:
        return self.run("apply", rows, self.computation.n_trees)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return self.run("predict", rows, 1)[:, 0]


# --- leaves that differ ------------------------------------------------------------------------


def chunks(
    computation: Computation, n_random: int, n_near: int
) -> Iterator[tuple[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    for _ in range(0, n_random, CHUNK):
        yield "random", random_rows(computation, min(CHUNK, n_random), rng)
    for _ in range(0, n_near, 10_000):
        yield "near", near_rows(computation, min(10_000, n_near), rng)


def differences(makers: dict[str, Callable[[], Any]], n_random: int, n_near: int) -> None:
    print(f"leaves that differ, of {n_random:,} random rows and {n_near:,} near thresholds")
    print("| model | numbers | random | near | unproven |")
    print("|--|--|--:|--:|--:|")
    for name, maker in makers.items():
        model = maker()
        computation = Computation.of(model)
        programs = {}
        for numbers in NUMBERS:
            try:
                programs[numbers] = Program(model, numbers)
            except ValueError as error:
                print(f"{name}, {numbers}: {error}", file=sys.stderr)
        found = {numbers: {"random": 0, "near": 0, "unproven": 0} for numbers in programs}
        for kind, rows in chunks(computation, n_random, n_near):
            leaves = computation.model.apply(rows).reshape(len(rows), -1)
            for numbers, program in programs.items():
                other = (program.apply(rows) != leaves).any(axis=1)
                found[numbers][kind] += int(other.sum())
                if other.any():
                    bounds = bound_of("c", numbers, computation)
                    sure = certified(computation, rows[other], "c", numbers, bounds)
                    found[numbers]["unproven"] += int(other.sum()) - len(sure.near)
        for numbers, counts in found.items():
            print(f"| {name} | {numbers} | {' | '.join(map(str, counts.values()))} |", flush=True)


# --- whole numbers on real data ----------------------------------------------------------------


def income() -> tuple[Any, Any]:
    from obliqua.datasets import load_adult

    return load_adult(return_X_y=True, as_frame=True)


def many_classes() -> tuple[Any, Any]:
    return make_classification(
        40_000, 20, n_informative=15, n_redundant=2, n_classes=50, n_clusters_per_class=1,
        random_state=0,
    )  # fmt: skip


def letter() -> tuple[Any, Any]:
    problem = load("letter")
    return problem.X, problem.y


def whole_numbers() -> None:
    print(
        "int16 and float: rows that change leaf or class, rows that certify names, largest bound"
    )
    print(
        "| data | leaves | numbers | other leaf | other class | named | median bound | largest |"
    )
    print("|--|--:|--|--:|--:|--:|--:|--:|")
    for name, source in (("letter", letter), ("50 classes", many_classes), ("Income", income)):
        X, y = source()
        model = obliqua.HHCartClassifier(random_state=0).fit(X, y)
        computation = Computation.of(model)
        rows = np.asarray(computation.rows(X), dtype=np.float64)
        leaves, labels = computation.model.apply(rows), computation.model.predict_index(rows)
        for numbers in ("float", "int16"):
            program = Program(model, numbers, X)
            other = np.mean(program.apply(rows)[:, 0] != leaves)
            wrong = np.mean(program.predict(rows) != labels)
            sure = obliqua.certify(model, X, "c", numbers, rows=X)
            middle = np.median(list(sure.bound.values()))
            print(
                f"| {name} | {computation.model._n_leaves} | {numbers} | {other:.2e} "
                f"| {wrong:.2e} | {len(sure.near) / len(rows):.2e} | {middle:.1e} "
                f"| {sure.largest_bound:.1e} |",
                flush=True,
            )


# --- bytes and speed ---------------------------------------------------------------------------


def object_bytes(text: str) -> tuple[int, int]:
    """Bytes of an object file, and of that code alone, for size."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.c").write_text(text, "ascii")
        command = ["gcc", "-std=c99", "-Os", "-c", "-ffunction-sections", "-fdata-sections"]
        subprocess.run([*command, "model.c"], cwd=folder, check=True)
        listed = subprocess.run(
            ["size", "-A", "model.o"], cwd=folder, check=True, capture_output=True, text=True
        )
    parts = [line.split() for line in listed.stdout.splitlines() if line.startswith(".")]
    code = sum(int(size) for name, size, _ in parts if name.startswith(".text"))
    data = sum(int(size) for name, size, _ in parts if name.startswith((".rodata", ".data")))
    return code + data, code


def fastest(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    return best


def sizes_and_speed() -> None:
    X, y = letter()
    print(
        "bytes: text, text without self-test, object (gcc -Os), code; millions of rows per second"
    )
    print("| letter | numbers | text | without tests | object | code | C | predict |")
    print("|--|--|--:|--:|--:|--:|--:|--:|")
    models: dict[str, Any] = {
        f"{n} leaves": obliqua.HHCartClassifier(random_state=0, pruning=None, max_leaf_nodes=n)
        for n in (8, 64, 512)
    }
    models["forest of 20"] = obliqua.ObliqueForestClassifier(20, random_state=0)
    for name, model in models.items():
        model.fit(X, y)
        inner = Computation.of(model).model
        programs = {numbers: Program(model, numbers, X) for numbers in NUMBERS}
        runs: dict[str, Callable[[], Any]] = {
            numbers: lambda program=program: program.predict(X)
            for numbers, program in programs.items()
        }
        runs["predict"] = lambda inner=inner: inner.predict_index(X)
        best = fastest(runs)
        for numbers in NUMBERS:
            text = obliqua.export_c(model, numbers=numbers, rows=X)
            short = obliqua.export_c(model, numbers=numbers, rows=X, n_tests=0)
            whole, code = object_bytes(short)
            speed = [len(X) / best[one] / 1e6 for one in (numbers, "predict")]
            print(
                f"| {name} | {numbers} | {len(text):,} | {len(short):,} | {whole:,} | {code:,} "
                f"| {speed[0]:.2f} | {speed[1]:.2f} |",
                flush=True,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=1_000_000)
    parser.add_argument("--near", type=int, default=100_000)
    parser.add_argument("--only", choices=["differences", "whole", "speed"])
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from export_cases import MAKERS

    if options.only in (None, "speed"):
        sizes_and_speed()
    if options.only in (None, "whole"):
        whole_numbers()
    if options.only in (None, "differences"):
        differences(MAKERS, options.random, options.near)
    return 0


if __name__ == "__main__":
    sys.exit(main())
