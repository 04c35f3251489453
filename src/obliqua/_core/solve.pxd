"""Small symmetric systems of equations, the same bits on every machine."""

from obliqua._core.types cimport i64


cdef bint factorise(double* matrix, i64 n) noexcept nogil
cdef void solve_lower(const double* factor, i64 n, double* vector) noexcept nogil
cdef void solve_upper(const double* factor, i64 n, double* vector) noexcept nogil
cdef void solve(const double* factor, i64 n, double* vector) noexcept nogil
cdef void add_ridge(double* matrix, i64 n) noexcept nogil
