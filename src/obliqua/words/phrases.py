"""Words for what a node holds: rows, classes, shares and gains, and lines of a given width."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from obliqua._typing import Int64Array
from obliqua.words.line import NOTHING, line_of, says_line
from obliqua.words.numbers import ALL_DIGITS, write_number
from obliqua.words.subject import Subject

# Of many classes so many are named.
MAX_CLASSES = 3
DIGITS = 4  # of a number, if nobody says how many
# Labels that would look like a count among the counts around them.
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|True|False")


def written_label(name: str) -> str:
    """Write the name of a class on one line."""
    if _NUMBER.fullmatch(name):
        return f"class {name}"
    shown = on_one_line(name)
    return shown if shown and shown == shown.strip() and "," not in shown else f"`{shown}`"


def on_one_line(text: str) -> str:
    """Write what is not printed (newlines, tabs) as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def written_share(share: float) -> str:
    """Write a share in percent; only what is whole reads 100 %, and only what is none reads 0 %.

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

    A node with numbers need not have seen rows: then nothing is written.
    """
    rows, weight = (
        int(subject.tree.n_samples[node]),
        float(subject.tree.weighted_n_node_samples[node]),
    )
    if subject.holds_numbers and not rows and not weight:
        return ""
    return written_number_of_rows(rows, weight)


def written_means(subject: Subject, node: int, digits: int = DIGITS) -> list[str]:
    """Write the mean of each output.

    A hundredth of the range of the leaves is seen, and what is nothing beside it is written as 0,
    unless all digits are asked for.
    """
    low, high = subject.mean_ends
    with np.errstate(over="ignore"):
        ranges = (high - low).tolist()
    nothing = NOTHING if digits < ALL_DIGITS else 0.0
    return [
        write_number(mean if abs(mean) > nothing * range_ else 0.0, digits, range_ / 100.0)
        for mean, range_ in zip(subject.tree.mean[node].tolist(), ranges, strict=True)
    ]


def _written_numbers(subject: Subject, node: int, digits: int) -> str:
    means = written_means(subject, node, digits)
    word = "mean" if subject.tree.loss == "squared_error" else "median"
    if len(means) == 1:
        return f"{word} {means[0]}"
    named = [
        f"{written_label(name)}: {mean}"
        for name, mean in zip(subject.class_names, means, strict=True)
    ]
    more = len(named) - MAX_CLASSES
    return f"{word}s {', '.join(named[:MAX_CLASSES])}{f', {more} more' if more > 0 else ''}"


def spread_of(subject: Subject, node: int) -> float:
    """Return the standard deviation of the one number at a node; NaN if it is not known."""
    tree = subject.tree
    weight = float(tree.weighted_n_node_samples[node])
    means = tree.loss == "squared_error"  # else distances from medians are known
    if tree.n_outputs > 1 or not means or not weight > 0 or tree.n_samples[node] < 0:
        return math.nan
    explained = 0.0  # by the linear function of the node
    if tree.has_lines:
        explained = float(tree.leaf_gain[node] * tree.weighted_n_node_samples[0]) / weight
    return math.sqrt(float(tree.impurity[node]) + explained)


def error_of(subject: Subject, node: int) -> float:
    """Return the root of the mean squared error of what a node says; NaN if it is not known."""
    tree = subject.tree
    known = tree.weighted_n_node_samples[node] > 0 and tree.n_samples[node] >= 0
    return math.sqrt(float(tree.impurity[node])) if known else math.nan


def written_spread(spread: float) -> str:
    """Write a standard deviation, if there is one."""
    return f"standard deviation {write_number(spread, 3)}" if spread > 0 else ""


def written_error(error: float) -> str:
    """Write how far numbers are from what a function says of them, if that is known."""
    return f"typical error {write_number(error, 3)}" if error > 0 else ""


def written_number_of_rows(rows: int | None, weight: float) -> str:
    """Write a number of rows, and their weight where it is another number."""
    if rows is None or rows < 0:
        return "rows not known"
    if rows == 0:
        return f"weight {write_number(weight)}" if weight else "no rows"
    counted = f"{rows:,} row{'' if rows == 1 else 's'}"
    written = write_number(weight)
    # Weights of classes are rounded, so what reads the same is taken for the same.
    return counted if written == str(rows) else f"{counted}, weight {written}"


def written_mix(subject: Subject, node: int) -> str:
    """Write how much the rows of a node agree.

    That is the share of the largest class, with the next ones if there are several, or the
    standard deviation of numbers, or their typical distance from what a function says.
    """
    tree = subject.tree
    if says_line(subject, node):
        return written_error(error_of(subject, node))
    if subject.holds_numbers:
        return written_spread(spread_of(subject, node))
    if not tree.stats[node].any():
        return ""
    shares = tree.proportion[node]
    label = int(tree.leaf_label[node])
    text = written_share(float(shares[label]))
    # Where one other class has the rest, the share of the first says it all.
    ranked = (-shares).argsort(kind="stable")
    others = [k for k in ranked.tolist() if k != label and shares[k] > 0]
    by_hand = len(tree.relabelled) > 0 and tree.relabelled[node] >= 0
    if len(others) < 2 and not by_hand:
        return text
    named = [
        f"{written_label(subject.class_names[k])}: {written_share(float(shares[k]))}"
        for k in others[: MAX_CLASSES - 1]
    ]
    more = len(others) - len(named)
    text = f"{text}; {', '.join(named)}{f', {more} more' if more else ''}"
    return f"{text}; labelled by hand" if by_hand else text


def written_answer(subject: Subject, node: int, digits: int = DIGITS) -> str:
    """Write what a node predicts: a class, or numbers."""
    return " ".join(answer_pieces(subject, node, digits))


def answer_pieces(
    subject: Subject, node: int, digits: int = DIGITS, max_terms: int | None = None
) -> list[str]:
    """Write what a node predicts, a class, numbers or a function, as pieces of a line."""
    if says_line(subject, node):
        return line_of(subject, node).pieces(digits, max_terms)
    if subject.holds_numbers:
        return parts_of(_written_numbers(subject, node, digits), "(?<=,) ")
    return [written_label(subject.class_names[int(subject.tree.leaf_label[node])])]


def written_gain(subject: Subject, node: int, oblique: bool) -> str:
    """Write what a split gained, and what the best axis-parallel one would have gained."""
    gain, axis = float(subject.tree.gain[node]), float(subject.tree.axis_gain[node])
    if math.isnan(gain):
        return "gain not known"
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
    """Count the columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def parts_of(text: str, between: str = " +") -> list[str]:
    """Divide a text, but not what stands in backquotes.

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
    """Put pieces of a text into lines."""
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
    """Write notes behind what they explain."""
    return "".join(f" [{' '.join(note)}]" for note in notes)


def written_counted(number: int, what: str) -> str:
    """Write a number of things."""
    plural = {"leaf": "leaves"}.get(what, f"{what}s")
    return f"{number:,} {what if number == 1 else plural}"


def leaves_below(subject: Subject) -> Int64Array:
    """Count the leaves below each node."""
    counts = subject.tree.is_leaf.astype(np.int64).tolist()
    parent = subject.tree.parent.tolist()
    for node in range(len(counts) - 1, 0, -1):  # children stand after their parents
        counts[parent[node]] += counts[node]
    return np.array(counts, dtype=np.int64)
