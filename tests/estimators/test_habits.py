"""What users of scikit-learn do with an estimator works here too."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.class_weight import compute_sample_weight

from estimators.registry import (
    blobs,
    each_estimator,
    each_public_estimator,
    each_representative,
    full_grown,
)
from obliqua import CartClassifier, HHCartClassifier, ObliqueTreeClassifier, QuestClassifier
from obliqua.engine import grow as growing

X, Y = blobs(150, 4, 3)
NAMES = ["age", "bmi", "blood pressure", "weight"]
WEIGHTS = np.random.default_rng(0).integers(1, 5, len(Y)).astype(float)


def same(one, other):
    return one.tree_ == other.tree_ and np.array_equal(one.classes_, other.classes_)


# --- frames ---------------------------------------------------------------------------------


@each_representative
def test_frames_in_names_kept(Estimator):
    plain = full_grown(Estimator).fit(X, Y)
    for frame, labels in (
        (pd.DataFrame(X, columns=NAMES), pd.Series(Y)),
        (pl.DataFrame(X, schema=NAMES), pl.Series(Y)),
    ):
        model = full_grown(Estimator).fit(frame, labels)
        assert model.feature_names_in_.tolist() == NAMES
        assert model.model_.encoding.names == tuple(NAMES)
        assert model.n_features_in_ == 4
        assert same(model, plain)
        np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
        np.testing.assert_array_equal(model.predict_proba(frame), plain.predict_proba(X))
        np.testing.assert_array_equal(model.apply(frame), plain.apply(X))


@each_representative
def test_frames_with_other_names_are_refused(Estimator):
    model = full_grown(Estimator).fit(pd.DataFrame(X, columns=NAMES), Y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=NAMES[::-1]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pl.DataFrame(X, schema=["a", "b", "c", "d"]))


@each_representative
def test_a_fit_without_names_forgets_them(Estimator):
    model = full_grown(Estimator).fit(pd.DataFrame(X, columns=NAMES), Y)
    model.fit(X[:, :2], Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    assert model.model_.encoding.names == ("x0", "x1")


@each_representative
def test_frames_of_mixed_numbers(Estimator):
    frame = pd.DataFrame(
        {
            "int": np.arange(60) + 5,
            "float32": np.linspace(0, 1, 60, dtype=np.float32),
            "bool": np.arange(60) % 2 == 0,
            "nullable": pd.array(range(5, 65), dtype="Int64"),
        }
    )
    labels = np.arange(60) // 20
    model = full_grown(Estimator).fit(frame, labels)
    np.testing.assert_array_equal(model.predict(frame), labels)
    if not Estimator._takes_odd:
        frame.loc[3, "nullable"] = pd.NA
        with pytest.raises(ValueError, match="NaN"):
            full_grown(Estimator).fit(frame, labels)


SERIES = {
    "pandas strings": pd.Series(["a", "b", "c"]).iloc[Y].reset_index(drop=True),
    "pandas categories": pd.Series(pd.Categorical.from_codes(Y, ["low", "mid", "top"])),
    "pandas nullable integers": pd.Series(Y, dtype="Int64"),
    "pandas bools": pd.Series(Y > 0),
    "pandas nullable bools": pd.Series(Y > 0, dtype="boolean"),
    "polars strings": pl.Series([["a", "b", "c"][k] for k in Y]),
    "polars bools": pl.Series(Y > 0),
    "a list of strings": [["a", "b", "c"][k] for k in Y],
    "a tuple": tuple(Y.tolist()),
}


@each_representative
@pytest.mark.parametrize("name", SERIES)
def test_labels_of_many_kinds(Estimator, name):
    labels = SERIES[name]
    model = full_grown(Estimator).fit(X, labels)
    assert sorted(set(labels)) == model.classes_.tolist()
    assert model.predict(X).tolist() == list(labels)
    assert model.score(X, labels) == 1.0


# --- weights --------------------------------------------------------------------------------


@each_estimator
def test_sample_weights_count_rows(Estimator):
    counts = WEIGHTS.astype(int)
    limits = {"min_weight_fraction_leaf": 0.02, "max_depth": 3}
    weighted = full_grown(Estimator, **limits).fit(X, Y, sample_weight=WEIGHTS)
    repeated = full_grown(Estimator, **limits).fit(np.repeat(X, counts, 0), np.repeat(Y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))
    np.testing.assert_allclose(weighted.tree_.stats, repeated.tree_.stats)


@each_estimator
@pytest.mark.parametrize("pruning", ["pessimistic", "cv"])
def test_weights_that_add_up_to_one(Estimator, pruning):
    # 150 of 1/150 are no numbers of rows; a seventh is none that adds up without rounding
    params = {"pruning": pruning, "n_se": 1.0, "n_folds": 3, "random_state": 0}
    plain = Estimator(**params).fit(X, Y)
    for weight in (1 / len(Y), 1 / 7, 0.25):
        weighted = Estimator(**params).fit(X, Y, np.full(len(Y), weight))
        assert weighted.tree_.n_leaves == plain.tree_.n_leaves > 2
        np.testing.assert_array_equal(weighted.apply(X), plain.apply(X))


@each_representative
def test_boosting(Estimator):
    rows, labels = load_breast_cancer(return_X_y=True)
    base = Estimator(max_depth=2, pruning="pessimistic", random_state=0)
    boosted = AdaBoostClassifier(base, n_estimators=10, random_state=0).fit(rows, labels)
    assert len(boosted.estimators_) == 10 or boosted.score(rows, labels) == 1.0  # nothing is left
    assert all(not tree.tree_.is_leaf[0] for tree in boosted.estimators_)
    assert boosted.score(rows, labels) > 0.95


@each_estimator
def test_zero_weights_are_absent_rows(Estimator):
    keep = np.arange(len(Y)) % 5 > 0
    limits = {"min_samples_leaf": 0.05, "max_depth": 4}
    weighted = full_grown(Estimator, **limits).fit(X, Y, sample_weight=keep.astype(float))
    assert same(weighted, full_grown(Estimator, **limits).fit(X[keep], Y[keep]))


def untested(Estimator, **params):
    """A tree without tests of significance, which count rows and not the weights of classes."""
    more = {"split": "linear"} if Estimator is QuestClassifier else {}
    return full_grown(Estimator, max_depth=3, **more, **params)


@each_representative
@pytest.mark.parametrize("weight", [{0: 1.0, 1: 4.0, 2: 0.5}, {1: 4.0}, {0: 0.0}, "balanced"])
def test_class_weights_are_sample_weights(Estimator, weight):
    rows, labels = X[10:], Y[10:]
    by_class = untested(Estimator, class_weight=weight).fit(rows, labels)
    expanded = compute_sample_weight(weight, labels)
    by_row = untested(Estimator).fit(rows, labels, sample_weight=expanded)
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-6)


@each_representative
def test_class_weights_multiply_sample_weights(Estimator):
    both = untested(Estimator, class_weight={0: 2.0, 1: 1.0, 2: 8.0})
    both.fit(X, Y, sample_weight=WEIGHTS)
    product = WEIGHTS * np.array([2.0, 1.0, 8.0])[Y]
    assert same(both, untested(Estimator).fit(X, Y, sample_weight=product))


@each_representative
def test_balanced_heeds_sample_weights(Estimator):
    counts = WEIGHTS.astype(int)
    balanced = {"class_weight": "balanced", "max_depth": 3}
    weighted = full_grown(Estimator, **balanced).fit(X, Y, sample_weight=WEIGHTS)
    repeated = full_grown(Estimator, **balanced).fit(np.repeat(X, counts, 0), np.repeat(Y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


@each_representative
@pytest.mark.parametrize("labels", [np.array(["1", "2", "x"])[Y], Y > 0], ids=["strings", "bools"])
def test_class_weights_by_any_label(Estimator, labels):
    first = labels[1]
    model = full_grown(Estimator, class_weight={first: 3.0}).fit(X, labels)
    expected = (
        np.where(model.classes_ == first, 3.0, 1.0) * np.unique(labels, return_counts=True)[1]
    )
    np.testing.assert_allclose(model.tree_.stats[0], expected)


@each_representative
def test_class_weights_of_absent_classes_do_no_harm(Estimator):
    model = full_grown(Estimator, class_weight={0: 1.0, 1: 2.0, 2: 1.0, 9: 5.0})
    assert model.fit(X, Y).score(X, Y) == 1.0


# --- seeds, copies, files -------------------------------------------------------------------


@each_estimator
def test_seeds(Estimator):
    model = Estimator(random_state=7).fit(X, Y)
    assert same(model, Estimator(random_state=7).fit(X, Y))
    assert same(model, Estimator(random_state=np.random.RandomState(7)).fit(X, Y))
    Estimator(random_state=None).fit(X, Y)


@each_public_estimator
def test_the_same_call_gives_the_same_tree(Estimator):
    """Ensembles draw another seed for each fit, as scikit-learn's; what is one tree does not."""
    ensemble = {
        "ObliqueForestClassifier",
        "ObliqueForestRegressor",
        "OrthogonalTreesClassifier",
        "RepeatedTreesClassifier",
    }
    model = Estimator()
    assert model.random_state == (None if Estimator.__name__ in ensemble else 0)
    if model.random_state == 0:
        assert model.fit(X, Y).model_ == Estimator().fit(X, Y).model_


def test_members_of_an_ensemble_get_seeds_of_their_own():
    bagged = BaggingClassifier(HHCartClassifier(), n_estimators=3, random_state=0).fit(X, Y)
    assert len({member.random_state for member in bagged.estimators_}) == 3


def test_another_seed_may_give_another_tree():
    noisy = np.random.default_rng(1).permutation(Y)
    found = {
        HHCartClassifier(random_state=seed).fit(X, noisy).get_n_leaves() for seed in range(20)
    }
    assert len(found) > 1
    found = {HHCartClassifier(random_state=None).fit(X, noisy).get_n_leaves() for _ in range(20)}
    assert len(found) > 1


@each_representative
@pytest.mark.parametrize(
    "carry",
    [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_predict_the_same(Estimator, carry):
    model = full_grown(Estimator).fit(pd.DataFrame(X, columns=NAMES), np.array(["a", "b", "c"])[Y])
    frame = pd.DataFrame(X, columns=NAMES)
    expected = model.predict_proba(frame)
    other = carry(model)
    assert same(other, model)
    assert other.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(other.predict_proba(frame), expected)
    np.testing.assert_array_equal(other.predict(frame), model.predict(frame))


@each_representative
def test_every_pickle_protocol(Estimator):
    model = full_grown(Estimator).fit(X, Y)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert same(pickle.loads(pickle.dumps(model, protocol)), model)


@each_representative
def test_joblib_files(Estimator, tmp_path):
    model = full_grown(Estimator).fit(X, Y)
    joblib.dump(model, tmp_path / "model")
    for mode in (None, "r"):
        back = joblib.load(tmp_path / "model", mmap_mode=mode)
        np.testing.assert_array_equal(back.predict(X), model.predict(X))


@each_estimator
def test_tags_are_honest(Estimator):
    tags = get_tags(Estimator())
    assert is_classifier(Estimator())
    assert tags.target_tags.required
    assert tags.classifier_tags.multi_class
    assert not tags.classifier_tags.multi_label
    assert not tags.target_tags.multi_output
    assert tags.input_tags.sparse == (Estimator is CartClassifier)
    assert tags.input_tags.allow_nan == Estimator._takes_odd
    assert tags.input_tags.categorical == Estimator._takes_odd
    assert not tags.non_deterministic


# --- inside other estimators ----------------------------------------------------------------


@each_representative
def test_grid_search(Estimator):
    grid = {
        "max_depth": [1, 3],
        "criterion": ["entropy", "gain_ratio"],
        "min_samples_leaf": [1, 0.1],
    }
    search = GridSearchCV(Estimator(random_state=0), grid, cv=3).fit(X, np.array(list("abc"))[Y])
    assert search.best_params_.keys() == grid.keys()
    assert search.best_score_ > 0.7
    assert set(search.predict(X)) <= set("abc")


def test_cross_validation_in_two_processes():
    model = HHCartClassifier(random_state=0)
    alone = cross_val_score(model, X, Y, cv=4)
    np.testing.assert_array_equal(cross_val_score(model, X, Y, cv=4, n_jobs=2), alone)


@pytest.mark.parametrize("Estimator", [HHCartClassifier, ObliqueTreeClassifier])
def test_parallel_config_sets_the_threads(Estimator, monkeypatch):
    grown = []
    original = growing.grow

    def spy(*args, n_threads, **kwargs):
        grown.append(n_threads)
        return original(*args, n_threads=n_threads, **kwargs)

    monkeypatch.setattr(growing, "grow", spy)
    full_grown(Estimator, max_depth=2).fit(X, Y)
    full_grown(Estimator, max_depth=2, n_jobs=2).fit(X, Y)
    full_grown(Estimator, max_depth=2, n_jobs=-1).fit(X, Y)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        full_grown(Estimator, max_depth=2).fit(X, Y)
    assert grown == [1, 2, joblib.cpu_count(), 3]


# --- metadata routing -----------------------------------------------------------------------


@each_representative
def test_weights_are_routed_through_pipeline_and_search(Estimator):
    with sklearn.config_context(enable_metadata_routing=True):
        tree = Estimator(max_depth=2, random_state=0).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = Pipeline([("scale", scaler), ("tree", tree)])
        routed = pipeline.fit(X, Y, sample_weight=WEIGHTS)["tree"]
        direct = clone(tree).fit(StandardScaler().fit_transform(X), Y, sample_weight=WEIGHTS)
        assert same(routed, direct)

        accuracy = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = GridSearchCV(pipeline, {"tree__max_depth": [2]}, scoring=accuracy, cv=3)
        search.fit(X, Y, sample_weight=WEIGHTS)
        assert same(search.best_estimator_["tree"], direct)
