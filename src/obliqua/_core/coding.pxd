"""Numbers for levels and for missing values at a node."""

from obliqua._core.sheet cimport Sheet
from obliqua._core.types cimport i32, i64


cdef struct Coding:
    # Columns that are not plain numbers: codes of levels, or numbers some of which are missing.
    i64 n_odd
    i32* column              # per odd column: its place in the sheet
    i32* n_levels            # its number of levels; 0 for a numeric column
    i64* begin               # where its numbers stand in `number`; one more for the end
    double* number           # per level, missing ones last; for a numeric column what stands in
    double* usual            # per odd column: what stands in where a node knows no value
    bint by_node             # whether means are those of the node
    int n_classes
    i64* tally               # per level and class: weight
    i32* seen                # levels that are there
    i64* share               # per class: weight
    double* matrix           # of the classes
    double* values
    double* scratch


cdef bint coding_init(Coding* coding, i64 n_odd, const i32* column, const i32* n_levels,
                      const double* usual, bint by_node, int n_classes) noexcept nogil
cdef void coding_free(Coding* coding) noexcept nogil
cdef void coding_apply(Coding* coding, Sheet* sheet) noexcept nogil
cdef double column_spread(const Sheet* sheet, i64 k) noexcept nogil
