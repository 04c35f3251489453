"""A sum of features against a threshold, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from obliqua._numbers import ALL_DIGITS, write_number
from obliqua._scores import Scores, missing_note

# So many steps per standard deviation along the normal are told apart in what is written.
STEPS_PER_SPREAD = 300.0
# A threshold on one feature that has so many more digits than asked for is shown in full.
EXTRA_DIGITS = 2


@dataclass(frozen=True)
class Term:
    """One feature of a question.

    Parameters
    ----------
    column : int
        The column.
    name : str
        Its name, as it is written in a formula.
    coefficient : float
        Its coefficient; 1 for the leading term of a scaled question.
    spread : float
        The standard deviation of the feature among the training rows at the node; NaN if it
        is not known.
    centre : float, default=nan
        What stands in for the feature if it is missing: about where its values are. NaN for a
        qualitative one.
    scores : Scores, default=None
        What the levels of a qualitative feature count.
    """

    column: int
    name: str
    coefficient: float
    spread: float
    centre: float = math.nan
    scores: Scores | None = None

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
    """What a hyperplane asks: whether a sum of terms is at most, or at least, a threshold.

    Parameters
    ----------
    terms : tuple of Term
        The terms, the one that moves rows most first.
    relation : {"<=", ">="}
        The relation that holds for the rows that go left.
    threshold : float
        The threshold.
    finest : float, default=nan
        A difference along the normal that must be visible for another reason: two thresholds
        that a text shows beside each other, or a row and the threshold.
    divisor : float, default=1.0
        What the tree's own coefficients and threshold were divided by.
    """

    terms: tuple[Term, ...]
    relation: str
    threshold: float
    finest: float = math.nan
    divisor: float = 1.0

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
        """Return the terms that are shown.

        Parameters
        ----------
        max_terms : int, default=None
            How many; all if None.

        Returns
        -------
        tuple of Term
            The first terms.
        """
        return self.terms if max_terms is None else self.terms[: max(max_terms, 0)]

    def written_coefficient(self, term: Term, digits: int) -> str:
        """Write the size of a coefficient, with enough digits for the values that it multiplies.

        A feature far from 0, such as a year or a time in seconds, makes much of a small error.

        Parameters
        ----------
        term : Term
            One of the terms.
        digits : int
            How many significant digits to show at least.

        Returns
        -------
        str
            The number.
        """
        size = abs(term.coefficient)
        reach = size * (abs(term.centre) + 2 * term.spread)
        steps = reach / self.step if self.step > 0 else math.nan
        if math.isfinite(steps) and steps > 2:
            digits = max(digits, math.ceil(1 + math.log10(0.5 * steps)))
        return write_number(size, min(digits, ALL_DIGITS))

    def formula(self, digits: int = 4, max_terms: int | None = None) -> str:
        """Write the sum of the terms.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits of a coefficient to show.
        max_terms : int, default=None
            How many terms to show; the others are counted.

        Returns
        -------
        str
            The formula.
        """
        return " ".join(self.pieces(digits, max_terms))

    def pieces(self, digits: int = 4, max_terms: int | None = None) -> list[str]:
        """Write the sum as pieces between which a line may be broken.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits of a coefficient to show.
        max_terms : int, default=None
            How many terms to show; the others are counted.

        Returns
        -------
        list of str
            A piece per term, with its sign, and one that counts those left out.
        """
        shown = self.shown(max_terms)
        written: list[str] = []
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
        """Write the threshold, with enough digits to tell rows apart.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits to show at least.

        Returns
        -------
        str
            The number.
        """
        return self.write(self.threshold, digits)

    def write(self, value: float, digits: int = 4) -> str:
        """Write a value along the normal, with enough digits to tell rows apart.

        Parameters
        ----------
        value : float
            The value.
        digits : int, default=4
            How many significant digits to show at least.

        Returns
        -------
        str
            The number.
        """
        step = self.step
        if not self.is_oblique and math.isfinite(value) and digits < ALL_DIGITS:
            # A cut between two values of a feature has a digit more than they have. Rounded,
            # it could read as one of them, and its rows as if they went to the other side.
            for short in (f"{value:.{digits + EXTRA_DIGITS}g}", f"{value:.1f}"):
                if math.isclose(float(short), value, rel_tol=1e-13):
                    return write_number(float(short), 16, step)
        return write_number(value, digits, step)

    def sentence(self, left: bool = True, digits: int = 4, max_terms: int | None = None) -> str:
        """Write the condition of a side.

        Parameters
        ----------
        left : bool, default=True
            Whether the condition for going left is wanted, or that for going right.
        digits : int, default=4
            How many significant digits to show.
        max_terms : int, default=None
            How many terms to show.

        Returns
        -------
        str
            The condition, ``age + 0.37*bmi <= 45`` for instance.
        """
        relation = self.relation if left else self.opposite
        return f"{self.formula(digits, max_terms)} {relation} {self.cut(digits)}"

    def rates(self, digits: int = 4, max_terms: int | None = None) -> list[str]:
        """Write what a unit of each further number counts in units of the leading one.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits to show at least; as many as in the formula.
        max_terms : int, default=None
            How many terms of the sum are shown.

        Returns
        -------
        list of str
            A sentence per shown number after the first: ``1 unit of bmi counts as 0.37 of age``,
            or ``offsets`` if it works the other way.
        """
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
        """Write how far one standard deviation of each feature moves a row.

        Parameters
        ----------
        digits : int, default=3
            How many significant digits to show.

        Returns
        -------
        list of str
            ``age 10.2``, ``bmi 1.85``, in the units of the threshold, the largest first; empty
            if the standard deviations are not known.
        """
        if any(math.isnan(term.spread) for term in self.terms):
            return []
        ranked = sorted(self.terms, key=lambda term: -abs(term.effect))
        return [f"{term.name} {write_number(term.effect, digits)}" for term in ranked]

    def scores(
        self, digits: int = 4, max_terms: int | None = None, max_levels: int | None = None
    ) -> list[list[str]]:
        """Write what the levels of each qualitative feature count.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits to show at least.
        max_terms : int, default=None
            How many terms of the sum are shown.
        max_levels : int, default=None
            How many levels of a feature to name; the others are counted.

        Returns
        -------
        list of list of str
            A note per such term that is shown, in pieces: ``score(town):``, ``Bonn 3,``,
            ``any other level 0,``, ``missing 0``.
        """
        return [
            term.scores.pieces(digits, self.step, max_levels)
            for term in self.shown(max_terms)
            if term.scores is not None
        ]

    def missing(self, digits: int = 4, max_terms: int | None = None) -> list[list[str]]:
        """Write what stands in for missing numbers.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits to show.
        max_terms : int, default=None
            How many terms of the sum are shown.

        Returns
        -------
        list of list of str
            One note in pieces, ``missing counts as:``, ``age 40``, in the order of the columns;
            empty if nothing is known.
        """
        numbers = [term for term in self.shown(max_terms) if term.scores is None]
        if digits < ALL_DIGITS:
            numbers.sort(key=lambda term: term.column)
        return missing_note({term.name: term.centre for term in numbers}, digits)
