"""What compiled growth asks of a method: the best oblique cut of a node."""

from obliqua._core.columns cimport Columns
from obliqua._core.types cimport Cut, Scorer, View, i32, i64, u8, u64


cdef struct Data:
    # The rows of a fit as compiled code sees them.
    View view
    const i32* classes
    const i64* weights       # NULL: every row weighs 1
    int n_classes


cdef class Finder:
    cdef public u64 key      # of the node's random numbers
    cdef public double bias  # an oblique cut must be better than an axis-parallel one times this
    cdef Columns columns     # whom to tell how much work was done, and who says when to stop
    cdef i32* idx            # the hyperplane that was found
    cdef double* coef
    cdef double* fill        # per coefficient: what stands in for a missing value
    cdef double* width       # per coefficient: standard deviation in the node; NaN: not measured
    cdef const double** table    # per coefficient: a number per level, or NULL
    cdef i32* table_size
    cdef i64 n_coef
    cdef double threshold
    cdef double axis_score   # of the best axis-parallel cut that it has found itself

    cdef bint find(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil
    cdef bint find_any(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                       Cut* best, u8* side) noexcept nogil
