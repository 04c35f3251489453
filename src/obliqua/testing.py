"""Tools for the tests of those who extend obliqua."""

import gc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from obliqua._typing import AnyArray, FloatArray
from obliqua.criteria import get_criterion
from obliqua.data.problem import Problem, encode
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Directions, NodeView, Proposals, function_of, read_directions
from obliqua.engine.rules import Rules
from obliqua.errors import ProposerError

__all__ = ["Report", "check_proposer"]

ARRAYS = ("X", "y", "sample_weight", "counts")
# Unit normals closer than this count as one direction: other orders of a sum differ by less.
NOISE = 1e-6


@dataclass(frozen=True)
class Report:
    """What `check_proposer` has seen.

    Parameters
    ----------
    n_nodes : int
        How many nodes the proposer was called for.
    n_directions : int
        How many directions it proposed that the engine could use.
    n_wins : int
        How many splits of the toy trees are along proposed directions; at the others a
        single feature was at least as good.
    problems : tuple of str
        What is wrong: fitting fails, or its result cannot be relied on.
    remarks : tuple of str
        What the engine puts up with, but is probably not intended.
    """

    n_nodes: int
    n_directions: int
    n_wins: int
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{self.n_nodes} nodes, {self.n_directions} directions, {self.n_wins} wins"]
        lines += [f"problem: {text}" for text in self.problems]
        lines += [f"remark: {text}" for text in self.remarks]
        return "\n".join(lines)


def check_proposer(
    proposer: Any, *, n_features: int = 4, n_classes: int = 3, random_state: int = 0
) -> Report:
    """Try a proposer on toy data and say what is wrong with it.

    Small trees are grown with it on clouds of two and of several classes, with weights,
    constant columns, equal rows with different labels, whole numbers, and very few rows.
    At each node it is called twice, and once more with the rows in another order: what it
    proposes must not depend on that order. If it draws random numbers, it may pick rows by
    their place, so this is a remark then and not a problem.

    Parameters
    ----------
    proposer : callable or object with a method `propose`
        The proposer, as for :class:`obliqua.ObliqueTreeClassifier`.
    n_features : int, default=4
        The number of columns of the toy data, if the proposer needs a certain one.
    n_classes : int, default=3
        The number of classes of the larger toy data, at least 2.
    random_state : int, default=0
        The seed of the toy data and of the nodes' random numbers.

    Returns
    -------
    Report
        What was seen. It has no problems, but perhaps remarks.

    Raises
    ------
    ProposerError
        If there are problems. Its text lists all of them, its attribute `report` is the
        report, and its cause is the proposer's own exception if it raised one.

    Examples
    --------
    >>> import numpy as np
    >>> from obliqua.testing import check_proposer
    >>> def diagonal(node):
    ...     return np.ones((1, node.n_features))
    >>> check_proposer(diagonal).ok
    True
    >>> check_proposer(lambda node: np.ones((1, 2)))
    Traceback (most recent call last):
        ...
    obliqua.errors.ProposerError: ...
    """
    if n_features < 1 or n_classes < 2:
        raise ValueError(
            "check_proposer needs at least one feature and two classes. Got "
            f"n_features={n_features}, n_classes={n_classes}."
        )
    watch = WatchedProposer(find_call(proposer))
    n_wins = 0
    for name, problem in toy_problems(n_features, n_classes, random_state):
        watch.data = name
        n_wins += count_wins(watch, problem, random_state)
        watch.look_for_kept(problem)
    if watch.n_nodes and not watch.n_directions and not watch.problems:
        watch.problems.add(
            "proposes no usable direction at any node; return the normals as an array of shape "
            "(n_directions, n_features)",
            "all data",
        )
    # Along the only feature there is, no direction is oblique.
    if watch.n_directions and not n_wins and n_features > 1:
        watch.remarks.add(
            "no oblique direction wins a split (0 wins): single features are always at least as "
            "good on the toy data",
            "all data",
        )
    report = Report(
        watch.n_nodes, watch.n_directions, n_wins, watch.problems.texts(), watch.remarks.texts()
    )
    if not report.ok:
        error = ProposerError(f"{name_of(proposer)} is not a sound proposer\n{report}")
        error.report = report  # type: ignore[attr-defined]
        raise error from watch.error
    return report


def find_call(proposer: Any) -> Callable[[NodeView], Any]:
    """Return the function of a node that a proposer is."""
    if isinstance(proposer, type):
        raise ProposerError(
            f"A proposer is a function of a node or an object with a method 'propose'. Got the "
            f"class {proposer.__name__}: give an object of it, {proposer.__name__}()."
        )
    call = function_of(proposer)
    if not callable(call):
        raise ProposerError(
            "A proposer is a function of a node or an object with a method 'propose'. Got "
            f"{proposer!r}."
        )
    return call


def name_of(proposer: Any) -> str:
    """Return what to call a proposer in a message."""
    return str(getattr(proposer, "__name__", None) or type(proposer).__name__)


# --- toy data -------------------------------------------------------------------------------


def toy_problems(n_features: int, n_classes: int, seed: int) -> Iterator[tuple[str, Problem]]:
    """Make small problems, each with something that a proposer may not have thought of."""
    rng = np.random.default_rng(seed)

    def clouds(n_rows: int, n_groups: int) -> tuple[FloatArray, AnyArray]:
        y = np.arange(n_rows) % n_groups
        centres = rng.normal(scale=1.5, size=(n_groups, n_features))
        return centres[y] + rng.normal(size=(n_rows, n_features)), y

    X, y = clouds(60, 2)
    yield "two classes", encode(X, y, 2)
    X, y = clouds(80, n_classes)
    yield f"{n_classes} classes", encode(X, y, n_classes)
    yield "weights", encode(X, y, n_classes, sample_weight=rng.integers(1, 9, len(y)) / 4)
    constant = X.copy()
    constant[:, ::2] = 3.0
    yield "constant columns", encode(constant, y, n_classes)
    yield "whole numbers", encode(np.round(X), y, n_classes)
    repeated = np.repeat(X[:20], 2, axis=0)
    yield "equal rows", encode(repeated, rng.integers(0, n_classes, 40), n_classes)
    yield "a class without rows", encode(X, np.where(y == 0, 1, y), n_classes + 1)
    for n_rows in (2, 3):
        X, y = clouds(n_rows, 2)
        yield f"{n_rows} rows", encode(X, y, 2)


# --- watching -------------------------------------------------------------------------------


@dataclass
class Findings:
    """Texts, each with the first place where it was found and how often."""

    found: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, text: str, where: str) -> None:
        """Note something; the same text again only counts."""
        first, times = self.found.get(text, (where, 0))
        self.found[text] = first, times + 1

    def __len__(self) -> int:
        return len(self.found)

    def texts(self) -> tuple[str, ...]:
        """Write what was found."""
        return tuple(
            f"{text} ({where}{f'; {times} times in all' if times > 1 else ''})"
            for text, (where, times) in self.found.items()
        )


class WatchedProposer:
    """A proposer that calls another one, and looks at what it does and returns."""

    def __init__(self, call: Callable[[NodeView], Any]) -> None:
        self.call = call
        self.data = ""
        self.problems, self.remarks = Findings(), Findings()
        self.error: Exception | None = None
        self.n_nodes = self.n_directions = 0
        self.views: list[weakref.ref[Any]] = []
        self.arrays: list[weakref.ref[Any]] = []

    def propose(self, node: NodeView) -> Any:
        """Call the proposer twice; pass its directions on if they are sound."""
        self.n_nodes += 1
        where = f"{self.data}, node of {node.n_samples} rows at depth {node.depth}"
        self.views.append(weakref.ref(node))
        self.arrays += [weakref.ref(owner(getattr(node, name))) for name in ARRAYS]
        before = {name: getattr(node, name).copy() for name in ARRAYS}
        state = node.rng.bit_generator.state
        first = self.attempt(node, where)
        for name, array in before.items():
            if not np.array_equal(getattr(node, name), array):
                self.problems.add(f"changes node.{name}; work on a copy", where)
        node.rng.bit_generator.state = state
        again = self.attempt(node, where)
        if first is None or again is None:
            return None
        if not same(first, again):
            self.problems.add(
                "gives other directions when called again for the same node; draw all random "
                "numbers from node.rng and keep nothing between calls",
                where,
            )
        else:
            draws = repr(node.rng.bit_generator.state) != repr(state)  # holds arrays
            self.look_at_order(node, state, first, draws, where)
        return self.usable(first, where)

    def look_at_order(
        self, node: NodeView, state: Any, first: Directions, draws: bool, where: str
    ) -> None:
        """See whether the directions are others when the rows come in another order."""
        # Of two rows there is one other order; of more, almost any will do.
        order = np.random.default_rng(node.n_samples).permutation(node.n_samples)
        if np.array_equal(order, np.arange(node.n_samples)):
            order = order[::-1]
        shuffled = self.attempt_copy(node, state, where, order)
        if alike(first, shuffled):
            return
        # Directions without a sure answer (two equal eigenvalues, a difference that is 0 but
        # for rounding) turn with the last digits of the data, which is nobody's fault.
        rng = np.random.default_rng(0)
        for shape in (node.X.shape, node.n_features):  # the second keeps constants and equal rows
            factors = 1.0 + 1e-13 * rng.uniform(-1.0, 1.0, shape)
            if not alike(first, self.attempt_copy(node, state, where, factors=factors)):
                return
        if draws:
            self.remarks.add(
                "gives other directions when the rows of a node come in another order, with the "
                "same random numbers; then the tree depends on the order of the data",
                where,
            )
        else:
            self.problems.add(
                "gives other directions when the rows of a node come in another order; use sums "
                "and means over the rows, not the place of a row",
                where,
            )

    def attempt_copy(
        self, node: NodeView, state: Any, where: str, order: Any = slice(None), factors: Any = 1.0
    ) -> Directions | None:
        """Call the proposer for a copy of a node, with rows in another order or scaled values."""
        changed: dict[str, Any] = {
            "X": node.X[order] * factors,
            "encoded": node.encoded[order] * factors,
            "n_levels": node.n_levels.copy(),
            "y": node.y[order].copy(),
            "sample_weight": node.sample_weight[order].copy(),
            "row_weight": node.row_weight[order].copy(),
            "few_rows": node.few_rows,
            "counts": node.counts.copy(),
            "n_classes": node.n_classes,
        }
        makers = {name: partial(lambda value: value, value) for name, value in changed.items()}
        copy = NodeView(makers, node.depth, 0)
        copy.rng.bit_generator.state = state
        answer = self.attempt(copy, where)
        copy.close()
        return answer

    def attempt(self, node: NodeView, where: str) -> Directions | None:
        """Call the proposer once and read its answer; note what is wrong with it."""
        try:
            answer = self.call(node)
        except Exception as error:
            # Its traceback holds the node, so what the proposer itself keeps cannot be told.
            self.error = self.error or error
            self.views, self.arrays = [], []
            if isinstance(error, ValueError) and "read-only" in str(error):
                text = "writes to an array of the node; they are read-only, so work on a copy"
            else:
                text = f"raises {type(error).__name__}: {error}"
            self.problems.add(text, where)
            return None
        if answer is None:
            return None
        try:
            return read(answer, node.n_features)
        except ValueError as error:
            self.problems.add(str(error), where)
            return None

    def usable(self, directions: Directions, where: str) -> Directions | None:
        """Count the directions that the engine can use, and remark on the others."""
        normals = dense(directions.normals)
        finite = np.isfinite(normals).all(axis=1)
        zero = finite & ~normals.any(axis=1)
        if not finite.all():
            self.remarks.add(
                "proposes directions with NaN or infinity, which are skipped; a division by a "
                "spread of 0 is a common reason",
                where,
            )
        if zero.any():
            self.remarks.add("proposes directions that are all zero, which are skipped", where)
        if directions.thresholds is not None and not np.isfinite(directions.thresholds).all():
            self.remarks.add("gives thresholds that are NaN or infinite", where)
        self.n_directions += int((finite & ~zero).sum())
        return directions

    def look_for_kept(self, problem: Problem) -> None:
        """See whether something of a node outlives the growth of its tree."""
        if any(thing() is not None for thing in (*self.views, *self.arrays)):
            gc.collect()  # takes long, and something kept in a ring of references is no fault
        if any(view() is not None for view in self.views):
            self.problems.add(
                "keeps a node after the call, when it is dead; keep copies of what is needed",
                self.data,
            )
        mine = {id(array) for array in (owner(problem.Z), owner(problem.y))}
        if any(array() is not None and id(array()) not in mine for array in self.arrays):
            self.problems.add(
                "keeps an array of a node after the call, or a view of one; keep a copy of it",
                self.data,
            )
        self.views, self.arrays = [], []


def count_wins(watch: WatchedProposer, problem: Problem, seed: int) -> int:
    """Grow a tree in which axis-parallel splits compete, and count what the proposer won."""
    proposals = Proposals(watch, axis_parallel=True)
    tree = grow(problem, proposals, get_criterion("gini"), Rules(), key=seed)
    return int((tree.feature == -3).sum())


# --- reading what a proposer returns ----------------------------------------------------------


def read(answer: Any, n_features: int) -> Directions:
    """Read a proposer's answer as directions; say precisely why it cannot be read."""
    given = answer if isinstance(answer, Directions) else None
    normals = given.normals if given is not None else answer
    if not sp.issparse(normals):
        try:
            normals = np.asarray(normals)
            if normals.dtype.kind != "c":
                normals = normals.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"returns {type(answer).__name__}, which cannot be read as numbers; return an "
                "array of shape (n_directions, n_features), Directions or None"
            ) from None
        if normals.ndim == 1:
            normals = normals[None, :]
    if normals.dtype.kind == "c":
        read_directions(answer, n_features)  # raises, in the engine's own words
    if normals.ndim != 2 or normals.shape[1] != n_features:
        raise ValueError(
            f"returns normals of shape {np.shape(answer) if given is None else normals.shape} for "
            f"{n_features} features; the shape must be (n_directions, {n_features}), or "
            f"({n_features},) for a single one"
        )
    thresholds = None
    if given is not None and given.thresholds is not None:
        thresholds = np.asarray(given.thresholds, dtype=np.float64).ravel()
    labels = None if given is None else given.labels
    for name, values in (("thresholds", thresholds), ("labels", labels)):
        if values is not None and len(values) != normals.shape[0]:
            raise ValueError(
                f"returns {len(values)} {name} for {normals.shape[0]} directions; give one each"
            )
    return Directions(normals, thresholds=thresholds, labels=labels)


def dense(normals: Any) -> FloatArray:
    """Return normals as a plain array."""
    array = normals.toarray() if sp.issparse(normals) else normals
    return np.asarray(array, dtype=np.float64)


def same(first: Directions, second: Directions) -> bool:
    """Whether two answers are equal, bit for bit except for NaN."""
    one, other = dense(first.normals), dense(second.normals)
    if (first.thresholds is None) != (second.thresholds is None):
        return False
    return np.array_equal(one, other, equal_nan=True) and (
        first.thresholds is None
        or np.array_equal(
            np.asarray(first.thresholds), np.asarray(second.thresholds), equal_nan=True
        )
    )


def alike(first: Directions, second: Directions | None) -> bool:
    """Whether two answers hold the same hyperplanes, but for sign, length, order and noise."""
    one = unit_rows(first)
    other = unit_rows(second) if second is not None else one[:0]
    if not len(one) or not len(other):
        return len(one) == len(other)
    if one.shape[1] != other.shape[1]:
        return False
    # For unit vectors, 1 - cosine is half of the squared distance.
    close = np.abs(one @ other.T) >= 1.0 - NOISE**2 / 2
    return bool(close.any(axis=0).all() and close.any(axis=1).all())


def unit_rows(directions: Directions) -> FloatArray:
    """Return the usable normals, each with its threshold if it has one, at length 1."""
    rows = dense(directions.normals)
    usable = np.isfinite(rows).all(axis=1) & rows.any(axis=1)
    if directions.thresholds is not None:
        rows = np.column_stack([rows, np.asarray(directions.thresholds, dtype=np.float64)])
        usable &= np.isfinite(rows).all(axis=1)
    rows = rows[usable]
    if len(rows):
        rows = rows / np.abs(rows).max(axis=1, keepdims=True)  # squares cannot overflow now
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows, dtype=np.float64)


def owner(array: AnyArray) -> AnyArray:
    """Return the array that owns the memory of another."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
