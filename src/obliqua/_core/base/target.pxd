"""What is learnt, as compiled code sees it: what a row adds to the sums of a node.

A vector of sums holds, for

    classes   the weight of each class
    numbers   the weight, the weighted sum of each output, and that of all squares in two parts:
              in units of 2^26, and what is left of them

Numbers are whole, from 0 to 2^26 (see `obliqua.data.target`), so all sums are exact. They can be
added and subtracted, which is all that growth does with them.
"""

from obliqua._core.base.types cimport i32, i64, u64
from obliqua._core.base.wide cimport add_product, multiply, nearest_double

cdef enum:
    SQUARE_BITS = 26


cdef struct Target:
    int n_sums
    int n_numbers            # outputs; 0: classes
    const i32* rows          # per row: its class, or its numbers
    const i64* weights       # NULL: every row weighs 1


cdef inline i64 weight_at(const Target* target, i64 row) noexcept nogil:
    return 1 if target.weights == NULL else target.weights[row]


cdef inline void add_row(const Target* target, i64 row, i64* sums) noexcept nogil:
    cdef i64 w = weight_at(target, row), value, squares = 0
    cdef int j, m = target.n_numbers
    if m == 0:
        sums[target.rows[row]] += w
        return
    sums[0] += w
    for j in range(m):
        value = target.rows[row * m + j]
        sums[1 + j] += w * value
        squares += value * value
    sums[1 + m] += w * (squares >> SQUARE_BITS)
    sums[2 + m] += w * (squares & (((<i64> 1) << SQUARE_BITS) - 1))


cdef inline i64 weight_of(const Target* target, const i64* sums) noexcept nogil:
    cdef int c
    cdef i64 weight = 0
    if target.n_numbers:
        return sums[0]
    for c in range(target.n_sums):
        weight += sums[c]
    return weight


cdef inline double squared_error(const i64* sums, int m) noexcept nogil:
    """Squared distances from the means of m outputs; 0 only if all are equal.

    Exact in 128 bits; the rounded number is divided by the weight.
    """
    cdef u64 high, low, s_high = 0, s_low = 0
    cdef int j
    if sums[0] == 0:
        return 0.0
    # weight * squares, as (upper * 2^26 + rest) * weight
    multiply(<u64> sums[1 + m], <u64> sums[0], &high, &low)
    high = (high << SQUARE_BITS) | (low >> (64 - SQUARE_BITS))
    low = low << SQUARE_BITS
    add_product(<u64> sums[2 + m], <u64> sums[0], &high, &low)
    for j in range(m):
        add_product(<u64> sums[1 + j], <u64> sums[1 + j], &s_high, &s_low)
    # Never negative, by Cauchy and Schwarz.
    high -= s_high + (low < s_low)
    low -= s_low
    return nearest_double(high, low) / (<double> sums[0])


cdef class TargetRows:
    cdef Target target
    cdef object held         # the arrays behind it
    cdef readonly i64 n_rows
