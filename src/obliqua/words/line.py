"""What a leaf says in words, if that is a linear function of a row.

``price = 1200 + 31*area, between 400 and 9000``: the sum, and the least and the largest number
that is said. A qualitative column is a score in the sum, in units of what is said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from obliqua.data.encoding import written_name
from obliqua.words.numbers import ALL_DIGITS, write_number
from obliqua.words.question import STEPS_PER_SPREAD, Question, is_known_at, read_term
from obliqua.words.subject import Subject, lines_of

# A constant that is a smaller part of what a function may say is rounding.
NOTHING = 1e-9


@dataclass(frozen=True)
class LineWords:
    """The linear function of a node: what is said, a sum, and between what."""

    name: str  # of what is said, as it is written
    sum: Question  # without its constant
    intercept: float
    low: float
    high: float
    known: frozenset[int] = frozenset()  # columns that no row misses here
    has_gaps: bool = False  # whether the tree says where rows with missing values go

    @property
    def is_constant(self) -> bool:
        """Whether it says the same of all rows."""
        return not self.sum.terms or self.low == self.high

    @property
    def step(self) -> float:
        """A difference of what is said that must be visible; NaN if it is not known."""
        return self.sum.step

    def pieces(self, digits: int = 4, max_terms: int | None = None) -> list[str]:
        """Write the function as pieces between which a line may be broken."""
        first, *others = self.body(digits, max_terms)
        return [f"{self.name} = {first}", *others, *self.limits(digits)]

    def body(self, digits: int, max_terms: int | None) -> list[str]:
        """Write the sum with its constant; behind it a comma, if there are limits."""
        if self.is_constant:
            return [write_number(min(max(self.intercept, self.low), self.high), digits)]
        written = self.sum.pieces(digits, max_terms, self.start(digits))
        return [*written[:-1], f"{written[-1]},"]

    def start(self, digits: int) -> str:
        """Write the constant of the sum; nothing if it is none."""
        size = max(abs(self.low), abs(self.high)) if digits < ALL_DIGITS else 0.0
        if abs(self.intercept) <= NOTHING * size:
            return ""
        return write_number(self.intercept, digits, self.step)

    def limits(self, digits: int) -> list[str]:
        """Write the least and the largest number that is said; nothing for a constant."""
        if self.is_constant:
            return []
        low, high = (write_number(end, digits, self.step) for end in (self.low, self.high))
        return [f"between {low} and {high}"]

    def notes(
        self, digits: int = 4, max_terms: int | None = None, missing: bool = False
    ) -> list[list[str]]:
        """Write what levels count, and missing numbers if there were some or it is asked for."""
        if self.is_constant:
            return []
        limit = None if max_terms is None else 2 * max_terms
        notes = self.sum.scores(digits, max_terms, limit)
        if not (missing or self.has_gaps):
            return notes
        terms = tuple(t for t in self.sum.shown(max_terms) if t.column not in self.known)
        return notes + replace(self.sum, terms=terms).missing(digits)

    def effects(self, max_terms: int | None = None) -> list[str]:
        """Write by how much one standard deviation of each feature changes what is said."""
        return [] if self.is_constant else self.sum.effects()[:max_terms]


def line_of(subject: Subject, node: int, scaled: bool = True) -> LineWords:
    """Read the linear function of a node.

    Terms that change what is said most come first, and levels count in its units. Not `scaled`,
    both are as the tree has them.
    """
    tree, lines = subject.tree, lines_of(subject.tree)
    places = np.arange(int(tree.leaf_ptr[node]), int(tree.leaf_ptr[node + 1]))
    if scaled:
        coef, spread = lines.coef[places], lines.spread[places]
        known = not np.isnan(spread).any()
        places = places[np.argsort(-np.abs(coef * spread if known else coef), kind="stable")]
    terms = [read_term(lines, k, subject.encoding, scaled=scaled) for k in places.tolist()]
    low, high = float(tree.leaf_low[node]), float(tree.leaf_high[node])
    intercept = float(tree.leaf_intercept[node])
    finest = (high - low) / STEPS_PER_SPREAD
    total = Question(tuple(terms), "<=", -intercept, finest=finest)
    here = frozenset(t.column for t in terms if is_known_at(tree, node, t.column))
    gaps = bool(tree.missing_side.any())
    name = written_name(subject.class_names[0])
    return LineWords(name, total, intercept, low, high, here, gaps)


def says_line(subject: Subject, node: int) -> bool:
    """Say whether a node is a leaf with a function of its own, be it a constant."""
    return bool(subject.tree.has_lines and subject.tree.is_leaf[node])
