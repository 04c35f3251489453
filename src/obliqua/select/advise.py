"""`advise`: which kind of tree suits a table, and whether one does at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from obliqua._sklearn_compat import safe_indexing
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.table import read_table, readable
from obliqua.errors import PartlyCompared
from obliqua.estimators._fitted import TreesEstimator
from obliqua.estimators._labels import encode_labels
from obliqua.select.adapt import adapted
from obliqua.select.advice import Advice
from obliqua.select.advice_words import FEW_FOLDS
from obliqua.select.candidates import CANDIDATES, NUMBER_CANDIDATES, Candidate
from obliqua.select.compare import (
    Folds,
    check_count,
    checked_target,
    cross_validate,
    folds_of,
)
from obliqua.select.decision import RICHER, Evidence, Measured, decide, settled
from obliqua.select.forecast import MOST_SECONDS, forecast, too_slow, warn_of_time
from obliqua.select.result import MEASURES, CompareResult, paired_error, paired_p_value
from obliqua.select.task import note_of_numbers, task_of

__all__ = ["Advice", "advise"]

#: Numbers of leaves of the trees that are compared size by size.
SIZES = (2, 4, 8, 16, 32, 64)
#: So many rows for each leaf there must be at least, or trees of that size are not grown.
ROWS_PER_LEAF = 5
#: Folds in which trees of given sizes are cross-validated: nothing is tested about them.
SIZE_FOLDS = 5
#: Below so many rows one cross-validation may say too little.
FEW_ROWS = 2_000
#: Of a class that is rarer, all rows are kept, so that folds remain possible.
RARE = 10
#: A class is rare if it has at most this share of the rows that it would have if all had as many.
RARE_SHARE = 0.5


def advise(
    X: Any,
    y: Any,
    *,
    task: str = "auto",
    categorical_features: Any = "from_dtype",
    n_folds: int = 10,
    n_repeats: int | None = None,
    max_rows: int | None = 20_000,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Advice:
    """Find out which kind of tree suits a table, and whether oblique splits pay.

    Cross-validated on the same stratified folds are an axis-parallel tree, a sparse, a dense and
    a refined oblique one, a logistic regression, an oblique forest, and always giving the most
    frequent class. The four trees are also grown to the same numbers of leaves, so that one sees
    what a leaf is worth.

    Where numbers are learnt, these are an axis-parallel tree, an oblique one, one with linear
    functions in its leaves, a refined one, a ridge regression, an oblique forest, and always
    giving the mean.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows, an array or a frame, with categories and missing values too. The linear model
        gets them through a pipeline, as `compare` does it, and a note says so.
    y : array-like of shape (n_rows,)
        The class labels, or the numbers to learn.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether classes or numbers are learnt. By default y says it: what has fractions, or more
        than 50 different whole numbers, is numbers.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns are qualitative, by name, place or mask; "from_dtype" finds it out.
    n_folds : int, default=10
        Folds of a cross-validation; fewer if the smallest class has fewer rows.
    n_repeats : int or None, default=None
        How often to cross-validate, with other folds each time. `None` is once, and once more
        below 2,000 rows if p-values that are five times as large or small would lead to another
        decision, or there are five folds or fewer. Trees of given sizes are cross-validated
        once, in at most five folds.
    max_rows : int or None, default=20000
        Of a larger table so many rows are drawn, each class with its share; `None` takes all. Of
        a rare class ten rows are kept, or all if it has fewer, also if that makes more rows.
    random_state : int, default=0
        The seed of the draw, of the folds, and of all candidates.
    n_jobs : int or None, default=None
        The number of processes, as joblib counts them. Times aside it never changes a result.
    progress : callable, default=None
        Called after each fit with the number of finished fits, the number of all, and what was
        fitted. The number of all grows if it is cross-validated once more.

    Returns
    -------
    Advice
        What was measured, and what follows from it: `describe` says it in words.

    Raises
    ------
    ValueError
        If the labels cannot be divided into folds, or a parameter makes no sense.
    CostWarning
        As a warning, before the work begins, if it will take longer than 20 seconds. Trees whose
        fits would take more than half an hour are left out, and a note says so.

    See Also
    --------
    compare : Methods by name, or estimators of your own, side by side.

    Notes
    -----
    The rules are those of `obliqua.select.decision`, word for word in its documentation.

    Examples
    --------
    >>> from obliqua import advise
    >>> from obliqua.datasets import make_pol
    >>> X, y = make_pol(200, random_state=0, return_X_y=True)
    >>> advice = advise(X, y, n_folds=5, n_repeats=1)
    >>> advice.choice, advice.pays
    ('dense', 'accuracy')
    """
    found_out = note_of_numbers(task, y)
    task = task_of(task, y)
    X = readable(X)
    truth = checked_target(X, y, task)
    if max_rows is not None:
        check_count("max_rows", max_rows, 2, ", or None for all rows")
    X, truth, notes = _drawn(X, truth, max_rows, random_state, task)
    estimators, candidates, more = _candidates(X, categorical_features, random_state, task)
    asked = Folds(n_folds, 1 if n_repeats is None else n_repeats, random_state, n_jobs)
    folding, folds, fewer = folds_of(truth, task, asked)
    again = n_repeats is None and len(truth) < FEW_ROWS
    most = replace(folds, n_repeats=2) if again else folds
    estimators, candidates, sized, slow = _in_time(X, truth, estimators, candidates, most)
    more = (*slow, *more)
    of_sizes = replace(folds, n_folds=min(folds.n_folds, SIZE_FOLDS), n_repeats=1)
    n_first = len(estimators) * folds.n_folds
    n_fits = n_first * folds.n_repeats + len(sized) * of_sizes.n_folds
    step = None if progress is None else _Steps(progress, n_fits)
    result = cross_validate(X, folding, estimators, folds, step, (*found_out, *notes, *fewer))
    few = folds.n_folds <= FEW_FOLDS  # then no p-value says much
    if again and (few or not settled(_evidence(result, candidates))):
        if step is not None:
            step.total += n_first
        try:
            second = cross_validate(X, folding, estimators, replace(folds, before=1), step)
        except KeyboardInterrupt as error:
            note = f"Stopped after {folds.n_folds} of {2 * folds.n_folds} folds."
            raise _part_of(result, note) from error
        result = result.and_again(second)
    trees = {f"{name}@{size}": tree for (name, size), tree in sized.items()}
    try:
        grown = cross_validate(X, folding, trees, of_sizes, step)
    except KeyboardInterrupt as error:
        raise _part_of(result, "Stopped before trees of equal size were grown.") from error
    curve: dict[str, dict[int, float]] = {}
    for name, size in sized:
        score = float(grown.folds[f"{name}@{size}"][:, 0].mean())
        curve.setdefault(name, {})[size] = score
    result = replace(result, notes=(*result.notes, *more))
    evidence = _evidence(result, candidates)
    return Advice(result, curve, evidence, decide(evidence), candidates)


def _in_time(
    X: Any,
    truth: AnyArray,
    estimators: dict[str, Any],
    candidates: tuple[Candidate, ...],
    folds: Folds,
) -> tuple[dict[str, Any], tuple[Candidate, ...], dict[tuple[str, int], Any], tuple[str, ...]]:
    """Leave out what takes too long, make trees of given sizes, and say how long all will take."""
    sized = _sized(estimators, candidates, len(truth))
    # The largest tree of a kind is timed; smaller ones take their share of that.
    largest = {name: max(size for other, size in sized if other == name) for name, _ in sized}
    trees = {f"{name}@{size}": sized[name, size] for name, size in largest.items()}
    seconds = forecast({**estimators, **trees}, X, truth, folds.n_folds, folds.random_state)
    for name, size in sized if seconds else ():
        of_largest = seconds[f"{name}@{largest[name]}"]
        seconds[f"{name}@{size}"] = of_largest * size / largest[name]
    fits = dict.fromkeys(estimators, folds.n_folds * folds.n_repeats)
    fits |= {f"{name}@{size}": min(folds.n_folds, SIZE_FOLDS) for name, size in sized}
    kinds = {each.name: each.kind for each in candidates}
    known = {name: one for name, one in seconds.items() if kinds.get(name) in RICHER}
    slow = too_slow(known, fits, MOST_SECONDS, "it is tried with fewer rows, as max_rows says")
    left = tuple(each for each in candidates if each.name not in slow)
    sized = {key: tree for key, tree in sized.items() if key[0] not in slow}
    taken = {name: one for name, one in seconds.items() if name.partition("@")[0] not in slow}
    warn_of_time(taken, fits, folds.n_jobs)
    return {each.name: estimators[each.name] for each in left}, left, sized, tuple(slow.values())


def _part_of(result: CompareResult, note: str) -> PartlyCompared:
    return PartlyCompared(replace(result, notes=(*result.notes, note)))


class _Steps:
    """Count the fits of several comparisons as one, for who is told of progress."""

    def __init__(self, progress: Callable[[int, int, str], None], total: int) -> None:
        self.progress = progress
        self.before, self.total = 0, total

    def __call__(self, done: int, n_fits: int, name: str) -> None:
        self.progress(self.before + done, self.total, name)
        if done == n_fits:
            self.before += n_fits


def _drawn(
    X: Any, labels: AnyArray, max_rows: int | None, random_state: int, task: str
) -> tuple[Any, AnyArray, tuple[str, ...]]:
    """Draw rows of a large table, each class with its share, and say so."""
    if max_rows is None or len(labels) <= max_rows:
        return X, labels, ()
    rng = np.random.default_rng(random_state)
    if task == "regression":
        chosen = np.sort(rng.permutation(len(labels))[:max_rows])
        note = f"{max_rows:,} of {len(labels):,} rows were drawn; max_rows says how many."
        return safe_indexing(X, chosen), labels[chosen], (note,)
    codes = encode_labels(labels)[1]
    kept: list[Int64Array] = []
    more = False
    for code in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        share, least = round(max_rows * len(rows) / len(labels)), min(len(rows), RARE)
        kept.append(rows[: max(share, least)])
        more |= share < least
    chosen = np.sort(np.concatenate(kept))
    note = f"{len(chosen):,} of {len(labels):,} rows were drawn, each class with its share"
    if more:
        note += (
            f", but at least {RARE} of a class, or all if it has fewer; max_rows is {max_rows:,}."
        )
    else:
        note += "; max_rows says how many."
    return safe_indexing(X, chosen), labels[chosen], (note,)


def _candidates(
    X: Any, categorical_features: Any, random_state: int, task: str
) -> tuple[dict[str, Any], tuple[Candidate, ...], tuple[str, ...]]:
    """Make the candidates that differ on such a table, ready to take it."""
    columns = read_table(X, categorical_features).encoding.columns
    places = [place for place, column in enumerate(columns) if column.kind == "qualitative"]
    known = CANDIDATES if task == "classification" else NUMBER_CANDIDATES
    chosen = tuple(
        each
        for each in known
        if each.least_features <= len(columns) <= (each.most_features or len(columns))
    )
    slow = tuple(
        f"{each.name!r} ({each.words}) is left out: with {len(columns):,} features it takes too "
        f"long; it is tried with up to {each.most_features:,}."
        for each in known
        if each.most_features is not None and len(columns) > each.most_features
    )
    made = {each.name: each.method.make(random_state) for each in chosen}
    for estimator in made.values():
        if isinstance(estimator, TreesEstimator):
            estimator.set_params(categorical_features=places or None)
    floors = {each.name for each in chosen if each.kind == "floor"}  # these look at no column
    looking = {name: estimator for name, estimator in made.items() if name not in floors}
    ready, notes = adapted(looking, X, places or None)
    return {name: ready.get(name, made[name]) for name in made}, chosen, (*slow, *notes)


def _sized(
    estimators: dict[str, Any], candidates: Sequence[Candidate], n_rows: int
) -> dict[tuple[str, int], Any]:
    """Make trees of given sizes, not pruned: as many leaves as asked for, and the best ones."""
    out = {}
    for candidate in candidates:
        tree = estimators[candidate.name]
        if candidate.kind in ("axis", *RICHER) and "max_leaf_nodes" in tree.get_params():
            for size in SIZES:
                if size == SIZES[0] or size * ROWS_PER_LEAF <= n_rows:
                    sized = candidate.method.make(None).set_params(**tree.get_params())
                    sized.set_params(**candidate.sized, max_leaf_nodes=size)
                    out[candidate.name, size] = sized
    return out


def _evidence(result: CompareResult, candidates: Sequence[Candidate]) -> Evidence:
    """Gather what the decision rests on."""
    kinds = {each.name: each.kind for each in candidates}
    rows = result.rows()
    score = MEASURES[result.task][0]
    measured = [
        Measured(
            row["method"],
            kinds[row["method"]],
            row[score],
            row.get("macro_f", np.nan),
            *(row["leaves"], row["features_per_split"], row.get("features_per_leaf", np.nan)),
        )
        for row in rows
    ]
    return Evidence(
        measured,
        _of_pairs(result, score, paired_p_value),
        _of_pairs(result, "leaves", paired_p_value),
        _p_rare(result),
        result.task,
        _of_pairs(result, score, paired_error),
    )


def _p_rare(result: CompareResult) -> dict[str, float]:
    """Return how sure it is that candidates find rare classes better than chance does.

    What says of every row by chance that it is of a class finds the same share of that class and
    of the others. So the difference of both shares, fold by fold, is compared with 0. Macro F
    would not do: mere guessing has a larger one than always giving the same answer.
    """
    overlap = 1.0 / (result.n_folds - 1)
    out: dict[str, float] = {}
    for name, matrices in result.fold_confusion.items():
        counts = matrices.sum(axis=2)  # of the classes, fold by fold
        rare = counts.sum(axis=0) <= RARE_SHARE / result.n_classes * counts.sum()
        if rare.any():
            found = matrices.diagonal(axis1=1, axis2=2)
            wrongly = matrices.sum(axis=1) - found
            others = counts.sum(axis=1, keepdims=True) - counts
            gain = (found / counts - wrongly / others)[:, rare].mean(axis=1)
            out[name] = paired_p_value(gain, overlap) if gain.mean() > 0 else 1.0
    return out


def _of_pairs(
    result: CompareResult, measure: str, test: Callable[[FloatArray, float], float]
) -> dict[tuple[str, str], float]:
    """Corrected paired tests of all pairs; what is not known of both is left out."""
    place, overlap = MEASURES[result.task].index(measure), 1.0 / (result.n_folds - 1)
    columns = {name: values[:, place] for name, values in result.folds.items()}
    return {
        (one, other): test(columns[one] - columns[other], overlap)
        for one, other in combinations(columns, 2)
        if not np.isnan(columns[one] - columns[other]).any()
    }
