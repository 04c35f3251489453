"""Forests fitted to tables elsewhere: what estimators say of it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from obliqua.data.target import Classes
from obliqua.estimators._in_passes import surveyed_table
from obliqua.tree.model import Model
from obliqua.tree.packed import PackedTrees

if TYPE_CHECKING:
    from obliqua.forest import Sampling
    from obliqua.sources.forests import ForestElsewhere


def fit_forest_elsewhere(forest: Any, X: Any, y: Any, sample_weight: Any) -> bool:
    """Fit a forest to a table elsewhere; say whether it was done.

    It is not if X is a memory map, and something is asked for that needs it as it is.
    """
    from obliqua.sources.division import NeedsAllRows

    try:
        _fit(forest, X, y, sample_weight)
    except NeedsAllRows:
        if isinstance(X, np.ndarray):
            return False
        raise
    return True


def _fit(forest: Any, X: Any, y: Any, sample_weight: Any) -> None:
    from obliqua.sources.forests import ForestElsewhere, kept_of_table, rows_in_order

    table, surveyed = surveyed_table(copy(forest), X, y, sample_weight)
    recipe = surveyed.recipe
    names = None if table.names is None else np.array(table.names, dtype=object)
    classes = np.empty(0) if recipe.classes is None else recipe.classes
    if surveyed.fits:
        problem = rows_in_order(surveyed)
        forest._fit_to(
            problem, classes, names, lambda: kept_of_table(surveyed, problem.n_rows), surveyed.run
        )
        return
    _check_in_passes(forest)
    rows = ForestElsewhere(surveyed)
    seed = forest._first_seed()
    how = forest._drawing(rows.n_counted)
    sampling = rows.sampling(seed, *how)
    forest._check_oob(sampling)
    keeps = _keeps_out_of_bag(forest, rows)
    outline, limit = recipe.outline, forest.time_limit

    def grown(rules: Any, first: int, end: int) -> PackedTrees:
        grow = forest._grower(rules, first, end, surveyed.run)
        return rows.grown(sampling, first, end, grow, None if limit is None else float(limit))

    trees = forest._grow(outline, rows.mark, rows.n_counted, classes, grown)
    model = Model(trees, "mean", outline.encoding, classes)
    notes = {} if keeps is None else _out_of_bag(forest, model, rows, sampling, keeps)
    forest._keep_forest(model, names, seed, rows.mark, notes)


def _check_in_passes(forest: Any) -> None:
    """Refuse what needs all rows in one memory."""
    from obliqua.sources.division import NeedsAllRows

    if forest.keep_rows:
        raise NeedsAllRows(
            "keep_rows=True keeps the rows of all leaves, and the table is larger than "
            "memory_limit allows. Give a memory_limit of at least eight times the table, or "
            "leave keep_rows out."
        )


def _keeps_out_of_bag(forest: Any, rows: ForestElsewhere) -> bool | None:
    """Say whether what is said out of bag is kept, or only scored; None: neither is wanted."""
    from obliqua.sources.division import NeedsAllRows

    if not forest.oob_score:
        return None
    target: Any = rows.table.recipe.outline.target
    is_classes = isinstance(target, Classes)
    width = target.n_classes if is_classes else target.n_outputs
    keeps = rows.keeps_out_of_bag(width)
    if not keeps and (callable(forest.oob_score) or not is_classes):
        reading = rows.table.plan.reading
        needed = (rows.facts.n_rows * (width + 2) * 32 + reading) // 2**20 + 16
        raise NeedsAllRows(
            f"Scored out of bag, {rows.facts.n_rows:,} rows are predicted one by one, and a "
            f"{'score of your own' if is_classes else 'score of numbers'} takes all predictions "
            f"together, which is more than memory_limit allows. Give memory_limit='{needed}MiB' "
            "or more, or leave oob_score out and score other rows."
        )
    return keeps


def _out_of_bag(
    forest: Any, model: Model, rows: ForestElsewhere, sampling: Sampling, keeps: bool
) -> dict[str, Any]:
    """Return what is noted of rows that trees were grown without, in one pass."""
    from obliqua.sources.forests import kept_of_table

    trees = model.trees
    assert isinstance(trees, PackedTrees)
    if not keeps:
        n_rows, known, right = rows.right_out_of_bag(sampling, trees)
        forest._warn_of_rows_in_all_trees(n_rows, n_rows - known)
        return {"oob_score_": right / known if known else float("nan")}
    found = rows.out_of_bag(sampling, trees)
    kept = kept_of_table(rows.table, rows.facts.n_rows)
    return dict(forest._noted_out_of_bag(model, found.learnt, found.sums, found.times, kept))
