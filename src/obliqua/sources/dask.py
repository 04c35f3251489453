"""Dask: arrays and frames in partitions, and passes as tasks without any state.

A task loads a partition, answers, and forgets it; answers are joined on the way. With an active
`distributed.Client` its workers do this, otherwise threads of this machine. Nothing is persisted:
a worker that is lost costs the tasks that it was at.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.data.table import RawColumn, raw_column
from obliqua.sources.pieces import ArrayBatch, Batch, Chosen
from obliqua.sources.running import PartPass
from obliqua.sources.tables import BOOLS, NUMBERS, SINGLE, TEXT, LargeTable

__all__ = ["DaskTasks", "dask_table", "is_dask", "predicted"]

LOG = logging.getLogger("obliqua.passes")
JOINED_AT_ONCE = 8


def is_dask(X: Any) -> bool:
    """Say whether something is an array or a frame of Dask."""
    return type(X).__module__.startswith("dask") and hasattr(X, "__dask_graph__")


def _dask() -> Any:
    return require("dask", "dask", "Fitting to Dask collections")


class PandasBatch:
    """Rows of a frame of pandas."""

    matrix = None

    def __init__(self, frame: Any, chosen: Chosen, learnt: Any, weights: Any) -> None:
        self._frame = frame
        self._chosen = chosen
        self.learnt = learnt
        self.weights = weights

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._frame)

    def feature(self, place: int) -> RawColumn:
        """Return a column of the features."""
        name = self._chosen.features[place]
        return raw_column(self._frame[name], f"Column {name!r}")


@dataclass(frozen=True, eq=False)
class DaskPiece:
    """A partition: delayed, or loaded where a task works with it."""

    number: int
    X: Any
    y: Any
    w: Any
    chosen: Chosen

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"partition {self.number}"

    def loaded(self, X: Any, y: Any, w: Any) -> DaskPiece:
        """Return the piece with its rows."""
        return replace(self, X=X, y=y, w=w)

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """Return the rows, some at a time."""
        X, y, w = self.X, self.y, self.w
        frame = hasattr(X, "iloc")
        if frame and self.chosen.learnt and y is None:
            y = _columns(X, self.chosen.learnt)
        if frame and self.chosen.weight is not None and w is None:
            w = X[self.chosen.weight]
        for name, other in (("y", y), ("sample_weight", w)):
            if other is not None and len(other) != len(X):
                raise ValueError(
                    f"X has {len(X)} rows here, and {name} {len(other)}. Give both the same "
                    "partitions."
                )
        learnt, weights = _plain(y), _plain(w)
        for first in range(0, len(X), most_rows):
            here = slice(first, first + most_rows)
            some = learnt[here], None if weights is None else weights[here]
            if frame:
                yield PandasBatch(X.iloc[here], self.chosen, *some)
            else:
                yield ArrayBatch(np.asarray(X[here]), *some)


def _columns(frame: Any, names: Sequence[str]) -> Any:
    return frame[names[0]] if len(names) == 1 else frame[list(names)]


def _plain(values: Any) -> Any:
    """Return labels, numbers or weights as an array; text as objects."""
    if values is None:
        return None
    found: AnyArray = np.asarray(values)
    if found.dtype.kind not in "biufOU":
        found = found.astype(object)
    return found


def dask_table(X: Any, y: Any, weights: Any) -> LargeTable:
    """Return an array or a frame of Dask as a table in pieces; nothing is computed."""
    _dask()
    if hasattr(X, "columns"):
        return _frame_table(X, y, weights)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions; got a Dask array with {X.ndim}.")
    if isinstance(y, str) or isinstance(weights, str):
        raise TypeError(
            "A Dask array has no names of columns: give y and sample_weight as arrays."
        )
    X = X.rechunk({1: -1})
    blocks = X.to_delayed().ravel().tolist()
    others = [_blocks(name, other, X, len(blocks)) for name, other in _both(y, weights)]
    kind = SINGLE if X.dtype == np.float32 else NUMBERS
    if X.dtype.kind not in "biuf":
        raise ValueError(f"A Dask array must hold numbers; got the type {X.dtype}. Give a frame.")
    weight = None if weights is None else "sample_weight"
    chosen = Chosen(tuple(map(str, range(X.shape[1]))), (), weight)
    return _table(blocks, others, chosen, None, (kind,) * X.shape[1])


def _both(y: Any, weights: Any) -> list[tuple[str, Any]]:
    return [("y", y), ("sample_weight", weights)]


def _table(
    blocks: list[Any],
    others: list[list[Any]],
    chosen: Chosen,
    names: tuple[str, ...] | None,
    kinds: tuple[str, ...],
) -> LargeTable:
    pieces: list[Any] = [
        DaskPiece(k, X, y, w, chosen)
        for k, (X, y, w) in enumerate(zip(blocks, *others, strict=True))
    ]
    return LargeTable(pieces, names, kinds, "the Dask collection")


def _blocks(name: str, other: Any, X: Any, n_blocks: int) -> list[Any]:
    """Return the partitions of y or weights; those of X must be the same."""
    if other is None:
        return [None] * n_blocks
    if not is_dask(other):
        if not hasattr(X, "chunks") or np.isnan(sum(X.chunks[0])):
            raise TypeError(
                f"With X as a Dask collection of unknown length, {name} must be one too; got "
                f"{type(other).__name__}."
            )
        array = require("dask.array", "dask", "Fitting to Dask collections")
        values = np.asarray(other)
        if len(values) != sum(X.chunks[0]):
            raise ValueError(f"X has {sum(X.chunks[0])} rows, and {name} {len(values)}.")
        other = array.from_array(values, chunks=(X.chunks[0], *values.shape[1:]))
    if getattr(other, "ndim", 1) == 2 and hasattr(other, "rechunk"):
        other = other.rechunk({1: -1})
    found = np.ravel(other.to_delayed(optimize_graph=False)).tolist()
    if len(found) != n_blocks:
        raise ValueError(
            f"X has {n_blocks} partitions, and {name} {len(found)}. Divide both in the same way, "
            "for instance by rechunk or repartition."
        )
    return list(found)


def _frame_table(X: Any, y: Any, weights: Any) -> LargeTable:
    names = [str(name) for name in X.columns]
    learnt: tuple[str, ...] = ()
    if isinstance(y, str) or (isinstance(y, list) and all(isinstance(n, str) for n in y)):
        learnt, y = ((y,) if isinstance(y, str) else tuple(y)), None
    weight = "sample_weight"
    if isinstance(weights, str):
        weight, weights, in_frame = weights, None, True
    else:
        in_frame = False
    for name in (*learnt, *([weight] if in_frame else [])):
        if name not in names:
            raise ValueError(f"The frame has no column {name!r}; it has {', '.join(names[:20])}.")
    features = tuple(n for n in names if n not in learnt and not (in_frame and n == weight))
    kinds = tuple(_kind(X.dtypes[name], name) for name in features)
    used = weight if in_frame or weights is not None else None
    # Optimised, a frame of few columns would have other partitions than one of many.
    blocks = list(X.to_delayed(optimize_graph=False))
    others = [_blocks(name, other, X, len(blocks)) for name, other in _both(y, weights)]
    return _table(blocks, others, Chosen(features, learnt, used), features, kinds)


def _kind(dtype: Any, name: str) -> str:
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return BOOLS
    if kind in "iuf":
        return SINGLE if dtype == np.float32 else NUMBERS
    if kind in "mMc":
        raise ValueError(
            f"The column {name!r} has the type {dtype}, and trees from Dask take numbers, bools "
            "and text. Write it as one of these, or leave it out."
        )
    return TEXT


def predicted(estimator: Any, method: str, X: Any) -> Any:
    """Return what an estimator's method says of a Dask collection, lazily."""
    names = list(getattr(estimator, "feature_names_in_", []))
    if hasattr(X, "columns"):
        X = X[names] if names else X
        few = X._meta_nonempty if hasattr(X, "_meta_nonempty") else X.head(1)
        said = _of_block(few, estimator, method)
        if said.ndim == 1:
            return X.map_partitions(_series_of_block, estimator, method, meta=(None, said.dtype))
        X = X.to_dask_array()
    X = X.rechunk({1: -1})
    said = _of_block(np.zeros((1, X.shape[1]), X.dtype), estimator, method)
    if said.ndim == 1:
        return X.map_blocks(_of_block, estimator, method, drop_axis=1, dtype=said.dtype)
    chunks = (X.chunks[0], (said.shape[1],))
    return X.map_blocks(_of_block, estimator, method, chunks=chunks, dtype=said.dtype)


def _of_block(block: Any, estimator: Any, method: str) -> AnyArray:
    """Return what is said of a partition; of one without rows, nothing."""
    call = getattr(estimator, method)
    if len(block):
        return np.asarray(call(block))
    if hasattr(block, "columns"):
        return np.asarray(call(block.reindex([0])))[:0]
    return np.asarray(call(np.zeros((1, block.shape[1]), block.dtype)))[:0]


def _series_of_block(block: Any, estimator: Any, method: str) -> Any:
    pandas = require("pandas", "dask", "Predicting for frames of Dask")
    return pandas.Series(_of_block(block, estimator, method), index=block.index)


def _answer(one_pass: PartPass, part: Any, X: Any, y: Any, w: Any) -> Any:
    """Do one pass over one partition, which is here."""
    return one_pass(part.with_piece(part.piece.loaded(X, y, w)))


def _join(one_pass: PartPass, answers: Sequence[Any]) -> Any:
    return one_pass.joined(answers)


class DaskTasks:
    """Passes as tasks of Dask, on the active client or on threads of this machine."""

    def __init__(self) -> None:
        self.n_passes = 0

    def __call__(self, one_pass: PartPass, parts: Sequence[Any]) -> list[Any]:
        """Return what a pass gives for all partitions, joined.

        Parameters
        ----------
        one_pass : PartPass
            A function of a piece.
        parts : sequence
            The pieces.

        Returns
        -------
        list
            The joined answer.
        """
        dask = _dask()
        begin = time.perf_counter()
        self.n_passes += 1
        sent = dask.delayed(one_pass, pure=False)
        answer, join = dask.delayed(_answer, pure=False), dask.delayed(_join, pure=False)
        waiting = []
        for part in parts:
            piece = part.piece
            empty = part.with_piece(piece.loaded(None, None, None))
            waiting.append(answer(sent, empty, piece.X, piece.y, piece.w))
        while len(waiting) > 1:
            waiting = [
                join(sent, waiting[k : k + JOINED_AT_ONCE])
                for k in range(0, len(waiting), JOINED_AT_ONCE)
            ]
        found = dask.compute(*waiting, **self._scheduler())
        LOG.info("pass %d: %.1f s", self.n_passes, time.perf_counter() - begin)
        return list(found)

    @staticmethod
    def _scheduler() -> dict[str, Any]:
        """Threads, unless a client or a setting says something else."""
        base = require("dask.base", "dask", "Fitting to Dask collections")
        return {} if base.get_scheduler() is not None else {"scheduler": "threads"}
