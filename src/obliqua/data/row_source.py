"""RowSource: where the rows of a fit are. What the engine asks of them, it asks here.

Growth needs to know little of the rows of a node: sums of what is learnt, ranges, sums of
products, histograms along directions, and the few values between which a cut is made. Each is a
question, and answers of parts of the rows add up to that of all of them. So a source of rows has
one thing to do, whether they are in one memory, in parts, in files or on other machines: to pass
over its rows and answer the questions of all nodes that wait. What it may be asked stands in
`obliqua.engine.questions`.

Rows are divided without being moved: a source is told the splits so far, and finds out by itself
which rows have come to a node. Nodes are numbered by their place: the root is 1, the children of
k are 2 k and 2 k + 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.problem import Problem

__all__ = [
    "AddingSource",
    "AddsInPlace",
    "Answers",
    "Hyperplane",
    "PlaneCoding",
    "Questions",
    "RowQuestion",
    "RowSource",
    "Splits",
    "added",
]


class PlaneCoding(NamedTuple):
    """What the coefficients of a split multiply, where levels or missing values are."""

    fill: FloatArray  # what stands in for a missing value
    table_size: Int64Array  # the number of levels of a qualitative column, else 0
    table: FloatArray  # their numbers, one after another
    gone_right: bool | None = None  # where rows go that miss something; None: `fill` decides
    alone: bool = False  # whether all others go to the other side


class Hyperplane(NamedTuple):
    """A split: rows whose canonical value is at most the threshold go left."""

    idx: Int32Array
    coef: FloatArray
    threshold: float
    coding: PlaneCoding | None = None  # None: all its columns are plain numbers

    def coded_right(self, problem: Problem, rows: Int32Array) -> BoolArray:
        """Say which of some rows go right, where columns are not plain numbers.

        Parameters
        ----------
        problem : Problem
            The rows.
        rows : ndarray of int32
            Which of them.

        Returns
        -------
        ndarray of bool
            Whether each goes right.
        """
        assert self.coding is not None
        fill, sizes, table, gone_right, alone = self.coding
        value, gone = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
        begin = np.cumsum(sizes) - sizes
        for k, column in enumerate(self.idx.tolist()):
            x: AnyArray = np.array(problem.Z[rows, column], dtype=np.float64)
            missing = np.isnan(x)
            if sizes[k]:
                numbers = np.append(table[begin[k] : begin[k] + sizes[k]], fill[k])
                x = numbers[np.where(missing, sizes[k], x).astype(np.int64)]
            else:
                x[missing] = fill[k]
            value += self.coef[k] * x
            gone |= missing
        right = ~(value <= self.threshold)
        if gone_right is not None:
            right = np.where(gone, gone_right, right & (not alone))
        return np.asarray(right)


class RowQuestion(Protocol):
    """What can be asked about the rows of a node. Small, and no more than numbers."""

    def of(self, problem: Problem, rows: Int32Array) -> Any:
        """Answer for some rows of a problem.

        Parameters
        ----------
        problem : Problem
            The rows of a part.
        rows : ndarray of int32
            Which of them have come to the node; none, it may be.

        Returns
        -------
        object
            The answer of these rows.
        """

    def joined(self, answers: Sequence[Any]) -> Any:
        """Join the answers of several parts, in whatever order they come.

        Parameters
        ----------
        answers : sequence
            Answers, joined ones among them or not.

        Returns
        -------
        object
            What the rows of all these parts answer together.
        """


class AddsInPlace(RowQuestion, Protocol):
    """A question whose answer is large, so that more rows are added to it where it stands."""

    def more(self, found: Any, problem: Problem, rows: Int32Array) -> Any:
        """Add what some more rows answer.

        Parameters
        ----------
        found : object
            What others have answered. It is changed.
        problem : Problem
            The rows of a part.
        rows : ndarray of int32
            Which of them have come to the node.

        Returns
        -------
        object
            What all of them answer together.
        """


def added(question: RowQuestion, found: Any, problem: Problem, rows: Int32Array) -> Any:
    """Add what some more rows answer, where it stands if the question can do that."""
    more = getattr(question, "more", None)  # asked very often, and isinstance() is slow here
    if more is not None:
        return more(found, problem, rows)
    return question.joined([found, question.of(problem, rows)])


Questions: TypeAlias = Mapping[int, Sequence[RowQuestion]]  # by node
Answers: TypeAlias = dict[int, list[Any]]  # one for each question
Splits: TypeAlias = Mapping[int, Hyperplane]  # of all nodes that are divided


@runtime_checkable
class RowSource(Protocol):
    """Rows, wherever they are."""

    @property
    def outline(self) -> Problem:
        """All that a problem says, without its rows."""

    def ask(self, questions: Questions, splits: Splits) -> Answers:
        """Pass over the rows once, and answer the questions about the rows of some nodes.

        Parameters
        ----------
        questions : mapping of int to sequence of RowQuestion
            What is asked about which node.
        splits : mapping of int to Hyperplane
            The splits of the nodes that are divided so far.

        Returns
        -------
        dict of int to list
            The answers.
        """


@runtime_checkable
class AddingSource(RowSource, Protocol):
    """Rows that can add their answers to those of others, where these stand."""

    def add(self, answers: Answers, questions: Questions, splits: Splits) -> Answers:
        """Return the answers of others together with those of these rows.

        Parameters
        ----------
        answers : dict of int to list
            What others have answered. It may be changed.
        questions : mapping of int to sequence of RowQuestion
            What is asked about which node.
        splits : mapping of int to Hyperplane
            The splits so far.

        Returns
        -------
        dict of int to list
            The answers.
        """
