"""Leaves and speed of exported SQL in SQLite, DuckDB and PostgreSQL, beside `predict`.

``python -m benchmarks.exports_sql --rows 250000 --near 25000`` counts the rows whose leaves differ
from the model's: random rows, and rows within 1e-12 of thresholds. ``--speed`` measures rows per
second on the letter data (OBLIQUA_DATA) instead. PostgreSQL is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import obliqua
from benchmarks.exported_rows import near_rows, random_rows
from obliqua.datasets import load_letter
from obliqua.export.computation import Computation

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from export.test_export_sql import Server, _copied, _postgresql, quoted, table_of
from export_cases import case

MODELS = ("one oblique tree", "levels and gaps", "votes", "forest", "linear leaves")


class Tables:
    """The same rows in every database."""

    def __init__(self, model: Any, rows: np.ndarray, server: Server | None) -> None:
        self.server, self.n = server, len(rows)
        names, _, values = table_of(model, rows, "sqlite")
        self.sqlite = sqlite3.connect(":memory:", cached_statements=0)
        self.sqlite.execute(f"CREATE TABLE t ({', '.join(map(quoted, names))})")
        self.sqlite.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", values)
        names, types, values = table_of(model, rows, "duckdb")
        frame = pd.DataFrame(values, columns=names)
        self.duckdb = duckdb.connect()
        self.duckdb.execute("SET threads = 1")
        casts = ", ".join(
            f"CAST({quoted(n)} AS {t}) AS {quoted(n)}" for n, t in zip(names, types, strict=True)
        )
        self.duckdb.register("frame", frame)
        self.duckdb.execute(f"CREATE TABLE t AS SELECT {casts} FROM frame")
        if server is not None:
            names, types, values = table_of(model, rows, "postgresql")
            declared = ", ".join(f"{quoted(n)} {t}" for n, t in zip(names, types, strict=True))
            declared += ", nr INTEGER"
            lines = "".join(
                "\t".join(map(_copied, [*row, number])) + "\n" for number, row in enumerate(values)
            )
            server.query(
                f"DROP TABLE IF EXISTS t;\nCREATE TABLE t ({declared});\n"
                f"COPY t FROM STDIN;\n{lines}\\.\nANALYZE t;\n"
            )

    def databases(self) -> list[str]:
        return ["sqlite", "duckdb", *(["postgresql"] if self.server else [])]

    def leaves(self, model: Any, dialect: str) -> np.ndarray:
        """The leaves of all rows in all trees."""
        n_trees = Computation.of(model).n_trees
        # PostgreSQL does not promise that rows lie on the disk as they were written.
        order = "nr" if dialect == "postgresql" else None
        query = obliqua.export_sql(model, dialect, leaves=True, order=order)
        if dialect == "postgresql":
            assert self.server is not None
            text = self.server.query(f"COPY (\n{query}) TO STDOUT;\n")
            found = [line.split("\t")[-n_trees:] for line in text.splitlines()]
        else:
            found = [row[-n_trees:] for row in getattr(self, dialect).execute(query).fetchall()]
        return np.array(found, dtype=np.int64)

    def seconds(self, model: Any, dialect: str) -> float:
        """Time of a query that computes all answers and gives back how many there are."""
        query = obliqua.export_sql(model, dialect, order=())
        # All answers are asked for: databases leave out what nobody wants.
        shares = ", ".join(f'sum("p_{one}")' for one in Computation.of(model).model.classes)
        query = f"SELECT count(prediction), {shares} FROM (\n{query}) AS u"
        begin = time.perf_counter()
        if dialect == "postgresql":
            assert self.server is not None
            self.server.query(f"SET jit = off;\n{query};\n")
        else:
            getattr(self, dialect).execute(query).fetchall()
        return time.perf_counter() - begin


def different_leaves(n: int, n_near: int, server: Server | None) -> None:
    """Print how many rows have other leaves than the model says."""
    rng = np.random.default_rng(0)
    for name in MODELS:
        model, _ = case(name)
        computation = Computation.of(model)
        both = random_rows(computation, n, rng), near_rows(computation, n_near, rng)
        made = np.concatenate(both)
        expected = computation.model.apply(made).reshape(len(made), -1)
        tables = Tables(model, made, server)
        for dialect in tables.databases():
            differ = (tables.leaves(model, dialect) != expected).any(axis=1)
            print(
                f"{name:20} {dialect:10} random {differ[:n].sum()} of {n}, "
                f"near {differ[n:].sum()} of {n_near}",
                flush=True,
            )


def speed(server: Server | None) -> None:
    """Print rows per second on five times the letter data; 10 rows show what reading takes."""
    data = load_letter()
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target)
    many = np.tile(X, (5, 1))
    models = {
        "CART": obliqua.CartClassifier(random_state=0),
        "HHCART": obliqua.HHCartClassifier(random_state=0),
        "10 trees": obliqua.ObliqueForestClassifier(10, max_leaf_nodes=64, random_state=0),
    }
    for name, model in models.items():
        model.fit(X, y)
        tables = Tables(model, many, server)
        few = Tables(model, many[:10], None)
        best: dict[str, float] = {}
        for _ in range(2):
            begin = time.perf_counter()
            model.predict_proba(many)
            times = {"predict_proba": time.perf_counter() - begin}
            times |= {one: tables.seconds(model, one) for one in tables.databases()}
            times |= {f"{one}, 10 rows": few.seconds(model, one) for one in few.databases()}
            best = {one: min(best.get(one, np.inf), took) for one, took in times.items()}
        leaves = sum(int(part.tree.is_leaf.sum()) for part in Computation.of(model).parts())
        print(f"{name}, {leaves} leaves, {len(obliqua.export_sql(model))} bytes for SQLite")
        for one, took in best.items():
            rows = 10 if one.endswith("10 rows") else len(many)
            print(f"    {one:20} {took:8.3f} s  {rows / took:12.0f} rows/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--near", type=int, default=25_000)
    parser.add_argument("--speed", action="store_true")
    words = parser.parse_args()
    programs = _postgresql()
    server = Server(programs) if programs else None
    try:
        if words.speed:
            speed(server)
        else:
            different_leaves(words.rows, words.near, server)
    finally:
        if server is not None:
            server.stop()


if __name__ == "__main__":
    main()
