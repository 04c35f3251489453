"""QuestClassifier: what its parameters do, and what a user sees of its trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from estimators.registry import assert_sound, blobs
from obliqua import QuestClassifier, export_text

X, Y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)


def full(**params):
    return QuestClassifier(pruning=None, **params)


def stump(**params):
    return full(max_depth=1, **params)


def labels(model):
    tree = model.tree_
    return [tree.origin_labels[k] for k in tree.origin[~tree.is_leaf]]


def test_one_feature_per_split_or_all():
    univariate, linear = full().fit(X, Y), full(split="linear").fit(X, Y)
    assert (np.diff(univariate.tree_.coef_ptr) == 1).all()
    assert np.diff(linear.tree_.coef_ptr)[0] == 4
    assert set(labels(linear)) == {"linear discriminant"}
    for model in (univariate, linear):
        assert_sound(model, X, Y)
        assert model.score(X, Y) == 1.0
    assert linear.get_n_leaves() < univariate.get_n_leaves()


@pytest.mark.parametrize("n_first", [30, 90])
def test_a_linear_split_is_linear_discriminant_analysis(n_first):
    """With two classes the first split is scikit-learn's LDA, threshold included."""
    y = np.arange(160) < n_first
    rows = RNG.normal(size=(160, 3)) @ RNG.normal(size=(3, 3)) + np.outer(y, [0.6, -0.3, 0.2])
    model = stump(split="linear", split_point="linear").fit(rows, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(rows, y)
    assert (model.apply(rows) == model.apply(rows)[0]).sum() not in (0, 160)
    one_side = theirs.predict(rows)
    ours = model.apply(rows) == 2
    assert (ours == one_side).mean() in (0.0, 1.0)
    normal = model.tree_.coefficients(0)
    cosine = normal @ theirs.coef_[0] / np.linalg.norm(normal) / np.linalg.norm(theirs.coef_)
    assert abs(cosine) == pytest.approx(1.0)


@pytest.mark.parametrize("split", ["univariate", "linear"])
def test_priors_move_the_split_point(split):
    y = np.arange(300) % 2
    rows = RNG.normal(size=(300, 2)) + np.outer(y, [1.5, 0.2])
    settings = {"split": split, "split_point": "linear"}
    cuts = []
    for share in (0.2, 0.5, 0.8):
        model = stump(priors=[share, 1 - share], **settings).fit(rows, y)
        cost = share / (1 - share)
        same = stump(class_weight={0: cost, 1: 1.0}, **settings).fit(rows, y)
        np.testing.assert_allclose(same.tree_.threshold, model.tree_.threshold, atol=1e-5)
        sign = np.sign(model.tree_.coefficients(0)[0])
        cuts.append(sign * model.tree_.threshold[0] / np.abs(model.tree_.coefficients(0)).max())
    assert cuts[0] < cuts[1] < cuts[2]  # the more likely class 0, the more rows are given to it


def test_a_split_point_for_each_variance():
    y = np.arange(400) % 2
    x = RNG.normal(size=400) * np.where(y, 3.0, 0.3) + 2.0 * y
    quadratic, linear = (
        stump(split_point=kind).fit(x[:, None], y).tree_.threshold[0]
        for kind in ("quadratic", "linear")
    )
    assert 0.4 < quadratic < 0.9  # close to the narrow class
    assert linear == pytest.approx(1.0, abs=0.3)  # halfway


def test_classes_that_differ_in_spread_only():
    y = np.arange(200) % 2
    noise, wide = RNG.normal(size=200), RNG.normal(size=200)
    wide = np.where(y, 5.0, 1.0) * (wide - np.where(y, wide[y == 1].mean(), wide[y == 0].mean()))
    model = stump().fit(np.column_stack([noise, wide]), y)
    assert labels(model) == ["Levene's test"]
    assert model.tree_.feature[0] == 1
    unsure = stump(alpha=1e-60).fit(np.column_stack([noise, wide]), y)
    assert labels(unsure) == ["smallest p-value"]


@pytest.mark.parametrize(
    "params", [{}, {"priors": "equal"}, {"class_weight": {0: 30.0, 1: 30.0}}], ids=str
)
def test_many_values_give_no_advantage(params):
    """No feature says anything. Those with more possible splits are not chosen more often."""
    chosen = np.zeros(3)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "two": rng.integers(0, 2, 80),
                "many": rng.normal(size=80),
                "levels": rng.choice(list("abcdefgh"), 80),
            }
        )
        # With one class rarer than the other, equal priors weigh its rows nine times.
        model = stump(**params).fit(frame, (rng.random(80) < 0.1).astype(int))
        chosen[model.tree_.coef_idx[0]] += 1
    assert chosen.min() > 60  # about 100 each; 60 is five standard deviations away


def same_splits(one, other):
    """Whether two trees ask the same questions, for the same reasons."""
    return labels(one) == labels(other) and all(
        np.array_equal(getattr(one.tree_, name), getattr(other.tree_, name))
        for name in ("coef_idx", "coef", "threshold", "n_samples")
    )


def noisy(n=150, n_classes=2):
    """Little to find: numbers, one of which differs in spread, and levels."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, n_classes, n)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    frame["b"] *= 1 + (y == 1)
    frame["c"] = np.where(rng.random(n) < 0.5 * (y == 1), "u", rng.choice(list("uvw"), n))
    return frame, y


@pytest.mark.parametrize("split", ["univariate", "linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_equal_costs_change_nothing(split, n_classes):
    frame, y = noisy(n_classes=n_classes)
    equal = dict.fromkeys(range(n_classes), 50.0)
    for make in (full, QuestClassifier):
        usual = make(split=split, random_state=0).fit(frame, y)
        assert same_splits(
            make(split=split, class_weight=equal, random_state=0).fit(frame, y), usual
        )


def test_priors_and_costs_choose_no_feature():
    """They move the split point; what is significant does not depend on them."""
    frame, y = noisy()
    for params in ({"priors": [0.01, 0.99]}, {"class_weight": {0: 1e6, 1: 1.0}}):
        one, other = stump().fit(frame, y), stump(**params).fit(frame, y)
        assert labels(one) == labels(other)
        assert one.tree_.coef_idx[0] == other.tree_.coef_idx[0]
        assert one.tree_.threshold[0] != other.tree_.threshold[0]


@pytest.mark.parametrize("factor", [1 / 150, 0.3, 1e-310, 1e160, 1e300])
def test_weights_that_count_no_rows_have_no_unit(factor):
    """If they add up to 1, or to nearly nothing, there are as many rows as there are."""
    frame, y = noisy()
    usual = full().fit(frame, y)
    assert same_splits(full().fit(frame, y, np.full(150, factor)), usual)
    assert {"F test", "chi-square test", "Levene's test"} < set(labels(usual))
    uneven = 0.5 + np.arange(150) % 3
    small = full().fit(frame, y, uneven * 2.0**-9)
    assert same_splits(full().fit(frame, y, uneven), small)


def test_the_smallest_level_of_significance():
    frame, y = noisy()
    assert labels(stump(alpha=5e-324).fit(frame, y)) == ["smallest p-value"]


@pytest.mark.parametrize("split", ["univariate", "linear"])
def test_levels_and_missing_values(split):
    n = 400
    town, size = RNG.choice(["Bonn", "Oslo", "Rome"], n), RNG.normal(size=n)
    y = (town == "Oslo") ^ (size > 1.0)
    frame = pd.DataFrame({"size": size, "town": town})
    frame.loc[RNG.random(n) < 0.1, "size"] = np.nan
    frame.loc[RNG.random(n) < 0.1, "town"] = None
    model = full(split=split).fit(frame, y)
    assert_sound(model, frame, y)
    assert model.score(frame, y) > 0.9
    pruned = QuestClassifier(split=split, random_state=0).fit(frame, y)
    assert pruned.get_n_leaves() < model.get_n_leaves()
    assert "town" in export_text(pruned)
    if split == "univariate":
        assert "chi-square test" in labels(model)


def test_missing_numbers_do_not_count_in_the_tests():
    """A column with one known value per class cannot be significant, whatever fills the rest."""
    y = np.arange(100) % 2
    rare = np.full(100, np.nan)
    rare[:2] = [0.0, 1.0]
    useful = y + RNG.normal(size=100)
    model = stump().fit(np.column_stack([rare, useful]), y)
    assert model.tree_.feature[0] == 1


def test_a_linear_combination_of_one_feature_is_that_feature():
    y = np.arange(100) % 2
    rows = np.column_stack([np.zeros(100), RNG.normal(size=100) - 2.0 * y])
    for split in ("univariate", "linear"):
        tree = stump(split=split).fit(rows, y).tree_
        assert tree.feature[0] == 1
        assert tree.coefficients(0).tolist() == [0.0, 1.0]


def test_limits_on_the_features_of_a_split():
    rows, y = load_wine(return_X_y=True)
    model = full(split="linear", max_features_per_split=2).fit(rows, y)
    assert np.diff(model.tree_.coef_ptr).max() == 2
    assert_sound(model, rows, y)


def test_pruned_by_cross_validation():
    rows, y = blobs(300, 4, 3)
    rng = np.random.default_rng(0)  # not RNG, which depends on the tests that ran before
    y = np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), y)
    grown = full().fit(rows, y).get_n_leaves()
    pruned = QuestClassifier(random_state=0).fit(rows, y).get_n_leaves()
    assert pruned < grown / 3
    assert QuestClassifier(n_se=1.0, random_state=0).fit(rows, y).get_n_leaves() <= pruned


@pytest.mark.parametrize(
    "wrong", [{"split": "oblique"}, {"split_point": "gini"}, {"alpha": 0.0}, {"alpha": 1.0}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        QuestClassifier(**wrong).fit(X, Y)
