"""What a page says of each node of a tree: what it asks, in numbers and in words, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.export.computation import Part
from obliqua.export.json import KINDS, SIDES
from obliqua.plot._rows import Histogram, Sample, along, both_sides, histogram
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.levels import table_of
from obliqua.words.line import line_of
from obliqua.words.phrases import error_of, on_one_line, spread_of, written_answer
from obliqua.words.question import asked, conditions, read_plane, stand_ins
from obliqua.words.subject import LineCoefficients, Subject, lines_of, read_column

DIGITS = 4
FEW_TERMS = 2  # of a question where there is little room
N_BINS = 28

Facts = dict[str, Any]


def tree_facts(
    subject: Subject, part: Part, sample: Sample | None, axis: Mapping[int, Tree], n_drawn: int
) -> list[Facts]:
    """Return what is said of each node; the first so many have histograms."""
    return [
        _node_facts(subject, part, node, sample if node < n_drawn else None, axis.get(node))
        for node in range(subject.tree.n_nodes)
    ]


def _node_facts(
    subject: Subject, part: Part, node: int, sample: Sample | None, axis: Tree | None
) -> Facts:
    tree = subject.tree
    first, kind = int(tree.first_child[node]), NodeKind(tree.kind[node])
    facts: Facts = {
        "kind": KINDS[kind],
        "children": list(range(first, first + int(tree.n_children[node]))),
        "planes": [
            plane_facts(tree, plane)
            for plane in range(int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1]))
        ],
        "says": part.said[node].tolist(),
        "chooses": int(part.chosen[node]),
        "line": _line(tree, node) if tree.has_lines else None,
        "answer": _answer(subject, node),
        **_held(subject, part, node),
    }
    if kind == NodeKind.LEAF:
        return facts
    facts |= _asked(subject, node)
    facts |= {
        "gain": or_none(tree.gain[node]),
        "axisGain": or_none(tree.axis_gain[node]),
        "origin": _origin(tree, node),
        "axis": None if axis is None else _axis_facts(subject, axis),
    }
    if sample is not None:
        facts["histogram"] = _histogram(subject, sample, node)
        facts["means"] = _means(tree, sample, node)
    return facts


def plane_facts(tree: Tree, plane: int) -> Facts:
    """Return a plane as the page computes with it."""
    begin, end = int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])
    return {
        **_terms(tree, begin, end),
        "spread": [or_none(value) for value in tree.spread[begin:end].tolist()],
        "threshold": float(tree.threshold[plane]),
        "missing": SIDES[MissingSide(tree.missing_side[plane])],
    }


def _terms(terms: Tree | LineCoefficients, begin: int, end: int) -> Facts:
    tables = {
        str(k - begin): table_of(terms, k).tolist()
        for k in range(begin, end)
        if terms.table_ptr[k + 1] > terms.table_ptr[k]
    }
    return {
        "column": terms.coef_idx[begin:end].tolist(),
        "coef": terms.coef[begin:end].tolist(),
        "standIn": [or_none(value) for value in terms.fill[begin:end].tolist()],
        "tables": tables,
    }


def _line(tree: Tree, node: int) -> Facts:
    begin, end = int(tree.leaf_ptr[node]), int(tree.leaf_ptr[node + 1])
    ends = {
        name: float(getattr(tree, f"leaf_{name}")[node]) for name in ("intercept", "low", "high")
    }
    return {**_terms(lines_of(tree), begin, end), **ends}


def or_none(number: float) -> float | None:
    """Return a number as JSON has it: None if it is not known."""
    return None if number != number else float(number)


def _held(subject: Subject, part: Part, node: int) -> Facts:
    """Say how many training rows a node holds, and how much they agree."""
    tree = subject.tree
    rows, weight = int(tree.n_samples[node]), float(tree.weighted_n_node_samples[node])
    known = rows >= 0 and (rows > 0 or weight > 0)
    facts: Facts = {
        "rows": rows if known else None,
        "weight": weight if known else None,
        "errors": None,
        "sd": None,
    }
    if subject.holds_numbers:
        sd = error_of(subject, node) if tree.has_lines else spread_of(subject, node)
        facts["sd"] = or_none(sd) if known else None
    elif known:
        facts["errors"] = weight - float(tree.stats[node, part.chosen[node]])
    return facts


def _answer(subject: Subject, node: int) -> str:
    """Write what a node says, or would say as a leaf."""
    if subject.tree.has_lines:
        line = line_of(subject, node)
        return " ".join(line.pieces(DIGITS))
    return written_answer(subject, node)


def _asked(subject: Subject, node: int) -> Facts:
    """Write the conditions of branches, and what else there is to say of a question."""
    tree, encoding = subject.tree, subject.encoding
    found = asked(tree, node, encoding, DIGITS, None)
    notes: list[list[str]] = []
    divisor = 1.0
    # One more term takes no more room than to say that there is one more.
    few = None if tree.n_node_features[node] <= FEW_TERMS + 1 else FEW_TERMS
    if tree.kind[node] == NodeKind.MACHINE:
        notes = stand_ins(tree, node, encoding, DIGITS, None)
    elif tree.kind[node] == NodeKind.HYPERPLANE:
        divisor = read_plane(tree, int(tree.plane_ptr[node]), encoding).divisor
    if found.question is not None:
        notes = [*found.question.scores(DIGITS), *found.question.missing(DIGITS)]
    return {
        "branches": conditions(tree, node, encoding, DIGITS),
        "short": conditions(tree, node, encoding, DIGITS, few)[0],
        "notes": [" ".join(note) for note in notes],
        "divisor": divisor,
    }


def _origin(tree: Tree, node: int) -> str | None:
    origin = int(tree.origin[node])
    return on_one_line(tree.origin_labels[origin]) if origin >= 0 else None


def _axis_facts(subject: Subject, stump: Tree) -> Facts:
    """Describe a split along one column that could take the place of a node's."""
    return {
        "kind": KINDS[NodeKind(stump.kind[0])],
        "plane": plane_facts(stump, 0),
        "question": conditions(stump, 0, subject.encoding, DIGITS)[0],
    }


# --- rows --------------------------------------------------------------------------------------


def _histogram(subject: Subject, sample: Sample, node: int) -> Facts | None:
    """Count rows along the normal of a node, or in its branches."""
    scale = along(subject, node)
    found = histogram(sample, scale, node, N_BINS) if scale is not None else None
    if found is None and scale is None:
        found = both_sides(sample, node)
    if found is None:
        return _branch_counts(subject, sample, node)
    names = list(found.names) or None
    if scale is None:
        names = conditions(subject.tree, node, subject.encoding, DIGITS)
    return _histogram_facts(found, names)


def _histogram_facts(found: Histogram, names: list[str] | None) -> Facts:
    counts = found.sums.T
    empty = found.sums.sum(axis=1) == 0
    means = None
    if found.means is not None:
        means = [None if gap else float(m) for m, gap in zip(found.means, empty, strict=True)]
    return {
        "low": float(found.edges[0]),
        "high": float(found.edges[-1]),
        "left": int(np.searchsorted(found.edges, found.cut)),
        "n": len(found.sums),
        "sums": {str(c): _whole(row) for c, row in enumerate(counts) if row.any()},
        "means": means,
        "names": names,
    }


def _whole(counts: FloatArray) -> list[int]:
    return [round(count) for count in counts.tolist()]


def _branch_counts(subject: Subject, sample: Sample, node: int) -> Facts | None:
    """Count the rows of each branch of a node that has no scale."""
    tree = subject.tree
    first, n = int(tree.first_child[node]), int(tree.n_children[node])
    rows: list[Int64Array] = [sample.at(first + branch) for branch in range(n)]
    if not sum(map(len, rows)):
        return None
    known: AnyArray | None = sample.codes
    n_classes = 1 if known is None else len(subject.class_names)
    sums = np.zeros((n, n_classes))
    means = None if sample.numbers is None else np.zeros(n)
    for branch, at in enumerate(rows):
        sums[branch] = len(at) if known is None else np.bincount(known[at], minlength=n_classes)
        if means is not None and sample.numbers is not None and len(at):
            means[branch] = sample.numbers[at, 0].mean()
    edges: FloatArray = np.arange(n + 1, dtype=np.float64) - 0.5
    found = Histogram(edges, sums, 0.5, means=means)
    return _histogram_facts(found, conditions(tree, node, subject.encoding, DIGITS))


def _means(tree: Tree, sample: Sample, node: int) -> list[float] | None:
    """Return what each term of a hyperplane is multiplied with in the mean of the node's rows."""
    rows = sample.at(node)
    if tree.kind[node] != NodeKind.HYPERPLANE or not len(rows):
        return None
    plane = int(tree.plane_ptr[node])
    terms = range(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    here = sample.Z[rows]
    means = np.array([float(read_column(tree, k, here).mean()) for k in terms])
    return means.tolist() if np.isfinite(means).all() else None
