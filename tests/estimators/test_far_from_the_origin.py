"""Many rows far from the origin: neighbours are near each other, and still not equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua import (
    CartLCClassifier,
    EigenTreeClassifier,
    FisherTreeClassifier,
    HHCartClassifier,
    OC1Classifier,
)

ROWS = 20_000
STUMPS = {
    "hhcart": HHCartClassifier(max_depth=1, pruning=None),
    "hhcart with fisher": HHCartClassifier(
        variant="dominant", extra_directions="fisher", max_depth=1, pruning=None
    ),
    "fdt": FisherTreeClassifier(max_depth=1, pruning=None),
    "oc1": OC1Classifier(n_restarts=2, max_depth=1, pruning=None, random_state=0),
    "cart-lc": CartLCClassifier(max_depth=1, pruning=None),
    "2c-etct": EigenTreeClassifier(max_depth=1, random_state=0),
}


@pytest.mark.parametrize("name", list(STUMPS))
def test_an_offset_costs_nothing(name: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    X = rng.normal(size=(ROWS, 5)) + 1.35 * y[:, None]
    near, far = (score(STUMPS[name], X + offset, y) for offset in (0.0, 1e8))
    assert near > 0.85
    assert far > near - 0.005


def score(stump: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(stump.fit(X, y).score(X, y))
