"""The rules of growth as compiled code reads them, and the search over sorted columns."""

from obliqua._core.columns cimport Columns
from obliqua._core.types cimport Cut, Scorer, i64, u64


cdef struct Limits:
    int code
    int n_classes
    i64 total_weight
    i64 max_depth
    i64 max_leaves
    i64 min_split
    i64 min_rows
    i64 min_weight
    double min_gain
    double max_leaf_error
    bint zero_gain


cdef i64 NOWHERE

cdef Limits read_limits(object rules, int code, int n_classes, i64 total_weight) except *
cdef bint must_be_leaf(const Limits* limits, const i64* counts, i64 rows, i64 weight,
                       i64 depth) noexcept nogil
cdef void search_columns(Columns columns, const u64* active, i64 start, i64 end,
                         const Scorer* scorer, bint exhaustive, i64* scratch, Cut* best,
                         u64* varying) noexcept nogil
