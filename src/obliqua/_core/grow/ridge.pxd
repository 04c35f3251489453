"""Linear functions of the rows of a node, by least squares with a penalty."""

from obliqua._core.base.target cimport Target
from obliqua._core.base.types cimport i32, i64, u8
from obliqua._core.grow.moments cimport ClassMoments, Grid
from obliqua._core.search.gathered cimport Gathered


cdef struct Ridge:
    i64 q                    # columns that a function may have
    double penalty           # in units of weight, as the sums have it
    Gathered rows            # columns of the node's rows; the last one is what is learnt
    ClassMoments sums        # in slots that the user of it numbers
    Grid grid
    double* factor           # per column: what a unit of the grid is
    double* matrix
    double* coef             # of the function that was fitted last


cdef bint ridge_init(Ridge* ridge, i64 capacity, i64 q, i64 n_slots, bint weighted,
                     int weight_shift) noexcept nogil
cdef void ridge_free(Ridge* ridge) noexcept nogil
cdef void ridge_read(Ridge* ridge, const double* model, i64 stride, const i64* columns,
                     const i32* rows, i64 n, const Target* target) noexcept nogil
cdef double ridge_fit(Ridge* ridge, i64 slot, const u8* wanted) noexcept nogil
