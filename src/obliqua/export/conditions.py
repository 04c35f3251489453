"""The conditions of a rule: what a path through a tree asks, with what is said twice left out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from obliqua.data.encoding import written_name
from obliqua.tree.layout import NodeKind
from obliqua.words.levels import asks_for_levels, level_sets, negation, shortened, written_levels
from obliqua.words.numbers import ALL_DIGITS
from obliqua.words.phrases import in_brackets
from obliqua.words.question import Question, Term, read_plane, scores, stand_ins
from obliqua.words.subject import Subject

__all__ = ["Between", "Condition", "Largest", "OneOf"]

# So many scores of a linear machine are written out; of more only the one that wins.
MAX_SCORES = 3
MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}


@dataclass(frozen=True)
class Condition:
    """One condition of a rule.

    Parameters
    ----------
    text : str
        The condition in words.
    """

    text: str

    @property
    def lines(self) -> list[str]:
        """The condition in words, and each note on what it says on a line of its own."""
        return [self.text]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Between(Condition):
    """A sum of features lies between two bounds.

    Parameters
    ----------
    text : str
        The condition in words.
    columns : tuple of int
        The columns of the features.
    coefficients : tuple of float
        Their coefficients. That of the leading number is 1, and so are those of qualitative
        features, unless the rule was asked to be exact.
    low, high : float
        The bounds; infinite where there is none.
    low_included, high_included : bool
        Whether the sum may be equal to a bound.
    missing : bool
        For a single feature: whether a missing value fulfils it.
    fills : tuple of float
        For several features: what stands in for a missing value of each; NaN if nothing does.
    tables : tuple of tuple of float
        For several features: what each level code of a qualitative one counts, in the place of
        its value; any other code counts 0. Empty for a number.
    notes : tuple of str
        What levels count, in words. In an exact rule also what missing numbers count.
    """

    columns: tuple[int, ...]
    coefficients: tuple[float, ...]
    low: float = -math.inf
    high: float = math.inf
    low_included: bool = False
    high_included: bool = False
    missing: bool = False
    fills: tuple[float, ...] = ()
    tables: tuple[tuple[float, ...], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The condition in words, and each note on what it says on a line of its own."""
        return [self.text, *self.notes]

    def __str__(self) -> str:
        return self.text + in_brackets([[note] for note in self.notes])


@dataclass(frozen=True)
class OneOf(Condition):
    """A qualitative column has one of several levels.

    Parameters
    ----------
    text : str
        The condition in words.
    column : int
        The column.
    codes : tuple of int
        The codes of the levels.
    negated : bool
        Whether they are the levels that do *not* fulfil it, and all others do.
    missing : bool
        Whether missing values fulfil it.
    """

    column: int
    codes: tuple[int, ...]
    negated: bool
    missing: bool


@dataclass(frozen=True)
class Largest(Condition):
    """A branch of a linear machine has the largest score, the first one at ties.

    Parameters
    ----------
    text : str
        The condition in words.
    node : int
        The node of the tree.
    branch : int
        The branch, counted from 0.
    notes : tuple of str
        What levels count, in words. In an exact rule also what missing numbers count.
    """

    node: int
    branch: int
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The condition in words, and each note on what it says on a line of its own."""
        return [self.text, *self.notes]

    def __str__(self) -> str:
        return self.text + in_brackets([[note] for note in self.notes])


@dataclass(frozen=True)
class _Interval:
    """The values along one normal that a path leaves, and the nodes that cut it so."""

    question: Question
    top: int
    low: float = -math.inf
    high: float = math.inf
    low_included: bool = False
    high_included: bool = False
    low_node: int = -1
    high_node: int = -1
    missing: bool = True  # of a single feature: whether a missing value takes this way

    def cut(self, relation: str, bound: float, node: int) -> _Interval:
        """Add a bound; one that says less than what is known changes nothing."""
        included = relation.endswith("=")
        if relation.startswith("<"):
            if (bound, included) < (self.high, self.high_included):
                return replace(self, high=bound, high_included=included, high_node=node)
        elif (-bound, included) < (-self.low, self.low_included):
            return replace(self, low=bound, low_included=included, low_node=node)
        return self


@dataclass(frozen=True)
class _Levels:
    """The levels of one column that a path leaves; `n` codes are told apart."""

    codes: frozenset[int]
    n: int
    others: bool
    missing: bool

    def both(self, other: _Levels) -> _Levels:
        n = max(self.n, other.n)
        left, right = (
            part.codes | frozenset(range(part.n, n) if part.others else ())
            for part in (self, other)
        )
        return _Levels(
            left & right, n, self.others and other.others, self.missing and other.missing
        )


@dataclass(frozen=True)
class _Winner:
    node: int
    branch: int


_Known: TypeAlias = dict[Hashable, "_Interval | _Levels | _Winner"]


@dataclass
class Paths:
    """Finds and writes the conditions of the leaves of one tree."""

    subject: Subject
    digits: int
    max_terms: int | None
    exact: bool
    _scores: dict[int, list[str]] = field(default_factory=dict)
    # How many codes of each column are known: only others are new.
    _n_codes: list[int] = field(init=False)
    # For which columns something stands in for missing values at some node.
    _fillable: list[bool] = field(init=False)
    # What must be visible at each threshold, and in the sums below the first node of a normal.
    _steps: dict[int, float] = field(default_factory=dict)
    _finest: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tree, columns = self.subject.tree, self.subject.encoding.columns
        n_codes = np.array([len(column.levels) for column in columns], dtype=np.int64)
        np.maximum.at(n_codes, tree.coef_idx, np.diff(tree.table_ptr))
        self._n_codes = n_codes.tolist()
        self._fillable = [False] * len(columns)
        for place in tree.coef_idx[~np.isnan(tree.fill)].tolist():
            self._fillable[place] = True

    def leaves(self) -> Iterator[tuple[int, tuple[Condition, ...]]]:
        """Give each leaf with its conditions, from left to right.

        A threshold is written in the same way in all rules, and so is a sum. Else two rules
        could both hold for a row between two ways to write the number, or none. So the whole
        tree is read before the first rule is written.
        """
        for leaf, known in list(self._known()):
            yield leaf, tuple(self._write(key, part) for key, part in known.items())

    def _known(self) -> Iterator[tuple[int, _Known]]:
        """Give each leaf with what is known of its rows."""
        tree = self.subject.tree
        waiting: list[tuple[int, _Known]] = [(0, {})]
        while waiting:
            node, known = waiting.pop()
            if tree.is_leaf[node]:
                yield node, known
                continue
            first = int(tree.first_child[node])
            branches = self._branches(node, known)
            waiting += reversed([(first + k, branch) for k, branch in enumerate(branches)])

    def _branches(self, node: int, known: _Known) -> list[_Known]:
        """Give what is known of the rows behind each branch of a node."""
        kind = NodeKind(self.subject.tree.kind[node])
        if kind == NodeKind.HYPERPLANE and not asks_for_levels(self.subject.tree, node):
            return self._sides(node, known)
        branches = range(int(self.subject.tree.n_children[node]))
        if kind == NodeKind.MACHINE:
            return [{**known, ("machine", node): _Winner(node, branch)} for branch in branches]
        key, parts = self._level_sets(node)
        before = known.get(key)
        if isinstance(before, _Levels):
            parts = [before.both(part) for part in parts]
        return [{**known, key: part} for part in parts]

    def _sides(self, node: int, known: _Known) -> list[_Known]:
        tree = self.subject.tree
        plane = int(tree.plane_ptr[node])
        exact = self.exact
        question = read_plane(tree, plane, self.subject.encoding, not exact, not exact)
        key = self._key(plane)
        before = known.get(key)
        interval = before if isinstance(before, _Interval) else _Interval(question, node)
        # The same normal may have been divided by another coefficient higher up.
        ratio = _ratio(interval.question, question)
        self._remember(interval, node, question.threshold * ratio, question.step * abs(ratio))
        sides = []
        for branch, relation in enumerate((question.relation, question.opposite)):
            turned = relation if ratio > 0 else MIRRORED[relation]
            part = interval.cut(turned, question.threshold * ratio, node)
            taken = interval.missing and branch == self._missing_branch(plane)
            sides.append({**known, key: replace(part, missing=taken)})
        return sides

    def _missing_branch(self, plane: int) -> int:
        """Give the side that a missing value of a single feature takes; -1 if it has none."""
        tree = self.subject.tree
        k, end = tree.coef_ptr[plane : plane + 2].tolist()
        if end - k != 1 or math.isnan(tree.fill[k]):
            return -1
        return 0 if float(tree.coef[k]) * float(tree.fill[k]) <= tree.threshold[plane] else 1

    def _remember(self, interval: _Interval, node: int, bound: float, step: float) -> None:
        """Keep what must be visible at a threshold: its rows apart, and it from its neighbours."""
        _see(self._steps, node, step)
        _see(self._finest, interval.top, step)
        for other, value in (
            (interval.low_node, interval.low),
            (interval.high_node, interval.high),
        ):
            if other >= 0:
                gap = abs(value - bound) / 2  # each of the two is rounded
                _see(self._steps, node, gap)
                _see(self._steps, other, gap)
                # Rows between the two are only told by a sum that is as fine.
                _see(self._finest, interval.top, gap)

    def _key(self, plane: int) -> Hashable:
        """Give what normals have in common that ask for the same sum."""
        tree = self.subject.tree
        start, end = int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])
        terms = []
        for k in range(start, end):
            table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
            # What stands in for a single feature only says which way a missing one takes.
            fill = repr(float(tree.fill[k])) if end - start > 1 else ""
            terms.append((int(tree.coef_idx[k]), float(tree.coef[k]), fill, *table.tolist()))
        if not self.exact:
            terms.sort()
            unit = next((term[1] for term in terms if term[1]), 1.0)
            scaled = [(term[0], term[1] / unit, *term[2:]) for term in terms]
            if all(math.isfinite(term[1]) for term in scaled):
                return ("plane", *scaled)
        return ("plane", *terms)

    def _level_sets(self, node: int) -> tuple[Hashable, list[_Levels]]:
        sets = level_sets(self.subject.tree, node)
        taken = sets.branch + [sets.others] * (self._n_codes[sets.column] - len(sets.branch))
        codes: list[set[int]] = [set() for _ in range(int(self.subject.tree.n_children[node]))]
        for code, branch in enumerate(taken):
            codes[branch].add(code)
        return ("levels", sets.column), [
            _Levels(frozenset(known), len(taken), sets.others == branch, sets.missing == branch)
            for branch, known in enumerate(codes)
        ]

    # --- words ---------------------------------------------------------------------------

    def _write(self, key: Hashable, part: _Interval | _Levels | _Winner) -> Condition:
        if isinstance(part, _Interval):
            return self._between(part)
        if isinstance(part, _Winner):
            notes = stand_ins(
                self.subject.tree,
                part.node,
                self.subject.encoding,
                *self._size,
                missing=self.exact,
            )
            words = tuple(" ".join(note) for note in notes)
            return Largest(self._winner_text(part), part.node, part.branch, words)
        assert isinstance(key, tuple)
        return self._one_of(key[1], part)

    @property
    def _size(self) -> tuple[int, int | None]:
        """How many digits and terms are shown."""
        return (ALL_DIGITS, None) if self.exact else (self.digits, self.max_terms)

    @property
    def _max_levels(self) -> int | None:
        return None if self.max_terms is None or self.exact else 2 * self.max_terms

    def _between(self, part: _Interval) -> Between:
        terms, several = part.question.terms, len(part.question.terms) > 1
        digits, max_terms = self._size
        notes = self._sum(part).scores(digits, max_terms, self._max_levels)
        text = self._interval_text(part)
        if self.exact and several:
            notes += part.question.missing(digits)
        elif self.exact and part.missing:
            text = f"({text} or is missing)"
        return Between(
            text,
            tuple(term.column for term in terms),
            tuple(term.coefficient for term in terms),
            part.low,
            part.high,
            part.low_included,
            part.high_included,
            part.missing and not several,
            tuple(term.stand_in for term in terms) if several else (),
            tuple(term.table for term in terms) if several else (),
            tuple(" ".join(note) for note in notes),
        )

    def _one_of(self, place: int, part: _Levels) -> OneOf:
        """Write a set of levels; a rule does not show which levels other branches name."""
        column = self.subject.encoding.columns[place]
        others = frozenset(range(part.n)) - part.codes
        names = written_levels(column, part.n)
        # Those that fulfil it and those that do not say the same; the shorter list is written.
        negated = part.others and len(others) <= len(part.codes)
        written = [names[code] for code in sorted(others if negated else part.codes)]
        name, known = written_name(column.name), self._fillable[place] and not part.missing
        relation = negation(known) if negated else "in"
        parts = []
        if written:
            parts.append(f"{relation} {{{', '.join(shortened(written, self._max_levels))}}}")
        elif negated:
            parts.append("is any level" if part.missing else "is known")
        if part.others and not negated:
            parts.append("is new")
        if part.missing and not (negated and written):  # what is missing is not in a set either
            parts.append("is missing")
        text = f"{name} {' or '.join(parts) or 'in {}'}"
        return OneOf(
            f"({text})" if len(parts) > 1 else text,
            place,
            tuple(sorted(others if part.others else part.codes)),
            part.others,
            part.missing,
        )

    def _sum(self, part: _Interval) -> Question:
        """Give the sum with what must be visible in it, in all rules alike."""
        return replace(part.question, finest=self._finest.get(part.top, math.nan))

    def _interval_text(self, part: _Interval) -> str:
        digits, max_terms = self._size
        formula = self._sum(part).formula(digits, max_terms)
        low, high = (
            replace(part.question, finest=self._steps.get(node, math.nan)).write(bound, digits)
            for node, bound in ((part.low_node, part.low), (part.high_node, part.high))
        )
        above, below = ("<=" if end else "<" for end in (part.low_included, part.high_included))
        if part.low == -math.inf:
            return f"{formula} {below} {high}"
        if part.high == math.inf:
            return f"{formula} {MIRRORED[above]} {low}"
        return f"{low} {above} {formula} {below} {high}"

    def _winner_text(self, part: _Winner) -> str:
        if part.node not in self._scores:
            self._scores[part.node] = scores(
                self.subject.tree,
                part.node,
                self.subject.encoding,
                *self._size,
                ranked=not self.exact,
            )
        written = self._scores[part.node]
        winner = written[part.branch]
        if written.count(winner) > 1:
            winner += f" (number {part.branch + 1})"
        if len(written) > MAX_SCORES and not self.exact:
            return f"{winner} is the largest score of {len(written)}"
        return f"{winner} is the largest of [{', '.join(written)}]"


def _see(steps: dict[int, float], node: int, step: float) -> None:
    if step > 0:  # and not NaN
        steps[node] = min(steps.get(node, math.inf), step)


def _ratio(wanted: Question, given: Question) -> float:
    """Give what a value along one normal is multiplied with to lie along the other."""
    factor = {term.column: _number(term) for term in wanted.terms}
    for term in given.terms:
        if _number(term) and factor.get(term.column):
            return factor[term.column] / _number(term)
    return 1.0


def _number(term: Term) -> float:
    """Give a number of a term that is scaled as the sum is."""
    if term.scores is None:
        return term.coefficient
    largest = int(np.argmax(np.abs(term.scores.numbers)))
    return term.coefficient * float(term.scores.numbers[largest])
