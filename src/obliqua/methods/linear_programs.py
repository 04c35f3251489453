"""Directions by linear programming: the hyperplane with the least misclassified distance.

For two groups of rows the robust linear program of Bennett and Mangasarian (1992) finds a
hyperplane ``x . w = g`` with the least sum of the mean distances, in units of the margin, by which
rows of either group are on the wrong side of their margin::

    min  sum over rows of c_i max(0, 1 - s_i (x_i . w - g))

``s_i`` is 1 in one group and -1 in the other, ``c_i`` the weight of the row over its group's.
With two classes they are the groups. With more, each class is parted from all others, and two
superclasses from each other, which 2-means of the class means finds as in QUEST.

Solved is the dual, which has a constraint per feature and a variable per row, ``0 <= u_i <= c_i``;
the multipliers of its constraints are w and g.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.engine.proposals import Directions, NodeView, Settings, check_classes
from obliqua.methods.quest import two_groups

__all__ = ["LinearPrograms"]

MAX_CLASSES = 32
NOISE = 1e-12  # of the largest value: a column that varies by less is constant


class _Rows(NamedTuple):
    """Different rows in an order of their content, in standard units."""

    X: FloatArray  # of the columns that vary
    y: Int64Array  # classes that are there, numbered from 0
    weight: FloatArray
    classes: Int64Array  # their codes
    spread: FloatArray  # what columns were divided by; 0 where one does not vary


@dataclass(frozen=True)
class LinearPrograms(Settings):
    """Looks along hyperplanes that linear programs find at a node.

    Parameters
    ----------
    superclasses : bool, default=True
        Whether two superclasses are parted too, where there are more than three classes. With up
        to three, one of two is a single class, which is looked at anyway.

    References
    ----------
    .. [1] K. P. Bennett, O. L. Mangasarian (1992). Robust linear programming discrimination of two
       linearly inseparable sets. *Optimization Methods and Software* 1, 23-34.
    .. [2] K. P. Bennett (1992). Decision tree construction via linear programming. *Proceedings of
       the 4th Midwest Artificial Intelligence and Cognitive Science Society Conference*, 97-101.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obliqua import ObliqueTreeClassifier
    >>> from obliqua.methods.linear_programs import LinearPrograms
    >>> X, y = load_wine(return_X_y=True)
    >>> ObliqueTreeClassifier(LinearPrograms(), pruning=None).fit(X, y).get_n_leaves()
    3
    """

    superclasses: bool = True

    def propose(self, node: NodeView) -> Directions | None:
        """Propose the normals of a node.

        Parameters
        ----------
        node : NodeView
            The rows, their classes and their weights.

        Returns
        -------
        Directions or None
            One direction for two classes; else one for each class, at most for the 32 heaviest,
            and one for the superclasses. None if no program has an answer.

        Raises
        ------
        ProposerError
            If numbers are learnt.
        """
        check_classes(node, "LinearPrograms")
        rows = _ordered(node)
        normals, labels = [], []
        for label, group in self._groups(rows) if rows.X.shape[1] else []:
            normal = _parting(rows, group)
            if normal is not None:
                normals.append(normal)
                labels.append(label)
        return Directions(np.array(normals), labels=labels) if normals else None

    def _groups(self, rows: _Rows) -> list[tuple[str, BoolArray]]:
        """Say which rows are to be parted from all others, and what to call it."""
        mass: FloatArray = np.bincount(rows.y, rows.weight).astype(np.float64)
        heaviest = np.sort(np.argsort(-mass, kind="stable")[:MAX_CLASSES])
        if len(mass) == 2:
            heaviest = heaviest[:1]  # the other way round it is the same
        groups = [(f"class {rows.classes[c]} against the rest", rows.y == c) for c in heaviest]
        if self.superclasses and len(mass) > 3:
            sums = [np.bincount(rows.y, rows.weight * column) for column in rows.X.T]
            group = two_groups(np.column_stack(sums) / mass[:, None], mass)
            if 1 < group.sum() < len(mass) - 1:  # or a class against the rest does it
                groups.append(("superclass", group[rows.y]))
        return groups


def _ordered(node: NodeView) -> _Rows:
    """Put rows into an order of their content, equal ones as one, columns in standard units."""
    classes, y = np.unique(node.y, return_inverse=True)
    # Relative to the largest values squares can neither overflow nor vanish; and no -0.0.
    largest = np.abs(node.X).max(axis=0)
    X = node.X / np.where(largest > 0, largest, 1.0) + 0.0
    # By a power of two, so that a weight of 2 stays the same as having the row twice.
    weight = np.ldexp(node.sample_weight, -np.frexp(node.sample_weight.max())[1])
    order = np.lexsort((weight, *X.T, y))
    X, y, weight = X[order], y[order], weight[order]
    new = np.append(True, (np.diff(y) != 0) | (X[1:] != X[:-1]).any(axis=1))
    weight = np.add.reduceat(weight, np.flatnonzero(new))
    X, y = X[new], y[new]
    X = X - (weight[:, None] * X).sum(axis=0) / weight.sum()
    spread = np.sqrt((weight[:, None] * X**2).sum(axis=0) / weight.sum())
    varies = spread > NOISE
    units = np.where(varies, spread * largest, 0.0)
    return _Rows(X[:, varies] / spread[varies], y, weight, classes, units)


def _parting(rows: _Rows, group: BoolArray) -> FloatArray | None:
    """Return the normal of the best hyperplane between a group of rows and the others."""
    n, p = rows.X.shape
    side = np.where(group, 1.0, -1.0)
    # Costs are about 1, whatever the number of rows: the solver's tolerances are absolute.
    cost = rows.weight * n / 2.0
    for part in (group, ~group):
        cost[part] /= max(float(rows.weight[part].sum()), NOISE)
    found = linprog(
        -np.ones(n),
        A_eq=np.vstack([(side[:, None] * rows.X).T, side]),
        b_eq=np.zeros(p + 1),
        bounds=np.column_stack([np.zeros(n), cost]),
        method="highs-ds",
    )
    if found.status != 0 or not found.eqlin.marginals[:p].any():
        return None  # the groups have equal means, and no hyperplane is better than any other
    normal = np.zeros(len(rows.spread))
    used = rows.spread > 0
    with np.errstate(over="ignore"):  # a row that is not finite is passed over
        normal[used] = -found.eqlin.marginals[:p] / rows.spread[used]
    return normal
