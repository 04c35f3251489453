"""The rules of `advise`, branch by branch, on figures that were made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from obliqua.select.advice_words import Wording, leaves_needed
from obliqua.select.candidates import CANDIDATES
from obliqua.select.decision import DOUBT, Decision, Evidence, Measured, decide, settled
from obliqua.select.result import CompareResult

SURE, UNSURE = 0.001, 0.4
KINDS = {each.name: each.kind for each in CANDIDATES}
# Accuracy in per cent, leaves, features per split.
PLAIN: dict[str, tuple[float, ...]] = {
    "axis": (90.0, 10.0, 1.0),
    "sparse": (90.2, 9.0, 2.0),
    "dense": (90.1, 8.0, 6.0),
    "linear": (80.0,),
    "forest": (90.3, 900.0, 1.0),
    "majority": (60.0,),
}


def evidence(
    p: float = UNSURE,
    leaves_p: float = SURE,
    rare: dict[str, float] | None = None,
    **changed: Any,
) -> Evidence:
    """Differences of at least 5 points are sure; others have the p-value that is given."""
    figures = {**PLAIN, **changed}
    measured = [
        Measured(name, KINDS[name], values[0] / 100, 0.5, *values[1:])
        for name, values in figures.items()
        if values
    ]
    pairs = [(one, other) for one in measured for other in measured if one is not other]
    found = {
        (one.name, other.name): SURE if abs(one.score - other.score) >= 0.0499 else p
        for one, other in pairs
    }
    return Evidence(measured, found, dict.fromkeys(found, leaves_p), rare or {})


def test_where_nothing_differs_the_easiest_tree_is_taken() -> None:
    assert decide(evidence()) == Decision("axis", "axis", "no", "sparse")


def test_an_oblique_tree_that_is_more_accurate() -> None:
    found = decide(evidence(dense=(95.0, 4.0, 6.0), forest=(95.1, 900.0, 1.0)))
    assert found == Decision("dense", "dense", "accuracy", "dense")


def test_of_two_oblique_trees_that_are_better_the_one_with_fewer_terms() -> None:
    both = {"sparse": (95.1, 6.0, 2.0), "dense": (95.6, 3.0, 6.0)}
    assert decide(evidence(**both)).tree == "sparse"  # 10 terms against 12
    larger = {**both, "sparse": (95.1, 9.0, 2.0)}
    assert decide(evidence(**larger)).tree == "dense"  # 16 against 12
    worse = {**larger, "dense": (101.0, 9.0, 6.0)}
    assert decide(evidence(**worse)).tree == "dense"  # it beats the other


def test_a_difference_that_may_be_noise_is_no_reason() -> None:
    found = decide(evidence(dense=(94.0, 9.0, 6.0), p=0.051))
    assert found == Decision("axis", "axis", "unclear", "dense")
    assert decide(evidence(dense=(94.0, 9.0, 6.0), p=0.049)).pays == "accuracy"


@pytest.mark.parametrize(
    ("p", "same"), [(0.05 / DOUBT, False), (0.0499 / DOUBT, True), (0.2499, False), (0.25, True)]
)
def test_a_decision_is_settled_if_other_p_values_lead_to_it(p: float, same: bool) -> None:
    assert DOUBT == 5.0
    assert settled(evidence(dense=(94.0, 9.0, 6.0), p=p)) == same


@pytest.mark.parametrize(
    ("p", "same"), [(0.009, True), (0.011, False), (0.249, False), (0.26, True)]
)
def test_p_values_of_leaves_count_too(p: float, same: bool) -> None:
    assert settled(evidence(dense=(90.0, 4.0, 3.0), sparse=(), p=1.0, leaves_p=p)) == same


def test_a_difference_that_is_sure_but_small_is_no_reason() -> None:
    small = {"sparse": (89.0, 9.0, 2.0), "forest": (90.0, 900.0, 1.0), "p": SURE}
    assert decide(evidence(dense=(90.4, 9.0, 6.0), **small)).pays == "no"
    assert decide(evidence(dense=(90.5, 9.0, 6.0), **small)).pays == "accuracy"


def test_three_rivals_have_more_chances() -> None:
    """With a third oblique tree, luck has one and a half times as many."""
    two = evidence(dense=(94.0, 9.0, 6.0), p=0.04)
    third = Measured("refined", "oblique", 0.9, 0.5, 9.0, 6.0)
    three = Evidence([*two.measured, third], two.p_score, two.p_leaves)
    assert decide(two).pays == "accuracy"
    assert decide(three).pays == "unclear"


@pytest.mark.parametrize(
    ("changed", "pays"),
    [
        ({"dense": (90.0, 3.0, 4.0)}, "size"),  # 8 terms in the place of 9
        ({"dense": (89.2, 3.0, 4.0)}, "size"),  # a little less accurate, within noise
        ({"dense": (88.0, 3.0, 4.0)}, "no"),  # within noise, but two points less accurate
        ({"dense": (84.0, 3.0, 4.0)}, "no"),  # less accurate
        ({"dense": (90.0, 3.0, 6.0)}, "no"),  # 12 terms
        ({"dense": (90.0, 6.0, 1.0)}, "no"),  # more than half the leaves
        ({"dense": (90.0, 3.0, 4.0), "leaves_p": 0.2}, "unclear"),  # leaves within noise
        ({"dense": (84.0, 3.0, 4.0), "leaves_p": 0.2}, "no"),  # and less accurate
    ],
)
def test_an_oblique_tree_that_says_the_same_with_fewer_leaves(
    changed: dict[str, Any], pays: str
) -> None:
    found = decide(evidence(**changed))
    assert found.pays == pays
    assert found.tree == found.choice == ("dense" if pays == "size" else "axis")


def test_what_is_clearly_better_than_a_tree() -> None:
    assert decide(evidence(forest=(96.0, 900.0, 1.0))).choice == "forest"
    assert decide(evidence(linear=(96.0,))).choice == "linear"
    # Both are better: the linear model is the simpler one, unless the forest beats it.
    assert decide(evidence(linear=(96.0,), forest=(97.0, 900.0, 1.0))).choice == "linear"
    both = decide(evidence(linear=(96.0,), forest=(102.0, 900.0, 1.0)))
    assert both == Decision("forest", "axis", "no", "sparse")


def test_a_forest_that_beats_cart_but_not_the_oblique_tree() -> None:
    found = decide(evidence(dense=(95.5, 4.0, 6.0), forest=(97.0, 900.0, 1.0)))
    assert found.choice == found.tree == "dense"


def test_a_forest_that_beats_cart_and_spares_an_oblique_tree() -> None:
    """Ahead of CART within noise, and behind the forest within noise."""
    between = {"dense": (93.5, 4.0, 6.0), "forest": (96.0, 900.0, 1.0)}
    found = decide(evidence(**between))
    assert found == Decision("dense", "dense", "perhaps", "dense")
    both = decide(evidence(**between, sparse=(93.0, 4.0, 2.0)))
    assert both.tree == "sparse"  # fewer terms
    linear = decide(evidence(**between, linear=(99.0,)))
    assert (linear.choice, linear.pays) == ("linear", "unclear")  # it beats the oblique tree too
    far = decide(evidence(dense=(92.9, 4.0, 6.0), forest=(96.0, 900.0, 1.0)))
    assert (far.choice, far.pays) == ("forest", "unclear")  # less than half of the way
    behind = decide(evidence(dense=(90.4, 4.0, 6.0), forest=(95.2, 900.0, 1.0)))
    assert (behind.choice, behind.pays) == ("forest", "no")  # not half a point ahead


def test_where_nothing_is_learnt_nothing_is_recommended() -> None:
    same = {name: (60.2, *values[1:]) for name, values in PLAIN.items()}
    assert decide(evidence(**same)) == Decision("majority", "majority", "no", "sparse")
    forest = {**same, "forest": (66.0, 900.0, 1.0)}
    assert decide(evidence(**forest)) == Decision("forest", "majority", "no", "sparse")
    both = {**forest, "linear": (67.0,)}
    assert decide(evidence(**both)).choice == "linear"
    both["forest"] = (73.0, 900.0, 1.0)
    assert decide(evidence(**both)).choice == "forest"


def test_a_tree_that_does_what_the_majority_does_is_not_recommended() -> None:
    """The forest has learnt something, and is ahead of the tree only within noise."""
    same = dict.fromkeys(("axis", "sparse", "dense"), (60.0, 1.0))
    found = evidence(**same, linear=(60.0,), forest=(66.0, 900.0, 1.0), p=0.06)
    unsure = {pair: p if "majority" in pair else 0.06 for pair, p in found.p_score.items()}
    found = replace(found, p_score=unsure)
    assert not found.rivals_beating(found.axis)
    assert decide(found) == Decision("forest", "majority", "no", "sparse")
    said = words(found)
    assert said.recommendation() == (
        "Take an oblique forest (ObliqueForestClassifier): 66.0 %. No single tree is more "
        "accurate, beyond noise, than always giving "
        "the most frequent class (60.0 %; axis has 60.0 %, p = 0.060)."
    )
    assert said.obliqueness().startswith("Whether obliqueness pays cannot be told: no tree is")


def test_a_tree_that_has_learnt_is_taken_before_one_that_has_not() -> None:
    """Ahead of the majority are both, beyond noise only the oblique ones."""
    found = evidence(axis=(64.0, 9.0, 1.0), sparse=(65.1, 9.0, 2.0), dense=(65.3, 4.0, 6.0))
    assert decide(found) == Decision("forest", "sparse", "unclear", "dense")
    plain = evidence(
        axis=(64.0, 9.0, 1.0),
        sparse=(65.1, 9.0, 2.0),
        dense=(65.3, 4.0, 6.0),
        forest=(66.0, 900.0, 1.0),
        linear=(60.0,),
    )
    assert decide(plain) == Decision("sparse", "sparse", "unclear", "dense")
    assert "only of the former it is sure that it has learnt anything" in (
        words(plain).recommendation()
    )


def test_obliqueness_pays_only_where_something_was_learnt() -> None:
    """A tree of one leaf beats one that has learnt noise by heart, and is smaller."""
    worse = {"axis": (50.0, 40.0, 1.0), "sparse": (60.0, 1.0), "dense": (60.0, 1.0)}
    found = decide(evidence(**worse, linear=(60.0,), forest=(60.0, 900.0, 1.0)))
    assert (found.choice, found.tree) == ("majority", "majority")
    assert found.pays == "unclear"


def test_fewer_candidates() -> None:
    assert decide(evidence(sparse=(), dense=())) == Decision("axis", "axis", "no", None)
    assert decide(evidence(sparse=(), linear=(), forest=())).tree == "axis"


def test_terms_are_what_is_read() -> None:
    assert Measured("x", "axis", 0.9, 0.5, 5.0, 1.0).terms == 4.0
    assert Measured("x", "oblique", 0.9, 0.5, 3.0, 6.0).terms == 12.0
    assert Measured("x", "axis", 0.9, 0.5, 1.0).terms == 0.0  # no split, so no features


def test_leaves_that_are_needed() -> None:
    curve = {2: 0.70, 4: 0.80, 8: 0.895, 16: 0.90, 32: 0.88}
    assert leaves_needed(curve, 0.9) == 8
    assert leaves_needed(curve, 0.91) is None
    assert leaves_needed(curve, 0.5) == 2


# --- the words --------------------------------------------------------------------------------


def words(found: Evidence, curve: Any = None, n_rows: int = 500) -> Wording:
    result = CompareResult({}, {}, n_rows, 6, 2, n_folds=10, n_repeats=1)
    known = {each.name for each in found.measured}
    candidates = tuple(each for each in CANDIDATES if each.name in known)
    return Wording(result, curve or {}, found, decide(found), candidates)


def test_words_for_an_axis_parallel_tree() -> None:
    said = words(evidence())
    assert said.obliqueness() == (
        "Obliqueness does not pay: no oblique tree is better by half a point; sparse has +0.2 "
        "points against the axis-parallel tree, p = 0.400."
    )
    text = said.recommendation()
    assert text.startswith("Take an axis-parallel tree: 90.0 % with 10.0 leaves.")
    assert "The linear model is worse (-10.0 points, p = 0.001)." in text
    assert "The forest is not better (+0.3 points, p = 0.400)." in text
    ahead = words(evidence(forest=(94.0, 900.0, 1.0))).recommendation()
    assert "The forest is ahead, but within noise (+4.0 points, p = 0.400)." in ahead


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"dense": (95.0, 4.0, 6.0)}, "Obliqueness pays: dense has +5.0 points"),
        ({"dense": (90.0, 3.0, 4.0)}, "pays in size, not in accuracy: dense has 3.0 leaves in"),
        (
            {"dense": (94.0, 9.0, 6.0)},
            "Whether obliqueness pays cannot be told: dense is ahead, but within noise (+4.0 po",
        ),
        (
            {"dense": (94.0, 9.0, 6.0), "p": 0.051},
            "Whether obliqueness pays cannot be told: dense is ahead, but within noise (+4.0 po",
        ),
        (
            {"dense": (94.0, 9.0, 6.0), "refined": (90.0, 9.0, 6.0), "p": 0.04},
            "p = 0.040, where 3 oblique trees might be ahead by luck). More rows",
        ),
        (
            {"dense": (90.0, 3.0, 4.0), "leaves_p": 0.06},
            "cannot be told: dense has 3.0 leaves in the place of 10.0 (p = 0.060), but that may",
        ),
        (
            {"dense": (93.0, 9.0, 6.0), "forest": (96.0, 900.0, 1.0)},
            "but forest can be told from the axis-parallel tree, and not from dense.",
        ),
        ({"dense": (80.0, 9.0, 6.0), "sparse": (81.0, 9.0, 2.0)}, "sparse is less accurate (-9.0"),
        ({"sparse": (90.3, 9.0, 2.0), "p": SURE}, "sparse is real but too small to matter"),
        ({"dense": (), "sparse": ()}, "There is one feature, so no split can be oblique."),
    ],
)
def test_words_on_obliqueness(changed: dict[str, Any], part: str) -> None:
    assert part in words(evidence(**changed)).obliqueness()


def test_there_is_no_minus_zero() -> None:
    text = words(evidence(forest=(89.99, 900.0, 1.0))).recommendation()
    assert "The forest is not better (+0.0 points, p = 0.400)." in text
    assert "-0.0" not in text


def test_words_where_a_tree_costs_accuracy() -> None:
    text = words(evidence(forest=(96.0, 900.0, 1.0))).recommendation()
    assert text == (
        "Take an oblique forest (ObliqueForestClassifier): 96.0 %. A single tree costs accuracy "
        "here: -6.0 points (axis, p = 0.001). "
        "If it must be a tree that can be read, take an axis-parallel tree: 90.0 % with 10.0 "
        "leaves, or let obliqua.distil make one of the forest."
    )
    text = words(evidence(linear=(96.0,))).recommendation()
    assert text.startswith("Take a linear model (logistic regression): 96.0 %.")
    assert "distil" not in text


def test_a_few_folds_are_no_evidence_against_the_features() -> None:
    ahead = {name: (64.0, *values[1:]) for name, values in PLAIN.items() if name != "majority"}
    said = words(evidence(**ahead))
    assert "do not tell the classes apart" in said.recommendation()
    few = replace(said, result=replace(said.result, n_folds=3))
    assert few.recommendation().endswith(
        "But axis is ahead, and with 3 folds next to nothing can be told from noise: ten folds, "
        "or more repeats, would tell."
    )
    same = {name: (60.2, *values[1:]) for name, values in PLAIN.items()}
    behind = replace(words(evidence(**same)), result=few.result)
    assert "do not tell the classes apart" in behind.recommendation()


def test_words_where_nothing_is_learnt() -> None:
    same = {name: (60.2, *values[1:]) for name, values in PLAIN.items()}
    text = words(evidence(**same)).recommendation()
    assert text.startswith("Take none of these yet")
    assert "500 rows are too few" in text
    assert "macro F" not in text
    rare = evidence(**same)
    rarer = [
        Measured(each.name, each.kind, each.score, 0.6 if each.name == "forest" else 0.4)
        for each in rare.measured
    ]
    found = Evidence(rarer, rare.p_score, {}, {"forest": 0.0039, "axis": 0.0039})
    text = words(found).recommendation()
    assert "forest finds rare classes that this answer never gives: macro F 0.60 against" in text
    assert "0.40 (p = 0.004 against chance)" in text
    # A larger macro F alone is what guessing has, too; and five have a chance.
    for chance in ({}, {"forest": 0.0041}, {"axis": 0.001}):
        text = words(replace(found, p_rare=chance)).recommendation()
        assert "rare classes" not in text


@pytest.mark.parametrize(
    ("axis", "ending"),
    [
        ({2: 0.7, 4: 0.8, 8: 0.9}, "trees need 8 for that (90.0 %)."),
        ({2: 0.7, 4: 0.9, 8: 0.9}, "trees need as many for that (90.0 %)."),
        ({2: 0.7, 4: 0.8, 8: 0.81}, "do not reach that with 8 leaves, their best is 81.0 %."),
    ],
)
def test_words_on_leaves(axis: dict[int, float], ending: str) -> None:
    said = words(evidence(), {"axis": axis, "sparse": {2: 0.7, 4: 0.9, 8: 0.9}})
    said = replace(said, decision=replace(said.decision, pays="accuracy"))
    text = said.per_leaf()
    assert text.startswith("Per leaf: oblique trees (sparse) of 4 leaves have 90.0 %; axis-")
    assert text.endswith(ending)


@pytest.mark.parametrize("pays", ["no", "size", "unclear"])
def test_words_on_leaves_do_not_contradict_the_verdict(pays: str) -> None:
    """Unpruned, untested trees are no reason to say that plain ones cannot come near."""
    said = words(evidence(), {"axis": {2: 0.7, 4: 0.8}, "sparse": {2: 0.7, 4: 0.9}})
    said = replace(said, decision=replace(said.decision, pays=pays))
    assert said.per_leaf() == (
        "Per leaf: oblique trees (sparse) of 4 leaves have 90.0 %; axis-parallel trees have "
        "80.0 % at best. These trees are not pruned, and nothing is tested about them."
    )


def test_a_new_candidate_is_one_more_line() -> None:
    assert len({each.name for each in CANDIDATES}) == len(CANDIDATES)
    assert [each.kind for each in CANDIDATES].count("axis") == 1
    assert [each.kind for each in CANDIDATES].count("floor") == 1
    for each in CANDIDATES:
        assert each.kind in ("axis", "oblique", "linear", "forest", "floor")
        assert each.method.make(0).get_params() is not None
