"""What two features do together: the energy of a function on the grid of their levels.

The function is a sum over leaves, each of which has a part of the levels of either feature. The
grid is passed line by line, and only one line is held. A stretch of levels has two entries, 1
where it begins and -1 where it ends, so that a running sum along a line and one over the lines
make its indicator; what is missing, and every level of a set, has an entry of its own.

The twin in `tests/reference/overlaps.py` is the specification.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memset

from obliqua._core.types cimport i32, i64


cdef double line_energy(const double* line, const double* share, const double* mean, double shift,
                        i64 n_levels, i64 n_places, bint numeric) noexcept nogil:
    """The mean square of a line, less the means over either feature."""
    cdef i64 y, n_steps = n_levels - 1 if numeric else n_levels
    cdef double running = 0.0, total = 0.0, here
    for y in range(n_steps):
        running = running + line[y] if numeric else line[y]
        here = running - shift - mean[y]
        total += share[y] * (here * here)
    if numeric:                  # the last level is what is missing
        here = line[n_places - 1] - shift - mean[n_levels - 1]
        total += share[n_levels - 1] * (here * here)
    return total


def pair_energy(const i64[::1] place_ptr, const i32[::1] leaf, const double[::1] sign,
                const i64[::1] leaf_ptr, const i32[::1] place, const double[::1] other_sign,
                const double[::1] value, const double[::1] mean, const double[::1] other_mean,
                const double[::1] share, const double[::1] other_share, bint numeric,
                bint other_numeric, i64 n_places):
    """The energy of what two features do together, for one output.

    The entries of the first feature stand by place, `leaf` and `sign` from `place_ptr` on, those
    of the second by leaf, `place` and `other_sign` from `leaf_ptr` on; it has `n_places` places.
    A leaf adds `value` to each cell that it has. `mean` and `other_mean` are what is to be taken
    from the lines and the columns, and `share` and `other_share` say how likely levels are.
    """
    cdef i64 x, at, e, t, n_lines = share.shape[0], n_columns = other_share.shape[0]
    cdef double total = 0.0, here = 0.0
    cdef bint fresh
    cdef double* line = <double*> calloc(n_places + 1, sizeof(double))
    if line == NULL:
        raise MemoryError("no room for a line of levels")
    with nogil:
        for x in range(n_lines):
            # The last line of a numeric feature is what is missing: no stretch goes on to it.
            fresh = not numeric or x == n_lines - 1
            at = place_ptr.shape[0] - 2 if numeric and x == n_lines - 1 else x
            if fresh:
                memset(line, 0, n_places * sizeof(double))
            for e in range(place_ptr[at], place_ptr[at + 1]):
                for t in range(leaf_ptr[leaf[e]], leaf_ptr[leaf[e] + 1]):
                    line[place[t]] += sign[e] * other_sign[t] * value[leaf[e]]
            # Without an entry a line is like the one before it.
            if fresh or x == 0 or place_ptr[at] < place_ptr[at + 1]:
                here = line_energy(line, &other_share[0], &other_mean[0], mean[x], n_columns,
                                   n_places, other_numeric)
            total += share[x] * here
        free(line)
    return total
