"""Prints what this processor makes of data, models and plain arithmetic, as hashes.

``test_processors.py`` runs this script as if on other processors and compares. Rows are made of
whole numbers, so that nothing but the method itself can make a difference.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

import obliqua
from obliqua import datasets

GENERATORS: dict[str, dict[str, Any]] = {
    "make_ls10": {"n_rows": 100},
    "make_normals_with_clusters": {"n_rows": 100},
    "make_planted_tree": {"n_rows": 300, "depth": 3, "n_features": 7},
    "make_pol": {"n_rows": 100},
    "make_rcb": {"n_rows": 100},
    "make_two_normals": {"n_rows": 100},
}

# What keeps a fit short, or makes the method do more than it does by default.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "AggregatedTreeClassifier": [{"n_estimators": 3, "max_leaf_nodes": 6}],
    "C45Classifier": [{"pruning": None, "mdl_correction": False}],
    "CartLCClassifier": [{}, {"refine": True}],
    "DistilledClassifier": [
        {"estimator": obliqua.HHCartClassifier(variant="dominant"), "max_leaves": 6}
    ],
    "EigenTreeClassifier": [{"n_divisions": 1}],
    "FisherTreeClassifier": [{}, {"refine": True}],
    "HHCartClassifier": [{"scale": "standard"}, {"variant": "dominant", "criterion": "entropy"}],
    "LMDTClassifier": [{"max_passes": 20}],
    "OC1Classifier": [{"n_restarts": 3, "guided_start": "fisher"}],
    "OrthogonalTreesClassifier": [
        {"n_estimators": 3, "max_leaf_nodes": 6, "centred": True, "predict_with": "trees"}
    ],
    "QuestClassifier": [{"pruning": None}, {"pruning": None, "split": "linear"}],
    "RefinedTreeClassifier": [{"max_leaf_nodes": 5, "probabilities": "calibrated"}],
    "RepeatedTreesClassifier": [
        {"estimator": obliqua.OC1Classifier(n_restarts=2), "n_estimators": 2}
    ],
    "SADTClassifier": [{"patience": 200, "cooling": 0.99}],
}


def fingerprint(*arrays: Any) -> str:
    """A hash of all bits."""
    found = hashlib.sha256()
    for array in map(np.asarray, arrays):
        found.update(f"{array.dtype} {array.shape}".encode())
        found.update(array.tobytes() if array.dtype != object else repr(array.tolist()).encode())
    return found.hexdigest()[:16]


def of_the_machine() -> dict[str, str]:
    """What each thing that a setting can change makes of the same numbers."""
    numbers = np.random.default_rng(0).integers(1, 2**40, 10_000) / 2.0**40
    square = numbers.reshape(100, 100)
    return {
        "BLAS": fingerprint(square @ square, square @ square[0]),
        "NumPy": fingerprint(np.log(numbers), np.exp(numbers)),
        "C library": fingerprint([(math.log(x), math.exp(x)) for x in numbers.tolist()]),
    }


def of_generators() -> dict[str, str]:
    """The rows of all makers of data."""
    found = {}
    for name in sorted(name for name in datasets.__all__ if name.startswith("make_")):
        made = getattr(datasets, name)(**GENERATORS[name], random_state=1)
        found[name] = fingerprint(made.data, made.target)
    return found


def problems() -> dict[str, tuple[np.ndarray, np.ndarray, list[int]]]:
    """Rows of numbers, and rows with levels and gaps; with the columns that have levels."""
    rng = np.random.default_rng(5)
    apart = rng.integers(-8, 9, size=(4, 4))
    X = (rng.integers(-999, 1000, size=(120, 4)) @ apart) / 1024.0
    y = np.where(X[:, 0] + X[:, 1] > 0.5, 1, 0) ^ (X[:, 2] - X[:, 3] > 2.0)
    odd = X.copy()
    odd[:, 3] = rng.integers(0, 5, size=120)
    odd[rng.random(odd.shape) < 0.05] = np.nan
    labels = y + 2 * (odd[:, 3] == 2)
    return {"numbers": (X, y, []), "levels": (odd, np.minimum(labels, 2), [3])}


def of_model(model: Any, X: np.ndarray) -> str:
    """All bytes of its file, and what it predicts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.obliqua"
        obliqua.save(model, path)
        kept = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    shares = [model.predict_proba(X)] if is_classifier(model) else []
    return fingerprint(kept, *shares, model.predict(X))


def of_methods() -> dict[str, str]:
    """The fitted models of all public estimators."""
    found = {}
    for name in obliqua.__all__:
        cls = getattr(obliqua, name)
        if not (isinstance(cls, type) and issubclass(cls, BaseEstimator)):
            continue
        for number, options in enumerate(OPTIONS.get(name, [{}])):
            for kind, (X, y, levels) in problems().items():
                model = cls(random_state=0, **options)
                if levels and "categorical_features" not in model.get_params():
                    continue
                if levels:
                    model.set_params(categorical_features=levels)
                if name == "EigenTreeClassifier":
                    y = np.minimum(y, 1)
                found[f"{name}-{number}-{kind}"] = of_model(model.fit(X, y), X)
    return found


if __name__ == "__main__":
    built: Any = np.show_config(mode="dicts")
    instructions = built["SIMD Extensions"].get("found", [])
    parts = {"machine": of_the_machine(), "data": of_generators(), "models": of_methods()}
    print(json.dumps({**parts, "instructions": instructions}))
