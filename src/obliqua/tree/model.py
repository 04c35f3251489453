"""`Model`: one or more trees, how their answers are combined, and what they are about."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.encoding import Encoding
from obliqua.data.table import columns_by_name, encoded_rows
from obliqua.data.target import Classes, Numbers
from obliqua.errors import TreeError
from obliqua.tree.packed import PackedTrees
from obliqua.tree.tree import Tree, as_rows

__all__ = ["COMBINATIONS", "Model"]

#: How the trees of a model can be combined.
COMBINATIONS = ("single", "vote", "mean", "pairs", "sum", "log_odds")
# Those that add up what trees say, which may be numbers where there are classes.
_ADDED_UP = ("sum", "log_odds")
# Those that make sense of numbers.
_OF_NUMBERS = ("single", "mean", "sum")

# What a tree of a sum may have per training row. Shares are at most 1, and what is left over of
# n rows is never above the root of n; with larger numbers 1 would be lost in rounding.
MOST_ADDED = 2.0**30


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """What a fitted classifier or regressor is.

    Parameters
    ----------
    trees : sequence of Tree
        The trees, over the same columns, and classes or outputs. They become a tuple, but for
        `PackedTrees`, which stay as they are; a packed tree is made when it is asked for.
    combine : {"single", "vote", "mean", "pairs", "sum", "log_odds"}
        With one tree ``"single"``: the answer is the tree's. With several, ``"vote"`` counts
        for how many trees a class is the largest in the leaf, ``"mean"`` takes the mean of the
        shares of the classes in the leaves, and ``"pairs"``, for trees about two classes each,
        counts as ``"vote"`` does, but settles ties by the sums of the shares. With ``"sum"``
        each tree adds to equal shares, for each class, by how much the class's sum in the leaf
        is above the mean over the classes, per training row there; a tree of numbers, with an
        output for each class, by how much its number is above their mean. With ``"log_odds"``
        all trees are of numbers, with an output for each class: their sums are logarithms of
        odds, and the shares are the softmax of them, as in boosting. Ties go to the first
        class. Numbers can be ``"single"``, a ``"mean"`` or a ``"sum"``.
    encoding : Encoding
        What the columns are.
    classes : ndarray of shape (n_classes,)
        The labels of the classes; none if the model says numbers.
    """

    trees: Sequence[Tree]
    combine: str
    encoding: Encoding
    classes: AnyArray

    def __post_init__(self) -> None:
        state = self.__dict__  # frozen: fields are set here and nowhere else
        if not isinstance(self.trees, PackedTrees):
            state["trees"] = tuple(self.trees)
        state["classes"] = np.asarray(self.classes)
        known = state["classes"].tolist() if state["classes"].ndim == 1 else []
        if len(set(known)) < len(known) or any(label != label for label in known):
            raise ValueError(
                f"The classes of a model must differ, and none is NaN; got {reprlib.repr(known)}."
            )
        if self.combine not in COMBINATIONS:
            raise ValueError(
                f"combine must be one of {', '.join(COMBINATIONS)}; got {self.combine!r}."
            )
        if not self.trees or (self.combine == "single" and len(self.trees) != 1):
            raise ValueError(
                "A model has at least one tree, and exactly one if combine is 'single'; got "
                f"{len(self.trees)} and combine={self.combine!r}."
            )
        if self.task == Numbers.task and self.combine not in _OF_NUMBERS:
            raise ValueError(
                f"Without classes a model says numbers, and combine must be one of "
                f"{', '.join(_OF_NUMBERS)}; got {self.combine!r}."
            )
        # Packed trees are alike in what is checked.
        alike = self._packed
        checked: Sequence[Tree | PackedTrees] = self.trees if alike is None else [alike]
        for number, tree in enumerate(checked):
            self._check_tree(tree, number)

    def _check_tree(self, tree: Tree | PackedTrees, number: int) -> None:
        """Raise if a tree does not belong to this model."""
        n_columns, numbers = self.encoding.n_columns, tree.task == Numbers.task
        if self.task == Numbers.task:
            fits, wanted = numbers, (n_columns, self.n_outputs)
        else:
            # What is added to the shares of classes may be numbers; logarithms of odds are.
            fits = numbers if self.combine == "log_odds" else not numbers or self.adds_up
            wanted = (n_columns, self.n_classes)
        if self.combine == "log_odds" and not fits:
            raise TreeError(
                "The trees of combine='log_odds' say a number for each class; tree "
                f"{number} is one of {tree.task}."
            )
        if not fits:
            raise TreeError(
                f"A model with {self.n_classes} classes has trees of {self.task}; tree {number} "
                f"is one of {tree.task}."
            )
        got = (tree.n_features, tree.n_outputs if numbers else tree.n_classes)
        if got != wanted:
            what = "classes" if self.n_classes else "outputs"
            raise TreeError(
                f"The trees of this model must have {wanted[0]} columns and {wanted[1]} {what}; "
                f"tree {number} has {got[0]} and {got[1]}."
            )
        if isinstance(tree, Tree) and tree.costs and self.combine == "mean":
            raise TreeError(
                f"Tree {number} has costs of mistakes, and a mean of shares knows none. Let trees "
                "vote (combine='vote', coding='votes'), or grow them without costs."
            )
        if isinstance(tree, Tree) and self.adds_up and self.n_classes:
            _check_added(tree, number)

    @classmethod
    def of_tree(cls, tree: Tree) -> Model:
        """Make a model of one tree, whose columns and classes are numbered.

        Parameters
        ----------
        tree : Tree
            The tree.

        Returns
        -------
        Model
            The model.
        """
        n_classes = tree.n_classes if tree.task == Classes.task else 0
        return cls((tree,), "single", Encoding.identity(tree.n_features), np.arange(n_classes))

    @property
    def _packed(self) -> PackedTrees | None:
        """The trees, if they are packed and a mean of them is asked for."""
        packed = isinstance(self.trees, PackedTrees) and self.combine == "mean"
        return self.trees if packed else None  # type: ignore[return-value]

    @property
    def task(self) -> str:
        """What was learnt: ``"classification"``, or ``"regression"`` if there are no classes."""
        return Classes.task if len(self.classes) else Numbers.task

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 if the model says numbers."""
        return len(self.classes)

    @property
    def n_outputs(self) -> int:
        """The number of numbers that the model says of a row; 1 if it says a class."""
        if self.n_classes:
            return 1
        return self._packed.n_outputs if self._packed else self.trees[0].n_outputs

    @property
    def adds_up(self) -> bool:
        """Whether trees say what is added up, and no answers of their own."""
        return self.combine in _ADDED_UP

    @property
    def _depth(self) -> int:
        """The depth of the deepest tree."""
        return self._packed.depth if self._packed else max(tree.depth for tree in self.trees)

    @property
    def _n_leaves(self) -> int:
        """The leaves of all trees together."""
        if self._packed:
            return len(self._packed.leaf_rows)
        return sum(tree.n_leaves for tree in self.trees)

    @cached_property
    def _only(self) -> Tree | None:
        """The tree whose answer is the model's, if there is one."""
        return self.trees[0] if len(self.trees) == 1 else None

    @cached_property
    def _only_label(self) -> Int64Array:
        """The answer in each leaf of the only tree."""
        tree = self.trees[0]
        return tree.mean.argmax(axis=1) if tree.task == Numbers.task else tree.leaf_label

    @cached_property
    def added(self) -> tuple[FloatArray, ...]:
        """What each tree of a sum about classes adds to `start`, by node."""
        means = [_per_row(tree) for tree in self.trees]
        if self.combine == "log_odds":
            return tuple(means)
        return tuple(mean - mean.mean(axis=1, keepdims=True) for mean in means)

    @property
    def start(self) -> float:
        """What a sum about classes starts from, for each of them."""
        return 0.0 if self.combine == "log_odds" else 1.0 / self.n_classes

    @cached_property
    def takes_missing(self) -> bool:
        """Whether values may be missing: False if a tree has splits without anything for them."""
        return self._packed is not None or all(
            len(t.fill) == 0 or bool(np.isfinite(t.fill).any() or t.missing_side.any())
            for t in self.trees
        )

    def rows(self, X: Any) -> AnyArray:
        """Make the matrix that the trees walk of rows as a user has them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows. The columns of a frame are found by name: they may stand in any order,
            and others beside them are left out. Values may be missing if `takes_missing`.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            float32 or float64. Levels of qualitative columns are codes, -1 for a level that
            the model does not know; what is missing is NaN.

        Raises
        ------
        ValueError
            If columns are missing, or if a column cannot be read as it was when the model was
            fitted: if it has infinite numbers, for instance.
        """
        X = columns_by_name(X, self.encoding.names)
        return as_rows(encoded_rows(X, self.encoding, self.takes_missing), self.encoding.n_columns)

    def predict_index(self, Z: AnyArray, n_threads: int = 1) -> Int64Array:
        """Predict the number of each row's class.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        ndarray of int64, of shape (n_rows,)
            Positions in `classes`.

        Raises
        ------
        TreeError
            If the model says numbers.
        """
        self._require_classes("numbers of classes")
        tree = self._only
        if tree is not None:
            return self._only_label.take(tree.apply(Z, n_threads))
        index: Int64Array = self._sums(Z, n_threads).argmax(axis=1).astype(np.int64, copy=False)
        return index

    def predict(self, Z: AnyArray, n_threads: int = 1) -> AnyArray:
        """Predict the class of each row, or the numbers that were learnt.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_outputs) for several outputs
            Labels out of `classes`, or numbers.
        """
        if not self.n_classes:
            return self._numbers(Z, n_threads)
        return self.classes.take(self.predict_index(Z, n_threads))

    def predict_proba(self, Z: AnyArray, n_threads: int = 1) -> FloatArray:
        """Predict the share of each class.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The shares, which add up to 1. With ``"vote"`` they are shares of the votes; with
            ``"pairs"`` too, but for a vote or less in all that goes by the shares in the leaves.
            With ``"sum"`` what would be below 0 is 0, and the others are less in proportion;
            with ``"log_odds"`` they are the softmax of the sums.

        Raises
        ------
        TreeError
            If the model says numbers.
        """
        self._require_classes("shares of classes")
        tree = self._only
        if tree is not None and not (self.combine == "vote" or self.adds_up):
            return tree.proportion.take(tree.apply(Z, n_threads), axis=0)
        sums = self._sums(Z, n_threads)
        if self.combine == "log_odds":
            sums = np.exp(sums - sums.max(axis=1, keepdims=True))
        if self.combine == "sum":
            sums = np.maximum(sums, 0.0)  # they add up to 1, so one of them is above 0
        if self.combine == "pairs" or self.adds_up:
            # From the first class to the last, as exports add them too.
            return np.asarray(sums / np.add.accumulate(sums, axis=1)[:, -1:])
        return sums / len(self.trees)

    def apply(self, Z: AnyArray, n_threads: int = 1) -> Int64Array:
        """Find the leaf that each row reaches in each tree.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        ndarray of int64, of shape (n_rows,) or (n_rows, n_trees)
            Node numbers. One dimension if `combine` is ``"single"``.
        """
        if self.combine == "single":
            return self.trees[0].apply(Z, n_threads)
        if self._packed:
            return self._packed.apply(Z, n_threads).astype(np.int64)
        return np.stack([tree.apply(Z, n_threads) for tree in self.trees], axis=1)

    def _require_classes(self, what: str) -> None:
        if not self.n_classes:
            raise TreeError(
                f"This model says numbers and has no {what}. predict returns the numbers."
            )

    def _numbers(self, Z: AnyArray, n_threads: int) -> FloatArray:
        """Return what the leaves say, added up one tree after another."""
        if self._packed:
            total = self._packed.sums(Z, n_threads)
        else:
            total = self.trees[0].predict(Z, n_threads)
            for tree in self.trees[1:]:
                total += tree.predict(Z, n_threads)
        if self.combine == "mean":
            total /= len(self.trees)
        return total[:, 0] if self.n_outputs == 1 else total

    def _sums(self, Z: AnyArray, n_threads: int) -> FloatArray:
        """Add up what the trees say, one after another: votes, shares or logarithms of odds."""
        if self.adds_up:
            sums = np.full((len(Z), self.n_classes), self.start)
            for tree, added in zip(self.trees, self.added, strict=True):
                sums += added.take(tree.apply(Z, n_threads), axis=0)
            return sums
        if self._packed:
            return self._packed.sums(Z, n_threads)
        votes = np.zeros((len(Z), self.n_classes))
        shares = np.zeros_like(votes)
        for tree in self.trees:
            leaves = tree.apply(Z, n_threads)
            if self.combine != "mean":
                votes[np.arange(len(votes)), tree.leaf_label.take(leaves)] += 1.0
            if self.combine != "vote":
                shares += tree.proportion.take(leaves, axis=0)
        # All shares together are as many as there are trees: they never outweigh a vote.
        return (
            votes + shares / (len(self.trees) + 1) if self.combine == "pairs" else votes + shares
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Only the fields, not what was computed from them.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return (
            self.combine == other.combine
            and self.encoding == other.encoding
            and self.classes.dtype == other.classes.dtype
            and np.array_equal(self.classes, other.classes)
            and self.trees == other.trees
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        trees = "1 tree" if len(self.trees) == 1 else f"{len(self.trees)} trees"
        said = f"{self.n_classes} classes"
        if not self.n_classes:
            said = "1 output" if self.n_outputs == 1 else f"{self.n_outputs} outputs"
        return (
            f"Model({trees}, combine={self.combine!r}, {self.encoding.n_columns} columns, {said})"
        )


def _per_row(tree: Tree) -> FloatArray:
    """Return what a tree of a sum has for each class, per training row of each node."""
    if tree.task == Numbers.task:
        return tree.mean
    return np.asarray(tree.stats / np.maximum(tree.n_samples, 1)[:, None])


def _check_added(tree: Tree, number: int) -> None:
    """Raise if a tree cannot be one of a sum."""
    if tree.has_lines:
        raise TreeError(
            "The trees of a sum about classes say constants in their leaves; those of tree "
            f"{number} say linear functions."
        )
    rows = tree.n_samples[tree.is_leaf]
    if tree.task == Classes.task and (rows < 1).any():
        raise TreeError(
            "The trees of a sum count per training row, so each leaf must have rows; "
            f"tree {number} has leaves without any."
        )
    added = _per_row(tree)[tree.is_leaf]
    most = float((np.abs(added) if tree.task == Numbers.task else added).max(initial=0.0))
    if most > MOST_ADDED:
        raise TreeError(
            f"The trees of a sum say of a class at most {MOST_ADDED:.0f} per training row; "
            f"tree {number} has {most:.6g} in a leaf."
        )
