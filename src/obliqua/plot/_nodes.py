"""What stands in a box: the text of a node, its histogram, its classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.data.target import Numbers
from obliqua.plot._canvas import Canvas, Font
from obliqua.plot._rows import Along, Histogram, Sample, first_number_at, sums_at
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.colours import EDGE, GREY, INK, class_colours, mix, ramp_colour
from obliqua.words.levels import LevelBranch
from obliqua.words.line import line_of, says_line
from obliqua.words.numbers import write_number
from obliqua.words.phrases import spread_of, written_label, written_means
from obliqua.words.question import Question, Scores, Term, conditions, read_plane
from obliqua.words.subject import Subject

Place = tuple[float, float, float, float]  # left, bottom, width and height
DIGITS = 3
MAX_BRANCHES = 4
MAX_LEVELS, LEVEL_LINES = 12, 4  # of a split on levels
LEGEND_LINE, MAX_LEGEND_LINES = 0.2, 4
HAIR = 0.016  # the least height of a bar
LOW_BARS, MARK = 0.45, 0.024  # the share of the height for bars below marks, and half a mark
SCORE_LINES = 2  # of a branch of a linear machine
FURTHER = "   "  # before the second of them
SWATCH = 0.19  # how far a name stands from the left of its swatch


def question_lines(
    scale: Along, font: Font, width: float, size: float, max_terms: int
) -> list[str]:
    """Write a question on lines of a width in inches; names are shortened where they must."""
    if scale.levels is not None:
        return _level_lines(scale.levels, font, width, size)
    question, parts = scale.question, []
    for k, term in enumerate(question.terms[:max_terms]):
        before = font.writable(factor_before(question, term, k == 0))
        space = width - font.width(before, size)
        if space < width / 2 < font.width(font.writable(term.name), size):
            parts += [before, font.fit(term.name, width, size)]  # a long number, a long name
        else:
            parts.append(before + font.fit(term.name, space, size))
    hidden = len(question.terms) - len(question.terms[:max_terms])
    if hidden:
        parts.append(f"+ ({hidden} more)")
    # The threshold stands alone on a line only where it must.
    relation = font.writable(f"{relation_of(question)} {minus(question.cut(DIGITS))}")
    if font.width(f"{parts[-1]} {relation}", size) <= width:
        parts[-1] = f"{parts[-1]} {relation}"
    else:
        parts.append(relation)
    if question.missing_side:
        parts.append(question.aside)
    lines = font.wrap(parts, width, size)
    for term in question.terms[:max_terms]:
        lines += _score_lines(term.scores, font, width, size)
    return lines


def function_lines(
    subject: Subject, node: int, font: Font, width: float, size: float, max_terms: int
) -> list[str]:
    """Write the linear function of a leaf on lines of a width in inches; none for a constant."""
    if not says_line(subject, node):
        return []
    line = line_of(subject, node)
    if line.is_constant:
        return []
    start = line.start(DIGITS)
    terms = line.sum.terms[:max_terms]
    parts = [font.fit(f"{line.name} =", width, size), *([minus(start)] if start else [])]
    for k, term in enumerate(terms):
        before = font.writable(factor_before(line.sum, term, k == 0 and not start))
        parts.append(before + font.fit(term.name, width - font.width(before, size), size))
    hidden = len(line.sum.terms) - len(terms)
    parts += [f"+ ({hidden} more)"] if hidden else []
    lines = font.wrap(parts, width, size)
    lines += font.wrap([minus(text) for text in line.limits(DIGITS)], width, size)
    for term in terms:
        lines += _score_lines(term.scores, font, width, size)
    return lines


def factor_before(question: Question, term: Term, first: bool) -> str:
    """Write what stands before the name of a feature: its sign, and its coefficient unless 1."""
    number = minus(question.written_coefficient(term, DIGITS))
    sign = "−" if term.coefficient < 0 else "+"
    before = f"{sign} " if not first else sign if sign == "−" else ""
    return before if number == "1" else f"{before}{number}·"


def _level_lines(branch: LevelBranch, font: Font, width: float, size: float) -> list[str]:
    """Name the levels of the first branch, as many as a few lines hold."""
    lines: list[str] = []
    for most in range(MAX_LEVELS, 0, -1):
        pieces = [font.fit(piece, width, size) for piece in branch.pieces(most)]
        lines = font.wrap(pieces, width, size)
        if len(lines) <= LEVEL_LINES:
            break
    return lines


def _score_lines(scores: Scores | None, font: Font, width: float, size: float) -> list[str]:
    """Write which levels of a column count most and least; a missing one is a level too."""
    if scores is None:
        return []
    numbers = [*zip(scores.numbers.tolist(), scores.levels, strict=False)]
    numbers.append((scores.missing, "missing"))
    # Those that count 0 are left out, as is what the node has not seen.
    known = sorted((pair for pair in numbers if abs(pair[0]) > 0), key=lambda pair: -pair[0])
    ranked = [f"{level} {minus(write_number(number, DIGITS))}" for number, level in known]
    ends = [ranked[0], f"… {ranked[-1]}"] if len(ranked) > 2 else [", ".join(ranked) or "0"]
    parts = [font.fit(part, width, size) for part in (f"{scores.term}:", *ends)]
    return font.wrap(parts, width, size)


def relation_of(question: Question) -> str:
    """Return the sign between a question's sum and its threshold."""
    return "≤" if question.relation == "<=" else "≥"


def minus(number: str) -> str:
    """Write a number with a true minus sign."""
    return number.replace("-", "−")


def node_lines(
    subject: Subject,
    node: int,
    font: Font,
    width: float,
    size: float,
    max_terms: int,
    taken: int = 0,
) -> list[str]:
    """Write what a node asks that is no hyperplane: a line per branch, `taken` among them."""
    tree, encoding = subject.tree, subject.encoding
    n_branches = int(tree.n_children[node])
    named = list(range(n_branches))
    if n_branches > MAX_BRANCHES:
        named = [*named[: MAX_BRANCHES - 2], max(taken, MAX_BRANCHES - 2)]
    lines = []
    if tree.kind[node] == NodeKind.MACHINE:
        lines.append("which score is largest?")
        first = int(tree.plane_ptr[node])
        for k in named:
            score = read_plane(tree, first + k, encoding, scaled=False)
            lines += _score_of(score, f"{k + 1}: ", font, width, size, max_terms)
    else:
        written = conditions(tree, node, encoding, DIGITS, max_terms)
        if tree.kind[node] == NodeKind.HYPERPLANE:  # whether a value is there: yes, or no
            return [font.fit(written[0], width, size)]
        lines += [font.fit(f"{k + 1}: {written[k]}", width, size) for k in named]
    if len(named) < n_branches:
        lines.append(f"({n_branches - len(named)} more branches)")
    return lines


def _score_of(
    score: Question, name: str, font: Font, width: float, size: float, max_terms: int
) -> list[str]:
    """Write a sum minus its threshold: as many terms, whole ones, as a few lines hold."""
    away, space = score.threshold, width - font.width(name, size)
    end = "" if away == 0 else f"{'+' if away < 0 else '−'} {score.write(abs(away), DIGITS)}"
    if not score.terms:
        return [font.writable(f"{name}{end.replace(' ', '').removeprefix('+') or '0'}")]
    lines: list[str] = []
    for shown in range(min(max_terms, len(score.terms)), 0, -1):
        parts = []
        for k, term in enumerate(score.terms[:shown]):
            before = font.writable(factor_before(score, term, k == 0))
            parts.append(before + font.fit(term.name, space - font.width(before, size), size))
        hidden = len(score.terms) - shown
        parts += [f"+ ({hidden} more)"] if hidden else []
        parts += [font.writable(end)] if end else []
        lines = font.wrap(parts, space, size)
        if len(lines) <= SCORE_LINES:
            break
    return [f"{name}{lines[0]}", *(f"{FURTHER}{line}" for line in lines[1:])]


def branch_name(subject: Subject, node: int, branch: int) -> str:
    """Name a branch of a node: yes and no, or its number."""
    if subject.tree.kind[node] == NodeKind.HYPERPLANE:
        return "no" if branch else "yes"
    return str(branch + 1)


# How the gain of the best axis-parallel split is introduced; one of them in a whole picture.
AXIS_WORDS = ("axis-parallel", "axis")


def gain_text(
    subject: Subject, node: int, font: Font, width: float, size: float, word: str = AXIS_WORDS[0]
) -> str:
    """Write the gain of a split, and for an oblique one what one feature would have gained.

    Of several ways to say it the longest is chosen that fits a width in inches.
    """
    texts = _gain_texts(subject, node, word)
    return next((text for text in texts if font.width(text, size) <= width), "")


def axis_word(subject: Subject, widths: dict[int, float], font: Font, size: float) -> str:
    """Choose the word that fits all nodes of a picture, given the width of each in inches."""
    for word in AXIS_WORDS[:-1]:
        texts = {node: _gain_texts(subject, node, word) for node in widths}
        # The last two ways of several leave the word out or have no other.
        if all(
            len(ways) < 3 or min(font.width(text, size) for text in ways[:2]) <= widths[node]
            for node, ways in texts.items()
        ):
            return word
    return AXIS_WORDS[-1]


def _gain_texts(subject: Subject, node: int, word: str) -> list[str]:
    """Return the ways to write a gain, the longest first; empty if a tree by hand knows none."""
    tree = subject.tree
    gain, axis_gain = float(tree.gain[node]), float(tree.axis_gain[node])
    if not gain > 0:
        return []
    plane = int(tree.plane_ptr[node])
    oblique = tree.coef_ptr[plane + 1] - tree.coef_ptr[plane] > 1
    alone = [f"gain {write_number(gain, digits)}" for digits in (3, 2)]
    if not oblique or math.isnan(axis_gain):
        return alone
    both = [
        f"{text} ({word} {write_number(axis_gain, digits)})"
        for text, digits in zip(alone, (3, 2), strict=True)
    ]
    return [*both, alone[-1]]


@dataclass(frozen=True)
class Palette:
    """What the classes are called and which colours they have."""

    names: tuple[str, ...]
    colours: Sequence[str]

    @classmethod
    def of(cls, subject: Subject) -> Palette:
        """Return the classes of a tree."""
        names = tuple(written_label(name) for name in subject.class_names)
        return cls(names, class_colours(len(names)))

    def colour_of(self, tree: Tree, node: int) -> str:
        """Return the colour of the class of a node."""
        return self.colours[int(labels_of(tree)[node])]

    def name_of(self, subject: Subject, node: int) -> str:
        """Return the class of a node, with its number in a tree of numbers for classes."""
        label = int(labels_of(subject.tree)[node])
        if not subject.holds_numbers:
            return self.names[label]
        return f"{self.names[label]}: {minus(written_means(subject, node)[label])}"

    def draw_answer(
        self,
        canvas: Canvas,
        place: Place,
        subject: Subject,
        sample: Sample | None,
        node: int,
    ) -> None:
        """Draw the classes of a node as a bar."""
        class_bar(canvas, place, sums_at(subject, sample, node), self, f"node-{node}-classes")

    def legend(self, font: Font, width: float, size: float, note: str = "") -> Legend:
        """Return the names of the classes on lines of a width in inches."""
        return Legend.of(self, font, width, size, note)


def labels_of(tree: Tree) -> Int64Array:
    """Return the class of each node: the largest, or the one with the largest number."""
    if tree.task == Numbers.task:
        return tree.mean.argmax(axis=1).astype(np.int64, copy=False)
    return tree.leaf_label


@dataclass(frozen=True)
class Shades:
    """Colours for the first number that a tree says, pale for small and dark for large ones."""

    name: str
    low: float
    high: float
    reach: tuple[float, float]  # of the leaves' means and standard deviations, and functions
    names: tuple[str, ...] = ()
    n_outputs: int = 1

    @classmethod
    def of(cls, subject: Subject) -> Shades:
        """Return the numbers of a tree, from the least leaf to the largest."""
        tree = subject.tree
        leaves = np.flatnonzero(tree.is_leaf)
        means = tree.mean[leaves, 0]
        spread = np.nan_to_num([spread_of(subject, int(node)) for node in leaves])
        least, most = means - spread, means + spread
        if tree.has_lines:  # which say more than the means
            least = np.minimum(least, tree.leaf_low[leaves])
            most = np.maximum(most, tree.leaf_high[leaves])
        reach = (float(least.min()), float(most.max()))
        low, high = reach if tree.has_lines else (float(end[0]) for end in subject.mean_ends)
        names = subject.class_names
        return cls(names[0], low, high, reach, n_outputs=len(names))

    def title(self, font: Font, width: float, size: float) -> str:
        """Return what the colours are; of several outputs they show the first."""
        more = f" (1 of {self.n_outputs} outputs)" if self.n_outputs > 1 else ""
        return font.fit(self.name, width, size) + more

    def colour(self, value: float) -> str:
        """Return the colour of a number."""
        size = self.high - self.low
        return ramp_colour((value - self.low) / size if size > 0 else 0.5)

    def colour_of(self, tree: Tree, node: int) -> str:
        """Return the colour of the mean of a node."""
        return self.colour(float(tree.mean[node, 0]))

    def name_of(self, subject: Subject, node: int) -> str:
        """Return the mean of a node in words; of several, the one that has the colour."""
        if len(subject.class_names) > 1:
            return f"{written_label(self.name)}: {minus(written_means(subject, node)[0])}"
        return f"mean {minus(written_means(subject, node)[0])}"

    def place_of(self, value: float, place: Place) -> float:
        """Return where a number lies between the ends of a bar."""
        low, high = self.reach
        share = (value - low) / (high - low) if high > low else 0.5
        return place[0] + place[2] * min(max(share, 0.0), 1.0)

    def draw_answer(
        self,
        canvas: Canvas,
        place: Place,
        subject: Subject,
        sample: Sample | None,
        node: int,
    ) -> None:
        """Draw where the mean of a node lies, and a standard deviation to both sides of it."""
        left, bottom, width, height = place
        mean, spread = first_number_at(subject, sample, node)
        y, gid = bottom + height / 2, f"node-{node}-mean"
        canvas.line([(left, y), (left + width, y)], 0.6, color=EDGE, zorder=4.0)
        if math.isnan(mean):
            return
        ends = [self.place_of(value, place) for value in (mean, mean - spread, mean + spread)]
        colour = self.colour(mean)
        if spread > 0:
            canvas.bars([(ends[1], y - 0.02, ends[2] - ends[1], 0.04)], [colour])
        half = min(0.045, height / 2)
        look = {"facecolors": [colour], "edgecolors": [INK], "linewidths": canvas.points(0.5)}
        mark = (ends[0] - half, y - half, 2 * half, 2 * half)
        canvas.bars([mark], [colour], **look, zorder=4.3).set_gid(gid)

    def legend(self, font: Font, width: float, size: float, note: str = "") -> ShadeLegend:
        """Return the scale of colours."""
        ends = tuple(minus(write_number(end)) for end in (self.low, self.high))
        return ShadeLegend(self.title(font, 2.2, size), ends, font, size, note)


Paint = Palette | Shades


def paint_of(subject: Subject) -> Paint:
    """Return the colours of a picture: those of classes, or of numbers."""
    return Shades.of(subject) if subject.says_numbers else Palette.of(subject)


def class_bar(canvas: Canvas, place: Place, sums: FloatArray, palette: Palette, gid: str) -> None:
    """Draw a bar that is divided as the classes are; an empty one if there are none."""
    left, bottom, width, height = place
    sums = np.maximum(sums, 0.0)  # numbers for classes may be below 0
    total = float(sums.sum())
    if total > 0:
        ends = np.concatenate([[0.0], np.cumsum(sums / total)]) * width + left
        places = [(a, bottom, b - a, height) for a, b in pairwise(ends)]
        canvas.bars(places, palette.colours).set_gid(gid)
    frame = {"facecolor": "none", "edgecolor": EDGE, "linewidth": 0.5, "zorder": 4.2}
    canvas.box(place, radius=0.0, **frame)


def draw_histogram(canvas: Canvas, place: Place, found: Histogram, paint: Paint, gid: str) -> None:
    """Draw bars, classes on top of one another, and the cut as a line across.

    Bars of rows with numbers are low and pale; above them stands a mark at the mean of each.
    """
    left, bottom, width, height = place
    numbers = found.means if isinstance(paint, Shades) else None
    low = height if numbers is None else LOW_BARS * height
    x = left + (found.edges - found.edges[0]) / (found.edges[-1] - found.edges[0]) * width
    totals = found.sums.sum(axis=1)
    # A single row among thousands is still seen.
    heights = np.where(totals > 0, np.maximum(low * totals / (totals.max() or 1.0), HAIR), 0.0)
    shares = found.sums / np.where(totals > 0, totals, 1.0)[:, None]
    tops = np.cumsum(shares, axis=1) * heights[:, None]
    grey = EDGE if numbers is None else mix(EDGE, "#ffffff", 0.35)
    colours = paint.colours if isinstance(paint, Palette) and shares.shape[1] > 1 else [grey]
    places, fills = [], []
    for b in range(len(totals)):
        for c in np.flatnonzero(found.sums[b]).tolist():
            size = shares[b, c] * heights[b]
            places.append((x[b], bottom + tops[b, c] - size, 0.93 * (x[b + 1] - x[b]), size))
            fills.append(colours[c])
    canvas.bars(places, fills).set_gid(gid)
    if isinstance(paint, Shades) and numbers is not None:
        _draw_means(canvas, (left, bottom, width, height), x, numbers, totals, paint, gid)
    canvas.line([(left, bottom), (left + width, bottom)], 0.6, color=EDGE, zorder=4.2)
    at = left + (found.cut - found.edges[0]) / (found.edges[-1] - found.edges[0]) * width
    drop = 0.05
    drawn = canvas.line([(at, bottom - drop), (at, bottom + height + 0.03)], 1.1, color=INK)
    drawn.set_gid(f"{gid}-cut")


def _draw_means(
    canvas: Canvas,
    place: Place,
    x: FloatArray,
    means: FloatArray,
    totals: FloatArray,
    paint: Shades,
    gid: str,
) -> None:
    """Draw a mark in each bin with rows, the higher the larger their mean is."""
    _, bottom, _, height = place
    some = np.flatnonzero(totals > 0)
    low, high = float(means[some].min()), float(means[some].max())
    share = (means - low) / (high - low) if high > low else np.full(len(means), 0.5)
    middle, y = (x[:-1] + x[1:]) / 2, bottom + MARK + share * (height - 2 * MARK)
    places = [(middle[b] - MARK, y[b] - MARK, 2 * MARK, 2 * MARK) for b in some.tolist()]
    fills = [paint.colour(float(means[b])) for b in some.tolist()]
    look = {"edgecolors": [INK], "linewidths": canvas.points(0.3), "zorder": 4.3}
    canvas.bars(places, fills, **look).set_gid(f"{gid}-means")


def main_classes(font: Font, sums: FloatArray, palette: Palette, width: float, size: float) -> str:
    """Write the largest classes, the largest first, as many as a width in inches holds."""
    order = [int(c) for c in np.argsort(-sums, kind="stable") if sums[c] > 0]
    text = ""
    for k, c in enumerate(order):
        rest = len(order) - k - 1
        more = f" +{rest}" if rest else ""
        if not text:
            # Only the first name is shortened: a second one stands there whole or is counted.
            text = font.fit(palette.names[c], width - font.width(more, size), size)
            continue
        longer = f"{text}, {font.writable(palette.names[c])}"
        if font.width(longer + more, size) > width:
            return f"{text} +{rest + 1}"
        text = longer
    return text


def two_sides(
    font: Font, sides: Sequence[FloatArray], palette: Palette, width: float, size: float
) -> list[str]:
    """Write the classes of two branches on one line: what one leaves free, the other may use."""
    gap = 0.12
    half = (width - gap) / 2
    texts = [main_classes(font, sums, palette, half, size) for sums in sides]
    for k in (0, 1, 0):
        free = width - gap - font.width(texts[1 - k], size)
        texts[k] = main_classes(font, sides[k], palette, max(free, half), size)
    return texts


STRIP, STRIP_PARTS = 1.1, 44  # width of a scale of colours, in inches, and its steps


@dataclass(frozen=True)
class ShadeLegend:
    """A scale of colours with the numbers at its ends."""

    name: str
    ends: tuple[str, ...]
    font: Font
    size: float
    note: str = ""

    @property
    def _starts(self) -> list[float]:
        """Where the name, the first number, the strip and the other number begin."""
        widths = [self.font.width(self.name, self.size) + 0.15]
        widths += [self.font.width(self.ends[0], self.size) + 0.08, STRIP + 0.08]
        return np.cumsum([0.0, *widths]).tolist()

    @property
    def width(self) -> float:
        """The width in inches."""
        own = self._starts[-1] + self.font.width(self.ends[1], self.size)
        return max(own, self.font.width(self.note, self.size))

    @property
    def height(self) -> float:
        """The height of all lines, in inches."""
        return LEGEND_LINE * (1 + bool(self.note))

    def draw(self, canvas: Canvas, left: float, top: float, paint: Paint) -> None:
        """Draw the scale, and the note below it."""
        y = top - LEGEND_LINE / 2
        name, low, strip, high = (left + start for start in self._starts)
        for x, text in ((name, self.name), (low, self.ends[0]), (high, self.ends[1])):
            canvas.text(x, y, text, self.size, va="center_baseline")
        part = STRIP / STRIP_PARTS
        places = [(strip + k * part, y - 0.05, 1.2 * part, 0.1) for k in range(STRIP_PARTS)]
        fills = [ramp_colour(k / (STRIP_PARTS - 1)) for k in range(STRIP_PARTS)]
        canvas.bars(places, fills).set_gid("legend-scale")
        if self.note:
            y -= LEGEND_LINE
            drawn = canvas.text(left, y, self.note, self.size, va="center_baseline", color=GREY)
            drawn.set_gid("legend-note")


@dataclass(frozen=True)
class Legend:
    """The names of the classes with their colours, on lines."""

    # For each line, (distance from the left, class, shortened name) of each class on it.
    rows: list[list[tuple[float, int, str]]]
    width: float  # of the longest line, in inches
    size: float  # of the text, in points
    left_out: int  # classes for which there is no space
    note: str = ""  # below the names

    @classmethod
    def of(cls, palette: Palette, font: Font, width: float, size: float, note: str = "") -> Legend:
        """Divide the classes among lines of a width in inches."""
        rows: list[list[tuple[float, int, str]]] = [[]]
        at, widest, left_out = 0.0, 0.0, 0
        for c, name in enumerate(palette.names):
            short = font.fit(name, min(2.2, width - SWATCH), size)
            needs = SWATCH + font.width(short, size)
            if rows[-1] and at + needs > width:
                if len(rows) == MAX_LEGEND_LINES:
                    left_out = len(palette.names) - c
                    break
                rows.append([])
                at = 0.0
            rows[-1].append((at, c, short))
            widest = max(widest, at + needs)
            at += needs + 0.18
        return cls(rows, max(widest, font.width(note, size)), size, left_out, note)

    @property
    def height(self) -> float:
        """The height of all lines, in inches."""
        return LEGEND_LINE * (len(self.rows) + (self.left_out > 0) + bool(self.note))

    def draw(self, canvas: Canvas, left: float, top: float, palette: Paint) -> None:
        """Draw a swatch and a name for each class, from the top down."""
        assert isinstance(palette, Palette)
        y = top - LEGEND_LINE / 2
        for row in self.rows:
            for at, c, name in row:
                swatch = (left + at, y - 0.05, 0.13, 0.1)
                canvas.bars([swatch], [palette.colours[c]]).set_gid(f"legend-{c}")
                canvas.text(left + at + SWATCH, y, name, self.size, va="center_baseline")
            y -= LEGEND_LINE
        if self.left_out:
            more = f"and {self.left_out:,} more"
            canvas.text(left, y, more, self.size, va="center_baseline", color=GREY)
            y -= LEGEND_LINE
        if self.note:
            drawn = canvas.text(left, y, self.note, self.size, va="center_baseline", color=GREY)
            drawn.set_gid("legend-note")
