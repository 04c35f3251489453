"""What moves a row along a normal, and small checks that the pictures share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from obliqua._typing import AnyArray
from obliqua.plot._rows import Along, Sample, level_name
from obliqua.words.question import Term
from obliqua.words.subject import Subject, read_column


def check_limit(name: str, value: Any, least: int) -> None:
    """Raise for what is no whole number, or too small a one."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")


@dataclass(frozen=True)
class Moves:
    """How far each feature moves a row, in the question's units.

    Parameters
    ----------
    value : float
        The row's value along the question's direction.
    terms : list of (str, float)
        Names of features and how far they move the row, the farthest first.
    others : float
        How far all other features move it together.
    n_others : int
        The number of these.
    """

    value: float
    terms: list[tuple[str, float]]
    others: float
    n_others: int


def moves_of(
    scale: Along, sample: Sample | None, node: int, z: AnyArray, max_terms: int, subject: Subject
) -> Moves:
    """Say what moves a row away from the mean of the rows at a node, or from 0."""
    tree = subject.tree
    start, end = (int(p) for p in tree.coef_ptr[scale.plane : scale.plane + 2])
    here, share = None, None
    if sample is not None:
        # Rows are taken out once: there may be thousands of features.
        rows = sample.at(node)
        weight = sample.weight[rows]
        if weight.sum() > 0:
            here, share = sample.Z[rows], weight / weight.sum()
    moved = np.empty(end - start)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(start, end):
            value = float(read_column(tree, k, z)[0])
            if here is not None and share is not None:
                mean = float(share @ read_column(tree, k, here))
                # What stands in for a missing value is often the mean itself.
                value = 0.0 if math.isclose(value, mean, rel_tol=1e-12) else value - mean
            moved[k - start] = float(tree.coef[k]) * value / scale.divisor
    order = np.argsort(-np.abs(moved), kind="stable").tolist()
    # One more bar takes no more room than a bar for "one other".
    shown = len(order) if len(order) <= max_terms + 1 else max_terms
    names = {term.column: _name(term, z) for term in scale.question.terms}
    terms = [(names[int(tree.coef_idx[start + k])], float(moved[k])) for k in order[:shown]]
    rest = moved[order[shown:]]
    value = scale.sign * float(scale.values(tree, z)[0])
    return Moves(value, terms, float(rest.sum()), len(rest))


def _name(term: Term, z: AnyArray) -> str:
    """Name what moves a row: a feature, with the row's level or where its number is missing."""
    value = float(z[0, term.column])
    if term.scores is not None:
        return f"{term.scores.name}: {level_name(term, value)}"
    return f"{term.name} (missing)" if np.isnan(value) else term.name
