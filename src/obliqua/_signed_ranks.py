"""Wilcoxon's signed-rank test and Holm's correction, for `obliqua.ranks`."""

from __future__ import annotations

import numpy as np
from scipy import stats

from obliqua._typing import FloatArray

__all__ = ["MOST_EXACT", "holm", "near_ranks", "signed_rank_p"]

#: With more differences that are not 0, Wilcoxon's p-value is that of the normal distribution: the
#: exact one takes a time that grows with their cube.
MOST_EXACT = 200


def near_ranks(values: FloatArray, same: FloatArray) -> FloatArray:
    """Rank values, 1 for the smallest; neighbours that are close share their mean rank.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The values.
    same : ndarray of shape (n,)
        How far each may be from a neighbour that counts as equal.

    Returns
    -------
    ndarray of shape (n,)
        The ranks.
    """
    order = np.argsort(values, kind="stable")
    ordered, near = values[order], same[order]
    apart = np.diff(ordered) > np.maximum(near[1:], near[:-1])
    places = np.empty(len(values))
    places[order] = np.concatenate([[0], np.cumsum(apart)])
    return np.asarray(stats.rankdata(places))


def signed_rank_p(signed: FloatArray) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test.

    Parameters
    ----------
    signed : ndarray of shape (n,)
        Ranks of the sizes of differences with their signs; 0 where there is no difference.

    Returns
    -------
    float
        The p-value: exact for at most `MOST_EXACT` differences.
    """
    sizes = np.abs(signed[signed != 0.0])
    if len(sizes) <= MOST_EXACT:
        return _exact_signed_rank_p(sizes, float(signed[signed > 0.0].sum()))
    # Each sign is the toss of a coin, so the variance of the sum is that of its terms. Ranks that
    # are tied or that zeros have taken are in there as they are.
    z = abs(float(signed.sum())) / float(np.sqrt((sizes**2).sum()))
    return float(2.0 * stats.norm.sf(z))


def _exact_signed_rank_p(sizes: FloatArray, of_positive: float) -> float:
    """Count all choices of signs; ties make no difference.

    The sum of ranks is a walk: each rank is added, or nothing is. Mean ranks are halves of whole
    numbers.
    """
    steps = np.rint(2.0 * sizes).astype(np.int64)
    up = round(2.0 * of_positive)
    whole = int(steps.sum())
    chances = np.zeros(whole + 1)
    chances[0] = 1.0
    for step in steps.tolist():
        chances[step:] = 0.5 * (chances[step:] + chances[: whole + 1 - step])
        chances[:step] *= 0.5
    return min(1.0, 2.0 * float(chances[: min(up, whole - up) + 1].sum()))


def holm(p_values: list[float]) -> list[float]:
    """Correct p-values by Holm: the smallest counts for all of them, the next for one less.

    Parameters
    ----------
    p_values : list of float
        The p-values.

    Returns
    -------
    list of float
        Corrected ones, in the same order.
    """
    plain = np.array(p_values)
    order = np.argsort(plain, kind="stable")
    factors = np.arange(len(plain), 0, -1)
    adjusted = np.empty(len(plain))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * plain[order]))
    return [float(value) for value in adjusted]
