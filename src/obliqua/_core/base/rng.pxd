"""Random numbers that depend on nothing but a seed, a node and the content of a row."""

from obliqua._core.base.types cimport u64


cdef inline u64 scramble(u64 x) noexcept nogil:
    """A bijection of 64 bits in which every input bit reaches every output bit (splitmix64)."""
    x ^= x >> 30
    x *= 0xBF58476D1CE4E5B9ULL
    x ^= x >> 27
    x *= 0x94D049BB133111EBULL
    x ^= x >> 31
    return x


cdef inline u64 mix(u64 key, u64 value) noexcept nogil:
    return scramble(key + 0x9E3779B97F4A7C15ULL * (value + 1))


cdef inline u64 key_of_child(u64 key, u64 side) noexcept nogil:
    """The random key of a child: a function of its path from the root and of the seed."""
    return mix(scramble(key + 0x9E3779B97F4A7C15ULL), side)


cdef inline u64 draw(u64* state) noexcept nogil:
    """The next 64 random bits of a stream."""
    state[0] += 0x9E3779B97F4A7C15ULL
    return scramble(state[0])


cdef inline double draw_uniform(u64* state) noexcept nogil:
    """The next number of a stream, at least 0 and below 1."""
    return (<double> (draw(state) >> 11)) * (1.0 / 9007199254740992.0)
