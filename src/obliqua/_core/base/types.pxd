"""Words that every compiled file shares: widths, the view of a matrix, the rules of a cut."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

ctypedef int32_t i32
ctypedef int64_t i64
ctypedef uint8_t u8
ctypedef uint32_t u32
ctypedef uint64_t u64

cdef extern from "scalars.h" nogil:
    double midpoint "ob_midpoint"(double below, double above)

ctypedef fused real:
    float
    double


cdef struct View:
    # A matrix of float32 or float64 with any strides (in elements). Never copied.
    const void* data
    i64 row_stride
    i64 col_stride
    i64 n_rows
    i64 n_cols
    bint single


cdef inline double view_at(const View* view, i64 row, i64 col) noexcept nogil:
    cdef i64 offset = row * view.row_stride + col * view.col_stride
    if view.single:
        return (<const float*> view.data)[offset]
    return (<const double*> view.data)[offset]


cdef struct Scorer:
    # All that decides whether a cut is allowed and how good it is.
    int code                 # the criterion, see criterion.pxd
    int n_sums               # integers in a vector of sums, see target.pxd
    i64 n_rows               # rows in the node
    i64 weight               # sum of their integer weights
    const i64* counts        # the sums of the node
    i64 min_rows             # smallest number of rows on a side
    i64 min_weight           # smallest weight on a side
    void* medians            # of a criterion that needs rows: a Medians, see medians.pxd


cdef enum MissingRows:
    # Where a split sends rows that miss a value which it asks for.
    STAND_IN                 # nowhere by itself: a number stands in for the value
    GO_LEFT
    GO_RIGHT
    ALONE_RIGHT              # right, and all others left


cdef struct Cut:
    # The best cut so far. Larger score wins, then the earlier direction, then fewer rows left.
    double score
    i64 direction
    i64 rows_left
    int missing              # a MissingRows, where a search knows of them
    double below             # the two neighbouring values that the cut separates
    double above


cdef inline bint earlier(i64 direction, i64 rows_left, const Cut* best) noexcept nogil:
    if direction != best.direction:
        return direction < best.direction
    return rows_left < best.rows_left


cdef inline bint allowed(const Scorer* scorer, i64 rows_left, i64 weight_left) noexcept nogil:
    """Whether both sides of a cut are large enough."""
    return (rows_left >= scorer.min_rows and scorer.n_rows - rows_left >= scorer.min_rows
            and weight_left >= scorer.min_weight
            and scorer.weight - weight_left >= scorer.min_weight)


cdef inline bint better(double score, i64 direction, i64 rows_left,
                        const Cut* best) noexcept nogil:
    """Whether a cut replaces the best one: a larger score, or the same score earlier."""
    return score > best.score or (score == best.score and earlier(direction, rows_left, best))


cdef View make_view(object matrix) except *
