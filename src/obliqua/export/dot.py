"""`export_graphviz`: a tree in the language of Graphviz."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from obliqua.export.text import check_limits
from obliqua.io.files import Writable, write_text
from obliqua.words.line import line_of, says_line
from obliqua.words.phrases import (
    answer_pieces,
    fill_lines,
    leaves_below,
    parts_of,
    written_counted,
    written_mix,
    written_rows,
)
from obliqua.words.question import asked
from obliqua.words.subject import Subject, subject_of

__all__ = ["export_graphviz"]

WIDTH = 36  # columns of the text in a box
# Okabe and Ito's colours, which colour-blind readers tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7a7a7a", "#f0e442")
PALEST, STRONGEST = 0.05, 0.55  # how much of its class's colour a box has
HEAD = """digraph tree {
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica"];
  edge [fontname="Helvetica"];
"""


def export_graphviz(
    model: Any,
    out_file: Any = None,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
    max_depth: int | None = None,
    max_terms: int | None = 5,
    digits: int = 4,
    filled: bool = True,
) -> str:
    r"""Write a tree as a graph in DOT, the language of Graphviz.

    ``dot -Tsvg tree.dot -o tree.svg`` draws it.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of this library, a model that was loaded, or a tree.
    out_file : str, path or file object, default=None
        Where to write the graph too: a path, whose file is replaced at once when everything is
        written, or a file that is open for writing text.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`,
        or of the outputs of a tree of numbers.
    tree : int, default=None
        Which tree of a model with several.
    max_depth : int, default=None
        How many questions to show one below the other. What is below is counted.
    max_terms : int, default=5
        How many features of a question to show, those first that move rows most; the others
        are counted. Of the levels of a feature twice as many are named, and beside other
        features as many. None shows all.
    digits : int, default=4
        How many significant digits to show.
    filled : bool, default=True
        Whether boxes have the colour of their class, the stronger the purer they are. Those of
        numbers are the darker the larger the mean of the first of them is.

    Returns
    -------
    str
        The graph. A file gets it in UTF-8.

    Raises
    ------
    TypeError
        If `model` holds no tree.
    ValueError
        If a parameter makes no sense, or the names are not as many as there are columns or
        classes.
    OSError
        If the file cannot be written; one that was there before is unchanged.

    See Also
    --------
    export_text : The same for a terminal.

    Examples
    --------
    >>> from obliqua import TreeBuilder, export_graphviz
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    >>> builder.set_leaf("low", [8, 1], n_samples=9)
    >>> builder.set_leaf("high", [0, 5], n_samples=5)
    >>> print(export_graphviz(builder.build(), feature_names=["age", "bmi"], filled=False))
    digraph tree {
      node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica"];
      edge [fontname="Helvetica"];
      0 [label="age + 0.37*bmi <= 45\n14 rows"];
      1 [label="class 0\n9 rows, 89 %"];
      0 -> 1 [label=" yes "];
      2 [label="class 1\n5 rows, 100 %"];
      0 -> 2 [label=" no "];
    }
    """
    subject = subject_of(model, feature_names, class_names, tree)
    check_limits(max_depth=max_depth, max_terms=max_terms)
    check_limits(1, digits=digits)
    writer = _Graph(subject, max_depth, max_terms, digits, filled)
    text = HEAD + "".join(f"  {line};\n" for line in writer.statements()) + "}\n"
    if out_file is not None:
        _write(out_file, text)
    return text


class _Graph:
    """Writes the statements of one graph."""

    def __init__(
        self,
        subject: Subject,
        max_depth: int | None,
        max_terms: int | None,
        digits: int,
        filled: bool,
    ) -> None:
        self.subject, self.tree = subject, subject.tree
        self.max_depth, self.max_terms, self.digits = max_depth, max_terms, digits
        self.filled = filled
        self.n_leaves = leaves_below(subject)

    def statements(self) -> Iterator[str]:
        """Give boxes and arrows from left to right: nodes wait on a stack."""
        tree = self.tree
        waiting: list[tuple[int, int, list[str]]] = [(0, -1, [])]
        while waiting:
            node, parent, answer = waiting.pop()
            inner = not tree.is_leaf[node]
            cut = inner and self.max_depth is not None and tree.node_depth[node] >= self.max_depth
            lines, answers = self._question(node) if inner and not cut else (self._end(node), [])
            yield f"{node} [{self._attributes(node, lines, bool(cut))}]"
            if parent >= 0:
                padded = [f" {line} " for line in answer]  # keeps it off the arrow
                yield f"{parent} -> {node} [label={quoted(padded)}]"
            first = int(tree.first_child[node])
            waiting += reversed([(first + k, node, text) for k, text in enumerate(answers)])

    def _attributes(self, node: int, lines: list[str], cut: bool) -> str:
        written = f"label={quoted(lines)}"
        if self.filled:
            written += f', fillcolor="{self._colour(node)}"'
        if cut:
            written += ', style="rounded,filled,dashed"'
        return written

    def _end(self, node: int) -> list[str]:
        """Write a leaf, or a node whose question is not shown."""
        facts = [written_rows(self.subject, node), written_mix(self.subject, node)]
        lines = fill_lines(answer_pieces(self.subject, node, self.digits, self.max_terms), WIDTH)
        if says_line(self.subject, node):
            notes = line_of(self.subject, node).notes(self.digits, self.max_terms)
            lines += [line for note in notes for line in fill_lines(note, WIDTH)]
        known = ", ".join(filter(None, facts))
        lines += fill_lines(parts_of(known, "(?<=[,;]) "), WIDTH) if known else []
        if not self.tree.is_leaf[node]:
            lines.append(f"({written_counted(int(self.n_leaves[node]), 'leaf')} below)")
        return lines

    def _question(self, node: int) -> tuple[list[str], list[list[str]]]:
        found = asked(self.tree, node, self.subject.encoding, self.digits, self.max_terms)
        answers = [fill_lines(parts_of(answer), WIDTH) for answer in found.answers]
        lines = fill_lines(found.pieces, WIDTH)
        if found.question is not None:
            for note in found.question.scores(self.digits, self.max_terms, self.max_terms):
                lines += fill_lines(note, WIDTH)
        rows = written_rows(self.subject, node)
        return [*lines, rows] if rows else lines, answers or [["yes"], ["no"]]

    def _colour(self, node: int) -> str:
        """Mix white with a colour: that of the largest class, or one for all numbers."""
        tree = self.tree
        if self.subject.holds_numbers:
            label = 0 if self.subject.says_numbers else int(tree.mean[node].argmax())
            part = self.subject.mean_place(node, label)
        elif not tree.stats[node].any():
            return "#ffffff"
        else:
            label = int(tree.leaf_label[node])
            chance = 1.0 / tree.n_stats
            share = float(tree.proportion[node, label])
            part = (share - chance) / (1.0 - chance) if tree.n_stats > 1 else 1.0
        strength = PALEST + (STRONGEST - PALEST) * min(max(part, 0.0), 1.0)
        colour = COLOURS[label % len(COLOURS)]
        parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return "#" + "".join(f"{round(255 + (part - 255) * strength):02x}" for part in parts)


def quoted(lines: Sequence[str]) -> str:
    """Write lines of text as a string of DOT.

    A backslash begins an escape in labels, and an ampersand a character's name.
    """
    escaped = [
        line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines
    ]
    return '"' + "\\n".join(escaped) + '"'


def _write(out_file: Any, text: str) -> None:
    """Write to an open file, or put a whole file in the place of the one at a path."""
    if isinstance(out_file, Writable):
        try:
            out_file.write(text)
        except TypeError as error:
            raise TypeError(
                f"out_file must be open for text, as with open(path, 'w'). ({error})"
            ) from error
        return
    try:
        path = os.fsdecode(out_file)
    except TypeError:
        raise TypeError(
            "out_file must be a path or a file that is open for writing text; got "
            f"{type(out_file).__name__}."
        ) from None
    write_text(path, text)
