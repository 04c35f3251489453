"""Rows in one memory, and in parts: both answer what the engine asks of rows.

A part is a source itself, as a rule of rows in this memory. `RowsInParts` sends the questions of
a pass to each of its parts, by whatever means it was given, and joins the answers. What travels
are questions, splits and answers; rows do only where a few of them are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from obliqua._core.search.part_rows import PartRows
from obliqua._typing import AnyArray, Int32Array
from obliqua.data.problem import Problem
from obliqua.data.row_source import (
    AddingSource,
    Answers,
    Questions,
    RowSource,
    Splits,
    added,
)
from obliqua.engine.lines import Lines

__all__ = ["NodesOfRows", "OnePass", "RowsInMemory", "RowsInParts"]

ROOT = 1
MOST_NODES = 1 << 16  # that are told apart by two bytes
ANSWERS_AT_ONCE = 8  # that wait to be joined: histograms of many parts would not fit in memory


class NodesOfRows(NamedTuple):
    """Which nodes some rows have come to, in a byte or two for each row."""

    splits: Splits
    nodes: list[int]
    number: AnyArray  # in that list, of the node of each row

    @classmethod
    def of(cls, splits: Splits, rows: Mapping[int, Int32Array], n_rows: int) -> NodesOfRows | None:
        """Note the rows of nodes; None if there are too many nodes."""
        if len(rows) > MOST_NODES:
            return None
        number = np.empty(n_rows, np.uint8 if len(rows) <= 256 else np.uint16)
        for k, some in enumerate(rows.values()):
            number[some] = k
        return cls(splits, list(rows), number)

    def rows(self) -> dict[int, Int32Array]:
        """Return the rows of each node."""
        order = np.argsort(self.number, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(self.number, minlength=len(self.nodes)))
        return dict(zip(self.nodes, np.split(order, ends[:-1]), strict=True))


class RowsInMemory:
    """A problem as a source of rows.

    It remembers which rows have come to which node, for as long as it is told the same splits:
    those of one growing tree. Other ones make it start from all rows again.

    Parameters
    ----------
    problem : Problem
        The rows.
    known : NodesOfRows or None
        What was found out about these rows when they were last in memory.
    """

    def __init__(self, problem: Problem, known: NodesOfRows | None = None) -> None:
        self.problem = problem
        self._known = known
        self._splits: Splits = {} if known is None else known.splits
        self._rows: dict[int, Int32Array] = {} if known is None else known.rows()

    def __reduce__(self) -> tuple[Any, ...]:
        # The rows alone travel, without what was found out about them.
        return type(self), (replace(self.problem),)

    @property
    def outline(self) -> Problem:
        """All that a problem says, without its rows."""
        return self.problem.take(np.empty(0, dtype=np.int32))

    def known(self) -> NodesOfRows | None:
        """Return what is known of where rows have come to."""
        if not self._rows or ROOT in self._rows:
            return None  # that is found out again in no time
        if self._known is None or self._known.nodes != list(self._rows):
            self._known = NodesOfRows.of(self._splits, self._rows, self.problem.n_rows)
        return self._known

    def ask(self, questions: Questions, splits: Splits) -> Answers:
        """Pass over the rows once, and answer the questions about the rows of some nodes.

        Parameters
        ----------
        questions : mapping of int to sequence of RowQuestion
            What is asked about which node.
        splits : mapping of int to Hyperplane
            The splits so far.

        Returns
        -------
        dict of int to list
            The answers.
        """
        self._go_on(splits)
        return {
            node: [question.of(self.problem, self._rows_of(node)) for question in asked]
            for node, asked in questions.items()
        }

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
        self._go_on(splits)
        for node, asked in questions.items():
            found, rows = answers[node], self._rows_of(node)
            for k, question in enumerate(asked):
                found[k] = added(question, found[k], self.problem, rows)
        return answers

    def _go_on(self, splits: Splits) -> None:
        """Forget where rows have come to, if it is another tree that grows."""
        if splits is not self._splits:
            self._splits, self._rows, self._known = splits, {}, None

    def _rows_of(self, node: int) -> Int32Array:
        """Return which rows have come to a node."""
        way = [node]
        while way[-1] not in self._rows and way[-1] != ROOT:
            way.append(way[-1] >> 1)
        above = way.pop()
        if above not in self._rows:
            self._rows[ROOT] = np.arange(self.problem.n_rows, dtype=np.int32)
        for child in reversed(way):
            rows = self._rows.pop(above)
            split = self._splits[above]
            if split.coding is None:
                plane = Lines.of_planes([(split.idx, split.coef)])
                looking = PartRows(self.problem.Z, rows, self.problem.target_rows, plane)
                sides = looking.divided(split.threshold)
            else:
                right = split.coded_right(self.problem, rows)
                sides = rows[~right], rows[right]
            self._rows[2 * above], self._rows[2 * above + 1] = sides
            above = child
        return self._rows[above]


@dataclass(frozen=True, eq=False)
class OnePass:
    """What is asked in one pass over the rows: a function of a part, and how answers are joined.

    Parameters
    ----------
    questions : mapping of int to sequence of RowQuestion
        What is asked about which node.
    splits : mapping of int to Hyperplane
        The splits so far.
    """

    questions: Questions
    splits: Splits

    def __call__(self, part: RowSource) -> Answers:
        """Return what a part answers."""
        return part.ask(self.questions, self.splits)

    def more(self, answers: Answers, part: RowSource) -> Answers:
        """Return answers together with those of one more part.

        Parameters
        ----------
        answers : dict of int to list
            What others have answered. It may be changed.
        part : RowSource
            The part.

        Returns
        -------
        dict of int to list
            What they answer together.
        """
        if isinstance(part, AddingSource):
            return part.add(answers, self.questions, self.splits)
        return self.joined([answers, self(part)])

    def joined(self, answers: Sequence[Answers]) -> Answers:
        """Join the answers of some parts; some may be joined before all are there.

        Parameters
        ----------
        answers : sequence of dict
            What the parts have answered.

        Returns
        -------
        dict of int to list
            What they answer together.
        """
        return {
            node: [
                question.joined([answer[node][k] for answer in answers])
                for k, question in enumerate(asked)
            ]
            for node, asked in self.questions.items()
        }


class RowsInParts:
    """Rows that lie in parts.

    Parameters
    ----------
    parts : sequence of Problem or RowSource
        The parts. What is learnt must be encoded for all rows together, so that weights and
        numbers stand on the same grid.
    run : callable, default=map
        ``run(one_pass, parts)`` returns what `one_pass` gives for each part, in any order. It may
        join some answers with ``one_pass.joined`` on the way. One after another if left out.
    """

    def __init__(
        self,
        parts: Sequence[Problem | RowSource],
        run: Callable[[OnePass, Sequence[RowSource]], Iterable[Answers]] = map,
    ) -> None:
        self._parts: list[RowSource] = [
            RowsInMemory(part) if isinstance(part, Problem) else part for part in parts
        ]
        self._run = run
        outlines = [part.outline for part in self._parts]
        _check_alike(outlines)
        self._outline = outlines[0]

    @property
    def outline(self) -> Problem:
        """All that a problem says, without its rows."""
        return self._outline

    def ask(self, questions: Questions, splits: Splits) -> Answers:
        """Pass over the rows of all parts once, and answer the questions about some nodes.

        Parameters
        ----------
        questions : mapping of int to sequence of RowQuestion
            What is asked about which node.
        splits : mapping of int to Hyperplane
            The splits so far.

        Returns
        -------
        dict of int to list
            The answers.
        """
        one_pass = OnePass(questions, splits)
        held: list[Answers] = []
        for answers in self._run(one_pass, self._parts):
            held.append(answers)
            if len(held) == ANSWERS_AT_ONCE:
                held = [one_pass.joined(held)]
        return one_pass.joined(held)


def _check_alike(outlines: Sequence[Problem]) -> None:
    """Refuse parts whose answers cannot be added."""
    if not outlines:
        raise ValueError("Rows in parts need a part at least; got none. Give a list of problems.")

    def different(of: Callable[[Problem], Any]) -> list[Any]:
        return sorted({of(outline) for outline in outlines})

    together = "Encode all rows together, then divide them into parts."
    units = different(lambda part: part.unit)
    if len(units) > 1:
        raise ValueError(
            f"All parts must count weights in the same unit; got {units}. Encode the weights of "
            "all rows together, then divide the rows into parts."
        )
    if len({outline.target.measure for outline in outlines}) > 1:
        raise ValueError(f"All parts must have numbers on the same grid; got several. {together}")
    shapes = different(lambda part: (part.n_features, len(part.counts)))
    if len(shapes) > 1:
        said = " and ".join(f"{p} columns with {k} sums" for p, k in shapes)
        raise ValueError(
            f"All parts must have the same columns and classes; got {said}. {together}"
        )
    if len(different(lambda part: part.weights is None)) > 1:
        raise ValueError(f"All parts must have weights, or none; got both. {together}")
