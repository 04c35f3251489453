"""CART-LC on figure 5 of the OC1 paper: stuck where the original program is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua import CartLCClassifier
from obliqua.datasets import load_oc1_figure5
from reference.cart_lc import GAMMAS, Options, Walk
from reference.criteria import CODES
from reference.search import Limits


def test_figure_5() -> None:
    """The program gets stuck near x = 0.55 + 0.1225 (y + 0.01), three leaves, with any seed."""
    X, y = load_oc1_figure5(return_X_y=True)
    for seed in range(20):
        model = CartLCClassifier(variant="oc1", pruning=None, random_state=seed).fit(X, y)
        assert model.get_n_leaves() == 3
        a, b = model.tree_.coefficients(0)
        assert -b / a == pytest.approx(0.1225, abs=1e-4)
        assert model.tree_.threshold[0] / a == pytest.approx(0.55 + 0.1225 * 0.01, abs=2e-3)
        assert 1 / model.tree_.gain[0] == pytest.approx(6.667, abs=1e-3)


def best_changes(**params: Any) -> tuple[float, list[float]]:
    """What the axis-parallel split of figure 5 is worth, and the best change of each coefficient.

    Every place on every line is counted.
    """
    X, y = load_oc1_figure5(return_X_y=True)
    codes = np.unique(y, return_inverse=True)[1]
    walk = Walk(X, codes.tolist(), [1] * 8, 2, CODES["twoing"], Limits(), Options(**params))
    walk.start()
    lines = [(k, gamma) for k in range(2) for gamma in GAMMAS]
    found = [[score for _, score in walk.places(walk.z[:, k] + gamma)] for k, gamma in lines]
    constant = [score for _, score in walk.places(np.ones(8))]
    return walk.score, [max(scores) for scores in (*found, constant)]


@pytest.mark.parametrize("params", [{}, {"beta": None}, {"variant": "oc1", "sign": "exact"}])
def test_the_book_is_stuck_in_figure_5_too(params: dict[str, Any]) -> None:
    """No change of one coefficient makes the split better; that is what OC1 jumps for."""
    start, changes = best_changes(**params)
    assert start == pytest.approx(1 / 6.667, abs=1e-4)
    assert max(changes) == start
    X, y = load_oc1_figure5(return_X_y=True)
    model = CartLCClassifier(pruning=None, **params).fit(X, y)
    assert model.get_n_leaves() == 3
    assert model.tree_.gain[0] == pytest.approx(start)
    assert model.score(X, y) == 1.0
    if "variant" not in params:  # the axis-parallel split is as good, and the simpler one
        np.testing.assert_array_equal(model.tree_.coefficients(0), [1.0, 0.0])
        assert model.tree_.threshold[0] == pytest.approx(0.65)
