"""The rows of a picture: which reach a node, where they lie along its normal, what moves one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.target import Numbers
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.levels import LevelBranch, asks_for_levels, level_branches
from obliqua.words.line import LineWords
from obliqua.words.phrases import spread_of, written_number_of_rows
from obliqua.words.question import Question, Term, read_plane
from obliqua.words.subject import (
    Coefficients,
    Subject,
    added_up,
    goes_aside,
    lines_of,
    read_column,
    read_values,
)

# Rows further out than the middle 98 % by this many times its length share the last bin.
REACH = 0.5
FEWEST_BINS, MOST_BINS = 12, 40
# Between bars, a row is at least so much of their width away from the cut.
OFF_CUT = 0.25


class Sample:
    """Rows with their classes, or numbers, and weights, sent through a tree.

    Rows of classes that the tree does not tell apart are left out, unless all are asked for.
    """

    def __init__(
        self,
        subject: Subject,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        all_classes: bool = False,
    ) -> None:
        self.tree, self.says_numbers = subject.tree, subject.says_numbers
        self.Z, known = (subject.rows(X), None) if y is None else subject.labelled_rows(X, y)
        self.codes: AnyArray | None = None if self.says_numbers else known
        self.numbers: FloatArray | None = known if self.says_numbers else None
        self.weight = _checked_weights(sample_weight, len(self.Z))
        if self.codes is not None and not all_classes:
            rows = subject.rows_told_apart(self.codes)
            if not rows.all():
                self.Z, self.codes, self.weight = self.Z[rows], self.codes[rows], self.weight[rows]

    @cached_property
    def _passing(self) -> Any:
        return self.tree.decision_path(self.Z).tocsc()

    def at(self, node: int) -> Int64Array:
        """Return the numbers of the rows that reach a node."""
        passing = self._passing
        return np.sort(passing.indices[passing.indptr[node] : passing.indptr[node + 1]])

    def sums(self, node: int) -> FloatArray:
        """Return the weight of each class at a node; without labels, what the tree knows."""
        known = _known_sums(self.tree, node)
        if self.codes is None:
            return known
        rows = self.at(node)
        sums = np.zeros(len(known))
        np.add.at(sums, self.codes[rows], self.weight[rows])
        return sums


def rows_at(subject: Subject, sample: Sample | None, node: int) -> str:
    """Write how many rows reach a node: of the sample, or else in training.

    A tree by hand may know the weight of its rows only, and one of numbers need not know any.
    """
    if sample is not None:
        rows, weight = len(sample.at(node)), 0.0
    else:
        rows = int(subject.tree.n_samples[node])
        weight = float(rows or subject.tree.weighted_n_node_samples[node])
        if subject.holds_numbers and not weight:
            return ""
    return written_number_of_rows(rows, weight or float(rows))


def note_on(subject: Subject, sample: Sample | None) -> str:
    """Say what is not plain: answers that go by costs, marks, or whose rows and classes are."""
    cheapest = "leaves: the class that costs least" if subject.tree.costs else ""
    return "; ".join(filter(None, [_whose_rows(sample), cheapest]))


def _whose_rows(sample: Sample | None) -> str:
    """Say what marks above bars are, or that classes are not those of the counted rows."""
    if sample is None or sample.codes is not None:
        return ""
    if sample.numbers is not None:
        return "grey bars: rows along the question; marks: their means"
    what = "means" if sample.says_numbers else "classes"
    return f"numbers of rows: those of X; {what}: those of the training rows"


def sums_at(subject: Subject, sample: Sample | None, node: int) -> FloatArray:
    """Return the weight of each class at a node: of the sample, or else in training."""
    return _known_sums(subject.tree, node) if sample is None else sample.sums(node)


def _known_sums(tree: Tree, node: int) -> FloatArray:
    """Return the weight of each class at a node, or its numbers for them."""
    return np.asarray(tree.mean[node] if tree.task == Numbers.task else tree.stats[node])


def first_number_at(subject: Subject, sample: Sample | None, node: int) -> tuple[float, float]:
    """Return mean and standard deviation of the first output: of the sample, or in training.

    Both are NaN where no row of the sample is.
    """
    if sample is None or sample.numbers is None:
        return float(subject.tree.mean[node, 0]), spread_of(subject, node)
    rows = sample.at(node)
    values, weight = sample.numbers[rows, 0], sample.weight[rows]
    if not weight.sum() > 0:
        return math.nan, math.nan
    mean = float(np.average(values, weights=weight))
    return mean, math.sqrt(float(np.average((values - mean) ** 2, weights=weight)))


def _checked_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be a number for each of the {n_rows} rows; got shape "
            f"{weight.shape}."
        )
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError("sample_weight must be finite and at least 0; got another number.")
    return weight


@dataclass(frozen=True)
class Along:
    """A hyperplane's question, with a scale on which the rows that go left are to the left.

    The question is in units of its leading feature. If its divisor is negative, the scale runs
    against it: it asks whether the sum is at least the threshold.
    """

    question: Question
    plane: int
    levels: LevelBranch | None = None  # those that go left, if it asks for one column's only

    @property
    def divisor(self) -> float:
        """What the tree's own coefficients were divided by."""
        return self.question.divisor

    @property
    def sign(self) -> float:
        """Whether the scale runs with the question's units, 1, or against them, -1."""
        return 1.0 if self.divisor > 0 else -1.0

    @property
    def cut(self) -> float:
        """Where the threshold is."""
        return self.sign * self.question.threshold

    def values(self, tree: Tree, Z: AnyArray) -> FloatArray:
        """Return where rows are."""
        with np.errstate(over="ignore", invalid="ignore"):
            return read_values(tree, self.plane, Z) / abs(self.divisor)


def along(subject: Subject, node: int) -> Along | None:
    """Return the scale of a hyperplane; None for nodes of other kinds."""
    tree = subject.tree
    if tree.kind[node] != NodeKind.HYPERPLANE:
        return None
    plane = int(tree.plane_ptr[node])
    question = read_plane(tree, plane, subject.encoding)
    if not question.terms or question.asks_presence:
        return None
    levels = None
    if asks_for_levels(tree, node):
        levels = level_branches(tree, node, subject.encoding)[0]
    return Along(question, plane, levels)


@dataclass(frozen=True)
class Histogram:
    """Rows at a node along its normal, counted by class.

    At a split on levels there is a bin per score, all of the same width: `steps` are these scores,
    and `names` the levels that have them. A side without rows has an empty bin.
    """

    edges: FloatArray  # of the bins, on the scale of `Along`; the cut is one of them
    sums: FloatArray  # by bin and class; by bin alone if rows have no labels
    cut: float
    steps: FloatArray | None = None
    names: tuple[str, ...] = ()
    means: FloatArray | None = None  # by bin, of the first number of the rows, if they have any

    def place(self, value: float, left: bool) -> float:
        """Return where the value of a row is between the edges: on the side that the row takes.

        A level that none of the counted rows has stands between the bars of others.
        """
        away = 0.0
        if self.steps is not None:
            value, away = float(np.interp(value, self.steps, np.arange(len(self.steps)))), OFF_CUT
        return min(value, self.cut - away) if left else max(value, self.cut + away)


def histogram(sample: Sample, scale: Along, node: int, n_bins: int = 28) -> Histogram | None:
    """Count the rows at a node along its normal; None if there are none, or no finite values.

    Rows that lie far out are counted in the outermost bins, those without a place in none.
    """
    tree, rows = sample.tree, sample.at(node)
    rows = rows[~goes_aside(tree, scale.plane, sample.Z[rows])]
    if not len(rows):
        return None
    values, cut = scale.values(tree, sample.Z[rows]), scale.cut
    if not np.isfinite(values).all():
        return None
    # The tree compares before it divides; a rounded row must not be seen across the cut.
    goes_left = np.isin(rows, sample.at(int(tree.first_child[node])), assume_unique=True)
    if scale.levels is not None and len(np.unique(values)) <= MOST_BINS:
        return _bars(sample, scale, rows, values, goes_left)
    values = np.where(goes_left, np.minimum(values, cut), np.maximum(values, cut))
    edges = _edges(values, cut, n_bins)
    if edges is None:
        return None
    n_left = int(np.searchsorted(edges, cut))
    # A row on the cut goes left, one on the edge of another bin to either side.
    place = np.searchsorted(edges, values, side="right") - 1
    place = np.where(goes_left, np.clip(place, 0, n_left - 1), np.clip(place, n_left, None))
    place = np.minimum(place, len(edges) - 2)
    sums = _sums(sample, rows, place, len(edges) - 1)
    return Histogram(edges, sums, cut, means=_means(sample, rows, place, sums))


def both_sides(sample: Sample, node: int) -> Histogram | None:
    """Count the rows of both sides of a split that has no scale: whether a value is there."""
    rows = sample.at(node)
    if sample.tree.kind[node] != NodeKind.HYPERPLANE or not len(rows):
        return None
    left = sample.at(int(sample.tree.first_child[node]))
    side = (~np.isin(rows, left, assume_unique=True)).astype(np.int64)
    sums = _sums(sample, rows, side, 2)
    edges = np.array([-0.5, 0.5, 1.5])
    return Histogram(edges, sums, 0.5, means=_means(sample, rows, side, sums))


def _bars(
    sample: Sample, scale: Along, rows: Int64Array, values: FloatArray, goes_left: BoolArray
) -> Histogram:
    """Count rows by their scores at a split on levels."""
    steps, step = np.unique(values, return_inverse=True)
    sums, names = _sums(sample, rows, step), _step_names(sample, scale, rows, step)
    means = _means(sample, rows, step, sums)
    n_left = len(np.unique(step[goes_left]))
    if n_left in (0, len(steps)):
        # A row that takes the other side must have a place there.
        at = 0 if n_left == 0 else len(steps)
        beyond = min(scale.cut, steps[0]) - 1.0 if at == 0 else max(scale.cut, steps[-1]) + 1.0
        steps, sums = np.insert(steps, at, beyond), np.insert(sums, at, 0.0, axis=0)
        means = None if means is None else np.insert(means, at, 0.0)
        names = (*names[:at], "", *names[at:])
        n_left = max(n_left, 1)
    edges = np.arange(len(steps) + 1, dtype=np.float64) - 0.5
    return Histogram(edges, sums, n_left - 0.5, steps, names, means)


def _sums(sample: Sample, rows: Int64Array, place: AnyArray, n_bins: int = 0) -> FloatArray:
    """Add up the weights of rows by their bins and classes."""
    n_classes = len(_known_sums(sample.tree, 0)) if sample.codes is not None else 1
    sums = np.zeros((n_bins or int(place.max()) + 1, n_classes))
    codes = np.zeros_like(place) if sample.codes is None else sample.codes[rows]
    np.add.at(sums, (place, codes), sample.weight[rows])
    return sums


def _means(
    sample: Sample, rows: Int64Array, place: AnyArray, sums: FloatArray
) -> FloatArray | None:
    """Return the mean of the first number of rows in each bin; 0 where there are none."""
    if sample.numbers is None:
        return None
    weighted = sample.weight[rows] * sample.numbers[rows, 0]
    total = np.bincount(place, weights=weighted, minlength=len(sums))
    return np.divide(total, sums[:, 0], out=np.zeros(len(sums)), where=sums[:, 0] > 0)


def _step_names(sample: Sample, scale: Along, rows: Int64Array, step: AnyArray) -> tuple[str, ...]:
    """Name the levels in each bin: the most frequent one, and how many more there are."""
    term = scale.question.terms[0]
    column = sample.Z[rows, term.column]
    names = []
    for number in range(int(step.max()) + 1):
        found, counts = np.unique(column[step == number], return_counts=True)
        code = float(found[np.argmax(counts)])
        more = f" +{len(found) - 1}" if len(found) > 1 else ""
        names.append(level_name(term, code) + more)
    return tuple(names)


def level_name(term: Term, code: float) -> str:
    """Write the level that a code stands for."""
    if np.isnan(code):
        return "missing"
    assert term.scores is not None
    if not 0 <= code < len(term.scores.levels):
        return "another level"
    return term.scores.levels[int(code)]


def _edges(values: FloatArray, cut: float, n_bins: int) -> FloatArray | None:
    """Return equally spaced edges around the values, one of them on the cut."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, last = np.quantile(values, [0.01, 0.99])
        far = REACH * (last - first)
        low = min(max(values.min(), first - far), cut)
        high = max(min(values.max(), last + far), cut)
        if high <= low:  # all rows lie on the cut
            low, high = cut - max(abs(cut), 1.0), cut + max(abs(cut), 1.0)
        step = (high - low) / n_bins
        # Values on a grid get a bin each, so that no empty bins stand between them.
        known = np.unique(values)
        if 2 < len(known) <= MOST_BINS:
            gap = np.diff(known).min()
            if FEWEST_BINS <= (high - low) / gap <= MOST_BINS:
                step = gap
        left = max(int(np.ceil((cut - low) / step - 1e-9)), 2)
        right = max(int(np.ceil((high - cut) / step - 1e-9)), 2)
        edges = cut + step * np.arange(-left, right + 1)
    edges[left] = cut
    return edges if np.isfinite(edges).all() and (np.diff(edges) > 0).all() else None


# --- what moves a row ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Moves:
    """How far each feature moves a row, in the question's units, the farthest first."""

    value: float  # of the row, along the question's direction
    terms: list[tuple[str, float]]
    others: float  # how far all other features move it together
    n_others: int


def moves_of(
    scale: Along, sample: Sample | None, node: int, z: AnyArray, max_terms: int, subject: Subject
) -> Moves:
    """Say what moves a row away from the mean of the rows at a node, or from 0."""
    tree = subject.tree
    terms = range(*tree.coef_ptr[scale.plane : scale.plane + 2].tolist())
    value = scale.sign * float(scale.values(tree, z)[0])
    moved = _moved(tree, terms, sample, node, z) / scale.divisor
    return _largest(value, moved, tree.coef_idx[terms], scale.question, z, max_terms)


def line_moves_of(
    line: LineWords, sample: Sample | None, node: int, z: AnyArray, max_terms: int, tree: Tree
) -> Moves:
    """Say what changes what a leaf says of a row, from what it says at the mean of its rows.

    The value is the sum of its function, which may lie outside its limits.
    """
    lines, terms = lines_of(tree), range(*tree.leaf_ptr[node : node + 2].tolist())
    added = added_up(1, ((lines.coef[k], read_column(lines, k, z)) for k in terms))
    moved = _moved(lines, terms, sample, node, z)
    value = line.intercept + float(added[0])
    return _largest(value, moved, lines.coef_idx[terms], line.sum, z, max_terms)


def _moved(
    coefficients: Coefficients, terms: range, sample: Sample | None, node: int, z: AnyArray
) -> FloatArray:
    """Return how far each term moves a row away from the mean of the rows at a node, or from 0."""
    here, share = None, None
    if sample is not None:
        # Rows are taken out once: there may be thousands of features.
        rows = sample.at(node)
        weight = sample.weight[rows]
        if weight.sum() > 0:
            here, share = sample.Z[rows], weight / weight.sum()
    moved = np.empty(len(terms))
    with np.errstate(over="ignore", invalid="ignore"):
        for place, k in enumerate(terms):
            value = float(read_column(coefficients, k, z)[0])
            if here is not None and share is not None:
                mean = float(share @ read_column(coefficients, k, here))
                # What stands in for a missing value is often the mean itself.
                value = 0.0 if math.isclose(value, mean, rel_tol=1e-12) else value - mean
            moved[place] = float(coefficients.coef[k]) * value
    return moved


def _largest(
    value: float,
    moved: FloatArray,
    columns: Int32Array,
    question: Question,
    z: AnyArray,
    max_terms: int,
) -> Moves:
    """Name what moves a row farthest, and add up the others."""
    order = np.argsort(-np.abs(moved), kind="stable").tolist()
    # One more bar takes no more room than a bar for "one other".
    shown = len(order) if len(order) <= max_terms + 1 else max_terms
    names = {term.column: _name(term, z) for term in question.terms}
    terms = [(names[int(columns[k])], float(moved[k])) for k in order[:shown]]
    rest = moved[order[shown:]]
    return Moves(value, terms, float(rest.sum()), len(rest))


def _name(term: Term, z: AnyArray) -> str:
    """Name what moves a row: a feature, with the row's level or where its number is missing."""
    value = float(z[0, term.column])
    if term.scores is not None:
        return f"{term.scores.name}: {level_name(term, value)}"
    return f"{term.name} (missing)" if np.isnan(value) else term.name
