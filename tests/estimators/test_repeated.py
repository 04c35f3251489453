"""RepeatedTreesClassifier: votes of several trees, and the best of several."""

from __future__ import annotations

import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from estimators.registry import NumbersOnly
from obliqua import (
    CartClassifier,
    HHCartClassifier,
    LMDTClassifier,
    ObliqueTreeClassifier,
    OC1Classifier,
    RepeatedTreesClassifier,
    SADTClassifier,
    TreeError,
    export_text,
)
from obliqua.explain import importances
from obliqua.prune.division import hold_out

RNG = np.random.default_rng(3)
X = RNG.normal(size=(240, 4))
Y = (X @ [1.0, 2.0, -1.0, 0.5] + 0.9 * RNG.normal(size=240) > 0).astype(int) + (X[:, 0] > 1)
COMBINES = ("vote", "mean", "best")


def at_random(node: Any) -> np.ndarray:
    return node.rng.normal(size=(3, node.X.shape[1]))


METHODS: dict[str, Any] = {
    "OC1": OC1Classifier(n_restarts=3, n_jumps=2, pruning="holdout"),
    "OC1 pruned by folds": OC1Classifier(n_restarts=2, pruning="cv", n_folds=3),
    "SADT": SADTClassifier(patience=200, pruning=None),
    "LMDT": LMDTClassifier(max_passes=20),
    "own": ObliqueTreeClassifier(at_random, pruning=None),
    "HHCART": HHCartClassifier(pruning="holdout"),
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
each_combine = pytest.mark.parametrize("combine", COMBINES)


def repeated(method: Any = None, **params: Any) -> RepeatedTreesClassifier:
    given = METHODS["OC1"] if method is None else method
    return RepeatedTreesClassifier(given, **{"n_estimators": 5, "random_state": 0, **params})


def noted(model: RepeatedTreesClassifier) -> dict[str, Any]:
    """What a fit has noted beside its model."""
    found = {name: getattr(model, name) for name in model._notes if hasattr(model, name)}
    return {name: np.asarray(value).tolist() for name, value in found.items()}


# --- windows ----------------------------------------------------------------------------------


def test_a_window_takes_in_what_its_tree_has_wrong() -> None:
    """Trees of a method without randomness differ, and each is right about all rows."""
    cart = CartClassifier(pruning=None)
    model = repeated(cart, n_estimators=3, window=0.3).fit(X, Y)
    first, second, _ = model.model_.trees
    assert first != second
    for tree, seed in zip(model.model_.trees, model.tree_seeds_, strict=True):
        assert 0.3 * len(X) < tree.n_samples[0] < len(X)
        np.testing.assert_array_equal(tree.leaf_label[tree.apply(X)], Y)
        problem = cart._encoded(X, Y, None)[1]
        whole, inside = hold_out(problem, 0.3, int(seed))
        while True:  # as it is defined, with fits
            again = clone(cart).fit(whole.Z[inside], whole.y[inside])
            wrong = again.predict(whole.Z) != whole.y
            if not (wrong & ~inside).any():
                break
            inside |= wrong
        assert tree == again.tree_


def test_rows_too_few_for_a_window_are_all_taken() -> None:
    model = repeated(CartClassifier(pruning=None), n_estimators=1, window=0.01).fit(X[:9], Y[:9])
    assert model.model_.trees[0].n_samples[0] == 9


def test_rounds_of_a_window_share_the_time_and_are_all_counted(monkeypatch: Any) -> None:
    """The clock goes on by a second with each tree that is grown."""
    limits, tried = [], []
    grown = OC1Classifier._grown

    def noting(self: Any, problem: Any) -> Any:
        limits.append(self.time_limit)
        tree = grown(self, problem)
        tried.append(self._journal.tried)
        return tree

    monkeypatch.setattr(OC1Classifier, "_grown", noting)
    monkeypatch.setattr("obliqua.estimators._ensembles.monotonic", lambda: float(len(limits)))
    oc1 = OC1Classifier(n_restarts=2, pruning=None, time_limit=500.0)
    model = repeated(oc1, n_estimators=1, window=0.1).fit(X, Y)
    assert len(limits) > 2
    assert limits == [500.0 - k for k in range(len(limits))]
    assert model.n_hyperplanes_ == sum(tried) > tried[-1]
    assert not model.timed_out_
    limits.clear()
    model.set_params(estimator__time_limit=0.0).fit(X, Y)
    assert limits == [0.0]  # no further round begins
    assert model.timed_out_


# --- the trees --------------------------------------------------------------------------------


@each_method
def test_each_tree_is_that_of_its_seed(method: Any) -> None:
    model = repeated(method, n_estimators=3).fit(X, Y)
    alone = [clone(method).set_params(random_state=int(seed)) for seed in model.tree_seeds_]
    assert model.model_.trees == tuple(tree.fit(X, Y).tree_ for tree in alone)
    assert len(set(model.tree_seeds_.tolist())) == 3
    assert model.model_.trees[0] != model.model_.trees[1]
    for name in ("n_hyperplanes_", "timed_out_"):
        assert hasattr(model, name) == hasattr(alone[0], name)
    if hasattr(model, "n_hyperplanes_"):
        assert model.n_hyperplanes_ == sum(tree.n_hyperplanes_ for tree in alone) > 0


def test_a_vote_counts_trees() -> None:
    model = repeated(n_estimators=4).fit(X, Y)
    said = np.stack([tree.leaf_label[tree.apply(X)] for tree in model.model_.trees], axis=1)
    votes = np.stack([(said == label).sum(axis=1) for label in range(3)], axis=1)
    np.testing.assert_array_equal(model.predict_proba(X), votes / 4)
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))
    tied = np.sort(votes, axis=1)[:, -1] == np.sort(votes, axis=1)[:, -2]
    assert tied.any(), "the first class at ties"
    assert (said != said[:, :1]).any()


def test_a_mean_is_one_of_shares() -> None:
    model = repeated(combine="mean").fit(X, Y)
    shares = [tree.proportion[tree.apply(X)] for tree in model.model_.trees]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(shares, axis=0))
    assert model.model_.trees == repeated().fit(X, Y).model_.trees


@each_combine
def test_fewer_trees_are_the_first_ones(combine: str) -> None:
    few, many = (repeated(combine=combine, n_estimators=n).fit(X, Y) for n in (2, 5))
    np.testing.assert_array_equal(few.tree_seeds_, many.tree_seeds_[:2])
    if combine == "best":
        np.testing.assert_array_equal(few.selection_errors_, many.selection_errors_[:2])
    else:
        assert few.model_.trees == many.model_.trees[:2]


def test_the_seed_is_that_of_the_whole() -> None:
    one = repeated(clone(METHODS["OC1"]).set_params(random_state=1)).fit(X, Y)
    assert one.model_ == repeated().fit(X, Y).model_
    assert one.model_ != repeated(random_state=1).fit(X, Y).model_
    again = repeated(random_state=np.random.RandomState(0)).fit(X, Y)
    assert again.model_ == one.model_
    assert repeated(random_state=None).fit(X, Y).model_ != one.model_


def test_nothing_stands_for_oc1() -> None:
    one = RepeatedTreesClassifier(n_estimators=2, random_state=0).fit(X, Y)
    method = OC1Classifier(pruning="holdout")
    two = RepeatedTreesClassifier(method, n_estimators=2, random_state=0).fit(X, Y)
    assert one.model_ == two.model_
    assert one.estimator is None


def test_the_method_itself_is_not_changed() -> None:
    method = OC1Classifier(n_restarts=2)
    before = dict(vars(method))
    repeated(method).fit(X, Y)
    assert vars(method) == before


# --- the best of several ----------------------------------------------------------------------


@each_method
def test_the_best_is_chosen_on_rows_that_no_tree_has_seen(method: Any) -> None:
    model = repeated(method, combine="best", selection_fraction=0.25).fit(X, Y)
    _, problem, _ = clone(method)._encoded(X, Y, None)
    whole, held = hold_out(problem, 0.25, model._seeds()[0])
    assert held.sum() == 60
    rows, labels = whole.Z[~held], whole.y[~held]
    trees = [
        clone(method).set_params(random_state=int(seed)).fit(rows, labels).tree_
        for seed in model.tree_seeds_
    ]
    wrong = [
        (tree.leaf_label[tree.apply(whole.Z[held])] != whole.y[held]).mean() for tree in trees
    ]
    np.testing.assert_allclose(model.selection_errors_, wrong)
    sizes = [(wrong[k], trees[k].n_leaves, k) for k in range(5)]
    assert model.best_index_ == min(sizes)[2]
    assert model.tree_ == trees[model.best_index_]
    assert model.model_.trees == (model.tree_,)
    assert model.model_.combine == "single"


def test_training_rows_choose_the_smallest_tree_without_errors() -> None:
    clean = (X @ [1.0, 2.0, -1.0, 0.5] > 0) & (X[:, 1] < 1)
    method = OC1Classifier(n_restarts=2, n_jumps=1, pruning=None)
    model = repeated(method, combine="best", selection="training").fit(X, clean)
    trees = repeated(method).fit(X, clean).model_.trees
    assert model.selection_errors_.tolist() == [0.0] * 5
    sizes = [tree.n_leaves for tree in trees]
    assert min(sizes) < max(sizes)
    assert model.tree_ == trees[int(np.argmin(sizes))]
    assert model.tree_.n_samples[0] == 240


def test_errors_heed_weights_of_rows_and_classes() -> None:
    weights = RNG.integers(1, 5, size=240).astype(float)
    weighted = {0: 1.0, 1: 4.0, 2: 1.0}
    method = OC1Classifier(n_restarts=2, class_weight=weighted, pruning="holdout")
    model = repeated(method, combine="best", selection="training").fit(X, Y, weights)
    weights = weights * np.where(Y == 1, 4.0, 1.0)
    wrong = weights[model.predict(X) != Y].sum() / weights.sum()
    assert model.selection_errors_[model.best_index_] == pytest.approx(wrong, rel=1e-12)
    assert 0 < wrong == model.selection_errors_.min()


# --- what changes nothing ---------------------------------------------------------------------


@each_combine
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_threads_and_processes_change_no_bit(combine: str, backend: str) -> None:
    alone = repeated(combine=combine).fit(X, Y)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        configured = repeated(combine=combine).fit(X, Y)
    explicit = repeated(combine=combine, n_jobs=2).fit(X, Y)
    for other in (configured, explicit):
        assert other.model_ == alone.model_
        assert noted(other) == noted(alone)


@each_combine
def test_the_order_of_rows_changes_nothing(combine: str) -> None:
    order = np.random.default_rng(1).permutation(240)
    one = repeated(combine=combine).fit(X, Y)
    two = repeated(combine=combine).fit(X[order], Y[order])
    assert two.model_ == one.model_
    assert noted(two) == noted(one)


@each_combine
@pytest.mark.parametrize("name", ["OC1", "LMDT"])
def test_a_weight_of_two_is_a_row_twice(combine: str, name: str) -> None:
    counts = np.random.default_rng(2).integers(0, 4, size=240)
    weighted = repeated(METHODS[name], combine=combine).fit(X, Y, counts.astype(float))
    written = repeated(METHODS[name], combine=combine)
    written.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_array_equal(weighted.predict_proba(X), written.predict_proba(X))
    assert noted(weighted) == noted(written)


# --- methods without randomness ---------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        CartClassifier(pruning=None),
        HHCartClassifier(pruning="pessimistic"),
        HHCartClassifier(ccp_alpha=0.01),
        OC1Classifier(n_restarts=1, n_jumps=0, pruning=None),
        OC1Classifier(n_restarts=2, n_jumps=0, guided_start="fisher", pruning=None),
        ObliqueTreeClassifier(pruning=None),
    ],
    ids=str,
)
def test_equal_trees_are_said(method: Any) -> None:
    with pytest.warns(UserWarning, match=f"All 5 trees are the same: .* {type(method).__name__}"):
        model = repeated(method).fit(X, Y)
    assert len(model.model_.trees) == 5
    assert all(tree == model.model_.trees[0] for tree in model.model_.trees)
    alone = clone(method).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    repeated(method, n_estimators=1).fit(X, Y)  # one tree is no surprise


def test_the_warning_names_the_line_that_calls_fit() -> None:
    with pytest.warns(UserWarning, match="trees are the same") as seen:
        repeated(CartClassifier(pruning=None)).fit(X, Y)
    assert seen[0].filename == __file__


def test_equal_trees_by_accident_are_not_said() -> None:
    easy = np.array([[0.0], [1.0], [10.0], [11.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = repeated(OC1Classifier(pruning=None)).fit(easy, [0, 0, 1, 1])
        repeated(CartClassifier(pruning=None)).fit(X, np.zeros(240))  # nothing to divide
    assert all(tree == model.model_.trees[0] for tree in model.model_.trees)


# --- small and odd data -----------------------------------------------------------------------


@each_combine
@each_method
def test_one_class_gives_leaves(combine: str, method: Any) -> None:
    model = repeated(method, combine=combine).fit(X, ["only"] * 240)
    assert model.get_depth() == 0
    assert model.get_n_leaves() == len(model.model_.trees)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((240, 1)))
    assert model.predict(X[:2]).tolist() == ["only", "only"]
    assert not model.feature_importances_.any()


@each_combine
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 7])
def test_few_rows(combine: str, n_rows: int) -> None:
    model = repeated(combine=combine).fit(X[:n_rows], Y[:n_rows])
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    if combine == "best":
        assert np.isfinite(model.selection_errors_).all()


def test_a_class_that_is_held_out_keeps_its_column() -> None:
    labels = Y.copy()
    labels[0] = 9
    for seed in range(12):
        model = repeated(combine="best", n_estimators=2, random_state=seed).fit(X, labels)
        assert model.classes_.tolist() == [0, 1, 2, 9]
        assert model.predict_proba(X).shape == (240, 4)


def table() -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["level"] = pd.Categorical(
        np.array(["x", "y", "z"])[(X[:, 3] > 0).astype(int) + (X[:, 2] > 1)]
    )
    frame.loc[::7, "a"] = np.nan
    frame.loc[::9, "level"] = None
    return frame


@each_combine
@each_method
def test_tables_pass_through(combine: str, method: Any) -> None:
    frame, labels = table(), np.array(["p", "q", "r"])[Y]
    model = repeated(method, combine=combine, n_estimators=3).fit(frame, labels)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.n_features_in_ == 5
    assert model.score(frame, labels) > 0.6
    chosen = clone(method).set_params(categorical_features=["level"])
    other = repeated(chosen, combine=combine, n_estimators=3).fit(frame, labels)
    assert other.model_ == model.model_
    tags = get_tags(model).input_tags
    assert tags.allow_nan
    assert tags.categorical


def test_what_the_method_refuses_is_refused() -> None:
    model = repeated(NumbersOnly(at_random))
    assert not get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 2, np.nan, X), Y)
    model.fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match="RepeatedTreesClassifier is expecting 4 features"):
        model.predict(X[:, :3])


# --- an estimator like any --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"estimator": OC1Classifier}, TypeError, r"the class OC1Classifier.*OC1Classifier\(\)"),
        ({"estimator": LogisticRegression()}, TypeError, "class LogisticRegression.*of those"),
        ({"estimator": make_pipeline(OC1Classifier())}, TypeError, "class Pipeline.*pipeline"),
        ({"estimator": RepeatedTreesClassifier()}, TypeError, "RepeatedTrees.*that it repeats"),
        ({"estimator": "oc1"}, TypeError, r"such as OC1Classifier\(\)"),
        ({"estimator": OC1Classifier(max_depth=-1)}, ValueError, "'max_depth' .* OC1Classifier"),
        ({"n_estimators": 0}, ValueError, "'n_estimators' parameter of RepeatedTrees"),
        ({"combine": "single"}, ValueError, "'combine' .*'best'"),
        ({"selection": "cv"}, ValueError, "'selection' .*'holdout'"),
        ({"selection_fraction": 1.0}, ValueError, "'selection_fraction' .* Got 1.0"),
        ({"n_jobs": 0}, ValueError, "'n_jobs'"),
    ],
    ids=str,
)
def test_parameters_are_checked(params: Any, error: Any, message: str) -> None:
    model = repeated().fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        model.set_params(**params).fit(X, Y)
    after = dict(vars(model))
    assert all(after[name] is before[name] for name in before if name.endswith("_"))


def test_parameters_of_the_method_are_reached() -> None:
    model = clone(repeated()).set_params(estimator__n_restarts=7, n_estimators=3)
    assert model.estimator.n_restarts == model.get_params()["estimator__n_restarts"] == 7
    assert METHODS["OC1"].n_restarts == 3
    assert model.fit(X, Y).n_hyperplanes_ > repeated(n_estimators=3).fit(X, Y).n_hyperplanes_
    search = GridSearchCV(repeated(), {"estimator__max_depth": [1, 3], "combine": COMBINES}, cv=2)
    search.fit(X, Y)
    assert search.best_estimator_.get_depth() <= 3
    pipe = make_pipeline(StandardScaler(), repeated()).fit(X, Y)
    assert pipe.score(X, Y) > 0.7


def test_nothing_has_no_parameters() -> None:
    """None stands for an OC1Classifier at a fit; what is set for it would be lost."""
    model = RepeatedTreesClassifier(n_estimators=3)
    said = r"estimator__n_jumps .*estimator=OC1Classifier\(pruning='holdout'\)"
    with pytest.raises(ValueError, match=said):
        model.set_params(n_estimators=7, estimator__n_jumps=2)
    assert model.n_estimators == 3
    model.set_params(estimator=OC1Classifier(), estimator__n_jumps=2)
    assert model.estimator.n_jumps == 2
    with pytest.raises(ValueError, match="estimator is None"):
        model.set_params(estimator=None, estimator__n_jumps=3)
    assert model.estimator.n_jumps == 2
    with pytest.raises(ValueError, match="Invalid parameter 'n_jumps'"):
        model.set_params(n_jumps=3)


# --- reading ----------------------------------------------------------------------------------


def test_readers_read_each_tree() -> None:
    model = repeated().fit(pd.DataFrame(X, columns=list("abcd")), Y)
    texts = [export_text(model, tree=number) for number in range(5)]
    assert len(set(texts)) > 1
    with pytest.raises(TreeError, match="5 trees"):
        export_text(model)
    each = [importances(tree) for tree in model.model_.trees]
    np.testing.assert_allclose(model.feature_importances_, np.mean(each, axis=0))
    frame = pd.DataFrame(X, columns=list("abcd"))
    leaves, paths = model.apply(frame), model.decision_path(frame)
    starts = np.cumsum([0, *(tree.n_nodes for tree in model.model_.trees)])
    assert leaves.shape == (240, 5)
    assert paths.shape == (240, starts[-1])
    for number, tree in enumerate(model.model_.trees):
        part = paths[:, starts[number] : starts[number + 1]]
        np.testing.assert_array_equal(part.toarray(), tree.decision_path(X).toarray())
        np.testing.assert_array_equal(leaves[:, number], tree.apply(X))
    assert model.get_n_leaves() == sum(tree.n_leaves for tree in model.model_.trees)
    assert model.get_depth() == max(tree.depth for tree in model.model_.trees)
