"""One tree from a table elsewhere: opened, looked at, grown in passes, and pruned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import Int32Array, Int64Array
from obliqua.data.number_targets import with_loss
from obliqua.data.problem import Problem, only_numeric
from obliqua.data.row_source import RowSource
from obliqua.data.target import Numbers
from obliqua.engine.grow_from import ROOT, RowsInAll, means_from
from obliqua.engine.lines import axis_lines
from obliqua.engine.parts import RowsInParts
from obliqua.engine.questions import LineRanges, NodeRows
from obliqua.prune import Pruner, cost_complexity_path, get_pruner
from obliqua.prune.cost_complexity import best_step_by_counts, best_step_by_rows
from obliqua.prune.pessimistic import prune_pessimistic
from obliqua.prune.pruners import (
    MOST_CROSS_VALIDATED,
    AtPrice,
    BySize,
    HoldOut,
    OnHeldOutRows,
    Pessimistic,
    ReducedError,
)
from obliqua.prune.reduced_error import add_upwards, cut_upwards, rounding_of
from obliqua.sources.division import HeldOut, NeedsAllRows, PartDivision, hold_out_rows
from obliqua.sources.rows import MemoryPlan, PartRowsElsewhere
from obliqua.sources.spread import spread_from
from obliqua.sources.survey import Learning, TablePart, TableRecipe, survey
from obliqua.sources.tables import LargeTable
from obliqua.tree.tree import Tree

__all__ = ["RowsCounted", "SurveyedTable", "counted", "grown_and_pruned", "survey_table"]

LEVEL_PASSES = 12  # a level costs as much as so many passes that only fetch rows, about
DEEP = 12  # levels: from here on there are too many nodes to ask about each


class RowsCounted(NamedTuple):
    """What the rules of growth ask of a problem."""

    n_rows: int
    n_counted: int
    total_weight: int
    n_features: int
    unit: float
    row_unit: float
    sums: Int64Array
    in_all: RowsInAll
    is_sparse: bool = False


def counted(source: RowSource) -> RowsCounted:
    """Count the rows of a source."""
    outline = source.outline
    in_all = RowsInAll.of(source)
    sums = in_all.sums
    weight = outline.target_rows.weight(np.ascontiguousarray(sums[:-2]))
    return RowsCounted(
        int(sums[-2]),
        int(sums[-1]),
        int(weight),
        outline.n_features,
        outline.unit,
        outline.row_unit,
        sums[:-2],
        in_all,
    )


class SurveyedTable(NamedTuple):
    """A table of which all is known that must be, as a source of rows."""

    parts: list[PartRowsElsewhere]
    recipe: TableRecipe
    plan: MemoryPlan
    run: Any

    @property
    def source(self) -> RowsInParts:
        """All rows."""
        return RowsInParts(self.parts, self.run)

    def side(self, division: HeldOut, held: bool) -> RowsInParts:
        """Return the rows that are held out, or the others."""
        none = PartDivision(b"", 0, np.empty(0, np.int64), np.empty(0, np.int64))
        parts = []
        for part in self.parts:
            part.forget()
            mine = division.parts.get(part.part.number, none)
            parts.append(PartRowsElsewhere(part.part, self.recipe, part.keep, mine, held))
            parts[-1].remember = part.remember
        return RowsInParts(parts, self.run)

    @property
    def fits(self) -> bool:
        """Whether its rows may be put into memory."""
        return self.plan.fits(self.recipe.n_rows)

    def problem(self) -> Problem:
        """Put all rows into memory."""
        problem: Problem = self.source.ask({ROOT: [NodeRows()]}, {})[ROOT][0]
        return problem


def survey_table(
    table: LargeTable,
    learning: Learning,
    run: Any,
    plan: MemoryPlan,
    shaped: Callable[[Problem, Any], Problem],
) -> SurveyedTable:
    """Look at all rows of a table, and make a source of rows of it.

    `shaped`: what an estimator adds to a problem, given the classes.
    """
    parts = [TablePart(k, piece, plan.batch_rows) for k, piece in enumerate(table.pieces)]
    recipe = survey(table, parts, learning, run)
    recipe = replace(recipe, outline=shaped(recipe.outline, recipe.classes))
    if recipe.fill == "training" and recipe.has_missing.any():
        source = RowsInParts([PartRowsElsewhere(part, recipe) for part in parts], run)
        (reach,) = source.ask({ROOT: [LineRanges(axis_lines(table.n_features))]}, {})[ROOT]
        fills = only_numeric(means_from(source, reach), recipe.encoding)
        recipe = replace(recipe, outline=replace(recipe.outline, fills=fills))
    outline = recipe.outline
    plan = replace(plan, n_sums=len(outline.counts), itemsize=outline.Z.dtype.itemsize)
    left = plan.kept
    sources = []
    for part in parts:
        size = recipe.rows.get(part.number, 0) * plan.row
        keep = size <= left
        left -= size if keep else 0
        sources.append(PartRowsElsewhere(part, recipe, keep))
        sources[-1].remember = plan.bytes_of_node(recipe.n_rows)
    return SurveyedTable(sources, recipe, plan, run)


def few_rows(plan: MemoryPlan, n_rows: int, max_depth: int | None) -> int:
    """Return how few rows of a node are fetched, so that the tree below grows in memory.

    All rows are fetched once in the end, so many in a pass as memory holds. That is worth it
    where more levels are to come than the same number of passes can grow.
    """
    at_once = plan.at_once.rows
    if max_depth is None or max_depth > DEEP:
        return at_once
    return at_once if n_rows <= at_once * LEVEL_PASSES else 0


def grown_and_pruned(
    table: SurveyedTable,
    grow: Callable[[RowSource, RowsCounted], Tree],
    pruner: Pruner,
    seed: int,
) -> Tree:
    """Grow a tree from rows that are elsewhere, and prune it; as `grow_pruned` does in memory."""
    source: RowSource = table.source
    rows = counted(source)
    if isinstance(pruner, BySize):
        if rows.n_counted <= MOST_CROSS_VALIDATED:
            _refuse("pruning='auto' of so few rows, which cross-validates,")
        pruner = get_pruner("holdout", **vars(pruner))
    if isinstance(pruner, AtPrice):
        tree = pruner.cut(grow(source, rows))
    elif isinstance(pruner, Pessimistic) and not pruner.subtree_raising:
        tree = prune_pessimistic(
            grow(source, rows),
            confidence_factor=pruner.confidence_factor,
            prune_root=pruner.prune_root,
            units=(rows.unit, rows.row_unit),
        )
    elif isinstance(pruner, OnHeldOutRows):
        _check_errors_add_up(pruner, source.outline)
        half = table.plan.limit // 4
        fraction = pruner.prune_fraction
        division = hold_out_rows(table.parts, table.run, rows, fraction, seed, half)
        if not division.any:
            tree = grow(source, rows)
        else:
            source = table.side(division, held=False)
            tree = grow(source, counted(source))
            tree = _cut(tree, table.side(division, held=True), pruner)
    else:
        _refuse(f"{pruner!r}")
    return spread_from(tree, source)


@dataclass(frozen=True, eq=False)
class SumsOfLeaves:
    """Sums of what is learnt at the leaves of a tree."""

    tree: Tree

    def of(self, problem: Problem, rows: Int32Array) -> Int64Array:
        """Return what some rows answer."""
        problem = problem if len(rows) == problem.n_rows else problem.take(rows)
        leaf = self.tree.apply(problem.Z)
        return problem.target_rows.sums_of_groups(leaf, self.tree.n_nodes)

    def joined(self, answers: Sequence[Int64Array]) -> Int64Array:
        """Add up."""
        return np.asarray(np.sum(answers, axis=0))


def _cut(tree: Tree, held: RowSource, pruner: OnHeldOutRows) -> Tree:
    """Cut a tree back by rows that it was not grown from."""
    (sums,) = held.ask({ROOT: [SumsOfLeaves(tree)]}, {})[ROOT]
    target = with_loss(held.outline.target, tree)
    as_leaf = target.errors(add_upwards(tree, sums), tree.stats)
    if isinstance(pruner, ReducedError):
        slack = rounding_of(tree) * float(as_leaf[0])
        return cut_upwards(tree, as_leaf, pruner.prune_root, slack)
    assert isinstance(pruner, HoldOut)
    path = cost_complexity_path(tree, pruner.prune_root)
    errors = path.errors_of_nodes(as_leaf)
    if isinstance(target, Numbers) or tree.costs:
        return path.at(best_step_by_rows(errors, [], 0.0))
    weight = int(held.outline.target_rows.weight(np.ascontiguousarray(sums.sum(axis=0))))
    return path.at(best_step_by_counts(errors, weight, held.outline.row_unit, pruner.n_se))


def _check_errors_add_up(pruner: OnHeldOutRows, outline: Problem) -> None:
    """Refuse standard errors that only rows tell."""
    if not getattr(pruner, "n_se", 0.0):
        return
    if isinstance(outline.target, Numbers) or outline.target.costs:
        _refuse(f"n_se={pruner.n_se:g} of numbers, or with costs,")  # type: ignore[attr-defined]


def _refuse(what: str) -> None:
    raise NeedsAllRows(
        f"{what} needs all rows in one memory, and they are read in passes here. Take "
        "pruning='holdout', 'reduced_error' or None, a number as ccp_alpha, or a larger "
        "memory_limit."
    )
