"""`advise`: right where the answer is known, careful where it is not, clear about bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.datasets import make_classification

from cli_tools import people
from obliqua import (
    CartClassifier,
    HHCartClassifier,
    ObliqueForestClassifier,
    RefinedTreeClassifier,
    advise,
    compare,
)
from obliqua.datasets import make_pol
from obliqua.select import advise as asking
from obliqua.select.advice import Advice
from obliqua.select.candidates import CANDIDATES, NUMBER_CANDIDATES, linear
from obliqua.select.decision import decide

QUICK: dict[str, Any] = {"n_folds": 5, "n_repeats": 1}


def uniform(n_rows: int, n_features: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n_rows, n_features))


def flipped(y: np.ndarray, share: float, seed: int = 1) -> np.ndarray:
    """Labels of which a share is wrong."""
    return y ^ (np.random.default_rng(seed).random(len(y)) < share)


@pytest.fixture(scope="module")
def stripes() -> Advice:
    """With all candidates; the others are without the slow one, where it is not the point."""
    X, y = make_pol(400, random_state=0, return_X_y=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "SIZES", (2, 8, 64))
        return advise(X, y, **QUICK)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the candidate that takes most of the time, and with a smaller forest."""
    chosen = [
        replace(each, method=replace(each.method, params={"n_estimators": 30}))
        if each.name == "forest"
        else each
        for each in CANDIDATES
        if each.name != "refined"
    ]
    monkeypatch.setattr(asking, "CANDIDATES", tuple(chosen))


# --- where the answer is known ----------------------------------------------------------------


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", [0, 1])
def test_boxes_need_no_oblique_splits(seed: int) -> None:
    X = uniform(400, 5, seed)
    y = flipped((X[:, 0] > 0.2) & (X[:, 1] < 0.4) | (X[:, 2] > 0.7), 0.05, seed)
    advice = advise(X, y, **QUICK)
    assert advice.pays == "no"
    assert advice.choice == advice.tree == "axis"
    assert "Take an axis-parallel tree" in advice.recommendation()


def test_stripes_need_oblique_splits(stripes: Advice) -> None:
    """Two features: a sparse tree would be the same as the dense one, and is not tried."""
    assert [row["method"] for row in stripes.rows()] == [
        *("axis", "dense", "refined", "linear", "forest", "majority")
    ]
    assert (stripes.choice, stripes.pays) == ("dense", "accuracy")
    # Five stripes: eight leaves are enough for oblique trees, 64 not for the others.
    assert stripes.curve["dense"][8] > 0.95 > stripes.curve["axis"][64]
    assert "do not reach that with 64 leaves" in stripes.describe()
    assert "The linear model is worse" in stripes.recommendation()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_plane_across_two_of_many_features_is_sparse(seed: int) -> None:
    X = uniform(500, 6, seed)
    inside = (np.abs(X[:, 0] + X[:, 1]) < 0.5) & (X[:, 2] > -0.5)
    advice = advise(X, flipped(inside, 0.03, seed), **QUICK)
    assert advice.pays == "accuracy"
    assert advice.tree == "sparse"


@pytest.mark.usefixtures("quick")
def test_a_linear_truth_needs_a_plane() -> None:
    X = np.random.default_rng(3).normal(size=(400, 8))
    y = flipped(X @ np.array([3.0, -2.0, 2.0, 1.0, -1.0, 1.0, 2.0, -3.0]) > 0, 0.02)
    advice = advise(X, y, **QUICK)
    assert advice.pays == "accuracy"
    assert advice.choice in ("dense", "linear")
    assert advice.tree == "dense"


def test_many_clusters_are_for_a_refined_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The greedy trees are far behind the forest; the refined one is not."""
    monkeypatch.setattr(asking, "SIZES", (2,))
    shape = {"n_informative": 6, "n_redundant": 0, "n_clusters_per_class": 4, "class_sep": 1.5}
    X, y = make_classification(800, 6, **shape, random_state=0)
    # The last digits depend on the processor, and which rows are held out on all digits.
    advice = advise(X.round(6), y, **QUICK)
    assert (advice.choice, advice.pays) == ("refined", "accuracy")
    assert "Take a refined oblique tree" in advice.recommendation()
    assert isinstance(advice.make(), RefinedTreeClassifier)
    assert advice.command() == "-m refined"


@pytest.mark.usefixtures("quick")
def test_a_sphere_is_for_a_forest() -> None:
    X = uniform(500, 8)
    distance = (X[:, :6] ** 2).sum(axis=1)
    advice = advise(X, distance > np.median(distance), **QUICK)
    assert (advice.choice, advice.tree, advice.pays) == ("forest", "axis", "no")
    assert "A single tree costs accuracy here" in advice.recommendation()
    assert "Take an oblique forest (ObliqueForestClassifier)" in advice.recommendation()
    assert isinstance(advice.make(), ObliqueForestClassifier)


@pytest.mark.usefixtures("quick")
def test_where_only_the_forest_learns_no_tree_is_named() -> None:
    X = uniform(500, 20)
    sums = np.abs(X).sum(axis=1)
    advice = advise(X, sums > np.median(sums), **QUICK)
    assert (advice.choice, advice.tree) == ("forest", "majority")
    assert "No single tree is more accurate, beyond noise, than always" in advice.recommendation()
    assert "must be a tree" not in advice.recommendation()
    assert advice.command() == ""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_in_noise_nothing_is_found(seed: int) -> None:
    X = uniform(200, 4, seed)
    y = np.random.default_rng(100 + seed).integers(0, 2, 200)
    advice = advise(X, y, **QUICK)
    assert (advice.choice, advice.tree) == ("majority", "majority")
    assert advice.pays in ("no", "unclear")
    assert "Whether obliqueness pays cannot be told: no tree is better than" in advice.describe()
    assert "does not pay" not in advice.describe()
    assert advice.recommendation().startswith("Take none of these yet")
    assert "rare classes" not in advice.recommendation()
    assert advice.command() == ""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_guessing_a_rare_class_is_not_finding_it(seed: int) -> None:
    """A tree that guesses has a larger macro F than one answer for all rows."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(300, 3)), rng.random(300) < 0.15
    advice = advise(X, y, **QUICK)
    assert advice.choice == "majority"
    assert "rare classes" not in advice.recommendation()


@pytest.mark.usefixtures("quick")
def test_rare_classes_that_are_found_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the rows in a corner are of the rare class: to say so costs as much as it gains."""
    monkeypatch.setattr(asking, "SIZES", (2,))
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 3))
    y = (X[:, 0] > 0.85) & (rng.random(1000) < 0.5)
    advice = advise(X, y, **QUICK)
    assert advice.choice == "majority"
    (name,) = re.findall(r"But (\w+) finds rare classes", advice.recommendation())
    assert advice.evidence.p_rare[name] < 0.01
    # The p-value is that of a paired t-test of both rates, fold by fold.
    matrices = advice.result.fold_confusion[name]
    np.testing.assert_array_equal(matrices.sum(axis=0), advice.result.confusion[name][0])
    rates = [(m[1, 1] / m[1].sum(), m[0, 1] / m[0].sum()) for m in matrices]
    gain = np.array([found - wrongly for found, wrongly in rates])
    t = gain.mean() / np.sqrt(gain.var(ddof=1) * (1 / 5 + 1 / 4))
    assert advice.evidence.p_rare[name] == pytest.approx(2 * stats.t.sf(t, 4))


@pytest.mark.usefixtures("quick")
def test_a_class_is_rare_by_its_share() -> None:
    """A quarter of two classes is rare, a third is not."""
    X = uniform(120, 2)
    quarter, third = (np.arange(120) % k == 0 for k in (4, 3))
    assert set(advise(X, quarter, n_folds=2, n_repeats=1).evidence.p_rare) > {"axis", "dense"}
    assert advise(X, third, n_folds=2, n_repeats=1).evidence.p_rare == {}


@pytest.mark.usefixtures("quick")
def test_columns_that_say_nothing() -> None:
    advice = advise(np.ones((30, 3)), np.arange(30) % 2, **QUICK)
    assert advice.choice == "majority"
    by_name = {row["method"]: row for row in advice.rows()}
    assert by_name["axis"]["leaves"] == by_name["dense"]["leaves"] == 1.0


# --- what is measured -------------------------------------------------------------------------


def test_the_figures_are_those_of_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SIZES", (4,))
    X, y = make_pol(150, random_state=1, return_X_y=True)
    advice = advise(X, y, n_folds=3, n_repeats=2, random_state=3)
    trees = {
        "axis": CartClassifier(pruning="cv"),
        "dense": HHCartClassifier(variant="dominant", extra_directions="fisher", pruning="cv"),
        "refined": RefinedTreeClassifier(),
        "four": CartClassifier(pruning=None, max_leaf_nodes=4),
        "refined, four": RefinedTreeClassifier(max_leaf_nodes=4, compare_greedy=False),
    }
    for tree in trees.values():
        tree.set_params(random_state=None)  # so that `compare` says it
    expected = compare(X, y, trees, n_folds=3, n_repeats=2, random_state=3)
    for name in ("axis", "dense", "refined"):
        np.testing.assert_array_equal(
            advice.result.folds[name][:, :-1], expected.folds[name][:, :-1]
        )
    # Trees of equal size are cross-validated once, on the first of the two divisions.
    assert advice.curve["axis"][4] == expected.folds["four"][:3, 0].mean()
    assert advice.curve["refined"][4] == expected.folds["refined, four"][:3, 0].mean()
    assert advice.result.n_repeats == 2
    row = {row["method"]: row for row in advice.rows()}["axis"]
    assert row["p_axis"] == 1.0
    # Against the best one the p-values are compare's own, and so is the one against axis.
    best = advice.result.best
    for row in advice.rows():
        pair = (row["method"], best)
        found = advice.evidence.p_score
        assert row["p_value"] == found.get(pair, found.get(pair[::-1], 1.0))
        if best == row["method"]:
            assert row["p_axis"] == advice.result.p_values["axis"]


@pytest.mark.usefixtures("quick")
def test_processes_change_nothing() -> None:
    X, y = make_pol(200, random_state=0, return_X_y=True)
    alone = advise(X, y, **QUICK)
    told: list[tuple[int, int, str]] = []
    again = advise(X, y, **QUICK, n_jobs=2, progress=lambda *step: told.append(step))
    assert again.describe() == alone.describe()
    assert again.curve == alone.curve
    n_fits = 5 * (5 + 2 * 5)  # 200 rows have no trees of 64 leaves
    assert [(done, n_all) for done, n_all, _ in told] == [(k + 1, n_fits) for k in range(n_fits)]


def test_the_decision_is_that_of_the_rules(stripes: Advice) -> None:
    assert stripes.decision == decide(stripes.evidence)


@pytest.mark.usefixtures("quick")
def test_what_a_few_folds_say_is_repeated_by_default() -> None:
    X, y = make_pol(60, random_state=0, return_X_y=True)
    told: list[tuple[int, int]] = []
    advice = advise(X, y, n_folds=2, progress=lambda done, n_all, _: told.append((done, n_all)))
    assert advice.result.n_repeats == 2
    first, both = 2 * (5 + 2 * 3), 2 * (2 * 5 + 2 * 3)  # 60 rows have no trees of 16 leaves
    assert told == [(k + 1, first if k < 10 else both) for k in range(both)]
    asked = advise(X, y, n_folds=2, n_repeats=2)
    assert advice.describe() == asked.describe()
    for name, values in asked.result.folds.items():
        np.testing.assert_array_equal(advice.result.folds[name][:, :-1], values[:, :-1])
        np.testing.assert_array_equal(
            advice.result.fold_confusion[name], asked.result.fold_confusion[name]
        )
        np.testing.assert_array_equal(advice.result.confusion[name], asked.result.confusion[name])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("settled", [True, False])
def test_what_is_not_settled_is_repeated(settled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SIZES", (2,))
    monkeypatch.setattr(asking, "settled", lambda evidence: settled)
    X, y = make_pol(100, random_state=0, return_X_y=True)
    assert advise(X, y, n_folds=6).result.n_repeats == (1 if settled else 2)
    assert advise(X, y, n_folds=6, n_repeats=1).result.n_repeats == 1


@pytest.mark.usefixtures("quick")
def test_what_is_settled_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SIZES", (2,))
    X = uniform(400, 5)
    y = X[:, 0] > 0.1
    advice = advise(X, y)
    assert advice.result.n_repeats == 1
    assert advice.result.n_folds == 10
    assert asking.settled(advice.evidence)


@pytest.mark.usefixtures("quick")
def test_trees_of_equal_size_have_five_folds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SIZES", (4,))
    X, y = make_pol(150, random_state=1, return_X_y=True)
    advice = advise(X, y, n_folds=6, n_repeats=1)
    four = {"four": CartClassifier(pruning=None, max_leaf_nodes=4)}
    expected = compare(X, y, four, n_folds=5).folds["four"][:, 0].mean()
    assert advice.curve["axis"][4] == expected


def test_the_linear_model_says_nothing_of_its_iterations() -> None:
    """Here a warning would be an error; separable classes let weights grow for ever."""
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 1e-9, 1e9]
    model = linear(0)
    model.set_params(model__C=1e12, model__max_iter=2)
    assert model.fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.8


# --- tables of all kinds ----------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
def test_categories_and_missing_values() -> None:
    frame = pl.read_csv(people(120).encode())
    X, y = frame.drop("y"), frame["y"].to_numpy()
    advice = advise(X, y, **QUICK)
    assert any(note.startswith("linear takes no categories") for note in advice.notes)
    assert any(note.startswith("linear takes no missing values") for note in advice.notes)
    assert not any("majority" in note for note in advice.notes)
    panda = advise(pd.DataFrame(X.to_dict(as_series=False)), y, **QUICK)
    assert panda.describe() == advice.describe()
    assert "p axis" in advice.markdown()


@pytest.mark.usefixtures("quick")
def test_codes_as_categories() -> None:
    """Odd codes are one class: levels need one split, numbers seven."""
    codes = np.tile(np.arange(8.0), 30)
    X = np.column_stack([codes, uniform(240, 1)[:, 0]])
    y = codes.astype(int) % 2
    plain, levels = (
        advise(X, y, n_folds=3, n_repeats=1, categorical_features=given) for given in (None, [0])
    )
    assert levels.curve["axis"][2] == 1.0 > plain.curve["axis"][2]
    assert any("linear takes no categories" in note for note in levels.notes)


def test_one_feature_cannot_be_oblique() -> None:
    X = uniform(100, 1)
    advice = advise(X, X[:, 0] > 0, **QUICK)
    assert list(advice.curve) == ["axis"]
    assert "There is one feature" in advice.describe()
    assert advice.tree == "axis"


@pytest.mark.parametrize(
    ("task", "n_features", "left_out"),
    [("classification", 5_001, ["refined"]), ("regression", 401, ["lines", "refined"])],
)
def test_what_takes_too_long_is_left_out(task: str, n_features: int, left_out: list[str]) -> None:
    X = np.random.default_rng(0).normal(size=(6, n_features))
    for n, missing in ((n_features, left_out), (n_features - 1, [])):
        estimators, candidates, notes = asking._candidates(X[:, :n], None, 0, task)
        known = CANDIDATES if task == "classification" else NUMBER_CANDIDATES
        assert [each.name for each in candidates] == [
            each.name for each in known if each.name not in missing
        ]
        assert list(estimators) == [each.name for each in candidates]
        assert [note.split("'")[1] for note in notes if "takes too long" in note] == missing


@pytest.mark.usefixtures("quick")
def test_large_tables_are_drawn_from() -> None:
    X = uniform(600, 2)
    y = np.where(X[:, 0] > 0, "b", "a")
    y[:4] = "rare"
    advice = advise(X, y, n_folds=3, n_repeats=1, max_rows=100)
    assert 100 <= advice.result.n_rows <= 105
    assert advice.notes[0] == (
        f"{advice.result.n_rows} of 600 rows were drawn, each class with its share, but at least "
        "10 of a class, or all if it has fewer; max_rows is 100."
    )
    assert advice.result.confusion["axis"].sum(axis=2)[0, 2] == 4  # all rows of the rare class
    assert advise(X, y, n_folds=3, n_repeats=1, max_rows=None).result.n_rows == 600


@pytest.mark.usefixtures("quick")
def test_few_rows_have_no_large_trees() -> None:
    X = uniform(40, 2)
    advice = advise(X, X[:, 0] > 0, n_folds=3, n_repeats=1)
    assert list(advice.curve["axis"]) == [2, 4, 8]


# --- what is returned -------------------------------------------------------------------------


def test_json_and_markdown(stripes: Advice) -> None:
    found = json.loads(json.dumps(stripes.to_dict()))
    assert (found["choice"], found["tree"], found["pays"]) == ("dense", "dense", "accuracy")
    assert [row["kind"] for row in found["methods"]][:2] == ["axis", "oblique"]
    assert found["curve"]["axis"]["2"] == stripes.curve["axis"][2]
    assert found["advice"] == stripes.describe()
    lines = stripes.markdown().splitlines()
    assert lines[0].startswith("| candidate | accuracy % | macro F | leaves |")
    assert "| leaves | axis % | dense % | refined % |" in lines
    for part in stripes.describe().split("\n\n"):
        assert part in lines
    assert stripes.recommendation() == stripes.describe().split("\n\n")[-1]


def test_the_recommended_estimator(stripes: Advice) -> None:
    made = stripes.make()
    assert isinstance(made, HHCartClassifier) and made.pruning == "cv"
    assert isinstance(stripes.make("axis"), CartClassifier)
    assert stripes.command() == "-m hhcart-d-fisher --set pruning=cv"
    with pytest.raises(
        ValueError, match="no candidate 'oak'; there are axis, dense, refined, linear"
    ):
        stripes.make("oak")


def test_commands_make_the_candidates() -> None:
    """The words for ``obliqua fit`` make the same estimator."""
    from obliqua.cli._command import Setting
    from obliqua.cli._models import make_estimator

    for candidate in CANDIDATES:
        if candidate.command:
            flag, name, *rest = candidate.command.split()
            assert flag == "-m" and set(rest[::2]) <= {"--set"}
            settings = [Setting().convert(word, None, None) for word in rest[1::2]]
            made = make_estimator(name, settings, 0)
            assert repr(made) == repr(candidate.method.make(0))


# --- what is wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "more", "message"),
    [
        (uniform(3, 2), [0, 0, 1], {}, r"class 1 has 1 row; cross-validation needs at least 2"),
        (uniform(9, 2), [0] * 9, {}, "one class only"),
        (uniform(9, 2), [0, 1] * 4, {}, "inconsistent numbers of samples"),
        (uniform(9, 2), [[0], [1], [0]] * 3, {}, "y must have one dimension"),
        (uniform(8, 2), [0, 1] * 4, {"n_folds": "x"}, "n_folds must be .* at least 2; got 'x'"),
        (uniform(8, 2), [0, 1] * 4, {"n_repeats": 0}, "n_repeats must be .* at least 1; got 0"),
        (uniform(8, 2), [0, 1] * 4, {"max_rows": 1}, "max_rows must be .* at least 2, or None"),
        (uniform(8, 2), [0, 1] * 4, {"n_jobs": 0}, "n_jobs must be .* other than 0, .*; got 0"),
    ],
)
def test_what_is_refused(X: Any, y: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        advise(X, y, **more)


NO_LABEL = r"y has no label in 1 of 40 rows, first (None|nan|<NA>) in row 0, .* Leave such rows"


@pytest.mark.parametrize("ask", [advise, compare])
@pytest.mark.parametrize(
    "y",
    [
        [None, *["a", "b", "a"] * 13],
        [float("nan"), *[0.0, 1.0, 0.0] * 13],
        np.array([np.nan, *[0.0, 1.0, 0.0] * 13]),
        np.array([None, *["a", "b", "a"] * 13], dtype=object),
        pd.Series([None, *["a", "b", "a"] * 13], dtype="category"),
        pd.Series([pd.NA, *[0, 1, 0] * 13], dtype="Int64"),
        pl.Series([None, *["a", "b", "a"] * 13]),
    ],
)
def test_missing_labels_are_said(ask: Any, y: Any) -> None:
    with pytest.raises(ValueError, match=NO_LABEL):
        ask(uniform(40, 2), y)


@pytest.mark.parametrize("ask", [advise, compare])
def test_labels_and_names_that_are_unclear(ask: Any) -> None:
    with pytest.raises(ValueError, match="y mixes text and numbers: 'a' in row 0 and 1 in row 1"):
        ask(uniform(40, 2), ["a", 1] * 20)
    frame = pd.DataFrame(uniform(40, 3), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="more than one column called 'a'"):
        ask(frame, [0, 1] * 20)


def test_very_few_rows_are_possible() -> None:
    advice = advise(pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}), [0, 0, 1, 1])
    assert advice.result.n_folds == 2
    assert advice.choice == "majority"
    assert "2 folds instead of 10" in advice.notes[0]
