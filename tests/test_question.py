"""What a node asks, in words."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import HHCartClassifier, Tree, TreeBuilder, TreeError
from obliqua.data.encoding import Column, Encoding, written_name
from obliqua.words.numbers import write_number
from obliqua.words.question import Question, Term, conditions, question_of
from problems import examples

AGE_BMI = Encoding.identity(2, ["age", "bmi"])


def split(normal: dict[int, float], threshold: float, spread: list[float] | None = None) -> Tree:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", normal, threshold, ("low", "high"))
    builder.set_leaf("low", [3, 0])
    builder.set_leaf("high", [0, 2])
    tree = builder.build()
    return tree if spread is None else dataclasses.replace(tree, spread=np.array(spread))


def test_the_leading_coefficient_is_one() -> None:
    question = question_of(split({0: 2.0, 1: 0.74}, 90.0, [10.0, 5.0]), 0, AGE_BMI)
    assert question.sentence() == "age + 0.37*bmi <= 45"
    assert question.sentence(left=False) == "age + 0.37*bmi > 45"
    assert question.rates() == ["1 unit of bmi counts as 0.37 of age"]
    assert [term.effect for term in question.terms] == pytest.approx([10.0, 1.85])


def test_the_leader_moves_rows_most() -> None:
    """The largest coefficient does not lead if its feature hardly varies."""
    question = question_of(split({0: 0.5, 1: 2.0}, 1.0, [100.0, 0.1]), 0, AGE_BMI)
    assert question.sentence() == "age + 4*bmi <= 2"
    unknown = question_of(split({0: 0.5, 1: 2.0}, 1.0), 0, AGE_BMI)
    assert unknown.sentence() == "bmi + 0.25*age <= 0.5"


def test_a_negative_leader_turns_the_question_round() -> None:
    question = question_of(split({0: -2.0, 1: 1.0}, 3.0), 0, AGE_BMI)
    assert question.sentence() == "age - 0.5*bmi >= -1.5"
    assert question.sentence(left=False) == "age - 0.5*bmi < -1.5"
    plain = question_of(split({0: -2.0, 1: 1.0}, 3.0), 0, AGE_BMI, scaled=False)
    assert plain.sentence() == "-2*age + bmi <= 3"


def test_terms_can_be_left_out() -> None:
    question = question_of(split({0: 1.0, 1: 0.5}, 3.0), 0, AGE_BMI)
    assert question.sentence(max_terms=1) == "age + (1 more) <= 3"
    assert question.sentence(max_terms=0) == "(2 terms) <= 3"


def test_scaling_that_would_overflow_is_left_out() -> None:
    question = question_of(split({0: 1e-300, 1: 1e-310}, 1e300), 0, AGE_BMI)
    assert question.relation == "<="
    assert math.isfinite(question.threshold)
    assert question.terms[0].coefficient == 1e-300


def test_a_threshold_tells_rows_apart() -> None:
    question = question_of(split({0: 1.0}, 1234567.891, [0.5]), 0, AGE_BMI)
    assert question.sentence() == "age <= 1234567.891"
    assert not question.is_oblique


@pytest.mark.parametrize(
    ("threshold", "shown"),
    [
        (16.795000000000002, "16.795"),  # between 16.79 and 16.80, which must not read alike
        (1.04755, "1.04755"),
        (1600000000.5, "1600000000.5"),
        (0.1 + 0.2, "0.3"),
        (2 / 3, "0.6667"),
        (12345.678901, "12346"),
    ],
)
def test_a_cut_between_round_values_is_shown_in_full(threshold: float, shown: str) -> None:
    assert question_of(split({0: 1.0}, threshold), 0, AGE_BMI).sentence() == f"age <= {shown}"
    both = question_of(split({0: 1.0, 1: 1.0}, 16.795), 0, AGE_BMI)
    assert both.sentence() == "age + bmi <= 16.8"


def test_effects_are_ranked_and_need_spreads() -> None:
    known = question_of(split({0: 2.0, 1: -0.74}, 90.0, [10.0, 5.0]), 0, AGE_BMI)
    assert known.effects() == ["age 10", "bmi -1.85"]
    assert known.rates() == ["1 unit of bmi offsets 0.37 of age"]
    assert question_of(split({0: 2.0, 1: 0.74}, 90.0), 0, AGE_BMI).effects() == []


def test_a_column_with_a_table_is_a_score() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: 2.0}, 3.0, ("low", "high"), tables={0: [1.0, 5.0]})
    builder.set_leaf("low", [3, 0])
    builder.set_leaf("high", [0, 2])
    question = question_of(builder.build(), 0, AGE_BMI)
    assert question.sentence() == "bmi + score(age) <= 1.5"
    written = [" ".join(note) for note in question.scores()]
    assert written == ["score(age): code 1 2.5, code 0 0.5, any other level 0"]
    plain = question_of(builder.build(), 0, AGE_BMI, scaled=False)
    assert plain.sentence() == "score(age) + 2*bmi <= 3"


def test_the_question_is_the_split() -> None:
    """Rows answer the scaled question as the tree sends them, but for those on the plane."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 30.0, 0.01]
    y = (X @ [1.0, -0.02, 60.0] > 0.3).astype(int)
    tree = HHCartClassifier(pruning=None, extra_directions="fisher").fit(X, y).tree_
    question = question_of(tree, 0, Encoding.identity(3))
    value = sum(term.coefficient * X[:, term.column] for term in question.terms)
    left = (
        value <= question.threshold if question.relation == "<=" else value >= question.threshold
    )
    clear = np.abs(value - question.threshold) > 1e-6
    on_the_left = tree.decision_path(X).toarray()[:, tree.children_left[0]] == 1
    assert question.is_oblique and clear.sum() > 150
    np.testing.assert_array_equal(left[clear], on_the_left[clear])


def test_rates_have_the_digits_of_the_formula() -> None:
    """A year is far from 0, so its coefficient has more digits than were asked for."""
    terms = (Term(0, "size", 1.0, 3.0, 0.0), Term(1, "year", 0.123456789, 10.0, 2000.0))
    question = Question(terms, "<=", 250.0)
    shown = question.pieces(3)[1].removeprefix("+ ").removesuffix("*year")
    assert len(shown) > len("0.123")
    assert question.rates(3) == [f"1 unit of year counts as {shown} of size"]


def test_levels_and_machines_have_conditions_too() -> None:
    encoding = Encoding((Column("colour", "qualitative", ("red", "a,b", "blue")), Column("size")))
    builder = TreeBuilder(2, 2)
    builder.add_levels("root", 0, [0, 1, 1], ("a", "b"), unseen=1)
    builder.add_machine("b", [{1: 2.0}, {1: -1.0}], [1.0, -3.0], ("c", "d"))
    for leaf in "acd":
        builder.set_leaf(leaf, [1, 0])
    tree = builder.build()
    assert conditions(tree, 0, encoding) == [
        "colour in {red}",
        "colour not in {red}",
    ]
    assert conditions(tree, 2, encoding) == ["largest: 2*size - 1", "largest: -size + 3"]
    assert conditions(tree, 1, encoding) == []
    with pytest.raises(TreeError, match="Node 0 is no hyperplane"):
        question_of(tree, 0, encoding)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("age", "age"),
        ("sepal length (cm)", "sepal length (cm)"),
        ("年齢", "年齢"),
        ("marital-status", "marital-status"),
        ("a - b", "`a - b`"),
        ("a+b", "`a+b`"),
        ("", "``"),
        ("two\nlines", r"`two\nlines`"),
        ("<b>bold</b>", "`<b>bold</b>`"),
        ('say "x"', '`say "x"`'),
        ("`", "````"),
        ("3rd", "`3rd`"),
        ("if", "`if`"),
        ("age and weight", "`age and weight`"),
        ("length in cm", "`length in cm`"),
        ("is known", "`is known`"),
        ("this or", "`this or`"),
        ("x then y", "`x then y`"),
        ("x not", "`x not`"),
        ("island", "island"),
        ("in-flow android", "in-flow android"),
    ],
)
def test_names_cannot_be_mistaken(name: str, written: str) -> None:
    assert written_name(name) == written


@examples(100)
@given(st.text())
def test_any_name_stays_on_one_line(name: str) -> None:
    assert len(written_name(name).splitlines()) == 1


@examples(100)
@given(st.floats(-1e307, 1e307), st.integers(1, 17))
def test_numbers_keep_their_digits(value: float, digits: int) -> None:
    shown = float(write_number(value, digits))
    assert shown == pytest.approx(value, rel=0.6 * 10 ** (1 - digits), abs=0)
    assert write_number(value, digits) != "-0"
    assert float(write_number(value, 17)) == value


def test_a_threshold_has_no_digits_of_its_binary_neighbour() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("r", {0: 1.0}, 94.165, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    tree = builder.build()
    assert question_of(tree, 0, Encoding.identity(1)).cut() == "94.165"
