"""Small forests of all kinds, on rows with levels and missing values."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd

from obliqua import ObliqueForestClassifier, ObliqueForestRegressor, load, save


def table(n: int = 160, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Rows with levels and missing values, their classes, and two numbers of each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    level = rng.choice(list("uvw"), n)
    score = X[:, 0] + X[:, 1] + (level == "u") - 0.5 * X[:, 2]
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["level"] = level
    frame.loc[rng.random(n) < 0.2, "b"] = np.nan
    return frame, np.array(["x", "y", "z"])[np.digitize(score, [-0.7, 0.7])], np.c_[score, X[:, 3]]


FRAME, LABELS, NUMBERS = table()


def forest(kind: str, **params: Any) -> Any:
    """A small forest of classes, of numbers, or of two numbers at once."""
    params = {"n_estimators": 7, "oob_score": kind != "pair", "random_state": 0, **params}
    if kind == "classes":
        return ObliqueForestClassifier(**params).fit(FRAME, LABELS)
    y = NUMBERS[:, 0] if kind == "numbers" else NUMBERS
    return ObliqueForestRegressor(**params).fit(FRAME, y)


def written(model: Any) -> bytes:
    file = io.BytesIO()
    save(model, file)
    return file.getvalue()


def again(model: Any) -> Any:
    return load(io.BytesIO(written(model)))
