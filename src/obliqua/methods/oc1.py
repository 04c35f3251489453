"""OC1: climbing from several starts, helped out by random jumps (Murthy, Kasif, Salzberg 1994).

At a node a hyperplane starts at the best axis-parallel split, later ones start at random. One
coefficient after the other is set to its best value, all others being fixed. Where no change of
one helps, the hyperplane jumps to the best place along a random direction, if that is better. The
best hyperplane of all starts is the split, if it is better than the axis-parallel one.

The work is compiled (`obliqua._core.methods.climb`); what is decided here is what is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from obliqua._core.methods.climb import ClimbFinder
from obliqua._typing import FloatArray
from obliqua.criteria import get_criterion
from obliqua.data.problem import Problem
from obliqua.engine.compiled import CompiledSide, Journal, Task, fewest_rows
from obliqua.engine.moments import feature_scale, weight_shift
from obliqua.methods.hhcart import Householder

__all__ = ["Climb", "Step", "follow_climb"]

GUIDES = {"fisher": "Fisher's direction", "householder": "HHCART's direction"}


@dataclass(frozen=True)
class Climb(CompiledSide):
    """What OC1 proposes at a node. The engine asks its compiled side.

    Parameters
    ----------
    n_restarts : int, default=20
        Starts at a node, the axis-parallel one included.
    n_jumps : int, default=5
        Random jumps that are tried before a climb is given up.
    order : {"sequential", "best", "random"}, default="sequential"
        Which coefficient changes next: one after the other; the one that gains most; any.
    n_picks : int or None, default=None
        Coefficients that the order "random" picks; None: ten times as many as there are.
    stagnation : {"program", "paper"}, default="program"
        Changes without gain: a number of them, or with a chance that falls each time.
    most_equal : int or None, default=None
        The number of them: made for certain, or until the chance is 0; None: 11, and 10.
    perturb_constant : bool, default=False
        Whether the constant is one of the coefficients that change.
    jump_search : {"exact", "program"}, default="exact"
        Whether jumps go to the best place of all, or to what the program takes for it.
    axis_start : bool, default=True
        Whether the first start is the best axis-parallel split.
    min_rows : int or float, default=2.0
        Nodes with fewer rows get axis-parallel splits only; a float: with at most so many rows
        per feature.
    from_zero : bool, default=False
        Whether features count from their smallest value at the node, also where all are positive.
    guided : {"fisher", "householder"} or None, default=None
        Whether one start is the best of Fisher's directions, or of HHCART(D)'s.
    selection : {"backward", "forward"} or None, default=None
        Whether features that matter little are left out after a climb, or join one by one.
    beta : float, default=0.2
        How little that is, as a share of what matters most, or of what was gained so far.
    journal : Journal
        Who is told how much was tried.
    """

    _finder = ClimbFinder

    n_restarts: int = 20
    n_jumps: int = 5
    order: str = "sequential"
    n_picks: int | None = None
    stagnation: str = "program"
    most_equal: int | None = None
    perturb_constant: bool = False
    jump_search: str = "exact"
    axis_start: bool = True
    min_rows: float = 2.0
    from_zero: bool = False
    guided: str | None = None
    selection: str | None = None
    beta: float = 0.2
    journal: Journal = field(default_factory=Journal)

    def __post_init__(self) -> None:
        self._check_choices(
            order=("sequential", "best", "random"),
            stagnation=("program", "paper"),
            jump_search=("exact", "program"),
            guided=("fisher", "householder", None),
            selection=("backward", "forward", None),
        )

    def _settings(self, task: Task) -> _Settings:
        guide = None
        if self.guided is not None and not task.helper:
            # No mirror is farther from an axis than tau = 2, so Fisher's directions are alone.
            fisher = self.guided == "fisher"
            shown = Householder("dominant", 2.0 if fisher else 0.05, fisher=fisher)
            guide = shown.finder(task)
        fewest = fewest_rows(self.min_rows, task.problem.n_features)
        equal = self.most_equal
        if equal is None:
            equal = 10 if self.stagnation == "paper" else 11
        return _Settings(**vars(replace(self, min_rows=fewest, most_equal=equal)), guide=guide)

    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        if number == 0 and self.axis_start:
            return "climb from the best axis-parallel split"
        if number == int(self.axis_start) and self.guided is not None:
            return f"climb from {GUIDES[self.guided]}"
        return f"climb from start {number} of {self.n_restarts}"


@dataclass(frozen=True)
class _Settings(Climb):
    """What the compiled side reads: a climb, and who shows it where to start."""

    guide: Any = None


class Step(NamedTuple):
    """Where a hyperplane is: the rows with ``x @ normal > threshold`` are on its right side.

    Parameters
    ----------
    normal : ndarray of shape (n_features,)
        Its coefficients, of the features as they are in the data.
    threshold : float
        The negative of its constant.
    goodness : float
        What it is worth as a split, by the criterion; -1 with all rows on one side.
    """

    normal: FloatArray
    threshold: float
    goodness: float


def follow_climb(
    problem: Problem,
    climb: Climb,
    start: int = 0,
    *,
    criterion: str = "twoing",
    scale: str | None = None,
    key: int = 0,
) -> list[Step]:
    """Run one start of a climb on all rows and tell the way of the hyperplane.

    It is what a tree that is grown from the same problem with the same `key` does at its root.

    Parameters
    ----------
    problem : Problem
        The data: numbers only, none missing.
    climb : Climb
        How to climb.
    start : int, default=0
        The number of the start; 0 is the best axis-parallel split.
    criterion : str, default="twoing"
        What makes a split good; one of the library's own.
    scale : {"standard", "robust", "minmax"} or None, default=None
        What the features are divided by. With any of them `climb` should have `from_zero`, as the
        estimator does it.
    key : int, default=0
        Seed of the random numbers.

    Returns
    -------
    list of Step
        Where the hyperplane starts, and where each change of a coefficient and each jump leads;
        a goodness of -1 stands for a hyperplane with all rows on one side.

    Raises
    ------
    ValueError
        If there is no such start, if the node is too small to climb, if features are qualitative
        or have missing values, or if the criterion is a function.

    Examples
    --------
    >>> from obliqua.data import encode
    >>> from obliqua.datasets import make_pol
    >>> from obliqua.methods.oc1 import Climb, follow_climb
    >>> X, y = make_pol(2000, return_X_y=True)
    >>> way = follow_climb(encode(X, (y == "2").astype("int32"), 2), Climb())
    >>> way[0].normal
    array([0., 1.])
    >>> way[-1].goodness > way[0].goodness
    True
    """
    if not 0 <= start < climb.n_restarts:
        raise ValueError(f"start must be from 0 to {climb.n_restarts - 1}; got {start}.")
    if problem.coded.any():
        raise ValueError(
            "follow_climb takes numbers only; this problem has qualitative features or missing "
            "values. Leave these columns out."
        )
    measure = get_criterion(criterion)
    if measure.code < 0:
        raise ValueError("follow_climb takes the library's own criteria by name, no function.")
    shift = weight_shift(problem.total_weight)
    factors = feature_scale(problem, scale)
    finder = climb.finder(Task(problem, problem.n_rows, shift, factors))
    n_tasks = finder.load(
        problem.Z,
        np.arange(problem.n_rows, dtype=np.int32),
        problem.target_rows,
        problem.counts,
        (measure.code, 1, 0),
        key,
    )
    if start >= n_tasks:
        raise ValueError(
            f"{problem.n_rows} rows of {problem.n_features} features are too few to climb; see "
            "min_rows."
        )
    return [Step(*step) for step in finder.follow(start)]
