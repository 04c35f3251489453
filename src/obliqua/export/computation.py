"""What an exported model computes: the one description from which all exports are written.

The page docs/concepts/exported.md says it in words. A row goes down each tree to a leaf; what the
leaves say is put together as `Computation.finish` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.encoding import QUALITATIVE, Column
from obliqua.data.target import Numbers
from obliqua.errors import TreeError
from obliqua.tree.layout import NodeKind
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from obliqua.words.subject import predicting

#: The factor that keeps terms finite where they overflow, as the walk of a tree has it.
SMALL = 2.0**-200


@dataclass(frozen=True, eq=False)
class Part:
    """One tree of a computation.

    Parameters
    ----------
    tree : Tree
        The tree, which finds the leaf of a row.
    said : ndarray of shape (n_nodes, n_answers)
        What a leaf says: the number of each class, or of each output. Where leaves say linear
        functions, the mean, which holds if a function gives no number.
    chosen : ndarray of int64, of shape (n_nodes,)
        The class that a leaf chooses; all 0 if numbers are said.
    """

    tree: Tree
    said: FloatArray
    chosen: Int64Array


@dataclass(frozen=True, eq=False)
class Computation:
    """A model as an export sees it: trees, what their leaves say, and the last step.

    Parameters
    ----------
    model : Model
        The model.
    rows : callable
        Makes the matrix that the trees walk of rows as a user has them.
    """

    model: Model
    rows: Callable[[Any], AnyArray]

    @classmethod
    def of(cls, model: Any) -> Computation:
        """See a fitted estimator, a model or a tree as a computation."""
        return cls(*predicting(model))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a row, in order."""
        return self.model.encoding.columns

    @property
    def says_numbers(self) -> bool:
        """Whether the answer is numbers, no class."""
        return self.model.task == Numbers.task

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.model.trees)

    @property
    def n_answers(self) -> int:
        """How many numbers a leaf says: one for each class, or for each output."""
        return self.model.n_classes or self.model.n_outputs

    @cached_property
    def finish(self) -> str:
        """How the answer is made of what the leaves say.

        ``leaf``: the only leaf's. ``vote``: the number of leaves that choose a class. ``mean``:
        the sum of what leaves say over their number. ``pairs``: votes, and the sum over one more
        than their number. ``sum`` and ``log_odds``: `start` and the sum.
        """
        only = self.n_trees == 1 and self.model.combine in ("single", "mean", "pairs")
        return "leaf" if only else self.model.combine

    @property
    def start(self) -> float:
        """What sums start from."""
        return self.model.start if self.model.adds_up and self.model.n_classes else 0.0

    @property
    def leaf_chooses(self) -> bool:
        """Whether the class is the one that the only leaf chooses, whatever sums are."""
        return self.n_trees == 1

    def parts(self) -> Iterator[Part]:
        """Go through the trees, one at a time."""
        for number in range(self.n_trees):
            yield self.part(number)

    def part(self, number: int) -> Part:
        """Return a tree with what its leaves say."""
        tree = self.model.trees[number]
        if self.says_numbers:
            return Part(tree, tree.mean, np.zeros(tree.n_nodes, dtype=np.int64))
        if tree.task == Numbers.task:  # added up for classes
            return Part(tree, self.model.added[number], tree.mean.argmax(axis=1))
        if self.finish == "sum":
            said: FloatArray = self.model.added[number]
        elif self.model._packed is not None and self.finish == "mean":
            said = _packed_shares(self.model, number, tree)
        else:
            said = tree.proportion
        return Part(tree, said, tree.leaf_label)

    @cached_property
    def size(self) -> tuple[int, int, int]:
        """The number of nodes, of coefficients and of entries of level tables in all trees."""
        packed = self.model._packed
        if packed is not None:  # without making each tree
            plain = int(np.count_nonzero((packed.child >= 0) & (packed.column >= 0)))
            return len(packed.child), plain + len(packed.coef), packed.level.size
        trees = self.model.trees
        return (
            sum(tree.n_nodes for tree in trees),
            sum(len(tree.coef) + len(tree.leaf_coef) for tree in trees),
            sum(len(tree.table) + len(tree.leaf_table) for tree in trees),
        )

    def refuse_machines(self, what: str) -> None:
        """Raise if a tree has a linear machine, for a format that cannot express one."""
        if self.model._packed is not None:
            return
        for number, tree in enumerate(self.model.trees):
            found = np.flatnonzero(tree.kind == NodeKind.MACHINE)
            if len(found):
                raise TreeError(
                    f"Node {found[0]} of tree {number} is a linear machine, which {what} cannot "
                    "express. export_c, export_javascript and export_json take it."
                )


def _packed_shares(model: Model, number: int, tree: Tree) -> FloatArray:
    """Return the shares of classes as a packed forest adds them up."""
    packed = model._packed
    assert packed is not None
    weight = packed.leaf_weight[packed.leaf_ptr[number] : packed.leaf_ptr[number + 1]]
    shares = tree.proportion.copy()
    shares[tree.is_leaf] = tree.stats[tree.is_leaf] / weight[:, None]
    return shares


def raw_value(column: Column, entry: float) -> Any:
    """Return an entry of a row as a user has it: a level, a number, or None if it is missing."""
    if entry != entry:
        return None
    if column.kind != QUALITATIVE:
        return float(entry)
    code = int(entry)
    others = column.others and code == len(column.levels) - 1
    return column.levels[code] if code >= 0 and not others else unknown_level(column)


def unknown_level(column: Column) -> Any:
    """Return a level that a column does not know, of the type of those that it knows."""
    known = set(column.levels)
    if column.text is not False:
        marks = ("?" * n for n in range(1, len(known) + 2))
        return next(mark for mark in marks if mark not in known)
    return next(number for number in range(-1, -len(known) - 3, -1) if number not in known)
