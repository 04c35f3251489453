"""The rows held out of a table in pieces are those held out of the same rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import CartClassifier, CartRegressor
from obliqua.data.problem import Problem
from obliqua.prune import division as in_memory
from obliqua.prune import hold_out
from obliqua.sources import division as in_passes
from obliqua.sources.growing import counted
from problems import examples
from sources.tables_in_pieces import in_any_order, surveyed
from sources.test_survey import WEIGHTS, quietly


def rows_of(problem: Problem) -> list[tuple[Any, ...]]:
    """Rows as values that can be sorted: what a tree sees of them."""
    none = [0] * problem.n_rows
    return sorted(
        zip(
            map(tuple, problem.Z.tolist()),
            problem.target.values[:, 0].tolist()
            if hasattr(problem.target, "values")
            else problem.y.tolist(),
            none if problem.weights is None else problem.weights.tolist(),
            none if problem.row_counts is None else problem.row_counts.tolist(),
            none if problem.row_weights is None else problem.row_weights.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("kind", ["none", "counts", "even", "tenths", "any"])
@examples(100)
@given(
    seed=st.integers(0, 9999),
    n=st.integers(1, 70),
    n_pieces=st.sampled_from([1, 2, 5, 9]),
    fraction=st.sampled_from([0.01, 0.1, 0.3, 0.5, 0.9]),
    n_values=st.sampled_from([1, 2, 3, 50]),
    few=st.booleans(),
)
def test_the_same_rows_are_held_out(
    numbers: bool,
    kind: str,
    seed: int,
    n: int,
    n_pieces: int,
    fraction: float,
    n_values: int,
    few: bool,
) -> None:
    """Equal rows in several pieces, weights that cut rows in two, groups that stay whole."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, n_values, n), "b": rng.integers(0, 2, n) / 2})
    y = rng.integers(0, 3, n)
    weights = WEIGHTS[kind](rng, n)
    if weights is not None and not (weights > 0).any():
        weights[0] = 1.0
    estimator: Any = CartRegressor() if numbers else CartClassifier()
    _, problem, _ = quietly(estimator._encoded, frame, y, weights)
    table = frame.assign(y=y.astype(float) if numbers else y)
    columns = {"learnt": "y"}
    if weights is not None:
        table["w"] = weights
        columns["weight"] = "w"
    with pytest.MonkeyPatch.context() as patch:
        if few:  # pieces are looked at a few at a time, and groups stay whole early
            patch.setattr(in_passes, "PIECES_AT_ONCE", 3)
            patch.setattr(in_passes, "BIN_BITS", 2)
            patch.setattr(in_passes, "MOST_PARTS", 20)
            patch.setattr(in_memory, "MOST_PARTS", 20)
        whole, held = hold_out(problem, fraction, seed)
        found = surveyed(estimator, table, n_pieces, seed, limit=1 << 15, **columns)
        division = in_passes.hold_out_rows(
            found.parts, in_any_order, counted(found.source), fraction, seed, 1 << 12
        )
    assert division.any == held.any()
    for side in (True, False):
        parts = found.side(division, held=side)._parts
        some = [problem for part in parts for problem in part.problems()]  # type: ignore[attr-defined]
        assert rows_of(Problem.stack(some)) == rows_of(whole.take(held == side))


def test_too_many_different_numbers_are_refused() -> None:
    frame = pd.DataFrame({"a": np.arange(300.0), "y": np.arange(300.0)})
    found = surveyed(CartRegressor(), frame, learnt="y")
    with pytest.raises(ValueError, match="more than 32 different values: too many"):
        in_passes.hold_out_rows(found.parts, in_any_order, counted(found.source), 0.1, 0, 1 << 10)


def test_too_many_equal_rows_are_refused() -> None:
    frame = pd.DataFrame({"a": np.arange(600.0) % 300, "y": np.zeros(600)})
    found = surveyed(CartClassifier(), frame, n_pieces=6, learnt="y")
    with pytest.raises(ValueError, match="Too many rows have equals in other parts"):
        in_passes.hold_out_rows(found.parts, in_any_order, counted(found.source), 0.1, 0, 1 << 10)
