"""Anything that holds a tree is read in one way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from obliqua import CartClassifier, MissingDependency, Tree, TreeBuilder, TreeError
from obliqua._extras import require
from obliqua.data.encoding import Column, Encoding
from obliqua.tree.model import Model
from obliqua.words.subject import distinct, read_column, read_values, subject_of

X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "bmi": [1.0, 0.0, 1.0, 0.0]})
Y = ["no", "no", "yes", "yes"]


@pytest.fixture
def fitted() -> CartClassifier:
    return CartClassifier(pruning=None).fit(X, Y)


def test_an_estimator_its_model_and_its_tree(fitted: CartClassifier) -> None:
    for thing, names, classes in (
        (fitted, ("age", "bmi"), ("no", "yes")),
        (fitted.model_, ("age", "bmi"), ("no", "yes")),
        (fitted.tree_, ("x0", "x1"), ("0", "1")),
    ):
        seen = subject_of(thing)
        assert seen.tree is fitted.tree_
        assert seen.encoding.names == names
        assert seen.class_names == classes
        given = X.to_numpy() if thing is fitted.tree_ else X
        np.testing.assert_array_equal(seen.rows(given), X.to_numpy())


def test_names_may_be_given(fitted: CartClassifier) -> None:
    seen = subject_of(fitted, feature_names=["a", "b"], class_names=["x", "y"])
    assert seen.encoding.names == ("a", "b")
    assert seen.class_names == ("x", "y")
    with pytest.raises(ValueError, match="each of the 2 columns; got 1 names"):
        subject_of(fitted, feature_names=["a"])
    with pytest.raises(ValueError, match="each of the 2 classes; got 'xy'"):
        subject_of(fitted, class_names="xy")


def test_equal_names_are_told_apart(fitted: CartClassifier) -> None:
    seen = subject_of(fitted, feature_names=["a", "a"], class_names=["", ""])
    assert seen.encoding.names == ("a [0]", "a [1]")
    assert seen.class_names == (" [0]", " [1]")
    assert distinct(["a", "a", "a [0]"]) == ("a [0] [0]", "a [1]", "a [0] [2]")


def test_labels_become_codes(fitted: CartClassifier) -> None:
    seen = subject_of(fitted)
    np.testing.assert_array_equal(seen.codes(["yes", "no"]), [1, 0])
    with pytest.raises(ValueError, match="'maybe', which is none of the tree's classes"):
        seen.codes(["yes", "maybe"])
    with pytest.raises(ValueError, match="one dimension"):
        seen.codes([["yes"]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_model_finds_columns_by_name(fitted: CartClassifier, frame: type) -> None:
    rows = frame({"bmi": [1.0, 0.0], "more": [7.0, 7.0], "age": [1.0, 4.0]})
    np.testing.assert_array_equal(fitted.model_.rows(rows), [[1.0, 1.0], [4.0, 0.0]])
    with pytest.raises(ValueError, match="'age' is missing in X"):
        fitted.model_.rows(frame({"bmi": [1.0]}))


def test_a_model_refuses_rows_that_are_none(fitted: CartClassifier) -> None:
    with pytest.raises(ValueError, match="infinity"):
        fitted.model_.rows([[1.0, np.inf]])
    assert np.isnan(fitted.model_.rows([[1.0, np.nan]])[0, 1])  # its splits have stand-ins
    with pytest.raises(TreeError, match="2 columns"):
        fitted.model_.rows([[1.0, 2.0, 3.0]])


def test_what_cannot_be_read() -> None:
    class Own(CartClassifier):
        pass

    for estimator in (CartClassifier(), Own()):
        with pytest.raises(NotFittedError, match=r"is not fitted.*Call fit first"):
            subject_of(estimator)
    with pytest.raises(TypeError, match="got int"):
        subject_of(3)
    with pytest.raises(TypeError, match="the class CartClassifier itself"):
        subject_of(CartClassifier)


def test_estimators_of_others(fitted: CartClassifier) -> None:
    with pytest.raises(TypeError, match="DecisionTreeClassifier is not an estimator of obliqua"):
        subject_of(DecisionTreeClassifier().fit(X, Y))
    pipe = make_pipeline(StandardScaler(), CartClassifier(pruning=None)).fit(X, Y)
    with pytest.raises(TypeError, match=r"Pipeline.*last step.*pipe\[-1\]"):
        subject_of(pipe)
    assert subject_of(pipe[-1]).tree is pipe[-1].tree_
    search = GridSearchCV(CartClassifier(pruning=None), {"max_depth": [1]}, cv=2).fit(X, Y)
    with pytest.raises(TypeError, match="best_estimator_"):
        subject_of(search)
    assert subject_of(search.best_estimator_).tree.n_leaves == 2


@pytest.mark.parametrize("tree", ["x", 0.0, True, [0]])
def test_the_number_of_a_tree_is_a_number(fitted: CartClassifier, tree: Any) -> None:
    with pytest.raises(TypeError, match="tree must be the number of a tree"):
        subject_of(fitted, tree=tree)
    assert subject_of(fitted, tree=np.int64(0)).tree is fitted.tree_


def test_one_tree_of_several() -> None:
    trees = []
    for threshold in (0.0, 1.0):
        builder = TreeBuilder(1, 2)
        builder.add_split("root", {0: 1.0}, threshold, ("low", "high"))
        builder.set_leaf("low", [1, 0])
        builder.set_leaf("high", [0, 1])
        trees.append(builder.build())
    model = Model(tuple(trees), "vote", Encoding.identity(1), np.array(["a", "b"]))
    assert subject_of(model, tree=1).tree is trees[1]
    with pytest.raises(TreeError, match="has 2 trees"):
        subject_of(model)
    with pytest.raises(TreeError, match="got tree=2"):
        subject_of(model, tree=2)


def test_a_package_that_is_not_installed() -> None:
    assert require("json", "plot", "Testing").dumps([]) == "[]"
    with pytest.raises(MissingDependency, match=r"Drawing a tree needs the package nothing_here"):
        require("nothing_here.figure", "plot", "Drawing a tree")
    with pytest.raises(MissingDependency, match=r"pip install nothing_here \(.*extra 'plot'"):
        require("nothing_here.figure", "plot", "Drawing a tree")
    with pytest.raises(MissingDependency, match=r"pip install nothing_here$"):
        require("nothing_here.figure", None, "Drawing a tree")


def test_rows_with_missing_values_are_read_as_the_tree_walks_them() -> None:
    builder = TreeBuilder(2, 2)
    tables, fill = {1: [4.0, -1.0]}, {0: 10.0, 1: 0.5}
    builder.add_split("root", {0: 2.0, 1: 3.0}, 5.0, ("a", "b"), tables=tables, fill=fill)
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    town = Column("town", "qualitative", ("Bonn", "Rome"))
    encoding = Encoding((Column("age"), town))
    model = Model((builder.build(),), "single", encoding, np.array(["no", "yes"]))
    Z = subject_of(model).rows([[1.0, "Rome"], [None, "Bonn"], [1.0, None], [1.0, "Oslo"]])
    values = read_values(model.trees[0], 0, Z)
    assert values.tolist() == [2.0 - 3.0, 20.0 + 12.0, 2.0 + 1.5, 2.0]
    assert (values <= 5.0).tolist() == (model.apply(Z) == 1).tolist()
    assert np.isnan(read_column(split_without_fill(), 0, np.full((1, 1), np.nan))).all()


def split_without_fill() -> Tree:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.0, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    return builder.build()


def test_an_encoding_tells_a_bare_tree_its_levels() -> None:
    town = Column("town", "qualitative", ("Bonn", "Rome"))
    seen = subject_of(split_without_fill(), feature_names=Encoding((town,)))
    assert seen.encoding.columns == (town,)
    with pytest.raises(ValueError, match="each of the 1 columns; got an encoding of 2"):
        subject_of(split_without_fill(), feature_names=Encoding((town, Column("age"))))
