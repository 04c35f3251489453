"""Tables in ragged pieces, and what is made of them, for the tests of this folder."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from obliqua.data.problem import Problem
from obliqua.estimators._in_passes import _learning
from obliqua.sources.growing import SurveyedTable, survey_table
from obliqua.sources.pieces import Chosen, FramePiece
from obliqua.sources.rows import MemoryPlan
from obliqua.sources.tables import LargeTable, open_table

ARRAYS = ("Z", "weights", "row_counts", "row_weights", "n_levels", "has_missing", "fills")


def carried(what: Any) -> Any:
    """Return what arrives of something that is sent."""
    return pickle.loads(pickle.dumps(what))


def in_any_order(one_pass: Any, parts: Sequence[Any]) -> Iterator[Any]:
    """Carry everything through pickle, shuffle, and join some answers on the way."""
    order = random.Random(len(parts))
    held: list[Any] = []
    for part in order.sample(list(parts), len(parts)):
        held.append(carried(carried(one_pass)(carried(part))))
        if order.random() < 0.5:
            held = [one_pass.joined(held)]
    yield from held


def pieces_of(frame: pd.DataFrame, n_pieces: int, seed: int, **columns: Any) -> LargeTable:
    """Return a frame as a table in ragged pieces, some of them empty."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, len(frame) + 1, n_pieces - 1))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    known = open_table(ds.dataset(table), columns["learnt"], columns.get("weight"))
    chosen: Chosen = known.pieces[0].chosen
    bounds = [0, *ends.tolist(), len(frame)]
    pieces = [
        FramePiece(InMemory(table.slice(a, b - a)), f"piece {k}", chosen)
        for k, (a, b) in enumerate(pairwise(bounds))
    ]
    return LargeTable(list(pieces), known.names, known.kinds, "the table")


class InMemory:
    """A table of Arrow as something that streams batches, and can be pickled."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def to_batches(self, columns: list[str], batch_size: int, **_: Any) -> Iterator[Any]:
        return iter(self.table.select(columns).to_batches(max_chunksize=batch_size))


def surveyed(
    estimator: Any,
    frame: pd.DataFrame,
    n_pieces: int = 4,
    seed: int = 0,
    run: Any = in_any_order,
    limit: int = 1 << 16,
    **columns: Any,
) -> SurveyedTable:
    """Look at a frame in pieces, as a fit does, with hardly any memory."""
    table = pieces_of(frame, n_pieces, seed, **columns)
    plan = MemoryPlan(limit, 1, table.n_features)
    return survey_table(table, _learning(estimator), run, plan, estimator._shaped)


def same_problem(one: Problem, other: Problem) -> None:
    """Assert that two problems are the same, rows in the same order."""
    for name in ARRAYS:
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        if a is not None:
            assert np.array_equal(a, b, equal_nan=True), name
    assert one.encoding == other.encoding
    for name in ("unit", "row_unit", "sides", "level_squares"):
        assert getattr(one, name) == getattr(other, name), name
    assert type(one.target) is type(other.target)
    assert one.target.measure == other.target.measure
    assert one.target.costs == other.target.costs
    assert np.array_equal(one.counts, other.counts)
    assert np.array_equal(one.target.labels(), other.target.labels())
