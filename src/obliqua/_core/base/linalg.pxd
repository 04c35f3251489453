"""Small symmetric matrices, the same bits on every machine: eigenvectors, systems of equations."""

from obliqua._core.base.types cimport i64


cdef bint eigen_symmetric(double* matrix, i64 n, double* values, double* scratch) noexcept nogil
cdef i64 eigen_scatter(double* scatter, double* vectors, i64 n, double least, double* values,
                       double* scratch) noexcept nogil
cdef bint orthogonalise(double* rows, i64 n, i64 length, double* values) noexcept nogil
cdef bint dominant_vector(double* matrix, i64 n, double* vector) noexcept nogil
cdef double dot(const double* a, const double* b, i64 n) noexcept nogil


cdef bint factorise(double* matrix, i64 n) noexcept nogil
cdef void solve_lower(const double* factor, i64 n, double* vector) noexcept nogil
cdef void solve_upper(const double* factor, i64 n, double* vector) noexcept nogil
cdef void solve(const double* factor, i64 n, double* vector) noexcept nogil
cdef void add_ridge(double* matrix, i64 n) noexcept nogil
