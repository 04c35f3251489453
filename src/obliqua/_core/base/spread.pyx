"""The standard deviation of columns at every node of a tree, and means of columns.

Sums of values and of squares are taken per leaf, about the middle of the leaf's range, and joined
towards the root; a value far away elsewhere takes no digits from them. They are kept as pairs of
doubles, about 106 bits wide, so the order of the rows shows only far below the 24 bits that the
result is rounded to.
"""

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, fabs, frexp, isnan, ldexp, rint, sqrt

import numpy as np

from obliqua._core.base.pairs cimport (
    DoublePair, add, add_pair, difference, divided, product, square, times,
)
from obliqua._core.base.types cimport View, i32, i64, make_view, view_at

cdef enum:
    RESULT_BITS = 24


cdef double rounded_root(double variance) noexcept nogil:
    """The root of a variance, to 24 significant bits."""
    cdef int exponent = 0
    cdef double value
    if variance <= 0.0:
        return 0.0
    value = frexp(sqrt(variance), &exponent)
    return ldexp(rint(ldexp(value, RESULT_BITS)), exponent - RESULT_BITS)


cdef struct ColumnSummary:
    # Of one column at one node; values are scaled to at most 1 in size.
    DoublePair mean          # first a sum about a centre
    DoublePair square        # sum of squares about the mean; first about the centre


cdef DoublePair divided_by(DoublePair a, DoublePair b) noexcept nogil:
    """a / b, where the second number of b is far smaller than the first."""
    cdef DoublePair out = divided(a, b.high)
    return difference(out, divided(times(out, b.low), b.high))


cdef void finish_leaf(ColumnSummary* here, DoublePair weight, double centre,
                      bint constant) noexcept nogil:
    """From sums about the centre to mean and sum of squares about it."""
    cdef DoublePair first = here.mean
    here.square = difference(here.square, divided_by(square(first), weight))
    here.mean = divided_by(first, weight)
    add(&here.mean, centre)
    if constant or here.square.high < 0.0:
        here.square.high = 0.0
        here.square.low = 0.0


cdef void join(ColumnSummary* total, double weight, const ColumnSummary* part,
               double more) noexcept nogil:
    """Adds a part of weight `more` to what weighs `weight` already (Chan, Golub, LeVeque 1983)."""
    cdef DoublePair gap, shift
    if weight == 0.0:
        total.mean = part.mean
        total.square = part.square
        return
    gap = difference(part.mean, total.mean)
    shift = divided(times(gap, more), weight + more)
    add_pair(&total.square, part.square)
    add_pair(&total.square, times(divided(square(gap), weight + more), weight * more))
    add_pair(&total.mean, shift)


def leaf_ranges(Z, const i64[::1] leaf, i64 n_nodes, const i32[::1] columns,
                const double[::1] factor):
    """The least and the largest value of some columns at each node where rows end.

    `leaf` says where each row ends. Values are multiplied by the factors. Where no row is, the
    least is infinite.
    """
    cdef View view = make_view(Z)
    cdef i64 k = columns.shape[0]
    cdef i64 row, node, j
    cdef double value
    low = np.full((n_nodes, k), INFINITY)
    high = np.full((n_nodes, k), -INFINITY)
    cdef double[:, ::1] low_ = low, high_ = high
    with nogil:
        for row in range(view.n_rows):
            node = leaf[row]
            for j in range(k):
                value = view_at(&view, row, columns[j]) * factor[j]
                low_[node, j] = min(low_[node, j], value)
                high_[node, j] = max(high_[node, j], value)
    return low, high


def leaf_sums(Z, const i64[::1] leaf, weights, const i32[::1] columns, const double[::1] factor,
              const double[:, ::1] centre):
    """Weights at the nodes where rows end, and sums of values and of squares about a centre.

    All are pairs: the last axis has the two numbers of each. Weights are at most 2^53.
    """
    cdef View view = make_view(Z)
    cdef i64 n_nodes = centre.shape[0], k = columns.shape[0]
    cdef i64 row, node, j
    cdef double value, weight = 1.0
    cdef bint weighted = weights is not None
    cdef const double[::1] weight_of = weights if weighted else np.empty(0)
    totals = np.zeros((n_nodes, 2))
    sums = np.zeros((n_nodes, k, 4))
    cdef double[:, ::1] total = totals
    cdef double[:, :, ::1] memory = sums
    cdef DoublePair* here
    if n_nodes * k == 0:
        return totals, sums
    with nogil:
        for row in range(view.n_rows):
            node = leaf[row]
            if weighted:
                weight = weight_of[row]
            add(<DoublePair*> &total[node, 0], weight)
            here = <DoublePair*> &memory[node, 0, 0]
            for j in range(k):
                value = view_at(&view, row, columns[j]) * factor[j] - centre[node, j]
                if weighted:
                    add_pair(&here[2 * j], product(value, weight))
                    add_pair(&here[2 * j + 1], times(product(value, value), weight))
                else:
                    add(&here[2 * j], value)
                    add_pair(&here[2 * j + 1], product(value, value))
    return totals, sums


def node_spread(parts, ranges, const double[:, ::1] centre, const i64[::1] parent,
                const i32[::1] exponent):
    """The standard deviation of some columns at all nodes; NaN at nodes without weight.

    `parts` are what `leaf_sums` has found in all rows, a pair for each part of them, and `ranges`
    what `leaf_ranges` has. `parent` comes before its children, and values were divided by
    2^exponent.
    """
    cdef i64 n_nodes = centre.shape[0], k = centre.shape[1]
    cdef i64 node, j, above
    cdef double value
    cdef const double[:, ::1] low = ranges[0], high = ranges[1]
    totals = np.zeros(n_nodes)
    memory = np.zeros((n_nodes * k, sizeof(ColumnSummary) // sizeof(double)))
    spread = np.full((n_nodes, k), np.nan)
    if n_nodes * k == 0:
        return spread
    cdef double[::1] total = totals
    cdef double[:, ::1] memory_ = memory
    cdef double[:, ::1] out = spread
    pairs = np.zeros((n_nodes, 2))
    cdef double[:, ::1] pairs_ = pairs
    cdef DoublePair* weight = <DoublePair*> &pairs_[0, 0]
    cdef const double[:, ::1] part_weights
    cdef const double[:, :, ::1] sums
    cdef ColumnSummary* at = <ColumnSummary*> &memory_[0, 0]
    cdef const DoublePair* more
    for weights, of_part in parts:
        part_weights, sums = weights, of_part
        with nogil:
            for node in range(n_nodes):
                add_pair(&weight[node], (<const DoublePair*> &part_weights[node, 0])[0])
                more = <const DoublePair*> &sums[node, 0, 0]
                for j in range(k):
                    add_pair(&at[node * k + j].mean, more[2 * j])
                    add_pair(&at[node * k + j].square, more[2 * j + 1])
    with nogil:
        for node in range(n_nodes):
            total[node] = weight[node].high + weight[node].low
            if total[node] > 0:
                for j in range(k):
                    finish_leaf(&at[node * k + j], weight[node], centre[node, j],
                                low[node, j] == high[node, j])
        for node in range(n_nodes - 1, 0, -1):
            above = parent[node]
            if total[node] > 0:
                for j in range(k):
                    join(&at[above * k + j], total[above], &at[node * k + j], total[node])
                total[above] += total[node]
        for node in range(n_nodes):
            if total[node] > 0:
                for j in range(k):
                    value = rounded_root(at[node * k + j].square.high / total[node])
                    out[node, j] = min(ldexp(value, exponent[j]), DBL_MAX)
    return spread


def column_ranges(Z):
    """The least and the largest value of each column; infinite ones where there is none."""
    cdef View view = make_view(Z)
    cdef i64 row, j, p = view.n_cols
    cdef double value
    lows = np.full(p, INFINITY)
    highs = np.full(p, -INFINITY)
    cdef double[::1] low = lows, high = highs
    with nogil:
        for row in range(view.n_rows):
            for j in range(p):
                value = view_at(&view, row, j)
                if value < low[j]:
                    low[j] = value
                if value > high[j]:
                    high[j] = value
    return lows, highs


cdef double middle_of(double low, double high, int* exponent) noexcept nogil:
    """The middle of a range, in units of 2^exponent, of which all values are at most 1 in size."""
    exponent[0] = 0
    if not low <= high:
        return 0.0
    frexp(max(fabs(low), fabs(high)), exponent)
    return ldexp(low, -exponent[0]) / 2 + ldexp(high, -exponent[0]) / 2


def column_sums(Z, weights, const double[::1] low, const double[::1] high):
    """Weights of the values in each column, and their sums about the middle of a range, as pairs.

    About the middle sums are small. The range is that of all rows, wherever they are.
    """
    cdef View view = make_view(Z)
    cdef i64 row, j, p = view.n_cols
    cdef double value, weight = 1.0
    cdef bint weighted = weights is not None
    cdef const double[::1] weight_of = weights if weighted else np.empty(0)
    totals = np.zeros(p)
    sums = np.zeros((p, 2))
    cdef double[::1] total = totals, middle = np.empty(p)
    cdef int[::1] scale = np.empty(p, dtype=np.intc)
    cdef double[:, ::1] memory = sums
    cdef DoublePair* pairs
    if p == 0:
        return totals, sums
    pairs = <DoublePair*> &memory[0, 0]
    with nogil:
        for j in range(p):
            middle[j] = middle_of(low[j], high[j], &scale[j])
        for row in range(view.n_rows):
            if weighted:
                weight = weight_of[row]
            for j in range(p):
                value = view_at(&view, row, j)
                if isnan(value):
                    continue
                total[j] += weight
                value = ldexp(value, -scale[j]) - middle[j]
                if weighted:
                    add_pair(&pairs[j], product(value, weight))
                else:
                    add(&pairs[j], value)
    return totals, sums


def means_of_sums(const double[::1] low, const double[::1] high, const double[::1] total,
                  const double[::1] sums):
    """The mean of each column, from its range, and weights and sums; 0 where there is none."""
    cdef i64 j
    cdef int scale = 0
    cdef double middle
    means = np.zeros(low.shape[0])
    cdef double[::1] mean = means
    for j in range(low.shape[0]):
        middle = middle_of(low[j], high[j], &scale)
        if low[j] == high[j]:
            mean[j] = low[j]
        elif total[j] > 0:
            mean[j] = ldexp(middle + sums[j] / total[j], scale)
    return means


def column_means(Z, weights):
    """The mean of each column over the rows that have a value there; 0 where none has."""
    low, high = column_ranges(Z)
    total, sums = column_sums(Z, weights, low, high)
    return means_of_sums(low, high, total, sums[:, 0] + sums[:, 1])


def sparse_column_means(tuple shape, const i64[::1] ptr, const i32[::1] rows, values, weights):
    """As `column_means`, of sparse columns: their zeros are added in one step."""
    cdef i64 n = shape[0], p = shape[1], j, k
    cdef int scale = 0
    cdef double value, weight = 1.0, every = <double> n, total, zeros, middle
    cdef bint weighted = weights is not None, single = values.dtype.itemsize == 4
    cdef const double[::1] weight_of = weights if weighted else np.empty(0)
    cdef const float[::1] floats = values if single else np.empty(0, dtype=np.float32)
    cdef const double[::1] doubles = np.empty(0) if single else values
    cdef DoublePair sums
    lows, highs, totals, added = np.zeros((4, p))
    cdef double[::1] low = lows, high = highs, total_ = totals, added_ = added
    if weighted:
        every = weights.sum()
    with nogil:
        for j in range(p):
            zeros = total = every
            if ptr[j + 1] - ptr[j] == n:
                low[j], high[j] = INFINITY, -INFINITY
            for k in range(ptr[j], ptr[j + 1]):
                value = floats[k] if single else doubles[k]
                weight = weight_of[rows[k]] if weighted else 1.0
                zeros -= weight
                if isnan(value):
                    total -= weight
                    continue
                low[j] = min(low[j], value)
                high[j] = max(high[j], value)
            middle = middle_of(low[j], high[j], &scale)
            sums = product(-middle, zeros)
            for k in range(ptr[j], ptr[j + 1]):
                value = floats[k] if single else doubles[k]
                if not isnan(value):
                    value = ldexp(value, -scale) - middle
                    add_pair(&sums, product(value, weight_of[rows[k]] if weighted else 1.0))
            total_[j] = total
            added_[j] = sums.high + sums.low
    return means_of_sums(lows, highs, totals, added)
