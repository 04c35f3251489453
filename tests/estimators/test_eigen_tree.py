"""2C-ETCT: what the estimator owes to its users."""

from __future__ import annotations

import io
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import obliqua
from estimators.registry import assert_sound, blobs, two_clouds
from obliqua import CostWarning, EigenTreeClassifier, LeakWarning

NAMES = ("pca", "fisher", "psc", "first+pca", "first+fisher", "first+psc")


# --- the estimator ------------------------------------------------------------------------------


def test_a_level_is_a_direction() -> None:
    X, y = two_clouds(400)
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    tree = model.tree_
    assert tree.depth > 1
    assert_sound(model, X, y)
    for node in np.flatnonzero(~tree.is_leaf):
        level = tree.node_depth[node]
        np.testing.assert_array_equal(tree.coefficients(node), model.directions_[level])
        assert tree.origin_labels[tree.origin[node]] == (
            f"{model.transformation_}, direction {level + 1}"
        )
    assert model.cv_accuracy_[model.transformation_] == max(model.cv_accuracy_.values())
    assert list(model.cv_accuracy_) == ["pca", "fisher", "psc", "first+pca", "first+psc"]
    assert model.fold_correct_.shape == model.fold_total_.shape == (tree.n_nodes, 10)
    np.testing.assert_array_equal(model.fold_total_[0].sum(), 2 * len(X))
    assert (model.fold_correct_ <= model.fold_total_).all()
    assert model.pairs_ == ((0, 1),)
    assert (np.diff(tree.gain[[0, 1]]) < 0).all()


def test_clusters_are_found_that_a_hyperplane_misses() -> None:
    def data(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        side = np.arange(600) % 2
        X = rng.normal(size=(600, 3))
        X[:, 0] += 4.0 * side
        far = rng.random(600) < 0.2  # on the other side, and away from the first direction
        X[far, 1] += rng.choice([-8.0, 8.0], far.sum())
        return X, np.where(far, 1 - side, side)

    (X, y), (fresh, truth) = data(0), data(1)
    tree = EigenTreeClassifier(random_state=0).fit(X, y)
    line = EigenTreeClassifier(random_state=0, max_depth=1).fit(X, y)
    assert line.get_n_leaves() == 2
    assert tree.score(fresh, truth) > line.score(fresh, truth) + 0.05


def test_two_normal_classes_give_a_linear_classifier() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(500) % 2
    X = rng.normal(size=(500, 6)) + 1.35 * y[:, None]
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    assert model.get_n_leaves() <= 3
    assert model.cv_accuracy_[model.transformation_] > 0.9


@pytest.mark.parametrize("n_jobs", [2, 3])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_threads_change_nothing(n_jobs: int, n_classes: int) -> None:
    X, y = blobs(200, 5, n_classes)
    one = EigenTreeClassifier(random_state=0).fit(X, y)
    many = EigenTreeClassifier(random_state=0, n_jobs=n_jobs).fit(X, y)
    assert one.model_ == many.model_
    np.testing.assert_equal(one._found, many._found)


@pytest.mark.parametrize("in_folds", [False, True])
def test_the_order_of_rows_changes_nothing(in_folds: bool) -> None:
    X, y = two_clouds(150)
    order = np.random.default_rng(0).permutation(len(X))
    one = EigenTreeClassifier(random_state=0, transform_in_folds=in_folds).fit(X, y)
    other = EigenTreeClassifier(random_state=0, transform_in_folds=in_folds).fit(
        X[order], y[order]
    )
    assert one.tree_ == other.tree_
    np.testing.assert_equal(one._found, other._found)


@pytest.mark.parametrize("in_folds", [False, True])
def test_a_weight_of_two_is_a_row_twice(in_folds: bool) -> None:
    X, y = two_clouds(120)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    model = EigenTreeClassifier(random_state=0, transform_in_folds=in_folds)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.transformation_ == repeated.transformation_
    np.testing.assert_array_equal(weighted.tree_.threshold, repeated.tree_.threshold)
    np.testing.assert_array_equal(weighted.tree_.coef, repeated.tree_.coef)
    np.testing.assert_array_equal(weighted.tree_.stats, repeated.tree_.stats)
    np.testing.assert_array_equal(weighted.fold_correct_, repeated.fold_correct_)
    assert weighted.cv_accuracy_ == repeated.cv_accuracy_


def test_seeds_and_divisions_matter() -> None:
    X, y = blobs(120, 4, 2, seed=3)
    found = {
        tuple(EigenTreeClassifier(random_state=seed).fit(X, y).fold_total_[0]) for seed in range(5)
    }
    correct = {
        EigenTreeClassifier(random_state=seed).fit(X, y).fold_correct_[0].tobytes()
        for seed in range(5)
    }
    assert len(found) == 1  # all folds have a fifth of the rows
    assert len(correct) > 1
    model = EigenTreeClassifier(n_divisions=3, n_folds=7, random_state=0).fit(X, y)
    assert model.fold_total_.shape[1] == 21
    halves = model.fold_correct_[0, :7], model.fold_correct_[0, 7:14]
    assert not np.array_equal(*halves)


# --- more than two classes ----------------------------------------------------------------------


def test_a_tree_for_each_pair() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = EigenTreeClassifier(random_state=0).fit(X, names)
    assert not hasattr(model, "tree_")
    assert model.model_.combine == "pairs"
    assert [tuple(pair) for pair in model.pairs_] == [
        ("setosa", "versicolor"),
        ("setosa", "virginica"),
        ("versicolor", "virginica"),
    ]
    for tree, pair, directions, correct in zip(
        model.model_.trees, model.pairs_, model.directions_, model.fold_correct_, strict=True
    ):
        two = np.isin(names, pair)
        alone = EigenTreeClassifier(random_state=0).fit(X[two], names[two])
        np.testing.assert_array_equal(tree.threshold, alone.tree_.threshold)
        np.testing.assert_array_equal(directions, alone.directions_)
        np.testing.assert_array_equal(correct, alone.fold_correct_)
        assert tree.stats[0][~np.isin(model.classes_, pair)].tolist() == [0.0]
    assert len(model.transformation_) == len(model.cv_accuracy_) == len(model.fold_total_) == 3
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert model.score(X, names) > 0.95


def test_votes_and_ties() -> None:
    X, y = blobs(150, 4, 5)
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    rows = rng.normal(scale=4.0, size=(500, 4))
    votes, shares = np.zeros((500, 5)), np.zeros((500, 5))
    for tree in model.model_.trees:
        leaf = tree.apply(rows)
        votes[np.arange(500), tree.leaf_label[leaf]] += 1
        shares += tree.proportion[leaf]
    most = votes == votes.max(axis=1, keepdims=True)
    assert (most.sum(axis=1) > 1).any(), "some votes must tie"
    expected = np.where(most, shares, -1.0).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(rows), expected)


def test_a_class_without_weight() -> None:
    """It counts as absent: it is never predicted, and the tree of the others is theirs alone."""
    X, y = blobs(90, 3, 3, seed=2)
    there = y != 0
    model = EigenTreeClassifier(random_state=0).fit(X, y, sample_weight=there.astype(float))
    assert not (model.predict(X) == 0).any()
    alone = EigenTreeClassifier(random_state=0).fit(X[there], y[there])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    np.testing.assert_array_equal(model.fold_correct_[-1], alone.fold_correct_)
    two = EigenTreeClassifier(random_state=0).fit(X, y == 0, sample_weight=(y == 0).astype(float))
    assert two.get_n_leaves() == 1
    assert two.predict(X).all()


# --- odd data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("in_folds", [False, True])
@pytest.mark.parametrize("few", [1, 2, 3])
def test_classes_with_fewer_members_than_folds(few: int, in_folds: bool) -> None:
    X, y = two_clouds(100)
    y = (np.arange(100) < few).astype(int)
    X[:few] += 20.0
    model = EigenTreeClassifier(random_state=0, transform_in_folds=in_folds).fit(X, y)
    assert_sound(model, X, y)


@pytest.mark.parametrize("in_folds", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_very_few_rows(n: int, in_folds: bool) -> None:
    X, y = two_clouds(n, d=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        model = EigenTreeClassifier(random_state=0, transform_in_folds=in_folds).fit(X, y)
    assert_sound(model, X, y)


def test_constant_features_only() -> None:
    model = EigenTreeClassifier(random_state=0).fit(np.ones((20, 3)), np.arange(20) % 2)
    assert model.get_n_leaves() == 1
    assert model.directions_.shape == (0, 3)
    assert model.transformation_ == "pca"


def test_repeated_and_constant_features() -> None:
    X, y = two_clouds(200, d=3)
    wide = np.column_stack([X, X[:, 1], np.full(200, 7.0), X @ [1.0, -2.0, 0.5]])
    model = EigenTreeClassifier(random_state=0).fit(wide, y)
    assert len(model.directions_) == 3
    assert (model.directions_[:, 4] == 0).all()
    assert_sound(model, wide, y)


def test_one_class() -> None:
    model = EigenTreeClassifier().fit([[0.0], [1.0]], ["a", "a"])
    assert model.predict([[5.0]]).tolist() == ["a"]
    assert model.get_n_leaves() == 1
    assert model.pairs_ == (("a",),)


@pytest.mark.parametrize(("n", "away"), [(200, 1e6), (200, 1e9), (20_000, 1e8)])
def test_far_from_the_origin(n: int, away: float) -> None:
    """Cuts are found where all values are large and differ little, between many rows too."""
    X, y = two_clouds(n)
    near = EigenTreeClassifier(random_state=0).fit(X, y)
    far = EigenTreeClassifier(random_state=0).fit(X + away, y)
    assert_sound(far, X + away, y)
    assert abs(far.score(X + away, y) - near.score(X, y)) < 0.03


@pytest.mark.parametrize("in_folds", [False, True])
def test_levels_and_missing_values(in_folds: bool) -> None:
    X, y = two_clouds(300, d=3)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    rng = np.random.default_rng(0)
    table["kind"] = np.where(rng.random(300) < 0.8, np.where(y, "new", "old"), "some")
    table.loc[::7, "b"] = np.nan
    table.loc[::11, "kind"] = None
    model = EigenTreeClassifier(random_state=0, transform_in_folds=in_folds).fit(table, y)
    assert model.score(table, y) > 0.85
    assert np.diff(model.tree_.table_ptr).max() == 3  # new, old, some
    leaf = model.apply(table)
    np.testing.assert_array_equal(
        np.bincount(leaf, minlength=model.tree_.n_nodes)[model.tree_.is_leaf],
        model.tree_.n_samples[model.tree_.is_leaf],
    )
    assert np.isfinite(model.tree_.spread).all()
    assert "kind" in obliqua.export_text(model)


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"transformations": "pca"}, TypeError, r"sequence of names.*got 'pca'.*\('pca',\)"),
        ({"transformations": "pca,psc"}, TypeError, r"Write a tuple, \('pca', 'psc'\)"),
        ({"transformations": ("pca", "lda")}, ValueError, "names out of 'pca'.*got 'lda'"),
        ({"transformations": ()}, ValueError, "got none"),
        ({"transformations": ("pca", "pca")}, ValueError, "the same one twice"),
        ({"transformations": 3}, TypeError, "got 3"),
        ({"transformations": np.array("pca")}, TypeError, "sequence of names.*got 'pca'"),
        ({"n_divisions": 0}, ValueError, "n_divisions"),
        ({"n_folds": 1}, ValueError, "n_folds"),
        ({"max_depth": 0}, ValueError, "max_depth"),
        ({"scale": "unit"}, ValueError, "scale"),
        ({"first_direction": "lda"}, ValueError, "'mean', 'logistic', 'svm'.*got 'lda'"),
        ({"first_direction": 3}, TypeError, "linear classifier.*got 3"),
        ({"first_direction": LinearSVC}, TypeError, "the class LinearSVC itself"),
        ({"first_direction": KNeighborsClassifier()}, ValueError, "no coef_ after fit"),
        ({"first_direction": SVC()}, ValueError, r"no coef_ after fit.*linear"),
        ({"first_direction": make_pipeline(LinearSVC())}, ValueError, "give the last step"),
        ({"first_direction": LinearSVC(C=-1.0)}, ValueError, "'C' parameter of LinearSVC"),
        ({"class_weight": "balanced", "priors": "equal"}, ValueError, "priors and class_weight"),
    ],
)
def test_parameters_are_checked(params: Any, error: Any, message: str) -> None:
    X, y = two_clouds()
    model = EigenTreeClassifier(**params)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not hasattr(model, "model_")


def test_asking_before_fitting() -> None:
    model = EigenTreeClassifier()
    with pytest.raises(NotFittedError):
        _ = model.transformation_


def test_class_weights_move_the_tree() -> None:
    X, y = two_clouds(300)
    plain = EigenTreeClassifier(random_state=0).fit(X, y)
    costly = EigenTreeClassifier(random_state=0, class_weight={1: 20.0}).fit(X, y)
    assert (costly.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()


# --- the leak -----------------------------------------------------------------------------------


def noise(n: int = 40, d: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), np.arange(n) % 2


def test_a_leak_is_said() -> None:
    X, y = noise()
    message = "'fisher' was chosen with 40 rows for 30 features"
    with pytest.warns(LeakWarning, match=message) as said:
        leaky = EigenTreeClassifier(random_state=0).fit(X, y)
    assert said[0].filename == __file__
    with pytest.warns(LeakWarning, match=message):
        EigenTreeClassifier(random_state=0, max_depth=1).fit(X, y)
    assert leaky.cv_accuracy_["fisher"] > 0.8  # of nothing but noise
    sound = EigenTreeClassifier(random_state=0, transform_in_folds=True).fit(X, y)
    assert sound.cv_accuracy_["fisher"] < 0.7


def test_a_leak_names_the_pair_of_classes() -> None:
    X, y = noise(60)
    y[:20] = 2
    several = "in the tree of the classes 0 and 1 and 2 more of 3 trees"
    with pytest.warns(LeakWarning, match=several):
        EigenTreeClassifier(random_state=0, transformations=("fisher",)).fit(X, y)
    X[y == 2] += 1e3
    X = np.vstack([X, 1e3 + np.random.default_rng(1).normal(size=(400, 30))])
    y = np.append(y, np.full(400, 2))
    with pytest.warns(LeakWarning, match="of the classes 0 and 1 of 3 trees"):
        EigenTreeClassifier(random_state=0, transformations=("fisher",)).fit(X, y)


@pytest.mark.parametrize("name", ["psc", "first+pca"])
def test_with_fewer_rows_than_features_means_leak_too(name: str) -> None:
    X, y = noise(40, 100)
    with pytest.warns(LeakWarning, match=f"{re.escape(name)}' was chosen with 40 rows for 100"):
        EigenTreeClassifier(random_state=0, transformations=(name,)).fit(X, y)


@pytest.mark.parametrize(
    "params", [{"transformations": ("pca", "psc")}, {"transform_in_folds": True}]
)
def test_no_leak_no_warning(params: Any) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for X, y in (noise(), load_breast_cancer(return_X_y=True)):
            EigenTreeClassifier(random_state=0, **params).fit(X, y)
    assert [str(one.message) for one in told] == []


# --- files and readers --------------------------------------------------------------------------


def saved(model: Any) -> Any:
    file = io.BytesIO()
    obliqua.save(model, file)
    file.seek(0)
    return obliqua.load(file)


@pytest.mark.parametrize("how", [saved, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_files_and_pickles(how: Any, n_classes: int) -> None:
    X, y = blobs(120, 4, n_classes)
    model = EigenTreeClassifier(random_state=0, transformations=("fisher", "psc")).fit(X, y)
    again = how(model)
    assert again.model_ == model.model_
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for name in ("transformation_", "cv_accuracy_", "directions_", "fold_correct_", "pairs_"):
        np.testing.assert_equal(getattr(again, name), getattr(model, name))


def test_a_classifier_as_a_parameter_is_not_in_a_file() -> None:
    X, y = two_clouds()
    model = EigenTreeClassifier(first_direction=LinearSVC(dual=False), random_state=0).fit(X, y)
    again = saved(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match=r"set_params\(first_direction="):
        again.fit(X, y)


def test_readers_read_it() -> None:
    X, y = load_wine(return_X_y=True)
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    assert "class 1" in obliqua.export_text(model, tree=0)
    assert len(obliqua.export_rules(model, tree=2)) == model.model_.trees[2].n_leaves
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
    assert model.apply(X).shape == (len(X), 3)
    assert model.get_depth() >= 1


@pytest.mark.parametrize(
    ("shape", "n_classes", "message"),
    [
        (
            (40, 6_000),
            2,
            "about 14 minutes and 11.9 GB of memory: it makes matrices of 6,000 feat",
        ),
        ((3_000, 2), 1_500, "about 28 minutes and 11.2 GB.*1,124,250 trees, one for each pair"),
    ],
)
def test_a_long_fit_says_so_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int], n_classes: int, message: str
) -> None:
    def never(*_: Any) -> None:
        raise InterruptedError

    monkeypatch.setattr("obliqua.methods.eigen_tree.grow_pairs", never)
    X, y = np.zeros(shape), np.arange(shape[0]) % n_classes
    with pytest.warns(CostWarning, match=message) as said, pytest.raises(InterruptedError):
        EigenTreeClassifier().fit(X, y)
    assert said[0].filename == __file__
