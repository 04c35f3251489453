"""What must be known of all rows before a tree can grow: levels, classes, ranges, weights.

Each look is a pass over the pieces of a table. What it finds is the same as if all rows were in
one memory, whatever the pieces and their order. At the end stands a `TableRecipe`, with which any
batch of rows becomes a `Problem`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.encoding import QUALITATIVE, Column, Encoding
from obliqua.data.number_targets import measured_by
from obliqua.data.problem import FILLS, Problem, check_weighted_squares, checked_numbers
from obliqua.data.rare_levels import FEW_LEVELS, in_steps, pooled_column
from obliqua.data.table import (
    MAX_ROWS,
    codes_of_levels,
    is_missing,
    level_order,
    qualitative_places,
    to_levels,
    to_numbers,
)
from obliqua.data.target import Classes, Numbers
from obliqua.data.weights import checked_weights
from obliqua.errors import ObliquaError
from obliqua.sources.pieces import MOST_BITS, Batch, Piece, fingerprint
from obliqua.sources.running import PartPass, PassRunner, Stopped, check_stopped
from obliqua.sources.tables import LargeTable
from obliqua.sources.weights import (
    STEPS_AT_ONCE,
    ExactSum,
    GivenWeights,
    WeightGrid,
    WeightSums,
    exact_sum,
    rounded_sums,
)

__all__ = ["Learning", "PartLook", "TablePart", "TableRecipe", "asked", "kept_rows", "survey"]

ROW = re.compile(r"\bin row (\d+),")
NOT_CHOSEN = "and is not among categorical_features. Add it there, or write it as numbers."


@dataclass(frozen=True)
class TablePart:
    """A piece of a table with its number, and how many of its rows are read at a time."""

    number: int
    piece: Piece
    most_rows: int

    def batches(self) -> Iterator[Batch]:
        """Read the rows again; what goes wrong is told with the name of the piece."""
        try:
            for batch in self.piece.batches(self.most_rows):
                check_stopped()
                yield batch
        except (FileNotFoundError, MemoryError, ObliquaError, Stopped):
            raise
        except Exception as error:  # who reads has errors of his own
            raise self.named(error) from error

    def with_piece(self, piece: Piece) -> TablePart:
        """Return the same part with its rows elsewhere."""
        return replace(self, piece=piece)

    def named(self, error: Exception, first: int = 0) -> Exception:
        """Return an error that names the piece, and its row where it names one of a batch.

        `first`: how many rows of the piece came before the batch.
        """
        name, text = self.piece.name, " ".join(str(error).split())
        if text.startswith(name):
            return error
        text = ROW.sub(lambda found: f"in {self.piece.row(first + int(found[1]))},", text)
        kind = TypeError if isinstance(error, TypeError) else ValueError
        return kind(f"{name}: {text}")


@dataclass(frozen=True)
class Learning:
    """What is learnt from a table.

    Parameters
    ----------
    numbers : bool
        Whether numbers are learnt; else classes.
    check : callable
        Refuses labels, or numbers, that cannot be learnt.
    weights_of_classes : callable or None
        From classes and what their rows weigh to the weight of each; None: they have none.
    label_types : callable
        Refuses labels of a type that classes cannot have.
    criterion : Criterion or None
        By which numbers are compared.
    fill : str
        What becomes of missing numbers.
    missing : bool
        Whether values may be missing, and columns qualitative.
    categorical_features : object
        Which columns are qualitative.
    pools_levels : bool
        Whether rare levels may count as one.
    """

    numbers: bool
    check: Callable[[Any], None]
    weights_of_classes: Callable[[AnyArray, AnyArray], FloatArray | None] | None = None
    label_types: Callable[[AnyArray], AnyArray] | None = None
    criterion: Criterion | None = None
    fill: str = "side"
    missing: bool = True
    categorical_features: Any = "from_dtype"
    pools_levels: bool = True


class PartLook:
    """A pass in which each batch answers, and answers are joined."""

    def __call__(self, part: TablePart) -> Any:
        """Return what a piece answers."""
        found = None
        first = 0
        for batch in part.batches():
            try:
                answer = self.of(batch, part)
            except (ValueError, TypeError) as error:
                error_of_row = _with_row(error, batch, part.piece, first)
                raise part.named(error_of_row, first) from error
            first += batch.n_rows
            found = answer if found is None else self.joined([found, answer])
        return found

    def of(self, batch: Batch, part: TablePart) -> Any:
        """Return what some rows answer."""
        raise NotImplementedError

    def joined(self, answers: Sequence[Any]) -> Any:
        """Join answers; pieces without rows have none."""
        found = [answer for answer in answers if answer is not None]
        return self._joined(found) if found else None

    def _joined(self, answers: Sequence[Any]) -> Any:
        raise NotImplementedError


def _with_row(error: Exception, batch: Batch, piece: Piece, first: int) -> Exception:
    """Return an error about labels or weights with the row, counted in the piece; or itself."""
    learnt, weights = batch.learnt, batch.weights
    if learnt is not None and learnt.ndim == 1 and learnt.dtype.kind in "Of":
        missing = np.array([is_missing(value) for value in learnt.tolist()], bool)
        if missing.any():
            row = piece.row(first + int(np.argmax(missing)))
            return ValueError(
                f"y has no value in {row}, counted from 0. Leave such rows out, or give them a "
                "value of their own."
            )
    if learnt is not None and learnt.dtype.kind == "f":
        bad = ~np.isfinite(learnt.reshape(len(learnt), -1)).all(axis=1)
        if bad.any():
            place = int(np.argmax(bad))
            return ValueError(
                f"y must be finite; got {learnt[place].tolist()} in {piece.row(first + place)}, "
                "counted from 0. Leave such rows out."
            )
    if weights is not None and weights.dtype.kind in "biuf":
        bad = ~np.isfinite(weights) | (weights < 0)
        if bad.any():
            place = int(np.argmax(bad))
            return ValueError(
                f"sample_weight must be finite and not negative; got {weights[place]} in "
                f"{piece.row(first + place)}, counted from 0. Use 0 to leave something out."
            )
    return error


def asked(run: PassRunner, look: PartPass, parts: Sequence[Any]) -> Any:
    """Pass over all pieces, and join what they answer."""
    held: list[Any] = []
    for answer in run(look, parts):
        held.append(answer)
        if len(held) > 1:
            held = [look.joined(held)]
    return look.joined(held)


# --- looks ---------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What the first look has found."""

    rows: dict[int, int]  # by number of the piece
    missing: BoolArray
    levels: dict[int, set[Any]]
    labels: AnyArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    largest: float = 0.0  # weight
    prints: dict[int, int] = field(default_factory=dict)  # of pieces that nobody watches

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.rows.values())


@dataclass(frozen=True, eq=False)
class FirstLook(PartLook):
    """Counts rows, and finds levels, labels, ranges and the largest weight."""

    n_features: int
    names: tuple[str, ...] | None
    learning: Learning
    qualitative: frozenset[int]

    def of(self, batch: Batch, part: TablePart) -> Seen:
        """Return what some rows answer."""
        weights = _weights(batch)
        seen = Seen({part.number: batch.n_rows}, np.zeros(self.n_features, bool), {})
        self._look_at_features(batch, seen)
        if not part.piece.watched:
            seen.prints[part.number] = fingerprint(batch, self.n_features)
        present = np.ones(batch.n_rows, bool) if weights is None else weights > 0
        if weights is not None:
            seen.largest = float(weights.max(initial=0.0))
        self.learning.check(batch.learnt)
        if not self.learning.numbers:
            seen.labels = np.unique(_labels(batch))
        else:
            numbers = checked_numbers(batch.learnt, batch.n_rows)[present]
            if len(numbers):
                seen.low, seen.high = numbers.min(axis=0), numbers.max(axis=0)
        return seen

    def _look_at_features(self, batch: Batch, seen: Seen) -> None:
        for place in range(self.n_features):
            name = f"Column {place if self.names is None else self.names[place]!r}"
            if place in self.qualitative:
                codes, levels = to_levels(batch.feature(place))
                seen.missing[place] = bool((codes < 0).any())
                seen.levels[place] = set(levels)
                continue
            values = numbers_of(batch, place)
            # Looking at each value takes longer than adding them up.
            with np.errstate(over="ignore", invalid="ignore"):
                finite = bool(np.isfinite(values.sum(dtype=np.float64)))
            if not finite and np.isinf(values).any():
                raise ValueError(f"{name} contains infinity. Remove or replace it.")
            if not finite:
                seen.missing[place] = bool(np.isnan(values).any())
            if seen.missing[place] and not self.learning.missing:
                raise ValueError(
                    f"{name} has missing values, and this method takes none. Fill them in, or "
                    "leave such rows out."
                )

    def _joined(self, answers: Sequence[Seen]) -> Seen:
        rows: dict[int, int] = {}
        prints: dict[int, int] = {}
        levels: dict[int, set[Any]] = {}
        for one in answers:
            for number, count in one.rows.items():
                rows[number] = rows.get(number, 0) + count
            for number, bits in one.prints.items():
                prints[number] = (prints.get(number, 0) + bits) & MOST_BITS
            for place, some in one.levels.items():
                levels.setdefault(place, set()).update(some)
        labels = [one.labels for one in answers if one.labels is not None]
        ranges: list[Any] = [(one.low, one.high) for one in answers if one.low is not None]
        low = high = None
        if ranges:
            low = np.min([pair[0] for pair in ranges], axis=0)
            high = np.max([pair[1] for pair in ranges], axis=0)
        return Seen(
            rows,
            np.any([one.missing for one in answers], axis=0),
            levels,
            _distinct(labels) if labels else None,
            low,
            high,
            max(one.largest for one in answers),
            prints,
        )


def _labels(batch: Batch) -> AnyArray:
    """Return the labels of some rows, one for each."""
    learnt = batch.learnt
    shape = None if learnt is None else learnt.shape
    if learnt is None or learnt.ndim != 1:
        raise ValueError(
            f"y must hold one label per row of X; got shape {shape} for {batch.n_rows} rows. A "
            "classifier learns one column."
        )
    return learnt


def _distinct(labels: list[AnyArray]) -> AnyArray:
    try:
        return np.unique(np.concatenate(labels))
    except TypeError as error:
        by_type = {type(label): label for some in labels for label in some.tolist()}
        examples = " and ".join(sorted(map(repr, by_type.values())))
        raise ValueError(
            f"y mixes text and numbers in different pieces of the table, such as {examples}. "
            "Write all labels in one way."
        ) from error


def numbers_of(batch: Batch, place: int) -> AnyArray:
    """Return a column of numbers."""
    matrix = batch.matrix
    if matrix is not None and matrix.dtype.kind in "biuf":
        return matrix[:, place]
    column = batch.feature(place)
    if column.categories is None and column.values.dtype.kind in "biuf":
        return column.values
    return to_numbers(column, NOT_CHOSEN)


def _weights(batch: Batch) -> FloatArray | None:
    given = batch.weights
    if given is None:
        return None
    return checked_weights(given, batch.n_rows, "sample_weight", "row")


@dataclass(frozen=True, eq=False)
class ClassLook(PartLook):
    """Finds what the rows of each class weigh, and the heaviest of each."""

    classes: AnyArray
    largest: float

    def of(self, batch: Batch, part: TablePart) -> tuple[Int64Array, list[int], FloatArray]:
        """Return what some rows answer."""
        codes, weights = codes_of(batch.learnt, self.classes), _weights(batch)
        n = len(self.classes)
        rows = np.bincount(codes, minlength=n)
        if weights is None:
            return rows, [], np.ones(n)
        most = np.zeros(n)
        np.maximum.at(most, codes, weights)
        share = weights / (self.largest or 1.0)
        return rows, [exact_sum(share[codes == k]) for k in range(n)], most

    def _joined(self, answers: Sequence[Any]) -> Any:
        rows, sums, most = zip(*answers, strict=True)
        return (
            np.sum(rows, axis=0),
            [sum(column) for column in zip(*sums, strict=True)],
            np.max(most, axis=0),
        )


@dataclass(frozen=True, eq=False)
class WeightLook(PartLook):
    """Finds what the grid of weights depends on; with `first`, sums for several grids."""

    classes: AnyArray | None
    given: GivenWeights
    first: int | None = None

    def of(self, batch: Batch, part: TablePart) -> Any:
        """Return what some rows answer."""
        weights, _, near = _kept_weights(batch, self.classes, self.given)
        if self.first is not None:
            return rounded_sums(near, self.first)
        return WeightSums.of(near, weights, self.given.largest)

    def _joined(self, answers: Sequence[Any]) -> Any:
        if self.first is None:
            return WeightSums.joined(answers)
        return [sum(column) for column in zip(*answers, strict=True)]


def _kept_weights(
    batch: Batch, classes: AnyArray | None, given: GivenWeights
) -> tuple[FloatArray | None, BoolArray, FloatArray]:
    """Return the weights of rows that count, which ones these are, and weights near 1."""
    codes = None if classes is None else codes_of(batch.learnt, classes)
    weights = _weights(batch)
    kept = given.kept(weights, codes, batch.n_rows)
    weights = None if weights is None else weights[kept]
    codes = None if codes is None else codes[kept]
    return weights, kept, given.near_one(weights, codes, int(kept.sum()))


def kept_rows(batch: Batch, recipe: TableRecipe) -> BoolArray:
    """Say which rows of a batch count."""
    if recipe.grid is None:
        return np.ones(batch.n_rows, dtype=bool)
    return _kept_weights(batch, recipe.classes, recipe.grid.given)[1]


@dataclass(frozen=True, eq=False)
class LevelLook(PartLook):
    """Counts the rows of levels, and finds what rows that count have; and whether rows divide."""

    recipe: TableRecipe
    present: WeightGrid | None = None  # of rows alone, by which they are counted; None: as one

    def of(self, batch: Batch, part: TablePart) -> Any:
        """Return what some rows answer."""
        recipe = self.recipe
        n_features = recipe.encoding.n_columns
        weights, kept = _weights(batch), np.ones(batch.n_rows, bool)
        as_rows, divisible = np.ones(batch.n_rows), True
        if recipe.grid is not None:
            given, kept, near = _kept_weights(batch, recipe.classes, recipe.grid.given)
            units = recipe.grid.units(near)
            counts = recipe.grid.row_counts(given, len(near))
            if units is not None and counts is not None:
                divisible = not (units % counts).any()
        if weights is not None and self.present is not None:
            as_rows = np.zeros(batch.n_rows)
            as_rows[weights > 0] = self.present.row_weights(
                weights[weights > 0], int((weights > 0).sum())
            )
        steps = np.zeros(batch.n_rows)
        steps[as_rows > 0] = in_steps(as_rows[as_rows > 0])
        rows: dict[int, AnyArray] = {}
        used: dict[int, BoolArray] = {}
        missing = np.zeros(n_features, bool)
        for place, column in enumerate(recipe.encoding.columns):
            if column.kind == QUALITATIVE:
                codes = codes_of_levels(batch.feature(place), column)
                there = ~np.isnan(codes)
                whole = codes[there].astype(np.int64)
                rows[place] = np.bincount(whole, steps[there], len(column.levels))
                used[place] = np.bincount(whole, kept[there], len(column.levels)) > 0
                missing[place] = bool((~there & kept).any())
            elif recipe.has_missing[place]:
                missing[place] = bool(np.isnan(numbers_of(batch, place)[kept]).any())
        return rows, used, missing, divisible

    def _joined(self, answers: Sequence[Any]) -> Any:
        rows, used, missing, divisible = zip(*answers, strict=True)
        return (
            {place: np.sum([one[place] for one in rows], axis=0) for place in rows[0]},
            {place: np.any([one[place] for one in used], axis=0) for place in used[0]},
            np.any(missing, axis=0),
            all(divisible),
        )


FEW_CLASSES = 8


def codes_of(labels: Any, classes: AnyArray) -> Int32Array:
    """Return the numbers of classes."""
    if len(classes) <= FEW_CLASSES and np.asarray(labels).dtype.kind in "biu":
        # A comparison with each is quicker than a search.
        found, n_found = np.zeros(len(labels), dtype=np.int32), 0
        for k, value in enumerate(classes):
            same = labels == value
            n_found += int(np.count_nonzero(same))
            found += np.int32(k) * same
        if n_found == len(labels):
            return found
    codes = np.searchsorted(classes, labels)
    codes = np.minimum(codes, len(classes) - 1)
    if not (classes[codes] == labels).all():
        raise ValueError("there are labels that were not there in the first pass over the rows.")
    return codes.astype(np.int32)


# --- the recipe ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TableRecipe:
    """How a batch of rows becomes a problem.

    Parameters
    ----------
    outline : Problem
        All that a problem says, without its rows.
    classes : ndarray or None
        The labels; None if numbers are learnt.
    grid : WeightGrid or None
        How weights become grid units; None if there are none.
    """

    outline: Problem
    classes: AnyArray | None
    grid: WeightGrid | None
    low: FloatArray | None = None
    high: FloatArray | None = None
    reach: float = 0.0
    largest: float = 0.0
    fill: str = "side"
    notes: tuple[str, ...] = ()
    rows: dict[int, int] = field(default_factory=dict)
    prints: dict[int, int] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        # What was computed from the outline stays behind.
        return vars(self) | {"outline": replace(self.outline)}

    @property
    def encoding(self) -> Encoding:
        """What the columns are."""
        return self.outline.encoding

    @property
    def has_missing(self) -> BoolArray:
        """Which columns have missing values."""
        return self.outline.has_missing

    @property
    def n_rows(self) -> int:
        """How many rows there are, those of weight 0 among them."""
        return sum(self.rows.values())

    def problem(self, batch: Batch) -> Problem:
        """Make a problem of some rows."""
        Z = self.matrix(batch)
        outline, n_rows = self.outline, batch.n_rows
        if self.grid is None:
            return replace(outline, Z=Z, target=self._target(batch, slice(None)))
        given, kept, near = _kept_weights(batch, self.classes, self.grid.given)
        n_kept = len(near)
        if n_kept < n_rows:
            Z = Z[kept]
        return replace(
            outline,
            Z=Z,
            target=self._target(batch, kept),
            weights=self.grid.units(near),
            row_counts=self.grid.row_counts(given, n_kept),
            row_weights=self.grid.row_weights(given, n_kept),
        )

    def matrix(self, batch: Batch) -> AnyArray:
        """Return the rows as a matrix of numbers and codes."""
        outline = self.outline
        dtype = outline.Z.dtype
        if batch.matrix is not None and outline.encoding.numeric and batch.matrix.dtype == dtype:
            return batch.matrix
        Z = np.empty((batch.n_rows, outline.n_features), dtype=dtype, order="F")
        for place, column in enumerate(self.encoding.columns):
            if column.kind == QUALITATIVE:
                Z[:, place] = codes_of_levels(batch.feature(place), column)
            else:
                Z[:, place] = numbers_of(batch, place)
        return Z

    def _target(self, batch: Batch, kept: Any) -> Any:
        if self.classes is not None:
            known = self.outline.target
            assert isinstance(known, Classes)
            return replace(known, codes=codes_of(batch.learnt, self.classes)[kept])
        numbers = self.outline.target
        assert isinstance(numbers, Numbers)
        assert self.low is not None
        values = checked_numbers(batch.learnt, batch.n_rows)[kept]
        values = np.ascontiguousarray(np.clip(values, self.low, self.high))
        return numbers.with_values(values)


def survey(
    table: LargeTable, parts: Sequence[TablePart], learning: Learning, run: Any
) -> TableRecipe:
    """Look at all rows of a table, and find out how to encode them."""
    qualitative = frozenset(
        qualitative_places(learning.categorical_features, table.stand_ins(), table.names)
        if learning.missing
        else ()
    )
    seen: Seen | None = asked(
        run, FirstLook(table.n_features, table.names, learning, qualitative), parts
    )
    if seen is None or seen.n_rows == 0:
        raise ValueError(f"There are no rows in {table.called}. A tree needs one at least.")
    if seen.n_rows > MAX_ROWS:
        raise ValueError(f"{table.called} has {seen.n_rows} rows; at most {MAX_ROWS} are taken.")
    columns = Encoding.identity(table.n_features, table.names).columns
    encoding = Encoding(
        tuple(
            Column(column.name, QUALITATIVE, level_order(seen.levels[place]))
            if place in qualitative
            else column
            for place, column in enumerate(columns)
        )
    )
    dtype = np.float32 if table.single and not qualitative else np.float64
    classes = seen.labels
    if classes is not None and learning.label_types is not None:
        classes = np.unique(learning.label_types(classes))
    target: Any
    reach = 0.0
    if classes is not None:
        target = Classes(np.empty(0, np.int32), len(classes))
    else:
        target, reach = _number_target(seen, learning)
    none: Any = np.empty((0, table.n_features), dtype)
    outline = Problem(none, target, None, 1.0, encoding)
    outline = replace(outline, has_missing=seen.missing)
    known = reach, seen.largest
    recipe = TableRecipe(outline, classes, None, seen.low, seen.high, *known)
    recipe = replace(recipe, rows=seen.rows, prints=seen.prints)
    recipe = _with_weights(recipe, seen, learning, parts, run)
    return _with_levels(recipe, learning, parts, run)


def _number_target(seen: Seen, learning: Learning) -> tuple[Numbers, float]:
    """Return the grid of the numbers that are learnt, without rows, and how far they reach."""
    if seen.low is None or seen.high is None:
        raise ValueError("All weights are zero, so there is nothing to grow from.")
    both = np.stack([seen.low, seen.high])
    target = Numbers.of(both, np.ones(2, bool))
    reach = target.reach
    if learning.criterion is not None:
        target = measured_by(target, learning.criterion)  # type: ignore[assignment]
    return target.take(np.empty(0, np.int64)), reach


def _with_weights(
    recipe: TableRecipe, seen: Seen, learning: Learning, parts: Sequence[TablePart], run: Any
) -> TableRecipe:
    """Find the grid of weights, if there are any."""
    weighted = any(_has_weights(part) for part in parts[:1])
    by_class, most = None, None
    classes = recipe.classes
    if classes is not None and learning.weights_of_classes is not None:
        rows, sums, most = asked(run, ClassLook(classes, seen.largest), parts)
        counts = np.array([ExactSum.rounded(total) for total in sums]) if weighted else rows
        by_class = learning.weights_of_classes(classes, counts)
        if by_class is not None:
            checked_weights(by_class, len(classes), "class_weight", "class")
    if not weighted and by_class is None:
        return recipe
    largest = seen.largest if weighted else None
    largest_class = 1.0
    if by_class is not None:
        assert most is not None
        there = (by_class > 0) & (most > 0)
        largest_class = float(by_class[there].max(initial=0.0))
        largest = float(most[there].max(initial=0.0)) if weighted else None
    if largest == 0.0 or largest_class == 0.0:
        raise ValueError(
            f"All weights are zero (of {recipe.n_rows} rows), so there is nothing to grow from. "
            "Give at least one row a positive weight."
        )
    given = GivenWeights(by_class, largest, largest_class)
    grid = _grid(given, classes, recipe.outline.target.most_weight, parts, run)
    weights = None if grid.step is None else np.empty(0, np.int64)
    counted = None if not grid.sums.counts else np.empty(0, np.int64)
    outline = replace(
        recipe.outline,
        weights=weights,
        unit=grid.unit,
        row_counts=counted,
        row_weights=np.empty(0),
        row_unit=grid.row_unit,
    )
    return replace(recipe, outline=outline, grid=grid)


def _has_weights(part: TablePart) -> bool:
    piece: Any = part.piece
    chosen = getattr(piece, "chosen", None)
    return bool(piece.w is not None if chosen is None else chosen.weight is not None)


def _grid(
    given: GivenWeights,
    classes: AnyArray | None,
    most: int,
    parts: Sequence[TablePart],
    run: PassRunner,
) -> WeightGrid:
    """Find the grid of weights."""
    sums: WeightSums = asked(run, WeightLook(classes, given), parts)
    grid = WeightGrid.exact(given, sums, most)
    step = sums.first_step(most)
    while grid is None:
        totals = asked(run, WeightLook(classes, given, step), parts)
        fitting = [k for k, total in enumerate(totals) if total <= most]
        if fitting:
            grid = WeightGrid(given, sums, step + fitting[0], None, totals[fitting[0]])
        step += STEPS_AT_ONCE
    return grid


def _with_levels(
    recipe: TableRecipe, learning: Learning, parts: Sequence[TablePart], run: PassRunner
) -> TableRecipe:
    """Let rare levels count as one, leave out what no row that counts has."""
    outline, notes = recipe.outline, []
    if learning.fill not in FILLS:
        raise ValueError(f"fill must be one of {', '.join(map(repr, FILLS))}.")
    has_missing = outline.has_missing
    if not recipe.encoding.numeric or recipe.grid is not None:
        present = None
        many = any(len(column.levels) > FEW_LEVELS for column in recipe.encoding.columns)
        if many and recipe.grid is not None and recipe.grid.given.largest is not None:
            rows_alone = GivenWeights(None, recipe.largest)
            present = replace(
                recipe.grid,
                given=rows_alone,
                sums=asked(run, WeightLook(None, rows_alone), parts),
            )
        look = LevelLook(recipe, present)
        rows, used, has_missing, divisible = asked(run, look, parts)
        columns = list(recipe.encoding.columns)
        for place, column in enumerate(columns):
            if column.kind != QUALITATIVE:
                continue
            pooled = None
            if learning.pools_levels and len(column.levels) > FEW_LEVELS:
                pooled = pooled_column(column, rows[place])
            if pooled is not None:
                column, note = pooled
                notes.append(note)
                codes = [column.code(level) for level in recipe.encoding.columns[place].levels]
                used[place] = np.bincount(codes, used[place], len(column.levels)) > 0
            levels = [lv for lv, use in zip(column.levels, used[place], strict=True) if use]
            columns[place] = replace(column, levels=tuple(levels))
        outline = replace(outline, encoding=Encoding(tuple(columns)))
        if recipe.grid is not None and not divisible:
            recipe = replace(recipe, grid=replace(recipe.grid, divisible=False))
            outline = replace(outline, row_counts=None)
    outline = replace(
        outline,
        n_levels=np.array([len(c.levels) for c in outline.encoding.columns], dtype=np.int32),
        has_missing=has_missing,
        sides=learning.fill == "side" and bool(has_missing.any()),
    )
    if learning.numbers:
        total = recipe.n_rows if recipe.grid is None else recipe.grid.total
        check_weighted_squares(total, outline.unit, recipe.reach)
    return replace(recipe, outline=outline, notes=tuple(notes), fill=learning.fill)
