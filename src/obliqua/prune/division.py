"""Dividing rows at random, by what is in them.

A row's place depends on a hash of its values and label and on the seed. Equal rows stay together,
and weights count as rows, so neither the order of the rows nor writing a row twice instead of
giving it weight 2 changes the division.
"""

from __future__ import annotations

import numpy as np

from obliqua._core.rng import row_hashes
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.data import Problem

__all__ = ["folds", "hold_out", "take"]


def _places(problem: Problem, seed: int) -> tuple[Int64Array, FloatArray, FloatArray]:
    """Group of each row, and per group where its weight begins and how much it has.

    Groups are sets of equal rows in the order of their hashes, laid end to end by weight.
    """
    hashes = row_hashes(problem.Z, problem.y.astype(np.int64), seed & (2**64 - 1))
    _, group = np.unique(hashes, return_inverse=True)
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    size = np.bincount(group, weights=weights)
    return group, np.cumsum(size) - size, size


def hold_out(problem: Problem, fraction: float, seed: int) -> BoolArray:
    """Choose rows to hold out.

    Parameters
    ----------
    problem : Problem
        The data.
    fraction : float
        The share of the weight to hold out, between 0 and 1.
    seed : int
        The seed.

    Returns
    -------
    ndarray of bool, of shape (n_rows,)
        The rows held out: as many as come nearest to ``round(fraction * weight)``. There is
        always something left to grow from.
    """
    group, begin, size = _places(problem, seed)
    target = np.rint(fraction * size.sum())
    end = begin + size
    # The group on the boundary goes where it leaves the smaller error.
    held = end - target <= target - begin
    held[-1] = False
    return np.asarray(held[group])


def folds(problem: Problem, n_folds: int, seed: int) -> Int64Array:
    """Number the rows with folds of about equal weight.

    Parameters
    ----------
    problem : Problem
        The data.
    n_folds : int
        The number of folds.
    seed : int
        The seed.

    Returns
    -------
    ndarray of int, of shape (n_rows,)
        A fold number per row. With fewer different rows than folds, some folds are empty.
    """
    group, begin, size = _places(problem, seed)
    middle = (begin + size / 2) / size.sum()
    return np.minimum((middle * n_folds).astype(np.int64), n_folds - 1)[group]


def take(problem: Problem, rows: BoolArray) -> Problem:
    """Return the problem of some of the rows."""
    return Problem(
        problem.Z[rows],
        problem.y[rows],
        None if problem.weights is None else problem.weights[rows],
        problem.unit,
        problem.n_classes,
        problem.encoding,
    )
