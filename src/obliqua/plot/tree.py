"""`plot_tree`: a tree with what its nodes see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from obliqua._typing import FloatArray
from obliqua.errors import TreeError
from obliqua.plot._canvas import Canvas, Font, check_ax, check_limit, size_of_axes
from obliqua.plot._nodes import (
    Palette,
    Place,
    axis_word,
    branch_name,
    draw_histogram,
    function_lines,
    gain_text,
    node_lines,
    paint_of,
    question_lines,
    two_sides,
)
from obliqua.plot._rows import (
    Along,
    Sample,
    along,
    both_sides,
    histogram,
    note_on,
    rows_at,
    sums_at,
)
from obliqua.words.colours import GREY, mix
from obliqua.words.subject import Subject, goes_aside, subject_of

# A tree with more ends than this is cut to fit, unless max_depth says where.
ENDS_WITHOUT_ASKING = 40
# So are levels: a chain of questions is a long diagonal.
LEVELS_WITHOUT_ASKING = 16
# More boxes than this are no picture any more, whatever is asked for.
MOST_ENDS = 300
MARGIN = 0.15
END_PAD = 0.06


@dataclass(frozen=True)
class Sizes:
    """Lengths in inches and sizes of text in points."""

    inner: float  # width of an inner node's box
    leaf: float  # least width of a leaf's
    leaf_height: float
    picture: float  # height of a histogram
    text: float
    small: float
    gap: float  # between two boxes of a level
    level_gap: float
    pad: float = 0.08

    @property
    def line(self) -> float:
        """The height of a line of text."""
        return self.text / 72 * 1.28

    @property
    def small_line(self) -> float:
        """The height of a line of small text."""
        return self.small / 72 * 1.28


ROOMY = Sizes(2.3, 1.2, 0.42, 0.52, 8.0, 6.8, 0.2, 0.55)
COMPACT = Sizes(2.0, 1.15, 0.34, 0.36, 7.0, 6.0, 0.12, 0.6)
COMPACT_FROM = 12
WIDEST_LEAF = 2.0
WIDEST_UPRIGHT = 14.0


def plot_tree(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    max_depth: int | None = None,
    max_terms: int = 3,
    sample_weight: Any = None,
    tree: int | None = None,
) -> Any:
    """Draw a tree: what each node asks, and how the rows lie that it asks.

    The box of an inner node holds its question, in units of the feature that moves rows most,
    a histogram of the rows that reach it along the question's own direction, coloured by class,
    with the cut as a line, its number of rows and its gain; in brackets stands, for an oblique
    split, the gain of the best axis-parallel one. Rows left of the line go to the first branch,
    ``yes``. A split on the levels of one feature has a bar per level, in the order of the scores
    by which the node divides them; one into several branches has one bar, of the classes of its
    rows. A row whose number is missing stands where what stands in for it does; where a split has
    a side for such rows, they are counted beside the others and not drawn. The box of a leaf
    holds its class, its number of rows and a bar of their classes. Lines between boxes are the
    wider the more rows take them. A large tree lies on its side, and with more than eight classes
    a node names those that mostly take either branch.

    A tree of numbers has colours for its first output, dark for large numbers. Bars of rows have
    that of their mean, and a box without rows, as that of a leaf, shows where the mean lies and
    one standard deviation to both sides. Where leaves say linear functions, they stand below the
    mean, and no more terms of each than `max_terms`.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a model or a tree.
    X : array-like of shape (n_rows, n_features), default=None
        The rows to show: those of training, or others. Numbers of rows are then those of `X`,
        and with `y` the bars of classes too; gains and the leaves' classes stay those of
        training. Without rows, bars of the training rows' classes stand in place of histograms.
    y : array-like of shape (n_rows,), default=None
        The labels of the rows, or their numbers. Without them histograms are grey, and bars show
        the classes of the training rows, which a line below the names of the classes says. For a
        tree about two classes, rows of others are left out.
    ax : matplotlib Axes, default=None
        Where to draw. It is used whole, and text shrinks with the picture. Without it, a
        figure is made that is as large as the tree needs.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`,
        or of the outputs of a tree of numbers.
    max_depth : int, default=None
        How many levels below the root to draw; what is below is counted. By default the whole
        tree is drawn if it has at most 40 leaves and 16 levels of questions, else as many
        levels as give at most 40 ends, and no more than 16.
    max_terms : int, default=3
        How many terms of a question to show; the others are counted.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows, which bars and histograms then show.
    tree : int, default=None
        Which tree of a model with several.

    Returns
    -------
    matplotlib Axes
        What was drawn in; its `figure` can be saved. The box of node 3 has the gid ``node-3``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    TreeError
        If `max_depth` leaves more than 300 boxes at the ends.

    Notes
    -----
    Text that does not fit is shortened in its middle, and letters that the font lacks are
    drawn as squares; name a font that has them in ``matplotlib.rcParams["font.family"]``.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import HHCartClassifier, plot_tree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = HHCartClassifier(random_state=0).fit(X, y)
    >>> ax = plot_tree(model, X, y, class_names=["setosa", "versicolor", "virginica"])
    >>> ax.figure.savefig("iris.png")  # doctest: +SKIP
    """
    check_ax(ax)
    subject = subject_of(model, feature_names, class_names, tree)
    check_limit("max_terms", max_terms, 1)
    if max_depth is not None:
        check_limit("max_depth", max_depth, 0)
    if X is None and (y is not None or sample_weight is not None):
        raise ValueError("y and sample_weight belong to rows; give X as well.")
    sample = None if X is None else Sample(subject, X, y, sample_weight)
    shown = shown_nodes(subject, max_depth)
    return _TreeDrawing(subject, sample, shown, max_terms).draw(ax)


def shown_nodes(subject: Subject, max_depth: int | None) -> list[DrawnNode]:
    """Choose the nodes to draw, in level order."""
    tree = subject.tree
    depth, is_leaf = tree.node_depth, tree.is_leaf
    # What ends at or above a level, and what is cut there.
    ends = [
        int(np.count_nonzero(is_leaf & (depth < d)) + np.count_nonzero(depth == d))
        for d in range(tree.depth + 1)
    ]
    if max_depth is None:
        allowed = ends[: LEVELS_WITHOUT_ASKING + 1]
        deepest = max((d for d, n in enumerate(allowed) if n <= ENDS_WITHOUT_ASKING), default=0)
    else:
        deepest = min(int(max_depth), tree.depth)
    if ends[deepest] > MOST_ENDS:
        raise TreeError(
            f"A picture with {ends[deepest]} boxes at its ends cannot be read, and max_depth="
            f"{max_depth} asks for it. At most {MOST_ENDS} are drawn; choose a smaller "
            "max_depth, or leave it out."
        )
    leaves = is_leaf.astype(np.int64)
    for node in range(tree.n_nodes - 1, 0, -1):
        leaves[tree.parent[node]] += leaves[node]
    # Nodes are numbered level by level, so those that are shown are the first ones.
    shown = []
    for node in range(int(np.count_nonzero(depth <= deepest))):
        cut = depth[node] == deepest and not is_leaf[node]
        first = int(tree.first_child[node])
        children = () if cut else tuple(range(first, first + int(tree.n_children[node])))
        shown.append(DrawnNode(node, children, int(depth[node]), int(leaves[node]) if cut else 0))
    return shown


@dataclass(frozen=True)
class DrawnNode:
    """A node of the picture."""

    node: int  # its number in the tree
    children: tuple[int, ...]  # positions in the list of shown nodes; they stand after it
    depth: int
    hidden: int = 0  # the number of leaves below it, if they are not shown


def tidy(shown: Sequence[DrawnNode], breadth: Sequence[float], gap: float) -> list[float]:
    """Place nodes side by side.

    Subtrees are moved together as far as the boxes of each level allow, and a parent stands in
    the middle of its first and its last child.
    """
    n = len(shown)
    offset = [0.0] * n  # of a node from its parent's middle
    # For each subtree, the span of each level below its root, relative to the root's middle.
    spans: list[list[tuple[float, float]]] = [[] for _ in range(n)]
    for i in range(n - 1, -1, -1):
        children = shown[i].children
        places: list[float] = []
        merged: list[tuple[float, float]] = []
        for child in children:
            span = spans[child]
            common = list(zip(merged, span, strict=False))
            place = max((done[1] - new[0] + gap for done, new in common), default=0.0)
            places.append(place)
            moved = [(low + place, high + place) for low, high in span]
            merged = [(done[0], new[1]) for done, new in zip(merged, moved, strict=False)] + max(
                merged, moved, key=len
            )[len(common) :]
            spans[child] = []
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        for child, place in zip(children, places, strict=True):
            offset[child] = place - middle
        half = breadth[i] / 2
        spans[i] = [(-half, half), *((low - middle, high - middle) for low, high in merged)]
    start = -min(low for low, _ in spans[0])
    middles = [start] * n
    for i in range(n):
        for child in shown[i].children:
            middles[child] = middles[i] + offset[child]
    return middles


class _TreeDrawing:
    """One picture of a tree: first it is measured, then drawn."""

    def __init__(
        self, subject: Subject, sample: Sample | None, shown: list[DrawnNode], max_terms: int
    ) -> None:
        self.subject, self.sample, self.shown = subject, sample, shown
        self.font, self.paint = Font(), paint_of(subject)
        n_ends = sum(not node.children for node in shown)
        self.sizes = sizes = COMPACT if n_ends > COMPACT_FROM else ROOMY
        width = sizes.inner - 2 * sizes.pad
        self.scales: dict[int, Along] = {}
        self.lines: dict[int, list[str]] = {}
        for node in shown:
            if not node.children:
                continue
            scale = along(subject, node.node)
            if scale is None:
                lines = node_lines(subject, node.node, self.font, width, sizes.text, max_terms)
            else:
                self.scales[node.node] = scale
                lines = question_lines(scale, self.font, width, sizes.text, max_terms)
            self.lines[node.node] = lines
        # Leaves are as wide as the longest name among them needs, within limits.
        ends = [node for node in shown if not node.children]
        needed = [self._needs(node) for node in ends]
        widest = sizes.inner if subject.tree.has_lines else 0.0
        self.leaf_width = min(max(sizes.leaf, widest, *needed), max(WIDEST_LEAF, widest))
        width = self.leaf_width - 2 * END_PAD
        for node in ends:
            self.lines[node.node] = function_lines(
                subject, node.node, self.font, width, sizes.small, max_terms
            )
        self.named = len(self.paint.names) > 8  # too many for colours alone
        widths = {node.node: self._gain_width(node.node) for node in shown if node.children}
        self.word = axis_word(subject, widths, self.font, sizes.small)

    def _gain_width(self, node: int) -> float:
        """Return the width beside the number of rows."""
        taken = self.font.width(self._rows(node), self.sizes.small)
        return self.sizes.inner - 2 * self.sizes.pad - taken - 0.12

    def _needs(self, node: DrawnNode) -> float:
        """Return the width of an end's box in which nothing is shortened."""
        words, rows = self._end_words(node)
        bold = not node.hidden
        text = self.font.width(self.font.writable(words), self.sizes.text, bold)
        return text + self.font.width(rows, self.sizes.small) + 2 * END_PAD + 0.1

    def _end_words(self, node: DrawnNode) -> tuple[str, str]:
        """Return the name of an end, and its number of rows."""
        rows = self._rows(node.node)
        if node.hidden:
            return f"… {node.hidden:,} leaves", rows
        return self.paint.name_of(self.subject, node.node), rows

    def _size(self, node: DrawnNode, upright: bool) -> tuple[float, float]:
        """Return width and height of a box.

        In an upright tree all inner nodes of a level are equally high, so that no way from one
        of them passes its neighbour.
        """
        sizes = self.sizes
        if not node.children:
            n_lines = len(self.lines[node.node])
            return self.leaf_width, sizes.leaf_height + n_lines * sizes.small_line
        peers = [n for n in self.shown if n.depth == node.depth and n.children]
        n_lines = max(len(self.lines[n.node]) for n in (peers if upright else [node]))
        small = sizes.small_line * (2 if self.named else 1)
        height = n_lines * sizes.line + sizes.picture + small + 2 * sizes.pad + 0.14
        return sizes.inner, height

    def _arrange(self, ax: Any) -> None:
        """Choose between top to bottom and left to right: what fits the page or the ax better."""
        page = (1.5, 1.0) if ax is None else size_of_axes(ax)
        depth = max(node.depth for node in self.shown)
        found = []
        for upright in (True, False):
            across, along_ = (0, 1) if upright else (1, 0)
            sizes = [self._size(node, upright) for node in self.shown]
            middles = tidy(self.shown, [size[across] for size in sizes], self.sizes.gap)
            thick = [
                max(s[along_] for s, n in zip(sizes, self.shown, strict=True) if n.depth == d)
                for d in range(depth + 1)
            ]
            starts = np.concatenate(
                [[0.0], np.cumsum(np.array(thick) + self.sizes.level_gap)]
            ).tolist()
            breadth = max(m + s[across] / 2 for m, s in zip(middles, sizes, strict=True))
            length = starts[-1] - self.sizes.level_gap
            width, height = (breadth, length) if upright else (length, breadth)
            # The smaller picture in that form wins; without an ax, a small tree stands upright.
            cost = max(width / page[0], height / page[1])
            if ax is None and upright and width <= WIDEST_UPRIGHT:
                cost = 0.0
            found.append((cost, upright, sizes, middles, starts, width, height))
        best = min(found, key=lambda one: one[0])
        self.upright, self.boxes, self.middles, self.starts = best[1:5]
        self.body, self.body_height = best[5:]

    def _place(self, i: int) -> tuple[float, float, float, float]:
        """Return left, bottom, width and height of a box."""
        width, height = self.boxes[i]
        middle, start = self.middles[i], self.starts[self.shown[i].depth]
        if self.upright:
            x = self.left + middle - width / 2
            return x, self.top - start - height, width, height
        return self.left + start, self.top - middle - height / 2, width, height

    def draw(self, ax: Any) -> Any:
        """Draw everything."""
        self._arrange(ax)
        width, note = max(self.body, 3.0), note_on(self.subject, self.sample)
        legend = self.paint.legend(self.font, width, self.sizes.text, note)
        wide = max(self.body, legend.width)
        height = self.body_height + legend.height + 0.12 + 2 * MARGIN
        self.left = MARGIN + (wide - self.body) / 2
        self.top = MARGIN + self.body_height
        self.canvas = Canvas(wide + 2 * MARGIN, height, self.font, ax)
        legend.draw(self.canvas, MARGIN, height - MARGIN, self.paint)
        for i, node in enumerate(self.shown):
            if node.children:
                self._inner(node, self._place(i))
                for branch, child in enumerate(node.children):
                    self._edge(node, branch, self._place(i), self._place(child))
            else:
                self._end(node, self._place(i))
        return self.canvas.ax

    # --- parts ---------------------------------------------------------------------------

    def _rows(self, node: int) -> str:
        rows = rows_at(self.subject, self.sample, node)
        scale = None if self.sample is None else along(self.subject, node)
        if self.sample is None or scale is None:
            return rows
        here = self.sample.Z[self.sample.at(node)]
        aside = int(goes_aside(self.subject.tree, scale.plane, here).sum())
        return f"{rows}, {aside:,} missing" if aside else rows

    def _sums(self, node: int) -> FloatArray:
        return sums_at(self.subject, self.sample, node)

    def _share(self, node: int) -> float:
        """Return the share of all weight, or of all rows, that reaches a node."""
        if self.sample is not None:
            weight = self.sample.weight
            part, whole = float(weight[self.sample.at(node)].sum()), float(weight.sum())
        else:
            tree = self.subject.tree
            known, weights = tree.n_samples[node] >= 0, tree.weighted_n_node_samples
            part, whole = float(weights[node]) if known else 0.0, float(weights[0])
        return part / whole if whole > 0 else 0.0

    def _inner(self, node: DrawnNode, place: Place) -> None:
        left, bottom, width, height = place
        sizes, canvas, number = self.sizes, self.canvas, node.node
        pad, gid = sizes.pad, f"node-{number}"
        canvas.box(place).set_gid(gid)
        y = bottom + height - pad - sizes.line / 2
        for line in self.lines[number]:
            canvas.text(left + pad, y, line, sizes.text).set_gid(f"{gid}-question")
            y -= sizes.line
        y = bottom + pad + sizes.small_line / 2
        rows = self._rows(number)
        canvas.text(left + pad, y, rows, sizes.small, color=GREY).set_gid(f"{gid}-rows")
        gain = gain_text(
            self.subject, number, self.font, self._gain_width(number), sizes.small, self.word
        )
        if gain:
            at = left + width - pad
            drawn = canvas.text(at, y, gain, sizes.small, ha="right", color=GREY)
            drawn.set_gid(f"{gid}-gain")
        low = bottom + pad + sizes.small_line + 0.07
        if self.named:
            self._name_sides(node, left + pad, y + sizes.small_line, width - 2 * pad)
            low += sizes.small_line
        frame = (left + pad, low, width - 2 * pad, sizes.picture)
        scale, found = self.scales.get(number), None
        if self.sample is not None:
            if scale is None:
                found = both_sides(self.sample, number)
            else:
                found = histogram(self.sample, scale, number)
            if found is not None:
                draw_histogram(canvas, frame, found, self.paint, f"{gid}-histogram")
        if found is None:
            bar = (frame[0], low + sizes.picture * 0.3, frame[2], sizes.picture * 0.4)
            self.paint.draw_answer(canvas, bar, self.subject, self.sample, number)

    def _name_sides(self, node: DrawnNode, left: float, y: float, width: float) -> None:
        """Write which classes go to the first branch for the most part, and which to the other."""
        if len(node.children) != 2 or not isinstance(self.paint, Palette):
            return
        first, other = (self._sums(self.shown[child].node) for child in node.children)
        small = self.sizes.small
        sides = (np.where(first >= other, first, 0.0), np.where(first < other, other, 0.0))
        texts = two_sides(self.font, sides, self.paint, width, small)
        for text, at, side in zip(texts, (left, left + width), ("left", "right"), strict=True):
            drawn = self.canvas.text(at, y, text, small, ha=side)
            drawn.set_gid(f"node-{node.node}-{side}")

    def _end(self, node: DrawnNode, place: Place) -> None:
        """Draw a leaf, or what stands for a part that is not shown."""
        left, bottom, width, height = place
        sizes, canvas, number = self.sizes, self.canvas, node.node
        gid, pad = f"node-{number}", END_PAD
        words, rows = self._end_words(node)
        colour = self.paint.colour_of(self.subject.tree, number)
        style: dict[str, Any] = {"facecolor": mix(colour, "#ffffff", 0.87), "edgecolor": colour}
        if node.hidden:
            style = {"facecolor": "#f4f4f4", "edgecolor": GREY, "linestyle": (0, (3, 2))}
        canvas.box(place, **style).set_gid(gid)
        y = bottom + height - pad - sizes.line / 2
        space = width - 2 * pad - self.font.width(rows, sizes.small) - 0.06
        bold = not node.hidden
        name = self.font.fit(words, space, sizes.text, bold=bold)
        weight = "bold" if bold else "normal"
        canvas.text(left + pad, y, name, sizes.text, weight=weight).set_gid(f"{gid}-class")
        drawn = canvas.text(left + width - pad, y, rows, sizes.small, ha="right", color=GREY)
        drawn.set_gid(f"{gid}-rows")
        for line in self.lines[number]:
            y -= sizes.small_line
            drawn = canvas.text(left + pad, y, line, sizes.small)
            drawn.set_gid(f"{gid}-function")
        bar = (
            left + pad,
            bottom + pad,
            width - 2 * pad,
            sizes.leaf_height - 2.6 * pad - sizes.line,
        )
        self.paint.draw_answer(canvas, bar, self.subject, self.sample, number)

    def _edge(self, node: DrawnNode, branch: int, above: Place, below: Place) -> None:
        """Draw the way to a child: the more rows take it, the wider it is."""
        child = self.shown[node.children[branch]].node
        if self.upright:
            # The ways part under the box: the first one leaves it to the left.
            start = (above[0] + above[2] / 2, above[1])
            end = (below[0] + below[2] / 2, below[1] + below[3])
            bend = (start[1] + end[1]) / 2
            points = [start, (start[0], bend), (end[0], bend), end]
        else:
            start = (above[0] + above[2], above[1] + above[3] / 2)
            end = (below[0], below[1] + below[3] / 2)
            bend = (start[0] + end[0]) / 2
            points = [start, (bend, start[1]), (bend, end[1]), end]
        width = 0.7 + 5.3 * self._share(child)
        self.canvas.curve(points, width).set_gid(f"edge-{child}")
        # Three eighths, three eighths and an eighth: the point of the curve at one half is
        # the middle of both ends; two thirds of the way keeps names of siblings apart.
        t = 0.62
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        x, y = (sum(w * p[k] for w, p in zip(weights, points, strict=True)) for k in (0, 1))
        name = branch_name(self.subject, node.node, branch)
        patch = {"facecolor": "white", "edgecolor": "none", "pad": self.canvas.points(0.8)}
        drawn = self.canvas.text(
            x, y, name, self.sizes.small, ha="center", color=GREY, bbox=patch, zorder=2
        )
        drawn.set_gid(f"edge-{child}-name")
