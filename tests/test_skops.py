"""skops keeps our estimators, given the types that the guide names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obliqua import (
    CartClassifier,
    CartRegressor,
    HHCartClassifier,
    LMDTClassifier,
    ObliqueForestClassifier,
    RefinedTreeClassifier,
    RepeatedTreesClassifier,
    to_sklearn,
)
from trees_to_read import people

skops = pytest.importorskip("skops.io")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "tools.md"
ESTIMATORS = [
    CartClassifier(),
    CartRegressor(),
    HHCartClassifier(),
    LMDTClassifier(random_state=0),
    ObliqueForestClassifier(n_estimators=3),
    RefinedTreeClassifier(random_state=0),
    RepeatedTreesClassifier(HHCartClassifier(), n_estimators=2, random_state=0),
]


def documented() -> set[str]:
    """The types that the guide lists."""
    found = re.search(r"^trusted = \[\n(.*?)^\]", PAGE.read_text("utf-8"), re.M | re.S)
    assert found
    return set(re.findall(r'"(.+?)"', found[1]))


def path_of(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_the_types_of_the_guide_are_enough(model: Any) -> None:
    frame, labels = people()
    numeric = frame[["age", "pay"]].fillna(0.0)
    X = frame if model._takes_odd else numeric
    y = (labels == "yes").astype(float) if isinstance(model, CartRegressor) else labels
    model.fit(X, y)
    model.predict(X)  # after which trees hold what they have computed
    kept = skops.dumps(model)
    inside = [value for value in model.get_params().values() if hasattr(value, "fit")]
    trusted = documented() | {path_of(model), *map(path_of, inside)}
    assert set(skops.get_untrusted_types(data=kept)) <= trusted
    again = skops.loads(kept, trusted=sorted(trusted))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.model_ == model.model_


def test_a_pipeline_of_to_sklearn() -> None:
    frame, labels = people()
    fitted = to_sklearn(HHCartClassifier().fit(frame, labels))
    kept = skops.dumps(fitted)
    trusted = documented() | {
        "obliqua.export.plane_values.PlaneValues",
        "sklearn.tree._tree.Tree",
    }
    assert set(skops.get_untrusted_types(data=kept)) <= trusted
    again = skops.loads(kept, trusted=sorted(trusted))
    assert np.array_equal(again.predict_proba(frame), fitted.predict_proba(frame))
