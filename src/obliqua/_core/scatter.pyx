"""Exact sums of values and of their products, class by class.

Values enter as whole numbers: (x - shift) * 2^(24 - exponent), rounded, at most 2^24 in size. A
product of two of them and a weight up to 32 is then exact in a float64, and is added in two
pieces, multiples of 2^26 and the rest, whose sums stay exact too; larger weights take the same
two pieces through 64-bit integers. So no order of rows, threads or parts changes a bit, a row of
weight 100 is 100 rows, and a parent's sums minus one child's are the other child's.
"""

from libc.math cimport ldexp, rint
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from obliqua._core.types cimport View, i32, i64, view_at
from obliqua._core.view cimport make_view

cdef enum:
    VALUE_BITS = 24
    PIECE_BITS = 26
    SMALL_WEIGHT = 32
    ROWS_BETWEEN_FLUSHES = 1 << 20       # the float64 sums of pieces stay exact for this many

# Adding and subtracting 1.5 * 2^(52 + k) rounds to a multiple of 2^k.
cdef double ROUND_HIGH = 1.5 * 4503599627370496.0 * 67108864.0


cdef void flush(double* sums, i64* out, i64 n, double unit) noexcept nogil:
    cdef i64 k
    for k in range(n):
        out[k] += <i64> (sums[k] / unit)
    memset(sums, 0, n * sizeof(double))


def scatter(Z, const i32[::1] rows, const i32[::1] classes, weights, const double[::1] shift,
            const i32[::1] exponent, int n_classes, int weight_shift):
    """Per class: (weights, sums of values, high and low pieces of the sums of products).

    Products are those of columns j <= i, in the order (0,0), (1,0), (1,1), (2,0), ...
    `weight_shift`: weights are divided by 2^weight_shift first, 0 unless their sum exceeds 2^36.
    """
    cdef View view = make_view(Z)
    cdef i64 p = view.n_cols
    cdef i64 pairs = p * (p + 1) // 2
    cdef i64 r, i, j, k, row, at, since = 0
    cdef i32 c
    cdef i64 whole, exact
    cdef double w, product, high
    cdef bint weighted = weights is not None
    cdef const i64[::1] w_
    if weighted:
        w_ = weights
    weight_sums = np.zeros(n_classes, dtype=np.int64)
    first = np.zeros((n_classes, p), dtype=np.int64)
    high_sums = np.zeros((n_classes, pairs), dtype=np.int64)
    low_sums = np.zeros((n_classes, pairs), dtype=np.int64)
    cdef i64[::1] weight_ = weight_sums
    cdef i64[:, ::1] first_ = first, high_ = high_sums, low_ = low_sums
    cdef double* q = <double*> malloc(p * sizeof(double))
    cdef double* scale = <double*> malloc(p * sizeof(double))
    cdef double* ones = <double*> calloc(n_classes * p, sizeof(double))
    cdef double* highs = <double*> calloc(n_classes * pairs, sizeof(double))
    cdef double* lows = <double*> calloc(n_classes * pairs, sizeof(double))
    cdef double* row_highs
    cdef double* row_lows
    if q == NULL or scale == NULL or ones == NULL or highs == NULL or lows == NULL:
        free(q)
        free(scale)
        free(ones)
        free(highs)
        free(lows)
        raise MemoryError("no room for the sums of products")
    with nogil:
        for k in range(p):
            scale[k] = ldexp(1.0, VALUE_BITS - exponent[k])
        for r in range(rows.shape[0]):
            row = rows[r]
            c = classes[row]
            whole = 1
            if weighted:
                whole = <i64> rint(ldexp(<double> w_[row], -weight_shift))
            weight_[c] += whole
            w = <double> whole
            for k in range(p):
                q[k] = rint((view_at(&view, row, k) - shift[k]) * scale[k])
            if whole > SMALL_WEIGHT:
                for i in range(p):
                    first_[c, i] += whole * (<i64> q[i])
                    at = i * (i + 1) // 2
                    for j in range(i + 1):
                        exact = (<i64> q[i]) * (<i64> q[j])
                        high_[c, at + j] += whole * (exact >> PIECE_BITS)
                        low_[c, at + j] += whole * (exact & ((1 << PIECE_BITS) - 1))
                whole = 0
            for i in range(p if whole else 0):
                ones[c * p + i] += w * q[i]
                row_highs = highs + c * pairs + i * (i + 1) // 2
                row_lows = lows + c * pairs + i * (i + 1) // 2
                for j in range(i + 1):
                    product = w * (q[i] * q[j])
                    high = (product + ROUND_HIGH) - ROUND_HIGH
                    row_highs[j] += high
                    row_lows[j] += product - high
            since += 1
            if since == ROWS_BETWEEN_FLUSHES or r == rows.shape[0] - 1:
                flush(ones, &first_[0, 0], n_classes * p, 1.0)
                flush(highs, &high_[0, 0], n_classes * pairs, 67108864.0)
                flush(lows, &low_[0, 0], n_classes * pairs, 1.0)
                since = 0
    free(q)
    free(scale)
    free(ones)
    free(highs)
    free(lows)
    return weight_sums, first, high_sums, low_sums
