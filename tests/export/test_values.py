"""Trees whose nodes hold numbers for classes: components of an ensemble."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from obliqua import (
    OrthogonalTreesClassifier,
    TreeBuilder,
    export_graphviz,
    export_rules,
    export_text,
    plot_tree,
)
from obliqua.data.encoding import Encoding
from obliqua.tree.model import Model


def by_hand() -> Model:
    builder = TreeBuilder(n_features=1, n_outputs=2)
    builder.add_split("root", {0: 1.0}, 0.5, ("a", "b"))
    builder.set_leaf("a", value=[-3.4, 4.4])
    builder.set_leaf("b", value=[1.7, -0.7])
    return Model((builder.build(),), "sum", Encoding.identity(1), np.array(["no", "yes"]))


def test_texts_and_pictures_show_numbers() -> None:
    assert export_text(by_hand()).splitlines() == [
        "2 leaves, depth 1; means no: -0.85, yes: 1.85",
        "",
        "x0 <= 0.5",
        "├─ yes: means no: -3.4, yes: 4.4",
        "└─ no:  means no: 1.7, yes: -0.7",
    ]
    assert '[label="means no: -3.4, yes: 4.4", fill' in export_graphviz(by_hand())
    assert str(export_rules(by_hand())[1]) == "if x0 > 0.5 then means no: 1.7, yes: -0.7"
    words = {artist.get_text() for artist in plot_tree(by_hand()).texts}
    assert {"yes: 4.4", "no: 1.7"} <= words
    assert by_hand().predict(np.array([[0.0], [1.0]])).tolist() == ["yes", "no"]


def test_many_classes_are_counted() -> None:
    builder = TreeBuilder(n_features=1, n_outputs=5)
    builder.set_leaf("root", value=[-1.0, 2.0, 0.5, 0.25, 1.0])
    names = list("abcde")
    assert "means a: -1, b: 2, c: 0.5, 2 more" in export_text(builder.build(), class_names=names)


def test_a_component_is_read_with_the_names_of_its_levels() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"colour": rng.choice(["red", "green", "blue"], 150), "size": rng.normal(size=150)}
    )
    y = np.where((X["colour"] == "red") & (X["size"] > 0), "yes", "no")
    model = OrthogonalTreesClassifier(n_estimators=5, n_components=2, random_state=0).fit(X, y)
    component = model.component_model(1)
    assert component.trees[0] is model.trees_[1]
    text = export_text(component)
    assert "colour" in text and "red" in text and "means no: " in text
    for wrong in (2, -1, 1.0):
        with pytest.raises(ValueError, match="There are 2 components, numbered from 0"):
            model.component_model(wrong)
        with pytest.raises(ValueError, match="There are 2 components, numbered from 0"):
            model.component_spectrum(wrong)
