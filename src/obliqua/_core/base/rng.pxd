"""Random numbers that depend on nothing but a seed, a node and the content of a row."""

from obliqua._core.base.types cimport i64, u64

cdef extern from "scalars.h" nogil:
    u64 scramble "ob_scramble"(u64 x)
    u64 mix "ob_mix"(u64 key, u64 value)
    u64 key_of_child "ob_child_key"(u64 key, u64 side)
    u64 draw "ob_draw"(u64* state)

cdef enum:
    OF_COLUMNS = 0x636F6C73          # what columns are drawn with, beside the key of a node


cdef inline i64 draw_below(u64* state, i64 below) noexcept nogil:
    """A whole number from 0 to below - 1 (at most 2^32)."""
    return <i64> (((draw(state) >> 32) * <u64> below) >> 32)


cdef inline double draw_uniform(u64* state) noexcept nogil:
    """The next number of a stream, at least 0 and below 1."""
    return (<double> (draw(state) >> 11)) * (1.0 / 9007199254740992.0)
