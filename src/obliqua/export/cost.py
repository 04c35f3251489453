"""What an export costs, said before it is written."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from obliqua.errors import CostWarning
from obliqua.export.computation import Computation

__all__ = ["Bytes", "estimated_bytes", "warn_if_large"]

#: Bytes above which the size is said first.
LARGE = 100_000_000


class Bytes(NamedTuple):
    """How long the parts of a text are, about."""

    node: float  # without what follows
    coefficient: float
    entry: float  # of a table of levels
    answer: float  # a number that a node says


def estimated_bytes(computation: Computation, each: Bytes, tables_repeat: bool = False) -> float:
    """Return about how many bytes a text takes; in a forest tables may stand at every term."""
    nodes, coefficients, entries = computation.size
    packed = computation.model._packed
    if tables_repeat and packed is not None:
        levels = np.maximum(np.diff(packed.level_ptr) - 1, 0)
        plain = packed.column[(packed.child >= 0) & (packed.column >= 0)]
        entries = int(levels[plain].sum() + levels[packed.term_column].sum())
    counts = (nodes, coefficients, entries, nodes * computation.n_answers)
    return sum(count * size for count, size in zip(counts, each, strict=True))


def warn_if_large(computation: Computation, what: str, size: float) -> None:
    """Say how large a text will be, if it is large."""
    if size > LARGE:
        nodes, trees = computation.size[0], computation.n_trees
        warnings.warn(
            f"{what} of {trees:,} {'tree' if trees == 1 else 'trees'} with {nodes:,} nodes takes "
            f"about {size / 1e6:,.1f} MB, and several times as much memory while it is written. "
            "Fewer or smaller trees take less.",
            CostWarning,
            stacklevel=3,
        )
