"""Numbers of about 106 bits: sums of many values that do not show their order."""


cdef struct DoublePair:
    # The unevaluated sum of two doubles, the second far smaller than the first.
    double high
    double low


cdef inline DoublePair product(double a, double b) noexcept nogil:
    """a * b without rounding (Dekker; both at most 2^53 or so, thus no overflow)."""
    cdef double a_big = a * 134217729.0
    cdef double b_big = b * 134217729.0
    cdef double a_high = a_big - (a_big - a)
    cdef double b_high = b_big - (b_big - b)
    cdef double a_low = a - a_high
    cdef double b_low = b - b_high
    cdef DoublePair out
    out.high = a * b
    out.low = ((a_high * b_high - out.high) + a_high * b_low + a_low * b_high) + a_low * b_low
    return out


cdef inline void add(DoublePair* total, double value) noexcept nogil:
    """total += value (Knuth's exact sum of the upper parts)."""
    cdef double upper = total.high + value
    cdef double part = upper - total.high
    cdef double low = total.low + ((total.high - (upper - part)) + (value - part))
    total.high = upper + low
    total.low = low - (total.high - upper)


cdef inline void add_pair(DoublePair* total, DoublePair value) noexcept nogil:
    add(total, value.high)
    add(total, value.low)


cdef inline DoublePair times(DoublePair a, double b) noexcept nogil:
    cdef DoublePair out = product(a.high, b)
    add(&out, a.low * b)
    return out


cdef inline DoublePair square(DoublePair a) noexcept nogil:
    cdef DoublePair out = product(a.high, a.high)
    add(&out, 2.0 * a.high * a.low)
    return out


cdef inline DoublePair divided(DoublePair a, double b) noexcept nogil:
    cdef DoublePair out, back
    out.high = a.high / b
    back = product(out.high, b)
    out.low = ((a.high - back.high) - back.low + a.low) / b
    return out


cdef inline DoublePair difference(DoublePair a, DoublePair b) noexcept nogil:
    add(&a, -b.high)
    add(&a, -b.low)
    return a
