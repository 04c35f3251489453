"""OC1's climb (Murthy, Kasif, Salzberg 1994).

Coefficients change one by one, and random jumps help out where that leads no further. Beside the
axis-parallel split and random hyperplanes, a climb may start where a *guide* shows: another
finder, whose best direction is the start.
"""

from libc.math cimport fabs
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from obliqua._core.base.rng cimport draw, draw_uniform
from obliqua._core.base.types cimport Cut, Scorer, i32, i64, midpoint, u64
from obliqua._core.grow.finder cimport FitData
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.methods.position cimport Move, Position, SelectingPosition
from obliqua._core.search.criterion cimport TWOING
from obliqua._core.search.direction cimport tolerance_for
from obliqua._core.search.gathered cimport search_gathered

cdef extern from "loops.h" nogil:
    void ob_add_multiple(double* v, const double* z, double d, i64 n)

cdef enum:
    SEQUENTIAL = 0
    BEST = 1
    RANDOM = 2

cdef enum:
    BACKWARD = 1
    FORWARD = 2

cdef double NO_MOVE = 1e-9           # of a coefficient: a change this small is none
cdef double NO_GAIN = 1e-12          # of a score


cdef class ClimbFinder(SelectingPosition):
    """Climbs from several starts; `settings` is an `obliqua.methods.oc1.Climb`."""

    cdef int order
    cdef i64 n_picks         # coefficients that order RANDOM picks
    cdef i64 n_jumps
    cdef i64 most_equal      # moves without gain between two improvements
    cdef i64 most_idle       # passes without gain
    cdef bint fading         # the paper's rule: they become less likely instead
    cdef double fall         # by how much each time
    cdef bint axis_start
    cdef int selection       # of features
    cdef double forward_share    # of the gain so far, that one more feature must bring
    cdef bint constant       # whether the constant changes too
    cdef bint blind          # jumps take no heed of signs, as in the original program
    cdef i64 n_equal         # moves without gain since the last improvement
    cdef PlanningFinder guide  # None: no such start
    cdef bint has_guide      # and it has shown one at this node
    cdef double* best_a
    cdef double* spare_a
    cdef double best_score

    def __cinit__(self, i64 n_features, int n_classes, i64 capacity, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False, bint wide=False):
        self.order = ("sequential", "best", "random").index(settings.order)
        self.n_picks = settings.n_picks or 10 * (n_features + 1)
        self.n_jumps = settings.n_jumps
        self.most_equal = settings.most_equal
        self.fading = settings.stagnation == "paper" and self.most_equal > 0
        self.fall = 1.0 / max(self.most_equal, 1)
        self.most_idle = max(11, self.most_equal)
        self.axis_start = settings.axis_start
        self.selection = (None, "backward", "forward").index(settings.selection)
        self.beta = settings.beta if settings.selection == "backward" else -1.0
        self.forward_share = settings.beta
        self.constant = settings.perturb_constant
        self.blind = settings.jump_search == "program"
        self.min_rows = settings.min_rows
        self.from_zero = settings.from_zero
        self.reserve_starts(settings.n_restarts, capacity, helper, settings.journal)
        self.reserve_selection(capacity)
        self.guide = None if helper else settings.guide
        self.best_a = <double*> malloc((n_features + 1) * sizeof(double))
        self.spare_a = <double*> malloc((n_features + 1) * sizeof(double))
        if self.best_a == NULL or self.spare_a == NULL:
            raise MemoryError("no room to climb")

    def __dealloc__(self):
        free(self.best_a)
        free(self.spare_a)

    cdef void improve(self, Position owner, i64 task, const Cut* best) noexcept nogil:
        cdef bint started = False
        if task == 0 and self.axis_start:
            started = self.start_at_axis(owner, owner.start_column(best))
        elif self.selection == FORWARD:
            started = self.start_at_some_axis(owner)
        elif task == self.axis_start:
            started = self.start_at_guide(<ClimbFinder> owner, (<ClimbFinder> owner).guide)
        if not started and self.selection == FORWARD:
            memset(self.a, 0, (self.n_features + 1) * sizeof(double))
            return                           # no feature to begin with
        if not started:
            self.start_anywhere(owner)
        if owner.trail is not None:
            self.note(owner)
        self.activate(owner)
        if self.selection == FORWARD:
            self.add_features(owner)
            return
        self.climb(owner)
        if (self.selection == BACKWARD or self.max_features < self.n_features) and self.leave_out(
                owner):
            self.climb(owner)

    cdef bint start_at_some_axis(self, Position owner) noexcept nogil:
        """Places the hyperplane at the best cut of a random feature, or of the next with one."""
        cdef i64 _, k = <i64> (draw(&self.stream) % <u64> self.n_features)
        for _ in range(self.n_features):
            if owner.reach[k] > 0.0 and self.start_at_axis(owner, k):
                return True
            k = (k + 1) % self.n_features
        return False

    cdef void add_features(self, Position owner) noexcept nogil:
        """Starts with the feature of a cut and lets others join, the one that gains most first."""
        cdef i64 k, chosen, n_there = 0
        cdef double alone = self.score, before
        cdef Move move, best
        for k in range(self.n_features):
            self.active[k] = self.a[k] != 0.0
            n_there += self.active[k]
        while (n_there < self.max_features and self.score < owner.top
               and not self.stopped(owner, owner.gathered.n * self.n_features)):
            chosen = -1
            best.score = self.score
            for k in range(self.n_features):
                if not self.active[k] and owner.reach[k] > 0.0:
                    move = self.turn(owner, k, self.score)
                    if move.found and self.gains(move.score) and move.score > best.score:
                        best = move
                        chosen = k
            if chosen < 0:
                return
            before = self.score
            memcpy(self.spare_a, self.a, (self.n_features + 1) * sizeof(double))
            self.active[chosen] = True
            n_there += 1
            self.apply_turn(owner, chosen, &best)
            self.place(owner)
            self.climb(owner)
            if self.score - before <= self.forward_share * (self.score - alone):
                memcpy(self.a, self.spare_a, (self.n_features + 1) * sizeof(double))
                self.place(owner)        # it is not worth one more feature
                return

    cdef void climb(self, Position owner) noexcept nogil:
        """Moves the coefficients of active features until nothing helps."""
        cdef i64 idle = 0
        self.n_equal = 0
        self.keep()
        if self.order == RANDOM:
            self.climb_at_random(owner)
            return
        while self.score < owner.top and not self.stopped(owner,
                                                          owner.gathered.n * self.n_features):
            if not self.one_pass(owner) and not self.try_jumps(owner):
                break
            self.place(owner)            # sums that were added to for long lose digits
            if self.score > self.best_score:
                self.keep()
                idle = 0
            else:                        # crossings so near to each other need not be kept apart
                idle += 1
                if idle > self.most_idle:
                    break
        self.restore(owner)

    cdef void plan(self) noexcept nogil:
        """Asks the guide for its direction, beside what all positions plan."""
        cdef Cut cut
        Position.plan(self)
        self.has_guide = False
        if self.guide is None or self.n_tasks == 0:
            return
        cut.score = 0.0
        cut.direction = -1
        cut.rows_left = 0
        self.guide.clear_tasks()
        self.guide.plan()
        self.guide.search(self.guide, 0, self.guide.n_tasks * self.n_features, &cut)
        if cut.direction >= self.n_features:
            self.guide.choose_direction(cut.direction)
            self.has_guide = self.guide.n_coef > 1

    cdef void read(self, const FitData* data, const i32* rows, i64 n,
                   const Scorer* scorer) noexcept nogil:
        cdef Scorer plain = scorer[0]
        PlanningFinder.read(self, data, rows, n, scorer)
        if self.guide is not None and not self.is_small(rows, n):
            if plain.code < 0:               # a criterion in Python: the guide takes twoing
                plain.code = TWOING
            self.guide.read(data, rows, n, &plain)

    def set_coding(self, const i32[::1] columns, const i32[::1] n_levels,
                   const double[::1] usual, bint by_node, bint sides, bint only):
        """Says which columns are coded, to the guide too."""
        PlanningFinder.set_coding(self, columns, n_levels, usual, by_node, sides, only)
        if self.guide is not None:
            self.guide.set_coding(columns, n_levels, usual, by_node, sides, only)

    cdef bint start_at_guide(self, ClimbFinder owner, PlanningFinder guide) noexcept nogil:
        """Places the hyperplane at the best cut of the guide's direction; False without one."""
        cdef i64 i, k, p = self.n_features
        cdef Cut cut
        cdef double largest
        if not owner.has_guide:
            return False
        for i in range(p + 1):
            self.a[i] = 0.0
        largest = guide.project(&guide.gathered)
        cut.score = 0.0
        cut.direction = -1
        cut.rows_left = 0
        search_gathered(&guide.memory, &guide.gathered, tolerance_for(largest, guide.n_coef),
                        &guide.scorer, 0, &cut)
        if cut.direction < 0:
            return False
        self.a[p] = -midpoint(cut.below, cut.above)
        for i in range(guide.n_coef):
            k = guide.idx[i]
            self.a[k] = guide.coef[i] / self.scale[k]
            self.a[p] += guide.coef[i] * owner.shift[k]
        self.place(owner)
        return True

    cdef void keep(self) noexcept nogil:
        """Remembers the hyperplane, which is the best so far."""
        memcpy(self.best_a, self.a, (self.n_features + 1) * sizeof(double))
        self.best_score = self.score

    cdef void restore(self, Position owner) noexcept nogil:
        """Goes back to the best hyperplane, if this one is worse."""
        if self.score < self.best_score:
            memcpy(self.a, self.best_a, (self.n_features + 1) * sizeof(double))
            self.place(owner)

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
            return draw_uniform(&self.stream) < 1.0 - self.fall * (<double> (self.n_equal - 1))
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
                if k < self.n_features and not self.active[k]:
                    continue
                move = self.turn(owner, k, self.score)
                if self.accepts(&move) and self.change(owner, k, &move):
                    moved = True
                    if self.score >= owner.top:
                        break
            return moved
        best.score = -1.0
        for k in range(last):
            if k < self.n_features and not self.active[k]:
                continue
            move = self.turn(owner, k, self.score)
            if move.found and move.score > best.score:
                best = move
                chosen = k
        return chosen >= 0 and self.accepts(&best) and self.change(owner, chosen, &best)

    cdef void draw_coefficients(self, Position owner, double* a) noexcept nogil:
        cdef i64 k
        Position.draw_coefficients(self, owner, a)
        if a == self.jump:
            for k in range(self.n_features):
                if not self.active[k]:
                    a[k] = 0.0

    cdef bint try_jumps(self, Position owner) noexcept nogil:
        """Up to so many random directions; stops at the first that is better."""
        cdef i64 _
        cdef Move move
        for _ in range(self.n_jumps):
            if self.stopped(owner, owner.gathered.n * self.n_features):
                return False
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
        cdef i64 k, n = owner.gathered.n
        self.draw_jump(owner)
        move = self.best_along(owner, False, self.reach_of_jump(owner), -1.0)
        if not move.found:
            return False
        memcpy(self.trial, self.v, n * sizeof(double))
        ob_add_multiple(self.v, self.w, move.amount, n)
        self.assess(owner)
        if not self.score > before:
            memcpy(self.v, self.trial, n * sizeof(double))
            self.score = before
            return False
        for k in range(self.n_features + 1):
            self.a[k] += move.amount * self.jump[k]
        if owner.trail is not None:
            self.note(owner)
        return True

    cdef void climb_at_random(self, Position owner) noexcept nogil:
        cdef i64 pick, k
        cdef Move move
        for pick in range(self.n_picks):
            if self.score >= owner.top or self.stopped(owner, owner.gathered.n * self.n_features):
                break
            k = <i64> (draw(&self.stream) % <u64> (self.n_features + 1))
            move.found = False
            if k == self.n_features or self.active[k]:
                move = self.turn(owner, k, self.score)
            if not (self.accepts(&move) and self.change(owner, k, &move)):
                self.try_jumps(owner)
            if pick % 16 == 15 or pick == self.n_picks - 1:
                self.place(owner)
                if self.score > self.best_score:
                    self.keep()
        self.restore(owner)
