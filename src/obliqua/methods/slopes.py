"""Slopes: directions along which the numbers of a node rise, fall or bend.

At a node: the direction of least squares, for each of five outputs; those that part the rows above
the .1, .3, .5, .7 and .9 quantile of the numbers from the others (sliced inverse regression, Li
1991); and the two in which what least squares leave over bends most (principal Hessian directions,
Li 1992).
A hyperplane must earn its coefficients beside a cut of one feature.

The work is compiled (`obliqua._core.methods.slopes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from obliqua._core.base.target import TargetRows
from obliqua._core.methods.model_slopes import ModelSlopeFinder
from obliqua._core.methods.slopes import SlopeFinder
from obliqua._typing import FloatArray
from obliqua.data.problem import Problem
from obliqua.engine.compiled import CompiledSide, Task, check_rows, fewest_rows
from obliqua.engine.linear_leaves import model_rows
from obliqua.engine.moments import ClassSums, FixedPoint
from obliqua.engine.passes import NodeJudge, Search
from obliqua.methods.slope_sums import MOST_FITS, planned_slopes

__all__ = ["ModelSlopes", "Slopes"]

N_SLICES = 6


class SlopeSettings(NamedTuple):
    """What the compiled side reads."""

    target_rows: TargetRows
    row_unit: float
    price: float
    min_rows: int
    model: FloatArray | None = None  # the rows of linear functions
    penalty: float = 0.0  # on their coefficients, in units of weight
    oblique: bool = True
    discriminants: bool = True
    superclasses: bool = False


@dataclass(frozen=True)
class Slopes(CompiledSide):
    """Looks along slopes at a node, where numbers are learnt.

    Parameters
    ----------
    price : float, default=1.0
        What each coefficient of a hyperplane beyond the first must earn, in units of the
        criterion of Schwarz; 0 for nothing.
    min_rows : int or "2p" or None, default="2p"
        Nodes with fewer rows get axis-parallel splits only; "2p": nodes with at most twice as
        many rows as features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obliqua import ObliqueTreeRegressor
    >>> from obliqua.methods.slopes import Slopes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = ObliqueTreeRegressor(Slopes(price=0.5), max_leaf_nodes=3, pruning=None)
    >>> tree.fit(X, y).get_n_leaves()
    3
    """

    _finder: ClassVar[Any] = SlopeFinder
    has_price: ClassVar[bool] = True

    price: float = 1.0
    min_rows: int | str | None = "2p"

    def __post_init__(self) -> None:
        check_rows(self.min_rows)
        if not self.price >= 0.0:
            raise ValueError(f"price must be at least 0; got {self.price!r}.")

    def needs_rows(self) -> str | None:
        """Say what must see the rows of a node: nothing."""
        return None

    def planned(
        self,
        finder: Any,
        judge: NodeJudge,
        ranges: tuple[FloatArray, FloatArray],
        grid: FixedPoint,
    ) -> Search[tuple[int, ClassSums]]:
        """Let a finder plan from sums over the rows of a node.

        Parameters
        ----------
        finder, judge, ranges, grid
            As for `CompiledSide`.

        Returns
        -------
        generator
            The search, which returns the number of tasks, and sums of all rows.
        """
        return planned_slopes(finder, judge, ranges, grid)

    def _n_groups(self, problem: Problem) -> int:
        """Return the number of slices."""
        return N_SLICES

    def _settings(self, task: Task) -> SlopeSettings:
        problem = task.problem
        return SlopeSettings(
            problem.target_rows,
            problem.row_unit,
            self.price,
            fewest_rows(self.min_rows, problem.n_features),
        )

    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        if number < N_SLICES - 1:
            return f"numbers above quantile {0.1 + 0.2 * number:.1f}"
        number -= N_SLICES - 1
        return f"least squares {number}" if number < MOST_FITS else f"bend {number - MOST_FITS}"


@dataclass(frozen=True)
class ModelSlopes(Slopes):
    """Looks along slopes, and single columns, for a tree whose leaves are linear functions.

    Parameters
    ----------
    price, min_rows
        As for `Slopes`.
    penalty : float, default=1.0
        What the sum of the squared coefficients of a linear function costs, in rows, in columns
        that are standardised by all rows.
    oblique : bool, default=True
        Whether there are other directions than single columns.
    """

    _finder: ClassVar[Any] = ModelSlopeFinder
    looks_at_axes: ClassVar[bool] = True

    penalty: float = 1.0
    oblique: bool = True

    def needs_rows(self) -> str | None:
        """Say what must see the rows of a node: linear functions are fitted to them."""
        return "a tree whose leaves say linear functions"

    def _settings(self, task: Task) -> SlopeSettings:
        problem = task.problem
        return (
            super()
            ._settings(task)
            ._replace(
                model=model_rows(problem).matrix,
                penalty=self.penalty / problem.row_unit,
                oblique=self.oblique,
            )
        )
