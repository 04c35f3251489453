"""Linear functions of the rows of a node, by least squares with a penalty.

The function of a node is f(x) = a + c.x with the c that minimises

    sum of w (y - f(x))^2 + rho |c|^2

over columns that are standardised by all rows, so that a column which hardly varies in the node
gets a small coefficient. Sums are exact (see `moments`), so neither the order of the rows nor who
adds them up changes a bit, and both sides of a cut add up to their node.
"""

from libc.math cimport INFINITY, ldexp
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.linalg cimport factorise, solve_lower, solve_upper
from obliqua._core.base.target cimport Target, TargetRows, weight_at
from obliqua._core.base.types cimport i32, i64, u8
from obliqua._core.grow.moments cimport (
    grid_set, moments_add, moments_clear, moments_free, moments_init, moments_mean,
    moments_scatter,
)
from obliqua._core.search.gathered cimport gathered_free, gathered_init

cdef extern from "loops.h" nogil:
    void ob_range(const double* z, i64 n, double* low, double* high)

cdef double LEAST_PENALTY = 1e-9         # of the weight: no column is too much for it


cdef bint ridge_init(Ridge* ridge, i64 capacity, i64 q, i64 n_slots, bint weighted,
                     int weight_shift) noexcept nogil:
    """Makes room for nodes of up to `capacity` rows; False if there is no memory."""
    memset(ridge, 0, sizeof(Ridge))
    ridge.q = q
    ridge.grid.weight_shift = weight_shift
    ridge.grid.shift = <double*> malloc((q + 1) * sizeof(double))
    ridge.grid.exponent = <i32*> malloc((q + 1) * sizeof(i32))
    ridge.factor = <double*> malloc((q + 1) * sizeof(double))
    ridge.matrix = <double*> malloc((q + 1) * (q + 1) * sizeof(double))
    ridge.coef = <double*> malloc((q + 1) * sizeof(double))
    return (ridge.grid.shift != NULL and ridge.grid.exponent != NULL and ridge.factor != NULL
            and ridge.matrix != NULL and ridge.coef != NULL
            and gathered_init(&ridge.rows, capacity, q + 1, 1, weighted)
            and moments_init(&ridge.sums, q + 1, n_slots, False))


cdef void ridge_free(Ridge* ridge) noexcept nogil:
    free(ridge.grid.shift)
    free(ridge.grid.exponent)
    free(ridge.factor)
    free(ridge.matrix)
    free(ridge.coef)
    gathered_free(&ridge.rows)
    moments_free(&ridge.sums)
    memset(ridge, 0, sizeof(Ridge))


cdef void ridge_read(Ridge* ridge, const double* model, i64 stride, const i64* columns,
                     const i32* rows, i64 n, const Target* target) noexcept nogil:
    """Gathers the rows of a node, column by column; `model`: all rows, `stride` columns each.

    `columns`: which of them are the q of the function; NULL: all. What is learnt is the first of
    the target's numbers.
    """
    cdef i64 i, k, q = ridge.q
    cdef const double* row
    ridge.rows.n = n
    for i in range(n):
        row = model + (<i64> rows[i]) * stride
        for k in range(q):
            ridge.rows.columns[k * n + i] = row[k if columns == NULL else columns[k]]
        ridge.rows.columns[q * n + i] = <double> target.rows[(<i64> rows[i]) * target.n_numbers]
        if ridge.rows.weighted:
            ridge.rows.weights[i] = weight_at(target, rows[i])
    for k in range(q + 1):
        ridge.rows.low[k] = INFINITY
        ridge.rows.high[k] = -INFINITY
        ob_range(ridge.rows.columns + k * n, n, &ridge.rows.low[k], &ridge.rows.high[k])
        grid_set(&ridge.grid, k, ridge.rows.low[k], ridge.rows.high[k])
        ridge.factor[k] = ldexp(1.0, ridge.grid.exponent[k])


cdef double ridge_fit(Ridge* ridge, i64 slot, const u8* wanted) noexcept nogil:
    """Fits the rows of a slot: the squared error and the penalty that are left.

    The coefficients stand in `coef`. `wanted`: which columns may have one; NULL: all.
    """
    cdef i64 q = ridge.q, i, j
    cdef double* matrix = ridge.matrix
    cdef double* coef = ridge.coef
    cdef double penalty = ridge.penalty + LEAST_PENALTY * <double> ridge.sums.weights[slot]
    cdef double error
    moments_scatter(&ridge.sums, slot, ridge.factor, matrix)
    memcpy(coef, matrix + q * (q + 1), q * sizeof(double))
    error = matrix[q * (q + 1) + q]
    # The matrix of the columns alone, in rows of q.
    for i in range(q):
        for j in range(i + 1):
            matrix[i * q + j] = matrix[i * (q + 1) + j]
    for i in range(q):
        matrix[i * q + i] += penalty
        if wanted != NULL and not wanted[i]:
            coef[i] = 0.0
            for j in range(i):
                matrix[i * q + j] = 0.0
            for j in range(i + 1, q):
                matrix[j * q + i] = 0.0
    if q == 0 or not factorise(matrix, q):
        memset(coef, 0, q * sizeof(double))
        return error
    solve_lower(matrix, q, coef)
    for i in range(q):
        error -= coef[i] * coef[i]
    solve_upper(matrix, q, coef)
    return error


def fit_ridge(const double[:, ::1] model, const i32[::1] rows, TargetRows target, double penalty,
              int weight_shift, const u8[::1] wanted=None):
    """The function of some rows: (coefficients, means of the columns), and what it leaves over.

    `penalty` is in units of weight. Errors are in steps of the target's grid, squared.
    """
    cdef Ridge ridge
    cdef i64 q = model.shape[1], n = rows.shape[0], k
    cdef double error
    coef = np.empty(q)
    means = np.empty(q)
    cdef double[::1] coef_ = coef, means_ = means
    if not ridge_init(&ridge, n, q, 1, target.target.weights != NULL, weight_shift):
        ridge_free(&ridge)
        raise MemoryError("no room to fit a line")
    ridge.penalty = ldexp(penalty, -weight_shift)
    with nogil:
        ridge_read(&ridge, &model[0, 0] if q else NULL, q, NULL, &rows[0], n, &target.target)
        moments_clear(&ridge.sums, 0)
        ridge.rows.starts[0] = 0
        ridge.rows.starts[1] = n
        moments_add(&ridge.sums, &ridge.rows, 0, 0, &ridge.grid, NULL, 0)
        error = ridge_fit(&ridge, 0, NULL if wanted is None else &wanted[0])
        for k in range(q):
            coef_[k] = ridge.coef[k]
            means_[k] = ridge.grid.shift[k] + ldexp(moments_mean(&ridge.sums, 0, k),
                                                    ridge.grid.exponent[k])
        ridge_free(&ridge)
    return coef, means, ldexp(error, weight_shift)
