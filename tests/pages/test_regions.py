"""The leaves of a tree as regions, beside slow and obvious twins."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris

from obliqua import (
    CartClassifier,
    HHCartClassifier,
    ObliqueTreeRegressor,
    Tree,
    TreeBuilder,
    export_rules,
)
from obliqua.pages.regions import MAX_CONDITIONS, MAX_TERMS, regions
from obliqua.tree.model import Model
from obliqua.words.subject import Subject, subject_of, subjects_of
from problems import examples
from strategies import rows, trees
from trees_to_read import chain, mixed, nasty, oblique, people, single


def in_json(value: Any) -> Any:
    """Write and read a value, without NaN; a page gets it in this way."""
    return json.loads(json.dumps(value, allow_nan=False))


def share(of: float, all_: float) -> float | None:
    return of / all_ if all_ > 0 else None


def by_hand(subject: Subject, Z: np.ndarray, y: np.ndarray) -> dict[int, tuple[Any, ...]]:
    """Return rows, share, coverage and density of each leaf, counted row by row."""
    tree, found = subject.tree, {}
    reached = list(zip(tree.apply(Z).tolist(), y.tolist(), strict=True))
    for leaf in np.flatnonzero(tree.is_leaf).tolist():
        label = int(tree.leaf_label[leaf])
        here = sum(at == leaf for at, _ in reached)
        own = sum(code == label for _, code in reached)
        both = reached.count((leaf, label))
        found[leaf] = (here, share(here, len(reached)), share(both, own), share(both, here))
    return found


KEYS = ("rows", "share", "coverage", "density")


@given(st.data())
@examples(60)
def test_given_rows_are_counted_in_their_leaves(data: Any) -> None:
    tree = data.draw(trees(filled=True))
    Z = data.draw(rows(tree, missing=True, max_rows=20))
    codes = data.draw(st.lists(st.integers(0, tree.n_stats - 1), min_size=len(Z), max_size=len(Z)))
    subject = subject_of(tree)
    got = in_json(regions(subject, (Z, np.array(codes))))
    expected = by_hand(subject, Z, np.array(codes))
    assert {region["leaf"] for region in got} == set(expected)
    for region in got:
        assert tuple(region[key] for key in KEYS) == pytest.approx(expected[region["leaf"]])
        assert region["label"] == tree.leaf_label[region["leaf"]]
    counts = [region["rows"] for region in got]
    assert counts == sorted(counts, reverse=True) and sum(counts) == len(Z)


def test_a_fitted_tree_knows_what_its_training_rows_say() -> None:
    X, y = load_iris(return_X_y=True)
    model = HHCartClassifier(random_state=0, max_depth=3).fit(X, y)
    subject = subject_of(model)
    counted = regions(subject, subject.labelled_rows(X, y))
    assert len(counted) > 2
    for region, same in zip(regions(subject), counted, strict=True):
        assert region == pytest.approx(same)


@given(trees())
@examples(60)
def test_rules_are_those_of_export_rules(tree: Tree) -> None:
    rules = {rule.leaf: rule for rule in export_rules(tree, max_terms=MAX_TERMS)}
    for region in in_json(regions(subject_of(tree))):
        rule = rules[region["leaf"]]
        assert region["rule"] == (" and ".join(map(str, rule.conditions)) or "always")
        assert region["answer"] == f"class {rule.class_name}"
        assert region["density"] == (pytest.approx(rule.share) if rule.weight else None)


def test_coverage_and_density_by_hand() -> None:
    first, second, *_ = regions(subject_of(oblique()))
    assert (first["rows"], first["share"]) == (51, 0.51)
    assert (first["coverage"], first["density"]) == (50 / 55, pytest.approx(50 / 51))
    assert (second["rows"], second["label"], second["coverage"]) == (41, 1, 39 / 45)
    assert (first["mean"], first["sd"]) == (None, None)


@pytest.mark.parametrize("tree", [mixed(), nasty(), single([0, 0]), single([3, 1], 4), chain(40)])
def test_odd_trees_give_a_region_for_each_leaf(tree: Tree | Model) -> None:
    subject = subject_of(tree)
    got = in_json(regions(subject))
    leaves = np.flatnonzero(subject.tree.is_leaf).tolist()
    assert sorted(region["leaf"] for region in got) == leaves
    assert all(region["rule"] and region["answer"] for region in got)


def test_a_long_rule_says_how_much_is_left_out() -> None:
    n = MAX_CONDITIONS + 3
    builder = TreeBuilder(n, 2)
    for level in range(n):
        builder.add_split(level, {level: 1.0}, 0.0, (("end", level), level + 1))
        builder.set_leaf(("end", level), [1, 0], 1)
    builder.set_leaf(n, [0, 2], 2)
    first, *others = regions(subject_of(builder.build()))
    assert first["rule"].endswith("and 3 more conditions")
    assert sum("1 more condition" in region["rule"] for region in others) == 1


def test_a_tree_by_hand_may_know_weights_only() -> None:
    first, second = regions(subject_of(_two_leaves(n_samples=0)))
    assert (first["rows"], first["share"], first["coverage"]) == (None, 0.75, 1.0)
    assert (second["rows"], second["share"], second["density"]) == (None, 0.25, 1.0)


def test_what_is_not_known_is_none() -> None:
    tree = _two_leaves(n_samples=4)
    unknown = dataclasses.replace(tree, n_samples=np.array([8, 4, -1]))
    known, other = regions(subject_of(unknown))
    assert tuple(known[key] for key in KEYS) == (4, 0.5, 1.0, 1.0)
    assert tuple(other[key] for key in KEYS) == (None, None, None, None)
    root = dataclasses.replace(tree, n_samples=np.array([-1, 4, -1]))
    known, other = regions(subject_of(root))
    assert tuple(known[key] for key in KEYS) == (4, None, None, 1.0)


def test_the_largest_region_is_first_whatever_is_known_of_it() -> None:
    by_weight = _two_leaves(0, stats=([2.0, 0.0], [0.0, 6.0]))
    assert [region["leaf"] for region in regions(subject_of(by_weight))] == [2, 1]
    no_root = dataclasses.replace(_two_leaves(4), n_samples=np.array([-1, 4, 5]))
    assert [region["leaf"] for region in regions(subject_of(no_root))] == [2, 1]


def test_what_is_no_share_is_none_and_no_share_is_above_one() -> None:
    negative = _two_leaves(4, stats=([-1.0, -3.0], [5.0, 4.0]))
    odd = {region["leaf"]: region for region in regions(subject_of(negative))}
    assert (odd[1]["coverage"], odd[1]["label"]) == (None, 0)
    small_root = dataclasses.replace(_two_leaves(4), n_samples=np.array([3, 4, 0]))
    assert [region["share"] for region in regions(subject_of(small_root))] == [1.0, 0.0]


TWO: tuple[list[float], list[float]] = ([6.0, 0.0], [0.0, 2.0])


def _two_leaves(n_samples: int, stats: tuple[list[float], list[float]] = TWO) -> Tree:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.0, ("low", "high"))
    builder.set_leaf("low", stats[0], n_samples)
    builder.set_leaf("high", stats[1], n_samples)
    return builder.build()


def test_weights_count_in_what_a_tree_knows() -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 1, 3.0, 1.0)
    model = CartClassifier(max_depth=2).fit(X, y, sample_weight=weight)
    subject = subject_of(model)
    leaves = subject.tree.apply(X)
    for region in regions(subject):
        here = leaves == region["leaf"]
        own = y == region["label"]
        assert region["rows"] == here.sum()
        expected = weight[here & own].sum() / weight[own].sum()
        assert region["coverage"] == pytest.approx(expected)
        expected = weight[here & own].sum() / weight[here].sum()
        assert region["density"] == pytest.approx(expected)


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_regions_of_numbers_have_mean_and_spread(leaf_model: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = ObliqueTreeRegressor(leaf_model=leaf_model, max_depth=3, random_state=0).fit(X, y)
    subject = subject_of(model)
    leaves = subject.tree.apply(X)
    given_rows = regions(subject, subject.labelled_rows(X, y))
    for region, same in zip(regions(subject), given_rows, strict=True):
        here = y[leaves == region["leaf"]]
        expected = (len(here), here.mean(), here.std())
        for found in (region, same):
            got = (found["rows"], found["mean"], found["sd"])
            assert got == pytest.approx(expected, rel=1e-6)
            assert (found["label"], found["coverage"], found["density"]) == (None, None, None)


def test_medians_and_several_outputs_are_no_means() -> None:
    X, y = load_diabetes(return_X_y=True)
    medians = ObliqueTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, y)
    both = ObliqueTreeRegressor(max_depth=1).fit(X, np.column_stack([y, -y]))
    for model, word in ((medians, "median "), (both, "means y0: ")):
        for region in regions(subject_of(model)):
            assert region["answer"].startswith(word)
            assert (region["mean"], region["sd"]) == (None, None)
    subject = subject_of(medians)
    leaves = subject.tree.apply(X)
    for region in regions(subject, subject.labelled_rows(X, y)):
        assert region["mean"] == pytest.approx(y[leaves == region["leaf"]].mean())
    subject = subject_of(both)
    got = regions(subject, subject.labelled_rows(X, np.column_stack([y, -y])))
    assert [region["mean"] for region in got] == [None, None]


def test_a_tree_about_a_pair_of_classes_leaves_others_out() -> None:
    X, y = load_iris(return_X_y=True)
    tree = CartClassifier(max_depth=1).fit(X[y < 2], y[y < 2]).model_.trees[0]
    stats = np.column_stack([tree.stats, np.zeros(tree.n_nodes)])
    pair = dataclasses.replace(tree, stats=stats)
    encoding = subject_of(tree).encoding
    (subject,) = subjects_of(Model((pair,), "pairs", encoding, np.arange(3)))
    got = regions(subject, (X, y))
    assert sum(region["rows"] for region in got) == 100
    assert [region["coverage"] for region in got] == [1.0, 1.0]
    none = regions(subject, (X[y == 2], y[y == 2]))
    assert [tuple(region[key] for key in KEYS) for region in none] == [(0, None, None, None)] * 2


@pytest.mark.parametrize("n_classes", [1, 2])
def test_numbers_of_a_tree_about_classes_are_not_those_of_rows(n_classes: int) -> None:
    tree = _two_numbers(n_classes)
    model = Model((tree,), "log_odds", subject_of(tree).encoding, np.arange(n_classes))
    codes = np.arange(4) % n_classes
    got = regions(subject_of(model, tree=0), (np.array([[-1.0], [1.0], [-2.0], [-3.0]]), codes))
    assert [region["rows"] for region in got] == [3, 1]
    assert [region["share"] for region in got] == [0.75, 0.25]
    for key in ("label", "mean", "sd", "coverage", "density"):
        assert [region[key] for region in got] == [None, None]


def test_numbers_that_are_not_known_are_none() -> None:
    tree = dataclasses.replace(_two_numbers(1), n_samples=np.array([4, 3, -1]))
    known, other = regions(subject_of(tree))
    assert (known["mean"], known["sd"], known["rows"]) == (1.0, 0.0, 3)
    assert (other["mean"], other["sd"], other["rows"]) == (-1.0, None, None)
    some, none = regions(subject_of(tree), (np.array([[-1.0]]), np.array([[2.0]])))
    assert (some["mean"], some["sd"], some["rows"]) == (2.0, 0.0, 1)
    assert (none["mean"], none["sd"], none["rows"]) == (None, None, 0)


def _two_numbers(n_outputs: int) -> Tree:
    builder = TreeBuilder(1, n_outputs=n_outputs)
    builder.add_split("root", {0: 1.0}, 0.0, ("low", "high"))
    builder.set_leaf("low", value=[1.0] * n_outputs, n_samples=3)
    builder.set_leaf("high", value=[-1.0] * n_outputs, n_samples=1)
    return builder.build()


def test_levels_and_gaps_are_in_the_rule() -> None:
    frame, y = people()
    model = HHCartClassifier(random_state=0, max_depth=3).fit(frame, y)
    got = regions(subject_of(model))
    assert sum(region["rows"] for region in got) == len(frame)
    assert any("town" in region["rule"] for region in got)
