"""How much a split depends on which rows happened to be there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from obliqua._core.base.rng import row_hashes
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.data.encoding import written_name
from obliqua.data.problem import encode, encode_numbers
from obliqua.data.table import Table
from obliqua.data.threads import thread_count
from obliqua.errors import TreeError
from obliqua.explain._planes import has_table, length_of, require_kinds
from obliqua.tree.layout import NodeKind, pointers
from obliqua.tree.surgery import check_node
from obliqua.tree.tree import Tree
from obliqua.words.levels import table_of
from obliqua.words.subject import Fittable, Subject, read_values, subject_of

__all__ = ["SplitStability", "split_stability"]

# Whole weights count as repeated rows up to this total; above it they are mere proportions.
MOST_DRAWS = 10_000_000
HIGH = 0.9


@runtime_checkable
class ChoosesSplits(Protocol):
    """An estimator that chooses the split of a node from the rows of that node."""

    n_jobs: int | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return its parameters."""

    def _feature_scale(
        self, table: Table, y: AnyArray, weights: FloatArray, class_weight: FloatArray | None
    ) -> FloatArray | None: ...


@dataclass(frozen=True, eq=False, repr=False)
class SplitStability:
    """How splits change with the rows; what `split_stability` returns.

    An entry per node that was looked at, or a row per node and a column per resample.

    Parameters
    ----------
    nodes : ndarray of int64, of shape (n_nodes,)
        The nodes.
    n_rows : ndarray of int64, of shape (n_nodes,)
        How many rows reach them.
    angles : ndarray of shape (n_nodes, n_resamples)
        The angle in degrees, 0 to 90, between the node's split and the one that a resample
        gives, when each feature is divided by its standard deviation among the node's rows.
        NaN where no split was found.
    moved : ndarray of shape (n_nodes, n_resamples)
        The share of the weight of the node's rows, at most 0.5, that the new split parts in
        another way. NaN where no split was found.
    leads : ndarray of shape (n_nodes, n_resamples)
        1 where the new split has the same leading feature, the one with the largest
        ``|coefficient| * standard deviation``, else 0. NaN where no split was found.
    lead : tuple of str
        The leading feature of each node's split.
    """

    nodes: Int64Array
    n_rows: Int64Array
    angles: FloatArray
    moved: FloatArray
    leads: FloatArray
    lead: tuple[str, ...]

    @property
    def angle(self) -> FloatArray:
        """The median angle of each node in degrees; NaN if no resample gave a split."""
        return _quantile(self.angles, 0.5)

    @property
    def angle_high(self) -> FloatArray:
        """The angle in degrees that nine resamples in ten stay within."""
        return _quantile(self.angles, HIGH)

    @property
    def moved_median(self) -> FloatArray:
        """The median share of rows that change sides."""
        return _quantile(self.moved, 0.5)

    @property
    def moved_high(self) -> FloatArray:
        """The share of rows that change sides at most in nine resamples in ten."""
        return _quantile(self.moved, HIGH)

    @property
    def same_lead(self) -> FloatArray:
        """The share of the new splits that have the same leading feature."""
        found = ~np.isnan(self.leads)
        n_found = found.sum(axis=1)
        same = np.where(found, self.leads, 0.0).sum(axis=1)
        return np.divide(same, n_found, out=np.full(len(same), np.nan), where=n_found > 0)

    @property
    def no_split(self) -> FloatArray:
        """The share of the resamples in which no split was found."""
        return np.isnan(self.angles).mean(axis=1)

    def __str__(self) -> str:
        columns: list[tuple[str, Iterable[Any], str]] = [
            ("node", self.nodes.tolist(), "d"),
            ("rows", self.n_rows.tolist(), "d"),
            ("angle", self.angle.tolist(), ".1f"),
            ("90 %", self.angle_high.tolist(), ".1f"),
            ("moved", self.moved_median.tolist(), ".1%"),
            ("90 %", self.moved_high.tolist(), ".1%"),
            ("same lead", self.same_lead.tolist(), ".0%"),
            ("no split", self.no_split.tolist(), ".0%"),
        ]
        cells = [
            [title, *("-" if value != value else format(value, form) for value in values)]
            for title, values, form in columns
        ]
        padded = [[cell.rjust(max(map(len, column))) for cell in column] for column in cells]
        lines = ["  ".join(row) for row in zip(*padded, strict=True)]
        names = ["lead", *self.lead]
        return "\n".join(f"{line}  {name}" for line, name in zip(lines, names, strict=True))

    def __repr__(self) -> str:
        return f"SplitStability({len(self.nodes)} nodes, {self.angles.shape[1]} resamples)"


def split_stability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    nodes: ArrayLike | None = None,
    n_resamples: int = 100,
    random_state: int = 0,
    progress: Callable[[int, int], Any] | None = None,
) -> SplitStability:
    """Let each split be chosen anew from resampled rows, and measure how much it changes.

    The rows that reach a node are drawn with replacement (the bootstrap), and the estimator's
    method, with its parameters, chooses the split of this one node again. Splits above the
    node stay as they are. That takes `n_resamples` fits per node; for a first look,
    ``nodes=[0]`` or fewer resamples are quicker.

    Parameters
    ----------
    estimator : estimator
        A fitted tree of this library. Copies of it are fitted, `n_jobs` of it at once; it is
        not changed.
    X : array-like of shape (n_rows, n_features)
        The rows that it was fitted to. Rows that were held out for pruning count too.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Their labels, or numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        Their weights. A row is drawn in proportion to its weight. If all weights are whole
        numbers, they count as repeated rows (up to a total of 10 million), else as many rows
        are drawn as there are.
    nodes : int or array-like of int, default=None
        The nodes to look at; all splits if not given.
    n_resamples : int, default=100
        How often the rows of a node are drawn.
    random_state : int, default=0
        The seed. What is drawn depends on it, on the node and on the content of the rows, not
        on their order or on `n_jobs`.
    progress : callable, default=None
        Is called after each node with the number of nodes that are done and of all of them.

    Returns
    -------
    SplitStability
        Angles and shares per node; ``print`` shows a table.

    Raises
    ------
    TypeError
        If it is no fitted estimator, or one that does not choose a split from the rows of its
        node, as `EigenTreeClassifier`, whose directions come from all rows.
    TreeError
        If there is no such node, if it is no hyperplane, or if leaves say linear functions.
    ValueError
        If fewer than two of the rows reach a node that is asked for.

    Notes
    -----
    The angle is that between the planes, 0 to 90 degrees, when each feature is divided by its
    standard deviation among the node's rows; units do not matter. Between splits by one
    feature it is 0 or 90, and `moved` says more.

    The levels of a qualitative feature get new scores with each resample. Such a feature counts
    as a direction per level, the more frequent the level the longer, so that the angle is small
    if both splits give similar scores to the levels that most rows have. Between two splits by
    the same qualitative feature it may be anything from 0 to 90.

    What to expect was measured (benchmarks/stability.py) with the root of
    ``HHCartClassifier(scale="standard")`` on three features, a plane across two of them and
    some of the labels wrong, 30 data sets of each kind. Nine resamples in ten stayed within so
    many degrees, as the median over the data sets, and from the least to the largest:

    ==========  =================  ====================  =============
    rows        a tenth is wrong   three tenths wrong    noise
    ==========  =================  ====================  =============
    50          36 (19 to 70)      66 (47 to 87)         81 (72 to 90)
    200         22 (13 to 37)      50 (31 to 74)         83 (69 to 90)
    1000        9 (6 to 18)        32 (17 to 54)         81 (58 to 90)
    5000        5 (3 to 8)         18 (11 to 38)         81 (69 to 90)
    ==========  =================  ====================  =============

    So angles on labels that have nothing to do with the features do not shrink as rows are
    added, and those on a real boundary do. There is no sharp limit between them: the ranges
    overlap. Other data sets, methods and numbers of features give other figures. In many
    dimensions random directions are nearly perpendicular.

    Read `moved` beside the angle. Where features are correlated, planes at a large angle can
    part the rows almost alike: the split is then stable, and its coefficients are not.

    Limits that are shares of all rows stay what they were in the whole tree, and so do class
    weights, priors and the factors of `scale`: they are found from all rows given here. (A tree
    with ``pruning="holdout"`` found its factors without the rows that it held out, which are
    not known here; so for it they are nearly the same.) Nothing is pruned or collapsed. A resample
    that is divided into levels (C4.5) has no plane to compare, and counts as one without a split.

    A resample lacks about a third of the rows and has others twice, so it knows a little less
    than new rows would tell. The angles say roughly how a split varies; they are no test.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import CartClassifier
    >>> from obliqua.explain import split_stability
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CartClassifier(max_depth=2, pruning=None).fit(X, y)
    >>> found = split_stability(tree, X, y, nodes=2, n_resamples=20)
    >>> found.n_rows
    array([100])
    """
    from joblib import Parallel, delayed

    subject = subject_of(estimator)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function of two numbers, or None; got {progress!r}.")
    if not isinstance(estimator, Fittable):
        raise TypeError(
            "split_stability lets the estimator choose splits anew, so it needs the fitted "
            f"estimator; got {type(estimator).__name__}, which cannot be fitted."
        )
    if not isinstance(estimator, ChoosesSplits):
        raise TypeError(
            "split_stability lets the estimator choose the split of a node anew from the rows of "
            f"that node, and {type(estimator).__name__} does not choose its splits so. Fit a "
            "method that does, such as HHCartClassifier or ObliqueTreeRegressor."
        )
    if subject.tree.has_lines:
        raise TreeError(
            "split_stability chooses splits anew by what the leaves below say, and those of this "
            "tree say linear functions with a penalty that was chosen from all rows. Fit it with "
            "leaf_model='constant'."
        )
    for name, number, least in (
        ("n_resamples", n_resamples, 1),
        ("random_state", random_state, 0),
    ):
        if not isinstance(number, Integral) or number < least:
            raise ValueError(f"{name} must be an integer of at least {least}; got {number!r}.")
    chosen = _chosen(subject.tree, nodes)
    Z, learnt = subject.rows(X), subject.numbers(y) if subject.holds_numbers else subject.codes(y)
    if len(learnt) != len(Z):
        what = "number" if subject.holds_numbers else "label"
        raise ValueError(
            f"y must have a {what} per row of X; got {len(learnt)} for {len(Z)} rows."
        )
    weights = _weights(sample_weight, len(Z))
    stumps = _Stumps.of(estimator, subject, Z, learnt, weights)
    reach = _rows_of_nodes(subject.tree, Z, chosen, weights)
    found = np.empty((len(chosen), n_resamples, 3))
    lead = []
    # Threads: most of the work is compiled and runs without the GIL, and nothing is copied.
    with Parallel(n_jobs=thread_count(estimator.n_jobs), prefer="threads") as run:
        for place, (node, rows) in enumerate(zip(chosen.tolist(), reach, strict=True)):
            data = (Z[rows], learnt[rows], weights[rows])
            bag = _Bag(subject, node, data, int(random_state))
            found[place] = run(delayed(bag.draw)(stumps, number) for number in range(n_resamples))
            lead.append(written_name(subject.encoding.names[bag.lead]))
            if progress is not None:
                progress(place + 1, len(chosen))
    n_rows = np.array([len(rows) for rows in reach], dtype=np.int64)
    angles, moved, leads = np.moveaxis(found, 2, 0)
    return SplitStability(chosen, n_rows, angles, moved, leads, tuple(lead))


def _rows_of_nodes(
    tree: Tree, Z: AnyArray, nodes: Int64Array, weights: FloatArray
) -> list[AnyArray]:
    """Return the rows of each node, without those of weight 0."""
    path = tree.decision_path(Z).tocsc()
    reach = []
    for node in nodes.tolist():
        rows = path.indices[path.indptr[node] : path.indptr[node + 1]]
        reach.append(rows[weights[rows] > 0])
        if len(reach[-1]) < 2:
            raise ValueError(
                f"Node {node} is reached by {len(reach[-1])} of the rows, and a split cannot be "
                "chosen anew from fewer than 2. Give the rows that the tree was fitted to."
            )
    return reach


def _chosen(tree: Tree, nodes: ArrayLike | None) -> Int64Array:
    if nodes is None:
        chosen = np.flatnonzero(~tree.is_leaf)
    else:
        asked: AnyArray = np.atleast_1d(np.asarray(nodes))
        chosen = np.array([check_node(tree, node) for node in asked.tolist()], dtype=np.int64)
        leaf = chosen[tree.is_leaf[chosen]]
        if len(leaf):
            raise TreeError(f"Node {leaf[0]} is a leaf, which has no split.")
    require_kinds(tree, chosen, "the stability of a split")
    return chosen


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"sample_weight must hold a finite weight, at least 0, for each of the {n_rows} "
            f"rows; got shape {weights.shape}."
        )
    return weights


def _quantile(values: FloatArray, share: float) -> FloatArray:
    """Return a quantile of each row without its NaN; NaN where there is nothing else."""
    known = [row[~np.isnan(row)] for row in values]
    return np.array([np.quantile(row, share) if len(row) else np.nan for row in known])


class _Bag:
    """The rows of a node, from which resamples are drawn."""

    def __init__(
        self, subject: Subject, node: int, data: tuple[AnyArray, AnyArray, FloatArray], seed: int
    ) -> None:
        Z, learnt, weights = data
        self.seed = [seed & (2**64 - 1), node]
        # Equal rows are one row of their common weight. Their order is that of the hashes, so
        # it depends on their content only.
        labels = np.zeros(len(Z), dtype=np.int64) if subject.holds_numbers else learnt
        seen = np.column_stack([Z, learnt]) if subject.holds_numbers else Z
        hashes = row_hashes(seen, labels.astype(np.int64), self.seed[0])
        _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
        self.Z, self.learnt = Z[first], learnt[first]  # codes of classes, or numbers
        whole = bool((weights % 1 == 0).all()) and weights.sum() <= MOST_DRAWS
        self.n_draws = int(weights.sum()) if whole else len(weights)
        # Sorted, so that rounding does not depend on the order of equal rows either.
        order = np.argsort(weights, kind="stable")
        self.weights = np.bincount(group[order], weights=weights[order])
        self.share = self.weights / self.weights.sum()
        self.deviation = self._deviations()
        self.frequency = self._frequencies(subject)
        plane = int(subject.tree.plane_ptr[node])
        self.effect = self._effect(subject.tree, plane)
        self.lead = self._lead(self.effect)
        self.left = read_values(subject.tree, plane, self.Z) <= subject.tree.threshold[plane]

    def _deviations(self) -> FloatArray:
        """Return the standard deviation of each feature; what is missing counts as the mean."""
        there = ~np.isnan(self.Z)
        Z = np.where(there, self.Z, 0.0).astype(np.float64)
        known = self.share @ there
        middle = np.divide(self.share @ Z, known, out=np.zeros_like(known), where=known > 0)
        apart = np.where(there, Z - middle, 0.0)
        largest = np.abs(apart).max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        return np.asarray(unit * np.sqrt(self.share @ (apart / unit) ** 2))

    def _frequencies(self, subject: Subject) -> dict[int, FloatArray]:
        """Return the share of each code, of unknown ones and of missing ones, by column."""
        tree, columns = subject.tree, subject.encoding.columns
        coded = set(tree.coef_idx[np.diff(tree.table_ptr) > 0].tolist())
        coded |= {place for place, column in enumerate(columns) if column.kind == "qualitative"}
        found: dict[int, FloatArray] = {}
        for place in sorted(coded):
            column = self.Z[:, place]
            missing = np.isnan(column)
            n_codes = len(columns[place].levels)
            if not n_codes:  # a bare tree knows its tables only
                n_codes = int(column[~missing].max(initial=-1)) + 1
            code = np.where((column >= 0) & (column < n_codes), column, n_codes)
            code = np.where(missing, n_codes + 1, code).astype(np.int64)
            share = np.bincount(code, weights=self.share, minlength=n_codes + 2)
            found[place] = share.astype(np.float64)
        return found

    def _effect(self, tree: Tree, plane: int) -> dict[int, FloatArray]:
        """Return a normal by column, per standard deviation of each feature.

        A qualitative feature has an entry per level: its score, from the mean of all scores,
        times the root of the level's share. Their length is the scores' standard deviation.
        """
        start, end = tree.coef_ptr[plane : plane + 2].tolist()
        factor = tree.coef[start:end] / np.abs(tree.coef[start:end]).max(initial=1e-300)
        effect = {}
        for k in range(start, end):
            place, by = int(tree.coef_idx[k]), float(factor[k - start])
            if not has_table(tree, k):
                effect[place] = np.array([by * self.deviation[place]])
                continue
            share = self.frequency[place]
            table = table_of(tree, k)[: len(share) - 2]
            score = np.zeros(len(share))
            score[: len(table)] = table
            score[-1] = tree.fill[k] if share[-1] > 0 else 0.0
            effect[place] = by * (score - share @ score) * np.sqrt(share)
        return effect

    @staticmethod
    def _lead(effect: dict[int, FloatArray]) -> int:
        lengths = {place: length_of(part) for place, part in sorted(effect.items())}
        return max(lengths, key=lengths.__getitem__)

    def draw(self, stumps: _Stumps, number: int) -> tuple[float, float, float]:
        """Choose the split anew: the angle, the share moved, whether the lead is the same."""
        rng = np.random.default_rng([*self.seed, number])
        counts = rng.multinomial(self.n_draws, self.weights / self.weights.sum())
        rows = np.repeat(np.arange(len(counts)), counts)
        split = stumps.make(self, rows, int(rng.integers(2**31)))
        if split is None:
            return np.nan, np.nan, np.nan
        effect = self._effect(split, 0)
        left = read_values(split, 0, self.Z) <= split.threshold[0]
        return (
            angle_between(*_joined(self.effect, effect)),
            self._moved(left),
            float(self._lead(effect) == self.lead),
        )

    def _moved(self, left: BoolArray) -> float:
        """Return the share of the weight that changes sides; which side is left is no matter."""
        moved = float(self.weights[left != self.left].sum() / self.weights.sum())
        return min(moved, 1.0 - moved)


def _joined(a: dict[int, FloatArray], b: dict[int, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Lay two normals by column out as vectors over the same columns."""
    places = sorted(a | b)
    sizes = {place: len(part) for place, part in (a | b).items()}
    first, second = (
        np.concatenate([normal.get(place, np.zeros(sizes[place])) for place in places])
        for normal in (a, b)
    )
    return first, second


def angle_between(a: FloatArray, b: FloatArray) -> float:
    """Return the angle between two planes with these normals, in degrees."""
    lengths = length_of(a), length_of(b)
    if 0.0 in lengths:
        return 0.0 if lengths == (0.0, 0.0) else 90.0
    a, b = a / lengths[0], b / lengths[1]
    if a @ b < 0:
        b = -b
    # Unlike the arc cosine this is exact to rounding for small angles too.
    return float(np.degrees(2 * np.arctan2(length_of(a - b), length_of(a + b))))


# --- one split chosen anew ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Stumps:
    """Fits copies of an estimator to rows of one node, with what was made from all rows."""

    estimator: ChoosesSplits
    subject: Subject
    class_weight: FloatArray | None
    scale: FloatArray | None
    means: FloatArray | None
    total: float

    @classmethod
    def of(
        cls,
        estimator: Any,
        subject: Subject,
        Z: AnyArray,
        learnt: AnyArray,
        weights: FloatArray,
    ) -> _Stumps:
        """Make class weights and scales from all rows, not from those of a node."""
        found: FloatArray | None = None
        if not subject.holds_numbers:
            learnt = learnt.astype(np.int32)
            found = estimator._weights_of_classes(subject.classes, learnt, weights)
        missing: BoolArray = np.asarray(np.isnan(Z).any(axis=0))
        table = Table(np.asarray(Z), subject.encoding, missing)
        scale = estimator._feature_scale(table, learnt, weights, found)
        means: FloatArray | None = None
        if estimator.get_params(deep=False).get("fill") == "training":
            if subject.holds_numbers:
                means = encode_numbers(table, learnt, weights).means
            else:
                means = encode(table, learnt, len(subject.classes), weights, found).means
            means = np.where(_coded(subject), np.nan, means)
        total = float((weights if found is None else found[learnt] * weights).sum())
        return cls(estimator, subject, found, scale, means, total)

    def make(self, bag: _Bag, rows: AnyArray, seed: int) -> Tree | None:
        """Fit a copy to rows of a bag; None if it finds no split."""
        from sklearn.base import clone

        drawn = bag.learnt[rows]
        if (drawn == drawn[0]).all():
            return None
        by_class = 1.0 if self.class_weight is None else self.class_weight[bag.learnt]
        share = float((by_class * bag.weights).sum()) / self.total
        stump = clone(self.estimator).set_params(
            **self._params(min(share, 1.0)), random_state=seed
        )
        stump._pools_levels = False  # the tree has read its levels already
        Z = bag.Z[rows]
        if self.means is not None:
            Z = np.where(np.isnan(Z), self.means, Z)
        drawn = drawn[:, 0] if drawn.shape[1:] == (1,) else drawn
        stump.fit(Z if self.scale is None else Z * self.scale, drawn)
        if stump.tree_.kind[0] != NodeKind.HYPERPLANE:
            return None
        return _in_terms_of_subject(stump.model_, self.subject, self.scale, self.means)

    def _params(self, share: float) -> dict[str, Any]:
        """Make limits that refer to the whole tree refer to a share of its weight."""
        known, by_class = self.estimator.get_params(deep=False), self.class_weight
        wanted = {
            "max_depth": 1,
            "max_leaf_nodes": None,
            "pruning": None,
            "collapse": False,
            "ccp_alpha": None,
            "leaf_model": "constant",
            "leaf_smoothing": None,
            "quantiles": None,
            # The labels of a stump are codes.
            "class_weight": None if by_class is None else dict(enumerate(by_class.tolist())),
            "priors": None,
            "costs": None,  # they choose no split
            "scale": None,
            "n_jobs": 1,
            "categorical_features": np.flatnonzero(_coded(self.subject)).tolist() or None,
            "min_samples_split": self._rows(known["min_samples_split"], 2),
            "min_samples_leaf": self._rows(known["min_samples_leaf"], 1),
            "min_weight_fraction_leaf": min(0.5, known["min_weight_fraction_leaf"] / share),
            "min_impurity_decrease": known["min_impurity_decrease"] / share,
        }
        return {name: value for name, value in wanted.items() if name in known}

    def _rows(self, limit: float | None, least: int) -> int | None:
        # The rows that grew the tree are those at its root.
        if limit is None or isinstance(limit, Integral):
            return limit if limit is None else int(limit)
        return max(least, ceil(limit * int(self.subject.tree.n_samples[0])))


def _coded(subject: Subject) -> list[bool]:
    """Say which columns are qualitative."""
    return [column.kind == "qualitative" for column in subject.encoding.columns]


def _in_terms_of_subject(
    stump: Any, subject: Subject, scale: FloatArray | None, means: FloatArray | None
) -> Tree:
    """Say a stump over scaled features and codes of its own in those of the subject."""
    tree: Tree = stump.trees[0]
    coef, fill = tree.coef, tree.fill
    if scale is not None:
        # A normal over scaled features is one over the features once it is scaled itself.
        coef, fill = coef * scale[tree.coef_idx], fill / scale[tree.coef_idx]
    if means is not None:
        there = means[tree.coef_idx]
        fill = np.where(np.isnan(there), fill, there)
    tables = []
    for k, place in enumerate(tree.coef_idx.tolist()):
        scores = table_of(tree, k)
        table = np.zeros(len(subject.encoding.columns[place].levels) if len(scores) else 0)
        # Its levels are codes of the subject; those of no known level are -1.
        levels = stump.encoding.columns[place].levels
        for number, level in zip(scores.tolist(), levels, strict=False):
            if 0 <= int(level) < len(table):
                table[int(level)] = number
        tables.append(table)
    return replace(
        tree,
        coef=coef,
        fill=fill,
        table=np.concatenate([np.zeros(0), *tables]),
        table_ptr=pointers([len(table) for table in tables]),
    )
