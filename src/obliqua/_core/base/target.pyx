"""What is learnt, as compiled code sees it."""

import numpy as np

from obliqua._core.base.types cimport i32, i64


cdef class TargetRows:
    """What each row adds to the sums of a node, with its weight."""

    def __cinit__(self, const i32[:, ::1] rows, weights, int n_sums, bint numbers):
        cdef const i64[::1] w
        self.held = (rows, weights)
        self.n_rows = rows.shape[0]
        self.target.n_sums = n_sums
        self.target.n_numbers = <int> rows.shape[1] if numbers else 0
        self.target.rows = NULL
        self.target.weights = NULL
        if self.n_rows == 0:
            return
        self.target.rows = &rows[0, 0]
        if weights is not None:
            w = weights
            self.target.weights = &w[0]

    def sums(self, const i32[::1] rows=None):
        """The sums of some rows, or of all."""
        cdef i64 i
        found = np.zeros(self.target.n_sums, dtype=np.int64)
        cdef i64[::1] out = found
        with nogil:
            if rows is None:
                for i in range(self.n_rows):
                    add_row(&self.target, i, &out[0])
            else:
                for i in range(rows.shape[0]):
                    add_row(&self.target, rows[i], &out[0])
        return found

    def sums_of_groups(self, const i64[::1] group, i64 n_groups):
        """The sums of each group of rows; `group`: the number of each row's."""
        cdef i64 i
        found = np.zeros((n_groups, self.target.n_sums), dtype=np.int64)
        cdef i64[:, ::1] out = found
        with nogil:
            for i in range(self.n_rows):
                add_row(&self.target, i, &out[group[i], 0])
        return found

    def weight(self, const i64[::1] sums):
        """The weight in a vector of sums."""
        return weight_of(&self.target, &sums[0])


def squared_errors(sums):
    """Of each vector of sums of numbers: the squared distances from the means."""
    cdef i64 i
    cdef const i64[:, ::1] rows = np.ascontiguousarray(sums, dtype=np.int64)
    found = np.empty(rows.shape[0])
    cdef double[::1] out = found
    cdef int m = <int> rows.shape[1] - 3
    with nogil:
        for i in range(rows.shape[0]):
            out[i] = squared_error(&rows[i, 0], m)
    return found
