"""Where rows cross a hyperplane that moves, and places between such crossings."""

from libc.math cimport fabs, frexp, ldexp

from obliqua._core.types cimport midpoint


cdef inline double power_of_two(double x) noexcept nogil:
    """The power of two next to a positive number, 1 for any other."""
    cdef int exponent = 0
    if not x > 0.0 or x - x != 0.0:
        return 1.0
    frexp(x, &exponent)
    return ldexp(1.0, exponent)


cdef inline double amount_between(double below, double above, double scale) noexcept nogil:
    """How far to go so as to end between two neighbouring crossings."""
    cdef double low = below / (1.0 - fabs(below))
    cdef double high = above / (1.0 - fabs(above))
    cdef double middle
    if low - low == 0.0 and high - high == 0.0:
        return scale * midpoint(low, high)
    middle = (below + above) / 2         # one of them is infinitely far
    return scale * (middle / (1.0 - fabs(middle)))
