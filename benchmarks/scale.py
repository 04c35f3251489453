"""Trees from tables that do not fit in memory: in memory, from files, from Dask.

``python -m benchmarks.scale 1e6 limits`` measures some of the tables of `CASES` (all of them
but the two largest if none is named), and writes what it finds to benchmarks/results/scale and
into the tables of docs/guides/large_data.md. Parquet files with two classes are written to a
temporary folder, or to ``--folder``, which keeps them. Each way is fitted in a process of its
own, and all trees must be the same. Shown are

- seconds of the processor, of all processes, and seconds;
- peak memory above what imports take, of a cluster that of its largest worker;
- megabytes that workers sent, to others and to the client;
- passes over the rows, and what it takes to do nothing but read all rows so many times;
- leaves, and the first digits of a hash of the tree.

``--rows``, ``--limit`` and others change a case, and then nothing is written. With ``--quick``
a table of 400 MB is fitted within 100 MB above imports, with few splits; the command fails if
the limit is not kept, or if trees differ.

Rows are drawn by SFC64 as normal float32, whatever they are written as, a file by each
process, with a seed of its own; a process holds one group of rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import facts, versions
from benchmarks.report import NO_VALUE, RESULTS, ROOT, placed, table

PAGE = "docs/guides/large_data.md"
KEPT = RESULTS / "scale"
ROWS_OF_GROUP = 250_000
#: Of Dask frames, at most: files are larger, and to load one takes three times what its rows take.
BYTES_OF_PARTITION = "64MB"
WAYS = {
    "memory": "memory",
    "files": "files",
    "pandas": "files that pandas wrote",
    "dataset": "`Dataset` of pyarrow",
    "lazyframe": "`LazyFrame` of polars",
    "dask": "Dask frame, threads",
    "workers": "Dask frame, workers of 1 GB",
}


class Method(NamedTuple):
    """What is fitted."""

    title: str
    estimator: str
    settings: dict[str, Any]


UNPRUNED = {"pruning": None}
METHODS = {
    "cart": Method("CART", "CartClassifier", UNPRUNED),
    "hhcart": Method("HHCART(D)", "HHCartClassifier", {"variant": "dominant", **UNPRUNED}),
    # The label as a number.
    "slopes": Method("`ObliqueTreeRegressor`", "ObliqueTreeRegressor", UNPRUNED),
    "oc1": Method(
        "OC1 with five starts and `sample_rows=20000`",
        "OC1Classifier",
        {"n_restarts": 5, "sample_rows": 20_000, **UNPRUNED},
    ),
    "forest": Method(
        "forest of 100 trees, 10,000 rows each, scores out of bag",
        "ObliqueForestClassifier",
        {"max_samples": 10_000, "oob_score": True, "random_state": 0},
    ),
}


@dataclass(frozen=True)
class Case:
    """A table, and what is fitted to it."""

    rows: float = 1e6
    columns: int = 20
    files: int = 4
    double: bool = False
    method: str = "hhcart"
    depth: int = 8
    jobs: int = 2
    limit: str = "512MB"
    ways: tuple[str, ...] = ("memory", "files", "dask", "workers")

    @property
    def title(self) -> str:
        """What the guide calls it."""
        size = self.rows * self.columns * (8 if self.double else 4)
        exponent = int(np.floor(np.log10(self.rows)))
        kind = "float64" if self.double else "float32"
        return (
            f"{self.rows / 10**exponent:g}e{exponent} rows, {self.columns} columns of {kind} "
            f"({size / 1e9:.2g} GB), {METHODS[self.method].title}, depth {self.depth}, "
            f"limit {self.limit}"
        )


LIMITED = Case(2e6, 25, 4, True, "cart", 2, 1, "100MB", ("memory", "files"))
CASES = {
    "1e6": Case(),
    "1e7": Case(rows=1e7, files=8, limit="400MB"),
    "4GB": Case(2e7, 25, 8, True, "cart", limit="400MB", ways=("files", "dask", "workers")),
    "slopes": Case(5e5, method="slopes", depth=6, limit="200MB", ways=("memory", "files")),
    "oc1": Case(5e5, method="oc1", depth=6, limit="200MB", ways=("memory", "files")),
    "forest": Case(method="forest", limit="100MB", ways=("memory", "files", "dask")),
    "limits": replace(LIMITED, ways=tuple(WAYS)),
    "20GB": Case(1e8, 25, 40, True, "cart", limit="2GB", ways=("files",)),
    "40GB": Case(2e8, 25, 80, True, "cart", limit="2GB", ways=("files",)),
}
LARGEST = "20GB", "40GB"  # measured where they are named


# --- the table -----------------------------------------------------------------------------------


def make_file(path: Path, number: int, n_rows: int, n_columns: int, double: bool) -> None:
    """Write one file; no more than a group of its rows is in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first, second = np.random.default_rng(7).normal(size=(2, n_columns)).astype(np.float32)
    rng = np.random.Generator(np.random.SFC64([7, number]))
    kind = np.float64 if double else np.float32
    names = [f"x{j}" for j in range(n_columns)]
    schema = pa.schema([(name, pa.from_numpy_dtype(kind)) for name in names] + [("y", pa.int8())])
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for start in range(0, n_rows, ROWS_OF_GROUP):
            n = min(ROWS_OF_GROUP, n_rows - start)
            X = rng.standard_normal((n_columns, n), dtype=np.float32)
            noise = rng.standard_normal(n, dtype=np.float32)
            value = first @ X + 0.5 * np.abs(second @ X) + 2.0 * noise
            columns = [column.astype(kind) for column in X]
            writer.write_table(pa.table([*columns, (value > 0.8).astype("i1")], schema=schema))


def make(folder: Path, case: Case, jobs: int) -> None:
    """Write a table to files, some at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("*.parquet")):
        return
    n_rows = int(case.rows) // case.files
    paths = [folder / f"{number:03d}.parquet" for number in range(case.files)]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        made = partial(make_file, n_rows=n_rows, n_columns=case.columns, double=case.double)
        list(pool.map(made, paths, range(case.files)))


def written_by_pandas(folder: Path) -> Path:
    """Write the same rows as pandas does by default: with dictionaries, in large groups."""
    import pandas as pd

    found = folder / "pandas"
    if not found.exists():
        found.mkdir()
        for path in sorted(folder.glob("*.parquet")):
            pd.read_parquet(path).to_parquet(found / path.name, index=False)
    return found


# --- one fit -------------------------------------------------------------------------------------


class Passes(logging.Handler):
    """Counts the passes that are told of."""

    n = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.n += 1


class Reading:
    """A pass that does nothing but read."""

    def __init__(self, most_rows: int) -> None:
        self.most_rows = most_rows

    def __call__(self, piece: Any) -> int:
        return sum(batch.n_rows for batch in piece.batches(self.most_rows))

    def joined(self, answers: Any) -> int:
        return sum(answers)


def high_water() -> int:
    """The largest memory of this process so far, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def import_all() -> None:
    """Import what a fit needs, which is no part of a fit."""
    for module in ("engine.grow", "methods.hhcart", "methods.slopes", "methods.oc1", "refine"):
        import_module(f"obliqua.{module}")
    for module in ("engine.grow_from", "forest", "sources.growing", "sources.dask"):
        import_module(f"obliqua.{module}")
    for module in ("pyarrow.parquet", "pyarrow.dataset"):
        import_module(module)


def of_worker(dask_worker: Any) -> tuple[float, int, int]:
    """CPU seconds, largest memory, and bytes that were sent, of a worker so far."""
    import_all()
    return time.process_time(), high_water(), dask_worker.transfer_outgoing_bytes_total


def opened(way: str, folder: str) -> tuple[Any, Any]:
    """Return what a fit is given."""
    if way == "memory":
        import pyarrow.parquet as pq

        rows = pq.read_table([str(path) for path in sorted(Path(folder).glob("*.parquet"))])
        y = rows["y"].to_numpy()
        return np.column_stack([rows[c].to_numpy() for c in rows.column_names if c != "y"]), y
    if way in ("files", "pandas"):
        return f"{folder}/*.parquet", "y"
    if way == "dataset":
        import pyarrow.dataset as ds

        return ds.dataset(sorted(map(str, Path(folder).glob("*.parquet")))), "y"
    if way == "lazyframe":
        import polars as pl

        return pl.scan_parquet(f"{folder}/*.parquet"), "y"
    import dask.dataframe as dd

    lazy = dd.read_parquet(
        f"{folder}/*.parquet", split_row_groups="adaptive", blocksize=BYTES_OF_PARTITION
    )
    return lazy, "y"


def fitted(way: str, folder: str, case: Case) -> dict[str, Any]:
    """Fit in one way; this process does nothing else."""
    import dask
    import dask.dataframe
    import polars  # noqa: F401

    import obliqua

    import_all()
    dask.config.set(num_workers=case.jobs)
    method = METHODS[case.method]
    estimator: Any = getattr(obliqua, method.estimator)(
        max_depth=case.depth, n_jobs=case.jobs, memory_limit=case.limit, **method.settings
    )
    passes = Passes()
    logger = logging.getLogger("obliqua.passes")
    logger.setLevel(logging.INFO)
    logger.addHandler(passes)
    fit = partial(_measured, estimator, way, folder, passes)
    if way != "workers":
        return fit(list)
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="1GB",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        return fit(lambda: client.run(of_worker))


def _measured(
    estimator: Any, way: str, folder: str, passes: Passes, workers: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    before, memory = workers(), high_water()
    given = opened(way, folder)
    wall, cpu = time.perf_counter(), time.process_time()
    estimator.fit(*given)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak, after = high_water() - memory, workers()
    if after:
        if set(before) != set(after):
            raise SystemExit("a worker was lost during the fit, and its figures with it")
        pairs = [(before[name], after[name]) for name in before]
        cpu += sum(b[0] - a[0] for a, b in pairs)
        peak = max(b[1] - a[1] for a, b in pairs)
    several = hasattr(estimator, "oob_score_")
    tree: Any = estimator.model_.trees if several else estimator.tree_
    names = "coef", "threshold", "entry_weight" if several else "stats", "spread"
    arrays = b"".join(getattr(tree, name).tobytes() for name in names)
    arrays += repr(getattr(estimator, "oob_score_", "")).encode()
    return {
        "way": way,
        "cpu": round(cpu, 2),
        "wall": round(wall, 2),
        "peak": peak,
        "moved": sum(b[2] - a[2] for a, b in pairs) if after else None,
        "passes": passes.n or None,
        "reading": round(_seconds_to_read(estimator, given) * passes.n, 2)
        if way in ("files", "pandas", "dataset")
        else None,
        "leaves": len(tree.leaf_rows) if several else int(tree.n_leaves),
        "tree": hashlib.sha1(arrays).hexdigest()[:8],
    }


def _seconds_to_read(estimator: Any, given: tuple[Any, Any]) -> float:
    """Return what it takes to read all rows once, as a pass reads them."""
    from obliqua.sources import open_table
    from obliqua.sources.rows import MemoryPlan, bytes_of
    from obliqua.sources.running import Threads

    rows = open_table(*given)
    plan = MemoryPlan.of(bytes_of(estimator.memory_limit), estimator.n_jobs, rows)
    logging.getLogger("obliqua.passes").setLevel(logging.WARNING)
    begin = time.perf_counter()
    list(Threads(plan.n_threads)(Reading(plan.batch_rows), rows.pieces))
    return time.perf_counter() - begin


class WayFailed(Exception):
    """One way to fit has no figures; those of others count all the same."""


def in_a_process(way: str, folder: Path, case: Case) -> dict[str, Any]:
    """Fit in one way, in a process of its own."""
    words = json.dumps([way, str(folder), asdict(case)])
    command = [sys.executable, "-m", "benchmarks.scale", "--one", words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise WayFailed(f"{way} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- tables --------------------------------------------------------------------------------------

HEAD = ["way", "CPU s", "s", "peak MB", "sent MB", "passes", "reading s", "leaves", "tree"]


def cells(row: dict[str, Any]) -> list[str]:
    """A way in a row of the table."""

    def shown(name: str, digits: int, by: float = 1.0) -> str:
        return NO_VALUE if row[name] is None else f"{row[name] / by:,.{digits}f}"

    return [
        WAYS[row["way"]],
        shown("cpu", 1),
        shown("wall", 1),
        shown("peak", 0, 1e6),
        shown("moved", 1, 1e6),
        shown("passes", 0),
        shown("reading", 1),
        str(row["leaves"]),
        row["tree"],
    ]


def page_text(folder: Path = KEPT) -> str:
    """What the guide shows of all results."""
    found = []
    for name in CASES:
        path = folder / f"{name}.json"
        if not path.is_file():
            continue
        result = json.loads(path.read_text(encoding="utf-8"))
        case = Case(**result["case"])
        threads = "one thread" if case.jobs == 1 else f"{case.jobs} threads"
        about = result["machine"]
        used = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
        found += [
            f"**{case.title}, {threads}**",
            table(HEAD, [cells(row) for row in result["ways"]]),
            *(f"*{WAYS[way]}*: failed." for way in result.get("failed", [])),
            f"Measured on {about['date']}: {about['cpu']}, {about['cores']} cores, {used}.",
        ]
    return "\n\n".join(found)


def write_page() -> None:
    """Write the tables of the guide again."""
    page = ROOT / PAGE
    text = placed(page.read_text(encoding="utf-8"), page_text(), "scale", PAGE)
    page.write_text(text, encoding="utf-8")


def measured(case: Case, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure all ways of a case; trees must be the same. Returns also which ways failed."""
    print(case.title)
    print("  ".join(HEAD), flush=True)
    found: list[dict[str, Any]] = []
    failed = []
    for way in case.ways:
        where = written_by_pandas(folder) if way == "pandas" else folder
        try:
            row = in_a_process(way, where, case)
        except WayFailed as error:
            print(error, flush=True)
            failed.append(way)
            continue
        print("  ".join(cells(row)), flush=True)
        found.append(row)
    if len({row["tree"] for row in found}) > 1:
        raise SystemExit("the trees differ")
    return found, failed


def main(words: list[str] | None = None) -> int:
    """Measure, print tables, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}")
    parser.add_argument("--rows", type=float)
    parser.add_argument("--columns", type=int)
    parser.add_argument("--files", type=int)
    parser.add_argument("--double", action="store_true", default=None, help="not float32")
    parser.add_argument("--method", choices=list(METHODS))
    parser.add_argument("--depth", type=int)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--limit")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS))
    parser.add_argument("--folder", type=Path, help="where the files are, or are to be kept")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--report", action="store_true", help="only write the guide's tables")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.one:
        way, folder, case = json.loads(given.one)
        print(json.dumps(fitted(way, folder, Case(**case))))
        return 0
    if given.report:
        write_page()
        return 0
    unknown = set(given.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {min(unknown)}")
    changed = {
        name: getattr(given, name)
        for name in Case.__dataclass_fields__
        if getattr(given, name) is not None
    }
    names = given.cases or (["1e6"] if changed else [n for n in CASES if n not in LARGEST])
    status = 0
    for name in ["quick"] if given.quick else names:
        case = LIMITED if given.quick else replace(CASES[name], **changed)
        with tempfile.TemporaryDirectory() as made:
            folder = given.folder / name if given.folder else Path(made)
            make(folder, case, 2)
            found, failed = measured(case, folder)
        if given.quick:
            if failed:
                return 1
            peak = found[1]["peak"]
            if peak > 100e6:
                raise SystemExit(f"the limit of 100 MB was not kept: {peak / 1e6:.0f} MB")
        elif not changed:
            KEPT.mkdir(parents=True, exist_ok=True)
            used = versions({"obliqua", "pyarrow", "polars", "dask", "distributed"})
            result = {"case": asdict(case), "machine": facts(), "versions": used, "ways": found}
            result["failed"] = failed
            path = KEPT / f"{name}.json"
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            write_page()
        if failed:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
