"""A hyperplane that moves, and chooses its features."""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc

from obliqua._core.position cimport Move, Position
from obliqua._core.types cimport i64, u8


cdef class Selecting(Position):
    """Base of methods that can do without some features."""

    cdef int reserve_selection(self, i64 room) except -1:
        self.active = <u8*> malloc(self.n_features * sizeof(u8))
        self.trial = <double*> malloc(room * sizeof(double))
        if self.active == NULL or self.trial == NULL:
            raise MemoryError("no room to choose features")
        return 0

    def __dealloc__(self):
        free(self.active)
        free(self.trial)

    cdef void activate(self, Position owner) noexcept nogil:
        """Lets all features take part that vary at the node."""
        cdef i64 k
        for k in range(self.n_features):
            self.active[k] = owner.reach[k] > 0.0

    cdef bint move_constant(self, Position owner) noexcept nogil:
        cdef Move move = self.turn(owner, self.n_features, 0.0)
        if move.found:
            self.apply_turn(owner, self.n_features, &move)
        return move.found

    cdef bint leave_out(self, Position owner) noexcept nogil:
        """Leaves out features that matter little, one by one; whether several others are left.

        The feature whose loss matters least goes if it matters less than `beta` times the one
        whose loss matters most (Breiman et al. 1984), or while there are too many.
        """
        cdef i64 k, n_there = 0, worst
        cdef bint changed = False
        cdef double highest, lowest, score
        for k in range(self.n_features):
            n_there += self.a[k] != 0.0
            self.active[k] = self.a[k] != 0.0
        while n_there > 1 and (self.beta >= 0.0 or n_there > self.max_features):
            worst = -1
            highest = -1.0
            lowest = INFINITY
            for k in range(self.n_features):
                if self.a[k] == 0.0:
                    continue
                if self.stopped(owner, owner.sheet.n):
                    return False
                score = self.score_without(owner, k)
                lowest = min(lowest, score)
                if score > highest:
                    highest = score
                    worst = k
            if n_there <= self.max_features and not (
                    self.score - highest < self.beta * (self.score - lowest)):
                break
            self.a[worst] = 0.0
            self.active[worst] = False
            n_there -= 1
            changed = True
            self.place(owner)
            self.move_constant(owner)
        return changed and n_there > 1

    cdef double score_without(self, Position owner, i64 k) noexcept nogil:
        """How good the hyperplane is without a feature, with the best constant for that."""
        cdef i64 n = owner.sheet.n
        cdef double* here = self.v
        cdef double mean_value = self.mean_value
        cdef i64 i
        cdef const double* z = owner.z + k * n
        cdef Move move
        for i in range(n):
            self.trial[i] = here[i] - self.a[k] * z[i]
        self.v = self.trial
        self.mean_value = self.mean_size(owner, self.trial)
        move = self.turn(owner, self.n_features, 0.0)
        self.v = here
        self.mean_value = mean_value
        return move.score if move.found else 0.0
