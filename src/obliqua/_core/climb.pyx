"""OC1's climb (Murthy, Kasif, Salzberg 1994): coefficients change one by one, jumps help it out."""

from libc.math cimport fabs
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from obliqua._core.position cimport Move, Position
from obliqua._core.rng cimport draw, draw_uniform
from obliqua._core.types cimport Cut, i64

cdef enum:
    SEQUENTIAL = 0
    BEST = 1
    RANDOM = 2

cdef double NO_MOVE = 1e-9           # of a coefficient: a change this small is none
cdef double NO_GAIN = 1e-12          # of a score


cdef class Climb(Position):
    """Climbs from several starts; `settings` is an `obliqua.methods.oc1.Climb`."""

    cdef int order
    cdef i64 n_picks         # coefficients that order RANDOM picks
    cdef i64 n_jumps
    cdef i64 most_equal      # moves without gain between two improvements
    cdef bint fading         # the paper's rule: they become less likely instead
    cdef bint axis_start
    cdef bint constant       # whether the constant changes too
    cdef bint blind          # jumps take no heed of signs, as in the original program
    cdef i64 n_equal         # moves without gain since the last improvement
    cdef double* best_a
    cdef double best_score

    def __cinit__(self, i64 n_features, int n_classes, i64 room, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False):
        self.order = ("sequential", "best", "random").index(settings.order)
        self.n_picks = settings.n_picks or 10 * (n_features + 1)
        self.n_jumps = settings.n_jumps
        self.most_equal = settings.most_equal
        self.fading = settings.stagnation == "paper"
        self.axis_start = settings.axis_start
        self.constant = settings.perturb_constant
        self.blind = settings.jump_search == "program"
        self.min_rows = settings.min_rows
        self.from_zero = settings.from_zero
        self.journal = settings.journal
        self.has_deadline = settings.journal.deadline is not None
        if self.has_deadline:
            self.deadline = settings.journal.deadline
        self.reserve_starts(settings.n_restarts, room, helper)
        self.best_a = <double*> malloc((n_features + 1) * sizeof(double))
        if self.best_a == NULL:
            raise MemoryError("no room to climb")

    def __dealloc__(self):
        free(self.best_a)

    cdef void improve(self, Position owner, i64 task, const Cut* best) noexcept nogil:
        cdef i64 idle = 0
        if task > 0 or not self.axis_start or not self.start_at_axis(
                owner, best.direction if best.direction < self.n_features else -1):
            self.start_anywhere(owner)
        self.n_equal = 0
        if owner.trail is not None:
            self.note(owner)
        if self.order == RANDOM:
            self.climb_at_random(owner)
            return
        self.keep()
        while self.score < owner.top and not self.stopped(owner):
            if not self.one_pass(owner) and not self.try_jumps(owner):
                break
            self.place(owner)            # sums that were added to for long lose digits
            if self.score > self.best_score:
                self.keep()
                idle = 0
            else:                        # crossings so near to each other need not be kept apart
                idle += 1
                if idle > self.most_equal:
                    break
        self.restore(owner)

    cdef void keep(self) noexcept nogil:
        """Remembers the hyperplane, which is the best so far."""
        memcpy(self.best_a, self.a, (self.n_features + 1) * sizeof(double))
        self.best_score = self.score

    cdef void restore(self, Position owner) noexcept nogil:
        """Goes back to the best hyperplane, if this one is worse."""
        if self.score < self.best_score:
            memcpy(self.a, self.best_a, (self.n_features + 1) * sizeof(double))
            self.score = self.best_score

    cdef bint stopped(self, Position owner) noexcept nogil:
        """Whether the user or the clock says stop; lets Ctrl-C through."""
        cdef i64 work = owner.sheet.n * self.n_features
        if self.columns is not None:
            self.columns.mind_signals(work)
            if self.columns.stop:
                return True
        return self.is_late(work) or owner.trouble is not None

    cdef bint gains(self, double score) noexcept nogil:
        """Whether a score is higher, by more than entropies of equal splits may differ."""
        return score > self.score + NO_GAIN * fabs(self.score)

    cdef bint accepts(self, const Move* move) noexcept nogil:
        """OC1's rule: any gain; and as good as before, for a while."""
        if not move.found:
            return False
        if self.gains(move.score):
            self.n_equal = 0
            return True
        if move.score < self.score:
            return False
        self.n_equal += 1
        if self.fading:
            return draw_uniform(&self.stream) < 1.0 - 0.1 * (<double> (self.n_equal - 1))
        return self.n_equal <= self.most_equal

    cdef bint change(self, Position owner, i64 k, const Move* move) noexcept nogil:
        """Applies a change of a coefficient; False if it is too small to be one."""
        if fabs(move.amount) <= NO_MOVE * fabs(self.a[k]):
            self.score = move.score
            return False
        self.apply_turn(owner, k, move)
        return True

    cdef bint one_pass(self, Position owner) noexcept nogil:
        """Each coefficient once, or the best change of any; whether anything moved."""
        cdef i64 k, last = self.n_features + self.constant
        cdef i64 chosen = -1
        cdef bint moved = False
        cdef Move move, best
        if self.order == SEQUENTIAL:
            for k in range(last):
                move = self.turn(owner, k, self.score)
                if self.accepts(&move) and self.change(owner, k, &move):
                    moved = True
                    if self.score >= owner.top:
                        break
            return moved
        best.score = -1.0
        for k in range(last):
            move = self.turn(owner, k, self.score)
            if move.found and move.score > best.score:
                best = move
                chosen = k
        return chosen >= 0 and self.accepts(&best) and self.change(owner, chosen, &best)

    cdef bint try_jumps(self, Position owner) noexcept nogil:
        """Up to so many random directions; stops at the first that is better."""
        cdef i64 k
        cdef Move move
        for k in range(self.n_jumps):
            if self.blind:
                if self.jump_blindly(owner):
                    self.n_equal = 0
                    return True
                continue
            move = self.swing(owner, self.score)
            if move.found and self.gains(move.score):
                self.apply_swing(owner, &move)
                self.n_equal = 0
                return True
        return False

    cdef bint jump_blindly(self, Position owner) noexcept nogil:
        """As in the original program: every row is taken to enter the right side on its way.

        What that makes the best place is then looked at as it is.
        """
        cdef Move move
        cdef double before = self.score
        self.draw_jump(owner)
        move = self.best_along(owner, False, self.reach_of_jump(owner), -1.0)
        if not move.found:
            return False
        self.apply_swing(owner, &move)
        self.assess(owner)
        if self.score > before:
            return True
        move.amount = -move.amount
        self.apply_swing(owner, &move)
        self.score = before
        return False

    cdef void climb_at_random(self, Position owner) noexcept nogil:
        cdef i64 pick, k
        cdef Move move
        self.keep()
        for pick in range(self.n_picks):
            if self.score >= owner.top or self.stopped(owner):
                break
            k = <i64> (draw(&self.stream) % <unsigned long long> (self.n_features + 1))
            move = self.turn(owner, k, self.score)
            if not (self.accepts(&move) and self.change(owner, k, &move)):
                self.try_jumps(owner)
            if pick % 16 == 15 or pick == self.n_picks - 1:
                self.place(owner)
                if self.score > self.best_score:
                    self.keep()
        self.restore(owner)
