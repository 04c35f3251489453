"""Rules say what the tree does: read back by a reader of their own, they send rows alike."""

from __future__ import annotations

import math
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import CartClassifier, HHCartClassifier, Tree, TreeBuilder, export_rules
from obliqua.data.encoding import Column, Encoding
from obliqua.export import Between, Largest, OneOf
from obliqua.tree.layout import NodeKind
from obliqua.tree.model import Model
from obliqua.words.levels import written_levels
from problems import Case, cases, examples
from rules_reader import NUMBER, Reader
from strategies import rows, trees
from trees_to_read import mixed, oblique, single

NAMES = {"feature_names": ["age", "bmi"], "class_names": ["healthy", "ill"]}

LEVELS = ("a, b", 1, "1", "b} and x0 <= 1 [", "missing")


def named(tree: Tree) -> Model:
    """A model whose qualitative columns, those with tables, have levels that need care."""
    coded = set(tree.coef_idx[np.diff(tree.table_ptr) > 0].tolist())
    columns = tuple(
        Column(f"x{k}", "qualitative", LEVELS) if k in coded else Column(f"x{k}")
        for k in range(tree.n_features)
    )
    return Model((tree,), "single", Encoding(columns), np.arange(tree.n_stats))


def check_exact(tree: Tree, Z: np.ndarray) -> None:
    """Each leaf has one rule, and each row fulfils that of its leaf and no other."""
    model = named(tree)
    rules = export_rules(model, exact=True)
    assert sorted(rule.leaf for rule in rules) == np.flatnonzero(tree.is_leaf).tolist()
    written = written_levels(Column("x0", "qualitative", LEVELS))
    codes = {name: code for code, name in enumerate(written)}
    reader = Reader(dict.fromkeys(range(tree.n_features), codes))
    leaves = tree.apply(Z)
    wide = np.asarray(Z, dtype=np.float64)
    for rule in rules:
        found = reader.rule(rule.text, wide)
        np.testing.assert_array_equal(found, leaves == rule.leaf, err_msg=rule.text)


# --- what rules do ---------------------------------------------------------------------------


@examples(60)
@given(cases(max_rows=40), st.sampled_from(["cart", "hhcart", "three"]))
def test_fitted_trees_are_read_back_exactly(case: Case, method: str) -> None:
    model = {
        "cart": CartClassifier(pruning=None),
        "hhcart": HHCartClassifier(pruning=None),
        "three": HHCartClassifier(
            pruning=None, extra_directions="fisher", max_features_per_split=2
        ),
    }[method].fit(case.X, case.y)
    with np.errstate(over="ignore"):
        check_exact(model.tree_, case.X)


@examples(150)
@given(st.data())
def test_hyperplanes_and_machines_are_read_back_exactly(data: st.DataObject) -> None:
    kinds = (NodeKind.HYPERPLANE, NodeKind.MACHINE)
    tree = data.draw(trees(kinds=kinds, tables=False, filled=False, max_splits=8))
    check_exact(tree, data.draw(rows(tree)))


@examples(150)
@given(st.data())
def test_levels_are_read_back_exactly(data: st.DataObject) -> None:
    tree = data.draw(trees(kinds=[NodeKind.LEVELS], filled=True, max_splits=8))
    check_exact(tree, data.draw(rows(tree, missing=True)))


@examples(300)
@given(st.data())
def test_scores_and_stand_ins_are_read_back_exactly(data: st.DataObject) -> None:
    """Any kinds of nodes over numbers and levels, and rows with missing and unknown values."""
    tree = data.draw(trees(filled=True, max_splits=8))
    check_exact(tree, data.draw(rows(tree, missing=True)))


@examples(150)
@given(st.data())
def test_scaled_rules_say_the_same(data: st.DataObject) -> None:
    """But for rows so near to a boundary that rounding decides."""
    tree = data.draw(trees(kinds=[NodeKind.HYPERPLANE], tables=False, max_splits=8))
    Z = np.asarray(data.draw(rows(tree)), dtype=np.float64)
    leaves = tree.apply(Z)
    for rule in export_rules(tree):
        clear = np.ones(len(Z), dtype=bool)
        inside = np.ones(len(Z), dtype=bool)
        for part in rule.conditions:
            assert isinstance(part, Between)
            terms = Z[:, list(part.columns)] * np.array(part.coefficients)
            along, size = terms.sum(axis=1), np.abs(terms).sum(axis=1)
            for bound in (part.low, part.high):
                if math.isfinite(bound):
                    clear &= np.abs(along - bound) > 1e-9 * (size + abs(bound)) + 1e-100
            inside &= (along > part.low) & (along < part.high)
        np.testing.assert_array_equal(inside[clear], (leaves == rule.leaf)[clear])


def test_conditions_on_one_sum_are_one() -> None:
    rules = export_rules(oblique(), order="tree", **NAMES)
    assert [rule.text for rule in rules] == [
        "if age + 0.37*bmi <= 45 and age <= 40 then healthy (51 rows, 98 %)",
        "if age + 0.37*bmi <= 45 and 40 < age <= 42.5 then ill (4 rows, 100 %)",
        "if age + 0.37*bmi <= 45 and age > 42.5 then healthy (4 rows, 75 %)",
        "if age + 0.37*bmi > 45 then ill (41 rows, 95 %)",
    ]
    middle = rules[1].conditions[1]
    assert middle == Between("40 < age <= 42.5", (0,), (1.0,), 40.0, 42.5, False, True)
    assert not middle.missing and middle.notes == middle.fills == ()


@pytest.mark.parametrize("exact", [False, True])
def test_a_sum_may_be_turned_round(exact: bool) -> None:
    """The same normal, once with all signs changed, and a bound that says nothing new."""
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: -2.0}, 3.0, ("a", "z"))
    builder.add_split("a", {0: -1.0, 1: 2.0}, 1.0, ("b", "y"))
    builder.add_split("b", {0: 1.0, 1: -2.0}, 8.0, ("c", "x"))
    for leaf in "cxyz":
        builder.set_leaf(leaf, [1, 0], 1)
    texts = [rule.text for rule in export_rules(builder.build(), order="tree", exact=exact)]
    if exact:
        assert texts[0] == "if x0 - 2*x1 <= 3 and -x0 + 2*x1 <= 1 then class 0 (1 row, 100 %)"
    else:
        assert texts == [
            "if -1.5 <= x1 - 0.5*x0 <= 0.5 then class 0 (1 row, 100 %)",
            "if -1.5 <= x1 - 0.5*x0 < -4 then class 0 (1 row, 100 %)",
            "if x1 - 0.5*x0 > 0.5 then class 0 (1 row, 100 %)",
            "if x1 - 0.5*x0 < -1.5 then class 0 (1 row, 100 %)",
        ]


def test_of_equal_bounds_the_one_without_its_end_is_tighter() -> None:
    """The same bound is asked for twice, the second time from the other side."""
    texts = []
    for first, second in ((1.0, -1.0), (-1.0, 1.0)):
        builder = TreeBuilder(1, 2)
        builder.add_split("root", {0: first}, first * 5.0, ("a", "z"))
        builder.add_split("a", {0: second}, second * 5.0, ("c", "x"))
        for leaf in "cxz":
            builder.set_leaf(leaf, [1, 0], 1)
        rules = export_rules(builder.build(), order="tree")
        texts.append([str(rule.conditions[0]) for rule in rules])
    assert texts == [
        ["5 <= x0 <= 5", "x0 < 5", "x0 > 5"],
        ["5 <= x0 <= 5", "x0 > 5", "x0 < 5"],
    ]


def test_a_sum_may_have_another_leader_below() -> None:
    """Which feature moves rows most differs from node to node; the normal is the same."""
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: -2.0}, 3.0, ("a", "z"))
    builder.add_split("a", {0: 1.0, 1: -2.0}, 1.0, ("c", "x"))
    for leaf in "cxz":
        builder.set_leaf(leaf, [1, 0], 1)
    tree = replace(builder.build(), spread=np.array([8.0, 1.0, 1.0, 8.0]))
    assert [str(rule.conditions[0]) for rule in export_rules(tree, order="tree")] == [
        "x0 - 2*x1 <= 1",
        "1 < x0 - 2*x1 <= 3",
        "x0 - 2*x1 > 3",
    ]


def test_exact_rules_add_up_as_the_tree_does() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {1: 0.1, 0: -4.0}, 16.795, ("a", "z"))
    builder.add_machine("a", [{1: 0.5, 0: -4.0}, {0: 3.0}], [1.0, 0.0], ("c", "x"))
    for leaf in "cxz":
        builder.set_leaf(leaf, [1, 0], 1)
    rule = export_rules(builder.build(), order="tree", exact=True)[0]
    assert [str(condition) for condition in rule.conditions] == [
        "0.1*x1 - 4*x0 <= 16.795",
        "0.5*x1 - 4*x0 - 1 is the largest of [0.5*x1 - 4*x0 - 1, 3*x0]",
    ]


def test_exact_rules_tell_neighbours_apart() -> None:
    just_above = np.nextafter(1.0, 2.0)
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, just_above, ("low", "high"))
    builder.set_leaf("low", [1, 0], 1)
    builder.set_leaf("high", [0, 1], 1)
    Z = np.array([[1.0], [just_above], [np.nextafter(just_above, 2.0)]])
    check_exact(builder.build(), Z)
    assert export_rules(builder.build())[0].conditions[0].text == "x0 <= 1"


def test_all_kinds_of_conditions() -> None:
    rules = export_rules(mixed(), order="tree")
    cold, odd = "(colour in {green} or is new)", "(colour in {`a,b`} or is missing)"
    scores = "[2*size - 1, -size + 3, -0.5]"
    note = "[score(colour): blue 0.75, red -0.5, any other level 0, missing -0.5]"
    assert [rule.text for rule in rules] == [
        "if colour in {red, blue} then x (10 rows, 60 %)",
        f"if {cold} and 2*size - 1 is the largest of {scores} then y (1 row, weight 2.5, 100 %)",
        f"if {cold} and -size + 3 is the largest of {scores} then x (9 rows, 100 %)",
        f"if {cold} and -0.5 is the largest of {scores} then x (weight 1, 100 %)",
        f"if {odd} and size + score(colour) >= -0.25 {note} then z (7 rows, 100 %)",
        f"if {odd} and size + score(colour) < -0.25 {note} then x (no rows)",
    ]
    assert isinstance(rules[0].conditions[0], OneOf) and rules[0].conditions[0].codes == (0, 2)
    assert isinstance(rules[1].conditions[1], Largest) and rules[1].conditions[1].branch == 0
    assert math.isnan(rules[-1].share) and math.isnan(rules[-1].lift)


def test_levels_that_are_asked_for_twice_are_one_condition() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_levels("root", 0, [0, 1, 0, 1], ("a", "b"), unseen=0)
    builder.add_levels("a", 0, [0, 0, 1], ("c", "d"), unseen=1)
    for leaf in "bcd":
        builder.set_leaf(leaf, [1, 0], 1)
    colour = Column("colour", "qualitative", ("red", "green", "blue", "grey"))
    model = Model((builder.build(),), "single", Encoding((colour,)), np.array([0, 1]))
    assert [str(rule.conditions[0]) for rule in export_rules(model, order="tree")] == [
        "colour in {red}",
        "(colour in {blue} or is new)",
        "colour in {green, grey}",
    ]


def test_a_rule_has_its_facts() -> None:
    rules = export_rules(oblique(), order="tree", **NAMES)
    first = rules[0]
    assert (first.leaf, first.label, first.class_name, first.rows) == (3, 0, "healthy", 51)
    assert first.weight == 51.0 and first.share == pytest.approx(50 / 51)
    assert first.lift == pytest.approx(50 / 51 / 0.55)
    assert first.conditions[0] != first.conditions[1]
    with pytest.raises(FrozenInstanceError):
        first.rows = 3


@pytest.mark.parametrize(
    ("order", "leaves"),
    [
        ("tree", [3, 5, 6, 2]),
        ("rows", [3, 2, 5, 6]),
        ("share", [5, 3, 2, 6]),
        ("class", [3, 6, 2, 5]),
    ],
)
def test_orders(order: str, leaves: list[int]) -> None:
    assert [rule.leaf for rule in export_rules(oblique(), order=order)] == leaves


def test_a_long_rule_takes_several_lines() -> None:
    rule = export_rules(
        oblique(), feature_names=["the age of the patient in years", "body mass index"]
    )[2]
    assert str(rule) == (
        "if `the age of the patient in years` + 0.37*body mass index <= 45\n"
        "   and 40 < `the age of the patient in years` <= 42.5\n"
        "   then class 1 (4 rows, 100 %)"
    )
    assert "\n" not in rule.text


def test_a_tree_that_asks_nothing() -> None:
    assert [str(rule) for rule in export_rules(single([1, 3], 4))] == [
        "always class 1 (4 rows, 75 %)"
    ]


def test_bounds_that_differ_read_differently() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 1.00000012345, ("a", "b"))
    builder.add_split("a", {0: 1.0}, 1.00000012344, ("c", "d"))
    for leaf in "bcd":
        builder.set_leaf(leaf, [1, 0], 1)
    low, high = re.findall(NUMBER, export_rules(builder.build(), order="tree")[1].text)[:3:2]
    assert 1.0 < float(low) < float(high)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"order": "size"}, "'tree', 'share', 'class' for a tree of classes; got 'size'"),
        ({"digits": 0}, "digits must be an integer of at least 1; got 0"),
        ({"max_terms": -1}, "max_terms must be None or an integer of at least 0"),
        ({"class_names": "ab"}, "each of the 2 classes; got 'ab'"),
    ],
)
def test_parameters_that_make_no_sense(wrong: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        export_rules(oblique(), **wrong)


def test_scores_are_as_fine_as_the_bounds_beside_them() -> None:
    """Scores of four digits would not tell which rows lie between two close bounds."""
    builder = TreeBuilder(2, 2)
    scores = {"tables": {1: [0.123456, -0.654321]}, "fill": {0: 40.0, 1: 0.0}}
    builder.add_split("root", {0: 1.0, 1: 1.0}, 42.00002, ("a", "b"), **scores)
    builder.add_split("a", {0: 1.0, 1: 1.0}, 42.00001, ("c", "d"), **scores)
    for leaf in "bcd":
        builder.set_leaf(leaf, [1, 0], 1)
    town = Column("town", "qualitative", ("Bonn", "Oslo"))
    encoding = Encoding((Column("age"), town))
    model = Model((builder.build(),), "single", encoding, np.array([0, 1]))
    note = "score(town): Bonn 0.123456, Oslo -0.654321, any other level 0, missing 0"
    rules = export_rules(model, order="tree")
    assert [rule.conditions[0].lines for rule in rules] == [
        ["age + score(town) <= 42.00001", note],
        ["42.00001 < age + score(town) <= 42.00002", note],
        ["age + score(town) > 42.00002", note],
    ]
