"""Which features of a direction matter most."""

from libc.math cimport fabs

from obliqua._core.types cimport i32, i64


cdef inline i64 most_important(const double* normal, const double* spread, i64 n_features,
                               i64 most, i32* idx) noexcept nogil:
    """Puts the features that matter most into idx, ascending; returns how many there are.

    An entry of a normal matters as its size times the feature's spread; of equals the later one
    is left out.
    """
    cdef i64 k, i, worst, n = 0
    cdef double size, least
    for k in range(n_features):
        if normal[k] == 0.0:
            continue
        if n == most:
            worst = -1
            least = fabs(normal[k]) * spread[k]
            for i in range(n):
                size = fabs(normal[idx[i]]) * spread[idx[i]]
                if size < least or (size == least and worst >= 0):
                    least = size
                    worst = i
            if worst < 0:
                continue
            for i in range(worst, n - 1):
                idx[i] = idx[i + 1]
            n -= 1
        idx[n] = <i32> k
        n += 1
    return n
