"""The best axis-parallel split of each node, found anew from rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from obliqua._typing import AnyArray
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem, encode, encode_numbers
from obliqua.data.table import Table
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.pages.given_rows import GivenRows
from obliqua.plot._rows import Sample
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.subject import Subject


def axis_splits(
    subject: Subject, sample: Sample, rows: GivenRows, nodes: AnyArray, criterion: Criterion
) -> dict[int, Tree]:
    """Grow an axis-parallel tree of one split from the rows of some nodes.

    Its sides are those of the node, as far as they can be: most rows stay on theirs.
    """
    # Splits between linear functions are judged by these, and trees of a sum by what was left.
    odd = subject.tree.has_lines or subject.holds_numbers != subject.says_numbers
    if rows.learnt is None or odd:
        return {}
    problem = _problem(subject, rows)
    found = {}
    for node in nodes.tolist():
        at = sample.at(node)
        if len(at) < 2:
            continue
        stump = grow(problem.take(at), criterion=criterion, rules=Rules(max_depth=1))
        if stump.n_leaves != 2:
            continue
        left = np.isin(at, sample.at(int(subject.tree.first_child[node])), assume_unique=True)
        if 2 * np.count_nonzero((stump.apply(rows.Z[at]) == 1) == left) < len(at):
            stump = _turned(stump)
        if not _same_question(subject.tree, node, stump):
            found[node] = stump
    return found


def _turned(stump: Tree) -> Tree:
    """Return a split whose sides are exchanged."""
    if stump.kind[0] == NodeKind.LEVELS:  # branches are numbers, 0 and 1
        return replace(
            stump, table=1.0 - stump.table, threshold=1.0 - stump.threshold, fill=1.0 - stump.fill
        )
    sides = np.array([MissingSide.NONE, MissingSide.RIGHT, MissingSide.LEFT], dtype=np.uint8)
    return replace(
        stump,
        coef=-stump.coef,
        # What is above the threshold is at least the next number.
        threshold=-np.nextafter(stump.threshold, np.inf),
        missing_side=sides[stump.missing_side],
    )


def _same_question(tree: Tree, node: int, stump: Tree) -> bool:
    """Say whether a node asks about the same column and the same rows already."""
    plane = int(tree.plane_ptr[node])
    begin, end = tree.coef_ptr[plane : plane + 2].tolist()
    if end - begin != 1 or tree.coef_idx[begin] != stump.coef_idx[0]:
        return False
    if len(stump.table) or tree.kind[node] != NodeKind.HYPERPLANE or tree.coef[begin] == 0.0:
        return bool(len(stump.table))
    cut = float(tree.threshold[plane] / tree.coef[begin])
    return math.isclose(cut, float(stump.threshold[0] / stump.coef[0]), rel_tol=1e-12)


def _problem(subject: Subject, rows: GivenRows) -> Problem:
    """Make a problem of the rows; a level that the tree does not know counts as missing."""
    columns = subject.encoding.columns
    coded = np.array([len(column.levels) > 0 for column in columns])
    Z: Any = np.where(coded & (rows.Z < 0), np.nan, rows.Z)
    table = Table(Z, subject.encoding, np.asarray(np.isnan(Z).any(axis=0)))
    assert rows.learnt is not None
    if subject.says_numbers:
        return encode_numbers(table, rows.learnt)
    return encode(table, rows.learnt, len(subject.classes))
