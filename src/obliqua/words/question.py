"""What a node asks, in words: the one place where splits become text.

A hyperplane ``a . x <= t`` is divided by its leading coefficient, that of the feature which
moves rows most, so that the equation is in units of one feature, and the other coefficients
are rates of exchange: in ``age + 0.37*bmi <= 45``, 1 unit of bmi counts as 0.37 of age.

A qualitative column is a score in such a sum. What its levels count is in units of the leading
number too, so a score has no coefficient: ``age + score(town) <= 45``, where Bonn counts 3.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.data.encoding import Column, Encoding, written_name
from obliqua.errors import TreeError
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.surgery import check_node
from obliqua.tree.tree import Tree
from obliqua.words.levels import (
    asks_for_levels,
    level_branches,
    table_of,
    with_commas,
    written_levels,
)
from obliqua.words.numbers import ALL_DIGITS, write_number
from obliqua.words.subject import Coefficients

# Beside scores, a number gives the unit only if it moves rows at least by this share of what the
# leading term does. Others are there by rounding, and scores in their units are huge.
SMALLEST_UNIT = 1e-3


def question_of(tree: Tree, node: int, encoding: Encoding, scaled: bool = True) -> Question:
    """Read what a hyperplane asks."""
    node = check_node(tree, node)
    if tree.kind[node] != NodeKind.HYPERPLANE:
        raise TreeError(f"Node {node} is no hyperplane, so it asks about no sum of features.")
    return read_plane(tree, int(tree.plane_ptr[node]), encoding, scaled, ranked=scaled)


def read_plane(
    tree: Tree, plane: int, encoding: Encoding, scaled: bool = True, ranked: bool = True
) -> Question:
    """Read one plane of a tree."""
    part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    coef, spread = tree.coef[part], tree.spread[part]
    order = np.arange(len(coef))
    if ranked:
        # Where a spread is not known, coefficients are ranked by their size alone.
        known = not np.isnan(spread).any()
        order = np.argsort(-np.abs(coef * spread if known else coef), kind="stable")
    threshold = float(tree.threshold[plane])
    divisor = _divisor(tree, part.start + order) if scaled else 1.0
    side = MissingSide(tree.missing_side[plane])
    places = (part.start + order).tolist()
    terms = tuple(read_term(tree, k, encoding, divisor, scaled, bool(side)) for k in places)
    relation = "<=" if divisor > 0 else ">="
    # 0.0 is added so that no threshold reads -0.
    node = int(tree.node_of_plane[plane])
    if len(terms) == 1 and side and coef[0] != 0.0 and is_known_at(tree, node, terms[0].column):
        side = MissingSide.NONE
    return Question(terms, relation, threshold / divisor + 0.0, divisor=divisor, missing_side=side)


def is_known_at(tree: Tree, node: int, column: int) -> bool:
    """Say whether a node above has sent away all rows that miss a column."""
    while node:
        above = int(tree.parent[node])
        if tree.kind[above] == NodeKind.HYPERPLANE:
            asked = int(tree.plane_ptr[above])
            first, last = tree.coef_ptr[asked : asked + 2].tolist()
            branch = missing_branch(tree, asked)
            other = node != int(tree.first_child[above]) + branch
            if branch >= 0 and other and column in tree.coef_idx[first:last]:
                return True
        node = above
    return False


def missing_branch(tree: Tree, plane: int) -> int:
    """Give the side that all rows take that miss a value of a hyperplane; -1 if there is none."""
    if tree.missing_side[plane]:
        return int(tree.missing_side[plane]) - 1
    k, end = tree.coef_ptr[plane : plane + 2].tolist()
    if end - k != 1 or math.isnan(tree.fill[k]):
        return -1
    return 0 if float(tree.coef[k]) * float(tree.fill[k]) <= tree.threshold[plane] else 1


def _divisor(tree: Tree, ranked: Int64Array) -> float:
    """Return what makes the leading coefficient 1, given coefficients in the order of terms."""
    if not len(ranked):
        return 1.0
    coef, spread = tree.coef[ranked], tree.spread[ranked]
    coded = tree.table_ptr[ranked + 1] > tree.table_ptr[ranked]
    largest = [np.abs(table_of(tree, k)).max(initial=0.0) for k in ranked.tolist()]
    if not coded.all():
        number = int(np.argmin(coded))  # the first that is no score
        effect = np.abs(coef * spread)
        moves = bool(effect[number] >= SMALLEST_UNIT * effect[0])
        divisor = float(coef[number]) if moves or not effect[0] > 0 else 0.0
    else:
        divisor = 0.0
    if divisor == 0.0 and coded[0]:  # the largest score of the leading column is the unit
        divisor = float(abs(coef[0]) * largest[0])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        sizes = np.abs(coef) * np.where(coded, np.maximum(largest, 1.0), 1.0)
        plane = tree.plane_of_coef[ranked[0]]
        scaled = np.append(sizes, tree.threshold[plane]) / divisor
    return divisor if np.isfinite(scaled).all() else 1.0


def read_term(
    tree: Coefficients,
    k: int,
    encoding: Encoding,
    divisor: float = 1.0,
    scaled: bool = True,
    aside: bool = False,
) -> Term:
    """Read one term of a sum; `aside`: rows that miss a value go to a side."""
    column, coef, spread = int(tree.coef_idx[k]), float(tree.coef[k]), float(tree.spread[k])
    if tree.table_ptr[k] == tree.table_ptr[k + 1]:
        name = written_number_column(encoding.columns[column])
        return Term(column, name, coef / divisor, spread, float(tree.fill[k]))
    factor = coef / divisor if scaled else 1.0
    found = scores_of(tree, k, encoding, factor)
    assert found is not None
    if aside:  # then it counts nothing in the sum
        found = replace(found, missing=math.nan)
    if not scaled:
        return Term(column, found.term, coef, spread, scores=found)
    return Term(column, found.term, 1.0, abs(factor) * spread, scores=found)


def conditions(
    tree: Tree, node: int, encoding: Encoding, digits: int = 4, max_terms: int | None = None
) -> list[str]:
    """Write the condition of each branch of a node, whatever its kind."""
    node = check_node(tree, node)
    kind = NodeKind(tree.kind[node])
    if kind == NodeKind.LEAF:
        return []
    if asks_for_levels(tree, node):
        limit = None if max_terms is None else 2 * max_terms
        return [branch.condition(limit) for branch in level_branches(tree, node, encoding)]
    if kind == NodeKind.HYPERPLANE:
        question = read_plane(tree, int(tree.plane_ptr[node]), encoding)
        return [question.sentence(left, digits, max_terms) for left in (True, False)]
    return [f"largest: {score}" for score in scores(tree, node, encoding, digits, max_terms)]


class Asked(NamedTuple):
    """What a node asks, for a text whose lines may be broken between pieces."""

    pieces: list[str]
    answers: list[str]  # of each branch; empty if they are yes and no
    question: Question | None = None  # if it is about a sum of features


def asked(tree: Tree, node: int, encoding: Encoding, digits: int, max_terms: int | None) -> Asked:
    """Write what a node asks, and its answers, whatever its kind."""
    kind, limit = NodeKind(tree.kind[node]), None if max_terms is None else 2 * max_terms
    if kind == NodeKind.MACHINE:
        written = scores(tree, node, encoding, digits, max_terms)
        return Asked([f"which of {len(written)} scores is largest?"], written)
    if asks_for_levels(tree, node):
        branches = level_branches(tree, node, encoding)
        if kind == NodeKind.HYPERPLANE:
            return Asked(branches[0].pieces(limit), [])
        answers = [branch.short(limit) for branch in branches]
        return Asked([f"which {branches[0].name}?"], answers)
    question = read_plane(tree, int(tree.plane_ptr[node]), encoding)
    if question.asks_presence:
        return Asked([question.sentence()], [])
    pieces = question.pieces(digits, max_terms)
    pieces[-1] += f" {question.relation} {question.cut(digits)}"
    if question.missing_side:
        pieces.append(question.aside)
    return Asked(pieces, [], question)


def scores(
    tree: Tree,
    node: int,
    encoding: Encoding,
    digits: int = 4,
    max_terms: int | None = None,
    ranked: bool = True,
) -> list[str]:
    """Write what the branches of a linear machine compare."""
    written = []
    for plane in range(int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1])):
        score = read_plane(tree, plane, encoding, scaled=False, ranked=ranked)
        formula = score.formula(digits, max_terms)
        away = score.write(abs(score.threshold), digits)
        if not formula:
            written.append(away if score.threshold <= 0 else f"-{away}")
        elif score.threshold == 0:
            written.append(formula)
        else:
            written.append(f"{formula} {'+' if score.threshold < 0 else '-'} {away}")
    return written


def stand_ins(
    tree: Tree,
    node: int,
    encoding: Encoding,
    digits: int = 4,
    max_terms: int | None = None,
    missing: bool = True,
) -> list[list[str]]:
    """Write what levels and missing values count in the sums of a linear machine."""
    terms: dict[int, Term] = {}  # the branches share columns
    for plane in range(int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1])):
        for term in read_plane(tree, plane, encoding, scaled=False).shown(max_terms):
            terms.setdefault(term.column, term)
    by_column = [terms[column] for column in sorted(terms)]
    limit = None if max_terms is None else 2 * max_terms
    notes = [
        term.scores.pieces(digits, max_levels=limit)
        for term in by_column
        if term.scores is not None
    ]
    fills = {term.name: term.centre for term in by_column if term.scores is None}
    return [*notes, *missing_note(fills, digits)] if missing else notes


# So many steps per standard deviation along the normal are told apart in what is written.
STEPS_PER_SPREAD = 300.0
# A threshold on one feature that has so many more digits than asked for is shown in full.
EXTRA_DIGITS = 2


@dataclass(frozen=True)
class Term:
    """One feature of a question."""

    column: int
    name: str  # as it is written in a formula
    coefficient: float  # 1 for the leading term of a scaled question
    spread: float  # its standard deviation among the training rows at the node; NaN if not known
    # What stands in for the feature if it is missing: about where its values are.
    centre: float = math.nan
    scores: Scores | None = None  # what the levels of a qualitative feature count

    @property
    def effect(self) -> float:
        """The coefficient per standard deviation: how far one of them moves a row."""
        return self.coefficient * self.spread

    @property
    def stand_in(self) -> float:
        """What is multiplied with the coefficient if the value is missing; NaN if nothing is."""
        return self.centre if self.scores is None else self.scores.missing

    @property
    def table(self) -> tuple[float, ...]:
        """What each level code counts; empty for a number."""
        return () if self.scores is None else tuple(self.scores.numbers.tolist())


@dataclass(frozen=True)
class Question:
    """What a hyperplane asks: whether a sum of terms is at most, or at least, a threshold."""

    terms: tuple[Term, ...]  # the one that moves rows most first
    relation: str  # that holds for the rows that go left: <= or >=
    threshold: float
    # A difference along the normal that must be visible for another reason: two thresholds that a
    # text shows beside each other, or a row and the threshold.
    finest: float = math.nan
    divisor: float = 1.0  # of the tree's own coefficients and threshold
    missing_side: MissingSide = MissingSide.NONE  # where rows go that miss one of the features

    @property
    def asks_presence(self) -> bool:
        """Whether it only asks if a value is there."""
        return bool(
            self.missing_side and len(self.terms) == 1 and self.terms[0].coefficient == 0.0
        )

    @property
    def aside(self) -> str:
        """Where rows go that miss a feature, in words; empty if nothing but a number says so."""
        if not self.missing_side:
            return ""
        return f"[missing: {'yes' if self.missing_side == MissingSide.LEFT else 'no'}]"

    def takes_missing(self, left: bool) -> bool:
        """Say whether a side is the one for rows that miss a feature."""
        return self.missing_side == (MissingSide.LEFT if left else MissingSide.RIGHT)

    @property
    def opposite(self) -> str:
        """The relation that holds for the rows that go right."""
        return ">" if self.relation == "<=" else "<"

    @property
    def is_oblique(self) -> bool:
        """Whether it is about more than one feature."""
        return len(self.terms) > 1

    @cached_property
    def step(self) -> float:
        """A difference along the normal that must be visible; NaN if it is not known."""
        largest = max((abs(term.effect) for term in self.terms), default=math.nan)
        known = [step for step in (largest / STEPS_PER_SPREAD, self.finest) if step > 0]
        return min(known, default=math.nan)

    def shown(self, max_terms: int | None = None) -> tuple[Term, ...]:
        """Return the terms that are shown."""
        return self.terms if max_terms is None else self.terms[: max(max_terms, 0)]

    def written_coefficient(self, term: Term, digits: int) -> str:
        """Write the size of a coefficient, with enough digits for the values that it multiplies.

        A feature far from 0, such as a year or a time in seconds, makes much of a small error.
        """
        size = abs(term.coefficient)
        reach = size * (abs(term.centre) + 2 * term.spread)
        steps = reach / self.step if self.step > 0 else math.nan
        if math.isfinite(steps) and steps > 2:
            digits = max(digits, math.ceil(1 + math.log10(0.5 * steps)))
        return write_number(size, min(digits, ALL_DIGITS))

    def formula(self, digits: int = 4, max_terms: int | None = None) -> str:
        """Write the sum of the terms."""
        return " ".join(self.pieces(digits, max_terms))

    def pieces(self, digits: int = 4, max_terms: int | None = None, start: str = "") -> list[str]:
        """Write the sum, begun with `start`, as pieces between which a line may be broken."""
        shown = self.shown(max_terms)
        written = [start] if start else []
        for term in shown:
            size = self.written_coefficient(term, digits)
            factor = term.name if size == "1" else f"{size}*{term.name}"
            sign = "-" if term.coefficient < 0 else "+"
            if written:
                written.append(f"{sign} {factor}")
            else:
                written.append(f"-{factor}" if sign == "-" else factor)
        hidden = len(self.terms) - len(shown)
        if hidden:
            written.append(f"+ ({hidden} more)" if written else f"({hidden} terms)")
        return written

    def cut(self, digits: int = 4) -> str:
        """Write the threshold, with enough digits to tell rows apart."""
        return self.write(self.threshold, digits)

    def write(self, value: float, digits: int = 4) -> str:
        """Write a value along the normal, with enough digits to tell rows apart."""
        step = self.step
        if not self.is_oblique and math.isfinite(value) and digits < ALL_DIGITS:
            # A cut between two values of a feature has a digit more than they have. Rounded,
            # it could read as one of them, and its rows as if they went to the other side.
            for short in (f"{value:.{digits + EXTRA_DIGITS}g}", f"{value:.1f}"):
                if math.isclose(float(short), value, rel_tol=1e-13):
                    return write_number(float(short), 15, step)
        return write_number(value, digits, step)

    def comparison(self, left: bool = True, digits: int = 4, max_terms: int | None = None) -> str:
        """Write how the sum of a side compares with the threshold."""
        relation = self.relation if left else self.opposite
        return f"{self.formula(digits, max_terms)} {relation} {self.cut(digits)}"

    def sentence(self, left: bool = True, digits: int = 4, max_terms: int | None = None) -> str:
        """Write the condition of a side."""
        missing = self.takes_missing(left)
        if self.asks_presence:
            return f"{self.terms[0].name} is {'missing' if missing else 'known'}"
        text = self.comparison(left, digits, max_terms)
        if not missing:
            return text
        return f"{text} or {'any ' if self.is_oblique else ''}is missing"

    def rates(self, digits: int = 4, max_terms: int | None = None) -> list[str]:
        """Write what a unit of each further number counts in units of the leading one."""
        # Scores are in units of the leading number from the start.
        numbers = [term for term in self.shown(max_terms) if term.scores is None]
        written: list[str] = []
        if not numbers:
            return written
        lead = numbers[0]
        for term in numbers[1:]:
            if lead.coefficient == 0 or term.coefficient == 0:
                continue  # a unit of nothing has no price
            rate = term.coefficient / lead.coefficient
            does = "counts as" if rate > 0 else "offsets"
            size = write_number(abs(rate), digits)
            if abs(lead.coefficient) == 1:
                size = self.written_coefficient(term, digits)  # as in the question itself
            written.append(f"1 unit of {term.name} {does} {size} of {lead.name}")
        return written

    def effects(self, digits: int = 3) -> list[str]:
        """Write how far one standard deviation of each feature moves a row."""
        if any(math.isnan(term.spread) for term in self.terms):
            return []
        ranked = sorted(self.terms, key=lambda term: -abs(term.effect))
        return [f"{term.name} {write_number(term.effect, digits)}" for term in ranked]

    def scores(
        self, digits: int = 4, max_terms: int | None = None, max_levels: int | None = None
    ) -> list[list[str]]:
        """Write what the levels of each qualitative feature count."""
        return [
            term.scores.pieces(digits, self.step, max_levels)
            for term in self.shown(max_terms)
            if term.scores is not None
        ]

    def missing(self, digits: int = 4, max_terms: int | None = None) -> list[list[str]]:
        """Write what stands in for missing numbers."""
        if self.missing_side:
            return []
        numbers = [term for term in self.shown(max_terms) if term.scores is None]
        if digits < ALL_DIGITS:
            numbers.sort(key=lambda term: term.column)
        return missing_note({term.name: term.centre for term in numbers}, digits)


@dataclass(frozen=True, eq=False)
class Scores:
    """What the levels of a qualitative column count in a sum; names are those that are written."""

    name: str
    levels: tuple[str, ...]  # in the order of their codes
    numbers: FloatArray  # what each counts; a level that the node does not know counts 0
    missing: float  # what a missing level counts; NaN if that is not known

    @property
    def term(self) -> str:
        """What stands for the column in a formula."""
        return f"score({self.name})"

    def ranked(self, digits: int = 4, step: float = math.nan) -> list[str]:
        """Write each level with its score, the largest first."""
        order = np.argsort(-self.numbers, kind="stable").tolist()
        return [
            f"{self.levels[code]} {write_number(float(self.numbers[code]), digits, step)}"
            for code in order
            if self.numbers[code] != 0
        ]

    def pieces(
        self, digits: int = 4, step: float = math.nan, max_levels: int | None = None
    ) -> list[str]:
        """Write all scores as pieces between which a line may be broken."""
        words = self.ranked(digits, step)
        if max_levels is not None and len(words) > max_levels:
            first = (max(max_levels, 0) + 1) // 2
            last = max(max_levels, 0) - first
            hidden = f"{len(words) - first - last} more"
            words = [*words[:first], hidden, *words[len(words) - last :]]
        words.append("any other level 0")
        if not math.isnan(self.missing):
            words.append(f"missing {write_number(self.missing + 0.0, digits, step)}")
        return [f"{self.term}:", *with_commas(words)]


def written_number_column(column: Column) -> str:
    """Write the name of a numeric column so that it cannot be mistaken for a score."""
    name = written_name(column.name)
    return f"`{name}`" if re.search(r"^score\(| \[(score|missing)", name) else name


def scores_of(
    tree: Coefficients, k: int, encoding: Encoding, factor: float = 1.0
) -> Scores | None:
    """Read what the levels of a column count in a sum."""
    table = table_of(tree, k)
    if not len(table):
        return None
    column = encoding.columns[int(tree.coef_idx[k])]
    levels = written_levels(column, len(table))
    with np.errstate(over="ignore"):
        missing = float(tree.fill[k]) * factor
        return Scores(written_name(column.name), levels, table * factor + 0.0, missing)


def missing_note(fills: dict[str, float], digits: int = 4) -> list[list[str]]:
    """Write what missing numbers count."""
    words = [
        f"{name} {write_number(fill, digits)}"
        for name, fill in fills.items()
        if not math.isnan(fill)
    ]
    if not words:
        return []
    return [["missing counts as:", *with_commas(words)]]
