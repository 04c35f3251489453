"""The hyperplanes of a growing tree: coefficients and what they multiply, in one store."""

from obliqua._core.finder cimport Finder
from obliqua._core.types cimport i32, i64


cdef struct Term:
    # One coefficient of a hyperplane, and what it multiplies.
    double coef
    double fill
    double width
    i64 table                # where the numbers of its levels begin
    i32 table_size
    i32 idx


cdef struct PlaneStore:
    Term* terms
    i64 n_terms
    i64 term_room
    double* tables           # numbers of levels
    i64 n_entries
    i64 entry_room


cdef void store_free(PlaneStore* store) noexcept nogil
cdef bint store_keep(PlaneStore* store, Finder finder) noexcept nogil
cdef object store_export(PlaneStore* store, const i64[::1] plane, const i64[::1] n_coef)
cdef object found_terms(Finder finder)
