"""Numbers for levels and for missing values at a node."""

from obliqua._core.base.types cimport i32, i64, u8
from obliqua._core.search.gathered cimport Gathered


cdef struct LevelCoding:
    # Columns that are not plain numbers: codes of levels, or numbers some of which are missing.
    i64 n_coded
    i32* column              # per coded column: its place in the gathered rows
    i32* n_levels            # its number of levels; 0 for a numeric column
    i64* begin               # where its numbers stand in `number`; one more for the end
    double* number           # per level, missing ones last; for a numeric column what stands in
    double* usual            # per coded column: what stands in where a node knows no value
    bint by_node             # whether means are those of the node
    double unit              # what a unit weighs, if squares of numbers add up to 1; else 0
    u8* absent               # per coded column and row: whether the value is missing; or NULL
    i64 n_absent             # how many are
    int n_classes
    i64* tally               # per level and class: weight
    i32* here                # levels that are there
    i64* share               # per class: weight
    double* matrix           # of the classes
    double* values
    double* scratch


cdef bint coding_init(LevelCoding* coding, i64 n_coded, const i32* column, const i32* n_levels,
                      const double* usual, bint by_node, int n_classes) noexcept nogil
cdef bint coding_note_absent(LevelCoding* coding, i64 most_rows) noexcept nogil
cdef void fill_missing(LevelCoding* coding, i64 which, Gathered* gathered) noexcept nogil
cdef void coding_free(LevelCoding* coding) noexcept nogil
cdef void coding_find_absent(LevelCoding* coding, const Gathered* gathered) noexcept nogil
cdef void coding_measure(const LevelCoding* coding, Gathered* gathered) noexcept nogil
cdef void coding_apply(LevelCoding* coding, Gathered* gathered) noexcept nogil
cdef double column_spread(const Gathered* gathered, i64 k) noexcept nogil
