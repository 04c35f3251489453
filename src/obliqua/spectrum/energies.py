"""`energy`: what an ensemble owes to each feature, and to features together."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from obliqua._core.base.linalg import product
from obliqua._core.forest.overlaps import pair_energy
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.spectrum import _checks
from obliqua.spectrum.domain import INTERVALS
from obliqua.spectrum.ensembles import TreeSum, tree_sum_of
from obliqua.spectrum.measures import EMPIRICAL, UNIFORM, Measure, measure_of
from obliqua.spectrum.overlaps import Packed, gram_of_boxes, packed

__all__ = ["Energy", "energy"]

#: Cells of pairs of features, and steps for totals, beyond which they are left out unasked.
MOST_CELLS = 2**31
MOST_STEPS = 2**30
#: Features beyond which pairs are left out unasked: a table of all pairs would be too large.
MOST_FEATURES = 2**12


class How(NamedTuple):
    """What to find, None for what is affordable, and with how many threads."""

    pairs: bool | None
    totals: bool | None
    n_threads: int


class Known(NamedTuple):
    """The trees without their means, these means, and the covariances of the trees."""

    flat: Packed
    means: FloatArray
    covariance: FloatArray


@dataclass(frozen=True, eq=False)
class Energy:
    """How the variance of an ensemble divides among features and sets of features.

    The ensemble is a sum of one function for each set of features, which depends on these alone
    and has the mean 0 in each of them (ANOVA, or Sobol's decomposition). Under a product measure
    the energies, mean squares, of these functions add up to the variance.

    Parameters
    ----------
    features : tuple of str
        The names of the features.
    mean : ndarray of shape (n_outputs,)
        The mean of the ensemble under the measure, without what the sum starts from.
    variance : float
        Its variance, added up over outputs.
    main : ndarray of shape (n_features,)
        The energy of what each feature does alone.
    pairs : ndarray of shape (n_features, n_features), or None
        The energy of what two features do together and neither does alone; symmetric, 0 in the
        diagonal. None if it was not found.
    total : ndarray of shape (n_features,), or None
        The energy of all sets that a feature is in: the variance that would go if one knew all
        others, on average. None if it was not found.
    notes : tuple of str
        What was left out, and why.
    """

    features: tuple[str, ...]
    mean: FloatArray
    variance: float
    main: FloatArray
    pairs: FloatArray | None
    total: FloatArray | None
    notes: tuple[str, ...] = ()

    @property
    def orders(self) -> dict[str, float]:
        """The shares of the variance that are due to sets of one feature, of two, and of more.

        ``"1"``, ``"2"`` and ``"more"``; if pairs were not found, ``"1"`` and ``"more"``.
        """
        if not self.variance > 0:
            return (
                {"1": 0.0, "more": 0.0}
                if self.pairs is None
                else dict.fromkeys(("1", "2", "more"), 0.0)
            )
        found = {"1": float(self.main.sum()) / self.variance}
        if self.pairs is not None:
            found["2"] = float(np.triu(self.pairs).sum()) / self.variance
        # Rounding may leave a little less than nothing.
        return {**found, "more": max(0.0, 1.0 - sum(found.values()))}

    def strongest_pairs(self, most: int = 10) -> list[tuple[str, str, float]]:
        """Return the pairs of features that do most together.

        Parameters
        ----------
        most : int, default=10
            How many pairs.

        Returns
        -------
        list of (str, str, float)
            Two features, and their share of the variance; the largest first, none with 0.
        """
        most = _checks.checked_count("most", most)
        if self.pairs is None or not self.variance > 0:
            return []
        upper = np.triu(self.pairs, k=1)
        order = np.argsort(-upper, axis=None, kind="stable")[:most]
        found = zip(*np.unravel_index(order, upper.shape), strict=True)
        return [
            (self.features[i], self.features[j], float(upper[i, j] / self.variance))
            for i, j in found
            if upper[i, j] > 0
        ]

    def __repr__(self) -> str:
        parts = ", ".join(f"order {name}: {percent(share)}" for name, share in self.orders.items())
        return f"Energy(variance {self.variance:.4g}; {parts})"


def percent(share: float) -> str:
    """Write a share."""
    return f"{100.0 * share:.1f} %"


def energy(
    ensemble: Any,
    measure: str | Measure = UNIFORM,
    X: Any = None,
    *,
    values: str = "auto",
    pairs: bool | None = None,
    totals: bool | None = None,
    n_threads: int = 1,
) -> Energy:
    """Divide the variance of an ensemble among features and pairs of features, exactly.

    Parameters
    ----------
    ensemble : estimator, Model, Tree, sequence of Tree or TreeSum
        The ensemble, as in `tree_sum_of`.
    measure : {"uniform", "marginals"} or Measure, default="uniform"
        A product measure, as in `gram`: sets of features can only be told apart where the
        features are independent.
    X : array-like of shape (n_rows, n_features), default=None
        The rows for the marginals.
    values : {"auto", "votes", "shares"}, default="auto"
        What a tree that classifies says, as in `tree_sum_of`.
    pairs : bool, default=None
        Whether to look at pairs of features. It takes a step for each pair of levels of any two
        features that stand on a path together, and 8 bytes for each pair of features. None: if
        the steps are at most ``2**31`` and the features at most ``2**12``.
    totals : bool, default=None
        Whether to find the total of each feature. In the worst case it takes two steps for each
        feature and pair of leaves that know of it. None: if these pairs are at most
        ``2**30``.
    n_threads : int, default=1
        How many threads may share the work; the result is the same for any number.

    Returns
    -------
    Energy
        The energies, exact but for rounding. The domain is never enumerated.

    Raises
    ------
    TreeError
        If a split asks about several columns.

    Notes
    -----
    The memory is that of `gram`, about 100 bytes for each leaf and feature on its path, a few
    dozen MB for finding these, and, with pairs, 8 bytes for each pair of features. Grids of two
    features are passed line by line.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from obliqua.spectrum import energy
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> energy(DecisionTreeRegressor().fit(X, [0, 0, 0, 1]))
    Energy(variance 0.1875; order 1: 66.7 %, order 2: 33.3 %, order more: 0.0 %)
    """
    trees = tree_sum_of(ensemble, values)
    n_threads = _checks.checked_count("n_threads", n_threads)
    for name, given in (("pairs", pairs), ("totals", totals)):
        if given is not None:
            _checks.checked_flag(name, given)
    if isinstance(measure, str) and measure == EMPIRICAL:
        raise ValueError(
            "The rows of a table are no product measure: features depend on each other there, and "
            "what each of them does cannot be told apart. Give measure='marginals' or 'uniform'."
        )
    chosen = measure_of(trees, measure, X)
    flat, means = packed(trees, chosen).centred()
    how = How(pairs, totals, n_threads)
    known = Known(flat, means, gram_of_boxes(flat, n_threads))
    return energy_of(trees, chosen, known, how)


def energy_of(trees: TreeSum, measure: Measure, known: Known, how: How) -> Energy:
    """Do the work of `energy` with what is known already."""
    flat = known.flat
    mean = product(trees.weights, known.means)
    variance = _mean_square(trees, known.covariance)
    leaves = boxes_of(flat, measure)
    owner = np.searchsorted(flat.roots, leaves.nodes, side="right") - 1
    counts = trees.weights[owner] * flat.mass[leaves.nodes]
    parts = _FeatureFunctions(leaves, flat.value[leaves.nodes] * counts[:, None])
    names, notes = measure.domain.names, []
    main = np.zeros(len(names))
    for feature in leaves.sides:
        main[feature] = parts.main(feature)
    cells = parts.n_cells() * trees.n_outputs
    few = cells <= MOST_CELLS and len(names) <= MOST_FEATURES
    look = how.pairs if how.pairs is not None else few
    together = parts.all_pairs(len(names), how.n_threads) if look else None
    if how.pairs is None and not look:
        much = (
            f"they have {cells:.2g} cells, and {MOST_CELLS:.2g} are looked at unasked"
            if cells > MOST_CELLS
            else f"a table of all pairs of {len(names)} features takes "
            f"{8 * len(names) ** 2 / 2**30:.1f} GB, and there is one unasked for {MOST_FEATURES}"
        )
        notes.append(
            f"Pairs of features were left out: {much}. energy(..., pairs=True) looks at all."
        )
    steps = sum(len(sides.leaves) ** 2 for sides in leaves.sides.values())
    look = how.totals if how.totals is not None else steps <= MOST_STEPS
    whole = np.zeros(len(names)) if look else None
    if whole is not None:
        for feature, sides in leaves.sides.items():
            # Leaves that do not know of it say the same whether it is shared or not.
            knowing = flat.only(leaves.nodes[sides.leaves])
            whole[feature] = _total(trees, knowing, feature, how.n_threads)
    elif how.totals is None:
        notes.append(
            f"Totals of features were left out: {steps:.2g} pairs of leaves know of the same "
            f"feature, and {MOST_STEPS:.2g} are looked at unasked. energy(..., totals=True) looks "
            "at all."
        )
    return Energy(names, mean, max(0.0, variance), main, together, whole, tuple(notes))


def _total(trees: TreeSum, flat: Packed, feature: int, n_threads: int) -> float:
    """Return what the variance owes to a feature that the trees share."""
    shared = gram_of_boxes(flat, n_threads, feature)
    apart = gram_of_boxes(flat, n_threads, feature, apart=True)
    return max(0.0, _mean_square(trees, shared - apart))


def _mean_square(trees: TreeSum, products: FloatArray) -> float:
    """Return the mean square of the sum of trees with these inner products."""
    return float(product(product(trees.weights, products), trees.weights))


class _FeatureFunctions:
    """Functions of one and of two features, put together from the leaves.

    A leaf adds to the function of a set of features the product of its value, of its shares in all
    other features, and of the differences between its indicators and their means in these.
    """

    def __init__(self, leaves: Boxes, weighted: FloatArray) -> None:
        self.leaves = leaves
        self.weighted = weighted  # value times mass, for each leaf

    def main(self, feature: int) -> float:
        sides = self.leaves.sides[feature]
        sums = self._sums(sides, self.weighted[sides.leaves] / sides.share[:, None])
        share = sides.level_share
        centred = sums - product(share, sums)
        return float(product(share, (centred * centred).sum(axis=1)))

    @staticmethod
    def _sums(sides: Sides, values: FloatArray) -> FloatArray:
        """Add up values over the leaves that have each level."""
        return sides.spread_out(np.asarray(sides.entries.T @ values))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of features that some leaf is narrow in."""
        known = sorted(self.leaves.sides)
        rows = np.concatenate([self.leaves.sides[f].leaves for f in known] or [np.zeros(0, int)])
        lengths = [len(self.leaves.sides[f].leaves) for f in known]
        columns = np.repeat(np.arange(len(known)), lengths)
        shape = (len(self.leaves.nodes), len(known))
        there = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        both = sparse.coo_array(sparse.triu(there.T @ there, k=1))
        yield from sorted((known[i], known[j]) for i, j in zip(*both.coords, strict=True))

    def all_pairs(self, n_features: int, n_threads: int) -> FloatArray:
        """Return the energies of all pairs; each is found by one thread."""
        found = np.zeros((n_features, n_features))

        def one(pair: tuple[int, int]) -> None:
            found[pair] = found[pair[::-1]] = self.pair(*pair)

        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(one, self.pairs()))
        return found

    def n_cells(self) -> int:
        """Count the pairs of levels of such pairs."""
        size = {f: len(sides.level_share) for f, sides in self.leaves.sides.items()}
        return sum(size[f] * size[g] for f, g in self.pairs())

    def pair(self, f: int, g: int) -> float:
        one, two = self.leaves.sides[f], self.leaves.sides[g]
        both, at_one, at_two = np.intersect1d(
            one.leaves, two.leaves, assume_unique=True, return_indices=True
        )
        one, two = one.taken(at_one), two.taken(at_two)
        values = self.weighted[both] / (one.share * two.share)[:, None]
        # Means over either feature and over both, of what these leaves add up to.
        of_one = self._sums(one, values * two.share[:, None])
        of_two = self._sums(two, values * one.share[:, None])
        mean = (values * (one.share * two.share)[:, None]).sum(axis=0)
        by_place: Any = sparse.csc_array(one.entries)
        by_leaf: Any = two.entries
        return float(
            sum(
                pair_energy(
                    by_place.indptr.astype(np.int64),
                    by_place.indices.astype(np.int32),
                    by_place.data,
                    by_leaf.indptr.astype(np.int64),
                    by_leaf.indices.astype(np.int32),
                    by_leaf.data,
                    np.ascontiguousarray(values[:, k]),
                    of_one[:, k] - mean[k],
                    np.ascontiguousarray(of_two[:, k]),
                    one.level_share,
                    two.level_share,
                    one.numeric,
                    two.numeric,
                    by_leaf.shape[1],
                )
                for k in range(values.shape[1])
            )
        )


#: How many features of nodes are looked at together.
BLOCK = 2**18

_HALVES = (slice(0, None, 2), slice(1, None, 2))


# --- the boxes of the leaves, feature by feature ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sides:
    """What the leaves that are narrow in a feature have of it.

    `entries`, a sparse array with a row per leaf, says whether it has each level. For a numeric
    feature it says where the leaf's stretch of levels begins, 1, and ends, -1, and last, behind
    these, whether the leaf has what is missing: so the indicator of a stretch is a running sum,
    and a sum over thousands of leaves is a sparse product and a running sum, which takes no more
    memory than the levels do.
    """

    leaves: Int64Array  # as places among all that are reached
    entries: AnyArray
    share: FloatArray  # how likely it is that a value is in the leaf's part
    level_share: FloatArray  # how likely each level is, what is missing or unseen included
    numeric: bool

    def spread_out(self, sums: FloatArray) -> FloatArray:
        """Turn sums of entries, along the first axis, into sums over the levels."""
        if not self.numeric:
            return sums
        # A stretch never goes beyond the last level, so the sum at the end is 0.
        running = np.cumsum(sums[:-2], axis=0)
        return np.concatenate([running, sums[-1:]])

    def taken(self, places: Int64Array) -> Sides:
        """Return the same of some of the leaves, given by their places in `leaves`."""
        return Sides(
            self.leaves[places],
            self.entries[places],
            self.share[places],
            self.level_share,
            self.numeric,
        )


@dataclass(frozen=True, eq=False)
class Boxes:
    """The leaves that are reached, and by feature what those have of it that are narrow in it."""

    nodes: Int64Array
    sides: dict[int, Sides]


def boxes_of(trees: Packed, measure: Measure) -> Boxes:
    """Find the boxes of all leaves that are reached."""
    finder = _Finder(trees, measure)
    for root in trees.roots[:-1].tolist():
        finder.walk(root)
    nodes = np.flatnonzero((trees.nodes.slot < 0) & (trees.mass > 0))
    return Boxes(
        nodes, {f: finder.sides(f, nodes) for f in range(len(finder.numeric)) if finder.found[f]}
    )


class _Finder:
    """Goes through trees level by level; the state of some nodes of each level is held."""

    def __init__(self, trees: Packed, measure: Measure) -> None:
        self.trees, self.measure = trees, measure
        features = measure.domain.features
        self.numeric = [feature.kind == INTERVALS for feature in features]
        sizes = np.array([f.cardinality for f in features], dtype=np.int64)
        self.sizes = sizes
        # Membership of levels of all qualitative features, side by side.
        lengths = np.where(self.numeric, 0, sizes + 2)
        self.at = np.concatenate([[0], np.cumsum(lengths)])
        # Per feature: leaves, places and signs of entries.
        self.found: list[list[tuple[Int64Array, Int64Array, FloatArray]]] = [[] for _ in features]

    def walk(self, root: int) -> None:
        nodes = np.array([root])
        low = np.zeros((1, len(self.sizes)), dtype=np.int32)
        high = self.sizes.astype(np.int32)[None, :].copy()
        gap = np.ones((1, len(self.sizes)), dtype=bool)
        member = np.ones((1, int(self.at[-1])), dtype=bool)
        asked = np.zeros((1, len(self.sizes)), dtype=bool)
        most = max(1, BLOCK // (low.shape[1] + member.shape[1]))
        pending: list[tuple[AnyArray, ...]] = [(nodes, low, high, gap, member, asked)]
        while pending:
            nodes, *state = pending.pop()
            if len(nodes) > most:
                pending += [(nodes[part], *(one[part] for one in state)) for part in _HALVES]
                continue
            leaf = self.trees.nodes.slot[nodes] < 0
            there = leaf & (self.trees.mass[nodes] > 0)
            self._keep(nodes[there], *(part[there] for part in state))
            if not leaf.all():
                inner = (part[~leaf] for part in state)
                pending.append(self._children(nodes[~leaf], *inner))

    def _children(
        self,
        nodes: Int64Array,
        low: AnyArray,
        high: AnyArray,
        gap: BoolArray,
        member: BoolArray,
        asked: BoolArray,
    ) -> tuple[AnyArray, ...]:
        splits = self.trees.nodes
        slot, cut = splits.slot[nodes], splits.cut[nodes]
        asked[np.arange(len(nodes)), slot] = True
        sets = ~np.array(self.numeric)[slot]
        below, above = np.flatnonzero(~sets), np.flatnonzero(~sets)
        parents = [below, above]
        children = [splits.children[nodes[below], 0], splits.children[nodes[below], 1]]
        for place in np.flatnonzero(sets).tolist():
            first, n_branches = splits.children[nodes[place], :2].tolist()
            parents.append(np.full(n_branches, place))
            children.append(np.arange(first, first + n_branches))
        parent = np.concatenate(parents)
        new = np.concatenate(children).astype(np.int64)
        low, high, gap = low[parent], high[parent], gap[parent]
        member, asked = member[parent], asked[parent]
        n = len(below)
        rows, column, at = np.arange(n), slot[below], cut[below]
        high[rows, column] = np.clip(at, low[rows, column], high[rows, column])
        low[rows + n, column] = np.clip(at, low[rows + n, column], high[rows + n, column])
        to = splits.children[nodes[below], 2]
        gap[rows, column] &= to == new[:n]
        gap[rows + n, column] &= to == new[n : 2 * n]
        for row in range(2 * n, len(parent)):
            node, feature = nodes[parent[row]], slot[parent[row]]
            start, end = self.at[feature], self.at[feature + 1]
            table = splits.table[splits.table_ptr[node] :][: end - start]
            member[row, start:end] &= table == new[row] - splits.children[node, 0]
        return new, low, high, gap, member, asked

    def _keep(
        self,
        leaves: Int64Array,
        low: AnyArray,
        high: AnyArray,
        gap: BoolArray,
        member: BoolArray,
        asked: BoolArray,
    ) -> None:
        for feature in np.flatnonzero(asked.any(axis=0)).tolist():
            rows = np.flatnonzero(asked[:, feature])
            if self.numeric[feature]:
                last = int(self.sizes[feature]) + 1
                gaps = rows[gap[rows, feature]]
                self.found[feature] += [
                    (leaves[rows], low[rows, feature], np.ones(len(rows))),
                    (leaves[rows], high[rows, feature], -np.ones(len(rows))),
                    (leaves[gaps], np.full(len(gaps), last), np.ones(len(gaps))),
                ]
            else:
                part = member[rows, self.at[feature] : self.at[feature + 1]]
                row, level = np.nonzero(part)
                self.found[feature].append((leaves[rows[row]], level, np.ones(len(row))))

    def sides(self, feature: int, nodes: Int64Array) -> Sides:
        """Put the entries of a feature into a matrix."""
        leaves, places, signs = (
            np.concatenate(part) for part in zip(*self.found[feature], strict=True)
        )
        known, row = np.unique(leaves, return_inverse=True)
        numeric = self.numeric[feature]
        weights = self.measure.all_weights(feature)
        if numeric:
            weights = weights[np.arange(len(weights)) != len(weights) - 2]  # nothing is unseen
            running = np.concatenate([[0.0], np.cumsum(weights[:-1])])
            per_entry = np.append(-running, weights[-1])
        else:
            per_entry = weights
        shape = (len(known), len(per_entry))
        entries = sparse.csr_array(sparse.coo_array((signs, (row, places)), shape=shape))
        total = weights.sum()
        return Sides(
            np.searchsorted(nodes, known),
            entries,
            np.asarray(entries @ per_entry) / total,
            weights / total,
            numeric,
        )
