"""`compare` and `advise` where numbers are learnt."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from obliqua import CartClassifier, CartRegressor, ObliqueTreeRegressor, advise, compare
from obliqua.select import advise as asking
from obliqua.select.advice import Advice
from obliqua.select.advice_words import Wording, leaves_needed
from obliqua.select.candidates import NUMBER_CANDIDATES
from obliqua.select.decision import Decision, Evidence, Measured, decide
from obliqua.select.methods import METHODS, NUMBER_METHODS, find_method
from obliqua.select.result import MEASURES, CompareResult
from obliqua.select.task import task_of

QUICK: dict[str, Any] = {"n_folds": 5, "n_repeats": 1}
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(200, 3))
STEPS = 3.0 * (X[:, 0] > 0.2) + 2.0 * (X[:, 1] > 0) + RNG.normal(scale=0.1, size=200)
SLOPES = 5.0 * np.abs(X[:, 0]) + 2.0 * X[:, 1] + RNG.normal(scale=0.1, size=200)


def column(result: CompareResult, name: str, measure: str) -> np.ndarray:
    return result.folds[name][:, MEASURES["regression"].index(measure)]


# --- compare ----------------------------------------------------------------------------------


def test_the_figures_are_those_of_the_folds() -> None:
    trees = {"cart": CartRegressor(random_state=0), "lines": LinearRegression()}
    result = compare(X, SLOPES, trees, n_folds=4, n_repeats=2)
    assert (result.task, result.n_classes, result.classes) == ("regression", 0, ())
    seeds = np.random.SeedSequence(0).generate_state(2).tolist()
    folds = [
        division
        for seed in seeds
        for division in KFold(4, shuffle=True, random_state=seed).split(X)
    ]
    for k, (train, test) in enumerate(folds):
        tree = CartRegressor(random_state=0).fit(X[train], SLOPES[train])
        off = tree.predict(X[test]) - SLOPES[test]
        assert column(result, "cart", "rmse")[k] == pytest.approx((off**2).mean() ** 0.5)
        assert column(result, "cart", "mae")[k] == pytest.approx(np.abs(off).mean())
        assert column(result, "cart", "leaves")[k] == tree.get_n_leaves()
    assert np.isnan(column(result, "lines", "leaves")).all()


def test_r2_is_that_of_all_folds_together() -> None:
    result = compare(X, SLOPES, {"line": LinearRegression()}, n_folds=5)
    said = np.empty(200)
    seed = np.random.SeedSequence(0).generate_state(1)[0]
    for train, test in KFold(5, shuffle=True, random_state=int(seed)).split(X):
        said[test] = LinearRegression().fit(X[train], SLOPES[train]).predict(X[test])
    row = result.rows()[0]
    assert row["r2"] == pytest.approx(r2_score(SLOPES, said))
    assert "accuracy" not in row and "macro_f" not in row


def test_methods_have_names() -> None:
    result = compare(X, SLOPES, ["cart", "cart-linear", "oblique-linear", "sklearn"], n_folds=5)
    assert result.best in ("cart-linear", "oblique-linear")
    rows = {row["method"]: row for row in result.rows()}
    assert rows["cart-linear"]["features_per_leaf"] > 1
    assert np.isnan(rows["cart"]["features_per_leaf"])
    assert rows["sklearn"]["features_per_split"] == 1
    assert rows["cart"]["r2"] < rows["cart-linear"]["r2"]
    text = result.markdown()
    assert "| method | R2 | RMSE | MAE | leaves | depth | features/split | features/leaf |" in text
    assert "over 5 folds. R2 is the share of the variance" in text
    found = json.loads(json.dumps(result.to_dict()))
    assert found["task"] == "regression" and "classes" not in found
    assert found["methods"][0]["features_per_leaf"] is None


def test_all_methods_are_made_as_their_names_say() -> None:
    assert set(NUMBER_METHODS) & set(METHODS) == {"cart", "refined", "forest", "sklearn"}
    for name, method in NUMBER_METHODS.items():
        made = method.make(3)
        assert made.random_state == 3
        if name != "sklearn":
            model = {"linear": "linear", "constant": "constant"}.get(name.split("-")[-1])
            default = "auto" if name == "refined" else "constant"
            assert made.leaf_model == (model or default)
    with pytest.raises(ValueError, match=r"'oc1' learns classes, not numbers\. The methods that"):
        find_method("oc1", "regression")
    with pytest.raises(ValueError, match=r"'oblique' learns numbers, not classes"):
        find_method("oblique")


def test_levels_and_gaps_reach_methods_that_take_numbers_only() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down")})
    frame.loc[3, "a"] = np.nan
    result = compare(frame, STEPS, ["cart", "sklearn"], n_folds=3)
    assert result.notes and "sklearn takes no categories" in result.notes[0]
    assert (column(result, "cart", "r2") > 0.8).all()


@pytest.mark.parametrize(
    ("y", "methods", "task"),
    [
        (STEPS, None, "regression"),
        (STEPS, ["oc1"], "classification"),
        (np.arange(51), None, "regression"),
        (np.arange(50), None, "classification"),
        (np.arange(50), ["cart"], "classification"),
        (np.arange(5), ["oblique", "cart"], "regression"),
        (np.arange(5), {"x": DecisionTreeRegressor()}, "regression"),
        (STEPS, {"x": CartClassifier()}, "classification"),
        (np.array(["a", "b"]), None, "classification"),
        (np.array([0.0, 1.0]), None, "classification"),
    ],
)
def test_the_task_is_found_out(y: Any, methods: Any, task: str) -> None:
    assert task_of("auto", y, methods) == task
    assert task_of("regression", y, methods) == "regression"


def test_whole_numbers_that_might_be_classes_have_a_note() -> None:
    result = compare(X, np.arange(200), {"mean": DummyRegressor()}, n_folds=2)
    assert result.notes == ()
    result = compare(X, np.arange(200), ["cart"], n_folds=2)
    assert "more than 50 different whole numbers and is learnt as numbers" in result.notes[0]
    result = compare(X, np.arange(200), ["cart"], n_folds=2, task="regression")
    assert result.notes == ()


def test_fewer_rows_than_folds() -> None:
    result = compare(X[:6], STEPS[:6], {"mean": DummyRegressor()})
    assert result.n_folds == 6
    assert result.notes == ("6 folds instead of 10: there are 6 rows.",)


@pytest.mark.parametrize(
    ("y", "more", "part"),
    [
        (np.ones(200), {}, r"y is 1 in all 200 rows, so there is nothing to learn"),
        (["a", "b"] * 100, {}, "A regressor learns numbers; y holds 'a' in row 0"),
        (np.where(STEPS > 2, np.nan, STEPS), {}, "y must be finite numbers; it is nan in row"),
        (np.c_[STEPS, STEPS], {}, "one dimension, a number per row; got 2"),
        (STEPS[:10], {}, "inconsistent numbers of samples"),
        (STEPS, {"task": "numbers"}, "task must be 'auto', 'classification' or 'regression'"),
        (STEPS, {"methods": ["oc1"]}, "'oc1' learns classes, not numbers"),
        (STEPS, {"methods": ["refine"]}, "no method 'refine'. Did you mean 'refined'"),
    ],
)
def test_bad_input(y: Any, more: dict[str, Any], part: str) -> None:
    with pytest.raises(ValueError, match=part):
        compare(X, y, **{"task": "regression", "n_folds": 2, **more})


def test_classes_and_numbers_are_not_compared() -> None:
    both = {"one": CartRegressor(), "two": CartClassifier()}
    with pytest.raises(ValueError, match="'one' is a regressor and 'two' is none"):
        compare(X, STEPS, both)
    with pytest.raises(ValueError, match="needs at least 4 rows; got 3"):
        compare(X[:3], STEPS[:3])


# --- advise -----------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the candidate that takes most of the time, and with a smaller forest."""
    chosen = [
        replace(each, method=replace(each.method, params={"n_estimators": 10}))
        if each.name == "forest"
        else each
        for each in NUMBER_CANDIDATES
        if each.name != "refined"
    ]
    monkeypatch.setattr(asking, "NUMBER_CANDIDATES", tuple(chosen))
    monkeypatch.setattr(asking, "SIZES", (2, 4))


@pytest.mark.usefixtures("quick")
def test_steps_need_a_plain_tree() -> None:
    advice = advise(X, STEPS, **QUICK)
    assert (advice.choice, advice.pays) == ("axis", "no")
    text = advice.recommendation()
    assert text.startswith("Take an axis-parallel tree with a number in each leaf: R2 0.9")
    assert "(RMSE 0." in text
    assert advice.describe().startswith("200 rows, 3 features, 5 folds. R2: ")
    assert advice.command() == "-m cart --set pruning=cv"


@pytest.mark.usefixtures("quick")
def test_slopes_need_linear_leaves() -> None:
    advice: Advice = advise(X, SLOPES, **QUICK)
    assert (advice.choice, advice.pays) == ("lines", "accuracy")
    assert "Linear functions in the leaves pay: lines has R2 +" in advice.describe()
    assert "trees with linear leaves (lines) of 2 leaves have R2 0.9" in advice.describe()
    assert isinstance(advice.make(), CartRegressor)
    heads, *_ = advice.curve_rows()
    assert heads == ["leaves", "axis", "oblique", "lines"]
    assert "| candidate | R2 | RMSE | MAE |" in advice.markdown()
    assert json.loads(json.dumps(advice.to_dict()))["choice"] == "lines"


@pytest.mark.usefixtures("quick")
def test_a_line_needs_no_tree_and_noise_nothing() -> None:
    plane = X @ [1.0, 2.0, 3.0] + np.random.default_rng(1).normal(scale=0.1, size=200)
    noise = np.random.default_rng(1).normal(size=200)
    assert advise(X, plane, **QUICK).choice in ("linear", "lines")
    found = advise(X, noise, **QUICK)
    assert (found.choice, found.tree, found.command()) == ("mean", "mean", "")
    assert "than always giving the mean" in found.recommendation()
    assert "say nothing about the number, or 200 rows are too few" in found.recommendation()


@pytest.mark.usefixtures("quick")
def test_rows_are_drawn() -> None:
    found = advise(X, STEPS, max_rows=100, n_folds=3, n_repeats=1)
    assert found.notes == ("100 of 200 rows were drawn; max_rows says how many.",)
    assert found.result.n_rows == 100


def test_all_candidates_can_be_made() -> None:
    assert [each.name for each in NUMBER_CANDIDATES] == [
        *("axis", "oblique", "lines", "refined", "linear", "forest", "mean")
    ]
    for each in NUMBER_CANDIDATES:
        assert each.method.make(0).get_params() is not None
    assert isinstance(NUMBER_CANDIDATES[1].method.make(0), ObliqueTreeRegressor)


# --- the rules and the words -------------------------------------------------------------------

KINDS = {each.name: each.kind for each in NUMBER_CANDIDATES}
PLAIN: dict[str, tuple[float, ...]] = {
    "axis": (0.80, 10.0, 1.0),
    "oblique": (0.80, 10.0, 2.0),
    "lines": (0.80, 8.0, 1.0, 6.0),
    "linear": (0.50,),
    "forest": (0.80, 900.0, 1.0),
    "mean": (0.0,),
}


def evidence(p: float = 0.4, **changed: Any) -> Evidence:
    """Differences of R2 of 0.05 are sure; others have the p-value that is given."""
    figures = {**PLAIN, **changed}
    measured = [
        Measured(name, KINDS[name], values[0], np.nan, *values[1:])
        for name, values in figures.items()
    ]
    pairs = [(one, other) for one in measured for other in measured if one is not other]
    found = {
        (one.name, other.name): 0.001 if abs(one.score - other.score) >= 0.0499 else p
        for one, other in pairs
    }
    errors = dict.fromkeys(found, 0.01)
    return Evidence(measured, found, dict.fromkeys(found, 0.001), {}, "regression", errors)


def words(found: Evidence) -> Wording:
    result = CompareResult({}, {}, 500, 6, 0, n_folds=10, n_repeats=1, task="regression")
    return Wording(result, {}, found, decide(found), NUMBER_CANDIDATES)


def test_a_gain_is_a_share_of_the_error() -> None:
    found = evidence()
    better = Measured("x", "oblique", 0.8 + 0.2 * 0.0397)  # 2 % of the error, rounded up
    worse = Measured("y", "oblique", 0.8 + 0.2 * 0.0390)
    assert found.ahead(better, found.axis) and not found.ahead(worse, found.axis)
    perfect = Measured("z", "oblique", 1.0)
    assert found.gain(perfect, found.axis) == 1.0
    assert found.gain(perfect, perfect) == 0.0
    assert found.gain(found.axis, perfect) == -np.inf


def test_terms_count_what_leaves_say() -> None:
    assert Measured("x", "leaves", 0.9, np.nan, 5.0, 1.0, 3.0).terms == 4.0 + 15.0
    assert Measured("x", "leaves", 0.9, np.nan, 1.0, np.nan, 3.0).terms == 3.0


def test_decisions_about_numbers() -> None:
    assert decide(evidence()) == Decision("axis", "axis", "no", "oblique")
    found = evidence(lines=(0.9, 8.0, 1.0, 6.0))
    assert decide(found) == Decision("lines", "lines", "accuracy", "lines")
    assert words(found).obliqueness() == (
        "Linear functions in the leaves pay: lines has R2 +0.100 ± 0.010, RMSE 29 % smaller "
        "against the plain tree, p = 0.001, with 8.0 leaves in the place of 10.0."
    )
    assert (
        words(found)
        .recommendation()
        .startswith(
            "Take an axis-parallel tree with linear functions in its leaves: R2 0.900 with 8.0 "
            "leaves, 1.0 features per split, linear functions of 6.0 features in the leaves."
        )
    )
    forest = evidence(forest=(0.95, 900.0, 1.0))
    assert decide(forest).choice == "forest"
    assert "A single tree costs accuracy here: R2 -0.150 ± 0.010, RMSE 100 % larger (axis" in (
        words(forest).recommendation()
    )
    assert (
        words(forest)
        .recommendation()
        .startswith("Take an oblique forest (ObliqueForestRegressor): R2 0.950")
    )
    assert "Neither oblique splits nor linear functions in the leaves pay" in (
        words(evidence()).obliqueness()
    )


def test_leaves_that_are_needed() -> None:
    curve = {2: 0.5, 4: 0.79, 8: 0.799, 16: 0.8}
    assert leaves_needed(curve, 0.8, "regression") == 8
    assert leaves_needed(curve, 0.9, "regression") is None
