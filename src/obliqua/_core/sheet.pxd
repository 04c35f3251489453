"""The rows of one node, gathered column by column and grouped by class."""

from obliqua._core.types cimport View, i32, i64, u8


cdef struct Sheet:
    i64 room                 # rows that fit
    i64 n_features
    i64 n                    # rows that are there
    int n_present            # classes that are there
    bint weighted
    double* columns          # n_features blocks of n values
    const u8* wanted         # which columns to gather; NULL: all
    i32* rows                # row numbers: class by class, in the node's order within a class
    i32* classes             # per row: the place of its class among those present
    i64* weights             # NULL: every row weighs 1
    i32* present             # the classes that are there, ascending
    i64* starts              # where each of them begins; one more for the end
    i64* counts              # their weights
    i32* place               # per class: its place among those present, -1 if absent
    double* low              # per column: the smallest value
    double* high             # and the largest


cdef bint sheet_init(Sheet* sheet, i64 room, i64 n_features, int n_classes,
                     bint weighted) noexcept nogil
cdef void sheet_free(Sheet* sheet) noexcept nogil
cdef void sheet_fill(Sheet* sheet, const View* view, const i32* rows, i64 n, const i32* classes,
                     const i64* weights, int n_classes) noexcept nogil
