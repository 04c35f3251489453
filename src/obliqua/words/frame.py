"""A tree as a table with a row per node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import FloatArray
from obliqua.data.encoding import Encoding, written_name
from obliqua.tree.layout import NO_CHILD, NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.levels import asks_for_levels, level_branches
from obliqua.words.line import line_of
from obliqua.words.phrases import error_of, in_brackets, spread_of
from obliqua.words.question import read_plane, scores, stand_ins
from obliqua.words.subject import Subject, distinct, subject_of

LIBRARIES = ("pandas", "polars")
WHOLE = ("parent", "rows")  # columns of whole numbers, which may be missing
KINDS = {
    NodeKind.LEAF: "leaf",
    NodeKind.HYPERPLANE: "hyperplane",
    NodeKind.LEVELS: "levels",
    NodeKind.MACHINE: "machine",
}


def to_frame(
    tree: Tree,
    feature_names: Sequence[Any] | Encoding | None,
    class_names: Sequence[Any] | None,
    library: str,
) -> Any:
    """Make a table with a row per node; `Tree.to_frame` says what is in it."""
    module = frame_library(library, "a tree")
    subject = subject_of(tree, feature_names, class_names)
    # Names that differ may be equal once they are escaped.
    names = distinct([encodable(name) for name in subject.class_names])
    columns = _columns(subject, names)
    if not subject.holds_numbers:
        columns |= {
            f"count_{name}": _where_known(tree, tree.stats[:, number])
            for number, name in enumerate(names)
        }
    if library == "polars":
        return _polars(module, columns)
    return _pandas(module, columns)


def frame_library(library: str, what: str) -> Any:
    """Return the library that makes frames; raise if it is none, or not installed."""
    if library not in LIBRARIES:
        known = " or ".join(map(repr, LIBRARIES))
        raise ValueError(f"library must be {known}; got {library!r}.")
    return require(library, None, f"Showing {what} as a {library} frame")


def _columns(subject: Subject, names: Sequence[str]) -> dict[str, Any]:
    """Give each column: an array of numbers, or a list of texts, None where there is none."""
    tree = subject.tree
    inner = ~tree.is_leaf
    labels = tree.origin_labels
    return {
        "node": np.arange(tree.n_nodes),
        "parent": [None if node == NO_CHILD else node for node in tree.parent.tolist()],
        "depth": tree.node_depth,
        "side": _sides(tree),
        "kind": [KINDS[NodeKind(kind)] for kind in tree.kind.tolist()],
        "question": [_question(subject, node) for node in range(tree.n_nodes)],
        "n_features": tree.n_node_features,
        "rows": _rows(tree),
        "weight": _where_known(tree, tree.weighted_n_node_samples),
        **(_numbers(subject, names) if subject.holds_numbers else _classes(tree, names)),
        "gain": np.where(inner, tree.gain, np.nan),
        "axis_gain": tree.axis_gain,
        "gain_over_axis": np.where(inner, tree.gain_over_axis, np.nan),
        "origin": [encodable(labels[k]) if k >= 0 else None for k in tree.origin.tolist()],
    }


def _rows(tree: Tree) -> Any:
    """Give the numbers of training rows; a list if some are not known."""
    if (tree.n_samples >= 0).all():
        return tree.n_samples
    return [None if rows < 0 else rows for rows in tree.n_samples.tolist()]


def _where_known(tree: Tree, values: FloatArray) -> FloatArray:
    """Give what training rows add up to; NaN where they are not known."""
    return np.where(tree.n_samples < 0, np.nan, values)


def _classes(tree: Tree, names: Sequence[str]) -> dict[str, Any]:
    known = tree.stats.any(axis=1)
    largest = tree.proportion[np.arange(tree.n_nodes), tree.leaf_label]
    return {
        "class": [names[label] for label in tree.leaf_label.tolist()],
        "share": np.where(known, largest, np.nan),
    }


def _numbers(subject: Subject, names: Sequence[str]) -> dict[str, Any]:
    """Give means or medians, and for one output the spread and the linear functions."""
    tree = subject.tree
    word = "mean" if tree.loss == "squared_error" else "median"
    if tree.n_outputs > 1:
        return {f"{word}_{name}": tree.mean[:, number] for number, name in enumerate(names)}
    nodes = range(tree.n_nodes)
    spreads = [spread_of(subject, node) for node in nodes]
    known: dict[str, Any] = {word: tree.mean[:, 0], "sd": np.array(spreads)}
    if not tree.has_lines:
        return known
    lines = [line_of(subject, node) for node in nodes]
    return {
        **known,
        "function": [
            encodable(" ".join(line.pieces()) + in_brackets(line.notes())) for line in lines
        ],
        "intercept": tree.leaf_intercept,
        "low": tree.leaf_low,
        "high": tree.leaf_high,
        "error": np.array([error_of(subject, node) for node in nodes]),
    }


def _sides(tree: Tree) -> list[str | None]:
    """Name the branch that leads to each node."""
    sides: list[str | None] = [None] * tree.n_nodes
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        first, number = int(tree.first_child[node]), int(tree.n_children[node])
        two = tree.kind[node] == NodeKind.HYPERPLANE
        names = ["left", "right"] if two else [f"branch {k}" for k in range(number)]
        sides[first : first + number] = names
    return sides


def _question(subject: Subject, node: int) -> str | None:
    tree, encoding = subject.tree, subject.encoding
    kind, plane = NodeKind(tree.kind[node]), int(tree.plane_ptr[node])
    if kind == NodeKind.LEAF:
        return None
    if kind == NodeKind.HYPERPLANE and asks_for_levels(tree, node):
        return level_branches(tree, node, encoding)[0].condition()
    if kind == NodeKind.HYPERPLANE:
        question = read_plane(tree, plane, encoding)
        if question.asks_presence:
            return question.sentence()
        aside = f" {question.aside}" if question.missing_side else ""
        return question.comparison() + aside + in_brackets(question.scores())
    if kind == NodeKind.LEVELS:
        column = int(tree.coef_idx[tree.coef_ptr[plane]])
        return f"which {written_name(encoding.columns[column].name)}?"
    compared = "; ".join(scores(tree, node, encoding))
    return f"largest of: {compared}" + in_brackets(stand_ins(tree, node, encoding, missing=False))


def encodable(text: str) -> str:
    """Replace what no file and no frame can hold: halves of characters, by escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _pandas(pandas: Any, columns: dict[str, Any]) -> Any:
    made = {}
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            made[name] = values.copy()  # the tree's own arrays cannot be written to
        else:
            kind = "Int64" if name in WHOLE else "string"
            made[name] = pandas.array(values, dtype=kind)
    return pandas.DataFrame(made)


def _polars(polars: Any, columns: dict[str, Any]) -> Any:
    made = []
    for name, values in columns.items():
        if isinstance(values, np.ndarray):
            made.append(polars.Series(name, values.copy(), nan_to_null=True))
        else:
            kind = polars.Int64 if name in WHOLE else polars.String
            made.append(polars.Series(name, values, dtype=kind))
    return polars.DataFrame(made)
