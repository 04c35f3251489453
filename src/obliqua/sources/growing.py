"""One tree from a table elsewhere: opened, looked at, grown in passes, and pruned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from obliqua.data.problem import Problem
from obliqua.data.row_source import RowSource
from obliqua.engine.grow_from import ROOT
from obliqua.engine.parts import RowsInParts
from obliqua.engine.questions import NodeRows, NodeSums
from obliqua.prune import Pruner, get_pruner
from obliqua.prune.pessimistic import prune_pessimistic
from obliqua.prune.pruners import MOST_CROSS_VALIDATED, AtPrice, BySize, Pessimistic
from obliqua.sources.rows import MemoryPlan, PartRowsElsewhere
from obliqua.sources.spread import spread_from
from obliqua.sources.survey import Learning, TablePart, TableRecipe, survey
from obliqua.sources.tables import LargeTable
from obliqua.tree.tree import Tree

__all__ = ["RowsCounted", "SurveyedTable", "counted", "grown_and_pruned", "survey_table"]

LEVEL_PASSES = 12  # that a level of a tree takes, about
DEEP = 12  # levels: from here on there are too many nodes to ask about each


class RowsCounted(NamedTuple):
    """What the rules of growth ask of a problem."""

    n_rows: int
    n_counted: int
    total_weight: int
    n_features: int
    unit: float
    row_unit: float
    is_sparse: bool = False


def counted(source: RowSource) -> RowsCounted:
    """Count the rows of a source."""
    outline = source.outline
    (sums,) = source.ask({ROOT: [NodeSums()]}, {})[ROOT]
    weight = outline.target_rows.weight(np.ascontiguousarray(sums[:-2]))
    return RowsCounted(
        int(sums[-2]),
        int(sums[-1]),
        int(weight),
        outline.n_features,
        outline.unit,
        outline.row_unit,
    )


class SurveyedTable(NamedTuple):
    """A table of which all is known that must be, as a source of rows."""

    source: RowsInParts
    recipe: TableRecipe
    plan: MemoryPlan

    @property
    def fits(self) -> bool:
        """Whether its rows may be put into memory."""
        return self.plan.fits(self.recipe.n_rows)

    def problem(self) -> Problem:
        """Put all rows into memory."""
        (problem,) = self.source.ask({ROOT: [NodeRows()]}, {})[ROOT]
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
    left = plan.kept
    sources = []
    for part in parts:
        size = recipe.rows.get(part.number, 0) * plan.row
        keep = size <= left
        left -= size if keep else 0
        sources.append(PartRowsElsewhere(part, recipe, keep))
    n_sums = len(recipe.outline.counts)
    return SurveyedTable(RowsInParts(sources, run), recipe, replace(plan, n_sums=n_sums))


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
    source: RowSource,
    grow: Callable[[RowSource, RowsCounted], Tree],
    pruner: Pruner,
    seed: int,
) -> Tree:
    """Grow a tree from rows that are elsewhere, and prune it; as `grow_pruned` does in memory."""
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
    else:
        _refuse(f"{pruner!r}")
    return spread_from(tree, source)


def _refuse(what: str) -> None:
    raise ValueError(
        f"{what} needs all rows in one memory, and they are read in passes here. Take "
        "pruning='holdout', 'reduced_error' or None, a number as ccp_alpha, or a larger "
        "memory_limit."
    )
