"""A hyperplane that moves, and chooses its features."""

from obliqua._core.position cimport Position
from obliqua._core.types cimport i64, u8


cdef class Selecting(Position):
    cdef double beta         # how little a feature may matter; negative: all stay
    cdef u8* active          # per feature: whether its coefficient may move
    cdef double* trial       # values at the rows, of a hyperplane that is tried

    cdef int reserve_selection(self, i64 room) except -1
    cdef void activate(self, Position owner) noexcept nogil
    cdef bint move_constant(self, Position owner) noexcept nogil
    cdef bint leave_out(self, Position owner) noexcept nogil
    cdef double score_without(self, Position owner, i64 k) noexcept nogil
