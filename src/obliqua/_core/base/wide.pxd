"""Products of 64-bit integers without loss, and what is left of them in a double."""

from libc.math cimport ldexp

from obliqua._core.base.types cimport i64, u64


cdef inline void multiply(u64 a, u64 b, u64* high, u64* low) noexcept nogil:
    """The 128-bit product of two numbers, by halves: no compiler's extension."""
    cdef u64 a0 = a & 0xFFFFFFFFULL, a1 = a >> 32
    cdef u64 b0 = b & 0xFFFFFFFFULL, b1 = b >> 32
    cdef u64 middle = a1 * b0 + ((a0 * b0) >> 32)
    cdef u64 other = a0 * b1 + (middle & 0xFFFFFFFFULL)
    high[0] = a1 * b1 + (middle >> 32) + (other >> 32)
    low[0] = (other << 32) | ((a0 * b0) & 0xFFFFFFFFULL)


cdef inline void add_product(u64 a, u64 b, u64* high, u64* low) noexcept nogil:
    """Adds a * b to a 128-bit number."""
    cdef u64 more_high, more_low
    multiply(a, b, &more_high, &more_low)
    low[0] += more_low
    high[0] += more_high + (low[0] < more_low)


cdef inline double nearest_double(u64 high, u64 low) noexcept nogil:
    """high * 2^64 + low, rounded once."""
    cdef int shift = 0
    if high == 0:
        return <double> low
    while (high >> shift) != 0:
        shift += 1
    # The upper 64 bits; what falls off leaves a mark in the last one, for correct rounding.
    if shift < 64:
        high = (high << (64 - shift)) | (low >> shift)
        low = low << (64 - shift)
    return ldexp(<double> (high | (low != 0)), shift)


cdef inline bint difference(i64 left, i64 total, i64 n_left, i64 n, u64* high,
                            u64* low) noexcept nogil:
    """|left * n - total * n_left| in 128 bits; whether it is negative."""
    cdef u64 a_high, a_low, b_high, b_low
    multiply(<u64> left, <u64> n, &a_high, &a_low)
    multiply(<u64> total, <u64> n_left, &b_high, &b_low)
    if a_high < b_high or (a_high == b_high and a_low < b_low):
        high[0] = b_high - a_high - (b_low < a_low)
        low[0] = b_low - a_low
        return True
    high[0] = a_high - b_high - (a_low < b_low)
    low[0] = a_low - b_low
    return False
