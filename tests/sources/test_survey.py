"""What is found out about rows in pieces is what is found out about them in one memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import CartClassifier, CartRegressor
from obliqua.sources.weights import ExactSum, exact_sum
from problems import examples
from sources.tables_in_pieces import same_problem, surveyed

PIECES = st.sampled_from([1, 2, 5, 9])
WEIGHTS = {
    "none": lambda rng, n: None,
    "ones": lambda rng, n: np.ones(n),
    "counts": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "even": lambda rng, n: 2.0 * rng.integers(1, 4, n),
    "tenths": lambda rng, n: rng.integers(0, 30, n) / 10,
    "any": lambda rng, n: rng.lognormal(size=n),
    "halves": lambda rng, n: np.full(n, 0.5),
    "thirds": lambda rng, n: np.full(n, 1 / 3),
    "far": lambda rng, n: 2.0 ** rng.integers(-900, 900, n) * rng.lognormal(size=n),
    "huge": lambda rng, n: rng.integers(1, 2**40, n) * 2.0**20 + 1,
}


def frame_of(seed: int, n: int) -> pd.DataFrame:
    """Numbers of several types, text, categories, bools; some are missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n).astype(np.float32),
            "b": rng.integers(-3, 3, n),
            "c": rng.choice(["red", "green", "blue", "other levels"], n),
            "d": rng.random(n) < 0.5,
            "e": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "f": pd.Categorical(rng.choice([f"town {k}" for k in range(40)], n)),
            "g": np.where(rng.random(n) < 0.3, None, rng.choice(["x", "y"], n)),
            "h": np.full(n, None),
        }
    )
    return frame[[name for name in frame if name == "a" or rng.random() < 0.6]]


@pytest.mark.parametrize("kind", list(WEIGHTS))
@examples(120)
@given(seed=st.integers(0, 999), n=st.integers(1, 60), n_pieces=PIECES, data=st.data())
def test_classes(kind: str, seed: int, n: int, n_pieces: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    frame, labels = frame_of(seed, n), rng.choice(["p", "q", "r"], n)
    weights = WEIGHTS[kind](rng, n)
    if weights is not None and not (weights > 0).any():
        weights[0] = 1.0
    present = labels if weights is None else labels[weights > 0]
    shares: Any = data.draw(
        st.sampled_from(
            [None, "balanced", "equal", {present[0]: 0.7}, {"p": 0.0, present[0]: 3.0}]
        )
    )
    estimator = CartClassifier(
        class_weight=None if shares == "equal" else shares,
        priors="equal" if shares == "equal" else None,
        categorical_features=data.draw(st.sampled_from(["from_dtype", ["a"]]))
        if list(frame) == ["a"]
        else "from_dtype",
        fill=data.draw(st.sampled_from(["side", "node"])),
    )
    if isinstance(shares, dict) and not set(shares) <= set(labels):
        estimator.set_params(class_weight=None)
    _, problem, classes = quietly(estimator._encoded, frame, labels, weights)
    table = frame.assign(label=labels)
    columns = {"learnt": "label"}
    if weights is not None:
        table["w"] = weights
        columns["weight"] = "w"
    found = surveyed(estimator, table, n_pieces, seed, **columns)
    assert (found.recipe.classes == classes).all()
    same_problem(in_order(found), problem)


def in_order(found: Any) -> Any:
    """Put the pieces into memory, in their order."""
    from obliqua.data.problem import Problem
    from obliqua.sources.rows import PartRowsElsewhere

    batches = [
        found.recipe.problem(batch)
        for part in found.source._parts
        if isinstance(part, PartRowsElsewhere)
        for batch in part.part.batches()
    ]
    return Problem.stack(batches)


def quietly(task: Any, *args: Any) -> Any:
    """Call something whose warnings are of no interest here."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return task(*args)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@examples(80)
@given(
    seed=st.integers(0, 999),
    n=st.integers(1, 60),
    n_pieces=PIECES,
    kind=st.sampled_from(["none", "counts", "tenths", "any"]),
    n_outputs=st.integers(1, 2),
)
def test_numbers(
    criterion: str, seed: int, n: int, n_pieces: int, kind: str, n_outputs: int
) -> None:
    rng = np.random.default_rng(seed)
    frame, y = frame_of(seed, n), np.abs(rng.normal(size=(n, n_outputs))) * 10.0 ** (seed % 9)
    weights = WEIGHTS[kind](rng, n)
    if weights is not None and not (weights > 0).any():
        weights[0] = 1.0
    estimator = CartRegressor(criterion=criterion)
    _, problem, _ = quietly(estimator._encoded, frame, y if n_outputs > 1 else y[:, 0], weights)
    table, columns = frame.copy(), {"learnt": [f"y{k}" for k in range(n_outputs)]}
    for k in range(n_outputs):
        table[f"y{k}"] = y[:, k]
    if weights is not None:
        table["w"] = weights
        columns["weight"] = "w"
    found = surveyed(estimator, table, n_pieces, seed, **columns)
    same_problem(in_order(found), problem)
    assert np.array_equal(found.recipe.outline.target.low, problem.target.low)


@examples(100)
@given(
    st.lists(st.floats(0, 1e300, allow_subnormal=True), max_size=40),
    st.integers(0, 40),
)
def test_exact_sums(values: list[float], cut: int) -> None:
    first, rest = np.array(values[:cut]), np.array(values[cut:])
    total = exact_sum(first) + exact_sum(rest)
    assert ExactSum.rounded(total) == math.fsum(values)
