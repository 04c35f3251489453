"""`plot_path`: the way of one row from the root to its leaf."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from obliqua._typing import AnyArray
from obliqua.data.encoding import written_name
from obliqua.plot._canvas import Canvas, Font, check_ax, check_limit
from obliqua.plot._nodes import (
    DIGITS,
    FURTHER,
    Place,
    Shades,
    axis_word,
    branch_name,
    draw_histogram,
    function_lines,
    gain_text,
    minus,
    node_lines,
    paint_of,
    question_lines,
    relation_of,
)
from obliqua.plot._rows import (
    Along,
    Histogram,
    Moves,
    Sample,
    along,
    first_number_at,
    histogram,
    level_name,
    line_moves_of,
    moves_of,
    note_on,
    rows_at,
    sums_at,
)
from obliqua.words.colours import EDGE, GREY, INK, mix
from obliqua.words.line import line_of, says_line
from obliqua.words.numbers import write_number
from obliqua.words.phrases import (
    written_counted,
    written_label,
    written_means,
    written_spread,
)
from obliqua.words.subject import Subject, goes_aside, subject_of

# Widths of the three parts of a strip, in inches, and what is between them.
ASKED, ALONG, MOVED = 2.6, 3.3, 3.1
PAD, GAP, MARGIN = 0.1, 0.3, 0.15
TEXT, SMALL = 8.0, 7.0
LINE, SMALL_LINE = TEXT / 72 * 1.3, SMALL / 72 * 1.35
HEIGHT = 1.12  # the least height of a strip
LEAF = 0.62  # the height of the last one
WIDTH = ASKED + ALONG + MOVED + 6 * PAD
# Where the parts begin, and how the third one is divided into name, bar and number.
ASKED_AT = MARGIN + PAD
ALONG_AT = ASKED_AT + ASKED + 2 * PAD
MOVED_AT = ALONG_AT + ALONG + 2 * PAD
NAME_WIDTH, NUMBER_WIDTH = 1.45, 0.55
MOVE_WIDTH = MOVED - NAME_WIDTH - NUMBER_WIDTH - 0.12
BAR = 0.17  # the height of a bar with its gap
SKIPPED = 0.3  # the height of the note on questions that are left out
GAIN = 1.7  # the room for a gain
BOLD = 0.87  # how much of a line bold text may be long
NARROWEST_LEVEL = 0.52  # the room for the name of a level under its bar


def plot_path(
    model: Any,
    row: Any,
    *,
    X: Any = None,
    y: Any = None,
    ax: Any = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    max_terms: int = 4,
    max_nodes: int = 15,
    sample_weight: Any = None,
    tree: int | None = None,
) -> Any:
    """Draw the way of one row through a tree, node by node.

    A strip for each node on the way holds the question with the row's value and its answer; the
    rows of `X` that reach the node along the question's own direction, with the cut as a line
    and the row as a triangle; and what moves the row most: bars to the left move it towards
    ``yes``, bars to the right towards ``no``. The last strip is the leaf with its classes. Where
    it says a linear function, it holds what that says of the row, and how each feature changes it
    from what it says at the mean of the leaf's rows.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a model or a tree.
    row : array-like of shape (n_features,) or (1, n_features)
        The row: an array, a list, a pandas Series or a frame of one row.
    X : array-like of shape (n_rows, n_features), default=None
        Rows to compare with, those of training for instance. Without them a strip shows only
        the cut and the row.
    y : array-like of shape (n_rows,), default=None
        The labels of `X`, or its numbers. Without them the classes of the leaf are those of the
        training rows, which a line below the names of the classes says. For a tree about two
        classes, rows of others are left out.
    ax : matplotlib Axes, default=None
        Where to draw. It is used whole, and text shrinks with the picture. Without it, a
        figure is made.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`,
        or of the outputs of a tree of numbers.
    max_terms : int, default=4
        How many terms of a question to show, and how many bars; the others are counted.
    max_nodes : int, default=15
        How many questions to show. Of a longer way the first and the last ones are drawn, and
        those between them are counted.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows of `X`.
    tree : int, default=None
        Which tree of a model with several.

    Returns
    -------
    matplotlib Axes
        What was drawn in; its `figure` can be saved. The strip of node 3 has the gid
        ``node-3``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    ValueError
        If `row` is not one row that the model can take.

    Notes
    -----
    A bar is coefficient times the difference between the row's value and the mean of the rows
    of `X` at the node, so that all bars together are the row's distance from that mean along
    the question's direction. Without `X` it is coefficient times value.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import HHCartClassifier, plot_path
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = HHCartClassifier(random_state=0).fit(X, y)
    >>> ax = plot_path(model, X.iloc[77], X=X, y=y)
    >>> ax.figure.savefig("row.png")  # doctest: +SKIP
    """
    check_ax(ax)
    subject = subject_of(model, feature_names, class_names, tree)
    check_limit("max_terms", max_terms, 1)
    check_limit("max_nodes", max_nodes, 2)
    if X is None and (y is not None or sample_weight is not None):
        raise ValueError("y and sample_weight belong to rows; give X as well.")
    z = _one_row(subject, row)
    sample = None if X is None else Sample(subject, X, y, sample_weight)
    way = np.sort(subject.tree.decision_path(z).indices).tolist()
    font = Font()
    steps = list(pairwise(way))
    if len(steps) > max_nodes:
        steps = steps[: (max_nodes + 1) // 2] + steps[-(max_nodes // 2) :]
    strips = [_strip(subject, sample, z, step, font, max_terms) for step in steps]
    skipped = len(way) - 1 - len(strips)
    end = _end(subject, sample, z, way[-1], font, max_terms)
    return _PathDrawing(subject, sample, strips, end, skipped, font).draw(ax)


@runtime_checkable
class Series(Protocol):
    """A row of pandas, which knows the names of its values."""

    index: Any

    def to_frame(self) -> Any:
        """Return it as a column of a frame."""


def _one_row(subject: Subject, row: Any) -> AnyArray:
    """Return a row as a matrix of one row, as the tree walks it."""
    if np.ndim(row) == 1 and isinstance(row, Series):
        row = row.to_frame().T  # a Series knows the names of its values
    elif np.ndim(row) == 1:
        plain = np.asarray(row)
        # In an array of text numbers would be text too.
        row = (plain if plain.dtype.kind not in "US" else np.array(row, dtype=object))[None, :]
        # A list has no names of features; scikit-learn would warn that there are none.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return subject.rows(row)
    if np.ndim(row) != 2 or len(row) != 1:
        raise ValueError(
            f"row must be one row, of shape (n_features,) or (1, n_features); got shape "
            f"{np.shape(row)}. Use X[3], or X.iloc[3] of a frame."
        )
    return subject.rows(row)


@dataclass(frozen=True)
class _Strip:
    """One node on the way: what stands in its strip."""

    node: int
    branch: int
    lines: list[str]
    answer: list[str]
    scale: Along | None
    moves: Moves | None

    @property
    def height(self) -> float:
        """The height of the strip in inches."""
        n_bars = 0 if self.moves is None else len(self.moves.terms) + (self.moves.n_others > 0)
        asked = (len(self.lines) + len(self.answer)) * LINE + SMALL_LINE + 0.08
        return max(HEIGHT, asked + 2 * PAD, n_bars * BAR + 2 * PAD)


def _strip(
    subject: Subject,
    sample: Sample | None,
    z: AnyArray,
    step: tuple[int, int],
    font: Font,
    max_terms: int,
) -> _Strip:
    node, after = step
    tree = subject.tree
    branch = after - int(tree.first_child[node])
    scale, name = along(subject, node), branch_name(subject, node, branch)
    if scale is None:
        # One of the lines will be bold, which needs more room.
        lines = node_lines(subject, node, font, BOLD * ASKED, TEXT, max_terms, branch)
        return _Strip(node, branch, lines, [f"this row takes branch {name}"], None, None)
    lines = question_lines(scale, font, ASKED, TEXT, max_terms)
    if goes_aside(tree, scale.plane, z)[0]:
        columns = subject.encoding.columns
        missing = [
            written_name(columns[term.column].name)
            for term in scale.question.terms
            if np.isnan(z[0, term.column])
        ]
        words = font.fit(f"this row misses {', '.join(missing)}: {name}", ASKED, TEXT, bold=True)
        return _Strip(node, branch, lines, [words], None, None)
    if scale.levels is not None:
        term = scale.question.terms[0]
        answer = [f"this row: {level_name(term, float(z[0, term.column]))}", name]
        value = scale.sign * float(scale.values(tree, z)[0])
        words = font.fit(", ".join(answer), ASKED, TEXT, bold=True)
        return _Strip(node, branch, lines, [words], scale, Moves(value, [], 0.0, 0))
    moves = moves_of(scale, sample, node, z, max_terms, subject)
    left, right = _compared(moves.value, scale, branch)
    parts = [f"this row: {left}", f"{right}, {name}"]
    # Numbers are never shortened: what differs may be their last digits.
    words = font.writable(" ".join(parts))
    fits = font.width(words, TEXT, bold=True) <= ASKED
    answer = [words] if fits else [font.writable(part) for part in parts]
    return _Strip(node, branch, lines, answer, scale, moves)


@dataclass(frozen=True)
class _End:
    """The leaf at the end of the way: what its linear function says of the row, if it has one."""

    leaf: int
    value: float | None = None
    said: tuple[str, ...] = ()  # about the row
    lines: tuple[str, ...] = ()
    moves: Moves | None = None
    head: str = ""  # of what moves the row

    @property
    def height(self) -> float:
        """The height of the strip in inches."""
        if self.moves is None:
            return LEAF
        n_bars = len(self.moves.terms) + (self.moves.n_others > 0)
        written = (len(self.said) + len(self.lines) + 1) * LINE + 2 * PAD
        return max(LEAF, written, n_bars * BAR + SMALL_LINE + 2 * PAD)


def _end(
    subject: Subject, sample: Sample | None, z: AnyArray, leaf: int, font: Font, max_terms: int
) -> _End:
    """Read what the leaf says of the row."""
    if not says_line(subject, leaf) or line_of(subject, leaf).is_constant:
        return _End(leaf)
    line, tree = line_of(subject, leaf), subject.tree
    value = float(tree.line_values(z, np.array([leaf], dtype=np.int64))[0])
    moves = line_moves_of(line, sample, leaf, z, max_terms, tree)
    start = moves.value - sum(move for _, move in moves.terms) - moves.others

    def written(number: float) -> str:
        return minus(write_number(number, DIGITS, line.step))

    said = [f"{line.name} = {written(value)}"]
    if not line.low <= moves.value <= line.high:
        said.append(f"held there: the sum is {written(moves.value)}")
    times = "value" if sample is None else "(value − mean)"
    head = f"from {written(start)}, by coefficient × {times}"
    lines = function_lines(subject, leaf, font, ASKED, SMALL, max_terms)
    return _End(leaf, value, tuple(said), tuple(lines), moves, head)


class _PathDrawing:
    """One picture of a way."""

    def __init__(
        self,
        subject: Subject,
        sample: Sample | None,
        strips: list[_Strip],
        end: _End,
        skipped: int,
        font: Font,
    ) -> None:
        self.subject, self.sample, self.strips = subject, sample, strips
        self.font, self.paint = font, paint_of(subject)
        self.end, self.leaf, self.skipped = end, end.leaf, skipped
        widths = dict.fromkeys([strip.node for strip in strips], GAIN)
        self.word = axis_word(subject, widths, font, SMALL)

    def draw(self, ax: Any) -> Any:
        """Draw everything, from the top down."""
        legend = self.paint.legend(self.font, WIDTH, TEXT, note_on(self.subject, self.sample))
        head = 0.22 if self.strips else 0.0
        strips = sum(strip.height + GAP for strip in self.strips)
        strips += SKIPPED if self.skipped else 0.0
        height = 2 * MARGIN + legend.height + 0.1 + head + strips + self.end.height
        self.canvas = Canvas(WIDTH + 2 * MARGIN, height, self.font, ax)
        legend.draw(self.canvas, MARGIN, height - MARGIN, self.paint)
        top = height - MARGIN - legend.height - 0.1
        if self.strips:
            self._heads(top - head / 2)
        top -= head
        for k, strip in enumerate(self.strips):
            if self.skipped and k == (len(self.strips) + 1) // 2:
                more = written_counted(self.skipped, "more question")
                drawn = self.canvas.text(ASKED_AT, top - 0.12, f"… {more} …", TEXT)
                drawn.set_gid("skipped")
                top -= SKIPPED
            place = (MARGIN, top - strip.height, WIDTH, strip.height)
            self.canvas.box(place).set_gid(f"node-{strip.node}")
            self._asked(strip, place)
            if strip.scale is None or strip.moves is None:
                self._answer(strip, place)
            else:
                self._along(strip, strip.scale, strip.moves.value, place)
                self._moved(strip.scale.sign, strip.moves, strip.node, place)
            top -= strip.height
            self._step(strip, top)
            top -= GAP
        self._leaf((MARGIN, top - self.end.height, WIDTH, self.end.height))
        return self.canvas.ax

    def _heads(self, y: float) -> None:
        times = "value" if self.sample is None else "(value − mean)"
        sums = any(strip.moves is not None and strip.moves.terms for strip in self.strips)
        rows = f"rows at the node{' along this sum' if sums else ', level by level'}"
        rows = "this row" if self.sample is None else rows
        heads = [("question", ASKED_AT)]
        if any(strip.moves is not None for strip in self.strips):
            heads.append((rows, ALONG_AT))
        if sums:
            heads.append((f"← yes    coefficient × {times}    no →", MOVED_AT))
        for text, left in heads:
            self.canvas.text(left, y, text, SMALL, color=GREY)

    def _asked(self, strip: _Strip, place: Place) -> None:
        """Write the question, and what the row answers."""
        _, bottom, _, height = place
        gid, left = f"node-{strip.node}", ASKED_AT
        y = bottom + height - PAD - LINE / 2
        taken = False
        for line in strip.lines:
            if strip.scale is None and not line.startswith(FURTHER):
                taken = line.startswith(f"{strip.branch + 1}: ")
            weight = "bold" if taken else "normal"
            self.canvas.text(left, y, line, TEXT, weight=weight).set_gid(f"{gid}-question")
            y -= LINE
        y -= 0.04
        for words in strip.answer:
            self.canvas.text(left, y, words, TEXT, weight="bold").set_gid(f"{gid}-answer")
            y -= LINE
        facts = [rows_at(self.subject, self.sample, strip.node)]
        facts.append(gain_text(self.subject, strip.node, self.font, GAIN, SMALL, self.word))
        y = bottom + PAD + SMALL_LINE / 2
        text = ", ".join(filter(None, facts))
        self.canvas.text(left, y, text, SMALL, color=GREY).set_gid(f"{gid}-rows")

    def _answer(self, strip: _Strip, place: Place) -> None:
        """Where rows have no single value, draw their classes or their mean."""
        bar = (ALONG_AT, place[1] + place[3] / 2 - 0.12, ALONG, 0.24)
        self.paint.draw_answer(self.canvas, bar, self.subject, self.sample, strip.node)

    def _along(self, strip: _Strip, scale: Along, value: float, place: Place) -> None:
        """Draw the rows along the direction, the cut and the row itself."""
        canvas, gid = self.canvas, f"node-{strip.node}"
        at, cut = scale.sign * value, scale.cut
        low = place[1] + PAD + SMALL_LINE + 0.06
        frame = (ALONG_AT, low, ALONG, place[1] + place[3] - PAD - 0.14 - low)
        found = None if self.sample is None else histogram(self.sample, scale, strip.node, 40)
        if found is not None:
            first, last = float(found.edges[0]), float(found.edges[-1])
            draw_histogram(canvas, frame, found, self.paint, f"{gid}-histogram")
            at, cut = found.place(at, strip.branch == 0), found.cut
        else:
            away = max(abs(at - cut), 1e-3 * abs(cut)) or 1.0
            first, last = cut - 2 * away, cut + 2 * away
            canvas.line([(frame[0], low), (frame[0] + ALONG, low)], 0.6, color=EDGE)
            x = frame[0] + ALONG / 2
            drawn = canvas.line([(x, low - 0.05), (x, low + frame[3])], 1.1)
            drawn.set_gid(f"{gid}-histogram-cut")
        x_cut = frame[0] + (cut - first) / (last - first) * ALONG
        # A row that lies beyond the picture stands at its edge.
        share = min(max((at - first) / (last - first), 0.0), 1.0) if np.isfinite(at) else 0.5
        x = frame[0] + share * ALONG
        top = low + frame[3]
        canvas.line([(x, low), (x, top + 0.04)], 0.9, color=INK, linestyle=(0, (2, 1.5)))
        triangle = [(x - 0.055, top + 0.13), (x + 0.055, top + 0.13), (x, top + 0.03)]
        canvas.polygon(triangle, facecolor=INK).set_gid(f"{gid}-row")
        y = low - 0.06 - SMALL_LINE / 2
        if scale.levels is None:
            self._ticks(scale, (first, last), x_cut, y)
        elif found is not None and found.names:
            self._level_ticks(found, y)

    def _level_ticks(self, found: Histogram, y: float) -> None:
        """Write levels under their bars; of many only the outermost, where there is room."""
        n = len(found.names)
        width = ALONG / n
        names = list(enumerate(found.names))
        if width < NARROWEST_LEVEL:
            width, names = ALONG / 2 - 0.1, [names[0], names[-1]]
        for number, name in names:
            side, x = "center", ALONG_AT + (number + 0.5) * ALONG / n
            if n * NARROWEST_LEVEL > ALONG:
                side, x = ("right", ALONG_AT + ALONG) if number else ("left", ALONG_AT)
            short = self.font.fit(name, width - 0.04, SMALL)
            self.canvas.text(x, y, short, SMALL, ha=side, color=GREY)

    def _ticks(self, scale: Along, ends: tuple[float, float], x_cut: float, y: float) -> None:
        """Write the cut under its line, and both ends where there is room."""
        write, left = self.canvas.text, ALONG_AT
        text = minus(scale.question.cut(DIGITS))
        half = self.font.width(text, SMALL) / 2
        x = min(max(x_cut, left + half), left + ALONG - half)
        write(x, y, text, SMALL, ha="center")
        for end, side, at in ((ends[0], "left", left), (ends[1], "right", left + ALONG)):
            text = minus(scale.question.write(scale.sign * end, DIGITS))
            if abs(at - x) > half + self.font.width(text, SMALL) + 0.08:
                write(at, y, text, SMALL, ha=side, color=GREY)

    def _moved(self, sign: float, moves: Moves, node: int, place: Place) -> None:
        """Draw what moves the row: to the left towards yes, to the right towards no."""
        canvas, bottom = self.canvas, place[1]
        bars = list(moves.terms)
        if moves.n_others:
            bars.append((f"{moves.n_others} others", moves.others))
        longest = max((abs(move) for _, move in bars), default=0.0)
        unit = MOVE_WIDTH / 2 / longest if 0 < longest < np.inf else 0.0
        middle = MOVED_AT + NAME_WIDTH + 0.08 + MOVE_WIDTH / 2
        y = bottom + place[3] / 2 + (len(bars) - 1) / 2 * BAR
        tall = len(bars) * BAR / 2
        centre = bottom + place[3] / 2
        canvas.line([(middle, centre - tall), (middle, centre + tall)], 0.6, color=EDGE)
        for k, (name, move) in enumerate(bars):
            short = self.font.fit(name, NAME_WIDTH, SMALL)
            drawn = canvas.text(MOVED_AT + NAME_WIDTH, y, short, SMALL, ha="right")
            drawn.set_gid(f"node-{node}-name-{k}")
            length = sign * move * unit if np.isfinite(move) else 0.0
            bar = (middle + min(length, 0.0), y - BAR * 0.32, abs(length), BAR * 0.64)
            canvas.bars([bar], [mix(INK, "#ffffff", 0.45)]).set_gid(f"node-{node}-move-{k}")
            canvas.text(MOVED_AT + MOVED, y, self._signed(move), SMALL, ha="right", color=GREY)
            y -= BAR

    def _signed(self, move: float) -> str:
        """Write how far a feature moves the row, as exactly as there is room."""
        texts = [write_number(move, digits) for digits in (DIGITS, 2)] + [f"{move:.1e}"]
        texts = [minus(f"{'+' if move > 0 else ''}{text}") for text in texts]
        fits = (text for text in texts if self.font.width(text, SMALL) <= NUMBER_WIDTH)
        return next(fits, texts[-1])

    def _step(self, strip: _Strip, top: float) -> None:
        """Draw an arrow to the next strip, with the answer beside it."""
        x = ASKED_AT + 0.25
        self.canvas.line([(x, top), (x, top - GAP + 0.06)], 1.2, color=GREY, zorder=2)
        end = top - GAP
        head = [(x - 0.05, end + 0.08), (x + 0.05, end + 0.08), (x, end + 0.005)]
        self.canvas.polygon(head, facecolor=GREY)
        name = branch_name(self.subject, strip.node, strip.branch)
        self.canvas.text(x + 0.1, top - GAP / 2, name, SMALL, color=GREY)

    def _leaf(self, place: Place) -> None:
        """Draw the leaf: what it says, and the classes or the mean of the rows in it."""
        _, bottom, _, height = place
        colour, gid = self.paint.colour_of(self.subject.tree, self.leaf), f"node-{self.leaf}"
        box = self.canvas.box(place, facecolor=mix(colour, "#ffffff", 0.87), edgecolor=colour)
        box.set_gid(gid)
        middle = bottom + height / 2
        rows = rows_at(self.subject, self.sample, self.leaf)
        words = f"leaf with {rows}" if rows else "leaf"
        bar = (ALONG_AT, middle - 0.1, ALONG, 0.2)
        self.paint.draw_answer(self.canvas, bar, self.subject, self.sample, self.leaf)
        if self.end.moves is not None:
            self._function(self.end.moves, place, bar, words)
            return
        said = self.paint.name_of(self.subject, self.leaf)
        name = self.font.fit(said, ASKED, TEXT + 1, bold=True)
        drawn = self.canvas.text(ASKED_AT, middle + 0.09, name, TEXT + 1, weight="bold")
        drawn.set_gid(f"{gid}-class")
        self.canvas.text(ASKED_AT, middle - 0.11, words, SMALL, color=GREY)
        self._listed(self._parts(), middle, f"{gid}-shares")

    def _function(self, moves: Moves, place: Place, bar: Place, words: str) -> None:
        """Write what the leaf's function says of the row, and draw where that lies, and why."""
        _, bottom, _, height = place
        gid, y = f"node-{self.leaf}", bottom + height - PAD - LINE / 2
        for k, said in enumerate(self.end.said):
            name = self.font.fit(said, ASKED, TEXT + 1, bold=True)
            weight = "normal" if k else "bold"
            drawn = self.canvas.text(ASKED_AT, y, name, TEXT + 1 - k, weight=weight)
            drawn.set_gid(f"{gid}-class")
            y -= LINE
        for text in self.end.lines:
            self.canvas.text(ASKED_AT, y, text, SMALL).set_gid(f"{gid}-function")
            y -= LINE
        self.canvas.text(ASKED_AT, bottom + PAD + SMALL_LINE / 2, words, SMALL, color=GREY)
        if isinstance(self.paint, Shades) and self.end.value is not None:
            x, top = self.paint.place_of(self.end.value, bar), bar[1] + bar[3]
            triangle = [(x - 0.055, top + 0.1), (x + 0.055, top + 0.1), (x, top)]
            self.canvas.polygon(triangle, facecolor=INK).set_gid(f"{gid}-row")
            self.canvas.line([(x, bar[1]), (x, top)], 0.9, color=INK, linestyle=(0, (2, 1.5)))
        head = self.font.fit(self.end.head, MOVED, SMALL)
        self.canvas.text(MOVED_AT, bottom + height - PAD - SMALL_LINE / 2, head, SMALL, color=GREY)
        below = (place[0], bottom, place[2], height - SMALL_LINE)
        self._moved(1.0, moves, self.leaf, below)

    def _parts(self) -> list[str]:
        """Write the shares of the classes in the leaf, or what is known of its numbers."""
        if not self.subject.holds_numbers:
            sums = sums_at(self.subject, self.sample, self.leaf)
            order = [c for c in np.argsort(-sums, kind="stable").tolist() if sums[c] > 0]
            texts = {c: _percent(sums[c] / float(sums.sum())) for c in order}
        elif self.subject.tree.n_outputs > 1:
            texts = dict(enumerate(map(minus, written_means(self.subject, self.leaf))))
        else:
            spread = first_number_at(self.subject, self.sample, self.leaf)[1]
            return [text] if (text := written_spread(spread)) else []
        names = [written_label(name) for name in self.subject.class_names]
        parts = [f"{self.font.fit(names[c], 1.2, SMALL)}: {text}" for c, text in texts.items()]
        return [*parts[:6], f"and {len(parts) - 6} more"] if len(parts) > 6 else parts

    def _listed(self, parts: list[str], middle: float, gid: str) -> None:
        """Write a list at the right of the leaf."""
        words = [f"{part}," for part in parts[:-1]] + parts[-1:]
        lines = self.font.wrap(words, MOVED, SMALL)[:3]
        y = middle + (len(lines) - 1) / 2 * SMALL_LINE
        for line in lines:
            self.canvas.text(MOVED_AT, y, line, SMALL).set_gid(gid)
            y -= SMALL_LINE


def _compared(value: float, scale: Along, branch: int) -> tuple[str, str]:
    """Write a row's value, and the cut after its sign, with enough digits to tell them apart."""
    question = scale.question
    relation = relation_of(question) if branch == 0 else question.opposite
    close = replace(question, finest=abs(value - question.threshold))
    left, right = (minus(close.write(v, DIGITS)) for v in (value, question.threshold))
    return left, f"{relation} {right}"


def _percent(share: float) -> str:
    """Write a share; only all and nothing are written as such."""
    text = f"{100 * share:.0f} %"
    if text == "100 %" and share < 1:
        return "> 99 %"
    return "< 1 %" if text == "0 %" else text
