"""Goodness of a cut from integer class sums, and an upper bound of it inside a bin.

``goodness`` is a pure function of the sums: the same sums give the same bits, whatever order,
thread or part they came from. That is what makes the choice of a split reproducible.
"""

from libc.math cimport ldexp, log2

from obliqua._core.base.types cimport i64, u64

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


cdef inline void multiply(u64 a, u64 b, u64* high, u64* low) noexcept nogil:
    """The 128-bit product of two numbers below 2^62, by halves: no compiler's extension."""
    cdef u64 a0 = a & 0xFFFFFFFFULL, a1 = a >> 32
    cdef u64 b0 = b & 0xFFFFFFFFULL, b1 = b >> 32
    cdef u64 middle = a1 * b0 + ((a0 * b0) >> 32)
    cdef u64 other = a0 * b1 + (middle & 0xFFFFFFFFULL)
    high[0] = a1 * b1 + (middle >> 32) + (other >> 32)
    low[0] = (other << 32) | ((a0 * b0) & 0xFFFFFFFFULL)


cdef inline double nearest_double(u64 high, u64 low) noexcept nogil:
    """high * 2^64 + low, rounded once."""
    cdef int shift = 0
    if high == 0:
        return <double> low
    while (high >> shift) != 0:
        shift += 1
    # The upper 64 bits; what falls off leaves a mark in the last one, for correct rounding.
    if shift < 64:
        high = (high << (64 - shift)) | (low >> shift)
        low = low << (64 - shift)
    return ldexp(<double> (high | (low != 0)), shift)


cdef inline bint difference(i64 left, i64 total, i64 n_left, i64 n, u64* high,
                            u64* low) noexcept nogil:
    """|left * n - total * n_left| in 128 bits; whether it is negative."""
    cdef u64 a_high, a_low, b_high, b_low
    multiply(<u64> left, <u64> n, &a_high, &a_low)
    multiply(<u64> total, <u64> n_left, &b_high, &b_low)
    if a_high < b_high or (a_high == b_high and a_low < b_low):
        high[0] = b_high - a_high - (b_low < a_low)
        low[0] = b_low - a_low
        return True
    high[0] = a_high - b_high - (a_low < b_low)
    low[0] = a_low - b_low
    return False


cdef inline double excess(i64 left, i64 total, i64 n_left, i64 n) noexcept nogil:
    """left * n - total * n_left: zero when the class is as frequent left as in the node.

    The difference is taken in integers, so that nearly equal products lose nothing.
    """
    cdef u64 high, low
    if is_narrow(n):
        return <double> (left * n - total * n_left)
    if difference(left, total, n_left, n, &high, &low):
        return -nearest_double(high, low)
    return nearest_double(high, low)


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
