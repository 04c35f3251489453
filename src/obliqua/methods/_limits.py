"""From how many rows on a node gets oblique splits."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obliqua.data.problem import Problem

__all__ = ["check_rows", "fewest_rows"]


def check_rows(limit: object) -> None:
    """Refuse a limit that is none."""
    number = isinstance(limit, Real) and float(limit) >= 0
    if not (limit is None or number or (isinstance(limit, str) and limit == "2p")):
        raise ValueError(f"min_rows must be a number of rows, '2p' or None; got {limit!r}.")


def fewest_rows(limit: float | str | None, problem: Problem) -> int:
    """Return the smallest number of rows of a node with oblique splits."""
    if limit == "2p":
        limit = 2.0
    fewest = float(limit or 0)
    if isinstance(limit, float):
        fewest = fewest * problem.n_features + 1
    counts = problem.row_counts
    return int(min(fewest, (problem.n_rows if counts is None else int(counts.sum())) + 1))
