"""Scatter matrices of few rows and many features, as products of the rows."""

from obliqua._core.base.types cimport i32, i64
from obliqua._core.grow.moments cimport ClassMoments, Grid
from obliqua._core.search.gathered cimport Gathered


cdef struct RowSpan:
    # The different rows of a node, class by class, each class in an order of its own.
    i64 capacity
    i64 n                    # different rows
    i64* starts              # per class that is there: its first one
    i32* order               # all gathered rows, so that equal ones stand together
    i64* place               # per different row: where its rows begin there
    double* root             # per different row: the root of its weight
    i32* merging             # scratch
    double* wholes           # one column, of gathered rows
    double* columns          # some columns, of different rows


cdef struct SpanRows:
    # Some different rows, and what is taken off them: means of two slots of sums.
    const RowSpan* span
    const Gathered* gathered
    const ClassMoments* sums
    const Grid* grid
    const i32* chosen        # the rows; NULL: those from `first` on
    i64 first
    i64 n
    i64 begin                # rows from `begin` to `end` are those of `slot`
    i64 end
    i64 slot
    i64 other


cdef bint span_init(RowSpan* span, i64 capacity, i64 n_classes) noexcept nogil
cdef void span_free(RowSpan* span) noexcept nogil
cdef void span_read(RowSpan* span, const Gathered* gathered, const Grid* grid) noexcept nogil
cdef void span_column(const SpanRows* rows, i64 k, double* column) noexcept nogil
cdef void span_add_products(const SpanRows* rows, const double* factor, i64 first, i64 last,
                            double* matrix) noexcept nogil
cdef void span_project(const SpanRows* rows, const double* vector, i64 n_features,
                       double* out) noexcept nogil
