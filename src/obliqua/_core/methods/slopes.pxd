"""Directions along which numbers rise, fall or bend."""

from obliqua._core.base.target cimport Target
from obliqua._core.base.types cimport i32, i64, u8
from obliqua._core.grow.level_means cimport MeanRoom
from obliqua._core.methods.discriminants cimport DiscriminantFinder

cdef enum:
    N_SLICES = 6             # of the numbers of a node, between five quantiles
    MOST_FITS = 5            # outputs that have a direction of their own
    N_BENDS = 2


cdef struct OutputSums:
    # Of rows and one output; columns are on the grid of moments, the output is on its own.
    i64 weight
    i64 first                # sum of the output
    i64 square_high          # of its squares: high * 2^26 + low
    i64 square_low
    i64* high                # of its products with each column
    i64* low


cdef struct BendPlan:
    # How rows are summed to find where what least squares leave over bends.
    i64 output
    double mean
    double deviation         # of what is left over
    double shrink            # of weights
    const double* centre     # per feature: its mean
    const double* reach      # and its standard deviation, in units of the grid
    const double* fit        # coefficients of least squares
    const u8* varies


cdef class SlopeFinder(DiscriminantFinder):
    cdef object held_target
    cdef const Target* learnt
    cdef double row_unit     # as how many rows a unit of weight counts
    cdef double price        # of each coefficient beyond the first
    cdef i32* slice_         # per row of the problem: the slice that it is in
    cdef MeanRoom room
    # Of a node:
    cdef double variance     # mean squared error as a leaf
    cdef double n_counted    # rows
    cdef i64 output          # the one that is sliced
    cdef bint is_factorised  # whether there is a matrix to solve with
    cdef OutputSums products
    cdef BendPlan bends
    cdef double* moment      # sums of products with one output, per feature
    cdef double* fit         # coefficients of least squares
    cdef double* centre      # per feature: its mean
    cdef double* reach       # and its standard deviation, in units of the grid
    cdef double* bend        # sums of products of two features, times what is left over
    cdef double* eigen       # eigenvalues, and scratch memory
    cdef double* block       # a block of rows, in steps

    cdef void slice_rows(self, const i32* rows, i64 n) noexcept nogil
    cdef void widest_output(self, const i32* rows, i64 n) noexcept nogil
    cdef double fit_output(self, i64 output) noexcept nogil
    cdef void plan_slopes(self) noexcept nogil
    cdef bint plan_slices(self) noexcept nogil
    cdef void add_fit(self, i64 output) noexcept nogil
    cdef double solve_output(self) noexcept nogil
    cdef void begin_bends(self, double error) noexcept nogil
    cdef void finish_bends(self) noexcept nogil
    cdef int take_output(self, told) except -1
    cdef double price_of(self, i64 n_coef) noexcept nogil
