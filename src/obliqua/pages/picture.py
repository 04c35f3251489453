"""`tree_picture`: a small picture of a tree for notebooks, as one SVG.

It stands in somebody else's page. So it has no scripts, asks for nothing outside, has a ground of
its own on which its colours can be read, and ids that no other picture has. All that comes from
data is text of known width on one line, cut off at the border of its box.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from html import escape
from itertools import accumulate, count
from typing import Any
from zlib import crc32

import numpy as np

from obliqua._typing import FloatArray
from obliqua.data.encoding import Encoding
from obliqua.export.text import check_limits
from obliqua.tree.tree import Tree
from obliqua.words.colours import EDGE, GREY, INK, PALE, class_colours, ramp_colour
from obliqua.words.line import line_of, says_line
from obliqua.words.numbers import write_number
from obliqua.words.phrases import (
    answer_pieces,
    cells,
    fill_lines,
    leaves_below,
    on_one_line,
    spread_of,
    written_answer,
    written_counted,
    written_label,
    written_means,
    written_mix,
    written_number_of_rows,
    written_rows,
    written_share,
)
from obliqua.words.question import asked
from obliqua.words.subject import Subject, container_of, distinct, subject_of

__all__ = ["tree_picture"]

MAX_DEPTH = 4  # questions one below the other
MAX_LINES = 3  # of a question
MAX_TERMS = 3
DIGITS = 3
NAME, SHORTER = 18, 11  # cells of a name; of one beside a long number
LONGEST = 400  # letters of what is shown when the mouse rests on a box

# In pixels. Letters have one width, so that what fits is known without the reader's fonts.
CELL, LINE, PAD = 6.7, 14, 7
NARROWEST, WIDTH = 19, 26  # cells of a line in a box
GAP, MARGIN, HEAD, FOOT = 42, 12, 30, 26
ROW = 46  # from one end of the tree to the next
LEAF = 2 * LINE + 10  # the height of a leaf
BAR, HAIR = 68.0, 0.3  # the width of a bar, and what can be seen of it
THICK = 14.0  # the width of a link with all rows
SCALE = 250  # a picture of numbers has a scale of colours, and is not narrower
SMALLEST = 0.75  # so far a picture shrinks before its page has to scroll

FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Attributes have the colours of a light page; rules are stronger than they.
DARK = {
    "ground": "fill: #1e1e1e; stroke: #555555",
    "box": "fill: #2b2b2b; stroke: #8a8a8a",
    "ink": "fill: #ececec",
    "grey": "fill: #b0b0b0",
    "link": "stroke: #565656",
    "edge": "stroke: #8a8a8a",
}
STYLE = "@media (prefers-color-scheme: dark) {{ {} }}".format(
    " ".join(f".obliqua-picture .oq-{name} {{ {rule} }}" for name, rule in DARK.items())
)
# Words that are read from the right, with what stands between them but no part of a formula.
_LETTER = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_FROM_RIGHT = re.compile(f"[{_LETTER}](?:[^-+*<>=,{{}}`]*[{_LETTER}])?")

_NUMBERS = count(1)


def tree_picture(model: Any, tree: int | None = None, max_leaves: int = 12) -> str:
    """Draw a small picture of a tree, for a notebook or any other page.

    Questions stand in the original units of the features, with at most three of them; the others
    are counted. A branch is the wider the more training rows take it. Below the answer of a leaf
    a bar shows the shares of the classes, or where its mean lies among those of the others, with
    a standard deviation to both sides.

    Of a large tree the top is drawn, at most four questions one below the other. ``+17 leaves``
    says how many are below a box. The text of a whole question appears when the mouse rests on
    it.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of this library, a model that was loaded, or a tree.
    tree : int, default=None
        Which tree of a model with several; the first, if none is given.
    max_leaves : int, default=12
        How many ends the drawn part of the tree has at most.

    Returns
    -------
    str
        An ``svg`` element. It has no scripts, and needs nothing from outside.

    Raises
    ------
    TypeError
        If `model` holds no tree.
    ValueError
        If a parameter makes no sense.

    See Also
    --------
    plot_tree : A picture with histograms, by matplotlib.

    Examples
    --------
    >>> from obliqua import CartClassifier
    >>> from obliqua.pages.picture import tree_picture
    >>> model = CartClassifier().fit([[0.0], [1.0]], ["cold", "warm"])
    >>> picture = tree_picture(model)
    >>> picture.startswith("<svg "), "x0 &lt;= 0.5" in picture, "warm" in picture
    (True, True, True)
    """
    check_limits(2, max_leaves=max_leaves)
    n_trees = len(container_of(model)[0].trees)
    subject = subject_of(model, tree=(tree or 0) if n_trees > 1 else tree)
    return _Picture(subject, _top(subject.tree, max_leaves), n_trees, tree or 0).svg()


def with_picture(html: str, model: Any) -> str:
    """Put the picture of a fitted estimator below its diagram, if it can be drawn."""
    try:
        with np.errstate(all="ignore"):
            picture = tree_picture(model)
    except Exception:  # whatever it is, it must not take the diagram away
        return html
    return (
        f'{html}<details open class="obliqua-tree" style="margin-top: 0.5em">'
        '<summary style="cursor: pointer">Tree</summary>'
        f'<div style="overflow-x: auto; margin-top: 0.3em">{picture}</div></details>'
    )


# --- what is drawn ------------------------------------------------------------------------------


def _top(tree: Tree, max_leaves: int) -> dict[int, list[int]]:
    """Choose the nodes whose branches are drawn: the upper ones, and of those the largest first.

    Of a root with too many branches the largest are drawn.
    """
    rows = _sizes(tree)
    branches: dict[int, list[int]] = {}
    n_ends, waiting = 1, [(0, 0.0, 0)]
    while waiting:
        depth, _, node = heappop(waiting)
        first, number = int(tree.first_child[node]), int(tree.n_children[node])
        if tree.is_leaf[node] or depth == MAX_DEPTH:
            continue
        children = list(range(first, first + number))
        if n_ends - 1 + number > max_leaves:
            if node:
                continue
            children = sorted(sorted(children, key=lambda child: -rows[child])[:max_leaves])
        branches[node] = children
        n_ends += len(children) - 1
        for child in children:
            heappush(waiting, (depth + 1, -float(rows[child]), child))
    return branches


def _sizes(tree: Tree) -> FloatArray:
    """Return the rows of each node, or their weight; of a tree that knows neither, 1."""
    for sizes in (tree.n_samples, tree.weighted_n_node_samples):
        if sizes[0] > 0:
            return np.asarray(sizes, dtype=np.float64)
    return np.ones(tree.n_nodes)


def _with_short_names(subject: Subject, nodes: Sequence[int], width: int) -> Subject:
    """Shorten the names of classes, and of the columns that nodes ask for."""
    tree, columns = subject.tree, list(subject.encoding.columns)
    used: set[int] = set()
    for node in nodes:
        first, last = (int(tree.plane_ptr[node + k]) for k in (0, 1))
        used.update(tree.coef_idx[tree.coef_ptr[first] : tree.coef_ptr[last]].tolist())
        if tree.has_lines:
            used.update(tree.leaf_idx[tree.leaf_ptr[node] : tree.leaf_ptr[node + 1]].tolist())
    known = sorted(used)
    for column, name in zip(known, _short([columns[k].name for k in known], width), strict=True):
        columns[column] = replace(columns[column], name=name)
    return replace(
        subject, encoding=Encoding(tuple(columns)), class_names=_short(subject.class_names, width)
    )


def _short(names: Sequence[str], width: int) -> tuple[str, ...]:
    """Shorten names so that they still differ."""
    return distinct([_fitted(name, width) for name in names])


def _fitted(text: str, width: int, tail: bool = True) -> str:
    """Write a text on one line of so many cells: its middle is left out, or its end."""
    text = on_one_line(text[: 2 * LONGEST])
    if len(text) <= width and cells(text) <= width:
        return text
    kept = width - 1
    while True:
        end = kept * 2 // 5 if tail else 0
        short = f"{text[: kept - end].rstrip()}…{text[len(text) - end :].lstrip() if end else ''}"
        if cells(short) <= width:
            return short
        kept -= 1


# --- elements -----------------------------------------------------------------------------------


def _inert(text: str) -> str:
    """Write a text so that it is nothing but text, wherever it comes from."""
    words = on_one_line(text)
    if not words.isascii():  # a name that is read from the right must not turn the formula round
        words = _FROM_RIGHT.sub("\u2068\\g<0>\u2069", words)
    return escape(words)


def _text(x: float, y: float, text: str, look: str = "ink", **more: Any) -> str:
    """Write a line of text; `look` is ink or grey."""
    fill = INK if look == "ink" else GREY
    rest = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    place = f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {place} class="oq-{look}" fill="{fill}"{rest}>{_inert(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str, more: str = "") -> str:
    """Draw a filled rectangle."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{fill}"{more}/>'


def _frame(width: float, height: float, dashed: bool) -> str:
    """Draw the border and the ground of a box."""
    more = f' rx="5" class="oq-box" stroke="{GREY}"'
    more += ' stroke-dasharray="4 3"' if dashed else ""
    return _rect(0.5, 0.5, width - 1, height - 1, "#ffffff", more)


@dataclass(frozen=True)
class _Drawn:
    """A box: what it has inside, and what is said when the mouse rests on it."""

    height: float
    inside: str
    title: str


@dataclass(frozen=True)
class _Picture:
    """The part of a tree that is drawn."""

    whole: Subject  # with all names in full
    branches: dict[int, list[int]]  # of the nodes whose question is drawn
    n_trees: int
    number: int

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self.whole.tree

    @cached_property
    def nodes(self) -> list[int]:
        """All nodes that are drawn, parents before their children, from left to right."""
        found, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting += reversed(self.branches.get(node, []))
        return found

    @cached_property
    def subject(self) -> Subject:
        """The tree with short names."""
        return _with_short_names(self.whole, self.nodes, NAME)

    @cached_property
    def shorter(self) -> Subject:
        """The tree with names that are shorter still."""
        return _with_short_names(self.whole, self.nodes, SHORTER)

    @cached_property
    def sizes(self) -> FloatArray:
        """The rows of each node."""
        return _sizes(self.tree)

    @cached_property
    def colours(self) -> list[str]:
        """The colours of the classes."""
        return class_colours(len(self.whole.class_names))

    @cached_property
    def answers(self) -> dict[int, str]:
        """What leads to a node, if that is more than a yes or no."""
        found: dict[int, str] = {}
        for node, children in self.branches.items():
            answers = asked(self.tree, node, self.subject.encoding, DIGITS, 1).answers
            first = int(self.tree.first_child[node])
            for child in children if answers else ():
                found[child] = _fitted(answers[child - first], WIDTH - 1, tail=False)
        return found

    @cached_property
    def row(self) -> float:
        """The height of a row: boxes with an answer are higher."""
        return ROW + LINE * bool(self.answers)

    @cached_property
    def places(self) -> dict[int, tuple[float, float]]:
        """The left end and the middle of each box."""
        middle: dict[int, float] = {}
        top, ends = self.top, 0
        for node in reversed(self.nodes):  # ends from below, children before their parents
            children = self.branches.get(node)
            if children:
                middle[node] = (middle[children[0]] + middle[children[-1]]) / 2
            else:
                middle[node] = top + self.row * (self.n_ends - ends - 0.5)
                ends += 1
        depth, step = self.tree.node_depth, self.box + GAP
        return {node: (MARGIN + int(depth[node]) * step, middle[node]) for node in self.nodes}

    @cached_property
    def n_ends(self) -> int:
        """How many boxes have no branches."""
        return len(self.nodes) - len(self.branches)

    @cached_property
    def notes(self) -> list[str]:
        """What stands above the tree."""
        tree = self.tree
        leaves, rows = written_counted(tree.n_leaves, "leaf"), written_rows(self.whole, 0)
        shape = "; ".join(filter(None, [f"{leaves}, depth {tree.depth}", rows]))
        if self.n_trees > 1:
            which = "The first" if self.number == 0 else f"Number {self.number}, from 0,"
            shape = f"{which} of {self.n_trees:,} trees: {shape}"
        drawn, there = len(self.branches.get(0, [])), int(tree.n_children[0])
        few = [f"the {drawn} largest of {there} branches"] if drawn < there else []
        notes = filter(None, ["; ".join([shape, *few]), self.whole.note])
        return [_fitted(note, 4 * WIDTH) for note in notes]

    @property
    def top(self) -> float:
        """Where the tree begins, below the notes."""
        return HEAD + LINE * (len(self.notes) - 1)

    @cached_property
    def width(self) -> float:
        """The width of all, at least that of the notes and of a scale."""
        right = max(x for x, _ in self.places.values()) + self.box
        words = max(map(cells, self.notes)) * CELL
        return max(right, words + MARGIN, SCALE) + MARGIN

    @property
    def height(self) -> float:
        """The height of all."""
        return self.top + self.row * self.n_ends + FOOT + 4

    # --- its parts -----------------------------------------------------------------------

    def svg(self) -> str:
        """Put all parts together."""
        boxes = {node: self._box(node) for node in self.nodes}
        links = [part for node in self.branches for part in self._links(node)]
        notes = [_text(MARGIN, 20 + LINE * k, note, "grey") for k, note in enumerate(self.notes)]
        ground = f' rx="8" class="oq-ground" stroke="{EDGE}"'
        width, height = self.width, self.height
        back = _rect(0.5, 0.5, width - 1, height - 1, "#ffffff", ground)
        body = [back, *links, *notes, *self._legend()]
        checked = crc32("".join([*body, *(box.inside for box in boxes.values())]).encode())
        name = f"obliqua-{checked:08x}-{next(_NUMBERS)}"
        body += [self._placed(node, box, f"{name}-{node}") for node, box in boxes.items()]
        style = (
            f"width: 100%; min-width: {SMALLEST * width:.0f}px; max-width: {width:.0f}px; "
            "height: auto; display: block"
        )
        title = "Decision tree: " + "; ".join(self.notes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="obliqua-picture" role="img" '
            f'aria-labelledby="{name}-title" aria-describedby="{name}-desc" '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'style="{style}" font-family="{FONT}" font-size="11" direction="ltr">'
            f'<title id="{name}-title">{_inert(title)}</title>'
            f'<desc id="{name}-desc">{_inert(self._described())}</desc>'
            f"<style>{STYLE}</style>{''.join(body)}</svg>"
        )

    def _placed(self, node: int, box: _Drawn, name: str) -> str:
        """Put a box in its place, and cut off what leaves it."""
        x, middle = self.places[node]
        return (
            f'<clipPath id="{name}">{_rect(0, 0, self.box, box.height, "#000000")}</clipPath>'
            f'<g transform="translate({x:.1f} {middle - box.height / 2:.1f})" '
            f'clip-path="url(#{name})"><title>{_inert(box.title)}</title>{box.inside}</g>'
        )

    def _links(self, node: int) -> Iterator[str]:
        """Draw the ways to the children, as wide as their rows are many, and yes and no."""
        children = self.branches[node]
        total = float(self.sizes[0])
        widths = [max(THICK * float(self.sizes[child]) / total, 1.0) for child in children]
        x, middle = self.places[node]
        start, bend = x + self.box, GAP / 2
        below = list(accumulate(widths, initial=middle - sum(widths) / 2))
        for k, (child, wide) in enumerate(zip(children, widths, strict=True)):
            end, y = self.places[child]
            begin = below[k] + wide / 2
            yield (
                f'<path d="M{start:.1f} {begin:.1f}C{start + bend:.1f} {begin:.1f} '
                f'{end - bend:.1f} {y:.1f} {end:.1f} {y:.1f}" fill="none" class="oq-link" '
                f'stroke="{PALE}" stroke-width="{wide:.1f}"/>'
            )
            if child not in self.answers:
                at = y - wide / 2 - 3 if y < middle else y + wide / 2 + 9
                word = "no" if k else "yes"
                yield _text(end - 4, at, word, "grey", text_anchor="end", font_size=10)

    def _box(self, node: int) -> _Drawn:
        above = [self.answers[node]] if node in self.answers else []
        return self._question(node, above) if node in self.branches else self._end(node, above)

    def _question(self, node: int, above: list[str]) -> _Drawn:
        """Draw a question and how many rows it is asked of."""
        lines = self.questions[node]
        looks = ["grey"] * len(above) + ["ink"] * len(lines) + ["grey"]
        lines = [*above, *lines, self._rows(node)]
        height = LINE * len(lines) + 9
        written = [
            _text(PAD, LINE * (k + 1) + 1, line, look)
            for k, (line, look) in enumerate(zip(lines, looks, strict=True))
            if line
        ]
        whole = asked(self.tree, node, self.whole.encoding, 4, 5)
        title = " ".join(whole.pieces) + "".join(f"; {answer}" for answer in whole.answers)
        frame = _frame(self.box, height, False)
        return _Drawn(height, "".join([frame, *written]), self._title(title, node))

    def _lines(self, node: int) -> list[str]:
        """Write a question on a few lines, with as many terms as these hold."""
        lines: list[str] = []
        for terms in range(MAX_TERMS, 0, -1):
            lines = fill_lines(self._pieces(node, terms), WIDTH)
            if len(lines) <= MAX_LINES:
                return lines
        return [*lines[: MAX_LINES - 1], " ".join(lines[MAX_LINES - 1 :])]

    @cached_property
    def questions(self) -> dict[int, list[str]]:
        """The lines of each question that is drawn."""
        return {
            node: [_fitted(line, WIDTH) for line in self._lines(node)] for node in self.branches
        }

    @cached_property
    def labels(self) -> dict[int, tuple[str, str]]:
        """What each box without branches says, and the share of its class."""
        found = {}
        for node in self.nodes:
            if node not in self.branches:
                share = self._share(node)
                found[node] = (_fitted(self._label(node), WIDTH - 2 - len(share)), share)
        return found

    @cached_property
    def box(self) -> float:
        """The width of all boxes: that of the longest line."""
        lines = [line for lines in self.questions.values() for line in lines]
        lines += [f"{label}  {share}" for label, share in self.labels.values()]
        lines += [f" {answer}" for answer in self.answers.values()]
        rows = max(len(self._counted(node)) for node in self.nodes) * CELL + BAR + PAD
        return max(max(map(cells, lines)) * CELL, NARROWEST * CELL, rows) + 2 * PAD

    def _pieces(self, node: int, terms: int) -> list[str]:
        """Write a question as pieces; numbers stay with their names, and with the relation."""
        pieces: list[str] = []
        for subject in (self.subject, self.shorter):
            found = asked(self.tree, node, subject.encoding, DIGITS, terms)
            question = found.question
            if question is None:
                return found.pieces
            end = [f"{question.relation} {question.cut(DIGITS)}", question.aside]
            pieces = [*question.pieces(DIGITS, terms), *filter(None, end)]
            if max(map(cells, pieces)) <= WIDTH:
                break
        return [_fitted(piece, WIDTH) for piece in pieces]

    def _end(self, node: int, above: list[str]) -> _Drawn:
        """Draw a leaf, or a node whose question is not drawn: its answer, a bar and its rows."""
        hidden = not self.tree.is_leaf[node]
        top = LINE * len(above)
        height = LEAF + top
        parts = [_frame(self.box, height, bool(hidden))]
        parts.append(_rect(1, 1, 4, height - 2, self._colour(node)))
        parts += [_text(PAD + 4, LINE + 1, answer, "grey") for answer in above]
        label, share = self.labels[node]
        parts.append(_text(PAD + 4, top + LINE + 2, label, font_weight="bold"))
        parts += self._bar(node, PAD + 4, top + LINE + 11)
        for k, right in enumerate((share, self._counted(node))):
            y = top + (LINE + 1) * (k + 1) + 1
            look = {"text_anchor": "end", "font_size": 10}
            parts.append(_text(self.box - PAD, y, right, "grey", **look))
        return _Drawn(height, "".join(parts), self._title(written_answer(self.whole, node), node))

    @cached_property
    def below(self) -> Any:
        """The leaves below each node."""
        return leaves_below(self.whole)

    def _title(self, text: str, node: int) -> str:
        """Write all that is known of a node, up to a length."""
        facts = [written_rows(self.whole, node)]
        facts += [] if node in self.branches else [written_mix(self.whole, node)]
        known = ", ".join(filter(None, facts))
        return _fitted(text, LONGEST) + (f" ({_fitted(known, LONGEST)})" if known else "")

    def _counted(self, node: int) -> str:
        """Write how many leaves are below a box; if it is one, how many rows it has."""
        if node in self.branches or self.tree.is_leaf[node]:
            return self._rows(node)
        return f"+{written_counted(int(self.below[node]), 'leaf')}"

    def _rows(self, node: int) -> str:
        rows, weight = int(self.tree.n_samples[node]), float(self.sizes[node])
        if self.tree.n_samples[0] > 0 or self.tree.weighted_n_node_samples[0] > 0:
            return written_number_of_rows(rows, rows or weight)
        return ""

    def _described(self) -> str:
        """Say in a sentence what the picture shows, for those who do not see it."""
        if not self.branches:
            return f"It asks nothing and says: {_fitted(written_answer(self.whole, 0), LONGEST)}."
        first = " ".join(asked(self.tree, 0, self.whole.encoding, 4, 5).pieces)
        return f"The first question: {_fitted(first, LONGEST)}. export_text writes all of it."

    # --- answers -------------------------------------------------------------------------

    def _largest(self, node: int) -> int:
        """Return the class of a node."""
        if self.whole.holds_numbers:
            return int(self.tree.mean[node].argmax())
        return int(self.tree.leaf_label[node])

    def _label(self, node: int) -> str:
        subject, tree = self.subject, self.tree
        if not subject.holds_numbers:
            return written_label(subject.class_names[self._largest(node)])
        if not subject.says_numbers:
            largest = self._largest(node)
            name = written_label(subject.class_names[largest])
            return f"{name}: {written_means(subject, node, DIGITS)[largest]}"
        if says_line(subject, node):
            line = line_of(subject, node)
            one, none = (" ".join(line.body(DIGITS, terms)).rstrip(",") for terms in (1, 0))
            return one if cells(one) < WIDTH else none
        if tree.n_outputs > 1:
            return ", ".join(written_means(subject, node, DIGITS))
        return " ".join(answer_pieces(subject, node, DIGITS))

    def _share(self, node: int) -> str:
        """Write the share of the class of a node; nothing for numbers."""
        if self.whole.holds_numbers or not self.tree.stats[node].any():
            return ""
        share = float(self.tree.proportion[node, self._largest(node)])
        return written_share(share) if 0 <= share <= 1 else ""  # sums may be below 0

    def _colour(self, node: int) -> str:
        if self.whole.says_numbers:
            place = self.whole.mean_place(node)
            return ramp_colour(place if math.isfinite(place) else 0.5)
        return self.colours[self._largest(node)]

    def _bar(self, node: int, x: float, y: float) -> list[str]:
        """Draw the shares of the classes, or where numbers lie among all that are drawn."""
        edge = f' class="oq-edge" stroke="{EDGE}"'
        if self.whole.says_numbers:
            low, mean, high = (x + BAR * place for place in self._reach(node))
            colour = self._colour(node)
            return [
                f'<path d="M{x:.1f} {y + 3.5:.1f}h{BAR:.1f}" fill="none"{edge}/>',
                _rect(low, y + 1.5, max(high - low, 0.0), 4, colour, edge),
                _rect(mean - 3, y, 6, 7, colour, edge),
            ]
        values = self.tree.mean if self.whole.holds_numbers else self.tree.stats
        shares = np.maximum(np.nan_to_num(values[node]), 0.0)
        parts, left = [], x
        total = float(shares.sum()) or 1.0
        for c in np.flatnonzero(shares).tolist():
            wide = BAR * float(shares[c]) / total
            if wide > HAIR:
                parts.append(_rect(left, y, wide, 7, self.colours[c]))
            left += wide
        return [*parts, _rect(x, y, BAR, 7, "none", edge)]

    @cached_property
    def _ends(self) -> dict[int, tuple[float, float, float]]:
        """The least, the middle and the largest number of each box without branches."""
        found = {}
        for node in self.nodes:
            if node not in self.branches:
                mean, spread = float(self.tree.mean[node, 0]), spread_of(self.whole, node)
                low, high = mean - np.nan_to_num(spread), mean + np.nan_to_num(spread)
                if says_line(self.whole, node):
                    low, high = float(self.tree.leaf_low[node]), float(self.tree.leaf_high[node])
                found[node] = (low, min(max(mean, low), high), high)
        return found

    def _reach(self, node: int) -> list[float]:
        """Return where the numbers of a node lie between the least, 0, and the largest, 1."""
        least = min(low for low, _, _ in self._ends.values())
        most = max(high for _, _, high in self._ends.values())
        size = most - least
        known = 0 < size < math.inf  # it may be too large for a number
        return [(end - least) / size if known else 0.5 for end in self._ends[node]]

    def _legend(self) -> Iterator[str]:
        """Draw what the colours mean, as far as there is space."""
        y, x = self.height - 14, float(MARGIN)
        if self.whole.says_numbers:
            yield from self._scale(x, y)
            return
        names = [_fitted(written_label(name), NAME + 2) for name in self.subject.class_names]
        for c, name in enumerate(names):
            wide = 14 + cells(name) * CELL + 12
            rest = f"+{len(names) - c} more"
            space = 0 if c == len(names) - 1 else (len(rest) + 1) * CELL
            if x + wide + space > self.width:
                yield _text(x, y + 4, rest, "grey")
                return
            yield _rect(x, y - 4, 9, 9, self.colours[c], f' class="oq-edge" stroke="{EDGE}"')
            yield _text(x + 14, y + 4, name)
            x += wide

    def _scale(self, x: float, y: float) -> Iterator[str]:
        """Draw the colours of numbers from the least to the largest."""
        low, high = (write_number(float(end[0]), DIGITS) for end in self.whole.mean_ends)
        before = f"{_fitted(self.subject.class_names[0], NAME)} {low}"
        yield _text(x, y + 4, before)
        x += (cells(before) + 1) * CELL
        for k in range(20):
            yield _rect(x + 3 * k, y - 4, 3.2, 9, ramp_colour(k / 19))
        yield _text(x + 60 + CELL, y + 4, high)
