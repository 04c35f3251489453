"""What leaves say where numbers are learnt: constants or linear functions, and quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from obliqua._sklearn_compat import Interval, StrOptions
from obliqua._typing import FloatArray
from obliqua.criteria import NUMBER_CRITERIA, get_criterion
from obliqua.data.problem import Problem
from obliqua.data.target import Numbers

if TYPE_CHECKING:
    from obliqua.engine.linear_leaves import LeafFit
    from obliqua.tree.tree import Tree

SQUARED_ERROR = NUMBER_CRITERIA["squared_error"]

#: Rows of a leaf, if nothing else is said: of one that says a constant, and a linear function.
LEAST_ROWS, LEAST_LINE_ROWS = 5.0, 10.0

#: What the squared coefficients of linear functions may cost, in rows: the last of them only with
#: fewer rows than this. And as how many rows the function of the node above may count.
PENALTIES = (0.1, 1.0, 10.0)
FEW_ROWS = 3_000
SMOOTHINGS = (0.0, 5.0, 20.0, 80.0)
CONSTANT_SMOOTHINGS = (0.0, 1.0, 3.0, 10.0)

LEAF_CONSTRAINTS: dict[str, list[Any]] = {
    "leaf_model": [StrOptions({"constant", "linear", "auto"})],
    "leaf_penalty": [Interval(Real, 0.0, None, closed="left"), None],
    "leaf_smoothing": [Interval(Real, 0.0, None, closed="left"), None],
    "max_features_per_leaf": [Interval(Integral, 1, None, closed="left"), None],
    "quantiles": ["array-like", None],
}


def checked_model(leaf_model: str, problem: Problem, criterion: Any = "squared_error") -> str:
    """Return what leaves may say of a problem; refuse linear functions where there are none."""
    if leaf_model == "constant":
        return leaf_model
    target = problem.target
    assert isinstance(target, Numbers)
    why = None
    if target.n_outputs > 1:
        why = f"of one output; y has {target.n_outputs}. Fit a tree for each of them"
    elif get_criterion(criterion).code != SQUARED_ERROR.code:
        why = f"fitted by least squares; got criterion={criterion!r}. Take 'squared_error'"
    if why is None:
        return leaf_model
    if leaf_model == "auto":
        return "constant"
    raise ValueError(f"Linear functions in leaves are {why}, or leaf_model='constant'.")


def leaf_fits(
    estimator: Any, problem: Problem, smoothings: Sequence[float] = (0.0,)
) -> list[LeafFit]:
    """Return what an estimator's leaves may say; `smoothings`: those of constants."""
    from obliqua.engine.linear_leaves import LeafFit

    criterion = getattr(estimator, "criterion", "squared_error")
    model = checked_model(estimator.leaf_model, problem, criterion)
    if estimator.leaf_smoothing and get_criterion(criterion).needs_rows:
        raise ValueError(
            f"Medians are not smoothed; got leaf_smoothing with criterion={criterion!r}. Take "
            "criterion='squared_error', or leave leaf_smoothing out."
        )
    if estimator.leaf_smoothing and estimator.max_features_per_leaf is not None:
        raise ValueError(
            "Functions of few features are not smoothed, for they would get those of the nodes "
            "above; got leaf_smoothing with max_features_per_leaf. Leave one of them out."
        )
    given, smoothing, most = (
        estimator.leaf_penalty,
        estimator.leaf_smoothing,
        estimator.max_features_per_leaf,
    )
    if smoothing is not None:
        smoothings = (float(smoothing),)
    constants = [LeafFit(smoothing=strength) for strength in smoothings]
    if model == "constant":
        return constants
    few = problem.total_weight * problem.row_unit < FEW_ROWS
    penalties = (PENALTIES if few else PENALTIES[:-1]) if given is None else (float(given),)
    strengths = SMOOTHINGS if smoothing is None else smoothings
    if most is not None:
        strengths = (0.0,)
    lines = [LeafFit(rho, strength, most) for rho in penalties for strength in strengths]
    return lines if model == "linear" else constants + lines


def best_fit(
    problem: Problem,
    fits: Sequence[LeafFit],
    grow: Callable[[Problem, LeafFit], Tree],
    key: int,
) -> LeafFit:
    """Choose what leaves say.

    Trees are grown from a part of the rows, and each is judged by the others, at that size of its
    cost-complexity sequence that is best for them.
    """
    from obliqua.engine.linear_leaves import smoothed_leaves, smoothings_of
    from obliqua.prune import cost_complexity_path
    from obliqua.prune.division import trials

    parts = trials(problem, key) if len(fits) > 1 else []
    if not parts:
        return fits[0]
    errors = dict.fromkeys(fits, 0.0)
    row_unit = problem.row_unit / problem.unit
    for train, test in parts:
        for grown, same_growth in smoothings_of(fits).items():
            path = cost_complexity_path(grow(train, grown))
            for fit in same_growth:
                tree = smoothed_leaves(path.tree, fit.smoothing, row_unit)
                errors[fit] += float(replace(path, tree=tree).errors(test).min())
    return min(fits, key=lambda fit: errors[fit])


def checked_quantiles(quantiles: Any) -> FloatArray:
    """Return the wanted shares as an array; refuse what is none."""
    try:
        shares = np.asarray([] if quantiles is None else quantiles, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.array([np.nan])
    if shares.ndim != 1 or not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise ValueError(
            f"quantiles must be a list of numbers between 0 and 1, such as [0.1, 0.5, 0.9]; got "
            f"{quantiles!r}."
        )
    return shares


def leaf_quantiles(tree: Tree, problem: Problem, shares: FloatArray) -> FloatArray:
    """Return, by leaf, quantile and output, quantiles of numbers minus what the leaf says.

    A quantile is the least number that has at least that share of the leaf's weight at or below
    it. Leaves stand in the order of their nodes.
    """
    target = problem.target
    assert isinstance(target, Numbers)
    found = np.zeros((tree.n_leaves, len(shares), target.n_outputs))
    leaf = tree.apply(problem.Z)
    off = target.values - tree.said(problem.Z, leaf)
    weights = np.ones(problem.n_rows, np.int64) if problem.weights is None else problem.weights
    order = np.argsort(leaf, kind="stable")
    starts = np.searchsorted(leaf[order], np.arange(tree.n_nodes + 1))
    for number, node in enumerate(np.flatnonzero(tree.is_leaf).tolist()):
        rows = order[starts[node] : starts[node + 1]]
        for output in range(target.n_outputs):
            ascending = rows[np.argsort(off[rows, output], kind="stable")]
            reached = np.cumsum(weights[ascending])
            at = np.searchsorted(reached, np.ceil(shares * reached[-1] * (1.0 - 1e-12)))
            found[number, :, output] = off[ascending[np.minimum(at, len(rows) - 1)], output]
    return found
