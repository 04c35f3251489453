"""The best place where rows come and go: in bins, sorted, and by counting at every place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua._core.search.swing import best_place
from problems import examples
from reference.criteria import CODES
from reference.swing import best_place as count_everywhere

TIE = 1e-12
FEW_ROWS = 64  # fewer rows than this are always sorted


def draw_line(seed: int, n_classes: int, n_rows: int, digits: int, at_the_ends: float) -> Any:
    """Crossings, which rows leave there, and classes, which have to do with the crossings.

    Some rows never cross: they stand at -1 or 1. A class may be absent.
    """
    rng = np.random.default_rng(seed)
    t = np.round(rng.uniform(-1, 1, size=n_rows), digits)
    never = rng.random(n_rows) < at_the_ends
    t[never] = np.sign(t[never] + 1e-3)
    y = (t * 7 + rng.normal(size=n_rows)).astype(np.int32) % n_classes
    y[y == n_classes - 1] -= rng.integers(0, 2) * (n_classes > 2)
    leaves = rng.random(n_rows) < rng.random()
    return t, leaves, y


def searched(t: Any, leaves: Any, y: Any, weights: Any, limits: Any, quick: bool) -> Any:
    counts = np.bincount(y, weights, minlength=y.max() + 2).astype(np.int64)
    return best_place(
        t[:, None].copy(), leaves.astype(np.uint8), y, weights, counts, limits, TIE, quick
    )


lines = st.builds(
    draw_line,
    st.integers(0, 10**6),
    n_classes=st.integers(2, 5),
    n_rows=st.one_of(st.integers(2, 90), st.integers(FEW_ROWS, 700)),
    digits=st.sampled_from([1, 2, 12]),
    at_the_ends=st.sampled_from([0.0, 0.0, 0.3, 0.9]),
)


@pytest.mark.parametrize("criterion", ["twoing", "gini"])
@examples(300)
@given(line=lines, min_rows=st.integers(1, 40), min_weight=st.sampled_from([0, 0, 1, 25, 200]))
def test_bins_hide_no_place(criterion: str, line: Any, min_rows: int, min_weight: int) -> None:
    limits = CODES[criterion], min_rows, min_weight
    in_bins, in_order = (searched(*line, None, limits, quick) for quick in (True, False))
    assert in_bins == in_order


@pytest.mark.parametrize("criterion", ["twoing", "gini", "max_minority", "sum_variances"])
@pytest.mark.parametrize("weighted", [False, True])
@examples(60)
@given(
    line=lines, min_rows=st.integers(1, 12), min_weight=st.sampled_from([0, 0, 5, 40]),
    heaviest=st.sampled_from([2, 50]),
)  # fmt: skip
def test_no_place_is_better(
    criterion: str, weighted: bool, line: Any, min_rows: int, min_weight: int, heaviest: int
) -> None:
    rng = np.random.default_rng(heaviest)
    ones = np.ones(len(line[0]), dtype=np.int64)
    weights = rng.integers(1, heaviest, size=len(ones), endpoint=True) if weighted else ones
    limits = CODES[criterion], min_rows, min_weight
    found = searched(*line, weights if weighted else None, limits, quick=True)
    assert found == count_everywhere(*line, weights, limits, TIE)


@pytest.mark.parametrize("n_rows", [FEW_ROWS - 4, FEW_ROWS + 4])
def test_nobody_crosses(n_rows: int) -> None:
    """All rows stand at the ends: what is between the ends is one place, or none at all."""
    y = np.arange(n_rows, dtype=np.int32) % 2
    t = np.where(y == 1, 1.0, -1.0)
    nobody = np.zeros(n_rows, dtype=bool)
    limits = CODES["twoing"], 1, 0
    assert searched(t, nobody, y, None, limits, True) == (0.25, n_rows // 2, -1.0, 1.0)
    assert searched(np.ones(n_rows), nobody, y, None, limits, True) is None
    leaving = y == 1  # and those that leave are there all along
    assert searched(np.ones(n_rows), leaving, y, None, limits, True) == (0.25, 0, -1.0, 1.0)


@pytest.mark.parametrize("quick", [True, False])
def test_a_side_must_be_heavy_enough(quick: bool) -> None:
    n_rows = 100
    t = np.linspace(-0.9, 0.9, n_rows)
    y = (np.arange(n_rows) >= 10).astype(np.int32)
    line = t, np.zeros(n_rows, dtype=bool), y, None
    for least, passed in ((0, 10), (10, 10), (11, 11), (37, 37), (50, 50)):
        assert searched(*line, (CODES["twoing"], 1, least), quick)[1] == passed
    assert searched(*line, (CODES["twoing"], 1, 51), quick) is None
