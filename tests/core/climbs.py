"""Nodes for OC1's climb: some rows, and both sides that climb there."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.adapter import exact_measure, library_solve, twin_data
from obliqua._core.base.linalg import py_eigen
from obliqua.criteria import CRITERIA
from obliqua.data.problem import Problem, encode
from obliqua.engine.compiled import Task
from obliqua.engine.moments import spread, weight_shift
from obliqua.methods.oc1 import Climb
from reference import hhcart, search
from reference.oc1 import SlowClimb, guided_split


def draw_problem(
    seed: int, n_classes: int, weighted: bool, ties: bool, separable: bool = False
) -> Problem:
    """Some rows with a constant column, duplicates and, if wanted, many equal values.

    Classes are drawn, or lie one after the other along a direction.
    """
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 100)), int(rng.integers(3, 6))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-2, 3, size=p)
    if ties:
        X = np.round(X / X.std(axis=0))
    X[:, 0] = np.abs(X[:, 0])  # never negative: not shifted unless it is scaled
    X[:, -1] = 3.0
    X[n // 2] = X[0]
    y = rng.integers(0, n_classes, size=n)
    y[:n_classes] = np.arange(n_classes)
    if separable:
        place = np.unique(X @ rng.normal(size=p), return_inverse=True)[1]
        y = place * n_classes // (place.max() + 1)
    weights = rng.integers(1, 4, size=n) if weighted else None
    return encode(X, y.astype(np.int32), n_classes, weights)


def load(
    problem: Problem,
    climb: Climb,
    code: int,
    min_rows: int,
    key: int,
    scale: Any = None,
    max_features: int | None = None,
) -> Any:
    """The compiled climb, with all rows of a problem in one node."""
    scale = np.ones(problem.n_features) if scale is None else scale
    shift = weight_shift(problem.total_weight)
    finder = climb.finder(Task(problem, problem.n_rows, shift, scale, max_features))
    weight = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    counts = np.bincount(problem.y, weights=weight, minlength=problem.n_classes)
    rows = np.arange(problem.n_rows, dtype=np.int32)
    limits = (code, min_rows, 0)
    n_tasks = finder.load(
        problem.Z, rows, problem.target_rows, counts.astype(np.int64), limits, key
    )
    assert n_tasks == climb.n_restarts
    return finder


def shown_by_guide(
    problem: Problem, guided: str, criterion: str, min_rows: int, scale: Any, most: int | None
) -> search.Split | None:
    """What the twin of HHCART shows a climb to start with."""
    options = hhcart.Options(
        variant="dominant",
        tau=2.0 if guided == "fisher" else 0.05,  # 2: no mirror is farther from an axis
        scale=scale,
        fisher=guided == "fisher",
        max_features=most,
        spread=lambda rows: spread(problem, rows.astype(np.int32)),
        eigen=py_eigen,
        solve=library_solve,
    )
    return guided_split(
        hhcart.Node(
            twin_data(problem),
            np.arange(problem.n_rows),
            search.score_function(CRITERIA[criterion].code),
            search.Limits(min_rows),
            options,
            exact_measure(problem),
        )
    )


def slow_climb(
    problem: Problem,
    climb: Climb,
    criterion: str,
    min_rows: int,
    scale: Any = 1.0,
    max_features: int | None = None,
) -> SlowClimb:
    """The slow climb on the same rows, which stand class by class, as on the compiled side."""
    order = np.argsort(problem.y, kind="stable")
    weight = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    settings = {k: v for k, v in vars(climb).items() if k not in ("min_rows", "guided")}
    return SlowClimb(
        np.asarray(problem.Z, dtype=np.float64)[order],
        problem.y[order],
        np.asarray(weight, dtype=np.float64)[order],
        CRITERIA[criterion],
        **settings,
        min_rows=min_rows,
        guide=climb.guided
        and shown_by_guide(problem, climb.guided, criterion, min_rows, scale, max_features),
        scale=scale,
        max_features=max_features,
    )
