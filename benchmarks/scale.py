"""Trees from tables that do not fit in memory: in memory, from files, from Dask.

``python -m benchmarks.scale --rows 1e7 --columns 20`` writes Parquet files with two classes to a
temporary folder, and fits the same tree in a process of its own for each way. Shown are seconds of
the processor, seconds, peak memory above what imports take, passes over the rows, and the first
digits of a hash of the tree, which must be the same for all ways.

With ``--quick`` a table of 400 MB is fitted within 100 MB above imports, with few splits; the
command fails if the limit is not kept, or if trees differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

WAYS = ("memory", "files", "dask")
ROWS_OF_GROUP = 250_000
ROWS_AT_ONCE = 500_000


def make(folder: Path, n_rows: int, n_columns: int, n_files: int, single: bool) -> int:
    """Write a table to files; returns their size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(7)
    first, second = rng.normal(size=(2, n_columns))
    names = [f"x{j}" for j in range(n_columns)]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n_files):
        writer = None
        left = n_rows // n_files
        while left > 0:
            n = min(left, ROWS_AT_ONCE)
            left -= n
            X = rng.normal(size=(n, n_columns)).astype(np.float32 if single else np.float64)
            value = X @ first + 0.5 * np.abs(X @ second) + 2.0 * rng.normal(size=n)
            table = pa.table(
                dict(zip(names, X.T, strict=True)) | {"y": (value > 0.8).astype("i1")}
            )
            if writer is None:
                path = folder / f"{number:03d}.parquet"
                writer = pq.ParquetWriter(path, table.schema, use_dictionary=False)
            writer.write_table(table, row_group_size=ROWS_OF_GROUP)
        if writer is not None:
            writer.close()
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))


class Passes(logging.Handler):
    """Counts the passes that are told of."""

    n = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.n += 1


def high_water() -> int:
    """The largest memory of this process so far, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def fitted(
    way: str, folder: str, method: str, depth: int, jobs: int, limit: str, samples: int
) -> dict[str, Any]:
    """Fit in one way; this process does nothing else."""
    import pyarrow.parquet as pq

    from obliqua import CartClassifier, HHCartClassifier, ObliqueForestClassifier

    for module in ("engine.grow", "methods.hhcart", "refine", "sources.growing", "forest"):
        import_module(f"obliqua.{module}")  # what imports take is no part of a fit

    if way == "dask":
        import dask
        import dask.dataframe as dd

        dask.config.set(scheduler="threads", num_workers=jobs)
    shared: dict[str, Any] = {"n_jobs": jobs, "memory_limit": limit}
    estimator: Any
    if method == "forest":
        estimator = ObliqueForestClassifier(
            max_samples=samples, oob_score=True, random_state=0, **shared
        )
    elif method == "cart":
        estimator = CartClassifier(max_depth=depth, pruning=None, **shared)
    else:
        estimator = HHCartClassifier(variant="dominant", max_depth=depth, pruning=None, **shared)
    passes = Passes()
    logger = logging.getLogger("obliqua.passes")
    logger.setLevel(logging.INFO)
    logger.addHandler(passes)
    before = high_water()
    if way == "memory":
        table = pq.read_table(folder)
        y = table["y"].to_numpy()
        X = np.column_stack([table[c].to_numpy() for c in table.column_names if c != "y"])
        del table
        given: tuple[Any, Any] = X, y
    elif way == "files":
        given = f"{folder}/*.parquet", "y"
    else:
        given = dd.read_parquet(f"{folder}/*.parquet"), "y"
    wall, cpu = time.perf_counter(), time.process_time()
    estimator.fit(*given)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    tree: Any = estimator.model_.trees if method == "forest" else estimator.tree_
    names = ("coef", "threshold", "entry_weight" if method == "forest" else "stats", "spread")
    arrays = b"".join(getattr(tree, name).tobytes() for name in names)
    arrays += repr(getattr(estimator, "oob_score_", "")).encode()
    return {
        "way": way,
        "cpu": cpu,
        "wall": wall,
        "peak": high_water() - before,
        "passes": passes.n,
        "leaves": len(tree.leaf_rows) if method == "forest" else tree.n_leaves,
        "tree": hashlib.sha1(arrays).hexdigest()[:8],
    }


def in_a_process(way: str, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Fit in one way, in a process of its own."""
    words = [way, str(folder), given.method, str(given.depth), str(given.jobs), given.limit]
    words.append(str(given.samples))
    command = [sys.executable, "-m", "benchmarks.scale", "--one", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{way} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(words: list[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--double", action="store_true", help="float64 instead of float32")
    parser.add_argument("--method", choices=("cart", "hhcart", "forest"), default="hhcart")
    parser.add_argument("--samples", type=int, default=10_000, help="max_samples of a forest")
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", default="512MB")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--folder", type=Path, help="where the files are, or are to be kept")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=7, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.one:
        way, folder, method, depth, jobs, limit, samples = given.one
        found = fitted(way, folder, method, int(depth), int(jobs), limit, int(samples))
        print(json.dumps(found))
        return 0
    if given.quick:
        given.rows, given.columns, given.double, given.limit = 2e6, 25, True, "100MB"
        given.method, given.depth, given.jobs, given.ways = "cart", 2, 1, ["memory", "files"]
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        sizes = [path.stat().st_size for path in folder.glob("*.parquet")]
        size = sum(sizes) or make(
            folder, int(given.rows), given.columns, given.files, not given.double
        )
        print(f"{given.rows:.0e} rows, {given.columns} columns, {size / 1e6:,.0f} MB of Parquet")
        print(f"{given.method}, depth {given.depth}, {given.jobs} threads, limit {given.limit}")
        print("way      CPU s   wall s  peak MB  passes  leaves  tree", flush=True)
        trees = set()
        for way in given.ways:
            found = in_a_process(way, folder, given)
            trees.add(found["tree"])
            print(
                f"{way:6} {found['cpu']:7.1f}  {found['wall']:7.1f}  {found['peak'] / 1e6:7.0f}  "
                f"{found['passes']:6}  {found['leaves']:6}  {found['tree']}",
                flush=True,
            )
            if given.quick and way == "files" and found["peak"] > 100e6:
                raise SystemExit(f"the limit of 100 MB was not kept: {found['peak'] / 1e6:.0f} MB")
    if len(trees) > 1:
        raise SystemExit("the trees differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
