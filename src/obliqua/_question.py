"""What a node asks, in words: the one place where splits become text.

A hyperplane ``a . x <= t`` is divided by its leading coefficient, that of the feature which
moves rows most, so that the equation is in units of one feature, and the other coefficients
are rates of exchange: in ``age + 0.37*bmi <= 45``, 1 unit of bmi counts as 0.37 of age.

A qualitative column is a score in such a sum. What its levels count is in units of the leading
number too, so a score has no coefficient: ``age + score(town) <= 45``, where Bonn counts 3.
"""

from __future__ import annotations

import numpy as np

from obliqua._layout import NodeKind
from obliqua._levels import asks_for_levels, level_branches, table_of
from obliqua._numbers import write_number as write_number  # readers find these here too
from obliqua._scores import missing_note, scores_of, written_number_column
from obliqua._sums import Question as Question
from obliqua._sums import Term as Term
from obliqua._surgery import check_node
from obliqua._typing import Int64Array
from obliqua.data import Encoding
from obliqua.errors import TreeError
from obliqua.tree import Tree

# Beside scores, a number gives the unit only if it moves rows at least by this share of what the
# leading term does. Others are there by rounding, and scores in their units are huge.
SMALLEST_UNIT = 1e-3


def question_of(tree: Tree, node: int, encoding: Encoding, scaled: bool = True) -> Question:
    """Read what a hyperplane asks.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A node that is a hyperplane.
    encoding : Encoding
        What the columns are.
    scaled : bool, default=True
        Whether to divide by the leading coefficient. If not, coefficients, their order and the
        threshold are the tree's own.

    Returns
    -------
    Question
        The question.
    """
    node = check_node(tree, node)
    if tree.kind[node] != NodeKind.HYPERPLANE:
        raise TreeError(f"Node {node} is no hyperplane, so it asks about no sum of features.")
    return read_plane(tree, int(tree.plane_ptr[node]), encoding, scaled, ranked=scaled)


def read_plane(
    tree: Tree, plane: int, encoding: Encoding, scaled: bool = True, ranked: bool = True
) -> Question:
    """Read one plane of a tree.

    Parameters
    ----------
    tree : Tree
        The tree.
    plane : int
        The plane.
    encoding : Encoding
        What the columns are.
    scaled : bool, default=True
        Whether to divide by the leading coefficient.
    ranked : bool, default=True
        Whether the term that moves rows most comes first. If not, terms stand in the order in
        which the tree adds them up.

    Returns
    -------
    Question
        The plane, as if it were a hyperplane's.
    """
    part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    coef, spread = tree.coef[part], tree.spread[part]
    order = np.arange(len(coef))
    if ranked:
        # Where a spread is not known, coefficients are ranked by their size alone.
        known = not np.isnan(spread).any()
        order = np.argsort(-np.abs(coef * spread if known else coef), kind="stable")
    threshold = float(tree.threshold[plane])
    divisor = _divisor(tree, part.start + order) if scaled else 1.0
    terms = tuple(_term(tree, k, encoding, divisor, scaled) for k in (part.start + order).tolist())
    relation = "<=" if divisor > 0 else ">="
    # 0.0 is added so that no threshold reads -0.
    return Question(terms, relation, threshold / divisor + 0.0, divisor=divisor)


def _divisor(tree: Tree, ranked: Int64Array) -> float:
    """Return what makes the leading coefficient 1, given coefficients in the order of terms."""
    if not len(ranked):
        return 1.0
    coef, spread = tree.coef[ranked], tree.spread[ranked]
    coded = tree.table_ptr[ranked + 1] > tree.table_ptr[ranked]
    largest = [np.abs(table_of(tree, k)).max(initial=0.0) for k in ranked.tolist()]
    if not coded.all():
        number = int(np.argmin(coded))  # the first that is no score
        effect = np.abs(coef * spread)
        moves = bool(effect[number] >= SMALLEST_UNIT * effect[0])
        divisor = float(coef[number]) if moves or not effect[0] > 0 else 0.0
    else:
        divisor = 0.0
    if divisor == 0.0 and coded[0]:  # the largest score of the leading column is the unit
        divisor = float(abs(coef[0]) * largest[0])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        sizes = np.abs(coef) * np.where(coded, np.maximum(largest, 1.0), 1.0)
        plane = tree.plane_of_coef[ranked[0]]
        scaled = np.append(sizes, tree.threshold[plane]) / divisor
    return divisor if np.isfinite(scaled).all() else 1.0


def _term(tree: Tree, k: int, encoding: Encoding, divisor: float, scaled: bool) -> Term:
    """Read one term of a sum."""
    column, coef, spread = int(tree.coef_idx[k]), float(tree.coef[k]), float(tree.spread[k])
    if tree.table_ptr[k] == tree.table_ptr[k + 1]:
        name = written_number_column(encoding.columns[column])
        return Term(column, name, coef / divisor, spread, float(tree.fill[k]))
    factor = coef / divisor if scaled else 1.0
    found = scores_of(tree, k, encoding, factor)
    assert found is not None
    if not scaled:
        return Term(column, found.term, coef, spread, scores=found)
    return Term(column, found.term, 1.0, abs(factor) * spread, scores=found)


def conditions(
    tree: Tree, node: int, encoding: Encoding, digits: int = 4, max_terms: int | None = None
) -> list[str]:
    """Write the condition of each branch of a node, whatever its kind.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        An inner node.
    encoding : Encoding
        What the columns are.
    digits : int, default=4
        How many significant digits to show.
    max_terms : int, default=None
        How many terms of a sum to show.

    Returns
    -------
    list of str
        A condition per child.
    """
    node = check_node(tree, node)
    kind = NodeKind(tree.kind[node])
    if kind == NodeKind.LEAF:
        return []
    if asks_for_levels(tree, node):
        limit = None if max_terms is None else 2 * max_terms
        return [branch.condition(limit) for branch in level_branches(tree, node, encoding)]
    if kind == NodeKind.HYPERPLANE:
        question = read_plane(tree, int(tree.plane_ptr[node]), encoding)
        return [question.sentence(left, digits, max_terms) for left in (True, False)]
    return [f"largest: {score}" for score in scores(tree, node, encoding, digits, max_terms)]


def scores(
    tree: Tree,
    node: int,
    encoding: Encoding,
    digits: int = 4,
    max_terms: int | None = None,
    ranked: bool = True,
) -> list[str]:
    """Write what the branches of a linear machine compare.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A linear machine.
    encoding : Encoding
        What the columns are.
    digits : int, default=4
        How many significant digits to show.
    max_terms : int, default=None
        How many terms of a sum to show.
    ranked : bool, default=True
        As in `read_plane`.

    Returns
    -------
    list of str
        A sum minus its threshold per child, ``2*size - 1`` for instance.
    """
    written = []
    for plane in range(int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1])):
        score = read_plane(tree, plane, encoding, scaled=False, ranked=ranked)
        formula = score.formula(digits, max_terms)
        away = score.write(abs(score.threshold), digits)
        if not formula:
            written.append(away if score.threshold <= 0 else f"-{away}")
        elif score.threshold == 0:
            written.append(formula)
        else:
            written.append(f"{formula} {'+' if score.threshold < 0 else '-'} {away}")
    return written


def stand_ins(
    tree: Tree,
    node: int,
    encoding: Encoding,
    digits: int = 4,
    max_terms: int | None = None,
    missing: bool = True,
) -> list[list[str]]:
    """Write what levels and missing values count in the sums of a linear machine.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A linear machine.
    encoding : Encoding
        What the columns are.
    digits : int, default=4
        How many significant digits to show.
    max_terms : int, default=None
        How many terms of a sum are shown; of a column twice as many levels are named.
    missing : bool, default=True
        Whether to say what stands in for missing numbers too.

    Returns
    -------
    list of list of str
        Notes, each in pieces: ``score(colour):``, ``red 1,``, ``blue 2``; and ``missing counts
        as:``, ``age 40``. None if no such column is shown.
    """
    terms: dict[int, Term] = {}  # the branches share columns
    for plane in range(int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1])):
        for term in read_plane(tree, plane, encoding, scaled=False).shown(max_terms):
            terms.setdefault(term.column, term)
    by_column = [terms[column] for column in sorted(terms)]
    limit = None if max_terms is None else 2 * max_terms
    notes = [
        term.scores.pieces(digits, max_levels=limit)
        for term in by_column
        if term.scores is not None
    ]
    fills = {term.name: term.centre for term in by_column if term.scores is None}
    return [*notes, *missing_note(fills, digits)] if missing else notes
