"""Who takes sparse X, who refuses it, and that nothing is made dense on the way."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import obliqua
from obliqua import (
    AggregatedTreeClassifier,
    C45Classifier,
    CartClassifier,
    CartRegressor,
    DistilledClassifier,
    EigenTreeClassifier,
    HHCartClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    OrthogonalTreesClassifier,
    RefinedTreeClassifier,
    RepeatedTreesClassifier,
    TreeError,
)

IRIS, SPECIES = load_iris(return_X_y=True)
FORMATS = (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)
TAKE: list[Any] = [
    CartClassifier(random_state=0),
    CartRegressor(random_state=0),
    HHCartClassifier(variant="dominant", max_features=2, random_state=0),
    ObliqueForestClassifier(5, random_state=0),
    ObliqueForestRegressor(5, random_state=0),
    RepeatedTreesClassifier(CartClassifier(max_features=2, pruning=None), random_state=0),
]
REFUSE: list[tuple[Any, str]] = [
    (C45Classifier(), "C45Classifier takes no sparse matrix as X.*TruncatedSVD"),
    (ObliqueTreeClassifier(), "ObliqueTreeClassifier takes no sparse matrix as X"),
    (RefinedTreeClassifier(), "RefinedTreeClassifier takes no sparse matrix as X"),
    (EigenTreeClassifier(), "EigenTreeClassifier takes no sparse matrix as X"),
    (RepeatedTreesClassifier(), "OC1Classifier takes no sparse matrix as X"),
    (OrthogonalTreesClassifier(CartClassifier()), "OrthogonalTreesClassifier takes no sparse"),
    (AggregatedTreeClassifier(), "AggregatedTreeClassifier takes no sparse matrix as X"),
    (DistilledClassifier(), "not a sparse one"),
    (HHCartClassifier(), "max_features=None takes no sparse.*With max_features it does"),
    (HHCartClassifier(max_features=2, refine=True), "refine=True takes no sparse"),
    (HHCartClassifier(max_features=2, reflect="root"), "reflect='root' takes no sparse"),
    (HHCartClassifier(max_features=2, scale="standard"), "scale='standard' takes no sparse"),
    (HHCartClassifier(max_features=2, variant="geometric"), "this variant takes no sparse"),
    (CartRegressor(leaf_model="linear"), "leaf_model='linear' takes no sparse.*'constant' does"),
]


def wide(n_rows: int = 1500, n_columns: int = 50_000) -> tuple[Any, np.ndarray]:
    """Rows with 20 numbers each; dense they would have 600 MB."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    column = rng.integers(0, n_columns, (n_rows, 20))
    column[:, 0] = y + 17  # tells the class
    row = np.repeat(np.arange(n_rows), 20)
    values = rng.integers(1, 4, column.size).astype(float)
    return sparse.csr_array((values, (row, column.ravel())), shape=(n_rows, n_columns)), y


@pytest.mark.parametrize("model", TAKE, ids=str)
@pytest.mark.parametrize("make", FORMATS)
def test_every_format_is_taken_and_left_as_it_was(model: Any, make: Any) -> None:
    X = make(IRIS)
    before = X.copy()
    found = clone(model).fit(X, SPECIES)
    dense = clone(model).fit(IRIS, SPECIES)
    np.testing.assert_array_equal(found.predict(X), dense.predict(IRIS))
    assert found.score(X, SPECIES) == dense.score(IRIS, SPECIES)
    np.testing.assert_array_equal(found.apply(X), dense.apply(IRIS))
    if hasattr(dense, "tree_"):
        assert (found.decision_path(X) != dense.decision_path(IRIS)).nnz == 0
    if hasattr(dense, "predict_proba"):
        np.testing.assert_array_equal(found.predict_proba(X), dense.predict_proba(IRIS))
    else:
        np.testing.assert_array_equal(found.predict_std(X), dense.predict_std(IRIS))
    assert (before != X).nnz == 0
    assert get_tags(model).input_tags.sparse


@pytest.mark.parametrize(("model", "message"), REFUSE, ids=lambda value: str(value)[:60])
def test_others_refuse_to_be_fitted(model: Any, message: str) -> None:
    assert not get_tags(model).input_tags.sparse
    for make in FORMATS:
        with pytest.raises(TypeError, match=message):
            model.fit(make(IRIS), SPECIES)


@pytest.mark.parametrize(
    "model", [C45Classifier(), ObliqueTreeClassifier(random_state=0)], ids=str
)
def test_every_fitted_tree_takes_it(model: Any) -> None:
    model = clone(model).fit(IRIS, SPECIES)
    X = sparse.csr_array(IRIS)
    np.testing.assert_array_equal(model.predict(X), model.predict(IRIS))
    np.testing.assert_array_equal(model.tree_.apply(X), model.tree_.apply(IRIS))


def test_leaves_with_linear_functions_take_it_too() -> None:
    model = CartRegressor(leaf_model="linear", random_state=0).fit(IRIS[:, 1:], IRIS[:, 0])
    X = sparse.csc_array(IRIS[:, 1:])
    np.testing.assert_array_equal(model.predict(X), model.predict(IRIS[:, 1:]))


@pytest.mark.parametrize(
    "model",
    [
        CartClassifier(random_state=0),
        CartRegressor(criterion="squared_error", pruning=None),
        CartClassifier(max_features="sqrt", pruning=None, random_state=0),
        HHCartClassifier(max_features=50, pruning=None, random_state=0, max_depth=3),
        ObliqueForestClassifier(3, random_state=0, oob_score=True),
        ObliqueForestRegressor(3, random_state=0, max_features="sqrt"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Of .* were drawn for every tree")
def test_nothing_is_made_dense(model: Any) -> None:
    X, y = wide()
    tracemalloc.start()
    model = clone(model).fit(X, y)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_a_model_file_takes_it(tmp_path: Any) -> None:
    X, y = wide(200, 3000)
    for model in (CartClassifier(pruning=None), ObliqueForestClassifier(3, random_state=0)):
        model.fit(X, y)
        obliqua.save(model, tmp_path / "model.obliqua")
        again = obliqua.load(tmp_path / "model.obliqua")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.score(X, y) == model.score(X, y)


def test_words_of_a_pipeline() -> None:
    texts = ["oak and elm", "elm", "oak oak ash", "cat and dog", "dog dog", "cow and cat"] * 5
    kind = np.array(["tree", "tree", "tree", "animal", "animal", "animal"] * 5)
    model = make_pipeline(CountVectorizer(), CartClassifier(pruning=None)).fit(texts, kind)
    assert model.score(texts, kind) == 1.0


def test_a_frame_of_sparse_columns() -> None:
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(IRIS), columns=names)
    model = CartClassifier(random_state=0).fit(frame, SPECIES)
    assert model.feature_names_in_.tolist() == names
    assert model.tree_ == CartClassifier(random_state=0).fit(IRIS, SPECIES).tree_
    np.testing.assert_array_equal(
        model.predict(frame), model.predict(pd.DataFrame(IRIS, columns=names))
    )


def test_messages() -> None:
    X = sparse.csr_array(IRIS)
    odd = IRIS.copy()
    odd[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        CartClassifier().fit(sparse.csr_array(odd), SPECIES)
    odd[3, 1] = np.nan
    with pytest.raises(ValueError, match="fill='side'"):
        CartClassifier(fill="node").fit(sparse.csr_array(odd), SPECIES)
    with pytest.raises(ValueError, match="criteria of the library"):
        CartClassifier(criterion=lambda left, right: 1.0).fit(X, SPECIES)
    with pytest.raises(ValueError, match="holds numbers only"):
        CartClassifier(categorical_features=[0]).fit(X, SPECIES)
    model = CartClassifier(pruning=None).fit(X, SPECIES)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :3])
    with pytest.raises(TreeError, match="4 columns"):
        model.tree_.apply(X[:, :3])
    forest = ObliqueForestClassifier(2, random_state=0).fit(X, SPECIES)
    with pytest.raises(ValueError, match="dense X"):
        forest.oob_importances(X, SPECIES)


def test_no_entries_at_all() -> None:
    X, y = sparse.csr_array((4, 3)), np.array([0, 1, 1, 1])
    for model in (CartClassifier(pruning=None), ObliqueForestClassifier(2, random_state=0)):
        assert model.fit(X, y).get_n_leaves() == len(getattr(model, "estimators_", [0]))
