"""Axis-parallel columns, sorted once and kept sorted while nodes are divided."""

from obliqua._core.base.target cimport Target
from obliqua._core.base.types cimport Cut, Scorer, View, i32, i64, u8, u64


cdef struct Layout:
    # Where an entry keeps its row and class, and the rows' weights (NULL: each weighs 1).
    int row_bits
    u64 row_mask
    u64 class_mask
    const i64* weights
    const Target* target


cdef struct SparseWindow:
    # The entries of a node in a sparse column: below 0, and above; the zeros are between them.
    i64 low
    i64 low_end
    i64 n_low
    i64 n_zeros
    i64 high
    i64 high_end


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
    cdef View view                   # of sparse columns: the values that are stored
    cdef readonly bint sparse
    cdef const i64* ptr              # of sparse columns: where each begins
    cdef const i32* sparse_rows      # the rows of its values, ascending
    cdef i64* negative               # where those below 0 end
    cdef i32* order                  # rows, node by node
    cdef i32* order_spare
    cdef i32* place                  # where each row stands there
    cdef void* full                  # room for a node's list with its zeros
    cdef const Target* target
    cdef Layout layout
    cdef object held
    # Set by one thread to make the others give up; a moment later is soon enough for them.
    cdef public bint stop
    cdef public object reason        # the exception to raise then

    cdef i64 work                    # since signals were looked for; threads may lose some

    cpdef int entry_size(self)
    cdef void mind_signals(self, i64 work) noexcept nogil

    cdef int read_sparse(self, tuple Z) except -1
    cdef int make_order(self) except -1
    cdef int presort_sparse(self, i64 first, i64 last) except -1
    cdef void put_entry(self, i64 at, u64 e) noexcept nogil
    cdef u64 get_entry(self, i64 at) noexcept nogil
    cdef double stored(self, i64 at) noexcept nogil
    cdef double sparse_value(self, i64 col, i64 row) noexcept nogil
    cdef SparseWindow window(self, i64 col, i64 start, i64 end) noexcept nogil
    cdef i64 first_at(self, i64 begin, i64 end, i64 start) noexcept nogil
    cdef double value_at(self, i64 col, const SparseWindow* window, i64 k) noexcept nogil
    cdef i64 sparse_missing(self, i64 col, const SparseWindow* window) noexcept nogil
    cdef void scan_sparse(self, i64 col, i64 start, i64 end, const Scorer* scorer, bint exhaustive,
                          i64* scratch, void* spare, Cut* best, bint* constant) noexcept nogil
    cdef void write_full(self, const SparseWindow* window, i64 start, i64 end) noexcept nogil
    cdef void put_full(self, i64 at, u64 e) noexcept nogil
    cdef void mark_sparse(self, i64 col, i64 start, i64 end, const Cut* cut,
                          i64* left) noexcept nogil
    cdef void divide_order(self, i64 start, i64 end) noexcept nogil
    cdef void divide_sparse(self, i64 col, i64 start, i64 end, void* scratch) noexcept nogil
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
