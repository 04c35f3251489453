"""Goodness of a cut from integer sums, and an upper bound of it inside a bin.

``goodness`` is a pure function of the sums: the same sums give the same bits, whatever order,
thread or part they came from. That is what makes the choice of a split reproducible.
"""

from libc.math cimport log2

from obliqua._core.base.types cimport i64, u64
from obliqua._core.base.wide cimport difference, nearest_double

cdef enum:
    TWOING = 0
    GINI = 1
    ENTROPY = 2
    GAIN_RATIO = 3
    MAX_MINORITY = 4
    SUM_MINORITY = 5
    SUM_VARIANCES = 6
    # These three are of numbers, all others are of classes.
    SQUARED_ERROR = 7
    POISSON = 8
    ABSOLUTE_ERROR = 9       # needs rows, see medians.pxd
    NODE_VARIANCES = 10

cdef enum:
    # Up to this weight, products of two sums are exact in 64 bits.
    NARROW_BITS = 31


cdef inline bint of_numbers(int code) noexcept nogil:
    return SQUARED_ERROR <= code <= ABSOLUTE_ERROR


cdef inline bint is_convex(int code) noexcept nogil:
    """Convex in the sums, so no optimum lies inside a run of one class; and a bound is known."""
    return (code == TWOING or code == GINI or code == ENTROPY or code == SUM_MINORITY
            or code == SQUARED_ERROR)


cdef inline bint is_narrow(i64 weight) noexcept nogil:
    return weight <= (<i64> 1) << NARROW_BITS


cdef inline double wide_excess(i64 left, i64 total, i64 n_left, i64 n) noexcept nogil:
    cdef u64 high, low
    if difference(left, total, n_left, n, &high, &low):
        return -nearest_double(high, low)
    return nearest_double(high, low)


cdef inline double excess(i64 left, i64 total, i64 n_left, i64 n) noexcept nogil:
    """left * n - total * n_left: zero when the class is as frequent left as in the node.

    The difference is taken in integers, so that nearly equal products lose nothing.
    """
    if is_narrow(n):
        return <double> (left * n - total * n_left)
    return wide_excess(left, total, n_left, n)


cdef inline double side_entropy(const i64* left, const i64* total, int n_classes, i64 n,
                                bint right) noexcept nogil:
    cdef int c
    cdef i64 v
    cdef double share, h = 0.0
    cdef double t = <double> n
    for c in range(n_classes):
        v = total[c] - left[c] if right else left[c]
        if v > 0:
            share = (<double> v) / t
            h -= share * log2(share)
    return h


cdef inline i64 side_minority(const i64* left, const i64* total, int n_classes, i64 n,
                              bint right) noexcept nogil:
    cdef int c
    cdef i64 v, top = 0
    for c in range(n_classes):
        v = total[c] - left[c] if right else left[c]
        if v > top:
            top = v
    return n - top


cdef double side_variance(const i64* left, const i64* total, int n_classes, i64 n,
                          bint right, i64* scratch) noexcept nogil

cdef double goodness(int code, const i64* left, const i64* total, int n_sums, i64 n_left,
                     i64 n, i64* scratch) noexcept nogil

cdef double bin_bound(int code, const i64* left, const i64* inside, const i64* total,
                      int n_classes, i64 n_left, i64 n_inside, i64 n) noexcept nogil
