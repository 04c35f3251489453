"""The single steps of growing an axis-parallel node: search, cut, divide.

`Subtree` (grow.pyx) strings them together without the GIL. The growth loop in obliqua/grow.py
calls them one by one for large nodes with several threads, and beside proposers and criteria
written in Python.
"""

from libc.stdlib cimport free, malloc

import numpy as np

from obliqua._core.columns cimport Columns
from obliqua._core.types cimport Cut, Scorer, i64, midpoint, u64

cdef i64 NOWHERE = (<i64> 1) << 62       # "no direction yet" that every direction precedes


cdef Limits read_limits(object rules, int code, int n_classes, i64 total_weight) except *:
    cdef Limits limits
    limits.code = code
    limits.n_classes = n_classes
    limits.total_weight = total_weight
    limits.max_depth = NOWHERE if rules.max_depth is None else rules.max_depth
    limits.max_leaves = NOWHERE if rules.max_leaf_nodes is None else rules.max_leaf_nodes
    limits.min_split = rules.min_samples_split
    limits.min_rows = max(rules.min_samples_leaf, 1)
    limits.min_weight = rules.min_weight_leaf
    limits.min_gain = rules.min_gain
    limits.max_leaf_error = rules.max_leaf_error
    limits.zero_gain = rules.zero_gain
    return limits


cdef bint must_be_leaf(const Limits* limits, const i64* counts, i64 rows, i64 weight,
                       i64 depth) noexcept nogil:
    """The rules that end growth before any search."""
    cdef int c
    cdef i64 top = 0
    if (rows < limits.min_split or depth >= limits.max_depth or rows < 2 * limits.min_rows
            or weight < 2 * limits.min_weight):
        return True
    for c in range(limits.n_classes):
        if counts[c] > top:
            top = counts[c]
    return (<double> (weight - top)) / (<double> weight) <= limits.max_leaf_error


cdef void search_columns(Columns columns, const u64* active, i64 start, i64 end,
                         const Scorer* scorer, bint exhaustive, i64* scratch, Cut* best,
                         u64* varying) noexcept nogil:
    """Best cut over the active columns; `varying` loses the columns that are constant here."""
    cdef i64 col, word
    cdef u64 bits
    cdef bint constant
    for word in range((columns.n_cols + 63) // 64):
        bits = active[word]
        col = 64 * word
        while bits:
            if bits & 1:
                columns.scan(col, start, end, scorer, exhaustive, scratch, best, &constant)
                if constant and varying != NULL:
                    varying[word] &= ~((<u64> 1) << (col & 63))
            bits >>= 1
            col += 1


# -- what Python calls -----------------------------------------------------------------------


def leaf_without_search(rules, const i64[::1] counts, i64 rows, i64 depth):
    """Whether the growth rules make this node a leaf before any search."""
    cdef Limits limits = read_limits(rules, 0, counts.shape[0], 1)
    cdef i64 c, weight = 0
    for c in range(counts.shape[0]):
        weight += counts[c]
    return must_be_leaf(&limits, &counts[0], rows, weight, depth)


def best_axis_cut(Columns columns, const u64[::1] active, i64 start, i64 end,
                  const i64[::1] counts, int code, i64 min_rows, i64 min_weight,
                  bint exhaustive):
    """Best cut over some columns: (score, column, rows left, columns that vary).

    Column -1: no cut has a positive score (with `exhaustive`: a score of at least zero).
    """
    cdef Scorer scorer
    cdef Cut best
    cdef i64 c
    varying = np.array(active, dtype=np.uint64)
    cdef u64[::1] varying_ = varying
    cdef i64* scratch = <i64*> malloc(4 * counts.shape[0] * sizeof(i64))
    if scratch == NULL:
        raise MemoryError
    scorer.code = code
    scorer.n_classes = counts.shape[0]
    scorer.n_rows = end - start
    scorer.weight = 0
    for c in range(counts.shape[0]):
        scorer.weight += counts[c]
    scorer.counts = &counts[0]
    scorer.min_rows = min_rows
    scorer.min_weight = min_weight
    best.score = 0.0
    best.direction = NOWHERE if exhaustive else -1
    best.rows_left = 0
    with nogil:
        search_columns(columns, &active[0], start, end, &scorer, exhaustive, scratch, &best,
                       &varying_[0])
    free(scratch)
    return best.score, -1 if best.direction == NOWHERE else best.direction, best.rows_left, varying


def make_axis_cut(Columns columns, i64 col, i64 start, i64 end, i64 rows_left,
                  const i64[::1] counts):
    """Marks the sides of a cut of a column: (left class sums, threshold)."""
    cdef Scorer scorer
    cdef double below = 0.0, above = 0.0
    left = np.empty(counts.shape[0], dtype=np.int64)
    cdef i64[::1] left_ = left
    scorer.n_classes = counts.shape[0]
    scorer.counts = &counts[0]
    with nogil:
        columns.neighbours(col, start + rows_left, &below, &above)
        columns.mark_sides(col, start, start + rows_left, end, &scorer, &left_[0])
    return left, midpoint(below, above)


def divide_columns(Columns columns, const u64[::1] active, i64 skip, i64 start, i64 end):
    """Divides the windows of some columns by the marked sides; `skip` is divided already."""
    cdef i64 word, col
    cdef u64 bits
    cdef void* spare = malloc((end - start) * columns.entry_size())
    if spare == NULL:
        raise MemoryError
    with nogil:
        for word in range((columns.n_cols + 63) // 64):
            bits = active[word]
            col = 64 * word
            while bits:
                if bits & 1 and col != skip:
                    columns.divide(col, start, end, spare)
                bits >>= 1
                col += 1
    free(spare)
