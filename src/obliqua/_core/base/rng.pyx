"""Random numbers that depend on nothing but a seed, a node and the content of a row."""

from libc.string cimport memcpy

import numpy as np

from obliqua._core.base.types cimport View, i32, i64, make_view, u64, view_at

cdef enum:
    AT_ONCE = 8


def child_key(u64 key, u64 side):
    """The random key of a child: a function of its path from the root and of the seed."""
    return key_of_child(key, side)


def scattered(const u64[::1] keys, const i64[::1] numbers):
    """A number per key and number; number 0 leaves the key as it is."""
    cdef i64 k
    out = np.empty(keys.shape[0], dtype=np.uint64)
    cdef u64[::1] out_ = out
    with nogil:
        for k in range(keys.shape[0]):
            out_[k] = keys[k] if numbers[k] == 0 else mix(keys[k], <u64> numbers[k])
    return out


def column_order(u64 key, i64 n_columns):
    """All columns, in the order in which a node with this key draws them."""
    cdef i64 k, at
    cdef u64 state = mix(key, OF_COLUMNS)
    order = np.arange(n_columns, dtype=np.int32)
    cdef i32[::1] order_ = order
    with nogil:
        for k in range(n_columns):
            at = k + draw_below(&state, n_columns - k)
            order_[k], order_[at] = order_[at], order_[k]
    return order


def row_hashes(Z, const i64[::1] labels, u64 seed):
    """A number per row that depends on its values, its label and the seed only.

    Equal rows get equal numbers, in any order and on any machine; 0.0 and -0.0 are equal, and so
    are all NaN, of which there are many.
    """
    cdef View view = make_view(Z)
    cdef i64 row, col
    cdef u64 state, bits
    cdef double value
    hashes = np.empty(view.n_rows, dtype=np.uint64)
    cdef u64[::1] out = hashes
    with nogil:
        for row in range(view.n_rows):
            state = mix(seed, <u64> labels[row])
            for col in range(view.n_cols):
                value = view_at(&view, row, col) + 0.0
                memcpy(&bits, &value, sizeof(bits))
                if value != value:
                    bits = 0x7FF8000000000000ULL
                state = mix(state, bits)
            out[row] = state
    return hashes


def sparse_row_hashes(tuple shape, const i64[::1] ptr, const i32[::1] columns, values,
                      const i64[::1] labels, u64 seed):
    """As `row_hashes`, of sparse rows whose columns are ascending: the same numbers.

    A zero costs a step too, so a few rows go side by side: one need not wait for another.
    """
    cdef i64 n = shape[0], p = shape[1], first, r, count, col, end
    cdef u64[AT_ONCE] state
    cdef i64[AT_ONCE] at
    cdef u64 bits
    cdef double value
    cdef bint single = values.dtype.itemsize == 4
    cdef const float[::1] floats = values if single else np.empty(0, dtype=np.float32)
    cdef const double[::1] doubles = np.empty(0) if single else values
    hashes = np.empty(n, dtype=np.uint64)
    cdef u64[::1] out = hashes
    with nogil:
        first = 0
        while first < n:
            count = min(<i64> AT_ONCE, n - first)
            for r in range(AT_ONCE):             # of rows that are not there nobody hears
                state[r] = mix(seed, <u64> labels[first + r]) if r < count else 0
                at[r] = ptr[first + r] if r < count else 0
            col = 0
            while col < p:
                end = p
                for r in range(count):
                    if at[r] < ptr[first + r + 1]:
                        end = min(end, <i64> columns[at[r]])
                while col < end:
                    for r in range(AT_ONCE):
                        state[r] = mix(state[r], 0)
                    col += 1
                if col == p:
                    break
                for r in range(count):
                    bits = 0
                    if at[r] < ptr[first + r + 1] and columns[at[r]] == col:
                        value = floats[at[r]] if single else doubles[at[r]]
                        memcpy(&bits, &value, sizeof(bits))
                        if value != value:
                            bits = 0x7FF8000000000000ULL
                        at[r] += 1
                    state[r] = mix(state[r], bits)
                col += 1
            for r in range(count):
                out[first + r] = state[r]
            first += AT_ONCE
    return hashes
