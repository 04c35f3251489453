"""Random numbers that depend on nothing but a seed, a node and the content of a row."""

from libc.string cimport memcpy

import numpy as np

from obliqua._core.base.types cimport View, i64, make_view, u64, view_at


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
