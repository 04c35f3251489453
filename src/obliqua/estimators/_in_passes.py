"""Fitting to rows that do not fit in memory: what estimators say of it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from obliqua.criteria import get_criterion
from obliqua.data.target import Numbers
from obliqua.data.threads import thread_count
from obliqua.estimators._elsewhere import tells_where
from obliqua.estimators._labels import (
    check_labels,
    check_numbers,
    checked_label_types,
    warn_of_many_classes,
)
from obliqua.estimators._pruning import pruner_of
from obliqua.estimators._warnings import warn

if TYPE_CHECKING:
    from obliqua.data.problem import Problem
    from obliqua.data.row_source import RowSource
    from obliqua.sources.growing import RowsCounted, SurveyedTable
    from obliqua.tree.tree import Tree

Estimator = TypeVar("Estimator", bound=Any)


def is_read_in_passes(estimator: Any, X: Any) -> bool:
    """Say whether X tells where a table is, or is a map of a file that is too large."""
    if isinstance(X, np.ndarray):
        if not isinstance(X, np.memmap) or X.ndim != 2 or not hasattr(estimator, "memory_limit"):
            return False
        from obliqua.sources.rows import bytes_of

        return X.dtype.kind in "biuf" and X.nbytes > bytes_of(estimator.memory_limit) // 8
    return tells_where(X)


def fit_in_passes(estimator: Estimator, X: Any, y: Any, sample_weight: Any) -> Estimator | None:
    """Fit an estimator to a table that is read in passes.

    None: X is a memory map, and something is asked for that needs it as it is.
    """
    from obliqua.sources.division import NeedsAllRows

    try:
        return _fitted(estimator, X, y, sample_weight)
    except NeedsAllRows:
        if isinstance(X, np.ndarray):
            return None
        raise


def _fitted(estimator: Estimator, X: Any, y: Any, sample_weight: Any) -> Estimator:
    """Fit an estimator to a table that is read in passes; refuse what needs all rows."""
    from obliqua.sources.growing import survey_table
    from obliqua.sources.rows import MemoryPlan, bytes_of
    from obliqua.sources.running import Threads
    from obliqua.sources.tables import LargeTable, array_table, open_table

    estimator._check_saved()
    seen = copy(estimator)
    n_threads = thread_count(estimator.n_jobs)
    limit = bytes_of(getattr(estimator, "memory_limit", None))
    run: Any = Threads(n_threads)
    if type(X).__module__.startswith("dask"):
        from obliqua.sources.dask import DaskTasks, dask_table

        table, run = dask_table(X, y, sample_weight), DaskTasks()
    elif isinstance(X, np.ndarray):
        rows = MemoryPlan(limit, n_threads, X.shape[1]).batch_rows
        table = array_table(X, _as_array(y), _as_array(sample_weight), 4 * rows)
    elif isinstance(X, LargeTable):
        if y is not None or sample_weight is not None:
            raise TypeError(
                "A table that open_table has made knows what is learnt, and weights; give None "
                "for y and sample_weight."
            )
        table, run = X, X.run or run
    else:
        table = open_table(X, y, sample_weight)
    plan = MemoryPlan.of(limit, n_threads, table.n_features)
    surveyed = survey_table(table, _learning(seen), run, plan, seen._shaped)
    recipe = surveyed.recipe
    for note in recipe.notes:
        warn(note)
    classes = recipe.classes
    if classes is not None:
        warn_of_many_classes(len(classes), recipe.n_rows)
    if surveyed.fits:
        problem = surveyed.problem()
        tree = seen._grown(problem)
    else:
        problem = recipe.outline
        tree = _grown(seen, surveyed)
    if table.names is not None:
        seen.feature_names_in_ = np.array(table.names, dtype=object)
    estimator._keep(seen, tree, problem, np.empty(0) if classes is None else classes)
    return estimator


def _as_array(values: Any) -> Any:
    return None if values is None else np.asarray(values)


def _learning(estimator: Any) -> Any:
    """Return what an estimator learns from a table, and how it reads it."""
    from obliqua.sources.survey import Learning

    takes = bool(estimator._takes_odd)
    shared = {
        "fill": estimator._fill(),
        "missing": takes,
        "categorical_features": getattr(estimator, "categorical_features", None),
        "pools_levels": estimator._pools_levels,
    }
    if hasattr(estimator, "leaf_model"):
        criterion = get_criterion(estimator.criterion)
        return Learning(True, check_numbers, criterion=criterion, **shared)
    weighted = estimator.class_weight is not None or estimator.priors is not None
    return Learning(
        False,
        check_labels,
        estimator._weights_by_counts if weighted else None,
        checked_label_types,
        **shared,
    )


def _grown(estimator: Any, surveyed: SurveyedTable) -> Tree:
    """Grow the tree of an estimator in passes, and prune it."""
    from obliqua.sources.growing import grown_and_pruned

    _check_in_passes(estimator, surveyed.recipe.outline)

    key = estimator._key()

    def grow(source: RowSource, rows: RowsCounted) -> Tree:
        from obliqua.engine.grow_from import grow_from
        from obliqua.sources.growing import few_rows

        rules = estimator._rules(rows)
        proposer = estimator._drawing(estimator._proposer(), rows)
        few = few_rows(surveyed.plan, rows.n_rows, rules.max_depth)
        criterion = get_criterion(estimator.criterion)
        at_once = surveyed.plan.at_once
        return grow_from(source, proposer, criterion, rules, key, few, at_once=at_once)

    tree = grown_and_pruned(surveyed, grow, pruner_of(estimator), key)
    return estimator._finished(tree, surveyed.recipe.outline)


def _check_in_passes(estimator: Any, outline: Problem) -> None:
    """Refuse what an estimator does with rows that are in memory only."""
    from obliqua.engine.grow import proposals_of
    from obliqua.engine.grow_from import check_sums_are_enough
    from obliqua.sources.division import NeedsAllRows

    what = None
    if not hasattr(estimator, "memory_limit"):
        what = type(estimator).__name__
    elif estimator._refines():
        what = "refine=True"
    elif isinstance(outline.target, Numbers):
        if estimator.leaf_model != "constant" or estimator.leaf_smoothing:
            what = "a leaf that says more than a constant"
        elif estimator.quantiles is not None:
            what = "the parameter quantiles"
    if what is not None:
        raise NeedsAllRows(
            f"{what} needs all rows in one memory, and the table is larger than memory_limit "
            "allows. Give a larger memory_limit or fewer rows, or take CartClassifier, "
            "CartRegressor or HHCartClassifier, which read rows in passes."
        )
    proposals = proposals_of(estimator._drawing(estimator._proposer(), outline))
    try:
        check_sums_are_enough(outline, proposals, get_criterion(estimator.criterion))
    except ValueError as error:
        raise NeedsAllRows(str(error)) from error
