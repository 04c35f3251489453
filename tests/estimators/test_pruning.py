"""Pruning, priors and costs as parameters of the estimators."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, cross_val_score

from estimators.registry import (
    ESTIMATORS,
    REPRESENTATIVES,
    assert_sound,
    blobs,
    each_estimator,
    each_representative,
    full_grown,
    usual,
)
from obliqua import measure_spread
from obliqua.criteria import get_criterion
from obliqua.prune import (
    cost_complexity_path,
    folds,
    hold_out,
    prune_by_folds,
    prune_on_rows,
    prune_pessimistic,
    prune_reduced_error,
)

RNG = np.random.default_rng(0)
X, Y = blobs(400, 4, 3, seed=3)
Y = np.where(RNG.random(len(Y)) < 0.15, RNG.integers(0, 3, len(Y)), Y)
UNSEEN, TRUTH = blobs(2000, 4, 3, seed=3)
COUNTS = RNG.integers(0, 4, len(Y))
KINDS = (
    {"pruning": "holdout"},
    {"pruning": "holdout", "prune_fraction": 0.3, "n_se": 1.0, "prune_root": True},
    {"pruning": "cv", "n_folds": 4},
    {"pruning": "cv", "n_folds": 3, "n_se": 1.0, "class_weight": {0: 2.0}},
    {"pruning": "reduced_error", "priors": "equal"},
    {"pruning": "pessimistic"},
    {"pruning": "pessimistic", "confidence_factor": 0.1, "subtree_raising": True},
    {"ccp_alpha": 0.01, "priors": [0.2, 0.3, 0.5]},
)
# Every kind of pruning for the representatives, and one for each of the others.
OTHERS = [cls for cls in ESTIMATORS if cls not in REPRESENTATIVES]
PAIRS = [
    *((cls, kind) for cls in REPRESENTATIVES for kind in KINDS),
    *((cls, KINDS[k % len(KINDS)]) for k, cls in enumerate(OTHERS)),
]
each_kind = pytest.mark.parametrize(("Estimator", "kind"), PAIRS)


def division(model, X, y, sample_weight=None):
    """What a fit of the model sees: the problem, its seed and what grows a tree."""
    _, problem, _ = model._encoded(X, y, sample_weight)
    key = model._key()
    return problem, key, model._grower(key)


# --- each kind is what it says --------------------------------------------------------------


@each_representative
@pytest.mark.parametrize("n_se", [0.0, 1.0])
@pytest.mark.parametrize("prune_root", [False, True])
def test_holdout(Estimator, n_se, prune_root):
    model = usual(Estimator, random_state=6, n_se=n_se, prune_root=prune_root).fit(X, Y)
    problem, key, grow = division(model, X, Y)
    problem, held = hold_out(problem, 0.1, key)
    assert held.sum() == 40
    tree = grow(problem.take(~held))
    pruned = prune_on_rows(tree, problem.take(held), n_se, prune_root)
    assert model.tree_ == measure_spread(pruned, X[~held])
    assert 2 <= model.get_n_leaves() < tree.n_leaves
    assert_sound(model, X[~held], Y[~held])


@each_representative
def test_reduced_error(Estimator):
    model = usual(Estimator, random_state=5, pruning="reduced_error", prune_fraction=0.25).fit(
        X, Y
    )
    problem, key, grow = division(model, X, Y)
    problem, held = hold_out(problem, 0.25, key)
    assert held.sum() == 100
    tree = grow(problem.take(~held))
    pruned = prune_reduced_error(tree, problem.take(held))
    assert model.tree_ == measure_spread(pruned, X[~held])
    assert model.get_n_leaves() < tree.n_leaves


@each_representative
@pytest.mark.parametrize("raising", [False, True])
@pytest.mark.parametrize("factor", [0.25, 0.05])
def test_pessimistic(Estimator, factor, raising):
    model = usual(Estimator, pruning="pessimistic", confidence_factor=factor)
    model.set_params(subtree_raising=raising).fit(X, Y)
    problem, _, grow = division(model, X, Y)
    tree = grow(problem)
    criterion = get_criterion(model.criterion)
    rows = problem if raising else None
    pruned = prune_pessimistic(tree, rows, confidence_factor=factor, criterion=criterion)
    assert model.tree_ == measure_spread(pruned, X)
    assert 2 <= model.get_n_leaves() < tree.n_leaves
    assert_sound(model, X, Y)


@each_representative
def test_folds_grow_from_their_rows(Estimator):
    """Limits that are fractions refer to the rows that grow a tree, here and in each fold."""
    limits = {"min_samples_leaf": 0.02, "min_weight_fraction_leaf": 0.01}
    model = usual(Estimator, random_state=5, pruning="cv", n_folds=4, **limits).fit(X, Y)
    problem, key, grow = division(model, X, Y)
    asked = []

    def noted(part):
        asked.append(part.n_rows)
        tree = grow(part)
        assert tree.n_samples[tree.is_leaf].min() >= np.ceil(0.02 * part.n_rows)
        return tree

    assert model.tree_ == measure_spread(prune_by_folds(problem, noted, 4, seed=key), X)
    assert asked == [400, 300, 300, 300, 300]
    assert np.bincount(folds(problem, 4, key)[1]).tolist() == [100] * 4
    assert_sound(model, X, Y)


@each_representative
def test_too_few_rows_to_hold_one_out(Estimator):
    few, labels = X[:4], [0, 1, 0, 1]
    for kind in ("holdout", "reduced_error"):
        model = usual(Estimator, pruning=kind, random_state=0).fit(few, labels)
        assert model.tree_ == full_grown(Estimator).fit(few, labels).tree_
        assert model.score(few, labels) == 1.0


@each_estimator
def test_pruned_trees_are_smaller_and_better_on_noise(Estimator):
    grown = full_grown(Estimator).fit(X, Y)
    for kind in ("holdout", "cv", "reduced_error", "pessimistic"):
        pruned = usual(Estimator, pruning=kind, n_folds=3, random_state=0).fit(X, Y)
        # The estimates trust splits that were found by long search too much.
        share = 0.75 if kind == "pessimistic" else 0.5
        assert pruned.get_n_leaves() < share * grown.get_n_leaves()
        assert accuracy_score(TRUTH, pruned.predict(UNSEEN)) > accuracy_score(
            TRUTH, grown.predict(UNSEEN)
        )


@each_representative
def test_the_root_stays_unless_it_may_go(Estimator):
    noise = np.random.default_rng(4).integers(0, 10, size=300) == 0
    for kind in ("holdout", "cv", "reduced_error", "pessimistic"):
        kept = usual(Estimator, pruning=kind, random_state=1).fit(X[:300], noise)
        cut = usual(Estimator, pruning=kind, random_state=1, prune_root=True).fit(X[:300], noise)
        assert kept.get_n_leaves() >= 2
        assert cut.get_n_leaves() <= kept.get_n_leaves()
    grown = full_grown(Estimator).fit(X, Y).tree_
    assert usual(Estimator, ccp_alpha=1.0).fit(X, Y).get_n_leaves() == grown.n_children[0]
    assert usual(Estimator, ccp_alpha=1.0, prune_root=True).fit(X, Y).get_n_leaves() == 1


# --- what changes nothing -------------------------------------------------------------------


@each_kind
def test_the_order_of_the_rows_changes_nothing(Estimator, kind):
    order = np.random.default_rng(1).permutation(len(Y))
    tree = usual(Estimator, random_state=2, **kind).fit(X, Y).tree_
    assert usual(Estimator, random_state=2, **kind).fit(X[order], Y[order]).tree_ == tree


@each_kind
def test_weights_count_rows(Estimator, kind):
    weighted = usual(Estimator, random_state=2, **kind).fit(X, Y, sample_weight=COUNTS)
    repeated = usual(Estimator, random_state=2, **kind)
    repeated.fit(np.repeat(X, COUNTS, axis=0), np.repeat(Y, COUNTS))
    np.testing.assert_array_equal(weighted.tree_.stats, repeated.tree_.stats)
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


@pytest.mark.parametrize(
    ("Estimator", "kind"),
    [
        (cls, kind)
        for cls, kind in PAIRS
        if "n_se" not in kind and kind.get("pruning") != "pessimistic"
    ],
)
def test_a_factor_of_all_weights_changes_nothing(Estimator, kind):
    """But for standard errors, pessimistic estimates and QUEST's tests of significance.

    All these take weights for rows; QUEST's linear splits need no test.
    """
    if "split" in Estimator().get_params():
        kind = {**kind, "split": "linear"}
    for n_rows in (395, 396, 399):
        weighted = usual(Estimator, random_state=2, **kind)
        weighted.fit(X[:n_rows], Y[:n_rows], sample_weight=np.full(n_rows, 2.0))
        plain = usual(Estimator, random_state=2, **kind).fit(X[:n_rows], Y[:n_rows])
        np.testing.assert_array_equal(weighted.tree_.stats, 2 * plain.tree_.stats)


@each_kind
def test_threads_change_nothing(Estimator, kind):
    tree = usual(Estimator, random_state=2, **kind).fit(X, Y).tree_
    assert usual(Estimator, random_state=2, n_jobs=2, **kind).fit(X, Y).tree_ == tree


@each_representative
def test_the_seed_chooses_what_is_held_out(Estimator):
    trees = [usual(Estimator, random_state=seed).fit(X, Y).tree_ for seed in (0, 0, 1)]
    assert trees[0] == trees[1]
    assert trees[0] != trees[2]


@each_representative
@pytest.mark.parametrize("kind", ["holdout", "cv", "reduced_error", "pessimistic"])
@pytest.mark.parametrize(("scale", "n_se"), [(5e-324, 0.0), (1e-300, 1.0), (1e300, 1e300)])
def test_odd_weights(Estimator, kind, scale, n_se):
    weights = np.full(len(Y), scale)
    model = usual(Estimator, pruning=kind, random_state=0, n_folds=3, n_se=n_se)
    model.fit(X, Y, sample_weight=weights)
    assert model.get_n_leaves() >= 2


# --- ccp_alpha ------------------------------------------------------------------------------


@each_representative
@pytest.mark.parametrize("prune_root", [False, True])
@pytest.mark.parametrize("weights", [None, COUNTS / 8], ids=["rows", "weights"])
def test_the_path_says_what_each_price_gives(Estimator, prune_root, weights):
    model = usual(Estimator, random_state=0, prune_root=prune_root)
    path = model.cost_complexity_pruning_path(X, Y, sample_weight=weights)
    assert not hasattr(model, "tree_")
    grown = full_grown(Estimator).fit(X, Y, sample_weight=weights)
    assert path.n_leaves[0] == grown.get_n_leaves()
    assert path.ccp_alphas[0] == 0.0
    assert path.impurities[-1] > path.impurities[0]
    assert path.n_leaves[-1] == (1 if prune_root else grown.tree_.n_children[0])
    for alpha, share, n_leaves in zip(*path.values(), strict=True):
        if alpha > 0:
            pruned = clone(model).set_params(ccp_alpha=alpha).fit(X, Y, sample_weight=weights)
            assert pruned.get_n_leaves() == n_leaves
            error = 1 - pruned.score(X, Y, sample_weight=weights)
            assert error == pytest.approx(share)


@each_representative
@pytest.mark.parametrize("kind", ["holdout", "cv", "reduced_error", "pessimistic", None])
def test_a_price_of_zero_prunes_nothing(Estimator, kind):
    free = usual(Estimator, ccp_alpha=0, pruning=kind, random_state=0).fit(X, Y)
    assert free.tree_ == full_grown(Estimator, random_state=0).fit(X, Y).tree_


@each_representative
def test_the_path_is_that_of_the_grown_tree(Estimator):
    path = usual(Estimator, random_state=0).cost_complexity_pruning_path(X, Y)
    expected = cost_complexity_path(full_grown(Estimator).fit(X, Y).tree_, prune_root=False)
    np.testing.assert_array_equal(path.ccp_alphas, expected.alphas)


@each_representative
def test_the_path_checks_what_it_is_given(Estimator):
    with pytest.raises(ValueError, match="'n_se' parameter"):
        usual(Estimator, n_se=-1).cost_complexity_pruning_path(X, Y)
    with pytest.raises(ValueError, match="infinity"):
        usual(Estimator).cost_complexity_pruning_path(np.full_like(X, np.inf), Y)


@each_representative
def test_a_price_takes_the_place_of_pruning(Estimator):
    trees = [
        usual(Estimator, random_state=0, ccp_alpha=0.004, pruning=kind).fit(X, Y).tree_
        for kind in ("holdout", "cv", "reduced_error", "pessimistic", None)
    ]
    assert all(tree == trees[0] for tree in trees)
    assert trees[0].n_samples[0] == len(Y)


# --- priors and costs -----------------------------------------------------------------------


def shares(model):
    return model.tree_.stats[0] / model.tree_.stats[0].sum()


@each_representative
@pytest.mark.parametrize("priors", [[0.5, 0.2, 0.3], {2: 3, 0: 5, 1: 2}, (5.0, 2.0, 3.0)])
@pytest.mark.parametrize("weights", [None, COUNTS], ids=["rows", "weights"])
def test_priors_are_the_shares(Estimator, priors, weights):
    model = full_grown(Estimator, priors=priors).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(shares(model), [0.5, 0.2, 0.3], rtol=1e-6)
    assert model.tree_.stats[0].sum() == pytest.approx(
        len(Y) if weights is None else weights.sum()
    )


@each_representative
@pytest.mark.parametrize("kind", ["holdout", "cv", "reduced_error", "pessimistic", None])
def test_equal_priors_are_balanced_weights(Estimator, kind):
    equal = usual(Estimator, priors="equal", pruning=kind, random_state=0).fit(X, Y)
    balanced = usual(Estimator, class_weight="balanced", pruning=kind, random_state=0).fit(X, Y)
    assert equal.tree_ == balanced.tree_


@each_representative
def test_a_class_without_rows_leaves_its_prior_to_the_others(Estimator):
    weights = np.where(Y == 1, 0.0, 1.0)
    model = full_grown(Estimator, priors=[0.3, 0.4, 0.3]).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(shares(model), [0.5, 0.0, 0.5], rtol=1e-6)


@each_representative
def test_priors_may_name_classes_that_are_not_in_y(Estimator):
    """As in a fold that lacks a rare class."""
    lacking = Y != 1
    model = full_grown(Estimator, priors={0: 0.3, 1: 0.4, 2: 0.1}).fit(X[lacking], Y[lacking])
    np.testing.assert_allclose(shares(model), [0.75, 0.25], rtol=1e-6)
    rare = np.where(np.arange(len(Y)) == 0, 7, Y)
    priors = {0: 0.4, 1: 0.3, 2: 0.25, 7: 0.05}
    model = usual(Estimator, priors=priors, random_state=0)
    scores = cross_val_score(model, X, rare, cv=KFold(4), error_score="raise")
    assert scores.mean() > 0.6
    assert model.fit(X, rare).classes_.tolist() == [0, 1, 2, 7]


@each_representative
def test_a_prior_of_zero_leaves_a_class_out(Estimator):
    model = full_grown(Estimator, priors=[0.5, 0.5, 0.0]).fit(X, Y)
    without = full_grown(Estimator, priors="equal").fit(X[Y != 2], Y[Y != 2])
    np.testing.assert_array_equal(model.predict(X), without.predict(X))
    assert model.classes_.tolist() == [0, 1, 2]


@each_representative
@pytest.mark.parametrize("kind", ["holdout", "cv", "reduced_error", "pessimistic"])
def test_costs_reach_labels_and_pruning(Estimator, kind):
    """A dear class is predicted where it is less than half, in a pruned tree too."""
    rng = np.random.default_rng(5)
    mixed = np.arange(1200) < 400
    rare = (rng.random(1200) < np.where(mixed, 0.4, 0.02)).astype(int)
    rows = np.column_stack([mixed, rng.random(1200)]).astype(float)
    limits = {"pruning": kind, "random_state": 0, "max_depth": 3}
    plain = usual(Estimator, **limits).fit(rows, rare)
    dear = usual(Estimator, **limits, class_weight={1: 5.0}).fit(rows, rare)
    assert plain.predict(rows[mixed]).mean() < 0.2
    assert dear.predict(rows[mixed]).mean() > 0.8
    assert dear.predict(rows[~mixed]).mean() < 0.2
