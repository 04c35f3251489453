"""Numbers of some rows in standard units, as floats: what refinement works with."""

from libc.math cimport fabs

import numpy as np

from obliqua._core.base.types cimport View, i64, make_view, view_at

cdef extern from "loops.h" nogil:
    void OB_PREFETCH(const void* address)

cdef double FAR = 1e9                # standard units
cdef i64 AHEAD = 16                  # rows that are fetched before their turn: they lie anywhere


cdef inline void fetch(const View* view, const i64[::1] rows, i64 i, i64 last) noexcept nogil:
    """Fetches a row that will be wanted soon."""
    cdef i64 size = 4 if view.single else 8
    cdef i64 at = 0, end = view.n_cols * size
    cdef const char* row
    if i + AHEAD >= last or view.col_stride != 1:
        return
    row = <const char*> view.data + rows[i + AHEAD] * view.row_stride * size
    while at < end:
        OB_PREFETCH(row + at)
        at += 64


def largest(Z, const i64[::1] columns, i64 first, i64 last):
    """The size of the largest number of each column in some rows; 0 where all are missing."""
    cdef View view = make_view(Z)
    cdef i64 i, k, d = columns.shape[0]
    cdef double value
    out = np.zeros(d)
    cdef double[::1] out_ = out
    with nogil:
        for i in range(first, last):
            for k in range(d):
                value = fabs(view_at(&view, i, columns[k]))
                if value > out_[k]:              # NaN is not
                    out_[k] = value
    return out


def weighted_sums(Z, const i64[::1] rows, const i64[::1] columns, const double[::1] share,
                  const double[::1] size, const double[::1] about, i64 first, i64 last):
    """By column, sums over numbers that are there: of shares, of values, of their squares.

    Values are divided by `size`, and counted from `about`.
    """
    cdef View view = make_view(Z)
    cdef i64 i, k, d = columns.shape[0]
    cdef double value
    out = np.zeros((d, 3))
    cdef double[:, ::1] out_ = out
    with nogil:
        for i in range(first, last):
            fetch(&view, rows, i, last)
            for k in range(d):
                value = view_at(&view, rows[i], columns[k]) / size[k] - about[k]
                if value == value:
                    out_[k, 0] += share[i]
                    out_[k, 1] += share[i] * value
                    out_[k, 2] += share[i] * (value * value)
    return out


def standardise(Z, const i64[::1] rows, const i64[::1] columns, const double[::1] mean,
                const double[::1] sd, float[:, ::1] x, i64 first, i64 last):
    """Writes numbers in standard units into the first columns of x; 0 where they are missing.

    Those that are very far out are moved nearer: squares and sums must be floats.
    """
    cdef View view = make_view(Z)
    cdef i64 i, k, d = columns.shape[0]
    cdef double value
    with nogil:
        for i in range(first, last):
            fetch(&view, rows, i, last)
            for k in range(d):
                value = (view_at(&view, rows[i], columns[k]) - mean[k]) / sd[k]
                if value != value:
                    value = 0.0
                x[i, k] = <float> min(max(value, -FAR), FAR)
