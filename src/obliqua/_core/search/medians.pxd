"""What the cuts of an order of rows save of the absolute error: medians need the rows."""

from obliqua._core.base.sort cimport SortBuffers
from obliqua._core.base.target cimport Target
from obliqua._core.base.types cimport Scorer, i32, i64, u32


cdef struct Middle:
    # The median of the rows that are left, and how far they lie from it.
    i64 place                # the first place by which half of the weight is reached
    i64 below                # weight up to there
    i64 weight               # of all
    i64 error                # sum of weight * distance


cdef struct Medians:
    # A node's rows in the order of their numbers; places are counted there, output by output.
    const Target* target
    i64 n_fit                # rows of the fit
    i64 n                    # rows of the node
    i32* rows                # of the node, in the order whose cuts are asked for
    double* saved            # per cut, by its rows on the left: what it saves of the error
    i32* place               # per output and row of the fit
    i32* number              # per output and place
    i64* weight              # per output and place
    Middle* whole            # per output: of all rows of the node
    i32* before              # per place: the places that are left, chained
    i32* after
    i64* left                # per cut: the error of its left side
    double* values
    u32* order
    SortBuffers buffers


cdef bint medians_init(Medians* medians, const Target* target, i64 n_fit,
                       i64 capacity) noexcept nogil
cdef void medians_free(Medians* medians) noexcept nogil
cdef void medians_read(Medians* medians, i64 n) noexcept nogil
cdef void measure_cuts(Medians* medians) noexcept nogil


cdef inline double median_goodness(const Scorer* scorer, i64 rows_left) noexcept nogil:
    """The goodness of a cut that `measure_cuts` has measured."""
    return (<Medians*> scorer.medians).saved[rows_left] / (<double> scorer.weight)
