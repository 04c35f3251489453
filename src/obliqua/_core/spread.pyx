"""The standard deviation of columns at every node of a tree, and means of columns.

Sums of values and of squares are taken per leaf and added up towards the root. They are kept
as pairs of doubles, about 106 bits wide, so the order of the rows shows only far below the 24
bits that the result is rounded to.
"""

from libc.math cimport INFINITY, frexp, isnan, ldexp, rint, sqrt

import numpy as np

from obliqua._core.types cimport View, i32, i64, view_at
from obliqua._core.view cimport make_view

cdef enum:
    RESULT_BITS = 24

# Of a variance this small beside the mean square, rounding has left nothing.
cdef double NOTHING = ldexp(1.0, -64)


cdef struct Pair:
    # The unevaluated sum of two doubles, the second far smaller than the first.
    double high
    double low


cdef inline Pair product(double a, double b) noexcept nogil:
    """a * b without rounding (Dekker; both at most 2^53 or so, thus no overflow)."""
    cdef double a_big = a * 134217729.0
    cdef double b_big = b * 134217729.0
    cdef double a_high = a_big - (a_big - a)
    cdef double b_high = b_big - (b_big - b)
    cdef double a_low = a - a_high
    cdef double b_low = b - b_high
    cdef Pair out
    out.high = a * b
    out.low = ((a_high * b_high - out.high) + a_high * b_low + a_low * b_high) + a_low * b_low
    return out


cdef inline void add(Pair* total, double value) noexcept nogil:
    """total += value (Knuth's exact sum of the upper parts)."""
    cdef double upper = total.high + value
    cdef double part = upper - total.high
    cdef double low = total.low + ((total.high - (upper - part)) + (value - part))
    total.high = upper + low
    total.low = low - (total.high - upper)


cdef inline void add_pair(Pair* total, Pair value) noexcept nogil:
    add(total, value.high)
    add(total, value.low)


cdef inline Pair times(Pair a, double b) noexcept nogil:
    cdef Pair out = product(a.high, b)
    add(&out, a.low * b)
    return out


cdef inline Pair square(Pair a) noexcept nogil:
    cdef Pair out = product(a.high, a.high)
    add(&out, 2.0 * a.high * a.low)
    return out


cdef double deviation(Pair first, Pair second, double weight) noexcept nogil:
    """sqrt(second / weight - (first / weight)^2), to 24 significant bits."""
    cdef Pair variance, mean_part
    cdef double value
    cdef int exponent
    variance = times(second, weight)
    value = variance.high
    mean_part = square(first)
    add(&variance, -mean_part.high)
    add(&variance, -mean_part.low)
    if variance.high <= NOTHING * value:
        return 0.0
    value = frexp(sqrt(variance.high) / weight, &exponent)
    return ldexp(rint(ldexp(value, RESULT_BITS)), exponent - RESULT_BITS)


def node_spread(Z, const i64[::1] leaf, weights, const i64[::1] parent,
                const i32[::1] columns, const double[::1] middle, const i32[::1] exponent):
    """The standard deviation of some columns at all nodes; NaN at nodes without weight.

    `leaf` says where each row ends, `parent` comes before its children, and
    |Z[:, columns[j]] - middle[j]| <= 2^exponent[j].
    """
    cdef View view = make_view(Z)
    cdef i64 n_nodes = parent.shape[0]
    cdef i64 k = columns.shape[0]
    cdef i64 row, node, j, at
    cdef double value, weight = 1.0
    cdef bint weighted = weights is not None
    cdef const double[::1] weight_of = weights if weighted else np.empty(0)
    totals = np.zeros(n_nodes)
    sums = np.zeros((n_nodes * k, 4))
    spread = np.full((n_nodes, k), np.nan)
    cdef double[::1] total = totals
    cdef double[:, ::1] memory = sums
    cdef double[:, ::1] out = spread
    if n_nodes * k == 0:
        return spread
    cdef Pair* pairs = <Pair*> &memory[0, 0]  # of values, then of squares
    with nogil:
        for row in range(view.n_rows):
            node = leaf[row]
            if weighted:
                weight = weight_of[row]
            total[node] += weight
            for j in range(k):
                at = 2 * (node * k + j)
                value = ldexp(view_at(&view, row, columns[j]) - middle[j], -exponent[j])
                if weighted:
                    add_pair(&pairs[at], product(value, weight))
                    add_pair(&pairs[at + 1], times(product(value, value), weight))
                else:
                    add(&pairs[at], value)
                    add_pair(&pairs[at + 1], product(value, value))
        for node in range(n_nodes - 1, 0, -1):
            total[parent[node]] += total[node]
            for j in range(2 * k):
                add_pair(&pairs[2 * parent[node] * k + j], pairs[2 * node * k + j])
        for node in range(n_nodes):
            if total[node] > 0:
                for j in range(k):
                    at = 2 * (node * k + j)
                    value = deviation(pairs[at], pairs[at + 1], total[node])
                    out[node, j] = ldexp(value, exponent[j])
    return spread


def column_means(Z, weights):
    """The mean of each column over the rows that have a value there; 0 where none has."""
    cdef View view = make_view(Z)
    cdef i64 row, j, p = view.n_cols
    cdef double value, weight = 1.0
    cdef bint weighted = weights is not None
    cdef const double[::1] weight_of = weights if weighted else np.empty(0)
    low = np.full(p, INFINITY)
    high = np.full(p, -INFINITY)
    totals = np.zeros(p)
    sums = np.zeros((p, 2))
    means = np.zeros(p)
    cdef double[::1] low_ = low, high_ = high, total = totals, mean = means
    cdef double[:, ::1] memory = sums
    cdef Pair* pairs
    if p == 0:
        return means
    pairs = <Pair*> &memory[0, 0]
    with nogil:
        for row in range(view.n_rows):
            for j in range(p):
                value = view_at(&view, row, j)
                if value < low_[j]:
                    low_[j] = value
                if value > high_[j]:
                    high_[j] = value
        for row in range(view.n_rows):
            if weighted:
                weight = weight_of[row]
            for j in range(p):
                value = view_at(&view, row, j)
                if isnan(value):
                    continue
                total[j] += weight
                # Halves about the middle of the range: nothing overflows.
                value = (value / 2 - (low_[j] / 4 + high_[j] / 4))
                if weighted:
                    add_pair(&pairs[j], scaled_product(value, weight))
                else:
                    add(&pairs[j], value)
        for j in range(p):
            if low_[j] == high_[j]:
                mean[j] = low_[j]
            elif total[j] > 0:
                mean[j] = (low_[j] / 2 + high_[j] / 2) + 2.0 * (
                    (pairs[j].high + pairs[j].low) / total[j])
    return means


cdef inline Pair scaled_product(double value, double weight) noexcept nogil:
    """The product of any value and a weight: scaled, so that splitting it cannot overflow."""
    cdef int exponent = 0
    cdef Pair out = product(frexp(value, &exponent), weight)
    out.high = ldexp(out.high, exponent)
    out.low = ldexp(out.low, exponent)
    return out
