"""Exact sums of values and of their products, class by class.

Values enter as whole numbers: (x - shift) * 2^(24 - exponent), rounded, at most 2^24 in size. A
sum of 32 products of two of them is exact in a float64; beyond that, sums are kept as integers in
two pieces, high * 2^26 + low. So no order of rows, threads or parts changes a bit, a row of
weight 100 is 100 rows, and a parent's sums minus one child's are the other child's.
"""

from libc.math cimport frexp, ldexp, rint, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.types cimport View, i32, i64, make_view, u64
from obliqua._core.base.wide cimport multiply, nearest_double
from obliqua._core.search.gathered cimport Gathered, gathered_fill, gathered_free, gathered_init

cdef extern from "loops.h" nogil:
    int OB_BLOCK
    int OB_LANES
    void ob_whole(double* q, const double* x, double shift, double scale, i64 n)
    void ob_products(const double* q, i64 k, i64 n, double* out)

cdef enum:
    VALUE_BITS = 24
    PIECE_BITS = 26
    ROWS_AT_ONCE = 4096

cdef i64 PIECE = (<i64> 1) << PIECE_BITS
cdef i64 FEW = (<i64> 1) << 29
cdef double UNIT = 1.0 / ((<i64> 1) << VALUE_BITS)
cdef int LEAST_EXPONENT = -990         # below, 2^(24 - exponent) would overflow


cdef bint moments_init(ClassMoments* sums, i64 n_features, i64 n_slots,
                       bint squares) noexcept nogil:
    """`squares`: of the products only those of a column with itself are kept."""
    memset(sums, 0, sizeof(ClassMoments))
    sums.n_features = n_features
    sums.squares = squares
    sums.n_pairs = n_features if squares else n_features * (n_features + 1) // 2
    sums.n_slots = n_slots
    sums.weights = <i64*> malloc(n_slots * sizeof(i64))
    sums.first = <i64*> malloc(n_slots * n_features * sizeof(i64))
    sums.high = <i64*> malloc(n_slots * sums.n_pairs * sizeof(i64))
    sums.low = <i64*> malloc(n_slots * sums.n_pairs * sizeof(i64))
    sums.block = <double*> malloc(n_features * OB_BLOCK * sizeof(double))
    sums.products = <double*> malloc(n_features * sizeof(double))
    if (sums.weights == NULL or sums.first == NULL or sums.high == NULL or sums.low == NULL
            or sums.block == NULL or sums.products == NULL):
        moments_free(sums)
        return False
    return True


cdef void moments_free(ClassMoments* sums) noexcept nogil:
    free(sums.weights)
    free(sums.first)
    free(sums.high)
    free(sums.low)
    free(sums.block)
    free(sums.products)
    memset(sums, 0, sizeof(ClassMoments))


cdef void moments_clear(ClassMoments* sums, i64 slot) noexcept nogil:
    sums.weights[slot] = 0
    memset(sums.first + slot * sums.n_features, 0, sums.n_features * sizeof(i64))
    memset(sums.high + slot * sums.n_pairs, 0, sums.n_pairs * sizeof(i64))
    memset(sums.low + slot * sums.n_pairs, 0, sums.n_pairs * sizeof(i64))


cdef inline void add_pieces(i64* high, i64* low, i64 more) noexcept nogil:
    """Adds to a sum of products."""
    more += low[0]
    high[0] += more >> PIECE_BITS
    low[0] = more & (PIECE - 1)


cdef void add_block(ClassMoments* sums, const Gathered* gathered, i64 begin, i64 n, i64 slot,
                    const Grid* grid, const i32* chosen) noexcept nogil:
    """Adds up to 32 rows of one class; `chosen`: only these of the rows, if not NULL."""
    cdef i64 p = sums.n_features
    cdef i64 i, j, k, at, whole
    cdef i64* first = sums.first + slot * p
    cdef i64* high = sums.high + slot * sums.n_pairs
    cdef i64* low = sums.low + slot * sums.n_pairs
    cdef const double* column
    cdef double* q
    cdef double factor
    cdef double[64] some
    cdef i64 padded = (n + OB_LANES - 1) // OB_LANES * OB_LANES
    for k in range(p):
        q = sums.block + k * OB_BLOCK
        column = gathered.columns + k * gathered.n
        factor = ldexp(1.0, VALUE_BITS - grid.exponent[k])
        if chosen == NULL:
            ob_whole(q, column + begin, grid.shift[k], factor, n)
        else:
            for i in range(n):
                some[i] = column[chosen[begin + i]]
            ob_whole(q, some, grid.shift[k], factor, n)
        for i in range(n, padded):
            q[i] = 0.0
    if gathered.weighted:
        add_weighted(sums, gathered, begin, n, slot, grid, chosen)
        return
    sums.weights[slot] += n
    at = 0
    for k in range(p):
        q = sums.block + k * OB_BLOCK
        factor = 0.0
        for i in range(n):
            factor += q[i]
        first[k] += <i64> factor
        if sums.squares:
            ob_products(q, 0, padded, sums.products)
            add_pieces(high + k, low + k, <i64> sums.products[0])
            continue
        ob_products(sums.block, k, padded, sums.products)
        for j in range(k + 1):
            whole = low[at + j] + <i64> sums.products[j]
            high[at + j] += whole >> PIECE_BITS
            low[at + j] = whole & (PIECE - 1)
        at += k + 1


cdef void add_weighted(ClassMoments* sums, const Gathered* gathered, i64 begin, i64 n, i64 slot,
                       const Grid* grid, const i32* chosen) noexcept nogil:
    cdef i64 p = sums.n_features
    cdef i64 i, j, k, at, weight, value, product, whole
    cdef i64* first = sums.first + slot * p
    cdef i64* high = sums.high + slot * sums.n_pairs
    cdef i64* low = sums.low + slot * sums.n_pairs
    for i in range(n):
        weight = gathered.weights[begin + i if chosen == NULL else chosen[begin + i]]
        weight = <i64> rint(ldexp(<double> weight, -grid.weight_shift))
        sums.weights[slot] += weight
        at = 0
        for k in range(p):
            value = <i64> sums.block[k * OB_BLOCK + i]
            first[k] += weight * value
            if sums.squares:
                product = value * value
                high[k] += weight * (product >> PIECE_BITS)
                add_pieces(high + k, low + k, weight * (product & (PIECE - 1)))
                continue
            for j in range(k + 1):
                product = value * <i64> sums.block[j * OB_BLOCK + i]
                high[at + j] += weight * (product >> PIECE_BITS)
                whole = low[at + j] + weight * (product & (PIECE - 1))
                high[at + j] += whole >> PIECE_BITS
                low[at + j] = whole & (PIECE - 1)
            at += k + 1


cdef void moments_add(ClassMoments* sums, const Gathered* gathered, int k, i64 slot,
                      const Grid* grid, const i32* chosen, i64 n_chosen) noexcept nogil:
    """Adds the rows of class `k` of gathered rows, or those chosen, to a slot."""
    cdef i64 at = 0 if chosen != NULL else gathered.starts[k]
    cdef i64 end = n_chosen if chosen != NULL else gathered.starts[k + 1]
    while at < end:
        add_block(sums, gathered, at, min(end - at, <i64> OB_BLOCK), slot, grid, chosen)
        at += OB_BLOCK


cdef void moments_add_all(ClassMoments* sums, const Gathered* gathered, i64 total,
                          const Grid* grid) noexcept nogil:
    """All sums of gathered rows into slot `total`; of each class only weight and values.

    For those who need the scatter of all rows alone: blocks of rows need not end with a class.
    """
    cdef i64 p = sums.n_features
    cdef i64 at = 0, n, i, k, first, last, weight
    cdef int c = 0
    cdef const double* q
    cdef i64* sum_
    moments_clear(sums, total)
    memset(sums.weights, 0, gathered.n_present * sizeof(i64))
    memset(sums.first, 0, gathered.n_present * p * sizeof(i64))
    while at < gathered.n:
        n = min(gathered.n - at, <i64> OB_BLOCK)
        add_block(sums, gathered, at, n, total, grid, NULL)
        first = 0
        while first < n:                     # the rows of one class after the other
            while gathered.starts[c + 1] <= at + first:
                c += 1
            last = min(n, gathered.starts[c + 1] - at)
            sum_ = sums.first + c * p
            for i in range(first, last):
                weight = 1
                if gathered.weighted:
                    weight = <i64> rint(ldexp(<double> gathered.weights[at + i],
                                              -grid.weight_shift))
                sums.weights[c] += weight
                q = sums.block + i
                for k in range(p):
                    sum_[k] += weight * <i64> q[k * OB_BLOCK]
            first = last
        at += n


cdef void moments_combine(ClassMoments* sums, i64 slot, i64 other, i64 sign) noexcept nogil:
    """Adds (sign 1) or subtracts (sign -1) the sums of another slot."""
    cdef i64 i
    cdef i64 p = sums.n_features
    sums.weights[slot] += sign * sums.weights[other]
    for i in range(p):
        sums.first[slot * p + i] += sign * sums.first[other * p + i]
    for i in range(sums.n_pairs):
        sums.high[slot * sums.n_pairs + i] += sign * sums.high[other * sums.n_pairs + i]
        sums.low[slot * sums.n_pairs + i] += sign * sums.low[other * sums.n_pairs + i]


cdef void moments_copy(ClassMoments* sums, i64 slot, const ClassMoments* other) noexcept nogil:
    """Takes over the sums of a slot."""
    cdef i64 p = sums.n_features, pairs = sums.n_pairs
    sums.weights[slot] = other.weights[slot]
    memcpy(sums.first + slot * p, other.first + slot * p, p * sizeof(i64))
    memcpy(sums.high + slot * pairs, other.high + slot * pairs, pairs * sizeof(i64))
    memcpy(sums.low + slot * pairs, other.low + slot * pairs, pairs * sizeof(i64))


cdef inline void add_product(u64* high, u64* low, i64 a, i64 b, bint minus) noexcept nogil:
    """Adds a * b, or subtracts it, in 128 bits (two's complement)."""
    cdef u64 upper, lower
    multiply(<u64> (a if a >= 0 else -a), <u64> (b if b >= 0 else -b), &upper, &lower)
    if ((a < 0) != (b < 0)) != minus:
        upper = ~upper
        lower = ~lower + 1
        if lower == 0:
            upper += 1
    low[0] += lower
    high[0] += upper + (low[0] < lower)


cdef double central(i64 product_high, i64 product_low, i64 weight, i64 a, i64 b) noexcept nogil:
    """(sum of products) - a b / weight, with a single rounding before the division."""
    cdef u64 high = 0, low = 0
    cdef double size
    # product_low may be negative or large after slots were combined
    product_high += product_low >> PIECE_BITS
    product_low = product_low & (PIECE - 1)
    # The sums of few rows: nothing below exceeds 63 bits.
    if (weight < 128 and -FEW < product_high < FEW and -4 * FEW < a < 4 * FEW
            and -4 * FEW < b < 4 * FEW):
        return (<double> ((product_high * PIECE + product_low) * weight - a * b)
                / (<double> weight))
    add_product(&high, &low, product_high, weight, False)
    high = (high << PIECE_BITS) | (low >> (64 - PIECE_BITS))
    low = low << PIECE_BITS
    add_product(&high, &low, product_low, weight, False)
    add_product(&high, &low, a, b, True)
    if <i64> high < 0:
        high = ~high
        low = ~low + 1
        if low == 0:
            high += 1
        size = -nearest_double(high, low)
    else:
        size = nearest_double(high, low)
    return size / (<double> weight)


cdef void grid_set(Grid* grid, i64 k, double low, double high) noexcept nogil:
    """The same grid for a column as `FixedPoint.of_ranges`."""
    cdef int exponent = 0
    grid.shift[k] = low / 2 + high / 2
    frexp(max(high - grid.shift[k], grid.shift[k] - low), &exponent)
    grid.exponent[k] = max(exponent, LEAST_EXPONENT)


cdef bint moments_scatter(const ClassMoments* sums, i64 slot, const double* factor,
                          double* matrix) noexcept nogil:
    """Fills the lower triangle of the scatter matrix about the mean; False if it is zero.

    In units of 2^exponent of each column, so that nothing overflows. Each entry is multiplied
    with the factors of its two columns (NULL: 1).
    """
    cdef i64 p = sums.n_features
    cdef i64 k, j, at = slot * sums.n_pairs
    cdef i64 weight = sums.weights[slot]
    cdef const i64* first = sums.first + slot * p
    cdef double value
    cdef bint varies = False
    for k in range(p):
        for j in range(k + 1):
            value = 0.0
            if weight > 0:
                value = UNIT * UNIT * central(sums.high[at + j], sums.low[at + j], weight,
                                              first[k], first[j])
            if factor != NULL:
                value = value * (factor[k] * factor[j])
            matrix[k * p + j] = value
            if k == j and value > 0.0:
                varies = True
        at += k + 1
    return varies


cdef double central_square(const ClassMoments* sums, i64 slot, i64 k) noexcept nogil:
    """The sum of squares of a column about its mean, in units of its last digit."""
    cdef i64 at = slot * sums.n_pairs + (k if sums.squares else k * (k + 1) // 2 + k)
    cdef i64 first = sums.first[slot * sums.n_features + k]
    return central(sums.high[at], sums.low[at], sums.weights[slot], first, first)


cdef double moments_square(const ClassMoments* sums, i64 slot, i64 k) noexcept nogil:
    """The sum of squares of a column about its mean, in units of 2^exponent."""
    if sums.weights[slot] == 0:
        return 0.0
    return UNIT * UNIT * central_square(sums, slot, k)


cdef double moments_spread(const ClassMoments* sums, i64 slot, const Grid* grid,
                           i64 k) noexcept nogil:
    """The standard deviation of a column; no square is too large or too small for it."""
    cdef i64 weight = sums.weights[slot]
    cdef double square = central_square(sums, slot, k)
    return ldexp(sqrt(square / (<double> weight)), grid.exponent[k] - VALUE_BITS)


cdef double moments_mean(const ClassMoments* sums, i64 slot, i64 k) noexcept nogil:
    """The mean of a column: from the grid's shift, in units of 2^exponent."""
    return UNIT * ((<double> sums.first[slot * sums.n_features + k])
                   / (<double> sums.weights[slot]))


def scatter(Z, const i32[::1] rows, const i32[::1] classes, weights, const double[::1] shift,
            const i32[::1] exponent, int n_classes, int weight_shift):
    """Per class: (weights, sums of values, high and low pieces of the sums of products).

    Products are those of columns j <= i, in the order (0,0), (1,0), (1,1), (2,0), ...
    `weight_shift`: weights are divided by 2^weight_shift first, 0 unless their sum exceeds 2^36.
    """
    cdef View view = make_view(Z)
    cdef i64 p = view.n_cols
    cdef i64 at = 0, n = rows.shape[0], slot, i
    cdef int k
    cdef const i64[::1] w
    cdef const i64* some_weights = NULL
    cdef Gathered gathered
    cdef ClassMoments sums
    cdef Grid grid
    if weights is not None:
        w = weights
        if n:
            some_weights = &w[0]
    grid.shift = <double*> &shift[0]
    grid.exponent = <i32*> &exponent[0]
    grid.weight_shift = weight_shift
    memset(&sums, 0, sizeof(ClassMoments))
    if (not gathered_init(&gathered, min(n, <i64> ROWS_AT_ONCE), p, n_classes, weights is not None)
            or not moments_init(&sums, p, n_classes, False)):
        gathered_free(&gathered)
        raise MemoryError("no room for the sums of products")
    with nogil:
        for slot in range(n_classes):
            moments_clear(&sums, slot)
        while at < n:
            gathered_fill(&gathered, &view, &rows[at], min(n - at, <i64> ROWS_AT_ONCE),
                          &classes[0], some_weights, n_classes)
            for k in range(gathered.n_present):
                moments_add(&sums, &gathered, k, gathered.present[k], &grid, NULL, 0)
            at += ROWS_AT_ONCE
    out = (np.empty(n_classes, dtype=np.int64), np.empty((n_classes, p), dtype=np.int64),
           np.empty((n_classes, sums.n_pairs), dtype=np.int64),
           np.empty((n_classes, sums.n_pairs), dtype=np.int64))
    cdef i64[::1] weights_ = out[0]
    cdef i64[:, ::1] first_ = out[1], high_ = out[2], low_ = out[3]
    for slot in range(n_classes):
        weights_[slot] = sums.weights[slot]
        for i in range(p):
            first_[slot, i] = sums.first[slot * p + i]
        for i in range(sums.n_pairs):
            high_[slot, i] = sums.high[slot * sums.n_pairs + i]
            low_[slot, i] = sums.low[slot * sums.n_pairs + i]
    moments_free(&sums)
    gathered_free(&gathered)
    return out
