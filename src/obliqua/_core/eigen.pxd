"""Eigenvectors of a small symmetric matrix, the same bits on every machine."""

from obliqua._core.types cimport i64


cdef bint eigen_symmetric(double* matrix, i64 n, double* values, double* scratch) noexcept nogil
cdef bint dominant_vector(double* matrix, i64 n, double* vector) noexcept nogil
