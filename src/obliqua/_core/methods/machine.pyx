"""Thermal training of a linear machine (Frean 1990; Brodley and Utgoff 1995).

A machine has a weight vector per class; a row belongs to the class with the largest product. Rows
are shown to it in a random order, and each one that it gets wrong moves two of its vectors, the
less the further away the row lies. The temperature, beta, falls while the vectors only tremble.
The twin in `tests/reference/lmdt.py` is the specification; results are equal bit for bit.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport sqrt

from time import monotonic

import numpy as np

from obliqua._core.base.rng cimport draw, draw_uniform
from obliqua._core.base.types cimport i32, i64, u64

cdef enum:
    WORK_BETWEEN_LOOKS = 1 << 20     # rows x variables x classes


cdef struct Heat:
    # The schedule of a training, and where it stands.
    double beta
    double limit             # below it the machine is frozen
    double rate              # beta becomes rate * beta - step
    double step
    double epsilon           # added to the distance of every row
    double magnitude         # sum of the lengths of the weight vectors
    bint rose                # whether the magnitude rose at the last correction


cdef class TrainingWatch:
    """Who says when training is to end: the clock, or Ctrl-C. Threads may share one.

    Parameters
    ----------
    deadline : float or None
        When time is over, on the clock `time.monotonic`.
    """

    cdef public bint stop        # whoever sets it ends all trainings that look here
    cdef readonly bint late
    cdef bint has_deadline
    cdef double deadline
    cdef object reason           # the exception that came with Ctrl-C

    def __init__(self, deadline=None):
        self.has_deadline = deadline is not None
        if self.has_deadline:
            self.deadline = deadline

    cdef bint look(self) noexcept nogil:
        """Lets Ctrl-C through (on the main thread) and looks at the clock; whether to end."""
        with gil:
            try:
                PyErr_CheckSignals()
            except BaseException as error:
                self.reason = error
                self.stop = True
            if self.has_deadline and monotonic() >= self.deadline:
                self.late = True
        return self.stop or self.late


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
        if draw_uniform(state) < left:
            order[n] = row
            n += 1
    for k in range(n - 1, 0, -1):
        other = <i64> (((draw(state) >> 32) * <u64> (k + 1)) >> 32)
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


cdef inline i64 largest(const double* W, const double* row, i64 d, i64 n_classes,
                        double* score) noexcept nogil:
    """The class with the largest score, the first one at ties; also fills all scores.

    The weights of one variable stand together, so that the sums of the classes grow side by side;
    each of them is added up from the first variable to the last.
    """
    cdef i64 c, f, best = 0
    cdef double first = 0.0, second = 0.0
    if n_classes == 2:
        for f in range(d):
            first += W[2 * f] * row[f]
            second += W[2 * f + 1] * row[f]
        score[0] = first
        score[1] = second
        return 1 if second > first else 0
    for c in range(n_classes):
        score[c] = 0.0
    for f in range(d):
        for c in range(n_classes):
            score[c] += W[f * n_classes + c] * row[f]
    for c in range(1, n_classes):
        if score[c] > score[best]:
            best = c
    return best


cdef inline double distance(double top, double own, double square, double epsilon) noexcept nogil:
    """How far a row is on the wrong side, in multiples of itself, and a bit more."""
    return (top - own) / (2.0 * square) + epsilon


cdef double length_of(const double* W, i64 d, i64 n_classes, i64 c) noexcept nogil:
    cdef i64 f
    cdef double square = 0.0
    for f in range(d):
        square += W[f * n_classes + c] * W[f * n_classes + c]
    return sqrt(square)


cdef void correct(double* W, i64 d, i64 n_classes, double* length, const double* row, i64 own,
                  i64 winner, double k, Heat* heat) noexcept nogil:
    """Moves the two vectors and cools the machine where its magnitude falls after a rise."""
    cdef i64 f, c
    cdef double amount = heat.beta * heat.beta / (heat.beta + k)
    cdef double magnitude = 0.0
    for f in range(d):
        W[f * n_classes + own] += amount * row[f]
        W[f * n_classes + winner] -= amount * row[f]
    length[own] = length_of(W, d, n_classes, own)
    length[winner] = length_of(W, d, n_classes, winner)
    for c in range(n_classes):
        magnitude += length[c]
    if magnitude < heat.magnitude and heat.rose:
        heat.beta = heat.rate * heat.beta - heat.step
    heat.rose = magnitude > heat.magnitude
    heat.magnitude = magnitude


cdef inline bint over(TrainingWatch watch, i64* work, i64 more) noexcept nogil:
    """Whether training is to end, which is asked now and then."""
    work[0] += more
    if work[0] < WORK_BETWEEN_LOOKS:
        return False
    work[0] = 0
    return watch.look()


cdef bint settled(const double[:, ::1] Y, const i32[::1] classes, const double[::1] square,
                  const double* W, double[::1] score, const Heat* heat, TrainingWatch watch,
                  i64* work) noexcept nogil:
    """Whether no row is wrong, or none of those that are is near enough to be corrected."""
    cdef i64 row, winner
    cdef double far
    for row in range(Y.shape[0]):
        if over(watch, work, Y.shape[1] * score.shape[0]):
            return True
        winner = largest(W, &Y[row, 0], Y.shape[1], score.shape[0], &score[0])
        if winner != classes[row]:
            far = distance(score[winner], score[classes[row]], square[row], heat.epsilon)
            if far < heat.beta:
                return False
    return True


def train(const double[:, ::1] Y, const i32[::1] classes, const double[::1] times,
          double[:, ::1] W, u64 key, schedule, i64 max_passes, TrainingWatch watch=None):
    """Trains a machine in place; returns the number of corrections, of passes, and beta.

    Rows of `Y` begin with a 1, rows of `W` are the weight vectors of the classes. `times` says how
    often a row is shown in a pass; `schedule` is (beta, limit, rate, step, epsilon). Where `watch`
    says so, training ends with the machine as it is.
    """
    cdef i64 n = Y.shape[0], d = Y.shape[1], n_classes = W.shape[0]
    cdef i64 row, k, c, own, shown, winner, at_start, corrections = 0, passes = 0
    cdef i64 work = WORK_BETWEEN_LOOKS       # small trainings look once, too
    cdef double far
    cdef u64 state = key
    cdef Heat heat
    heat.beta, heat.limit, heat.rate, heat.step, heat.epsilon = schedule
    heat.rose = False
    heat.magnitude = 0.0
    squares, lengths, scores = np.empty(n), np.empty(n_classes), np.empty(n_classes)
    orders = np.empty(int(np.ceil(times).sum()), dtype=np.int64)
    turned = np.ascontiguousarray(np.asarray(W).T)
    cdef double[::1] square = squares, length = lengths, score = scores
    cdef i64[::1] order = orders
    cdef double[:, ::1] V = turned
    if watch is None:
        watch = TrainingWatch()
    with nogil:
        for row in range(n):
            square[row] = dot(&Y[row, 0], &Y[row, 0], d)
        for c in range(n_classes):
            length[c] = length_of(&V[0, 0], d, n_classes, c)
            heat.magnitude += length[c]
        while (passes < max_passes and not heat.beta < heat.limit
               and not watch.stop and not watch.late):
            passes += 1
            at_start = corrections
            shown = draw_order(times, order, &state)
            for k in range(shown):
                if over(watch, &work, d * n_classes):
                    break
                row = order[k]
                own = classes[row]
                winner = largest(&V[0, 0], &Y[row, 0], d, n_classes, &score[0])
                if winner == own:
                    continue
                far = distance(score[winner], score[own], square[row], heat.epsilon)
                if not far < heat.beta:
                    continue
                correct(&V[0, 0], d, n_classes, &length[0], &Y[row, 0], own, winner, far, &heat)
                corrections += 1
                if heat.beta < heat.limit:
                    break
            if corrections == at_start and settled(Y, classes, square, &V[0, 0], score, &heat,
                                                   watch, &work):
                break
    np.asarray(W)[:] = turned.T
    if watch.reason is not None:
        raise watch.reason
    return corrections, passes, heat.beta


def winners(const double[:, ::1] Y, W):
    """The class with the largest score of each row, the first one at ties."""
    cdef i64 row
    found, scores = np.empty(Y.shape[0], dtype=np.int32), np.empty(len(W))
    cdef i32[::1] out = found
    cdef double[::1] score = scores
    cdef const double[:, ::1] V = np.ascontiguousarray(np.asarray(W).T)
    with nogil:
        for row in range(Y.shape[0]):
            out[row] = <i32> largest(&V[0, 0], &Y[row, 0], Y.shape[1], score.shape[0], &score[0])
    return found
