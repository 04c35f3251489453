"""Teachers: which classifiers can be one, and the tables that they get."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from estimators.registry import blobs
from obliqua import (
    AggregatedTreeClassifier,
    C45Classifier,
    CartClassifier,
    DistilledClassifier,
    OC1Classifier,
    OrthogonalTreesClassifier,
    RepeatedTreesClassifier,
    distil,
    fidelity,
)
from obliqua.estimators._teachers import RawRows

X, Y = blobs(150, n_features=3, n_classes=3)
FAST: dict[str, Any] = {"n_generated": 400, "random_state": 0, "max_leaves": 24}


def people(n_rows: int = 160) -> pd.DataFrame:
    """Numbers, text, categories and gaps, with the class."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": random.integers(20, 70, n_rows).astype(float),
            "town": random.choice(["Bonn", "Oslo", "Rome"], n_rows),
            "job": pd.Categorical(random.choice(["baker", "tailor"], n_rows)),
            "size": random.normal(170, 10, n_rows).round(1),
        }
    )
    yes = (frame["town"] == "Rome").astype(int) + (frame["job"] == "baker") + (frame["age"] > 45)
    frame["y"] = np.where(yes >= 2, "yes", "no")
    frame.loc[::9, "age"] = np.nan
    return frame


PEOPLE = people()
COLUMNS = PEOPLE.drop(columns="y")


@pytest.mark.parametrize(
    "teacher",
    [
        GaussianNB(),
        CalibratedClassifierCV(SVC(), ensemble=False),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        RepeatedTreesClassifier(OC1Classifier(n_restarts=2), n_estimators=3, random_state=0),
        AggregatedTreeClassifier(CartClassifier(max_depth=3), n_estimators=5, random_state=0),
        OrthogonalTreesClassifier(CartClassifier(max_depth=3), n_estimators=5, random_state=0),
        DistilledClassifier(GaussianNB(), n_generated=100, random_state=0, n_trees=2),
    ],
    ids=lambda one: type(one).__name__,
)
def test_any_classifier_teaches(teacher: Any) -> None:
    teacher.fit(X, Y)
    student = distil(teacher, X, Y, **FAST)
    assert fidelity(teacher, student, X)["agreement"] > 0.85
    assert student.get_n_leaves() <= 24


def test_models_and_trees_teach() -> None:
    fitted = CartClassifier(pruning=None).fit(X, Y)
    for teacher in (fitted.model_, fitted.tree_):
        student = distil(teacher, X, method="cart", **FAST)
        assert fidelity(fitted, student, X)["agreement"] > 0.9


class Noting(HistGradientBoostingClassifier):
    """Keeps the tables that it is asked about."""

    seen: list[Any] = []  # noqa: RUF012

    def predict_proba(self, rows: Any) -> Any:
        self.seen.append(rows)
        return super().predict_proba(rows)


def test_a_frame_of_pandas_stays_what_it_is() -> None:
    frame = COLUMNS.assign(town=COLUMNS["town"].astype("category"))
    teacher = Noting(max_iter=10, categorical_features="from_dtype").fit(frame, PEOPLE["y"])
    Noting.seen.clear()
    student = distil(teacher, frame, PEOPLE["y"], method="cart", **FAST)
    assert [len(rows) for rows in Noting.seen] == [128, 400, 32, 2000]
    for rows in Noting.seen:
        assert isinstance(rows, pd.DataFrame)
        assert list(rows.dtypes) == list(frame.dtypes)
        assert list(rows.columns) == list(frame.columns)
    generated = Noting.seen[1]
    assert 0.02 < generated["age"].isna().mean() < 0.3  # what is missing is drawn too
    assert student.model_.encoding.columns[1].levels == ("Bonn", "Oslo", "Rome")
    assert list(student.feature_names_in_) == list(frame.columns)
    # What the student was grown from is what the teacher was asked about.
    walked = np.concatenate([student.model_.rows(rows) for rows in Noting.seen[:2]])
    said = np.concatenate([teacher.predict_proba(rows) for rows in list(Noting.seen[:2])])
    leaf = student.tree_.apply(walked)
    for node in np.unique(leaf):
        np.testing.assert_allclose(student.tree_.stats[node], said[leaf == node].sum(axis=0))
    assert fidelity(teacher, student, frame)["agreement"] > 0.9


def test_polars_and_a_pipeline() -> None:
    plain = COLUMNS.fillna({"age": 44.0})
    frame = pl.DataFrame({name: plain[name].tolist() for name in plain})
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town", "job"]), remainder="passthrough"
    )
    teacher = make_pipeline(encoder, RandomForestClassifier(10, random_state=0))
    teacher.fit(frame, PEOPLE["y"].to_numpy())
    student = distil(teacher, frame, **FAST)
    assert student.model_.encoding.columns[1].levels == ("Bonn", "Oslo", "Rome")
    assert fidelity(teacher, student, frame)["agreement"] > 0.85
    whole = DistilledClassifier(teacher, **FAST).fit(frame, PEOPLE["y"].to_numpy())
    assert whole.estimator_ is not teacher
    assert whole.predict(frame[:4]).shape == (4,)


@pytest.mark.parametrize("kind", ["list", "array", "masked"])
def test_lists_and_arrays(kind: str) -> None:
    if kind == "masked":
        rows: Any = np.ma.masked_invalid(np.where(X > 2.5, np.nan, X))
        teacher: Any = RandomForestClassifier(5, random_state=0).fit(rows.filled(np.nan), Y)
    else:
        rows = COLUMNS.astype(object).to_numpy()
        teacher = C45Classifier().fit(rows, PEOPLE["y"])
        rows = rows.tolist() if kind == "list" else rows
    student = distil(teacher, rows, method="cart", **FAST)
    lost = fidelity(teacher, student, rows if kind != "masked" else rows.filled(np.nan))
    assert lost["agreement"] > 0.85


def test_numbers_that_are_levels_for_the_teacher() -> None:
    random = np.random.default_rng(0)
    rows = np.column_stack([random.integers(0, 6, 200), random.normal(size=200)])
    y = np.isin(rows[:, 0], [1, 4]).astype(int)
    teacher = CartClassifier(categorical_features=[0], pruning=None).fit(rows, y)
    student = distil(teacher, rows, method="cart", **FAST)
    assert student.model_.encoding.columns[0].levels == tuple(map(float, range(6)))
    assert student.get_n_leaves() == 2
    told = distil(teacher, rows, method="cart", categorical_features=None, **FAST)
    assert told.model_.encoding.numeric
    assert told.get_n_leaves() > 2


def test_methods_that_take_numbers_only() -> None:
    class NumbersOnly(CartClassifier):
        _takes_odd = False

    teacher = C45Classifier().fit(COLUMNS, PEOPLE["y"])
    with pytest.raises(ValueError, match="NumbersOnly takes numbers only, and X has qualitative"):
        distil(teacher, COLUMNS, method=NumbersOnly())


# --- what is no teacher -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("teacher", "error", "words"),
    [
        (RandomForestClassifier(), NotFittedError, "RandomForestClassifier is not fitted"),
        (make_pipeline(StandardScaler(), GaussianNB()), NotFittedError, "Pipeline is not fitted"),
        (CartClassifier(), NotFittedError, "CartClassifier is not fitted"),
        (RandomForestRegressor(), NotFittedError, "RandomForestRegressor instance is not fitted"),
        (SVC(), TypeError, "SVC has none. Put it into scikit-learn's CalibratedClassifierCV"),
        (RidgeClassifier(), TypeError, "CalibratedClassifierCV"),
        (VotingClassifier([("a", GaussianNB())]), TypeError, "voting='soft'"),
        (GaussianNB, TypeError, "got the class GaussianNB itself"),
        (StandardScaler(), TypeError, "StandardScaler has none"),
        (3, TypeError, "int has none"),
        ("forest", TypeError, "str has none"),
    ],
)
def test_what_cannot_teach(teacher: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        distil(teacher, X)


@pytest.mark.parametrize("teacher", [GaussianNB, 3, RandomForestRegressor(3), SVC()])
def test_what_cannot_be_fitted(teacher: Any) -> None:
    with pytest.raises(TypeError, match="must be a classifier with predict_proba"):
        DistilledClassifier(teacher).fit(X, Y)


def test_no_teacher() -> None:
    words = r"must be a fitted classifier with predict_proba; got None\. Give one"
    with pytest.raises(TypeError, match=words):
        distil(None, X)
    with pytest.raises(TypeError, match=words):
        DistilledClassifier(prefit=True).fit(X)


@pytest.mark.parametrize("frame", [COLUMNS, pl.DataFrame(COLUMNS.to_dict("list"))])
def test_text_for_a_teacher_that_takes_numbers(frame: Any) -> None:
    words = r"The teacher, GradientBoostingClassifier, takes numbers only, .*make_pipeline"
    with pytest.raises(ValueError, match=words):
        DistilledClassifier(GradientBoostingClassifier()).fit(frame, PEOPLE["y"])
    student = DistilledClassifier(random_state=0).fit(frame, PEOPLE["y"])  # a forest takes them
    assert student.score(frame, PEOPLE["y"]) > PEOPLE["y"].value_counts(normalize=True).max()


@pytest.mark.parametrize("named", [True, False])
def test_warnings_about_names_come_once(named: bool) -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    teacher = GaussianNB().fit(frame if named else X, Y)
    with pytest.warns(UserWarning, match="feature names") as seen:
        distil(teacher, X if named else frame, **FAST)
    assert len(seen) == 1


def test_wrong_columns() -> None:
    teacher = GaussianNB().fit(X, Y)
    with pytest.raises(ValueError, match="2 features, but GaussianNB is expecting 3"):
        distil(teacher, X[:, :2])
    named = GaussianNB().fit(pd.DataFrame(X, columns=list("abc")), Y)
    with pytest.raises(ValueError, match="feature names"):
        distil(named, pd.DataFrame(X, columns=list("abd")))


def test_several_targets() -> None:
    teacher = RandomForestClassifier(3).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(TypeError, match="one target; RandomForestClassifier has 2"):
        distil(teacher, X)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda n: np.full((n, 2), 0.5), r"3 classes; got shape \(\d+, 2\)"),
        (lambda n: np.full((n, 3), np.nan), "finite numbers"),
        (lambda n: np.tile([-0.5, 1.0, 0.5], (n, 1)), "not negative"),
        (lambda n: np.zeros((n, 3)), "not 0 for all"),
        (lambda n: [np.full((n, 3), 1 / 3)] * 2, "one target"),
    ],
)
def test_answers_that_make_no_sense(answer: Any, words: str) -> None:
    class Odd(GaussianNB):
        def predict_proba(self, rows: Any) -> Any:
            return answer(len(rows))

    with pytest.raises((ValueError, TypeError), match=words):
        distil(Odd().fit(X, Y), X)


def test_shares_may_be_rounded_and_no_more() -> None:
    class Times(GaussianNB):
        factor = 1.0

        def predict_proba(self, rows: Any) -> Any:
            return self.factor * super().predict_proba(rows)

    teacher, plain = Times().fit(X, Y), GaussianNB().fit(X, Y)
    teacher.factor = 1.0005
    rounded = distil(teacher, X, **FAST).model_
    np.testing.assert_allclose(
        rounded.predict_proba(X), distil(plain, X, **FAST).model_.predict_proba(X), atol=1e-9
    )
    teacher.factor = 1.01
    with pytest.raises(ValueError, match=r"row 0 of \d+, counted from 0, they add up to 1.01"):
        distil(teacher, X, **FAST)
    with pytest.raises(ValueError, match=r"add up to 1\.01"):
        fidelity(plain, teacher, X)


@pytest.mark.parametrize("kind", ["one-vs-rest", "network", "pipeline"])
def test_several_labels_per_row(kind: str) -> None:
    labels = np.column_stack([Y == 0, Y != 1, X[:, 0] > 0]).astype(int)
    made: dict[str, Any] = {
        "one-vs-rest": OneVsRestClassifier(LogisticRegression()),
        "network": MLPClassifier((3,), max_iter=5, random_state=0),
        "pipeline": make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        teacher = made[kind].fit(X, labels)
    words = "one classifier per (label|target)"
    with pytest.raises((TypeError, ValueError), match=words):
        distil(teacher, X, **FAST)
    with pytest.raises((TypeError, ValueError), match=words):
        DistilledClassifier(teacher, prefit=True).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match=words):
        fidelity(teacher, GaussianNB().fit(X, Y), X)


@pytest.mark.parametrize("make", [csr_matrix, csr_array], ids=["matrix", "array"])
def test_sparse_rows(make: Any) -> None:
    teacher = GaussianNB().fit(X, Y)
    words = r"not a sparse one; got csr_\w+. Write X.toarray\(\)"
    with pytest.raises(TypeError, match=words):
        distil(teacher, make(X))
    with pytest.raises(TypeError, match=words):
        fidelity(teacher, teacher, make(X))
    with pytest.raises(TypeError, match=words):
        DistilledClassifier(GaussianNB()).fit(make(X), Y)
    with pytest.raises(TypeError, match=r"must be a table of rows.*got NoneType"):
        distil(teacher, None)


def test_one_class() -> None:
    teacher = GaussianNB().fit(X, np.zeros(len(X), dtype=int))
    student = distil(teacher, X, n_trees=3, max_leaves=6, n_generated=50)
    assert student.get_n_leaves() == 1
    assert student.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_tiny_tables(n_rows: int) -> None:
    teacher = GaussianNB().fit(X, Y)
    student = distil(teacher, X[:n_rows], n_generated=20, holdout=0.5, random_state=0)
    assert student.predict(X[:5]).shape == (5,)
    assert student.fidelity_.get("data", {}).get("rows", 0) == n_rows // 2 + (n_rows == 3)


def test_labels_that_the_teacher_does_not_know() -> None:
    teacher = GaussianNB().fit(X, Y)
    with pytest.raises(ValueError, match="none of the classes 0, 1, 2"):
        distil(teacher, X, np.array(["a", "b", "c"])[Y], **FAST)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        distil(teacher, X, Y[:-1], **FAST)
    with pytest.raises(ValueError, match=r"each of the 150 rows; got shape \(149,\)"):
        fidelity(teacher, teacher, X, Y[:-1])


def test_raw_rows_keep_their_kind() -> None:
    places = np.array([[0, 1, 2, 0], [3, 3, 3, 3]])
    frame = RawRows(COLUMNS).mixed(places)
    assert frame["town"].tolist() == [COLUMNS["town"][1], COLUMNS["town"][3]]
    assert frame["job"].dtype == COLUMNS["job"].dtype
    of_polars = RawRows(pl.DataFrame({"a": [1, 2, 3, 4], "b": list("pqrs")})).mixed(places[:, :2])
    assert of_polars.rows() == [(1, "q"), (4, "s")]
    assert RawRows([[1, "a"], [2, "b"]], by_columns=True).take(np.array([1])).tolist() == [
        [2, "b"]
    ]


def test_students_as_ensembles() -> None:
    teacher = RandomForestClassifier(5, random_state=0).fit(X, Y)
    one = distil(teacher, X, method="cart", **FAST)
    same = AggregatedTreeClassifier(one, prefit=True, max_leaf_nodes=None).fit(X, Y)
    assert same.fidelity_ == pytest.approx(1.0)
    assert same.predict(X).tolist() == one.predict(X).tolist()
    with pytest.raises(NotFittedError, match="If it is fitted itself, say prefit=True"):
        AggregatedTreeClassifier(one).fit(X, Y)
    several = distil(teacher, X, method="cart", n_trees=3, **FAST)
    with pytest.raises(TypeError, match="3 trees that are added up"):
        AggregatedTreeClassifier(several, prefit=True).fit(X, Y)
