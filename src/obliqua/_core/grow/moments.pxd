"""Exact sums of values and of their products, class by class."""

from obliqua._core.base.types cimport i32, i64
from obliqua._core.search.gathered cimport Gathered


cdef struct Grid:
    # How the values of some rows become whole numbers (see obliqua/engine/moments.py).
    double* shift
    i32* exponent
    int weight_shift


cdef struct ClassMoments:
    i64 n_features
    i64 n_pairs
    bint squares             # whether a column has a product with itself alone
    i64 n_slots              # one per class, and some for sums of several
    i64* weights
    i64* first               # sums of values
    i64* high                # sums of products: high * 2^26 + low
    i64* low
    double* block            # whole numbers of up to 32 rows
    double* products


cdef bint moments_init(ClassMoments* sums, i64 n_features, i64 n_slots,
                       bint squares) noexcept nogil
cdef void moments_free(ClassMoments* sums) noexcept nogil
cdef void moments_clear(ClassMoments* sums, i64 slot) noexcept nogil
cdef void moments_add(ClassMoments* sums, const Gathered* gathered, int k, i64 slot,
                      const Grid* grid, const i32* chosen, i64 n_chosen) noexcept nogil
cdef void moments_add_all(ClassMoments* sums, const Gathered* gathered, i64 total,
                          const Grid* grid) noexcept nogil
cdef void moments_combine(ClassMoments* sums, i64 slot, i64 other, i64 sign) noexcept nogil
cdef void moments_copy(ClassMoments* sums, i64 slot, const ClassMoments* other) noexcept nogil
cdef double central(i64 product_high, i64 product_low, i64 weight, i64 a, i64 b) noexcept nogil
cdef void grid_set(Grid* grid, i64 k, double low, double high) noexcept nogil
cdef bint moments_scatter(const ClassMoments* sums, i64 slot, const double* factor,
                          double* matrix) noexcept nogil
cdef double moments_square(const ClassMoments* sums, i64 slot, i64 k) noexcept nogil
cdef double moments_spread(const ClassMoments* sums, i64 slot, const Grid* grid,
                           i64 k) noexcept nogil
cdef double moments_mean(const ClassMoments* sums, i64 slot, i64 k) noexcept nogil
