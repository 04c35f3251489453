"""What each feature adds to the answer for a row, on its way down the trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.target import Numbers
from obliqua.errors import TreeError
from obliqua.tree.layout import NodeKind
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from obliqua.words.numbers import MAX_DECIMALS
from obliqua.words.subject import (
    Coefficients,
    answers_of,
    distinct,
    goes_aside,
    lines_of,
    predicting,
    read_column,
    subject_of,
)

__all__ = ["Contributions", "contributions"]

#: How many bits of the largest sum the contributions have; the other two are for sums.
BITS = 51
LEAST_EXPONENT = -1074
#: Terms of a function that are together so many times what it can say are not shown as they are.
FAR_OFF = 8.0


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    """What each feature adds to the answers for rows; what `contributions` returns.

    For each row and output, ``bias + values.sum() + remainder`` is the prediction, bit for bit,
    in whatever order the values are added.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features, n_outputs)
        What each feature adds. Whole multiples of a power of two, which is the same for all rows
        of an output, so that their sums are not rounded.
    bias : ndarray of shape (n_outputs,)
        What the model says before it has looked at a row: the answer of the roots. A multiple of
        the same power of two.
    remainder : ndarray of shape (n_rows, n_outputs)
        What the prediction has beyond multiples of that power of two, at most half of it: about
        1e-15 of the largest answer, or 1e-14 where leaves say linear functions.
    prediction : ndarray of shape (n_rows, n_outputs)
        What the model says: `predict_proba`, or the numbers of `predict`.
    features : tuple of str
        The names of the features.
    outputs : tuple of str
        The names of the classes, or of the outputs.
    """

    values: FloatArray
    bias: FloatArray
    remainder: FloatArray
    prediction: FloatArray
    features: tuple[str, ...]
    outputs: tuple[str, ...]

    def text(
        self, row: int = 0, output: int | None = None, digits: int = 3, max_terms: int | None = 10
    ) -> str:
        """Say in words what adds up to the answer for a row.

        Parameters
        ----------
        row : int, default=0
            The row.
        output : int, default=None
            The number of the class, or of the output; None for the class with the largest share,
            or for the first output.
        digits : int, default=3
            How many significant digits the largest number has.
        max_terms : int, default=10
            How many features are named, the largest contributions first; None for all.

        Returns
        -------
        str
            A line for the answer, one for what is said of any row, and one for each feature that
            adds something.
        """
        said = self.prediction[row]
        place = int(np.argmax(said)) if output is None and len(said) > 1 else int(output or 0)
        values = self.values[row, :, place]
        order = [k for k in np.argsort(-np.abs(values), kind="stable").tolist() if values[k] != 0]
        shown = order if max_terms is None else order[:max_terms]
        terms = [(float(values[k]), self.features[k]) for k in shown]
        if len(shown) < len(order):
            rest = float(values[order[len(shown) :]].sum())
            terms.append((rest, f"({len(order) - len(shown)} more)"))
        numbers = [float(self.bias[place]), *(value for value, _ in terms)]
        largest = max(map(abs, numbers))
        decimals = digits - 1 - math.floor(math.log10(largest)) if largest > 0 else 0
        decimals = min(max(decimals, 0), MAX_DECIMALS)
        written = [f"{value:{'+' if k else ''}.{decimals}f}" for k, value in enumerate(numbers)]
        width = max(map(len, written))
        names = ["for any row", *(name for _, name in terms)]
        head = f"{self.outputs[place]}: {float(said[place]):.{decimals}f}"
        lines = [f"  {a.rjust(width)}  {b}" for a, b in zip(written, names, strict=True)]
        return "\n".join([head, *lines])

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return (
            f"Contributions({len(self)} rows, {len(self.features)} features, "
            f"{len(self.outputs)} {'output' if len(self.outputs) == 1 else 'outputs'})"
        )


def contributions(model: Any, X: Any, *, tree: int | None = None) -> Contributions:
    """Share out the answer for each row among the features that led to it.

    A row starts with what the root says. At each split on its way the answer changes from that of
    the node to that of the child, and this change belongs to the features of the split. So the
    contributions of all features, and the answer of the root, add up to the prediction. With
    several trees they are combined as the answers are.

    Parameters
    ----------
    model : estimator, Model or Tree
        What the rows walk.
    X : array-like of shape (n_rows, n_features)
        The rows.
    tree : int, default=None
        Which tree of a model with several; None for all of them together.

    Returns
    -------
    Contributions
        Values, bias, names; and what is written in words by `Contributions.text`.

    Raises
    ------
    TreeError
        If trees about classes are added up, where shares below 0 are cut.

    Notes
    -----
    A split about one feature, numbers or levels, gives all of its change to that feature. An
    oblique split shares its change out among the features that have *pushed* the row to the side
    where it went, in proportion to how far: ``coefficient * (value - stand-in)`` in the direction
    of that side. The stand-in is what the tree would take for a missing value, a mean of training
    rows; levels count from 0, the middle of their scores. A feature that pulled the other way, or
    is as usual, gets nothing. So the parts have the sign of the change and are never larger than
    it, however close the pushes of all features together come to 0. If nothing has pushed, or
    stand-ins are not known, the change is shared out by ``|coefficient| * spread``, as in
    `importances`. Where a split sends a row aside because it misses something, the change belongs
    to the features that are missing. At a linear machine the push is that of the branch that won
    beyond the mean of all branches.

    Where leaves say linear functions, all nodes have one, and say what it says of the row. So the
    function of the root is taken apart first: each feature adds ``coefficient * (value - mean)``,
    and what the limits of the function take away is taken from all, by their size. Then comes what
    changes at each split because another function counts. Far from the training rows, where the
    terms are together more than eight times what the function can say, they are shared out as a
    split is.

    With ``combine="vote"`` a node says its class and no other, so a change is a changed vote.

    Exactly: two doubles that differ by a third one need more digits than it has (0.05 - 1/3 is no
    double), so contributions alone cannot add up to every prediction. They are rounded to
    multiples of a power of two, about 1e-15 of the largest answer, of which sums are exact; what
    that leaves over goes to the largest contribution of the row. The digits of the prediction
    beyond such multiples are `Contributions.remainder`.

    These are not Shapley values: a feature gets what changed at its own splits, given the splits
    above, and nothing for what did not happen. ``python -m benchmarks.contributions`` compares
    them with exact Shapley values for 17 models on six tables. Contributions were off by 0.49 of
    their size, on average, and correlated by 0.89; if oblique splits were shared out by
    ``|coefficient| * spread`` for all rows alike it would be 0.66 and 0.77, and by pushes with
    their signs 5.3 and 0.38, as they cancel. On iris, where features go together, spreads were
    slightly better.

    Examples
    --------
    >>> from obliqua import TreeBuilder
    >>> from obliqua.explain import contributions
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0}, 3.0, ("low", "high"))
    >>> builder.add_split("high", {0: 1.0, 1: 1.0}, 9.0, ("near", "far"), fill={0: 4.0, 1: 4.0})
    >>> builder.set_leaf("low", [8, 0], 8)
    >>> builder.set_leaf("near", [4, 0], 4)
    >>> builder.set_leaf("far", [0, 4], 4)
    >>> found = contributions(builder.build(), [[5.0, 7.0]])
    >>> found.values[0, :, 1]
    array([0.375, 0.375])
    >>> print(found.text())
    1: 1.000
       0.250  for any row
      +0.375  x0
      +0.375  x1
    """
    container, rows = predicting(model)
    if tree is not None:
        container = _one_tree(container, subject_of(model, tree=tree).tree)
    _check(container)
    Z = rows(X)
    said = container.predict_proba(Z) if container.n_classes else container.predict(Z)
    said = np.asarray(said, dtype=np.float64).reshape(len(Z), -1)
    raw = np.zeros((len(Z), container.encoding.n_columns, said.shape[1]))
    bias, reach = np.zeros((2, said.shape[1]))
    for member in container.trees:
        said_by = _Answers.of(member, container)
        bias += said_by.start
        reach += said_by.reach
        if not np.isfinite(reach).all():
            raise TreeError(
                "The numbers in the nodes of this model are so large that their differences are "
                "infinite. Fit it to numbers in another unit."
            )
        _add_changes(said_by, Z, raw)
    values, bias, remainder = _exactly(raw, bias, reach, said)
    names = distinct(container.encoding.names)
    return Contributions(values, bias, remainder, said, names, distinct(answers_of(container)))


def _one_tree(container: Model, tree: Tree) -> Model:
    """Return a model of one tree of several."""
    classes = container.classes[:0] if tree.task == Numbers.task else container.classes
    return Model((tree,), "single", container.encoding, classes)


def _check(container: Model) -> None:
    """Raise for answers that are not sums of what nodes say."""
    if container.adds_up and container.n_classes:
        raise TreeError(
            "The trees of this model are added up to shares, and those below 0 are cut, so that "
            "contributions would not add up to them. Ask about one tree: tree=0 is the first."
        )


@dataclass(frozen=True, eq=False)
class _Answers:
    """What the nodes of a tree add to the answer of a model."""

    tree: Tree
    node_values: FloatArray  # of constants: by node and output
    factor: float  # what the values of linear functions are multiplied with

    @classmethod
    def of(cls, tree: Tree, container: Model) -> _Answers:
        """Read what the nodes of one tree of a model say."""
        n_trees = len(container.trees)
        alone = container.combine == "pairs" and n_trees == 1
        if not container.n_classes:
            factor = 1.0 / n_trees if container.combine == "mean" else 1.0
            return cls(tree, tree.mean * factor, factor)
        if container.combine in ("single", "mean") or alone:
            return cls(tree, tree.proportion / n_trees, 1.0)
        votes = np.eye(container.n_classes)[tree.leaf_label]
        if container.combine == "vote":
            return cls(tree, votes / n_trees, 1.0)
        # Pairs: a vote each, and for ties shares that all together never outweigh one.
        votes += tree.proportion / (n_trees + 1)
        return cls(tree, votes / (n_trees + n_trees / (n_trees + 1)), 1.0)

    @property
    def start(self) -> FloatArray:
        """What is said of any row: the mean of the root, or its function if that is constant."""
        tree = self.tree
        if not tree.has_lines or tree.leaf_ptr[1]:
            return np.asarray(self.node_values[0])
        return np.clip(tree.leaf_intercept[:1], tree.leaf_low[0], tree.leaf_high[0]) * self.factor

    @cached_property
    def largest(self) -> FloatArray:
        """The largest size of what each node can say by its function, or of its mean."""
        tree = self.tree
        limits = np.maximum(np.abs(tree.leaf_low), np.abs(tree.leaf_high))[:, None] * self.factor
        return np.maximum(limits, np.abs(self.node_values)) if tree.has_lines else limits

    @property
    def reach(self) -> FloatArray:
        """A bound of what all changes on a way can add up to, whatever their signs."""
        tree, values, largest = self.tree, self.node_values, self.largest
        sums = np.abs(values)
        with np.errstate(over="ignore", invalid="ignore"):
            # The terms, what they leave over, and both for rounding.
            sums[0] += 4 * FAR_OFF * largest[0] if tree.has_lines else 0.0
            for depth in range(1, tree.depth + 1):
                here = np.flatnonzero(tree.node_depth == depth)
                above = tree.parent[here]
                change = np.abs(values[here] - values[above])
                if tree.has_lines:
                    change = largest[here] + largest[above]
                sums[here] = sums[above] + change
        return np.asarray(sums.max(axis=0))

    def said(self, Z: AnyArray, row: Int64Array, node: Int64Array) -> FloatArray:
        """Return what nodes say of rows, each of one."""
        if self.tree.has_lines:
            return self.tree.line_values(Z[row], node)[:, None] * self.factor
        return np.asarray(self.node_values[node])


def _add_changes(answers: _Answers, Z: AnyArray, raw: FloatArray) -> None:
    """Add what changes on the ways of all rows to the features of the splits."""
    tree = answers.tree
    path = tree.decision_path(Z)
    row = np.repeat(np.arange(len(Z)), np.diff(path.indptr))
    said = answers.said(Z, row, path.indices.astype(np.int64))
    if tree.has_lines and tree.leaf_ptr[1]:
        _add_function(answers, said[path.indptr[:-1]] - answers.start, Z, raw)
    below = np.flatnonzero(row[1:] == row[:-1]) + 1 if len(row) else row
    row, child, change = row[below], path.indices[below].astype(np.int64), said[below]
    change = change - said[below - 1]
    moved = change.any(axis=1)
    row, child, change = row[moved], child[moved], change[moved]
    node = tree.parent[child]
    alone = tree.n_node_features[node] == 1
    first = tree.coef_ptr[tree.plane_ptr[node[alone]]]
    np.add.at(raw, (row[alone], tree.coef_idx[first]), change[alone])
    slanted = np.flatnonzero(tree.n_node_features[node] > 1)
    order = slanted[np.argsort(child[slanted], kind="stable")]
    starts = np.flatnonzero(np.diff(child[order], prepend=-1))
    for at in np.split(order, starts[1:]) if len(order) else ():
        here, taken = int(node[at[0]]), int(child[at[0]])
        columns, share = _shares(tree, here, taken - int(tree.first_child[here]), Z[row[at]])
        for k, column in enumerate(columns.tolist()):
            raw[row[at], column] += share[:, k, None] * change[at]


def _add_function(answers: _Answers, change: FloatArray, Z: AnyArray, raw: FloatArray) -> None:
    """Add what the function of the root says beyond its mean to the features of the function."""
    tree, lines = answers.tree, lines_of(answers.tree)
    terms = slice(0, int(tree.leaf_ptr[1]))
    size = np.abs(lines.coef[terms])
    if not np.isnan(lines.spread[terms]).any():
        size = size * lines.spread[terms]
    with np.errstate(over="ignore", invalid="ignore"):
        added = np.stack([lines.coef[k] * _away(lines, k, Z) for k in range(terms.stop)], axis=1)
        added *= answers.factor
        # The limits of the function, and rounding, leave something over.
        left_over = change - added.sum(axis=1, keepdims=True)
        parts = added + left_over * _proportions(np.abs(added), size)
        usual = np.abs(added).sum(axis=1) <= FAR_OFF * answers.largest[0]
    pushed = _proportions(np.sign(change) * added, size) * change
    raw[:, tree.leaf_idx[terms], 0] += np.where(usual[:, None], parts, pushed)


def _away(tree: Coefficients, k: int, Z: AnyArray) -> FloatArray:
    """Return how far rows are from what is usual in what a coefficient is multiplied with."""
    usual = 0.0 if tree.table_ptr[k] < tree.table_ptr[k + 1] else tree.fill[k]
    return read_column(tree, k, Z) - usual


def _shares(tree: Tree, node: int, branch: int, Z: AnyArray) -> tuple[Int64Array, FloatArray]:
    """Share the change at a split out among its columns, for rows that take one branch."""
    planes = range(*tree.plane_ptr[node : node + 2].tolist())
    first, last = tree.coef_ptr[[planes.start, planes.stop]].tolist()
    columns, place = np.unique(tree.coef_idx[first:last], return_inverse=True)
    push = np.zeros((len(Z), len(columns)))
    if tree.kind[node] == NodeKind.MACHINE:
        factor = np.full(len(planes), -1.0 / len(planes))
        factor[branch] += 1.0
    else:
        factor = np.array([1.0 if branch else -1.0])
    size = np.zeros(len(columns))
    known = not np.isnan(tree.spread[first:last]).any()
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(first, last):
            away = tree.coef[k] * _away(tree, k, Z)
            push[:, place[k - first]] += factor[tree.plane_of_coef[k] - planes.start] * away
            spread = tree.spread[k] if known else 1.0
            size[place[k - first]] += abs(tree.coef[k]) * spread
    aside = goes_aside(tree, planes.start, Z)
    push[aside] = np.isnan(Z[aside][:, columns])
    return columns.astype(np.int64), _proportions(push, size)


def _proportions(push: FloatArray, size: FloatArray) -> FloatArray:
    """Return the shares of what is above 0 in each row; those of sizes where nothing is."""
    # A push that is not known is none, and beside one that is infinite no other counts.
    pushed = np.where(push > 0, push, 0.0)
    endless = np.isinf(pushed)
    pushed = np.where(endless.any(axis=1, keepdims=True), endless, pushed)
    instead = np.where(np.isfinite(size), size, 0.0)
    pushed = np.where(pushed.any(axis=1, keepdims=True), pushed, instead)
    pushed = np.where(pushed.any(axis=1, keepdims=True), pushed, 1.0)
    # Divided by the largest first, so that neither huge nor tiny numbers get lost.
    pushed = pushed / pushed.max(axis=1, keepdims=True)
    return np.asarray(pushed / pushed.sum(axis=1, keepdims=True))


def _exactly(
    raw: FloatArray, bias: FloatArray, reach: FloatArray, said: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Round contributions so that they add up exactly to the rounded prediction.

    What rounding has left over goes to the largest contribution of the row, the first at ties.
    """
    exponent = np.maximum(np.frexp(reach)[1] - BITS, LEAST_EXPONENT)
    units = np.rint(np.ldexp(raw, -exponent))
    start = np.rint(np.ldexp(bias, -exponent))
    end = np.rint(np.ldexp(said, -exponent))
    left_over = end - start - units.sum(axis=1)
    place = np.argmax(np.abs(units), axis=1)[:, None, :]
    largest = np.take_along_axis(units, place, axis=1)
    # Where nothing contributes there is no row to tell from another, and nothing is left over
    # but rounding of the answer.
    corrected = np.where(largest != 0, largest + left_over[:, None, :], largest)
    np.put_along_axis(units, place, corrected, axis=1)
    values, bias = np.ldexp(units, exponent), np.ldexp(start, exponent)
    return values, bias, said - (bias + values.sum(axis=1))
