"""Trees whose nodes hold values of a function: components of an ensemble."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from obliqua import (
    OrthogonalTreesClassifier,
    TreeBuilder,
    TreeError,
    export_graphviz,
    export_rules,
    export_text,
    plot_tree,
)
from obliqua.tree.tree import Tree


def by_hand() -> Tree:
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.5, ("a", "b"))
    builder.set_leaf("a", [-3.4, 4.4])
    builder.set_leaf("b", [1.7, -0.7])
    return builder.build()


def test_texts_and_pictures_show_values() -> None:
    text = export_text(by_hand(), class_names=["no", "yes"])
    assert "yes (values no: -3.4, yes: 4.4)" in text
    assert "no (values no: 1.7, yes: -0.7)" in text
    assert "%" not in text and "weight" not in text
    assert "values no: -3.4, yes: 4.4" in export_graphviz(by_hand(), class_names=["no", "yes"])
    words = {artist.get_text() for artist in plot_tree(by_hand()).texts}
    assert {"value 4.4", "value 1.7"} <= words


def test_many_classes_are_counted() -> None:
    builder = TreeBuilder(n_features=1, n_stats=5)
    builder.set_leaf("root", [-1.0, 2.0, 0.5, 0.25, 1.0])
    names = list("abcde")
    assert "values a: -1, b: 2, c: 0.5, 2 more" in export_text(builder.build(), class_names=names)


def test_rules_are_about_rows() -> None:
    with pytest.raises(TreeError, match="hold values of a function"):
        export_rules(by_hand())


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
    assert "colour" in text and "red" in text and "values no: " in text
    for wrong in (2, -1, 1.0):
        with pytest.raises(ValueError, match="There are 2 components, numbered from 0"):
            model.component_model(wrong)
        with pytest.raises(ValueError, match="There are 2 components, numbered from 0"):
            model.component_spectrum(wrong)
