"""`export_text`: a tree to be read in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from obliqua.tree.layout import EDITED, NodeKind
from obliqua.words.levels import with_commas
from obliqua.words.line import line_of, says_line
from obliqua.words.phrases import (
    answer_pieces,
    cells,
    fill_lines,
    leaves_below,
    on_one_line,
    parts_of,
    written_answer,
    written_counted,
    written_gain,
    written_mix,
    written_rows,
)
from obliqua.words.question import asked, missing_branch, stand_ins
from obliqua.words.subject import Subject, subject_of

__all__ = ["export_text"]

STYLES = {"unicode": ("├─ ", "└─ ", "│  ", "…"), "ascii": ("|- ", "`- ", "|  ", "...")}
YES_NO = ("yes: ", "no:  ")
STEP = 3  # columns of one level of the tree
NARROWEST = 40  # columns that a question keeps, however deep it stands


def export_text(
    model: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
    max_depth: int | None = None,
    max_terms: int | None = 5,
    digits: int = 4,
    details: bool = False,
    style: str = "unicode",
    width: int = 100,
) -> str:
    """Write a tree as text, to be read in a terminal.

    Each inner node is a question, in the original units of the features and scaled so that its
    leading coefficient is 1. Rows for which it holds go on at *yes*, the others at *no*. A leaf
    is the class that it predicts, or the mean. In parentheses stand the number of training rows
    at a node and, for a leaf, the share of its class among them, or the standard deviation. Where
    a leaf says a linear function of a row, ``y = 3 + 2*x0, between 1 and 9``, it is the typical
    error of that, the root of the mean of the squares. Where splits say where rows go that miss a
    number, functions say what stands in for it, ``missing counts as: x0 1.5``.

    A split on one qualitative feature names the levels that go on at *yes*. In a sum such a
    feature is a score, and below the question stands what its levels count, the largest first.

    Numbers are rounded. What a tree does to the last digit, `export_rules` writes with
    ``exact=True``.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of this library, a model that was loaded, or a tree.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`,
        or of the outputs of a tree of numbers.
    tree : int, default=None
        Which tree of a model with several.
    max_depth : int, default=None
        How many questions to show one below the other. What is below is counted.
    max_terms : int, default=5
        How many features of a question to show, those first that move rows most; the others
        are counted. Of the levels of a feature twice as many are named. None shows all.
    digits : int, default=4
        How many significant digits to show. A threshold gets more where a hundredth of its
        feature's standard deviation would not be seen otherwise.
    details : bool, default=False
        Whether to say under each question what it gained, beside the best axis-parallel one, and
        which proposal it came from, and where rows go whose number is missing, or what stands in
        for missing numbers in a sum; under an oblique one also what a unit of each feature counts
        in units of the leading one, and how far one standard deviation of each moves a row; and
        the latter two under linear functions of leaves.
    style : {"unicode", "ascii"}, default="unicode"
        The characters that the lines of the tree are drawn with.
    width : int, default=100
        How many columns a line should take. Longer questions are wrapped, and parts that are
        too deep start again at the margin.

    Returns
    -------
    str
        The text, without a newline at its end.

    Raises
    ------
    TypeError
        If `model` holds no tree.
    ValueError
        If a parameter makes no sense, or the names are not as many as there are columns or
        classes.

    See Also
    --------
    export_rules : One rule per leaf.

    Examples
    --------
    >>> from obliqua import TreeBuilder, export_text
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    >>> builder.set_leaf("low", [8, 1], n_samples=9)
    >>> builder.set_leaf("high", [0, 5], n_samples=5)
    >>> names = {"feature_names": ["age", "bmi"], "class_names": ["healthy", "ill"]}
    >>> print(export_text(builder.build(), **names))
    2 leaves, depth 1; 14 rows, healthy: 57 %
    <BLANKLINE>
    age + 0.37*bmi <= 45 (14 rows)
    ├─ yes: healthy (9 rows, 89 %)
    └─ no:  ill (5 rows, 100 %)
    """
    subject = subject_of(model, feature_names, class_names, tree)
    if style not in STYLES:
        raise ValueError(f"style must be one of {', '.join(map(repr, STYLES))}; got {style!r}.")
    check_limits(max_depth=max_depth, max_terms=max_terms)
    check_limits(1, digits=digits)
    check_limits(NARROWEST, width=width)
    return "\n".join(_Writer(subject, style, max_depth, max_terms, digits, details, width).lines())


def check_limits(least: int = 0, /, **limits: int | None) -> None:
    """Raise for a limit that is no integer, or too small; None is no limit if 0 is allowed."""
    for name, limit in limits.items():
        if limit is None and least == 0:
            continue
        if not isinstance(limit, Integral) or limit < least:
            allowed = "None or an integer" if least == 0 else "an integer"
            raise ValueError(f"{name} must be {allowed} of at least {least}; got {limit!r}.")


@dataclass
class _Entry:
    """A node that is still to be written: what stands before its text, and below it."""

    node: int
    depth: int  # the questions above it
    first: str = ""  # before its first line
    below: str = ""  # before all further lines of it and of what is under it
    answer: str = ""  # which answer leads here


class _Writer:
    """Writes the lines of one tree. Nodes wait on a stack, so no depth is too large."""

    def __init__(
        self,
        subject: Subject,
        style: str,
        max_depth: int | None,
        max_terms: int | None,
        digits: int,
        details: bool,
        width: int,
    ) -> None:
        self.subject, self.tree = subject, subject.tree
        self.fork, self.corner, self.line, self.dots = STYLES[style]
        self.max_depth, self.max_terms, self.digits = max_depth, max_terms, digits
        self.details, self.width = details, width
        self.deepest = max((width - NARROWEST) // STEP, 1)
        self.n_leaves = leaves_below(subject)

    def lines(self) -> list[str]:
        """Write all parts of the tree: the top, then what was too deep to stand in it."""
        tree, leaves = self.tree, int(self.n_leaves[0])
        shape = f"{written_counted(leaves, 'leaf')}, depth {tree.depth}"
        out = [f"{shape}; {self._whole()}"]
        out += [self.subject.note] if self.subject.note else []
        later = [_Entry(0, 0)]
        for start in later:  # grows while it is read
            out.append("")
            if start.node:
                out.append(f"[{start.node}] after {written_counted(start.depth, 'question')}:")
            waiting = [start]
            while waiting:
                entry = waiting.pop()
                if entry.depth - start.depth == self.deepest and not tree.is_leaf[entry.node]:
                    later.append(_Entry(entry.node, entry.depth))
                    rows = written_rows(self.subject, entry.node)
                    out += self._lay(entry, [f"go on at [{entry.node}] below"], rows)
                else:
                    lines, children = self._node(entry)
                    out += lines
                    waiting += reversed(children)
        return out

    def _whole(self) -> str:
        """Write what all training rows are together."""
        rows, answer = written_rows(self.subject, 0), written_answer(self.subject, 0, self.digits)
        mix = written_mix(self.subject, 0)
        if self.subject.holds_numbers:
            return ", ".join(filter(None, [rows, answer, mix]))
        share = mix.partition(";")[0]
        return f"{rows}, {answer}: {share}" if share else rows

    def _node(self, entry: _Entry) -> tuple[list[str], list[_Entry]]:
        node = entry.node
        answer = answer_pieces(self.subject, node, self.digits, self.max_terms)
        if self.tree.is_leaf[node]:
            lines = self._lay(entry, answer, self._leaf(node))
            return lines + self._noted(entry.below, self._line_notes(node)), []
        if self.max_depth is not None and entry.depth >= self.max_depth:
            below = f"{written_counted(int(self.n_leaves[node]), 'leaf')} below"
            inside = ", ".join(filter(None, [below, self._leaf(node)]))
            return self._lay(entry, [*answer, self.dots], inside), []
        pieces, answers, notes, oblique = self._question(node)
        under = entry.below + self.line
        lines = self._lay(entry, pieces, written_rows(self.subject, node), under)
        if self.details:
            notes += self._worth(node, oblique)
        return lines + self._noted(under, notes), self._children(entry, answers)

    def _noted(self, under: str, notes: list[list[str]]) -> list[str]:
        """Lay notes out in lines, below what they are about."""
        lines: list[str] = []
        for note in notes:
            first, *rest = fill_lines(note, self.width - cells(under) - 4)
            lines += [f"{under}  {first}", *(f"{under}    {line}" for line in rest)]
        return lines

    def _line_notes(self, node: int) -> list[list[str]]:
        """Write what levels, and with details missing numbers, count in a leaf's function."""
        if not says_line(self.subject, node):
            return []
        line = line_of(self.subject, node)
        notes = line.notes(self.digits, self.max_terms, self.details)
        effects = line.effects(self.max_terms) if self.details else []
        return notes + ([["per standard deviation:", *with_commas(effects)]] if effects else [])

    def _children(self, entry: _Entry, answers: list[str]) -> list[_Entry]:
        first = int(self.tree.first_child[entry.node])
        last = len(answers) - 1
        return [
            _Entry(
                first + k,
                entry.depth + 1,
                entry.below + (self.corner if k == last else self.fork),
                entry.below + (" " * STEP if k == last else self.line),
                answer,
            )
            for k, answer in enumerate(answers)
        ]

    def _leaf(self, node: int) -> str:
        facts = [written_rows(self.subject, node), written_mix(self.subject, node)]
        return ", ".join(filter(None, facts))

    def _lay(
        self, entry: _Entry, pieces: list[str], facts: str, under: str | None = None
    ) -> list[str]:
        """Lay one node out in lines: what leads here, what it says, and facts in parentheses."""
        lead, words = entry.first, [*pieces, f"({facts})"] if facts else pieces
        if entry.answer in YES_NO:
            lead += entry.answer
        else:
            words = parts_of(entry.answer) + words
        more = (entry.below if under is None else under) + "  "
        first, *rest = fill_lines(words, self.width - max(cells(lead), cells(more)))
        return [lead + first, *(more + line for line in rest)]

    def _question(self, node: int) -> tuple[list[str], list[str], list[list[str]], bool]:
        """Write a question, its answers and notes, and say whether it is oblique."""
        tree, encoding = self.tree, self.subject.encoding
        found = asked(tree, node, encoding, self.digits, self.max_terms)
        answers = [f"{answer}:" for answer in found.answers] or list(YES_NO)
        if found.question is None:
            machine = bool(tree.kind[node] == NodeKind.MACHINE)
            notes = (
                stand_ins(tree, node, encoding, self.digits, self.max_terms, self.details)
                if machine
                else []
            )
            return found.pieces, answers, notes, machine
        oblique = found.question.is_oblique
        notes = found.question.scores(self.digits, self.max_terms, self._max_levels)
        if self.details and oblique:
            rates = found.question.rates(self.digits, self.max_terms)
            notes += [[rate] for rate in rates]
            effects = found.question.effects()[: self._shown]
            if effects:
                notes.append(["per standard deviation:", *with_commas(effects)])
            notes += found.question.missing(self.digits, self.max_terms)
        elif self.details:
            notes += self._missing(node)
        return found.pieces, answers, notes, oblique

    def _missing(self, node: int) -> list[list[str]]:
        """Write where rows go whose one number is missing; what stands in says no more."""
        plane = int(self.tree.plane_ptr[node])
        branch = missing_branch(self.tree, plane)
        if branch < 0 or self.tree.missing_side[plane]:  # the question says the side
            return []
        return [["missing goes on at:", "no" if branch else "yes"]]

    @property
    def _shown(self) -> int:
        return len(self.subject.encoding.columns) if self.max_terms is None else self.max_terms

    @property
    def _max_levels(self) -> int | None:
        return None if self.max_terms is None else 2 * self.max_terms

    def _worth(self, node: int, oblique: bool) -> list[list[str]]:
        """Write what the split gained and where it came from."""
        gain = written_gain(self.subject, node, oblique)
        notes = [[gain]] if gain else []
        origin = int(self.tree.origin[node])
        if origin >= 0:
            label = self.tree.origin_labels[origin]
            notes.append([label] if label == EDITED else ["proposed by:", on_one_line(label)])
        return notes
