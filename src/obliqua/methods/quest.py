"""QUEST: the split variable by tests of significance, the split point by discriminant analysis.

Loh and Shih (1997). Nothing is searched: a node gets one hyperplane with its threshold.

- *Univariate*: each numeric column is tested by analysis of variance, each qualitative one by
  chi-square, and the column with the smallest p-value is split. If no p-value is significant,
  Levene's test looks for classes that differ in spread.
- *Linear*: the direction is Fisher's linear discriminant over all columns, levels as CRIMCOORDs.

Classes become two superclasses by 2-means of their means. Where their normal densities, times
their shares, are equal, there is the split point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from obliqua._core.base.linalg import product, py_eigen
from obliqua._core.base.rng import row_hashes
from obliqua._core.search.node_search import threshold_between
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.data.weights import round_significant
from obliqua.engine.proposals import (
    SIGNIFICANT_BITS,
    Directions,
    NodeView,
    Settings,
    check_classes,
)
from obliqua.stats.significance import log_chi_square_tail, log_f_tail

__all__ = ["Quest", "linear_cut", "quadratic_cut", "two_groups"]

# Columns are measured from 0 to 1 at a node. Variances up to this are left by rounding, and so
# are distances up to its square root.
NOISE = 1e-24
CLOSE = 1e-12
# Principal components with a smaller part of the largest variance are left out.
NEGLIGIBLE = 1e-8
GRID = 2.0**24  # split points lie on so many steps of a column's range
MOVES = 100
MOST_ROWS = 1e15  # more rows than this prove no more


@dataclass(frozen=True)
class Quest(Settings):
    """What QUEST proposes at a node.

    Parameters
    ----------
    split : {"univariate", "linear"}, default="univariate"
        Splits on one column, or on a linear combination of all.
    split_point : {"quadratic", "linear"}, default="quadratic"
        Whether superclasses have a variance each, or one in common.
    alpha : float, default=0.05
        The level of significance, before Bonferroni's correction.
    """

    split: str = "univariate"
    split_point: str = "quadratic"
    alpha: float = 0.05

    def propose(self, node: NodeView) -> Directions | None:
        """Return one hyperplane and its threshold.

        Parameters
        ----------
        node : NodeView
            The rows, their classes and their weights.

        Returns
        -------
        Directions or None
            None if all rows are equal, or of one class.
        """
        check_classes(node, "Quest")
        rows = _OrderedRows(node)
        if len(rows.columns) == 0 or len(rows.sizes) < 2:
            return None
        if self.split == "linear":
            found = self._linear(node, rows)
            if found is not None:
                return found
        return self._univariate(node, rows)

    def _univariate(self, node: NodeView, rows: _OrderedRows) -> Directions:
        column, test = choose_column(rows, self.alpha)
        groups = two_groups(rows.means[:, [column]], rows.mass)
        values = rows.values[:, column]
        cut = self._cut(values, rows, groups)
        original = rows.X[:, rows.columns[column]]
        normal = np.zeros(node.n_features)
        normal[rows.columns[column]] = 1.0
        return Directions(normal, [_threshold(original, values, cut)], [test])

    def _linear(self, node: NodeView, rows: _OrderedRows) -> Directions | None:
        """Split along the linear discriminant; None if there is none that parts the rows."""
        groups, inside = discriminant(rows)
        with np.errstate(all="ignore"):  # a column near the limits of float64 may drop out
            inside = inside / rows.reach
        inside[~np.isfinite(inside)] = 0.0
        normal = np.zeros(node.n_features)
        normal[rows.columns] = round_significant(inside, SIGNIFICANT_BITS)
        if np.count_nonzero(normal) == 1:
            normal[normal != 0] = 1.0  # a plain question about one feature
        z = np.zeros(len(rows.X))
        with np.errstate(all="ignore"):
            for k in np.flatnonzero(normal):  # in the engine's order: the same values as there
                z += normal[k] * rows.X[:, k]
        if not np.isfinite(z).all() or z.min() == z.max():
            return None
        values = _unit_range(z[:, None])[:, 0]
        cut = self._cut(values, rows, groups)
        return Directions(normal, [_threshold(z, values, cut)], ["linear discriminant"])

    def _cut(self, values: FloatArray, rows: _OrderedRows, groups: BoolArray) -> float:
        """The split point among values from 0 to 1: at least 0, and below 1."""
        first = np.repeat(groups, rows.sizes)
        moments = [_moments(values[side], rows.weight[side]) for side in (first, ~first)]
        (mass_a, mean_a, var_a), (mass_b, mean_b, var_b) = moments
        share = mass_a / (mass_a + mass_b)
        if self.split_point == "linear":
            pooled = share * var_a + (1 - share) * var_b
            cut = linear_cut(mean_a, mean_b, pooled, share)
        elif min(var_a, var_b) <= NOISE < max(var_a, var_b):
            point, other = (first, mean_b) if var_a <= var_b else (~first, mean_a)
            return _beside(values, point, other)
        else:
            cut = quadratic_cut(mean_a, mean_b, var_a, var_b, share)
        # On a grid, the noise in the last digits of means and variances is gone. Half a step
        # above it, a value that is the split point itself goes left.
        for here in (cut, (mean_a + mean_b) / 2, 0.5):
            cut = (np.floor(here * GRID + 0.5) + 0.5) / GRID
            if 0 <= cut < 1:
                break
        return float(cut)


class _OrderedRows:
    """The rows of a node in an order that depends on their content alone, class by class.

    Float sums depend on their order, and a tree must not depend on how the rows came.
    """

    def __init__(self, node: NodeView) -> None:
        codes = node.y.astype(np.int64)
        hashes = row_hashes(node.X, codes, 0)
        order = np.lexsort((node.row_weight, node.sample_weight, hashes, codes))
        self._node, self._order = node, order
        self.X = node.X[order]
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        self.columns = np.flatnonzero(low < high)
        with np.errstate(over="ignore"):
            self.reach = (high - low)[self.columns]
        self.values = _unit_range(self.X[:, self.columns])
        self.n_levels = node.n_levels[self.columns]
        self.n_features, self.n_numeric = node.n_features, int((node.n_levels == 0).sum())
        # Relative to the largest, so that no sum of squares overflows.
        with np.errstate(over="ignore"):  # NumPy 1.26 warns of denormal weights
            self.weight = node.sample_weight[order] / node.sample_weight.max()
            # Tests count rows: priors and costs are no evidence.
            self.counts = node.row_weight[order] / node.row_weight.max()
        self.unit = min(float(node.row_weight.max()), MOST_ROWS)
        ordered = codes[order]
        ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, len(ordered))
        self.starts: Int64Array = np.append(0, ends[:-1])
        self.sizes: Int64Array = ends - self.starts
        self.mass: FloatArray = np.add.reduceat(self.weight, self.starts)

    @cached_property
    def encoded(self) -> FloatArray:
        """Codes of levels, and gaps, in the columns that vary."""
        return np.asarray(self._node.encoded[self._order][:, self.columns])

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each class, of shape (classes at the node, columns)."""
        sums = np.add.reduceat(self.weight[:, None] * self.values, self.starts)
        return np.asarray(sums / self.mass[:, None])


# --- which column ------------------------------------------------------------------------------


def choose_column(rows: _OrderedRows, alpha: float) -> tuple[int, str]:
    """Return the place of the column to split among those that vary, and what chose it.

    Bonferroni's correction counts all columns, also those that do not vary.
    """
    numeric = rows.n_levels == 0
    known = ~np.isnan(rows.encoded)
    counts = rows.counts[:, None] * known[:, numeric]
    logs = np.zeros(len(rows.columns))
    logs[numeric], deviations = analyse_variance(rows.values[:, numeric], counts, rows)
    for k in np.flatnonzero(~numeric):
        logs[k] = log_p_of_levels(rows.encoded[:, k], int(rows.n_levels[k]), rows)
    best = _smallest(logs)
    if logs[best] < np.log(alpha) - np.log(rows.n_features):
        return best, "F test" if numeric[best] else "chi-square test"
    if numeric.any():
        spreads, _ = analyse_variance(deviations, counts, rows)
        widest = _smallest(spreads)
        if spreads[widest] < np.log(alpha) - np.log(rows.n_features + rows.n_numeric):
            return int(np.flatnonzero(numeric)[widest]), "Levene's test"
    return best, "smallest p-value"


def analyse_variance(
    values: FloatArray, counts: FloatArray, rows: _OrderedRows
) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of the p-values of F, per column, and distances from class means."""
    mass = np.add.reduceat(counts, rows.starts)
    there = mass > 0
    sums = np.add.reduceat(counts * values, rows.starts)
    means = np.divide(sums, mass, out=np.zeros_like(sums), where=there)
    deviations = np.abs(values - np.repeat(means, rows.sizes, axis=0))
    total = mass.sum(axis=0)
    grand = np.divide(sums.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    between = (mass * (means - grand) ** 2).sum(axis=0)
    within = (counts * deviations**2).sum(axis=0)
    top = there.sum(axis=0) - 1.0
    # Too few rows prove nothing; if that is so everywhere, F still counts.
    bottom = total * rows.unit - there.sum(axis=0)
    few = bottom <= 0
    bottom = np.clip(bottom, 1.0, MOST_ROWS)
    within[within <= NOISE * total] = 0.0
    nothing = (between <= NOISE * total) | (top == 0) | (few & ~few.all())
    between[nothing] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(between > 0, (between / top) / (within / bottom), 0.0)
    return log_f_tail(statistic, np.maximum(top, 1.0), bottom), deviations


def log_p_of_levels(codes: FloatArray, n_levels: int, rows: _OrderedRows) -> float:
    """Return the logarithm of the p-value of chi-square for levels and classes.

    Missing values are a level of their own.
    """
    n_classes = len(rows.sizes)
    level = np.where(np.isnan(codes), n_levels, codes).astype(np.int64)
    place = np.repeat(np.arange(n_classes), rows.sizes) * (n_levels + 1) + level
    counts = np.bincount(place, rows.counts, minlength=n_classes * (n_levels + 1))
    table = counts.reshape(n_classes, n_levels + 1)
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * (table.sum(axis=0) / table.sum())
    statistic = float(((table - expected) ** 2 / expected).sum()) * rows.unit
    return log_chi_square_tail(statistic, (n_classes - 1.0) * (table.shape[1] - 1))


def _smallest(logs: FloatArray) -> int:
    """The place of the smallest value; the first of those that differ by rounding only."""
    return int(np.argmin(round_significant(logs, 30)))


# --- superclasses and direction ------------------------------------------------------------------


def two_groups(means: FloatArray, mass: FloatArray) -> BoolArray:
    """Divide classes into two superclasses by 2-means of their means."""
    n_classes = len(means)
    if n_classes == 2:
        return np.array([True, False])
    means = means - means.mean(axis=0)
    total = _squares(means).sum()
    if total <= NOISE * n_classes:
        return np.asarray(np.arange(n_classes) == int(np.argmax(mass)))
    if means.shape[1] == 1:
        return _lower_group(means[:, 0])
    one = _largest(_squares(means))
    other = _largest(_squares(means - means[one]))
    near = _squares(means - means[one]) <= _squares(means - means[other])
    for _ in range(MOVES * n_classes):
        here, there = near.sum(), (~near).sum()
        # what the squares around both centres would lose and gain if a class moved
        inner = _squares(means - means[near].mean(axis=0))
        outer = _squares(means - means[~near].mean(axis=0))
        leave = inner * here / max(here - 1, 1) - outer * there / (there + 1)
        enter = outer * there / max(there - 1, 1) - inner * here / (here + 1)
        won = np.where(near, leave if here > 1 else -1.0, enter if there > 1 else -1.0)
        best = _largest(won)
        if won[best] <= CLOSE * total:
            break
        near[best] = not near[best]
    return near


def _lower_group(means: FloatArray) -> BoolArray:
    """Cut sorted numbers, with a sum of 0, where the squares within both parts are smallest."""
    order = np.argsort(means, kind="stable")
    sums = np.cumsum(means[order])[:-1]
    size = np.arange(1, len(means))
    lower = np.zeros(len(means), dtype=bool)
    lower[order[: 1 + _largest(sums**2 / (size * (len(means) - size)))]] = True
    return lower


def discriminant(rows: _OrderedRows) -> tuple[BoolArray, FloatArray]:
    """Return the superclasses and the linear discriminant between them.

    The total covariance stands in for that within the superclasses. Where the latter can be
    inverted the direction is the same; where superclasses do not vary along some direction that
    parts them, it is that direction. Principal components that hardly vary are left out.
    """
    share = rows.weight / rows.mass.sum()
    centre = product(share, rows.values)
    centred = rows.values - centre
    spread = np.maximum(np.sqrt(product(share, centred**2)), CLOSE)
    centred *= np.sqrt(share)[:, None] / spread
    means = (rows.means - centre) / spread
    groups = two_groups(means, rows.mass)
    between = np.average(means[groups], axis=0, weights=rows.mass[groups])
    between -= np.average(means[~groups], axis=0, weights=rows.mass[~groups])
    values, components = _principal(centred)
    inside = product(product(components, between) / values, components)
    largest = np.abs(inside).max(initial=0.0)
    if np.abs(between).max(initial=0.0) <= 1e-9 or largest == 0:
        return groups, np.zeros(len(spread))
    # What varies by less than a millionth of the spread along the direction is rounding.
    along = float(np.sqrt((product(centred, inside) ** 2).sum()))
    inside[np.abs(inside) <= max(1e-6 * along, 1e-9 * largest)] = 0.0
    inside /= spread
    return groups, np.asarray(inside / np.abs(inside).max())


def _principal(centred: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variances of the principal components that vary, and these as rows."""
    few_rows = len(centred) < centred.shape[1]
    factor = centred.T if few_rows else centred  # the smaller matrix has the same variances
    values, vectors = py_eigen(product(factor.T, factor))
    keep = values > NEGLIGIBLE * values[0]
    values, vectors = values[keep], vectors[keep]
    if few_rows:
        vectors = product(vectors, centred) / np.sqrt(values)[:, None]
    return values, vectors


# --- split points --------------------------------------------------------------------------------


def linear_cut(mean_a: float, mean_b: float, variance: float, share_a: float) -> float:
    """Return where two normal densities of one variance, times their shares, are equal."""
    middle, difference = (mean_a + mean_b) / 2, mean_a - mean_b
    if abs(difference) <= CLOSE:
        return middle
    return float(middle - variance / difference * np.log(share_a / (1 - share_a)))


def quadratic_cut(
    mean_a: float, mean_b: float, var_a: float, var_b: float, share_a: float
) -> float:
    """Return where two normal densities, times their shares, are equal."""
    middle = (mean_a + mean_b) / 2
    half = (mean_a - mean_b) / 2
    if min(var_a, var_b) <= NOISE:
        return middle
    # a x^2 + 2 b x + c = 0, with x measured from the middle of the means
    a = var_a - var_b
    b = half * (var_a + var_b)
    ratio = np.log(share_a / (1 - share_a)) + np.log(var_b / var_a) / 2
    c = half * half * a + 2 * var_a * var_b * ratio
    inner = b * b - a * c
    if inner < 0:
        return middle
    q = -(b + np.copysign(np.sqrt(inner), b))
    if abs(q) <= NOISE:
        return middle
    # The smaller root is c / q, also where a is 0 and there is no other.
    near = c / q
    if abs(b) <= CLOSE * np.sqrt(inner):
        near = -abs(near)
    return float(middle + near)


def _moments(values: FloatArray, weight: FloatArray) -> tuple[float, float, float]:
    """Weight, mean and variance."""
    mass = weight.sum()
    mean = (weight * values).sum() / mass
    return float(mass), float(mean), float((weight * (values - mean) ** 2).sum() / mass)


def _beside(values: FloatArray, point: BoolArray, other: float) -> float:
    """The split point beside a superclass whose values are all equal, towards the other's mean."""
    low, high = values[point].min(), values[point].max()
    above, below = values > high, values < low
    if (other > high and above.any()) or not below.any():
        return float(threshold_between(high, values[above].min()))
    return float(threshold_between(values[below].max(), low))


def _threshold(original: FloatArray, values: FloatArray, cut: float) -> float:
    """Bring a split point among values from 0 to 1 back to what they were; no row changes side."""
    left = values <= cut
    below, above = original[left].max(), original[~left].min()
    threshold = original.min() * (1 - cut) + original.max() * cut
    if below <= threshold < above:
        return float(threshold)
    return float(threshold_between(below, above))


def _unit_range(columns: FloatArray) -> FloatArray:
    """Columns shifted and stretched so that each goes from 0 to 1; the order of values stays."""
    low, high = columns.min(axis=0), columns.max(axis=0)
    _, exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))
    # Powers of two first: they are exact, and then no difference overflows.
    low, high = np.ldexp(low, -exponent), np.ldexp(high, -exponent)
    return np.asarray((np.ldexp(columns, -exponent) - low) / (high - low))


def _squares(vectors: FloatArray) -> FloatArray:
    return np.asarray((vectors**2).sum(axis=1))


def _largest(values: FloatArray) -> int:
    """The place of the largest value; the first of those that differ by rounding only."""
    return _smallest(-values)
