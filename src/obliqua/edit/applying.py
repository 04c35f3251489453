"""Edits done to the trees of a model: the same answers that the page with them showed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray
from obliqua.data.costs import classes_said
from obliqua.data.target import Classes, Numbers
from obliqua.edit.fingerprint import fingerprint
from obliqua.edit.reading import Edit, Edits, finite, shown
from obliqua.edit.splits import NewSplit, plane_arrays, read_split, terms_of
from obliqua.errors import TreeError
from obliqua.io.values import from_json
from obliqua.tree.layout import (
    EDITED,
    KIND_NAMES,
    NOT_RELABELLED,
    PER_LINE_TERM,
    UNKNOWN_ROWS,
    NodeKind,
    child_lists,
    level_order,
    pointers,
    ranges,
    renumber,
    take_planes,
)
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

__all__ = ["class_of", "edited"]


@dataclass
class _Changes:
    """What becomes of the nodes of one tree, by their numbers before any edit."""

    splits: dict[int, NewSplit] = field(default_factory=dict)
    collapsed: dict[int, Edit] = field(default_factory=dict)
    classes: dict[int, int] = field(default_factory=dict)
    numbers: dict[int, tuple[Edit, FloatArray]] = field(default_factory=dict)


def edited(model: Model, edits: Edits) -> Model:
    """Do edits to a model, one after another; all of them, or none.

    Parameters
    ----------
    model : Model
        The model; it is not changed.
    edits : Edits
        The edits.

    Returns
    -------
    Model
        The new model. Where rows may go elsewhere than before, `n_samples`, `gain`, `axis_gain`
        and `spread` of its trees are not known.

    Raises
    ------
    TreeError
        If the edits were made for another model, or if one of them cannot be done; the message
        names it.
    """
    _check_model(model, edits)
    changes: dict[int, _Changes] = {}
    for edit in edits:
        number = _tree_of(edit, model)
        tree = model.trees[number]
        change = changes.setdefault(number, _Changes())
        _check_node(edit, tree, change)
        _READERS[edit.what](edit, tree, change, model)
    if not changes:
        return model
    trees = list(model.trees)
    for number, change in changes.items():
        trees[number] = _changed(trees[number], change)
    return replace(model, trees=tuple(trees))


def _check_model(model: Model, edits: Edits) -> None:
    """Raise if edits were made for another model."""
    if edits.model is None:
        return
    ours = fingerprint(model)
    if edits.model != ours:
        raise TreeError(
            f"The edits were made for a model with the fingerprint {shown(edits.model[:16])}, and "
            f"this one has {ours[:16]!r}. Give the model that the page with the edits was made "
            "of, or make the edits anew on a page of this one."
        )


def _tree_of(edit: Edit, model: Model) -> int:
    """Return the number of the tree that an edit is about."""
    n = len(model.trees)
    if edit.tree is None and n > 1:
        raise edit.wrong(f"the model has {n} trees; say which one with 'tree', from 0 on.")
    number = edit.tree or 0
    if number >= n:
        counted = "1 tree, number 0" if n == 1 else f"{n} trees, numbered from 0"
        raise edit.wrong(f"the model has {counted}; got tree {shown(number)}.")
    return number


def _check_node(edit: Edit, tree: Tree, change: _Changes) -> None:
    """Raise unless the node of an edit is there."""
    if edit.node >= tree.n_nodes:
        raise edit.wrong(
            f"there is no such node in a tree of {tree.n_nodes} nodes (0 to {tree.n_nodes - 1})."
        )
    above = int(tree.parent[edit.node])
    while above >= 0:
        if above in change.collapsed:
            raise edit.wrong(
                f"the node is gone: {change.collapsed[above].place} has made a leaf of node "
                f"{above}, which stands above it."
            )
        above = int(tree.parent[above])


# --- what edits say --------------------------------------------------------------------------


def _read_split(edit: Edit, tree: Tree, change: _Changes, model: Model) -> None:
    """Note the new question of a node."""
    _require_split(edit, tree, change)
    if tree.n_children[edit.node] != 2:
        raise edit.wrong(
            f"only a node with two branches gets another question; this is "
            f"{_kind(tree, edit.node)} with {tree.n_children[edit.node]}."
        )
    if model.adds_up and tree.task == Classes.task:
        raise edit.wrong(
            "the tree is added to others, and says how much per training row; which rows reach "
            "its leaves would not be known. Collapse nodes, or edit the model before it was "
            "distilled."
        )
    old = change.splits.get(edit.node)
    before = terms_of(tree, edit.node) if old is None else old.by_column
    change.splits[edit.node] = read_split(edit, before, model.encoding)


def _read_collapse(edit: Edit, tree: Tree, change: _Changes, model: Model) -> None:
    """Note that a node becomes a leaf."""
    _require_split(edit, tree, change)
    change.collapsed[edit.node] = edit


def _require_split(edit: Edit, tree: Tree, change: _Changes) -> None:
    """Raise unless a node still asks something."""
    if edit.node in change.collapsed:
        raise edit.wrong(f"{change.collapsed[edit.node].place} has made a leaf of the node.")
    if tree.is_leaf[edit.node]:
        raise edit.wrong("the node is a leaf, which asks nothing. Edit a node with a split.")


def _read_label(edit: Edit, tree: Tree, change: _Changes, model: Model) -> None:
    """Note what a leaf says."""
    if not (tree.is_leaf[edit.node] or edit.node in change.collapsed):
        raise edit.wrong(
            f"the node is {_kind(tree, edit.node)}; only a leaf gets a label. Collapse it first."
        )
    wanted = "value" if tree.task == Numbers.task else "class"
    if set(edit.given) != {wanted}:
        raise edit.wrong(f"leaves of a tree of {tree.task} get a {wanted!r}, and nothing else.")
    if wanted == "value":
        change.numbers[edit.node] = edit, _numbers(edit, tree)
        return
    if model.combine == "mean" or model.adds_up:
        raise edit.wrong(
            "the trees of this model are put together by the shares in their leaves, which a "
            "class does not change. Single trees and trees that vote take labels."
        )
    change.classes[edit.node] = class_of(edit, model)


_READERS = {"split": _read_split, "collapse": _read_collapse, "label": _read_label}


def _kind(tree: Tree, node: int) -> str:
    return KIND_NAMES[NodeKind(tree.kind[node])]


def class_of(edit: Edit, model: Model) -> int:
    """Return the number of the class that an edit names."""
    given = edit.given["class"]
    labels = model.classes.tolist()
    try:
        said = given.item() if isinstance(given, np.generic) else from_json(given)
    except (ValueError, RecursionError):
        said = None
    for code, label in enumerate(labels):
        alike = isinstance(said, bool) == isinstance(label, bool)
        if alike and isinstance(said, bool | int | float | str) and said == label:
            return code
    raise edit.wrong(
        f"there is no class {shown(given)}; the classes are {', '.join(map(shown, labels[:10]))}"
        f"{', ...' if len(labels) > 10 else ''}."
    )


def _numbers(edit: Edit, tree: Tree) -> FloatArray:
    """Return the numbers that a leaf is to say, one for each output."""
    given = edit.given["value"]
    listed = given if isinstance(given, list | tuple) else [given]
    if len(listed) != tree.n_outputs:
        raise edit.wrong(
            f"'value' must be {_wanted(tree)}; got {shown(given)}, which are {len(listed)}."
        )
    numbers = [finite(value) for value in listed]
    if None in numbers:
        raise edit.wrong(f"'value' must be {_wanted(tree)}, finite; got {shown(given)}.")
    return np.array(numbers, dtype=np.float64)


def _wanted(tree: Tree) -> str:
    return "a number" if tree.n_outputs == 1 else f"a list of {tree.n_outputs} numbers"


# --- what becomes of a tree ------------------------------------------------------------------


def _changed(tree: Tree, change: _Changes) -> Tree:
    """Return a tree with all of its changes."""
    cut = np.zeros(tree.n_nodes, dtype=bool)
    cut[list(change.collapsed)] = True
    order = level_order(*child_lists(tree.first_child, tree.n_children), stop=cut)
    # What is gone is changed no more, nor does it change what lies below.
    there = set(order[~cut[order]].tolist())
    splits = {node: split for node, split in change.splits.items() if node in there}
    arrays = {
        name: np.array(value) if isinstance(value, np.ndarray) else value
        for name, value in tree.to_arrays().items()
    }
    if splits:
        _put_splits(arrays, splits)
        _forget(arrays, tree, np.array(sorted(splits)))
    if change.classes:
        _put_classes(arrays, tree, change.classes)
    for node, (edit, numbers) in change.numbers.items():
        _put_numbers(arrays, tree, node, numbers, edit)
    if change.numbers and tree.has_lines:
        _make_constant(arrays, np.array(sorted(change.numbers)))
    arrays = renumber(arrays, order, cut)
    touched = [*splits, *change.collapsed, *change.classes, *change.numbers]
    _mark(arrays, np.isin(order, touched))
    return Tree.from_arrays(arrays)


def _put_splits(arrays: dict[str, Any], splits: dict[int, NewSplit]) -> None:
    """Put new questions in the place of others: their planes stand behind all, and are taken."""
    nodes = np.array(sorted(splits))
    added = plane_arrays([splits[node] for node in nodes.tolist()])
    n_planes = len(arrays["threshold"])
    pool = {
        name: np.concatenate([arrays[name], new[1:] + arrays[name][-1]])
        if name.endswith("_ptr")
        else np.concatenate([arrays[name], new])
        for name, new in added.items()
    }
    start, count = arrays["plane_ptr"][:-1].astype(np.int64), np.diff(arrays["plane_ptr"])
    start[nodes], count[nodes] = n_planes + np.arange(len(nodes)), 1
    arrays |= take_planes(pool, ranges(start, count))
    arrays["plane_ptr"] = pointers(count, np.int32)
    arrays["kind"][nodes] = [splits[node].kind for node in nodes.tolist()]


def _forget(arrays: dict[str, Any], tree: Tree, nodes: AnyArray) -> None:
    """Mark as not known what rows would tell: what splits gain, and all that lies below them."""
    below = _below(tree, nodes)
    changed = below.copy()
    changed[nodes] = True
    arrays["gain"][changed & ~tree.is_leaf] = np.nan
    arrays["axis_gain"][below] = np.nan
    arrays["n_samples"][below] = UNKNOWN_ROWS
    n_terms = np.diff(arrays["coef_ptr"][arrays["plane_ptr"]])
    arrays["spread"][np.repeat(below, n_terms)] = np.nan
    if tree.has_lines:
        arrays["leaf_spread"][np.repeat(below, np.diff(tree.leaf_ptr))] = np.nan


def _below(tree: Tree, nodes: AnyArray) -> BoolArray:
    """Say which nodes stand below some."""
    above = np.zeros(tree.n_nodes, dtype=bool)
    above[nodes] = True
    below = np.zeros_like(above)
    for node, parent in enumerate(tree.parent.tolist()):  # parents stand before their children
        below[node] = parent >= 0 and (above[parent] or below[parent])
    return below


def _put_classes(arrays: dict[str, Any], tree: Tree, classes: dict[int, int]) -> None:
    """Note the classes of leaves that stats would not choose."""
    if not len(arrays["relabelled"]):
        arrays["relabelled"] = np.full(tree.n_nodes, NOT_RELABELLED, dtype=np.int32)
    said = classes_said(tree.stats, tree.costs)
    for node, code in classes.items():
        arrays["relabelled"][node] = NOT_RELABELLED if code == said[node] else code


def _put_numbers(
    arrays: dict[str, Any], tree: Tree, node: int, numbers: FloatArray, edit: Edit
) -> None:
    """Let a leaf say other numbers; its error about them follows from that about the means."""
    weight, error = tree.stats[node, 0], tree.stats[node, -1]
    with np.errstate(over="ignore", invalid="ignore"):
        if tree.has_lines:
            error = error + tree.leaf_gain[node] * tree.stats[0, 0]
        error = error + weight * ((numbers - tree.mean[node]) ** 2).sum()
    if tree.loss == "absolute_error":  # nothing follows from distances
        error = tree.stats[node, -1]
        arrays["n_samples"][node] = UNKNOWN_ROWS
    if not np.isfinite(error):
        raise edit.wrong(f"'value' is too far from {shown(tree.mean[node].tolist())}.")
    arrays["stats"][node, 1:-1], arrays["stats"][node, -1] = numbers, error


def _make_constant(arrays: dict[str, Any], nodes: AnyArray) -> None:
    """Let nodes say constants in the place of linear functions: their means."""
    n_nodes = len(arrays["kind"])
    constant = np.zeros(n_nodes, dtype=bool)
    constant[nodes] = True
    mean = arrays["stats"][nodes, 1]
    for name in ("leaf_intercept", "leaf_low", "leaf_high"):
        arrays[name][nodes] = mean
    arrays["leaf_gain"][nodes] = 0.0
    n_terms, n_entries = np.diff(arrays["leaf_ptr"]), np.diff(arrays["leaf_table_ptr"])
    kept = ~np.repeat(constant, n_terms)
    arrays["leaf_table"] = arrays["leaf_table"][np.repeat(kept, n_entries)]
    arrays["leaf_table_ptr"] = pointers(n_entries[kept])
    arrays["leaf_ptr"] = pointers(np.where(constant, 0, n_terms))
    for name in PER_LINE_TERM:
        arrays[name] = arrays[name][kept]


def _mark(arrays: dict[str, Any], touched: BoolArray) -> None:
    """Name the origin of changed nodes."""
    labels = tuple(arrays["origin_labels"])
    if EDITED not in labels:
        labels = (*labels, EDITED)
    arrays["origin_labels"] = labels
    arrays["origin"][touched] = labels.index(EDITED)
