"""`export_rules`: a tree as rules, one per leaf."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from obliqua.data.encoding import written_name
from obliqua.export.text import check_limits
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.words.levels import asks_for_levels, level_sets, negation, shortened, written_levels
from obliqua.words.line import line_of, says_line
from obliqua.words.numbers import ALL_DIGITS
from obliqua.words.phrases import (
    cells,
    error_of,
    in_brackets,
    spread_of,
    written_answer,
    written_error,
    written_label,
    written_number_of_rows,
    written_share,
    written_spread,
)
from obliqua.words.question import (
    Question,
    Term,
    missing_branch,
    read_plane,
    scores,
    stand_ins,
)
from obliqua.words.subject import Subject, subject_of

__all__ = [
    "Between",
    "Condition",
    "Largest",
    "LinearFunction",
    "OneOf",
    "Rule",
    "export_rules",
]

WIDTH = 100  # a rule that is longer is written in several lines
NOTE = " " * 7  # stands before what is said of a condition


@dataclass(frozen=True)
class Rule:
    """What leads to one leaf, and what is found there.

    ``str(rule)`` is the rule in words, with a condition per line if it is long.

    Parameters
    ----------
    leaf : int
        The node number of the leaf, as `apply` gives it.
    label : object
        The class that it predicts, as it is in `y`; of a tree of numbers the mean, a tuple if
        there are several outputs.
    class_name : str
        What that class is called; the means, or the function of the leaf, in words.
    conditions : tuple of Condition
        What holds for the rows that reach the leaf: `Between`, `OneOf` or `Largest`. All of
        them must hold.
    rows : int or None
        How many training rows reach it; None if that is not known.
    weight : float
        Their weight; NaN if it is not known.
    share : float
        The share of the class in that weight; NaN if there is none.
    lift : float
        That share divided by the share of the class among all training rows: how much more
        frequent the class is here. NaN if there is none.
    sd : float, default=NaN
        The standard deviation of the one number of a tree of numbers; NaN if it is not known.
    numbers : bool, default=False
        Whether the rule is of a tree of numbers; then it has no `share` and no `lift`.
    function : LinearFunction, default=None
        What the leaf says of a row, if that is a linear function of it; `label` then is the mean
        of its training rows.
    """

    leaf: int
    label: Any
    class_name: str
    conditions: tuple[Condition, ...]
    rows: int | None
    weight: float
    share: float
    lift: float
    sd: float = math.nan
    numbers: bool = False
    function: LinearFunction | None = None

    @property
    def text(self) -> str:
        """The rule on one line."""
        said = self._conclusion + in_brackets([[note] for note in self._notes])
        if not self.conditions:
            return f"always {said}"
        return f"if {' and '.join(map(str, self.conditions))} then {said}"

    @property
    def _conclusion(self) -> str:
        rows = written_number_of_rows(self.rows, self.weight)
        if not self.numbers:
            share = "" if math.isnan(self.share) else f", {written_share(self.share)}"
            return f"{written_label(self.class_name)} ({rows}{share})"
        spread = written_spread(self.sd)
        if self.function is not None:
            spread = written_error(self.function.error)
        facts = [rows if self.rows or self.weight else "", spread]
        known = ", ".join(filter(None, facts))
        return f"{self.class_name} ({known})" if known else self.class_name

    @property
    def _notes(self) -> tuple[str, ...]:
        """What is said of the conclusion."""
        return () if self.function is None else self.function.notes

    def __str__(self) -> str:
        if cells(self.text) <= WIDTH:
            return self.text
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Write the rule with a condition per line, and below it what levels count in it."""
        below = [f"{NOTE}{note}" for note in self._notes]
        if not self.conditions:
            return [f"always {self._conclusion}", *below]
        written: list[str] = []
        for condition in self.conditions:
            text, *notes = condition.lines
            written.append(f"{'   and' if written else 'if'} {text}")
            written += [f"{NOTE}{note}" for note in notes]
        return [*written, f"   then {self._conclusion}", *below]


@dataclass(frozen=True)
class LinearFunction:
    """What a leaf says of a row: a sum of its features, within limits.

    Parameters
    ----------
    text : str
        The function in words.
    columns : tuple of int
        The columns of the features.
    coefficients : tuple of float
        Their coefficients; those of qualitative features are 1, unless the rule was asked to be
        exact.
    intercept : float
        What the sum begins with.
    low, high : float
        The least and the largest number that is said: a sum outside them counts as they do.
    error : float
        The root of the mean squared error of the training rows; NaN if it is not known.
    fills : tuple of float
        What stands in for a missing value of each feature; NaN if nothing does.
    tables : tuple of tuple of float
        What each level code of a qualitative feature counts, in the place of its value; any other
        code counts 0. Empty for a number.
    notes : tuple of str
        What levels count, in words. In an exact rule also what missing numbers count.
    """

    text: str
    columns: tuple[int, ...]
    coefficients: tuple[float, ...]
    intercept: float
    low: float
    high: float
    error: float = math.nan
    fills: tuple[float, ...] = ()
    tables: tuple[tuple[float, ...], ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text + in_brackets([[note] for note in self.notes])


def _function(subject: Subject, leaf: int, paths: Paths) -> LinearFunction | None:
    """Read what a leaf says, if that is a linear function."""
    if not says_line(subject, leaf):
        return None
    line = line_of(subject, leaf, scaled=not paths.exact)
    digits, max_terms = paths.size
    terms = line.sum.terms
    return LinearFunction(
        " ".join(line.pieces(digits, max_terms)),
        tuple(term.column for term in terms),
        tuple(term.coefficient for term in terms),
        line.intercept,
        line.low,
        line.high,
        error_of(subject, leaf),
        tuple(term.stand_in for term in terms),
        tuple(term.table for term in terms),
        tuple(" ".join(note) for note in line.notes(digits, max_terms, paths.exact)),
    )


def _by_size(rule: Rule) -> tuple[bool, float, int]:
    """Return what sorts rules by weight, the heaviest first and what is not known last."""
    return (True, 0.0, 0) if rule.rows is None else (False, -rule.weight, -rule.rows)


ORDERS: dict[str, Callable[[Rule], Any]] = {
    "rows": _by_size,
    "tree": lambda rule: 0,
}
CLASS_ORDERS = {
    "share": lambda rule: (math.isnan(rule.share), -rule.share, _by_size(rule)[:2]),
    "class": lambda rule: _by_size(rule)[:2],
}
NUMBER_ORDERS = {"value": lambda rule: rule.label}


def export_rules(
    model: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
    max_terms: int | None = None,
    digits: int = 4,
    order: str = "rows",
    exact: bool = False,
) -> list[Rule]:
    r"""Write a tree as rules: one per leaf, of which exactly one holds for any row.

    Conditions on the same sum of features are merged into one, ``2 < age <= 5`` for instance,
    and those that say nothing new are left out. So are those on the level of one qualitative
    feature: ``(town in {Bonn, Rome} or is missing)`` are the levels that reach the leaf. A level
    that was not there in training *is new*. In a sum such a feature is a score, and what its
    levels count stands behind the condition, in brackets or on a line of its own. Where a leaf
    says a linear function, the rule ends with it, and `Rule.function` has its numbers.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of this library, a model that was loaded, or a tree.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`,
        or of the outputs of a tree of numbers.
    tree : int, default=None
        Which tree of a model with several.
    max_terms : int, default=None
        How many features of a condition to show, those first that move rows most; the others
        are counted. None shows all.
    digits : int, default=4
        How many significant digits to show.
    order : {"rows", "share", "class", "value", "tree"}, default="rows"
        Which rules come first: those with the most weight of training rows; those with the
        largest share of their class; those of the first class, with the most weight first; of
        a tree of numbers those with the smallest mean of the first output; or those at the left
        of the tree.
    exact : bool, default=False
        Whether to write conditions, means and linear functions to the last digit, with the tree's
        own coefficients in the order in which the tree adds them up, instead of scaled to a
        leading coefficient of 1 and rounded, and to say what missing numbers count in a sum, and
        which conditions on one number hold where it is missing (the conditions' attribute
        `missing` says it in any case). `digits` and `max_terms` are not used then.

    Returns
    -------
    list of Rule
        The rules. ``print(*rules, sep="\n")`` prints them.

    Raises
    ------
    TypeError
        If `model` holds no tree.
    ValueError
        If a parameter makes no sense, or the names are not as many as there are columns or
        classes.

    See Also
    --------
    export_text : The same as a tree.

    Examples
    --------
    >>> from obliqua import TreeBuilder, export_rules
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0}, 5.0, ("young", "old"))
    >>> builder.add_split("young", {0: 1.0}, 2.0, ("baby", "child"))
    >>> builder.set_leaf("baby", [1, 7], n_samples=8)
    >>> builder.set_leaf("child", [4, 0], n_samples=4)
    >>> builder.set_leaf("old", [0, 3], n_samples=3)
    >>> rules = export_rules(builder.build(), feature_names=["age", "bmi"])
    >>> print(*rules, sep="\n")
    if age <= 2 then class 1 (8 rows, 88 %)
    if 2 < age <= 5 then class 0 (4 rows, 100 %)
    if age > 5 then class 1 (3 rows, 100 %)
    >>> rules[1].conditions[0].low, rules[1].lift
    (2.0, 3.0)
    """
    subject = subject_of(model, feature_names, class_names, tree)
    check_limits(max_terms=max_terms)
    check_limits(1, digits=digits)
    orders = ORDERS | (NUMBER_ORDERS if subject.holds_numbers else CLASS_ORDERS)
    if order not in orders:
        what = "numbers" if subject.holds_numbers else "classes"
        known = ", ".join(map(repr, orders))
        raise ValueError(f"order must be one of {known} for a tree of {what}; got {order!r}.")
    paths = Paths(subject, digits, max_terms, exact)
    rules = [_rule(subject, leaf, conditions, paths) for leaf, conditions in paths.leaves()]
    rules.sort(key=orders[order])
    if order == "class":
        rules.sort(key=lambda rule: int(subject.tree.leaf_label[rule.leaf]))
    return rules


def _rule(subject: Subject, leaf: int, conditions: tuple[Condition, ...], paths: Paths) -> Rule:
    tree = subject.tree
    rows: int | None = int(tree.n_samples[leaf])
    weight = float(tree.weighted_n_node_samples[leaf])
    if tree.n_samples[leaf] < 0:
        rows, weight = None, math.nan
    share = lift = math.nan
    if subject.holds_numbers:
        means = tuple(tree.mean[leaf].tolist())
        function = _function(subject, leaf, paths)
        said = written_answer(subject, leaf, paths.size[0]) if function is None else function.text
        return Rule(
            leaf,
            means if len(means) > 1 else means[0],
            said,
            conditions,
            rows,
            weight,
            share,
            lift,
            spread_of(subject, leaf),
            numbers=True,
            function=function,
        )
    label = int(tree.leaf_label[leaf])
    if tree.stats[leaf].any():
        share = float(tree.proportion[leaf, label])
        everywhere = float(tree.proportion[0, label]) if tree.stats[0].any() else 0.0
        lift = share / everywhere if everywhere > 0 else math.nan
    return Rule(
        leaf,
        subject.classes.tolist()[label],
        subject.class_names[label],
        conditions,
        rows,
        weight,
        share,
        lift,
    )


# So many scores of a linear machine are written out; of more only the one that wins.
MAX_SCORES = 3
MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}


# --- conditions: what a path asks, with what is said twice left out -----------------------------


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
        For a single feature: whether a missing value fulfils it. For several features: whether
        a row that misses any of them does, unless there are `fills`.
    fills : tuple of float
        For several features: what stands in for a missing value of each; NaN if nothing does.
        Empty if rows that miss a value go to a side.
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
        if question.asks_presence:
            return self._presence(node, question, known)
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
            taken = interval.missing and branch == missing_branch(self.subject.tree, plane)
            sides.append({**known, key: replace(part, missing=taken)})
        return sides

    def _presence(self, node: int, question: Question, known: _Known) -> list[_Known]:
        """Give what is known where a node asks whether a value is there."""
        term = replace(question.terms[0], coefficient=1.0)
        key = ("plane", (term.column, 1.0, ""))
        before = known.get(key)
        if not isinstance(before, _Interval):
            before = _Interval(
                replace(question, terms=(term,), missing_side=MissingSide.NONE), node
            )
        nothing = replace(before, low=math.inf, high=-math.inf)
        return [
            {**known, key: nothing if missing else replace(before, missing=False)}
            for missing in (question.takes_missing(left) for left in (True, False))
        ]

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
        terms: list[tuple[Any, ...]] = []
        side = int(tree.missing_side[plane]) if end - start > 1 else 0
        for k in range(start, end):
            table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
            # What stands in for a single feature only says which way a missing one takes.
            fill = repr(float(tree.fill[k])) if end - start > 1 and not side else ""
            terms.append((int(tree.coef_idx[k]), float(tree.coef[k]), fill, *table.tolist()))
        if not self.exact:
            terms.sort()
            unit = next((term[1] for term in terms if term[1]), 1.0)
            scaled = [(term[0], term[1] / unit, *term[2:]) for term in terms]
            if all(math.isfinite(term[1]) for term in scaled):
                terms = scaled
        return ("plane", *terms, side) if side else ("plane", *terms)

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
                *self.size,
                missing=self.exact,
            )
            words = tuple(" ".join(note) for note in notes)
            return Largest(self._winner_text(part), part.node, part.branch, words)
        assert isinstance(key, tuple)
        return self._one_of(key[1], part)

    @property
    def size(self) -> tuple[int, int | None]:
        """How many digits and terms are shown."""
        return (ALL_DIGITS, None) if self.exact else (self.digits, self.max_terms)

    @property
    def _max_levels(self) -> int | None:
        return None if self.max_terms is None or self.exact else 2 * self.max_terms

    def _between(self, part: _Interval) -> Between:
        terms, several = part.question.terms, len(part.question.terms) > 1
        digits, max_terms = self.size
        notes = self._sum(part).scores(digits, max_terms, self._max_levels)
        text = self._interval_text(part)
        side = several and bool(part.question.missing_side)
        stands_in = several and not side
        if self.exact and stands_in:
            notes += part.question.missing(digits)
        elif (self.exact or part.question.missing_side) and part.missing and part.low < math.inf:
            text = f"({text} or {'any ' if side else ''}is missing)"
        return Between(
            text,
            tuple(term.column for term in terms),
            tuple(term.coefficient for term in terms),
            part.low,
            part.high,
            part.low_included,
            part.high_included,
            part.missing and not stands_in,
            tuple(term.stand_in for term in terms) if stands_in else (),
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
        digits, max_terms = self.size
        formula = self._sum(part).formula(digits, max_terms)
        low, high = (
            replace(part.question, finest=self._steps.get(node, math.nan)).write(bound, digits)
            for node, bound in ((part.low_node, part.low), (part.high_node, part.high))
        )
        above, below = ("<=" if end else "<" for end in (part.low_included, part.high_included))
        if part.low == math.inf:
            return f"{formula} is missing"
        if part.low == -math.inf and part.high == math.inf:
            return f"{formula} is known"
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
                *self.size,
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
