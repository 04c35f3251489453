"""Sorting row numbers by a column of float64 values."""

from obliqua._core.base.types cimport i64, u32, u64


cdef struct SortBuffers:
    # Two buffers of (upper half of the key, position) pairs for `sort_order`.
    u64* front
    u64* back
    i64 capacity


cdef bint buffers_reserve(SortBuffers* buffers, i64 n) noexcept nogil
cdef void buffers_free(SortBuffers* buffers) noexcept nogil
cdef void sort_order(const double* values, u32* order, i64 n, SortBuffers* buffers) noexcept nogil
