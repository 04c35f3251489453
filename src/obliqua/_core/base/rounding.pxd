"""Numbers with fewer digits: noise of the last ones hardly ever reaches a tree."""

from libc.math cimport fabs, ldexp
from libc.string cimport memcpy

from obliqua._core.base.types cimport u64


cdef inline double round_significant(double x) noexcept nogil:
    """x with 24 significant bits, halves to even."""
    cdef u64 bits
    if fabs(x) < 2.2250738585072014e-308 and x != 0.0:   # fewer bits there: rounded further up
        return ldexp(round_significant(ldexp(x, 60)), -60)
    memcpy(&bits, &x, sizeof(double))
    bits += 0x0FFFFFFFULL + ((bits >> 29) & 1)
    bits &= ~(<u64> 0x1FFFFFFFULL)
    memcpy(&x, &bits, sizeof(double))
    return x
