"""`compare`: the same folds for all, the right figures, honest notes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from obliqua import CartClassifier, HHCartClassifier, ObliqueTreeClassifier, compare
from obliqua.select.methods import BY_DEFAULT, METHODS, find_method
from obliqua.select.result import MEASURES, CompareResult
from obliqua.stats.metrics import macro_f, true_negative_rates, true_positive_rates
from obliqua.tree.shape import features_per_split, way_of_a_row

X, y = load_iris(return_X_y=True)
TREE = CartClassifier(max_depth=2, pruning=None)


def column(result: CompareResult, name: str, measure: str) -> Any:
    return result.folds[name][:, MEASURES["classification"].index(measure)]


def without_times(result: CompareResult) -> dict[str, list[list[float]]]:
    return {name: values[:, :-1].tolist() for name, values in result.folds.items()}


def test_figures_agree_with_a_plain_loop() -> None:
    result = compare(X, y, {"tree": TREE}, n_folds=4, n_repeats=2, random_state=7)
    accuracy, leaves, f = [], [], []
    for seed in np.random.SeedSequence(7).generate_state(2).tolist():
        pooled = np.empty_like(y)
        for train, test in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y):
            tree = TREE.fit(X[train], y[train])
            pooled[test] = tree.predict(X[test])
            accuracy.append(np.mean(pooled[test] == y[test]))
            leaves.append(tree.get_n_leaves())
        f.append(f1_score(y, pooled, average="macro"))
    assert column(result, "tree", "accuracy") == pytest.approx(accuracy)
    assert column(result, "tree", "leaves").tolist() == leaves
    assert result.macro_f["tree"] == pytest.approx(f)
    (row,) = result.rows()
    assert row["accuracy"] == pytest.approx(np.mean(accuracy))
    assert row["accuracy_sd"] == pytest.approx(np.std(accuracy, ddof=1))
    assert row["macro_f"] == pytest.approx(np.mean(f))
    assert row["macro_f_sd"] == pytest.approx(np.std(f, ddof=1))
    assert row["seconds"] > 0


def test_all_methods_see_the_same_folds() -> None:
    twice = compare(X, y, {"one": TREE, "two": TREE}, n_folds=5)
    alone = compare(X, y, {"two": TREE}, n_folds=5)
    assert without_times(twice)["one"] == without_times(twice)["two"]
    assert without_times(twice)["two"] == without_times(alone)["two"]


def test_the_seed_decides_and_jobs_do_not() -> None:
    methods = ["cart", "hhcart-d", "sklearn"]
    first = compare(X, y, methods, n_folds=3)
    assert without_times(compare(X, y, methods, n_folds=3)) == without_times(first)
    assert without_times(compare(X, y, methods, n_folds=3, n_jobs=2)) == without_times(first)
    other = compare(X, y, methods, n_folds=3, random_state=1)
    assert without_times(other) != without_times(first)


def test_estimators_without_a_seed_get_one() -> None:
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1))
    first = compare(X, y, {"p": pipeline}, n_folds=3)
    assert without_times(compare(X, y, {"p": pipeline}, n_folds=3)) == without_times(first)
    assert pipeline.steps[-1][1].random_state is None
    assert not hasattr(pipeline.steps[-1][1], "tree_")


class Once(DummyClassifier):
    """A classifier that can be fitted only once."""

    def fit(self, X: Any, y: Any) -> Any:
        assert not hasattr(self, "classes_")
        return super().fit(X, y)


def test_each_fit_has_an_estimator_of_its_own() -> None:
    assert len(compare(X, y, {"once": Once()}, n_folds=3).folds["once"]) == 3


@pytest.mark.filterwarnings("ignore::obliqua.LeakWarning")  # 2C-ETCT, with half of the rows
def test_all_methods_but_slow_ones_are_compared_by_default() -> None:
    result = compare(*load_wine(return_X_y=True), n_folds=2)
    assert list(result.folds) == list(BY_DEFAULT)
    assert set(METHODS) - set(BY_DEFAULT) == {"aft", "odt", "hhcart-g"}
    assert find_method("hhcart-g").make(0).variant == "geometric"
    assert [row["method"] for row in result.rows()] == list(BY_DEFAULT)
    features = {row["method"]: row["features_per_split"] for row in result.rows()}
    assert features["cart"] == features["sklearn"] == 1.0
    assert 1.0 < features["hhcart-3"] <= 3.0 < features["hhcart-a"] <= 13.0


def test_features_per_split() -> None:
    def slanted(node: Any) -> Any:
        return np.array([[1.0, 1.0, 0.0, 0.0]] if len(node.y) == 150 else [[1.0, 2.0, 3.0, 0.0]])

    tree = ObliqueTreeClassifier(slanted, axis_parallel=False, pruning=None, max_depth=2)
    tree.fit(X, y)
    inner = tree.tree_.n_nodes - tree.tree_.n_leaves
    assert features_per_split(tree.model_) == pytest.approx((2 + 3 * (inner - 1)) / inner)
    single = CartClassifier(pruning=None).fit([[0.0], [0.0]], [0, 1])
    assert np.isnan(features_per_split(single.model_))
    assert way_of_a_row(single.model_) == (0.0, 0.0)
    depth = tree.tree_.node_depth[tree.apply(X)]
    expected = (depth.mean(), 2.0 + 3.0 * (depth.mean() - 1.0))  # a row meets the root and others
    assert way_of_a_row(tree.model_) == pytest.approx(expected)


def test_a_forest_counts_all_of_its_trees() -> None:
    result = compare(X, y, ["forest"], n_folds=2)
    forest, shapes = find_method("forest").make(0), []
    seed = int(np.random.SeedSequence(0).generate_state(1)[0])
    for train, _ in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
        trees = [member.tree_ for member in forest.fit(X[train], y[train]).estimators_]
        leaves, terms = sum(tree.n_leaves for tree in trees), sum(len(t.coef) for t in trees)
        shapes.append([leaves, max(tree.depth for tree in trees), terms / (leaves - len(trees))])
    assert len(trees) == 100
    np.testing.assert_allclose(result.folds["forest"][:, 1:4], shapes)


def test_what_an_estimator_does_not_tell_is_not_known() -> None:
    result = compare(X, y, {"dummy": DummyClassifier(), "tree": TREE}, n_folds=3)
    assert np.isnan(result.rows()[0]["leaves"])
    assert json.loads(json.dumps(result.to_dict()))["methods"][0]["leaves"] is None
    (line,) = [line for line in result.markdown().splitlines() if "dummy" in line]
    assert line.split(" | ")[3:6] == ["-", "-", "-"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_text_labels(frame: Any) -> None:
    names = np.array(["a", "b", "c"])[y]
    columns = {name: X[:, k] for k, name in enumerate("pqrs")}
    result = compare(frame(columns), names, {"tree": TREE}, n_folds=3)
    assert without_times(result) == without_times(compare(X, y, {"tree": TREE}, n_folds=3))
    assert (result.n_rows, result.n_features, result.n_classes) == (150, 4, 3)


def test_the_note_on_noise_is_a_corrected_test() -> None:
    stump = CartClassifier(max_depth=1, pruning=None)
    result = compare(X, y, {"stump": stump, "tree": TREE, "copy": TREE}, n_folds=5, n_repeats=2)
    assert result.best == "tree"
    difference = column(result, "tree", "accuracy") - column(result, "stump", "accuracy")
    t = difference.mean() / np.sqrt(difference.var(ddof=1) * (1 / 10 + 1 / 4))
    assert result.p_values["stump"] == pytest.approx(2 * stats.t.sf(t, 9))
    assert result.p_values["stump"] < 0.05
    assert result.p_values["copy"] == 1.0
    assert [row["within_noise"] for row in result.rows()] == [False, True, True]
    text = result.markdown()
    assert "repeated 2 times" in text
    assert "| stump | 66.7 ± 0.0 |" in text
    assert text.count(" * |") == 2


def test_a_clear_winner() -> None:
    result = compare(X, y, {"dummy": DummyClassifier(), "tree": TREE}, n_folds=5)
    assert "tree is best, beyond noise" in result.reading()
    assert "best" not in compare(X, y, {"tree": TREE}, n_folds=3).reading()


def test_fewer_folds_than_asked_for() -> None:
    few = np.concatenate([y, [3, 3, 3]])
    rows = np.concatenate([X, X[:3] + 100])
    result = compare(rows, few, {"tree": TREE}, n_folds=10)
    assert result.n_folds == 3
    assert result.notes == ("3 folds instead of 10: the class 3 has 3 rows.",)
    assert len(result.folds["tree"]) == 3
    assert result.notes[0] in result.markdown()


@pytest.mark.parametrize(
    ("labels", "more", "part"),
    [
        (np.zeros(150), {}, "one class only, 0.0"),
        (np.r_[np.zeros(149, int), 1], {}, "class 1 has 1 row"),
        (np.linspace(0, 1, 150), {"task": "classification"}, "Unknown label type"),
        (np.zeros((150, 2), int), {}, "one dimension"),
        (y[:10], {}, "inconsistent numbers of samples"),
        (y, {"n_folds": 1}, "n_folds must be a whole number of at least 2; got 1"),
        (y, {"n_folds": 2.5}, "n_folds must be a whole number of at least 2; got 2.5"),
        (y, {"n_repeats": 0}, "n_repeats must be a whole number of at least 1; got 0"),
        (y, {"n_jobs": 0}, "n_jobs must be None or a whole number other than 0, .*; got 0"),
        (y, {"n_jobs": "all"}, "n_jobs must be None or a whole number .*; got 'all'"),
        (y, {"methods": ["hhcart"]}, "Did you mean 'hhcart-"),
        (y, {"methods": "cart"}, "list of names"),
        (y, {"methods": ["cart", CartClassifier()]}, r"mapping of names.*got \['cart', CartCl"),
        (y, {"methods": []}, "nothing to compare"),
    ],
)
def test_bad_input(labels: Any, more: dict[str, Any], part: str) -> None:
    with pytest.raises(ValueError, match=part):
        compare(X, labels, **more)


def test_progress() -> None:
    seen: list[tuple[int, int, str]] = []
    compare(X, y, ["cart", "means"], n_folds=2, progress=lambda *step: seen.append(step))
    assert seen == [(1, 4, "cart"), (2, 4, "means"), (3, 4, "cart"), (4, 4, "means")]


def test_methods_have_names_titles_and_can_be_made() -> None:
    for name, method in METHODS.items():
        assert name == method.name == find_method(name).name
        assert method.title
        assert method.make(3).random_state == 3
    made = find_method("hhcart-3").make(0)
    assert isinstance(made, HHCartClassifier)
    assert made.max_features_per_split == 3


def uneven() -> tuple[Any, Any]:
    """Noise, and a class so small that most folds hold one row of it."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 2)), np.repeat(["low", "mid", "top"], [45, 30, 5])


def test_macro_f_and_rates_are_of_all_folds_together() -> None:
    rows, names = uneven()
    result = compare(rows, names, {"tree": TREE}, n_folds=5, n_repeats=2, random_state=7)
    assert result.classes == ("low", "mid", "top")
    assert result.confusion["tree"].shape == (2, 3, 3)
    assert result.rates["tree"].shape == (2, 2, 3)
    found = []
    for seed in np.random.SeedSequence(7).generate_state(2).tolist():
        pooled = np.empty_like(names)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        for train, test in folds.split(rows, names):
            pooled[test] = TREE.fit(rows[train], names[train]).predict(rows[test])
        found.append(
            [
                macro_f(names, pooled),
                *true_positive_rates(names, pooled),
                *true_negative_rates(names, pooled),
            ]
        )
    (row,) = result.rows()
    keys = [
        "macro_f",
        *(f"{rate}[{label}]" for rate in ("tpr", "tnr") for label in result.classes),
    ]
    np.testing.assert_allclose([row[key] for key in keys], np.mean(found, axis=0))
    assert row["macro_f_sd"] == pytest.approx(np.std(found, axis=0, ddof=1)[0])
    shown = f"{100 * row['tpr[low]']:.1f} ± {100 * np.std(found, axis=0, ddof=1)[1]:.1f}"
    assert result.rate_rows()[0][:3] == ["low", "tree", shown]
    assert "macro F: over the repeats, each of all its folds together" in result.markdown()
    assert "Both: over the repeats, each of all its folds together." in result.markdown(rates=True)


def test_one_repeat_has_no_spread_of_what_is_pooled() -> None:
    result = compare(*uneven(), {"tree": TREE}, n_folds=5)
    (row,) = result.rows()
    assert row["accuracy_sd"] > 0
    assert np.isnan(row["macro_f_sd"])
    (said,) = json.loads(json.dumps(result.to_dict()))["methods"]
    assert said["macro_f_sd"] is None
    assert f"| {row['macro_f']:.2f} |" in result.markdown()
    assert "macro F is of all folds together" in result.markdown()
    assert "±" not in "".join(result.rate_rows()[0])
    assert "Both are of all folds together." in result.markdown(rates=True)
    # Pooled recalls, weighted by the sizes of the classes, are the pooled accuracy.
    sizes = np.unique(uneven()[1], return_counts=True)[1]
    recalls = [row[f"tpr[{label}]"] for label in result.classes]
    matrix = result.confusion["tree"][0]
    assert np.average(recalls, weights=sizes) == pytest.approx(np.trace(matrix) / 80)
    assert matrix.sum(axis=1).tolist() == sizes.tolist()


def test_truth_values_have_one_word() -> None:
    result = compare(X, y == 0, {"tree": TREE}, n_folds=3)
    assert list(result.rows()[0])[-4:] == ["tpr[false]", "tpr[true]", "tnr[false]", "tnr[true]"]
    assert [row[0] for row in result.rate_rows()] == ["false", "true"]
    assert "| true | tree |" in result.markdown(rates=True)
    assert result.to_dict()["classes"] == [False, True]


# --- types of columns --------------------------------------------------------------------------


def rare_text(others: Any) -> Any:
    """Objects whose second column has text in one row only."""
    rows = np.empty((60, 2), dtype=object)
    rows[:, 0] = np.random.default_rng(0).normal(size=60).tolist()
    rows[:, 1] = others
    rows[5, 1] = "x"
    return rows


@pytest.mark.parametrize("others", [None, [float(k % 3) for k in range(60)], "w"])
@pytest.mark.parametrize("own", [False, True])
def test_types_are_those_of_the_whole_table(others: Any, own: bool) -> None:
    rows = rare_text(others)
    labels = (rows[:, 0] > 0).astype(int)
    made = {"cart": CartClassifier(), "means": ObliqueTreeClassifier()}
    result = compare(rows, labels, made if own else ["cart", "means", "sklearn"], n_folds=5)
    assert all(row["accuracy"] > 0.8 for row in result.rows())
    assert made["cart"].categorical_features == "from_dtype"  # yours is as it was


def test_types_that_were_said_stay() -> None:
    # Odd codes are one class: a single question of levels, many of numbers.
    codes = np.arange(80, dtype=object)[:, None] % 8
    stump = CartClassifier(max_depth=1, pruning=None)
    said = clone(stump).set_params(categorical_features=[0])
    result = compare(codes, codes[:, 0].astype(int) % 2, {"a": said, "b": stump}, n_folds=4)
    assert [row["accuracy"] == 1.0 for row in result.rows()] == [True, False]


def test_estimators_of_your_own_get_the_table_as_it_is() -> None:
    rows = np.array([[str(k % 3), "b"] for k in range(60)], dtype=object)
    with pytest.raises(ValueError, match="could not convert string to float") as error:
        compare(rows, [0, 1] * 30, {"mine": DecisionTreeClassifier()}, n_folds=3)
    (note,) = error.value.__notes__
    assert note.startswith("This is from the method 'mine'")
    assert "OneHotEncoder" in note
    with pytest.raises(ValueError, match="string to float") as error:
        compare(rows, [0, 1] * 30, {"mine": DecisionTreeClassifier()}, n_folds=3, n_jobs=2)
    assert error.value.__notes__[-1] == note


def test_the_note_on_tables_is_for_those_who_do_not_take_them() -> None:
    rows = rare_text("w")
    rows[7, 0] = float("inf")
    for name in ("cart", "sklearn"):
        with pytest.raises(ValueError, match="inf") as failed:
            compare(rows, [0, 1] * 30, [name], n_folds=3)
        assert not any("of your own" in note for note in getattr(failed.value, "__notes__", []))

    class Broken(DummyClassifier):
        def fit(self, X: Any, y: Any) -> Any:
            raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck") as error:
        compare(X, y, {"mine": Broken()}, n_folds=3)
    assert error.value.__notes__ == ["This is from the method 'mine'."]


def test_what_rows_cost_is_compared_where_costs_are_given() -> None:
    costs = np.array([[0, 1, 2], [3, 0, 5], [4, 30, 0]])
    given = {"dear": clone(TREE).set_params(costs=costs), "plain": TREE}
    result = compare(X, y, given, n_folds=5)
    folds = StratifiedKFold(
        5, shuffle=True, random_state=np.random.SeedSequence(0).generate_state(1)[0]
    )
    for row in result.rows():
        paid = []
        for train, test in folds.split(X, y):
            fitted = clone(given[row["method"]]).set_params(random_state=0).fit(X[train], y[train])
            paid.append(costs[y[test], fitted.predict(X[test])].mean())
        assert row["mean_cost"] == pytest.approx(np.mean(paid))
        assert row["mean_cost_sd"] == pytest.approx(np.std(paid, ddof=1))
    assert "| accuracy % | macro F | cost | leaves |" in result.markdown()
    assert "The cost is what a row held out costs" in result.reading()
    assert result.to_dict()["costs"] == costs.tolist()
    plain = compare(X, y, {"plain": TREE}, n_folds=5)
    assert "mean_cost" not in plain.rows()[0]
    assert "cost" not in plain.markdown()


def test_different_costs_are_not_compared() -> None:
    given = {
        "one": clone(TREE).set_params(costs=1 - np.eye(3)),
        "two": make_pipeline(StandardScaler(), clone(TREE).set_params(costs=2 - 2 * np.eye(3))),
    }
    result = compare(X, y, given, n_folds=3)
    assert result.costs == ()
    assert "different costs of mistakes" in result.notes[0]
