"""Dividing rows at random, by what is in them.

A row's place depends on a hash of its values and label and on the seed. Equal rows stay together,
and weights count as rows, so neither the order of the rows nor writing a row twice instead of
giving it weight 2 changes the division.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from obliqua._core.rng import row_hashes
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.data import Problem

__all__ = ["folds", "hold_out", "take"]


def _groups(problem: Problem, seed: int) -> tuple[Int64Array, FloatArray]:
    """Return the group of each row and the weight of each group.

    A group is a set of equal rows; groups are numbered in the order of their hashes, which is
    a random one. Weights are in grid units, whole numbers, so their sums are exact.
    """
    hashes = row_hashes(problem.Z, problem.y.astype(np.int64), seed & (2**64 - 1))
    _, group = np.unique(hashes, return_inverse=True)
    return group, np.bincount(group, weights=problem.weights).astype(np.float64)


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
        The rows held out. Rows are taken in a random order; one that would lead further away
        from ``fraction`` of the weight, or just as far on its other side, is passed over. So
        there may be none if there are few rows. There is always a row that is not held out.
    """
    group, size = _groups(problem, seed)
    target = fraction * float(size.sum())
    held = np.zeros(len(size), dtype=bool)
    weight, start = 0.0, 0
    while True:
        # What is heavier than twice the rest cannot lead nearer, now or later.
        fitting = start + np.flatnonzero(size[start:] < 2 * (target - weight))
        if len(fitting) == 0:
            break
        end = weight + np.cumsum(size[fitting])
        nearer = end + (end - size[fitting]) < 2 * target
        n_taken = len(fitting) if nearer.all() else int(np.argmin(nearer))
        held[fitting[:n_taken]] = True
        if n_taken == len(fitting):
            break
        weight = float(end[n_taken] - size[fitting[n_taken]])
        start = int(fitting[n_taken]) + 1
    if held.all():
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
    group, size = _groups(problem, seed)
    end = np.cumsum(size)
    middle = (end - size / 2) / end[-1]
    return np.minimum((middle * n_folds).astype(np.int64), n_folds - 1)[group]


def take(problem: Problem, rows: BoolArray) -> Problem:
    """Return the problem of some of the rows."""
    weights = None if problem.weights is None else problem.weights[rows]
    return replace(problem, Z=problem.Z[rows], y=problem.y[rows], weights=weights)
