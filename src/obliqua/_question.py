"""What a node asks, in words: the one place where splits become text.

A hyperplane ``a . x <= t`` is divided by its leading coefficient, that of the feature which
moves rows most, so that the equation is in units of one feature, and the other coefficients
are rates of exchange: in ``age + 0.37*bmi <= 45``, 1 unit of bmi counts as 0.37 of age.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from obliqua._layout import NodeKind
from obliqua._levels import level_branches
from obliqua._numbers import ALL_DIGITS
from obliqua._numbers import write_number as write_number  # readers find it here too
from obliqua._surgery import check_node
from obliqua.data import Encoding, written_name
from obliqua.errors import TreeError
from obliqua.tree import Tree

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
        What stands in for the feature if it is missing: about where its values are.
    """

    column: int
    name: str
    coefficient: float
    spread: float
    centre: float = math.nan

    @property
    def effect(self) -> float:
        """The coefficient per standard deviation: how far one of them moves a row."""
        return self.coefficient * self.spread


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
    """

    terms: tuple[Term, ...]
    relation: str
    threshold: float
    finest: float = math.nan

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
        shown = self.terms if max_terms is None else self.terms[: max(max_terms, 0)]
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

    def rates(self, digits: int = 4) -> list[str]:
        """Write what a unit of each further feature counts in units of the leading one.

        Parameters
        ----------
        digits : int, default=4
            How many significant digits to show at least; as many as in the formula.

        Returns
        -------
        list of str
            A sentence per term after the first: ``1 unit of bmi counts as 0.37 of age``, or
            ``offsets`` if it works the other way.
        """
        lead, written = self.terms[0], []
        for term in self.terms[1:]:
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


def question_of(tree: Tree, node: int, encoding: Encoding, scaled: bool = True) -> Question:
    """Read what a hyperplane asks.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A node that is a hyperplane.
    encoding : Encoding
        What the columns are.
    scaled : bool, default=True
        Whether to divide by the leading coefficient. If not, coefficients, their order and the
        threshold are the tree's own.

    Returns
    -------
    Question
        The question.
    """
    node = check_node(tree, node)
    if tree.kind[node] != NodeKind.HYPERPLANE:
        raise TreeError(f"Node {node} is no hyperplane, so it asks about no sum of features.")
    return read_plane(tree, int(tree.plane_ptr[node]), encoding, scaled, ranked=scaled)


def read_plane(
    tree: Tree, plane: int, encoding: Encoding, scaled: bool = True, ranked: bool = True
) -> Question:
    """Read one plane of a tree.

    Parameters
    ----------
    tree : Tree
        The tree.
    plane : int
        The plane.
    encoding : Encoding
        What the columns are.
    scaled : bool, default=True
        Whether to divide by the leading coefficient.
    ranked : bool, default=True
        Whether the term that moves rows most comes first. If not, terms stand in the order in
        which the tree adds them up.

    Returns
    -------
    Question
        The plane, as if it were a hyperplane's.
    """
    part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    idx, coef, spread = tree.coef_idx[part], tree.coef[part], tree.spread[part]
    coded = np.diff(tree.table_ptr[part.start : part.stop + 1]) > 0
    order = np.arange(len(idx))
    if ranked:
        # Where a spread is not known, coefficients are ranked by their size alone.
        known = not np.isnan(spread).any()
        order = np.argsort(-np.abs(coef * spread if known else coef), kind="stable")
    threshold, relation = float(tree.threshold[plane]), "<="
    lead = float(coef[order[0]]) if len(order) else 1.0
    divisor = 1.0
    if scaled and lead != 0 and all(math.isfinite(v / lead) for v in [*coef, threshold]):
        divisor = lead
        relation = "<=" if lead > 0 else ">="
    terms = tuple(
        Term(
            int(idx[k]),
            _written_term(encoding, int(idx[k]), bool(coded[k])),
            float(coef[k]) / divisor,
            float(spread[k]),
            math.nan if coded[k] else float(tree.fill[part.start + k]),
        )
        for k in order.tolist()
    )
    # 0.0 is added so that no threshold reads -0.
    return Question(terms, relation, threshold / divisor + 0.0)


def _written_term(encoding: Encoding, column: int, coded: bool) -> str:
    """Write a column as a formula has it: the number of its level if there is a table of them."""
    name = written_name(encoding.columns[column].name)
    return f"score({name})" if coded else name


def conditions(
    tree: Tree, node: int, encoding: Encoding, digits: int = 4, max_terms: int | None = None
) -> list[str]:
    """Write the condition of each branch of a node, whatever its kind.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        An inner node.
    encoding : Encoding
        What the columns are.
    digits : int, default=4
        How many significant digits to show.
    max_terms : int, default=None
        How many terms of a sum to show.

    Returns
    -------
    list of str
        A condition per child.
    """
    node = check_node(tree, node)
    kind = NodeKind(tree.kind[node])
    if kind == NodeKind.LEAF:
        return []
    if kind == NodeKind.LEVELS:
        return [branch.condition() for branch in level_branches(tree, node, encoding)]
    if kind == NodeKind.HYPERPLANE:
        question = read_plane(tree, int(tree.plane_ptr[node]), encoding)
        return [question.sentence(left, digits, max_terms) for left in (True, False)]
    return [f"largest: {score}" for score in scores(tree, node, encoding, digits, max_terms)]


def scores(
    tree: Tree,
    node: int,
    encoding: Encoding,
    digits: int = 4,
    max_terms: int | None = None,
    ranked: bool = True,
) -> list[str]:
    """Write what the branches of a linear machine compare.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A linear machine.
    encoding : Encoding
        What the columns are.
    digits : int, default=4
        How many significant digits to show.
    max_terms : int, default=None
        How many terms of a sum to show.
    ranked : bool, default=True
        As in `read_plane`.

    Returns
    -------
    list of str
        A sum minus its threshold per child, ``2*size - 1`` for instance.
    """
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
