"""The best axis-parallel split of each node, found anew from rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua._typing import AnyArray
from obliqua.data.problem import Problem, encode, encode_numbers
from obliqua.data.table import Table
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.pages.given_rows import GivenRows
from obliqua.plot._rows import Sample
from obliqua.tree.tree import Tree
from obliqua.words.subject import Subject


def axis_splits(
    subject: Subject, sample: Sample, rows: GivenRows, nodes: AnyArray
) -> dict[int, Tree]:
    """Grow an axis-parallel tree of one split from the rows of some nodes."""
    if rows.learnt is None or subject.holds_numbers != subject.says_numbers:
        return {}
    problem = _problem(subject, rows)
    criterion = "squared_error" if subject.says_numbers else "gini"
    found = {}
    for node in nodes.tolist():
        at = sample.at(node)
        if len(at) < 2:
            continue
        stump = grow(problem.take(at), criterion=criterion, rules=Rules(max_depth=1))
        if stump.n_leaves == 2:
            found[node] = stump
    return found


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
