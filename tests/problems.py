"""Small classification problems for tests: strategies for hypothesis, and fixed makers.

A ``Case`` is raw input (columns, class codes, sample weights), before the library has seen it.
The strategies lean towards what breaks trees: ties, duplicates with different labels, constant
columns, neighbouring floats, denormals, values near the limits of the type, absent classes,
fractional weights, and every memory layout.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

EXAMPLES = "OBLIQUA_HYPOTHESIS_EXAMPLES"
FEWER = "OBLIQUA_FEWER_EXAMPLES"


@dataclass(frozen=True)
class Case:
    """Raw input of one problem; ``y`` holds class codes 0..n_classes-1."""

    X: NDArray[np.floating]
    y: NDArray[np.int64]
    n_classes: int
    sample_weight: NDArray[np.float64] | None = None

    def take(self, rows: NDArray[np.int64]) -> Case:
        """Those rows, in that order."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], sample_weight=weight)


def examples(count: int) -> Any:
    """Settings of a property test: ``count`` fixed examples, or as many new ones as asked for.

    Without the environment variable the examples are the same in every run, so a change that
    passes once passes always; whoever sets it searches further. Sanitizers, which are slow, are
    content with fewer: another variable says by what the count is divided.
    """
    asked = os.environ.get(EXAMPLES)
    count = max(count // int(os.environ.get(FEWER, "1")), min(count, 5))
    return settings(
        max_examples=max(count, int(asked)) if asked else count,
        derandomize=asked is None,
        deadline=None,
        # drawing a whole table takes more choices than the health check expects
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# --- columns ---------------------------------------------------------------------------------

Column = Callable[[NDArray[np.int64], np.dtype], NDArray[np.floating]]


def _small_integers(k: NDArray[np.int64], dtype: np.dtype) -> NDArray[np.floating]:
    return (k % 4).astype(dtype)


def _thirds(k: NDArray[np.int64], dtype: np.dtype) -> NDArray[np.floating]:
    return (k / 3.0).astype(dtype)


def _constant(k: NDArray[np.int64], dtype: np.dtype) -> NDArray[np.floating]:
    return np.full(len(k), 0.1, dtype=dtype)


def _neighbours(k: NDArray[np.int64], dtype: np.dtype) -> NDArray[np.floating]:
    """Adjacent floats: their midpoint is one of them."""
    return (1.0 + (k % 5) * np.finfo(dtype).eps).astype(dtype)


def _denormals(k: NDArray[np.int64], dtype: np.dtype) -> NDArray[np.floating]:
    return (k % 7 - 3).astype(dtype) * np.finfo(dtype).smallest_subnormal


def _huge(k: NDArray[np.int64], dtype: np.dtype) -> NDArray[np.floating]:
    """Differences of two values overflow."""
    largest = np.finfo(dtype).max
    steps = np.array([-1.0, -0.75, -0.5, 0.0, 0.5, 0.75, 1.0], dtype=dtype)
    return largest * steps[k % 7]


def _signed_zeros(k: NDArray[np.int64], dtype: np.dtype) -> NDArray[np.floating]:
    return np.array([-1.0, -0.0, 0.0, 1.0], dtype=dtype)[k % 4]


def _wide(k: NDArray[np.int64], dtype: np.dtype) -> NDArray[np.floating]:
    """Magnitudes far apart, so that sums of two columns lose the smaller one."""
    return (np.sign(k - 32) * 10.0 ** (k % 13 - 6)).astype(dtype)


ORDINARY: tuple[Column, ...] = (_small_integers, _thirds, _constant)
COLUMNS: tuple[Column, ...] = (
    *ORDINARY,
    _neighbours,
    _denormals,
    _huge,
    _signed_zeros,
    _wide,
)

# --- memory layouts --------------------------------------------------------------------------

LAYOUTS = ("C", "F", "rows", "columns", "reversed", "readonly")


def lay_out(X: NDArray[np.floating], layout: str) -> NDArray[np.floating]:
    """The same values in another memory layout."""
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "rows":
        wider = np.full((2 * X.shape[0], X.shape[1]), np.nan, dtype=X.dtype)
        wider[::2] = X
        return wider[::2]
    if layout == "columns":
        wider = np.full((X.shape[0], 3 * X.shape[1]), np.nan, dtype=X.dtype)
        wider[:, ::3] = X
        return wider[:, ::3]
    if layout == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    laid = np.ascontiguousarray(X)
    if layout == "readonly":
        laid = laid.copy()
        laid.setflags(write=False)
    return laid


# --- weights ---------------------------------------------------------------------------------

WEIGHTS: dict[str, tuple[float, ...]] = {
    "integers": (1.0, 2.0, 3.0),
    "eighths": (0.125, 0.25, 1.0, 1.375),
    "tenths": (0.1, 0.2, 0.3, 1.1),
    "apart": (1e-6, 1.0 / 3.0, 1.0, 1e6),
    "with zeros": (0.0, 1.0, 2.0),
}

# --- strategies ------------------------------------------------------------------------------


@st.composite
def cases(
    draw: st.DrawFn,
    max_rows: int = 24,
    max_columns: int = 4,
    max_classes: int = 5,
    columns: tuple[Column, ...] = COLUMNS,
    weights: tuple[str, ...] | None = tuple(WEIGHTS),
) -> Case:
    """A small case of any kind; ``weights=()`` means unweighted."""
    n_rows = draw(st.integers(1, max_rows))
    n_columns = draw(st.integers(1, max_columns))
    n_classes = draw(st.integers(1, max_classes))
    dtype = np.dtype(draw(st.sampled_from([np.float64, np.float32])))
    numbers = st.integers(0, 64)
    made = []
    for _ in range(n_columns):
        kind = draw(st.sampled_from(columns))
        k = draw(st.lists(numbers, min_size=n_rows, max_size=n_rows))
        made.append(kind(np.array(k, dtype=np.int64), dtype))
    X = np.column_stack(made).astype(dtype, copy=False)
    if draw(st.booleans()):  # few distinct rows, whose copies get labels of their own
        distinct = st.integers(0, max(n_rows // 3, 1) - 1)
        X = X[draw(st.lists(distinct, min_size=n_rows, max_size=n_rows))]
    label = st.integers(0, n_classes - 1)
    y = np.array(draw(st.lists(label, min_size=n_rows, max_size=n_rows)), dtype=np.int64)
    weight = draw(_sample_weights(n_rows, weights or ()))
    return Case(lay_out(X, draw(st.sampled_from(LAYOUTS))), y, n_classes, weight)


@st.composite
def _sample_weights(
    draw: st.DrawFn, n_rows: int, kinds: tuple[str, ...]
) -> NDArray[np.float64] | None:
    kind = draw(st.sampled_from((None, *kinds)))
    if kind is None:
        return None
    value = st.sampled_from(WEIGHTS[kind])
    weight = np.array(draw(st.lists(value, min_size=n_rows, max_size=n_rows)))
    weight[0] = max(weight[0], min(w for w in WEIGHTS[kind] if w > 0.0))
    return weight


def plain_cases(**options: Any) -> st.SearchStrategy[Case]:
    """Unweighted cases of ordinary columns."""
    return cases(columns=ORDINARY, weights=(), **options)


@st.composite
def rules(draw: st.DrawFn, **fixed: Any) -> dict[str, Any]:
    """Growth rules as keywords; limits are off about as often as they are on."""
    drawn = {
        "max_depth": draw(st.sampled_from([None, None, 0, 1, 2, 3])),
        "min_samples_split": draw(st.sampled_from([2, 2, 3, 6])),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 4])),
        "min_weight_leaf": draw(st.sampled_from([0, 0, 1, 3, 8])),
        "min_gain": draw(st.sampled_from([0.0, 0.0, 0.02, 0.2])),
        "max_leaf_error": draw(st.sampled_from([0.0, 0.0, 0.2, 0.4])),
        "zero_gain": draw(st.booleans()),
        "best_first": draw(st.booleans()),
    }
    if drawn["best_first"]:
        drawn["max_leaf_nodes"] = draw(st.sampled_from([None, 1, 2, 3, 5]))
    return {**drawn, **fixed}


@st.composite
def batches(draw: st.DrawFn, n_columns: int, max_directions: int = 5) -> NDArray[np.float64]:
    """Normals with zeros, repeats, tiny and large coefficients, and now and then a broken one."""
    usual = st.sampled_from([0.0, 0.0, 1.0, 1.0, -1.0, 0.1, -0.3, 1.0 / 3.0, 2.5])
    odd = st.sampled_from([1e-300, 1e300, -0.0, math.nan, math.inf, 5e-324, 1.0 + 2.0**-24])
    size = draw(st.integers(1, max_directions)) * n_columns
    value = st.one_of(usual, usual, usual, odd) if draw(st.booleans()) else usual
    numbers = draw(st.lists(value, min_size=size, max_size=size))
    return np.array(numbers).reshape(-1, n_columns)


@st.composite
def searches(draw: st.DrawFn, **options: Any) -> tuple[Case, NDArray[np.float64]]:
    """A case and a batch of directions for it."""
    case = draw(cases(**options))
    return case, draw(batches(case.X.shape[1]))


# --- fixed makers ----------------------------------------------------------------------------


def letter_like(n_rows: int = 1000, seed: int = 0) -> Case:
    """Integers 0..15 in 16 columns, 26 classes: letter's shape without letter's file."""
    rng = np.random.default_rng(seed)
    prototypes = rng.integers(0, 16, size=(26, 16))
    y = rng.integers(0, 26, size=n_rows)
    noise = np.rint(rng.normal(scale=2.5, size=(n_rows, 16)))
    X = np.clip(prototypes[y] + noise, 0, 15).astype(np.float64)
    return Case(X, y, 26)


def data_folder() -> Path:
    """The folder with the papers' data sets, which no repository may hold; for `data` tests."""
    return Path(os.environ["OBLIQUA_DATA"])


def letter(n_rows: int = 2000) -> Case:
    """The first rows of letter, from the folder that OBLIQUA_DATA names."""
    lines = (data_folder() / "letter.csv").read_text(encoding="utf-8").splitlines()[1 : n_rows + 1]
    fields = [line.split(",") for line in lines]
    X = np.array([row[:-1] for row in fields], dtype=np.float64)
    y = np.array([ord(row[-1].strip('"')) - ord("A") for row in fields], dtype=np.int64)
    return Case(X, y, 26)


def gaussians(
    n_rows: int, n_columns: int = 5, n_classes: int = 3, seed: int = 0, dtype: Any = np.float64
) -> Case:
    """Overlapping clouds without ties: nodes stay impure for long, so trees are deep."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, size=n_rows)
    X = rng.normal(size=(n_rows, n_columns)) + 0.7 * rng.normal(size=(n_classes, n_columns))[y]
    return Case(X.astype(dtype), y, n_classes)


def integers(n_rows: int, n_columns: int = 4, n_classes: int = 3, seed: int = 0) -> Case:
    """Many ties: values 0..9, labels that depend on their sum, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 10, size=(n_rows, n_columns)).astype(np.float64)
    y = (X.sum(axis=1) // 5).astype(np.int64) % n_classes
    wrong = rng.random(n_rows) < 0.15
    y[wrong] = rng.integers(0, n_classes, size=int(wrong.sum()))
    return Case(X, y, n_classes)


def outliers(n_rows: int, seed: int = 0) -> Case:
    """Columns whose range says nothing: a few values are a million times the others."""
    case = gaussians(n_rows, n_columns=3, n_classes=2, seed=seed)
    X = case.X.copy()
    X[:: max(n_rows // 5, 1)] *= 1e6
    return replace(case, X=X)


def many_classes(n_classes: int = 1100, seed: int = 0) -> Case:
    """More than a thousand classes, two or three rows each."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), np.arange(n_classes), np.arange(n_classes // 2)])
    X = np.column_stack([y + 0.0, rng.integers(0, 7, size=len(y))])
    order = rng.permutation(len(y))
    return Case(X[order], y[order], n_classes)


def weighted(case: Case, kind: str, seed: int = 0) -> Case:
    """The same rows with weights of one of the kinds in ``WEIGHTS``."""
    rng = np.random.default_rng(seed)
    return replace(case, sample_weight=rng.choice(WEIGHTS[kind], size=len(case.y)))
