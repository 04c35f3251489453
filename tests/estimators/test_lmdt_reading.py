"""What reads, keeps or cuts trees takes those of LMDT, or says by name what it does not take."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimators.registry import assert_sound, blobs
from obliqua import (
    LMDTClassifier,
    TreeError,
    export_graphviz,
    export_rules,
    export_text,
    load,
    measure_spread,
    save,
)
from obliqua.explain import margins, regions, split_stability
from obliqua.tree.layout import NodeKind
from trees_to_read import people, strangers

X, Y = blobs(300, 3, 3, seed=1)


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Two qualitative columns, two of numbers, holes, and three classes."""
    frame, _ = people(400)
    value = frame["pay"].fillna(0) + 2.0 * frame["town"].isin(["Oslo", "Rome"])
    return frame, np.array(["low", "mid", "high"])[np.digitize(value, [0.3, 1.4])]


@pytest.fixture(scope="module", params=["numbers", "a table"])
def fitted(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    rows, labels = (X, Y) if request.param == "numbers" else table()
    model = LMDTClassifier(random_state=0, pruning=None).fit(rows, labels)
    assert model.tree_.kind[0] == NodeKind.MACHINE
    return model, rows, labels


def test_trees_are_sound(fitted: tuple[Any, Any, Any]) -> None:
    model, rows, labels = fitted
    model.tree_.validate()
    assert_sound(model, rows, labels)
    assert not np.isnan(model.tree_.spread).any()
    assert not np.isnan(model.tree_.fill).any()


def test_files(fitted: tuple[Any, Any, Any]) -> None:
    model, _, _ = fitted
    file = io.BytesIO()
    save(model, file)
    file.seek(0)
    again = load(file)
    assert again.tree_ == model.tree_
    assert again.n_hyperplanes_ == model.n_hyperplanes_ > 0


def test_a_file_with_a_strange_count() -> None:
    from obliqua.errors import ModelFileError
    from obliqua.io.files import read_model, write_model

    file = io.BytesIO()
    save(LMDTClassifier(random_state=0).fit(X, Y), file)
    file.seek(0)
    model, about = read_model(file)
    for strange in ("many", -3, True, [1]):
        about["notes"] = {"n_hyperplanes_": strange, "classes_": 3}
        changed = io.BytesIO()
        write_model(model, changed, about)
        changed.seek(0)
        with pytest.raises(ModelFileError, match="cannot be made again"):
            load(changed)
    about["notes"] = {"n_hyperplanes_": 5, "classes_": 3}
    changed = io.BytesIO()
    write_model(model, changed, about)
    changed.seek(0)
    loaded = load(changed)
    assert loaded.n_hyperplanes_ == 5
    assert loaded.classes_.tolist() == [0, 1, 2]


def test_texts(fitted: tuple[Any, Any, Any]) -> None:
    model, _, _ = fitted
    text = export_text(model)
    assert "which of 3 scores is largest?" in text
    names = model.model_.encoding.names
    assert all(name in text for name in np.asarray(names)[np.unique(model.tree_.coef_idx)])
    first = next(rule for rule in export_rules(model) if "largest of [" in str(rule))
    assert first.rows > 0
    assert "which of 3 scores is largest?" in export_graphviz(model)
    frame = model.tree_.to_frame(model.model_.encoding)
    assert frame["question"][0].startswith("largest of: ")
    assert frame["question"][0].count(";") == 2


def test_exact_rules_say_what_the_tree_does() -> None:
    model = LMDTClassifier(random_state=0).fit(X, Y)
    for rule in export_rules(model):
        assert any("is the largest of [" in str(condition) for condition in rule.conditions)
    assert sum(rule.rows for rule in export_rules(model)) == model.tree_.n_samples[0]


def test_regions_of_numbers() -> None:
    model = LMDTClassifier(random_state=0).fit(X, Y)
    leaf = model.apply(X)
    for region in regions(model):
        np.testing.assert_array_equal(region.contains(X), leaf == region.leaf)


@pytest.mark.parametrize("read", [margins, split_stability])
def test_what_is_known_of_hyperplanes_only(read: Any) -> None:
    model = LMDTClassifier(random_state=0).fit(X, Y)
    rows = (X,) if read is margins else (X, Y)
    with pytest.raises(TreeError, match="Node 0 is a linear machine"):
        read(model, *rows)


def test_two_classes_have_margins_and_stability() -> None:
    """Their splits are hyperplanes, of which everything is known."""
    two = Y < 2
    model = LMDTClassifier(random_state=0).fit(X[two], Y[two])
    assert len(margins(model, X[two]).closest()) == two.sum()
    stability = split_stability(model, X[two], Y[two], n_resamples=5)
    assert len(stability.nodes) == (~model.tree_.is_leaf).sum()


def test_rows_with_levels_never_seen_and_holes() -> None:
    frame, labels = table()
    model = LMDTClassifier(random_state=0).fit(frame, labels)
    assert set(model.predict(strangers())) <= {"low", "mid", "high"}
    assert model.score(frame, labels) > 0.9


def test_spread_is_measured_on_plain_columns() -> None:
    model = LMDTClassifier(random_state=0, pruning=None).fit(X, Y)
    tree = model.tree_
    assert measure_spread(tree, X) == tree
    np.testing.assert_allclose(tree.spread[: tree.coef_ptr[1]], X.std(axis=0), rtol=1e-6)
