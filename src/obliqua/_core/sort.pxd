"""Sorting row numbers by a column of float64 values."""

from obliqua._core.types cimport i64, u32, u64


cdef struct Packed:
    # Two buffers of (upper half of the key, position) pairs for `sort_order`.
    u64* front
    u64* back
    i64 capacity


cdef bint packed_reserve(Packed* buffers, i64 n) noexcept nogil
cdef void packed_free(Packed* buffers) noexcept nogil
cdef void sort_order(const double* values, u32* order, i64 n, Packed* buffers) noexcept nogil
