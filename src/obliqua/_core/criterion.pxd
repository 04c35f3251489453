"""Goodness of a cut from integer class sums, and an upper bound of it inside a bin.

``goodness`` is a pure function of the sums: the same sums give the same bits, whatever order,
thread or part they came from. That is what makes the choice of a split reproducible.
"""

from libc.math cimport fabs, log2

from obliqua._core.types cimport i64

cdef enum:
    TWOING = 0
    GINI = 1
    ENTROPY = 2
    GAIN_RATIO = 3
    MAX_MINORITY = 4
    SUM_MINORITY = 5
    SUM_VARIANCES = 6

cdef enum:
    # Up to this weight, products of two sums are exact in 64 bits.
    NARROW_BITS = 31


cdef inline bint is_convex(int code) noexcept nogil:
    """Convex in the counts: no optimum lies inside a run of one class, and corners bound a bin."""
    return code == TWOING or code == GINI or code == ENTROPY or code == SUM_MINORITY


cdef inline bint is_narrow(i64 weight) noexcept nogil:
    return weight <= (<i64> 1) << NARROW_BITS


cdef inline double excess(i64 left, i64 total, i64 n_left, i64 n) noexcept nogil:
    """left * n - total * n_left: zero when the class is as frequent left as in the node."""
    cdef double a, b, d
    if is_narrow(n):
        return <double> (left * n - total * n_left)
    a = (<double> left) * (<double> n)
    b = (<double> total) * (<double> n_left)
    d = a - b
    # Two rounded products that agree to their last bits are meant to be equal.
    if fabs(d) <= 4.5e-16 * (a + b):
        return 0.0
    return d


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

cdef double goodness(int code, const i64* left, const i64* total, int n_classes, i64 n_left,
                     i64 n, i64* scratch) noexcept nogil

cdef double bin_bound(int code, const i64* left, const i64* inside, const i64* total,
                      int n_classes, i64 n_left, i64 n_inside, i64 n) noexcept nogil
