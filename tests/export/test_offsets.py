"""What is written sends rows the way of the tree, also where features are far from 0."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua import CartClassifier, HHCartClassifier
from obliqua._question import question_of
from obliqua.data import Encoding


def problem(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 400
    day = 2460000 + rng.uniform(0, 30, n).round(3)
    warm = rng.normal(293, 5, n).round(2)
    columns = {
        "days": [day],
        "days and degrees": [day, warm],
        "seconds": [1.7e9 + rng.normal(0, 3600, n).round(), rng.normal(25, 4, n)],
        "years": [rng.integers(1990, 2024, n).astype(float), rng.normal(25, 4, n)],
        "both large": [1e9 + rng.normal(0, 50, n), 5e8 + rng.normal(0, 20, n)],
        "ordinary": [rng.normal(0, 1, n), rng.normal(10, 3, n)],
    }[name]
    X = np.column_stack(columns)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (Z.sum(axis=1) + 0.4 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize(
    "name", ["days", "days and degrees", "seconds", "years", "both large", "ordinary"]
)
@pytest.mark.parametrize(
    "model",
    [
        CartClassifier(pruning=None, max_depth=4),
        HHCartClassifier(pruning=None, max_depth=4, extra_directions="fisher", scale="standard"),
    ],
    ids=["CART", "HHCART"],
)
def test_what_is_written_is_what_happens(name: str, model: CartClassifier) -> None:
    X, y = problem(name)
    tree = model.fit(X, y).tree_
    passes = tree.decision_path(X).toarray().astype(bool)
    encoding = Encoding.identity(X.shape[1])
    asked = wrong = 0
    for node in tree.node_of_plane.tolist():
        question = question_of(tree, node, encoding)
        value = np.zeros(len(X))
        for term in question.terms:
            size = float(question.written_coefficient(term, 4))
            value += np.copysign(size, term.coefficient) * X[:, term.column]
        cut = float(question.cut())
        left = value <= cut if question.relation == "<=" else value >= cut
        here = passes[:, node]
        asked += int(here.sum())
        wrong += int((left != passes[:, tree.children_left[node]])[here].sum())
    assert asked >= 800
    assert wrong <= 0.004 * asked, f"{wrong} of {asked} answers differ"
