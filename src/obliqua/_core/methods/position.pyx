"""A hyperplane that moves: its values at the rows of a node, and where it may go.

Coordinates: z = (x - shift) * scale, none of them below 0, and the hyperplane a.z + a_p with the
values v at the rows; above 0 is the right side. Two kinds of moves are searched exactly:

- a *turn* changes one coefficient, the constant too if wanted. A row crosses at -v / z;
- a *swing* goes along a direction r of the space of coefficients. With w = r.z + r_p a row
  crosses at -v / w; it leaves the right side there if w is negative, and enters it otherwise.

All crossings d are mapped to t = d / (scale + |d|), between -1 and 1, which needs no care for
rows that never cross and keeps far outliers from making the search's bins useless.
"""

from libc.math cimport INFINITY, ldexp
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from time import monotonic

import numpy as np

from obliqua._core.base.rng cimport draw_uniform, mix
from obliqua._core.base.types cimport Cut, allowed, i64, midpoint, u8, u64
from obliqua._core.grow.coding cimport column_spread
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.search.criterion cimport goodness, is_convex
from obliqua._core.search.gathered cimport search_gathered
from obliqua._core.search.swing cimport swing_free, swing_init, swing_search

cdef extern from "loops.h" nogil:
    void ob_crossings(double* t, const double* v, const double* z, double scale, i64 n)
    void ob_shifts(double* t, const double* v, double scale, i64 n)
    void ob_swings(double* t, u8* leaves, const double* v, const double* w, double scale, i64 n)
    void ob_add_multiple(double* v, const double* z, double d, i64 n)
    void ob_add_constant(double* v, double d, i64 n)
    i64 ob_count_above(const double* v, double at, i64 n)

cdef enum:
    MOST_CLASSES = 12        # whose divisions are all looked at, to know the best one
    WORK_BETWEEN_LOOKS = 1 << 20     # at the clock

cdef double TIE = 1e-12      # crossings that are this near, in t, are one


cdef class Position(PlanningFinder):
    """Base of methods that move hyperplanes; `improve` says how."""

    cdef int reserve_starts(self, i64 n_starts, i64 capacity, bint helper, journal) except -1:
        """Makes room for so many hyperplanes that start somewhere and move."""
        cdef i64 p = self.n_features
        self.journal = journal
        self.has_deadline = journal.deadline is not None
        if self.has_deadline:
            self.deadline = journal.deadline
        self.n_starts = n_starts
        self.reserve(n_starts)
        self.z = <double*> malloc((1 if helper else capacity) * p * sizeof(double))
        self.shift = <double*> malloc(p * sizeof(double))
        self.reach = <double*> malloc(p * sizeof(double))
        self.tried = <i64*> calloc(n_starts, sizeof(i64))
        self.topped = <u8*> calloc(n_starts, sizeof(u8))
        self.a = <double*> calloc(p + 1, sizeof(double))
        self.v = <double*> malloc(capacity * sizeof(double))
        self.jump = <double*> malloc((p + 1) * sizeof(double))
        self.w = <double*> malloc(capacity * sizeof(double))
        self.leaves = <u8*> malloc(2 * capacity * sizeof(u8))
        self.right = <i64*> malloc(3 * self.n_classes * sizeof(i64))
        if (self.z == NULL or self.shift == NULL or self.reach == NULL or self.tried == NULL
                or self.topped == NULL or self.a == NULL or self.v == NULL or self.jump == NULL
                or self.w == NULL or self.leaves == NULL or self.right == NULL
                or not swing_init(&self.swings, self.n_classes)):
            raise MemoryError("no room to move hyperplanes")
        return 0

    def __dealloc__(self):
        free(self.z)
        free(self.shift)
        free(self.reach)
        free(self.tried)
        free(self.topped)
        free(self.a)
        free(self.v)
        free(self.jump)
        free(self.w)
        free(self.leaves)
        free(self.right)
        swing_free(&self.swings)

    # -- the node ----------------------------------------------------------------------------

    cdef void plan(self) noexcept nogil:
        """Each start is a task; its direction is found when it is looked at."""
        cdef i64 k, i, n = self.gathered.n, n_varying = 0
        cdef const double* x
        cdef double* z
        cdef double low
        if self.is_late(0):
            return
        for k in range(self.n_features):
            x = self.gathered.columns + k * n
            z = self.z + k * n
            low = self.gathered.low[k]
            self.shift[k] = low if self.from_zero or low < 0 else 0.0
            if low == self.gathered.high[k]:         # it would be one more constant
                memset(z, 0, n * sizeof(double))
                self.reach[k] = 0.0
                continue
            for i in range(n):
                z[i] = (x[i] - self.shift[k]) * self.scale[k]
            self.reach[k] = self.mean_size(self, z)
            n_varying += self.reach[k] > 0.0
        if n_varying < 2:
            return                           # there is nothing to turn
        if self.max_features < self.n_features:
            self.measure_spread()
        self.find_top()
        self.done = self.n_starts
        for k in range(self.n_starts):
            self.tried[k] = 0
            memset(self.vectors + k * self.n_features, 0, self.n_features * sizeof(double))
            self.add_task(self.n_features + k, False)

    cdef void measure_spread(self) noexcept nogil:
        cdef i64 k
        for k in range(self.n_features):
            self.spread[k] = column_spread(&self.gathered, k)

    cdef double mean_size(self, Position owner, const double* values) noexcept nogil:
        """The geometric mean of |values|, as a power of two.

        Exponents are whole numbers: their sum does not depend on the order of the rows, and a
        weight of two is the same as two rows.
        """
        cdef i64 i, exponent, weight, count = 0, total = 0
        cdef u64 bits
        for i in range(owner.gathered.n):
            memcpy(&bits, values + i, sizeof(double))
            exponent = <i64> (bits >> 52 & 0x7FF)
            if exponent:                     # neither 0 nor next to it
                weight = owner.gathered.weights[i] if owner.gathered.weighted else 1
                count += weight
                total += weight * (exponent - 1023)
        if count == 0:
            return 0.0
        exponent = total // count
        if total % count != 0 and total < 0:
            exponent -= 1                    # C divides towards 0
        return ldexp(1.0, <int> exponent)

    cdef void find_top(self) noexcept nogil:
        """The best that any split can do: whole classes on either side (of a convex measure)."""
        cdef int n_classes = self.scorer.n_sums, c
        cdef i64 chosen, weight
        cdef double score
        self.top = INFINITY
        if not is_convex(self.scorer.code) or n_classes > MOST_CLASSES:
            return
        self.top = 0.0
        for chosen in range(1, (<i64> 1) << (n_classes - 1)):
            weight = 0
            for c in range(n_classes):
                self.right[c] = self.scorer.counts[c] if chosen >> c & 1 else 0
                weight += self.right[c]
            score = goodness(self.scorer.code, self.right, self.scorer.counts, n_classes, weight,
                             self.scorer.weight, self.right + 2 * n_classes)
            self.top = max(self.top, score)

    cdef void clear_tasks(self) noexcept nogil:
        """Adds up what the tasks of the last node have tried, those that counted."""
        cdef i64 k
        for k in range(self.n_tasks):
            self.total_tried += self.tried[k]
            if self.topped[k]:
                break
        memset(self.topped, 0, self.n_starts * sizeof(u8))
        self.n_tasks = 0

    def last_direction(self):
        """The last direction that counts: later ones may have been tried, by other threads."""
        cdef i64 k
        for k in range(self.n_tasks):
            if self.topped[k]:
                return self.n_features + k
        return self.n_features + self.n_tasks

    def finished(self):
        """Reports what was tried."""
        self.clear_tasks()
        if self.journal is not None:
            self.journal.tried += self.total_tried
            self.journal.timed_out |= bool(self.late)
        self.total_tried = 0
        if self.trouble is not None:
            raise self.trouble

    cdef bint stopped(self, Position owner, i64 work) noexcept nogil:
        """Whether the user or the clock says stop; lets Ctrl-C through. work: rows x moves."""
        if self.columns is not None:
            self.columns.mind_signals(work)
            if self.columns.stop:
                return True
        return self.is_late(work) or owner.trouble is not None

    cdef bint is_late(self, i64 work) noexcept nogil:
        """Whether the time is over."""
        self.work += work
        if self.late or not self.has_deadline:
            return self.late
        if self.work >= WORK_BETWEEN_LOOKS or work == 0 or self.measure is not None:
            self.work = 0
            with gil:
                self.late = monotonic() > self.deadline
        return self.late

    # -- a hyperplane ------------------------------------------------------------------------

    cdef void place(self, Position owner) noexcept nogil:
        """Computes the values of the hyperplane at all rows, and how good it is."""
        cdef i64 k, i, n = owner.gathered.n
        cdef i64 p = self.n_features
        for i in range(n):
            self.v[i] = self.a[p]
        for k in range(p):
            if self.a[k] != 0.0:
                ob_add_multiple(self.v, owner.z + k * n, self.a[k], n)
        self.mean_value = self.mean_size(owner, self.v)
        self.assess(owner)

    cdef void assess(self, Position owner) noexcept nogil:
        """Counts the classes on the right side and scores the hyperplane."""
        cdef i64 i, rows = 0, weight = 0, here
        cdef int k, n_classes = owner.scorer.n_sums
        cdef i64 first, last
        memset(self.right, 0, n_classes * sizeof(i64))
        for k in range(owner.gathered.n_present):
            first = owner.gathered.starts[k]
            last = owner.gathered.starts[k + 1]
            if first == last:
                continue
            here = ob_count_above(self.v + first, 0.0, last - first)
            rows += here
            if owner.gathered.weighted:
                here = 0
                for i in range(first, last):
                    if self.v[i] > 0.0:
                        here += owner.gathered.weights[i]
            self.right[self.memory.work.classes[first]] = here
            weight += here
        if not allowed(&owner.scorer, rows, weight):
            self.score = -1.0
        elif owner.measure is None:
            self.score = goodness(owner.scorer.code, self.right, owner.scorer.counts, n_classes,
                                  weight, owner.scorer.weight, self.right + n_classes)
        else:
            self.ask_score(owner)

    cdef i64 start_column(self, const Cut* best) noexcept nogil:
        """The column of the best cut; -1: it is none, or may have won by what is missing."""
        if self.coding.n_absent or best.direction >= self.n_features:
            return -1
        return best.direction

    cdef bint start_at_axis(self, Position owner, i64 column) noexcept nogil:
        """Places the hyperplane at the best cut of a column, -1: of any; False without one."""
        cdef i64 n = owner.gathered.n, k
        cdef Cut cut
        cut.score = 0.0
        cut.direction = self.n_features
        cut.rows_left = 0
        for k in range(self.n_features):
            if column < 0 or column == k:
                memcpy(self.memory.work.values, owner.gathered.columns + k * n, n * sizeof(double))
                if owner.measure is None:
                    search_gathered(&self.memory, &owner.gathered, 0.0, &owner.scorer, k, &cut)
                else:
                    self.ask_best(owner, NULL, k, 0.0, False, &cut)
        if cut.direction == self.n_features:
            return False
        column = cut.direction
        memset(self.a, 0, (self.n_features + 1) * sizeof(double))
        self.a[column] = 1.0
        self.a[self.n_features] = -((midpoint(cut.below, cut.above) - owner.shift[column])
                                    * self.scale[column])
        self.place(owner)
        return True

    cdef void draw_coefficients(self, Position owner, double* a) noexcept nogil:
        """Random numbers between -1 and 1; 0 for a feature that does not vary."""
        cdef i64 k
        for k in range(self.n_features + 1):
            a[k] = 2.0 * draw_uniform(&self.stream) - 1.0
            if k < self.n_features and owner.reach[k] == 0.0:
                a[k] = 0.0

    cdef void start_anywhere(self, Position owner) noexcept nogil:
        """Places the hyperplane at random: each coefficient between -1 and 1."""
        self.draw_coefficients(owner, self.a)
        self.place(owner)
        self.n_tried += 1

    cdef Move best_along(self, Position owner, bint swings, double scale,
                         double bar) noexcept nogil:
        """The best place between the crossings in memory.work.values, if it reaches `bar`."""
        cdef Cut cut
        cdef Move move
        move.amount = 0.0
        move.score = -1.0
        move.found = False
        cut.score = max(bar, 0.0)
        cut.direction = 1                # so that an equal score replaces it
        cut.rows_left = 0
        cut.below = cut.above = 0.0
        self.n_tried += 1
        if owner.measure is not None:
            self.ask_best(owner, self.leaves if swings else NULL, 0, TIE, True, &cut)
        elif swings:
            swing_search(&self.swings, &self.memory, &owner.gathered, self.leaves, TIE,
                         &owner.scorer, &cut)
        else:
            search_gathered(&self.memory, &owner.gathered, TIE, &owner.scorer, 0, &cut)
        if cut.direction == 0:
            move.amount = amount_between(cut.below, cut.above, scale)
            move.score = cut.score
            move.found = move.amount - move.amount == 0.0
        return move

    cdef Move turn(self, Position owner, i64 k, double bar) noexcept nogil:
        """The best change of coefficient k (the last one is the constant)."""
        cdef i64 n = owner.gathered.n
        cdef double scale
        cdef Move none
        if k == self.n_features:
            scale = power_of_two(self.mean_value)
            ob_shifts(self.memory.work.values, self.v, scale, n)
        else:
            if owner.reach[k] == 0.0:        # all rows are 0 there
                none.found = False
                return none
            scale = power_of_two(self.mean_value / owner.reach[k])
            ob_crossings(self.memory.work.values, self.v, owner.z + k * n, scale, n)
        return self.best_along(owner, False, scale, bar)

    cdef Move swing(self, Position owner, double bar) noexcept nogil:
        """The best place along a random direction, which it draws."""
        cdef double scale
        self.draw_jump(owner)
        scale = self.reach_of_jump(owner)
        return self.best_along(owner, True, scale, bar)

    cdef void draw_jump(self, Position owner) noexcept nogil:
        """A random direction of the space of coefficients, and its values at the rows."""
        cdef i64 k, i, n = owner.gathered.n
        cdef i64 p = self.n_features
        self.draw_coefficients(owner, self.jump)
        for i in range(n):
            self.w[i] = self.jump[p]
        for k in range(p):
            if self.jump[k] != 0.0:
                ob_add_multiple(self.w, owner.z + k * n, self.jump[k], n)

    cdef double reach_of_jump(self, Position owner) noexcept nogil:
        """Finds where the rows cross along the jump; returns the scale of these numbers."""
        cdef double scale = power_of_two(self.mean_value / self.mean_size(owner, self.w))
        ob_swings(self.memory.work.values, self.leaves, self.v, self.w, scale, owner.gathered.n)
        return scale

    cdef void apply_turn(self, Position owner, i64 k, const Move* move) noexcept nogil:
        self.a[k] += move.amount
        if k == self.n_features:
            ob_add_constant(self.v, move.amount, owner.gathered.n)
        else:
            ob_add_multiple(self.v, owner.z + k * owner.gathered.n, move.amount, owner.gathered.n)
        self.score = move.score
        if owner.trail is not None:
            self.note(owner)

    cdef void apply_swing(self, Position owner, const Move* move) noexcept nogil:
        cdef i64 k
        for k in range(self.n_features + 1):
            self.a[k] += move.amount * self.jump[k]
        ob_add_multiple(self.v, self.w, move.amount, owner.gathered.n)
        self.score = move.score
        if owner.trail is not None:
            self.note(owner)

    # -- what the engine asks ----------------------------------------------------------------

    cdef void improve(self, Position owner, i64 task, const Cut* best) noexcept nogil:
        """Moves a hyperplane from the start with this number; the result stands in `a`."""
        pass

    cdef void search_task(self, PlanningFinder owner, i64 task, i64 first, i64 last,
                          Cut* best) noexcept nogil:
        """Moves a hyperplane, and offers its direction: all its cuts, so also the one it has."""
        if first == 0:
            self.look_at(<Position> owner, task, best)

    cdef void look_at(self, Position owner, i64 task, Cut* best) noexcept nogil:
        """Runs a task, unless an earlier one leaves nothing to find, or the time is over.

        What counts is the cut that is offered, not what the climb promised.
        """
        if task > owner.done or owner.late or self.late:
            return
        self.run(owner, task, best)
        owner.late |= self.late
        PlanningFinder.search_task(self, owner, task, 0, 1, best)
        if best.direction == self.n_features + task and best.score >= owner.top:
            owner.topped[task] = True
            if task < owner.done:            # threads may miss a smaller one, and try too much
                owner.done = task

    cdef void run(self, Position owner, i64 task, const Cut* best) noexcept nogil:
        """Moves a hyperplane from its start to its end, and notes the end."""
        self.n_tried = 0
        self.stream = mix(owner.key, <u64> task)
        self.score = -1.0
        self.improve(owner, task, best)
        owner.tried[task] = self.n_tried
        memcpy(owner.vectors + task * self.n_features, self.a, self.n_features * sizeof(double))

    def directions(self):
        """All directions of the node that was loaded, for criteria in Python."""
        cdef Cut none
        cdef i64 task
        none.score = 0.0
        none.direction = -1
        none.rows_left = 0
        for task in range(self.n_tasks):
            with nogil:
                self.run(self, task, &none)
            self.raise_trouble()
        return PlanningFinder.directions(self)

    def follow(self, i64 task):
        """Runs one start of the node that was loaded and tells its way.

        A list of (normal, threshold, score): where it starts, and where each change leads.
        """
        cdef Cut none
        none.score = 0.0
        none.direction = -1
        none.rows_left = 0
        self.trail = []
        with nogil:
            self.run(self, task, &none)
        trail = self.trail
        self.trail = None
        if self.trouble is not None:
            raise self.trouble
        return trail

    cdef void note(self, Position owner) noexcept nogil:
        """Adds where the hyperplane is now to the trail, in the units of the features."""
        cdef i64 k
        with gil:
            normal = np.array([self.a[k] * self.scale[k] for k in range(self.n_features)])
            shift = np.array([owner.shift[k] for k in range(self.n_features)])
            threshold = float(normal @ shift) - self.a[self.n_features]
            owner.trail.append((normal, threshold, self.score))

    # -- criteria in Python ------------------------------------------------------------------

    cdef void ask_score(self, Position owner) noexcept nogil:
        cdef i64 c
        with gil:
            try:
                sums = np.empty(owner.scorer.n_sums, dtype=np.int64)
                for c in range(owner.scorer.n_sums):
                    sums[c] = self.right[c]
                self.score = owner.measure.score(sums)
            except BaseException as error:
                owner.trouble = error
                self.score = -1.0


cdef class SelectingPosition(Position):
    """Base of methods that can do without some features."""

    cdef int reserve_selection(self, i64 capacity) except -1:
        self.active = <u8*> malloc(self.n_features * sizeof(u8))
        self.trial = <double*> malloc(capacity * sizeof(double))
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
                if self.stopped(owner, owner.gathered.n):
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
        cdef i64 n = owner.gathered.n
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
