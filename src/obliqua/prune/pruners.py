"""Pruners: which rows grow a tree, which ones prune it, and how; and their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, Protocol, runtime_checkable

from obliqua._typing import GoodnessFunction
from obliqua.criteria import Criterion, get_criterion
from obliqua.data.problem import Problem
from obliqua.data.table import MAX_ROWS
from obliqua.prune.cost_complexity import cost_complexity_path, prune_by_folds, prune_on_rows
from obliqua.prune.division import hold_out
from obliqua.prune.pessimistic import prune_pessimistic
from obliqua.prune.reduced_error import prune_reduced_error
from obliqua.tree.spread import measure_spread_of_grown
from obliqua.tree.tree import Tree

__all__ = [
    "NUMBER_PRUNERS",
    "PRUNERS",
    "Pruned",
    "Pruner",
    "Seedless",
    "get_pruner",
    "grow_pruned",
]


Grow = Callable[[Problem], Tree]

#: Up to so many rows 'auto' cross-validates; `benchmarks.defaults` has measured it.
MOST_CROSS_VALIDATED = 3_000


class Pruned(NamedTuple):
    """A pruned tree, and the rows that it was grown from.

    Parameters
    ----------
    tree : Tree
        The tree.
    rows : Problem
        All rows, or those that were not held out. On these the spread of the features in its
        splits is measured.
    """

    tree: Tree
    rows: Problem


@runtime_checkable
class Pruner(Protocol):
    """What `pruning` of an estimator takes beside a name: any object with this method.

    See Also
    --------
    get_pruner : The pruners by name.

    Examples
    --------
    One that leaves a split only where at least so many rows are:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import CartClassifier, collapse
    >>> from obliqua.prune import Pruned
    >>> class LargeNodes:
    ...     def __init__(self, n_samples):
    ...         self.n_samples = n_samples
    ...     def prune(self, problem, grow, seed):
    ...         tree = grow(problem)
    ...         small = np.flatnonzero(~tree.is_leaf & (tree.n_samples < self.n_samples))
    ...         return Pruned(collapse(tree, small), problem)
    >>> X, y = load_iris(return_X_y=True)
    >>> CartClassifier(pruning=LargeNodes(40)).fit(X, y).get_n_leaves()
    6
    """

    def prune(self, problem: Problem, grow: Callable[[Problem], Tree], seed: int) -> Pruned:
        """Grow a tree and cut it back.

        Parameters
        ----------
        problem : Problem
            All rows.
        grow : callable
            Grows a tree from a problem: from all rows, or from some of them, as often as need be.
        seed : int
            The seed of a division of rows, see `hold_out` and `folds`. A pruner that has no use
            for it may say so: it derives from `Seedless`.

        Returns
        -------
        Pruned
            The tree, and the rows that it was grown from.
        """


class Seedless:
    """Base of pruners that draw nothing at random: another seed gives the same tree."""


@dataclass(frozen=True)
class AtPrice(Seedless):
    """Cost complexity at a price per leaf; 0 leaves the tree as it has grown."""

    ccp_alpha: float = 0.0
    prune_root: bool = False

    def prune(self, problem: Problem, grow: Grow, seed: int) -> Pruned:
        """Grow a tree and cut it back; see `Pruner`."""
        return Pruned(self.cut(grow(problem)), problem)

    def cut(self, tree: Tree) -> Tree:
        """Cut a tree back."""
        if not self.ccp_alpha:
            return tree
        return cost_complexity_path(tree, self.prune_root).at_alpha(self.ccp_alpha)


@dataclass(frozen=True)
class OnHeldOutRows(ABC):
    """Base of pruners that hold out a share of the weight; the other rows grow the tree.

    With too few rows to hold one out, all of them grow the tree, and it stays as it is.
    """

    prune_fraction: float = 0.1
    prune_root: bool = False

    def prune(self, problem: Problem, grow: Grow, seed: int) -> Pruned:
        """Grow a tree and cut it back; see `Pruner`."""
        whole, held = hold_out(problem, self.prune_fraction, seed)
        if not held.any():
            return Pruned(grow(problem), problem)
        rows = whole.take(~held)
        return Pruned(self._cut(grow(rows), whole.take(held)), rows)

    @abstractmethod
    def _cut(self, tree: Tree, held: Problem) -> Tree:
        """Cut a tree back by rows that it was not grown from."""


@dataclass(frozen=True)
class HoldOut(OnHeldOutRows):
    """Cost complexity, with the price per leaf that is best for held-out rows."""

    n_se: float = 0.0  # how many standard errors above the fewest errors a smaller tree may be

    def _cut(self, tree: Tree, held: Problem) -> Tree:
        return prune_on_rows(tree, held, self.n_se, self.prune_root)


@dataclass(frozen=True)
class ReducedError(OnHeldOutRows):
    """Each split is cut that held-out rows do not need."""

    def _cut(self, tree: Tree, held: Problem) -> Tree:
        return prune_reduced_error(tree, held, self.prune_root)


@dataclass(frozen=True)
class CrossValidation:
    """Cost complexity, with a price per leaf chosen by cross-validation."""

    n_folds: int = 10
    n_se: float = 0.0
    prune_root: bool = False

    def prune(self, problem: Problem, grow: Grow, seed: int) -> Pruned:
        """Grow a tree and cut it back; see `Pruner`."""
        n_folds = min(self.n_folds, MAX_ROWS)  # more make no difference
        tree = prune_by_folds(problem, grow, n_folds, self.n_se, self.prune_root, seed)
        return Pruned(tree, problem)


@dataclass(frozen=True)
class BySize:
    """Cross-validation of few rows, held-out rows where there are many."""

    prune_fraction: float = 0.1
    n_folds: int = 10
    n_se: float = 0.0
    prune_root: bool = False

    def prune(self, problem: Problem, grow: Grow, seed: int) -> Pruned:
        """Grow a tree and cut it back; see `Pruner`."""
        few = problem.n_counted <= MOST_CROSS_VALIDATED
        return get_pruner("cv" if few else "holdout", **asdict(self)).prune(problem, grow, seed)


@dataclass(frozen=True)
class Pessimistic(Seedless):
    """Each split is cut that promises no fewer errors by C4.5's estimate."""

    confidence_factor: float = 0.25  # smaller values prune more
    prune_root: bool = False
    subtree_raising: bool = False  # whether a split may be replaced by its largest branch
    criterion: str | GoodnessFunction | Criterion | None = None  # of gains where one was

    def prune(self, problem: Problem, grow: Grow, seed: int) -> Pruned:
        """Grow a tree and cut it back; see `Pruner`."""
        tree = prune_pessimistic(
            grow(problem),
            problem,
            confidence_factor=self.confidence_factor,
            prune_root=self.prune_root,
            criterion=None if self.criterion is None else get_criterion(self.criterion),
            subtree_raising=self.subtree_raising,
        )
        return Pruned(tree, problem)


#: The pruners by name. Their fields have the names of the estimators' parameters.
PRUNERS: dict[str, Callable[..., Pruner]] = {
    "auto": BySize,
    "holdout": HoldOut,
    "cv": CrossValidation,
    "reduced_error": ReducedError,
    "pessimistic": Pessimistic,
}

#: Those of them that know what errors are where numbers are learnt.
NUMBER_PRUNERS = tuple(name for name in PRUNERS if name != "pessimistic")


def get_pruner(pruning: str | Pruner | None, **parameters: Any) -> Pruner:
    """Find a pruner by its name, or take one.

    Parameters
    ----------
    pruning : {"auto", "holdout", "cv", "reduced_error", "pessimistic"}, Pruner or None
        Cost complexity on held-out rows or by cross-validation, or the one or the other by the
        number of rows, reduced error on held-out rows, pessimistic estimates on the training rows,
        an object of one's own, which is returned as it is, or None for a tree that stays as it
        has grown.
    **parameters
        Parameters of pruning, as estimators have them: `prune_fraction`, `n_folds`, `n_se`,
        `prune_root`, `confidence_factor`, `subtree_raising`, `criterion`; a number as `ccp_alpha`
        takes the place of `pruning`. A pruner takes those that it has.

    Returns
    -------
    Pruner
        The pruner.

    Raises
    ------
    ValueError
        If there is no pruner of that name.
    TypeError
        If it is neither a name nor an object with a method `prune`.

    Examples
    --------
    >>> from obliqua.prune import get_pruner
    >>> get_pruner("cv", n_folds=5, prune_fraction=0.2)
    CrossValidation(n_folds=5, n_se=0.0, prune_root=False)
    """
    made: Any = AtPrice
    if parameters.get("ccp_alpha") is None and pruning is not None:
        names = f"one of {', '.join(PRUNERS)}, None, or an object with a method 'prune'"
        if isinstance(pruning, type):
            raise TypeError(
                f"pruning is {names}. Got a class: give an object of it, such as "
                f"{pruning.__name__}()."
            )
        if isinstance(pruning, Pruner):
            return pruning
        if not isinstance(pruning, str):
            raise TypeError(f"pruning is {names}. Got {pruning!r}.")
        if pruning not in PRUNERS:
            raise ValueError(f"There is no pruning {pruning!r}. Use {names}.")
        made = PRUNERS[pruning]
    known: dict[str, Any] = {field.name: field.default for field in fields(made)}
    # As plain numbers, whatever types of NumPy they come in.
    given = {
        name: value if known[name] is None else type(known[name])(value)
        for name, value in parameters.items()
        if name in known and value is not None
    }
    pruner: Pruner = made(**given)
    return pruner


def grow_pruned(
    problem: Problem,
    grow: Callable[[Problem], Tree],
    pruner: Pruner,
    seed: int,
    n_threads: int = 1,
) -> Tree:
    """Grow a tree and prune it.

    Parameters
    ----------
    problem : Problem
        The data.
    grow : callable
        Grows a tree from a problem.
    pruner : Pruner
        How to prune.
    seed : int
        Seed of the division of rows.
    n_threads : int, default=1
        How many threads may measure the features of the tree's splits.

    Returns
    -------
    Tree
        The pruned tree, with the spread of the features in its splits; with more than 1,000
        leaves only of splits with several features.

    Raises
    ------
    TypeError
        If a pruner returns something else than `Pruned`.
    """
    pruned = pruner.prune(problem, grow, seed)
    if not isinstance(pruned, Pruned):
        raise TypeError(
            "A pruner must return Pruned(tree, rows): the tree, and the problem that it was grown "
            f"from. {type(pruner).__name__}.prune returned {type(pruned).__name__}."
        )
    tree, rows = pruned
    # Only of the tree that is kept, and on the rows that it was grown from.
    return measure_spread_of_grown(tree, rows.Z, rows.weights, n_threads)
