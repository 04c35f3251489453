"""What no tree can be grown from is refused, with a message that says why."""

import importlib
import re
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from estimators.registry import blobs, each_estimator, each_plain_estimator, each_representative

X, Y = blobs()
PREDICTING = ("predict", "predict_proba", "predict_log_proba", "apply", "decision_path")


def with_value(value, dtype=np.float64):
    bad = X.astype(dtype)
    bad[7, 2] = value
    return bad


# --- the rows -------------------------------------------------------------------------------

# What only methods for plain numbers refuse; the others: tests/estimators/test_tables.py.
ODD_ROWS = {
    "NaN": (with_value(np.nan), ValueError, "NaN"),
    "NaN, float32": (with_value(np.nan, np.float32), ValueError, "NaN"),
    "None": (with_value(None, object), ValueError, "NaN"),
    "strings": (np.full(X.shape, "high"), ValueError, "could not convert string to float"),
}
BAD_ROWS = {
    "infinity": (with_value(np.inf), ValueError, "infinity"),
    "minus infinity": (with_value(-np.inf), ValueError, "infinity"),
    "infinity, float32": (with_value(np.inf, np.float32), ValueError, "infinity"),
    "one dimension": (X[:, 0], ValueError, "Expected 2D array, got 1D array"),
    "three dimensions": (X[:, :, None], ValueError, "dim 3"),
    "a number": (3.0, ValueError, "Expected 2D array, got scalar"),
    "no rows": (X[:0], ValueError, re.escape("0 sample(s)")),
    "no columns": (X[:, :0], ValueError, re.escape("0 feature(s)")),
    "ragged lists": ([[1.0, 2.0], [3.0]], ValueError, "inhomogeneous"),
    "complex": (X + 1j, ValueError, "Complex data not supported"),
    "sparse": (sp.csr_array(X), TypeError, re.escape("X.toarray() if there is memory")),
    "sparse matrix": (sp.csc_matrix(X), TypeError, "takes no sparse matrix as X"),
    "a dictionary": ({"a": 1}, ValueError, r"a mapping \(dict\).*pandas.DataFrame\(X\)"),
    "dictionaries": ([{"a": 1}] * len(Y), ValueError, "a list of mappings, one for each row"),
    "dates": (np.zeros(X.shape, dtype="M8[D]"), ValueError, "dates or times in an array"),
    "bytes": (np.full(X.shape, b"1"), ValueError, r"byte strings.*astype\(str\)"),
}


@each_representative
@pytest.mark.parametrize("name", BAD_ROWS)
def test_fit_refuses_rows(Estimator, name):
    bad, error, text = BAD_ROWS[name]
    n_rows = bad.shape[0] if hasattr(bad, "shape") else len(Y)
    with pytest.raises(error, match=text):
        Estimator().fit(bad, Y[:n_rows])


@each_representative
@pytest.mark.parametrize("method", PREDICTING)
def test_predicting_refuses_the_same_rows(Estimator, method):
    model = Estimator(max_depth=2).fit(X, Y)
    for name, (bad, error, text) in BAD_ROWS.items():
        if name.startswith("sparse"):  # every fitted tree takes these
            continue
        with pytest.raises(error, match=text):
            getattr(model, method)(bad)


@each_plain_estimator
@pytest.mark.parametrize("name", ODD_ROWS)
def test_methods_for_plain_numbers_refuse_others(Estimator, name):
    bad, error, text = ODD_ROWS[name]
    with pytest.raises(error, match=text):
        Estimator().fit(bad, Y)
    model = Estimator(max_depth=2).fit(X, Y)
    for method in PREDICTING:
        with pytest.raises(error, match=text):
            getattr(model, method)(bad)


@each_representative
@pytest.mark.parametrize("method", PREDICTING)
def test_predicting_refuses_another_number_of_columns(Estimator, method):
    model = Estimator(max_depth=2).fit(X, Y)
    for n_columns in (1, 3, 5):
        text = f"X has {n_columns} features, but {Estimator.__name__} is expecting 4 features"
        with pytest.raises(ValueError, match=text):
            getattr(model, method)(np.zeros((2, n_columns)))


@each_representative
@pytest.mark.parametrize("method", [*PREDICTING, "score", "get_depth", "get_n_leaves"])
def test_asking_before_fitting(Estimator, method):
    arguments = () if method.startswith("get_") else (X, Y) if method == "score" else (X,)
    with pytest.raises(NotFittedError, match=f"This {Estimator.__name__} instance is not fitted"):
        getattr(Estimator(), method)(*arguments)


@each_representative
def test_two_columns_of_one_name(Estimator):
    frame = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    text = "X has more than one column called 'a'. Columns are found by name: give each a name"
    with pytest.raises(ValueError, match=text):
        Estimator().fit(frame, Y)
    model = Estimator(max_depth=2).fit(frame.set_axis(list("abcd"), axis=1), Y)
    with pytest.raises(ValueError, match=text):
        model.predict(frame)


# --- the labels -----------------------------------------------------------------------------

DATES = "y holds dates or times.*astype"
BAD_LABELS = {
    "none": (None, ValueError, "requires y to be passed"),
    "too few": (Y[:-1], ValueError, "inconsistent numbers of samples"),
    "too many": (np.append(Y, 0), ValueError, "inconsistent numbers of samples"),
    "two columns": (np.column_stack([Y, Y]), ValueError, "y should be a 1d array"),
    "one-hot": (np.eye(3)[Y], ValueError, "y should be a 1d array"),
    "a quantity": (X[:, 0], ValueError, "Unknown label type: continuous"),
    "NaN": (
        np.where(Y == 0, np.nan, Y),
        ValueError,
        "no label in 40 of 120 rows, first nan in row 0",
    ),
    "infinity": (np.where(Y == 0, np.inf, Y), ValueError, "Input y contains infinity"),
    "text and numbers": ((["a", 1] * len(Y))[: len(Y)], ValueError, "mixes text and numbers: 'a'"),
    "text and truth values": (
        np.array(["a", True] * len(Y), dtype=object)[: len(Y)],
        ValueError,
        "mixes text and numbers: 'a' in row 0 and True in row 1",
    ),
    "None": ([None, *Y[1:].tolist()], ValueError, "no label in 1 of .* rows, first None in row 0"),
    "None beside text": (["a", None, *["b"] * (len(Y) - 2)], ValueError, "first None in row 1"),
    "NaN beside text": ([np.nan, *["b"] * (len(Y) - 1)], ValueError, "first nan in row 0"),
    "missing text of a frame": (
        pd.Series(["a", None, *["b"] * (len(Y) - 2)], dtype="string"),
        ValueError,
        "no label in 1 of .* rows",
    ),
    "bytes": (np.array([b"a", b"b", b"c"])[Y], TypeError, "Got bytes; decode them"),
    "dates": (np.array(["2020-01-01", "2021-02-03"], dtype="M8[D]")[Y % 2], ValueError, DATES),
    "dates of pandas": (pd.Series(pd.to_datetime(["2020-01-01"] * len(Y))), ValueError, DATES),
    "dates of polars": (pl.Series([date(2020, 1, 1)] * len(Y)), ValueError, DATES),
    "a list of dates": ([date(2020, 1, 1 + k % 2) for k in Y], ValueError, DATES),
    "an end that NumPy drops": (["a", "a\0"] * (len(Y) // 2), ValueError, "character 0"),
    "a number": (1, (ValueError, TypeError), None),
}


@each_representative
@pytest.mark.parametrize("name", BAD_LABELS)
def test_fit_refuses_labels(Estimator, name):
    bad, error, text = BAD_LABELS[name]
    with pytest.raises(error, match=text):
        Estimator().fit(X, bad)


@each_representative
def test_nearly_as_many_classes_as_rows_is_suspicious(Estimator):
    with pytest.warns(UserWarning, match="100 classes in 100 rows"):
        Estimator().fit(X[:100], np.arange(100))


# --- the weights ----------------------------------------------------------------------------


def weights_with(value):
    weights = np.ones(len(Y))
    weights[3] = value
    return weights


BAD_WEIGHTS = {
    "negative": (weights_with(-1.0), "[Nn]egative"),
    "NaN": (weights_with(np.nan), "sample_weight contains NaN"),
    "infinity": (weights_with(np.inf), "sample_weight contains infinity"),
    "too few": (np.ones(len(Y) - 1), "sample_weight.shape"),
    "two columns": (np.ones((len(Y), 2)), "1D array or scalar"),
    "strings": (np.full(len(Y), "heavy"), "could not convert string to float"),
    "all zero": (np.zeros(len(Y)), "zero"),
    "too large to add up": (np.full(len(Y), 1e308), "too large"),
}


@each_representative
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_fit_refuses_sample_weights(Estimator, name, class_weight):
    bad, text = BAD_WEIGHTS[name]
    with pytest.raises(ValueError, match=text):
        Estimator(class_weight=class_weight).fit(X, Y, sample_weight=bad)


BAD_CLASS_WEIGHTS = {
    "negative": ({0: -1.0}, "finite and not negative"),
    "NaN": ({0: np.nan}, "finite and not negative"),
    "infinity": ({1: np.inf}, "finite and not negative"),
    "another type of label": ({"0": 1.0, "1": 2.0, "2": 3.0}, "not in y.*with their type"),
    "another word": ("fair", "The 'class_weight' parameter of .* must be"),
    "a list": ([1.0, 2.0, 3.0], "The 'class_weight' parameter of .* must be"),
    "all zero": ({0: 0.0, 1: 0.0, 2: 0.0}, "zero|positive"),
    "a row of costs": ({1: [1.0, 0.0, 2.0]}, r"one number.*got \[1.0, 0.0, 2.0\] for the class 1"),
    "lists of one": ({0: [1.0], 1: [2.0], 2: [3.0]}, "one number per class.*for the class 0"),
    "an array": ({2: np.ones((3, 3))}, "one number per class.*for the class 2"),
    "a word": ({0: "heavy"}, "one number per class; got 'heavy' for the class 0"),
    "nothing": ({0: None}, "one number per class; got None"),
    "too large to add up": ({0: 1e308}, "too large"),
}


@each_representative
@pytest.mark.parametrize("name", BAD_CLASS_WEIGHTS)
def test_fit_refuses_class_weights(Estimator, name):
    bad, text = BAD_CLASS_WEIGHTS[name]
    with pytest.raises(ValueError, match=text):
        Estimator(class_weight=bad).fit(X, Y)


BAD_PRIORS = {
    "negative": ([0.5, 0.6, -0.1], "none negative.*Got"),
    "NaN": ({0: 0.5, 1: np.nan, 2: 0.5}, "finite"),
    "infinity": ([np.inf, 1.0, 1.0], "finite"),
    "all zero": ([0.0, 0.0, 0.0], "must not all be 0"),
    "too few": ([0.5, 0.5], r"Got 2 numbers for 3 classes"),
    "too many": (np.ones(4), r"Got 4 numbers for 3 classes"),
    "a table": (np.ones((3, 1)), "finite numbers"),
    "words": (["a", "b", "c"], "must be numbers"),
    "an unknown label": ({0: 0.2, 1: 0.2, 3: 0.4}, r"\[2\] have no prior.*\[3\] are not in y"),
    "another type of label": ({"0": 0.2, "1": 0.4, "2": 0.4}, "not in y.*with its type"),
    "a label left out": ({0: 0.5, 2: 0.5}, r"\[1\] have no prior\. "),
}


@each_representative
@pytest.mark.parametrize("name", BAD_PRIORS)
def test_fit_refuses_priors(Estimator, name):
    bad, text = BAD_PRIORS[name]
    with pytest.raises(ValueError, match=text):
        Estimator(priors=bad).fit(X, Y)


@each_representative
def test_priors_need_a_class_that_has_rows(Estimator):
    with pytest.raises(ValueError, match="0 for all classes that have rows"):
        Estimator(priors=[0.0, 0.0, 1.0]).fit(X, Y, sample_weight=(Y != 2).astype(float))


@each_representative
def test_priors_and_balanced_weights_exclude_each_other(Estimator):
    with pytest.raises(ValueError, match="leave one of them out"):
        Estimator(priors="equal", class_weight="balanced").fit(X, Y)


# --- the parameters -------------------------------------------------------------------------

BAD_PARAMETERS = {
    "criterion": ["best", 3, None],
    "max_depth": [0, -1, 2.5, "deep"],
    "max_leaf_nodes": [0, 1, 2.5, "many"],
    "min_samples_split": [0, 1, 0.0, 1.5, -2, "few", None],
    "min_samples_leaf": [0, 0.0, 1.0, -1, "few", None],
    "min_weight_fraction_leaf": [-0.1, 0.6, "few", None],
    "min_impurity_decrease": [-0.1, "little", None],
    "max_leaf_error": [-0.1, 1.1, "little", None],
    "zero_gain_splits": ["yes", None],
    "pruning": ["pessimism", 3, True],
    "prune_fraction": [0.0, 1.0, -0.1, "few", None],
    "n_folds": [0, 1, 2.5, "many", None],
    "n_se": [-0.5, "one", None],
    "prune_root": ["yes", None],
    "ccp_alpha": [-0.1, "cheap"],
    "confidence_factor": [0.0, 0.6, "sure", None],
    "subtree_raising": ["yes", None],
    "min_weight_leaf": [-1.0, "light", None],
    "priors": ["fair", 0.5],
    "random_state": [-1, "seed", 0.5],
    "n_jobs": [0, 0.5, "all"],
}


@each_estimator
def test_fit_refuses_parameters(Estimator):
    # some methods fix a choice; what they have is checked
    for parameter in BAD_PARAMETERS.keys() & Estimator().get_params():
        text = f"The '{parameter}' parameter of {Estimator.__name__} must be .* Got .* instead"
        for value in BAD_PARAMETERS[parameter]:
            with pytest.raises(ValueError, match=text):
                Estimator(**{parameter: value}).fit(X, Y)


# --- after a refusal ------------------------------------------------------------------------


@each_representative
@pytest.mark.parametrize(
    ("rows", "labels", "weights"),
    [
        (with_value(np.inf), Y, None),
        (X[:, :2], X[:, 0], None),
        (X[:, :2], Y, -np.ones(len(Y))),
    ],
    ids=["rows", "labels", "weights"],
)
def test_a_refused_fit_leaves_the_earlier_one(Estimator, rows, labels, weights):
    model = Estimator(max_depth=3).fit(X, Y)
    before = dict(vars(model))
    expected = model.predict(X)
    with pytest.raises(ValueError):
        model.fit(rows, labels, sample_weight=weights)
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
    np.testing.assert_array_equal(model.predict(X), expected)


@each_representative
def test_a_refused_first_fit_leaves_nothing(Estimator):
    model = Estimator()
    with pytest.raises(ValueError):
        model.fit(with_value(np.inf), Y)
    assert not [name for name in vars(model) if name.endswith("_")]


@each_plain_estimator
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_without_numbers_is_named(Estimator, library):
    columns = {"age": [1.0, 2.0, 3.0, 4.0], "town": ["a", "b", "a", "b"]}
    frame = importlib.import_module(library).DataFrame(columns)
    with pytest.raises(ValueError, match=r"Column 'town' of X does not hold numbers.*Encoder"):
        Estimator().fit(frame, [0, 1, 0, 1])
