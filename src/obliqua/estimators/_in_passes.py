"""Fitting to rows that do not fit in memory: what estimators say of it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from obliqua.criteria import Criterion, get_criterion
from obliqua.data.threads import thread_count
from obliqua.estimators._elsewhere import is_stored_array, tells_where
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
    from obliqua.engine.rules import Rules
    from obliqua.sources.growing import RowsCounted, SurveyedTable
    from obliqua.sources.tables import LargeTable
    from obliqua.tree.tree import Tree

Estimator = TypeVar("Estimator", bound=Any)


def is_read_in_passes(estimator: Any, X: Any) -> bool:
    """Say whether X tells where a table is, or is a map of a file that is too large."""
    if isinstance(X, np.memmap) or is_stored_array(X):
        if len(X.shape) != 2 or not hasattr(estimator, "memory_limit"):
            return False
        from obliqua.sources.rows import bytes_of

        size = X.shape[0] * X.shape[1] * X.dtype.itemsize
        return X.dtype.kind in "biuf" and size > bytes_of(estimator.memory_limit) // 8
    return not isinstance(X, np.ndarray) and tells_where(X)


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


def surveyed_table(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[LargeTable, SurveyedTable]:
    """Open a table, and look at all of its rows."""
    from obliqua.sources.growing import survey_table
    from obliqua.sources.rows import MemoryPlan, bytes_of
    from obliqua.sources.running import Threads
    from obliqua.sources.tables import LargeTable, array_table, open_table

    estimator._check_saved()
    n_threads = thread_count(estimator.n_jobs)
    limit = bytes_of(getattr(estimator, "memory_limit", None))
    run: Any = Threads(n_threads)
    if type(X).__module__.startswith("dask"):
        from obliqua.sources.dask import dask_table

        table = dask_table(X, y, sample_weight)
        run = table.run
    elif isinstance(X, np.ndarray) or is_stored_array(X):
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
    learning = _learning(estimator)
    for name, said in table.odd_cells.items():
        if learning.numbers and name not in (table.names or ()):
            raise ValueError(f"A regressor learns numbers. {said}")
        warn(said)
    plan = MemoryPlan.of(limit, n_threads, table)
    if isinstance(run, Threads):
        run.n_threads = plan.n_threads
    if table.reading > limit:
        warn(
            f"To read {table.called} takes about {table.reading / 1e6:.0f} MB beside its rows, "
            f"and memory_limit is {limit / 1e6:.0f} MB: the fit will take more. Give a larger "
            "memory_limit, or write the files with use_dictionary=False."
        )
    surveyed = survey_table(table, learning, run, plan, estimator._shaped)
    recipe = surveyed.recipe
    for note in recipe.notes:
        warn(note)
    if recipe.classes is not None:
        warn_of_many_classes(len(recipe.classes), recipe.n_rows)
    return table, surveyed


def _fitted(estimator: Estimator, X: Any, y: Any, sample_weight: Any) -> Estimator:
    """Fit an estimator to a table that is read in passes; refuse what needs all rows."""
    seen = copy(estimator)
    table, surveyed = surveyed_table(seen, X, y, sample_weight)
    recipe, classes = surveyed.recipe, surveyed.recipe.classes
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
        criterion = None if estimator._several else get_criterion(estimator.criterion)
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
    sample_rows = getattr(estimator, "sample_rows", None)
    at_once = surveyed.plan.at_once
    if (sample_rows or 0) > at_once.rows:
        raise ValueError(
            f"sample_rows={sample_rows} rows of this table do not fit in memory_limit, which "
            f"holds {at_once.rows} of them. Take a smaller sample, or a larger memory_limit."
        )

    key = estimator._key()

    def grow(source: RowSource, rows: RowsCounted) -> Tree:
        from obliqua.engine.grow_from import grow_from
        from obliqua.sources.growing import few_rows

        rules = estimator._rules(rows)
        proposer = estimator._drawing(estimator._proposer(), rows)
        few = few_rows(surveyed.plan, rows.n_rows, rules.max_depth)
        criterion = get_criterion(estimator.criterion)
        how = rules, key, few, None, at_once, sample_rows, rows.in_all
        return grow_from(source, proposer, criterion, *how)

    tree = grown_and_pruned(surveyed, grow, pruner_of(estimator), key)
    return estimator._finished(tree, surveyed.recipe.outline)


def grow_by_samples(
    problem: Problem, proposer: object, criterion: Criterion, rules: Rules, key: int, most: int
) -> Tree | None:
    """Grow a tree in memory as it is grown in passes, from samples of the rows of nodes.

    None: sums over all rows are enough.
    """
    from obliqua.engine.grow import proposals_of
    from obliqua.engine.grow_from import AtOnce, grow_from, what_needs_rows
    from obliqua.engine.parts import RowsInParts

    needs = what_needs_rows(problem, proposals_of(proposer), criterion)
    if needs is None:
        return None
    what = None if needs.may_sample else needs.what.rstrip(",")
    if what is not None:
        raise ValueError(
            "sample_rows, by which directions are looked for in samples, does not go with "
            f"{what}. Leave it out."
        )
    source = RowsInParts([problem.measured_by(criterion)])
    at_once = AtOnce(rows=max(most, AtOnce().rows))
    return grow_from(source, proposer, criterion, rules, key, at_once=at_once, sample_rows=most)


def needs_rows(estimator: Any) -> str | None:
    """Return what of an estimator needs all rows in one memory, as far as parameters tell."""
    if not hasattr(estimator, "memory_limit"):
        return type(estimator).__name__
    if getattr(estimator, "refine", False):
        return "refine=True"
    if hasattr(estimator, "leaf_model"):
        if estimator.leaf_model != "constant" or estimator.leaf_smoothing:
            return "a leaf that says more than a constant"
        if estimator.quantiles is not None:
            return "the parameter quantiles"
    return None


def needs_sample(estimator: Any) -> bool:
    """Say whether a method lacks the parameter sample_rows, without which it needs all rows."""
    from obliqua.engine.compiled import CompiledSide
    from obliqua.engine.grow import proposals_of

    if getattr(estimator, "sample_rows", 0) is not None:
        return False
    method = proposals_of(estimator._proposer()).proposer
    return method is not None and not (
        isinstance(method, CompiledSide) and method.needs_rows() is None
    )


def _check_in_passes(estimator: Any, outline: Problem) -> None:
    """Refuse what an estimator does with rows that are in memory only."""
    from obliqua.engine.grow import proposals_of
    from obliqua.engine.grow_from import check_sums_are_enough
    from obliqua.sources.division import NeedsAllRows

    what = needs_rows(estimator)
    if what is not None:
        more = "a larger memory_limit or " if hasattr(estimator, "memory_limit") else ""
        raise NeedsAllRows(
            f"{what} needs all rows in one memory, and the table is larger than its limit "
            f"allows. Give {more}fewer rows, a sample for instance, or take a method that reads "
            "rows in passes, such as HHCartClassifier or ObliqueTreeRegressor, or OC1Classifier "
            "with sample_rows, which looks for directions in samples."
        )
    proposals = proposals_of(estimator._drawing(estimator._proposer(), outline))
    try:
        sample_rows = getattr(estimator, "sample_rows", None)
        check_sums_are_enough(outline, proposals, get_criterion(estimator.criterion), sample_rows)
    except ValueError as error:
        raise NeedsAllRows(str(error)) from error
