"""Edits in words, for a person to read: what each node asked or said, and what it does now."""

from __future__ import annotations

from obliqua.data.encoding import Encoding
from obliqua.edit.applying import class_of, edited
from obliqua.edit.reading import Edit, Edits
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from obliqua.words.numbers import write_number
from obliqua.words.phrases import on_one_line, written_answer, written_label
from obliqua.words.question import asked
from obliqua.words.subject import Subject, subject_of

__all__ = ["log_of"]

DIGITS = 6  # of numbers in questions


def log_of(model: Model, edits: Edits) -> list[str]:
    """Write what edits do.

    Parameters
    ----------
    model : Model
        The model that they are for.
    edits : Edits
        Edits that can be done to it.

    Returns
    -------
    list of str
        A line for each of them: its own words, or ours if it has none.
    """
    return [
        on_one_line(edit.words) if edit.words else _written(model, edits, edit) for edit in edits
    ]


def _written(model: Model, edits: Edits, edit: Edit) -> str:
    """Write one edit."""
    subject = subject_of(model, tree=edit.tree or 0)
    where = f"node {edit.node}" if len(model.trees) == 1 else f"tree {edit.tree}, node {edit.node}"
    if edit.what == "split":
        before, now = (
            _question(tree, edit.node, subject.encoding)
            for tree in (subject.tree, _with_split(model, edits, edit))
        )
        return f"{where}: asks {now} (before: {before})"
    said = written_answer(subject, edit.node)
    if edit.what == "collapse":
        return f"{where}: becomes a leaf, {said}"
    return f"{where}: says {_label(edit, model, subject)} (before: {said})"


def _with_split(model: Model, edits: Edits, edit: Edit) -> Tree:
    """Return the tree with the questions that a node has got up to an edit, and no other edits."""
    done = edits.edits[: edits.edits.index(edit) + 1]
    same = (edit.what, edit.tree or 0, edit.node)
    own = tuple(other for other in done if (other.what, other.tree or 0, other.node) == same)
    return edited(model, Edits(own)).trees[edit.tree or 0]


def _question(tree: Tree, node: int, encoding: Encoding) -> str:
    return " ".join(asked(tree, node, encoding, DIGITS, None).pieces)


def _label(edit: Edit, model: Model, subject: Subject) -> str:
    """Write what a leaf is told to say."""
    if not subject.holds_numbers:
        return written_label(subject.class_names[class_of(edit, model)])
    value = edit.given["value"]
    numbers = value if isinstance(value, list | tuple) else [value]
    return ", ".join(write_number(float(number), DIGITS) for number in numbers)
