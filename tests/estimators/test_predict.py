"""Predicting: the short way for plain arrays gives what the usual way gives, messages included."""

import numpy as np
import pytest
import sklearn

from estimators.registry import blobs, each_estimator, each_representative
from obliqua.estimators import _fitted, _input

X, Y = blobs(200, 4, 3)
METHODS = ("predict", "predict_proba", "predict_log_proba", "apply", "decision_path")


class Array(np.ndarray):
    """No plain array, so it takes the usual way."""


def outcome(model, method, rows):
    """What a call gives: values, or the error's type and text."""
    try:
        result = getattr(model, method)(rows)
    except Exception as error:
        return type(error), str(error)
    return result.toarray() if hasattr(result, "toarray") else result


def assert_same_outcome(one, other):
    if isinstance(one, tuple):
        assert one == other
    else:
        np.testing.assert_array_equal(one, other, strict=True)


ROWS = {
    "one row": X[:1],
    "many rows": X,
    "float32": X.astype(np.float32),
    "column after column": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": X[::-1, ::-1],
    "huge": X * 1e307,
    "NaN": np.full((1, 4), np.nan),
    "infinity": np.full((3, 4), np.inf),
    "minus infinity, float32": np.full((3, 4), -np.inf, dtype=np.float32),
    "too few columns": X[:, :3],
    "too many columns": np.zeros((2, 5)),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "one dimension": X[0],
    "three dimensions": X[None],
}


@each_representative
@pytest.mark.parametrize("method", METHODS)
def test_both_ways_agree(Estimator, method):
    model = Estimator(max_depth=3, random_state=0).fit(X, Y)
    for rows in ROWS.values():
        assert_same_outcome(outcome(model, method, rows), outcome(model, method, rows.view(Array)))


@each_representative
def test_plain_arrays_take_the_short_way(Estimator, monkeypatch):
    model = Estimator(max_depth=3, random_state=0).fit(X, Y)

    def usual_way(*args, **kwargs):
        raise AssertionError("the usual way was taken")

    monkeypatch.setattr(_input, "validate_data", usual_way)
    for name in ("one row", "many rows", "float32", "column after column", "strided", "backwards"):
        model.predict(ROWS[name])
    for rows in (X.tolist(), X.astype(int), X.view(Array), X[0], np.full((1, 4), np.nan)):
        with pytest.raises(AssertionError, match="usual way"):
            model.predict(rows)


@each_representative
def test_names_are_missed_where_there_were_names(Estimator):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcd"))
    model = Estimator(max_depth=3, random_state=0).fit(frame, Y)
    for rows in (X, X.view(Array)):
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            model.predict(rows)
    unnamed = Estimator(max_depth=3, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="X has feature names, but"):
        unnamed.predict(frame)


@each_representative
def test_assume_finite_is_heard_by_both_ways(Estimator):
    model = Estimator(max_depth=3, random_state=0).fit(X, Y)
    rows = np.full((2, 4), np.inf)
    with sklearn.config_context(assume_finite=True):
        assert_same_outcome(
            outcome(model, "apply", rows), outcome(model, "apply", rows.view(Array))
        )


@each_representative
def test_threads_change_nothing(Estimator):
    rows = np.random.default_rng(3).normal(size=(3 * _fitted.ROWS_WORTH_THREADS, 4))
    model = Estimator(random_state=0).fit(X, Y)
    for method in ("predict", "predict_proba", "apply"):
        alone = getattr(model.set_params(n_jobs=None), method)(rows)
        together = getattr(model.set_params(n_jobs=2), method)(rows)
        np.testing.assert_array_equal(alone, together)


@each_representative
def test_predicting_copies_and_changes_nothing(Estimator):
    rows = X.copy()
    rows.flags.writeable = False
    model = Estimator(random_state=0).fit(rows, Y)
    before = dict(vars(model))
    for method in METHODS:
        getattr(model, method)(rows)
    assert all(value is before[name] for name, value in vars(model).items())
    np.testing.assert_array_equal(rows, X)


@each_estimator
def test_the_answers_fit_together(Estimator):
    model = Estimator(random_state=0, min_samples_leaf=5).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(proba))
    leaves, path = model.apply(X), model.decision_path(X)
    assert path.shape == (len(X), model.tree_.n_nodes)
    np.testing.assert_array_equal(path.indices[path.indptr[1:] - 1], leaves)
    np.testing.assert_array_equal(np.diff(path.indptr), model.tree_.node_depth[leaves] + 1)
    assert model.tree_.is_leaf[leaves].all()
    assert model.get_depth() == np.diff(path.indptr).max() - 1
    assert model.get_n_leaves() == len(np.unique(leaves))
    assert model.score(X, Y) == (model.predict(X) == Y).mean()
    stats = model.tree_.stats[leaves]
    np.testing.assert_allclose(proba, stats / stats.sum(axis=1, keepdims=True))
