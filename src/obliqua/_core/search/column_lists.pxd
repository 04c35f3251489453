"""Axis-parallel columns, sorted once and kept sorted while nodes are divided."""

from obliqua._core.base.target cimport Target
from obliqua._core.base.types cimport Cut, Scorer, View, i32, i64, u8, u64


cdef class ColumnLists:
    cdef readonly i64 n_rows
    cdef readonly i64 n_cols
    cdef readonly bint wide
    cdef int row_bits
    cdef u64 row_mask
    cdef u64 class_mask
    cdef void* entries
    cdef u8* side
    cdef const u8* gaps              # per column: whether values are missing; NULL: nowhere
    cdef View view
    cdef const Target* target
    cdef object held
    # Set by one thread to make the others give up; a moment later is soon enough for them.
    cdef public bint stop
    cdef public object reason        # the exception to raise then

    cdef i64 work                    # since signals were looked for; threads may lose some

    cpdef int entry_size(self)
    cdef void mind_signals(self, i64 work) noexcept nogil

    cdef void copy_rows(self, i64 col, i64 start, i64 end, i32* rows) noexcept nogil
    cdef i64 n_missing(self, i64 col, i64 start, i64 end) noexcept nogil
    cdef void scan(self, i64 col, i64 start, i64 end, const Scorer* scorer, bint exhaustive,
                   i64* scratch, void* spare, Cut* best, bint* constant) noexcept nogil
    cdef double threshold(self, i64 col, i64 start, i64 end, const Cut* cut) noexcept nogil
    cdef void mark_sides(self, i64 col, i64 start, i64 end, const Cut* cut,
                         i64* left) noexcept nogil
    cdef void mark_left(self, i64 col, i64 first, i64 last, i64* left) noexcept nogil
    cdef void divide(self, i64 col, i64 start, i64 end, void* scratch) noexcept nogil
    cdef void sum_left(self, const i32* rows, i64 n, i64* left) noexcept nogil
    cdef void divide_rows(self, i32* rows, i64 n, i32* scratch) noexcept nogil
