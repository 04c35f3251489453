"""Rows in one memory, and in parts: both answer what the engine asks of rows.

A part is a source itself, as a rule of rows in this memory. `RowsInParts` sends the questions of
a pass to each of its parts, by whatever means it was given, and joins the answers. What travels
are questions, splits and answers; rows do only where a few of them are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._core.search.part_rows import PartRows
from obliqua._typing import Int32Array
from obliqua.data.problem import Problem
from obliqua.data.row_source import Answers, Questions, RowSource, Splits
from obliqua.engine.lines import Lines

__all__ = ["OnePass", "RowsInMemory", "RowsInParts"]

ROOT = 1
ANSWERS_AT_ONCE = 8  # that wait to be joined: histograms of many parts would not fit in memory


class RowsInMemory:
    """A problem as a source of rows.

    It remembers which rows have come to which node, for as long as it is told the same splits:
    those of one growing tree. Other ones make it start from all rows again.

    Parameters
    ----------
    problem : Problem
        The rows.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._splits: Splits = {}
        self._rows: dict[int, Int32Array] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # The rows alone travel, without what was found out about them.
        return type(self), (replace(self.problem),)

    @property
    def outline(self) -> Problem:
        """All that a problem says, without its rows."""
        return self.problem.take(np.empty(0, dtype=np.int32))

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
        if splits is not self._splits:
            self._splits, self._rows = splits, {}
        return {
            node: [question.of(self.problem, self._rows_of(node)) for question in asked]
            for node, asked in questions.items()
        }

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
                right = looking.divide(split.threshold).astype(bool)
            else:
                right = split.coded_right(self.problem, rows)
            self._rows[2 * above], self._rows[2 * above + 1] = rows[~right], rows[right]
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
