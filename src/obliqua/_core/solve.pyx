"""Products of matrices and small symmetric systems of equations, the same bits on every machine.

Plain loops in a fixed order, and Cholesky's factorisation, for the same reason as in eigen.pyx.
"""

from libc.math cimport sqrt

import numpy as np

from obliqua._core.types cimport i64

cdef double RIDGE = 1e-3         # of each diagonal entry
cdef double FLOOR = 1e-12        # of the mean of the diagonal, for columns that do not vary


cdef void add_ridge(double* matrix, i64 n) noexcept nogil:
    """Makes a scatter matrix safe to invert."""
    cdef i64 i
    cdef double trace = 0.0
    for i in range(n):
        trace += matrix[i * n + i]
    for i in range(n):
        matrix[i * n + i] += RIDGE * matrix[i * n + i] + FLOOR * trace / n


cdef bint factorise(double* matrix, i64 n) noexcept nogil:
    """Replaces the lower triangle of A by L, A = L L'; False if A is not positive definite."""
    cdef i64 i, j, k
    cdef double s
    for i in range(n):
        for j in range(i + 1):
            s = matrix[i * n + j]
            for k in range(j):
                s -= matrix[i * n + k] * matrix[j * n + k]
            if i == j:
                if not s > 0.0:
                    return False
                matrix[i * n + i] = sqrt(s)
            else:
                matrix[i * n + j] = s / matrix[j * n + j]
    return True


cdef void solve_lower(const double* factor, i64 n, double* vector) noexcept nogil:
    """Replaces a vector b by the solution of L x = b."""
    cdef i64 i, k
    cdef double s
    for i in range(n):
        s = vector[i]
        for k in range(i):
            s -= factor[i * n + k] * vector[k]
        vector[i] = s / factor[i * n + i]


cdef void solve_upper(const double* factor, i64 n, double* vector) noexcept nogil:
    """Replaces a vector b by the solution of L' x = b."""
    cdef i64 i, k
    cdef double s
    for i in range(n - 1, -1, -1):
        s = vector[i]
        for k in range(i + 1, n):
            s -= factor[k * n + i] * vector[k]
        vector[i] = s / factor[i * n + i]


cdef void solve(const double* factor, i64 n, double* vector) noexcept nogil:
    """Replaces a vector b by the solution of L L' x = b."""
    solve_lower(factor, n, vector)
    solve_upper(factor, n, vector)


def py_solve(matrix, vector, bint lower=True, bint upper=True):
    """Solution of a positive definite system A = L L', or None, for tests.

    Without `upper` that of L x = b, without `lower` that of L' x = b.
    """
    factor = np.array(matrix, dtype=np.float64, order="C")
    result = np.array(vector, dtype=np.float64)
    cdef double[:, ::1] factor_ = factor
    cdef double[::1] result_ = result
    if not factorise(&factor_[0, 0], factor_.shape[0]):
        return None
    if lower:
        solve_lower(&factor_[0, 0], factor_.shape[0], &result_[0])
    if upper:
        solve_upper(&factor_[0, 0], factor_.shape[0], &result_[0])
    return result


def product(left, right):
    """Returns ``left @ right`` of vectors or matrices; each sum is in the order of its terms."""
    cdef const double[:, ::1] a = np.ascontiguousarray(np.atleast_2d(left), dtype=np.float64)
    cdef const double[:, ::1] b = np.ascontiguousarray(
        right if right.ndim == 2 else right[:, None], dtype=np.float64)
    cdef i64 i, j, k
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"shapes {left.shape} and {right.shape} cannot be multiplied")
    total = np.zeros((a.shape[0], b.shape[1]))
    cdef double[:, ::1] c = total
    with nogil:
        for i in range(c.shape[0]):
            for k in range(b.shape[0]):
                for j in range(c.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]
    return total.reshape(left.shape[:left.ndim - 1] + right.shape[1:])
