"""Thermal training of a linear machine (Frean 1990; Brodley and Utgoff 1995).

A machine has a weight vector per class; a row belongs to the class with the largest product. Rows
are shown to it in a random order, and each one that it gets wrong moves two of its vectors, the
less the further away the row lies. The temperature, beta, falls while the vectors only tremble.
The twin in `tests/reference/lmdt.py` is the specification; results are equal bit for bit.
"""

from libc.math cimport sqrt

import numpy as np

from obliqua._core.types cimport i32, i64, u64

cdef double TO_UNIT = 1.0 / 9007199254740992.0       # 2**-53


cdef struct Heat:
    # The schedule of a training, and where it stands.
    double beta
    double limit             # below it the machine is frozen
    double rate              # beta becomes rate * beta - step
    double step
    double epsilon           # added to the distance of every row
    double magnitude         # sum of the lengths of the weight vectors
    bint rose                # whether the magnitude rose at the last correction


cdef inline u64 draw(u64* state) noexcept nogil:
    """The next random number (splitmix64)."""
    cdef u64 x
    state[0] += 0x9E3779B97F4A7C15ULL
    x = state[0]
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL
    return x ^ (x >> 31)


cdef i64 draw_order(const double[::1] times, i64[::1] order, u64* state) noexcept nogil:
    """Fills the rows of one pass in random order; returns how many there are.

    A row comes as often as the whole part of its `times`, and once more with the probability of
    what is left. Each row takes one random number, so that one weight has no say about others.
    """
    cdef i64 row, k, other, n = 0
    cdef double left
    for row in range(times.shape[0]):
        left = times[row]
        while left >= 1.0:
            order[n] = row
            n += 1
            left -= 1.0
        if (draw(state) >> 11) * TO_UNIT < left:
            order[n] = row
            n += 1
    for k in range(n - 1, 0, -1):
        other = <i64> (draw(state) % <u64> (k + 1))
        row = order[k]
        order[k] = order[other]
        order[other] = row
    return n


cdef inline double dot(const double* a, const double* b, i64 n) noexcept nogil:
    cdef double total = 0.0
    cdef i64 k
    for k in range(n):
        total += a[k] * b[k]
    return total


cdef inline i64 largest(const double[:, ::1] W, const double* row, double* top,
                        i64 own, double* own_score) noexcept nogil:
    """The class with the largest score, the first one at ties, and the score of its own class."""
    cdef i64 c, best = 0
    cdef double score
    for c in range(W.shape[0]):
        score = dot(&W[c, 0], row, W.shape[1])
        if c == own:
            own_score[0] = score
        if c == 0 or score > top[0]:
            best = c
            top[0] = score
    return best


cdef inline double distance(double top, double own, double square, double epsilon) noexcept nogil:
    """How far a row is on the wrong side, in multiples of itself, and a bit more."""
    return (top - own) / (2.0 * square) + epsilon


cdef void correct(double[:, ::1] W, double[::1] length, const double* row, i64 own, i64 winner,
                  double k, Heat* heat) noexcept nogil:
    """Moves the two vectors and cools the machine where its magnitude falls after a rise."""
    cdef i64 f, c
    cdef double amount = heat.beta * heat.beta / (heat.beta + k)
    cdef double magnitude = 0.0
    for f in range(W.shape[1]):
        W[own, f] += amount * row[f]
        W[winner, f] -= amount * row[f]
    length[own] = sqrt(dot(&W[own, 0], &W[own, 0], W.shape[1]))
    length[winner] = sqrt(dot(&W[winner, 0], &W[winner, 0], W.shape[1]))
    for c in range(W.shape[0]):
        magnitude += length[c]
    if magnitude < heat.magnitude and heat.rose:
        heat.beta = heat.rate * heat.beta - heat.step
    heat.rose = magnitude > heat.magnitude
    heat.magnitude = magnitude


cdef bint settled(const double[:, ::1] Y, const i32[::1] classes, const double[::1] square,
                  const double[:, ::1] W, const Heat* heat) noexcept nogil:
    """Whether no row is wrong, or none of those that are is near enough to be corrected."""
    cdef i64 row, winner
    cdef double top = 0.0, own = 0.0
    for row in range(Y.shape[0]):
        winner = largest(W, &Y[row, 0], &top, classes[row], &own)
        if winner != classes[row] and distance(top, own, square[row], heat.epsilon) < heat.beta:
            return False
    return True


def train(const double[:, ::1] Y, const i32[::1] classes, const double[::1] times,
          double[:, ::1] W, u64 key, schedule, i64 max_passes):
    """Trains a machine in place; returns the number of corrections, of passes, and beta.

    Rows of `Y` begin with a 1, rows of `W` are the weight vectors of the classes. `times` says how
    often a row is shown in a pass; `schedule` is (beta, limit, rate, step, epsilon).
    """
    cdef i64 n = Y.shape[0], d = Y.shape[1]
    cdef i64 row, k, c, shown, winner, at_start, corrections = 0, passes = 0
    cdef double top = 0.0, own = 0.0, far
    cdef u64 state = key
    cdef Heat heat
    heat.beta, heat.limit, heat.rate, heat.step, heat.epsilon = schedule
    heat.rose = False
    heat.magnitude = 0.0
    squares, lengths = np.empty(n), np.empty(W.shape[0])
    orders = np.empty(int(np.ceil(times).sum()), dtype=np.int64)
    cdef double[::1] square = squares, length = lengths
    cdef i64[::1] order = orders
    with nogil:
        for row in range(n):
            square[row] = dot(&Y[row, 0], &Y[row, 0], d)
        for c in range(W.shape[0]):
            length[c] = sqrt(dot(&W[c, 0], &W[c, 0], d))
            heat.magnitude += length[c]
        while passes < max_passes and not heat.beta < heat.limit:
            passes += 1
            at_start = corrections
            shown = draw_order(times, order, &state)
            for k in range(shown):
                row = order[k]
                winner = largest(W, &Y[row, 0], &top, classes[row], &own)
                if winner == classes[row]:
                    continue
                far = distance(top, own, square[row], heat.epsilon)
                if not far < heat.beta:
                    continue
                correct(W, length, &Y[row, 0], classes[row], winner, far, &heat)
                corrections += 1
                if heat.beta < heat.limit:
                    break
            if corrections == at_start and settled(Y, classes, square, W, &heat):
                break
    return corrections, passes, heat.beta


def winners(const double[:, ::1] Y, const double[:, ::1] W):
    """The class with the largest score of each row, the first one at ties."""
    cdef i64 row
    cdef double top = 0.0, own = 0.0
    found = np.empty(Y.shape[0], dtype=np.int32)
    cdef i32[::1] out = found
    with nogil:
        for row in range(Y.shape[0]):
            out[row] = <i32> largest(W, &Y[row, 0], &top, -1, &own)
    return found
