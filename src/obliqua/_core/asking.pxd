"""A finder that must know scores while it plans, also those of a criterion in Python."""

from obliqua._core.planned cimport Planned
from obliqua._core.types cimport Cut, i64, u8


cdef class Asking(Planned):
    cdef object measure      # a criterion in Python, or None
    cdef object trouble      # the exception that it raised

    cdef int raise_trouble(self) except -1
    cdef void ask_best(self, Asking owner, u8* leaves, i64 direction, double tolerance,
                       bint right, Cut* cut) noexcept nogil
