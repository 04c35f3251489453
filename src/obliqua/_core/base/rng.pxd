"""Random numbers that depend on nothing but a seed, a node and the content of a row."""

from obliqua._core.base.types cimport u64

cdef extern from "scalars.h" nogil:
    u64 scramble "ob_scramble"(u64 x)
    u64 mix "ob_mix"(u64 key, u64 value)
    u64 key_of_child "ob_child_key"(u64 key, u64 side)
    u64 draw "ob_draw"(u64* state)


cdef inline double draw_uniform(u64* state) noexcept nogil:
    """The next number of a stream, at least 0 and below 1."""
    return (<double> (draw(state) >> 11)) * (1.0 / 9007199254740992.0)
