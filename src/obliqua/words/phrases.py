"""Words for what a node holds: rows, classes, shares and gains, and lines of a given width."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from obliqua._typing import Int64Array
from obliqua.words.numbers import write_number
from obliqua.words.subject import Subject

# Of many classes so many are named.
MAX_CLASSES = 3
# Labels that would look like a count among the counts around them.
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|True|False")


def written_label(name: str) -> str:
    """Write the name of a class on one line.

    Parameters
    ----------
    name : str
        Any string.

    Returns
    -------
    str
        The name, with characters that are not printed as escapes; in backquotes if it is empty,
        has blanks at its ends, or a comma, which would divide it in a list. A bare number
        becomes ``class 3``.
    """
    if _NUMBER.fullmatch(name):
        return f"class {name}"
    shown = on_one_line(name)
    return shown if shown and shown == shown.strip() and "," not in shown else f"`{shown}`"


def on_one_line(text: str) -> str:
    """Write what is not printed (newlines, tabs) as escapes.

    Parameters
    ----------
    text : str
        Any string.

    Returns
    -------
    str
        The text.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def written_share(share: float) -> str:
    """Write a share in percent; only what is whole reads 100 %, and only what is none reads 0 %.

    Parameters
    ----------
    share : float
        A number from 0 to 1.

    Returns
    -------
    str
        The share.

    Examples
    --------
    >>> from obliqua.words.phrases import written_share
    >>> [written_share(share) for share in (1.0, 0.9996, 0.993, 0.5, 0.004, 0.0001)]
    ['100 %', '>99.9 %', '99.3 %', '50 %', '0.4 %', '<0.1 %']
    """
    percent = 100.0 * share
    if percent >= 100.0 or percent <= 0.0:
        return "100 %" if percent > 50.0 else "0 %"
    if percent > 99.9:
        return ">99.9 %"
    if percent < 0.1:
        return "<0.1 %"
    if percent > 98.5 or percent < 1.0:
        return f"{percent:.1f} %"
    return f"{percent:.0f} %"


def written_rows(subject: Subject, node: int) -> str:
    """Write how many training rows a node holds, and their weight where it is another number.

    Parameters
    ----------
    subject : Subject
        The tree.
    node : int
        The node.

    Returns
    -------
    str
        ``12 rows``, ``1 row, weight 2.5`` or ``no rows``; for a tree whose stats are no counts,
        but values that may be negative, ``values a: -1.2, b: 2.2``.
    """
    if holds_values(subject):
        return _written_values(subject, node)
    weight = float(subject.tree.weighted_n_node_samples[node])
    return written_number_of_rows(int(subject.tree.n_samples[node]), weight)


def holds_values(subject: Subject) -> bool:
    """Say whether the stats of a tree are values of a function, as those of a component.

    Parameters
    ----------
    subject : Subject
        The tree.

    Returns
    -------
    bool
        True if some are negative.
    """
    return bool((subject.tree.stats < 0).any())


def _written_values(subject: Subject, node: int) -> str:
    values = subject.tree.stats[node].tolist()
    named = [
        f"{written_label(name)}: {write_number(value)}"
        for name, value in zip(subject.class_names, values, strict=True)
    ]
    more = len(named) - MAX_CLASSES
    return f"values {', '.join(named[:MAX_CLASSES])}{f', {more} more' if more > 0 else ''}"


def written_number_of_rows(rows: int, weight: float) -> str:
    """Write a number of rows, and their weight where it is another number.

    Parameters
    ----------
    rows : int
        The number.
    weight : float
        Their weight.

    Returns
    -------
    str
        ``12 rows``, ``1 row, weight 2.5`` or ``no rows``.
    """
    if rows == 0:
        return f"weight {write_number(weight)}" if weight else "no rows"
    counted = f"{rows:,} row{'' if rows == 1 else 's'}"
    written = write_number(weight)
    # Weights of classes are rounded, so what reads the same is taken for the same.
    return counted if written == str(rows) else f"{counted}, weight {written}"


def written_classes(subject: Subject, node: int) -> str:
    """Write the share of the largest class of a node, and the next ones if there are several.

    Parameters
    ----------
    subject : Subject
        The tree.
    node : int
        The node.

    Returns
    -------
    str
        ``97 %``, or ``80 %; b: 15 %, c: 5 %``; empty if the node holds nothing, or values.
    """
    tree = subject.tree
    if holds_values(subject) or not tree.stats[node].any():
        return ""
    shares = tree.proportion[node]
    label = int(tree.leaf_label[node])
    text = written_share(float(shares[label]))
    # Where one other class has the rest, the share of the first says it all.
    ranked = (-shares).argsort(kind="stable")
    others = [k for k in ranked.tolist() if k != label and shares[k] > 0]
    if len(others) < 2:
        return text
    named = [
        f"{written_label(subject.class_names[k])}: {written_share(float(shares[k]))}"
        for k in others[: MAX_CLASSES - 1]
    ]
    more = len(others) - len(named)
    return f"{text}; {', '.join(named)}{f', {more} more' if more else ''}"


def written_class(subject: Subject, node: int) -> str:
    """Write the class that a node predicts.

    Parameters
    ----------
    subject : Subject
        The tree.
    node : int
        The node.

    Returns
    -------
    str
        The name of the class.
    """
    return written_label(subject.class_names[int(subject.tree.leaf_label[node])])


def written_gain(subject: Subject, node: int, oblique: bool) -> str:
    """Write what a split gained, and what the best axis-parallel one would have gained.

    Parameters
    ----------
    subject : Subject
        The tree.
    node : int
        An inner node.
    oblique : bool
        Whether its split is about several features; if not, there is nothing to compare.

    Returns
    -------
    str
        ``gain 0.19, 19 % above the best axis-parallel split (0.16)``; empty if nothing is
        known.
    """
    gain, axis = float(subject.tree.gain[node]), float(subject.tree.axis_gain[node])
    if gain == 0 and math.isnan(axis):
        return ""
    text = f"gain {write_number(gain, 3)}"
    if not oblique or math.isnan(axis):
        return text
    other = f"the best axis-parallel split ({write_number(axis, 3)})"
    if axis <= 0:
        return f"{text}, where no axis-parallel split gains" if gain > 0 else text
    percent = 100.0 * (gain / axis - 1.0)
    if abs(percent) < 0.5:
        return f"{text}, as much as {other}"
    size = f"{abs(percent):,.0f} %" if percent < 1000 else f"{gain / axis:,.0f} times"
    return f"{text}, {size} {'above' if percent > 0 else 'below'} {other}"


def cells(text: str) -> int:
    """Count the columns that a text takes in a terminal.

    Parameters
    ----------
    text : str
        Any text on one line.

    Returns
    -------
    int
        Two for a wide character, none for one that combines with the one before it.
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def parts_of(text: str, between: str = " +") -> list[str]:
    """Divide a text, but not what stands in backquotes.

    Parameters
    ----------
    text : str
        Any text.
    between : str, default=" +"
        A regular expression without groups: where to divide. What it finds is left out.

    Returns
    -------
    list of str
        The parts that are not empty.

    Examples
    --------
    >>> from obliqua.words.phrases import parts_of
    >>> parts_of("town in {`New  York`, Rome}")
    ['town', 'in', '{`New  York`,', 'Rome}']
    """
    parts, start = [], 0
    for found in re.finditer(rf"`(?:[^`]|``)*`|({between})", text):
        if found[1] is not None:
            parts.append(text[start : found.start()])
            start = found.end()
    return [part for part in (*parts, text[start:]) if part]


def fill_lines(pieces: Sequence[str], width: int) -> list[str]:
    """Put pieces of a text into lines.

    Parameters
    ----------
    pieces : sequence of str
        What stays together where it can; a blank comes between two pieces.
    width : int
        The columns that a line may take. A piece that is wider is broken at its blanks, but for
        those in backquotes. A word that is wider stands alone.

    Returns
    -------
    list of str
        The lines, at least one.
    """
    words = [
        word
        for piece in pieces
        for word in ([piece] if cells(piece) <= width else parts_of(piece))
    ]
    lines: list[str] = []
    taken = 0
    for word in words:
        size = cells(word)
        if lines and taken + 1 + size <= width:
            lines[-1] += f" {word}"
            taken += 1 + size
        else:
            lines.append(word)
            taken = size
    return lines or [""]


def in_brackets(notes: Sequence[Sequence[str]]) -> str:
    """Write notes behind what they explain.

    Parameters
    ----------
    notes : sequence of sequence of str
        The notes, each in pieces.

    Returns
    -------
    str
        Each note in brackets, with a blank before it; empty if there are none.
    """
    return "".join(f" [{' '.join(note)}]" for note in notes)


def written_counted(number: int, what: str) -> str:
    """Write a number of things.

    Parameters
    ----------
    number : int
        How many.
    what : str
        What one of them is called.

    Returns
    -------
    str
        ``1 leaf``, ``3 leaves``, ``20 questions``.
    """
    plural = {"leaf": "leaves"}.get(what, f"{what}s")
    return f"{number:,} {what if number == 1 else plural}"


def leaves_below(subject: Subject) -> Int64Array:
    """Count the leaves below each node.

    Parameters
    ----------
    subject : Subject
        The tree.

    Returns
    -------
    ndarray of int64
        The counts; 1 for a leaf.
    """
    counts = subject.tree.is_leaf.astype(np.int64).tolist()
    parent = subject.tree.parent.tolist()
    for node in range(len(counts) - 1, 0, -1):  # children stand after their parents
        counts[parent[node]] += counts[node]
    return np.array(counts, dtype=np.int64)
