"""The pieces of a table as sources of rows, and how much of them is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from obliqua.data.problem import Problem
from obliqua.data.row_source import Answers, Questions, Splits
from obliqua.engine.grow_from import AtOnce
from obliqua.engine.parts import NodesOfRows, RowsInMemory
from obliqua.sources.division import PartDivision
from obliqua.sources.pieces import MOST_BITS, Piece, fingerprint
from obliqua.sources.survey import TablePart, TableRecipe
from obliqua.sources.tables import BYTES_OF_PAGES, LargeTable

__all__ = ["MemoryPlan", "PartRowsElsewhere", "bytes_of"]

#: What a fit takes above what imports take, if nothing else is said.
USUAL_LIMIT = 512 << 20
LEAST_LIMIT = 16 << 20
MOST_LIMIT = 1 << 50  # more than machines have, and numbers of rows stay small enough
ANSWERS_OF_TASKS = 5  # of tasks that are done, at one worker
BYTES_OF_NODE = (1, 2)  # that a row has come to: of 256 nodes, or of more
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


def bytes_of(limit: Any) -> int:
    """Return a limit of memory as a number of bytes; refuse what is none."""
    if limit is None:
        return USUAL_LIMIT
    number, unit = limit, ""
    if isinstance(limit, str):
        text = limit.strip().replace(" ", "")
        unit = text.lstrip("0123456789.").upper()
        number = text[: len(text) - len(unit)]
    try:
        found = int(float(number) * _UNITS[unit])
    except (KeyError, TypeError, ValueError, OverflowError):
        found = -1
    if found < LEAST_LIMIT:
        raise ValueError(
            f"memory_limit is a number of bytes, at least {LEAST_LIMIT:,}, or a text such as "
            f"'2GB'; got {limit!r}."
        )
    return min(found, MOST_LIMIT)


@dataclass(frozen=True)
class MemoryPlan:
    """How a limit of memory is shared out.

    Parameters
    ----------
    limit : int
        Bytes in all, without what readers hold.
    n_threads : int
        Threads that read.
    n_features : int
        Columns of the table.
    n_sums : int, default=2
        Sums of a node.
    itemsize : int, default=8
        Bytes of a number.
    reading : int, default=0
        Bytes that readers hold.
    waiting : int, default=0
        Answers that wait to be joined, beside those of threads.
    """

    limit: int
    n_threads: int
    n_features: int
    n_sums: int = 2
    itemsize: int = 8
    reading: int = 0
    waiting: int = 0

    @property
    def row(self) -> int:
        """Bytes of a row, with what is learnt from it and its weight."""
        return self.itemsize * self.n_features + 24

    @classmethod
    def of(cls, limit: int, n_threads: int, table: LargeTable) -> MemoryPlan:
        """Return the plan for a table whose readers need memory of their own.

        Of Parquet files no more threads read than half of the limit holds readers.
        """
        reading = table.reading or table.n_features * BYTES_OF_PAGES
        if table.reading:
            n_threads = max(min(n_threads, limit // 2 // table.reading), 1)
        reading *= n_threads
        left = max(limit - reading, limit // 4)
        waiting = 0 if table.run is None else ANSWERS_OF_TASKS
        return cls(left, n_threads, table.n_features, reading=reading, waiting=waiting)

    @property
    def batch_rows(self) -> int:
        """Rows that a thread reads at a time: as they are read, encoded, and looked at."""
        return max(self.limit // (16 * self.n_threads * self.row), 256)

    @property
    def kept(self) -> int:
        """Bytes of encoded rows that stay in memory from pass to pass."""
        return self.limit // 4

    @property
    def at_once(self) -> AtOnce:
        """What a pass may ask for. Each thread has answers, and so has who joins them."""
        # A node may wait for two histograms, along axes and along other lines.
        answers = self.n_threads + 3 + self.waiting
        bins = self.limit // (4 * answers * (8 * self.n_sums + 24))
        return AtOnce(bins=max(bins, 4096), rows=max(self.limit // (4 * 8 * self.row), 256))

    def bytes_of_node(self, n_rows: int) -> int:
        """Return how many bytes memory holds of which node each row has come to."""
        return max((b for b in BYTES_OF_NODE if n_rows * b <= self.limit // 8), default=0)

    def fits(self, n_rows: int) -> bool:
        """Say whether a tree of so many rows can be grown in memory as ever."""
        return n_rows * self.row <= self.limit // 8


class PartRowsElsewhere:
    """A piece of a table as a source of rows: read, encoded and forgotten in each pass.

    Parameters
    ----------
    part : TablePart
        The piece.
    recipe : TableRecipe
        How its rows are encoded.
    keep : bool
        Whether its rows stay in memory once they were read.
    division : PartDivision or None
        Which rows are held out; None: all rows are meant.
    held : bool
        Whether those are meant, or the others.
    """

    def __init__(
        self,
        part: TablePart,
        recipe: TableRecipe,
        keep: bool = False,
        division: PartDivision | None = None,
        held: bool = False,
    ) -> None:
        self.part = part
        self.recipe = recipe
        self.keep = keep
        self.division = division
        self.held = held
        self.remember = max(BYTES_OF_NODE)  # of the node that a row has come to; 0: nothing
        self._kept: RowsInMemory | None = None
        self._known: dict[tuple[int, int], NodesOfRows] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.part, self.recipe, self.keep, self.division, self.held)

    @property
    def outline(self) -> Problem:
        """All that a problem says, without its rows."""
        return self.recipe.outline

    @property
    def piece(self) -> Piece:
        """Where its rows are."""
        return self.part.piece

    def with_piece(self, piece: Piece) -> PartRowsElsewhere:
        """Return the same part with its rows elsewhere; nothing of them is kept."""
        part = self.part.with_piece(piece)
        moved = PartRowsElsewhere(part, self.recipe, False, self.division, self.held)
        moved.remember = 0
        return moved

    def forget(self) -> None:
        """Keep no rows in memory any more, nor what is known of them."""
        self._kept = None
        self._known = {}

    def problems(self) -> Iterator[Problem]:
        """Read the rows again, and encode them."""
        n_rows = n_encoded = seen = 0
        number = self.part.number
        expected, known = self.recipe.rows.get(number, 0), self.recipe.prints.get(number)
        for batch in self.part.batches():
            n_rows += batch.n_rows
            if known is not None:
                seen += fingerprint(batch, self.outline.n_features)
            try:
                problem = self.recipe.problem(batch)
            except (ValueError, TypeError) as error:
                raise self.part.named(error, n_rows - batch.n_rows) from error
            first, n_encoded = n_encoded, n_encoded + problem.n_rows
            if self.division is not None:
                problem = self.division.side(problem, first, self.held)
            yield problem
        if n_rows != expected:
            raise ValueError(
                f"{self.part.piece.name} has {n_rows} rows in this pass and had {expected} in the "
                "first. Rows must stay the same until the fit has ended."
            )
        if known is not None and seen & MOST_BITS != known:
            raise ValueError(
                f"{self.part.piece.name} has other values in this pass than in the first. Rows "
                "must stay the same until the fit has ended: write them to files, or persist them."
            )

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
        return self._answers(None, questions, splits)

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
        return self._answers(answers, questions, splits)

    def _answers(self, answers: Answers | None, questions: Questions, splits: Splits) -> Answers:
        """Add answers to those of others, if there are any."""
        if self.keep and self._kept is None:
            problems = list(self.problems()) or [self.outline]
            whole = problems[0] if len(problems) == 1 else Problem.stack(problems)
            self._kept = RowsInMemory(whole)
        for rows in self._read() if self._kept is None else [self._kept]:
            if answers is None:
                answers = rows.ask(questions, splits)
            else:
                answers = rows.add(answers, questions, splits)
        return RowsInMemory(self.outline).ask(questions, splits) if answers is None else answers

    def _read(self) -> Iterator[RowsInMemory]:
        """Read the rows again, and remember from pass to pass which nodes they have come to."""
        first = 0
        known, self._known = self._known, {}
        for problem in self.problems():
            place = first, problem.n_rows  # batches may be others in another pass
            above = known.pop(place, None)
            rows = RowsInMemory(problem, above)
            yield rows
            found = rows.known() if self.remember else None
            if found is None or found.number.itemsize > self.remember:
                found = above  # rows go on from there
            if found is not None:
                self._known[place] = found
            first += problem.n_rows
