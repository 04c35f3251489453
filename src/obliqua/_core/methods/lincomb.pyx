"""CART-LC: linear combinations as in CART (Breiman et al. 1984), and as the OC1 program has them.

A hyperplane starts at the best axis-parallel cut. Feature by feature it moves along
r = e_k + gamma e_p for three values of gamma: its value v at a row becomes v + d (z_k + gamma), so
a row crosses at d = -v / (z_k + gamma), in one direction or the other with the sign of z_k +
gamma. A cycle ends with the best constant.
"""

from libc.math cimport fabs
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from obliqua._core.base.rng cimport draw_uniform
from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.types cimport Cut, i32, i64, midpoint, u8
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.methods.position cimport Move, Position, SelectingPosition, power_of_two
from obliqua._core.search.criterion cimport goodness

cdef extern from "loops.h" nogil:
    void ob_crossings(double* t, const double* v, const double* z, double scale, i64 n)
    void ob_swings(double* t, u8* leaves, const double* v, const double* w, double scale, i64 n)
    void ob_add_multiple(double* v, const double* z, double d, i64 n)

cdef enum:
    N_GAMMAS = 3

cdef double[N_GAMMAS] GAMMAS = [-0.25, 0.0, 0.25]
cdef double FARTHEST = 1e100         # without signs coefficients can grow for ever
cdef double BEFORE_ALL = 1e-4        # how far below all values the OC1 program looks


cdef class LinearCombinationFinder(SelectingPosition):
    """Moves one hyperplane; `settings` is an `obliqua.methods.cart_lc.LinearCombination`."""

    cdef bint standardise    # count from the median, in interquartile ranges, at each node
    cdef bint signless       # the OC1 program's search, which takes z + gamma for positive
    cdef bint reciprocal     # change is measured in 1 / goodness
    cdef i64 fewest_cycles
    cdef i64 most_cycles
    cdef double epsilon
    cdef i64 root_rows       # a node with so many rows is never too small; 0: no such node
    cdef double* node_scale  # per feature: the factor at the node that was read
    cdef double* lowest      # per feature: the smallest z
    cdef i32* index          # rows that the search without signs looks at
    cdef i64* tally          # class sums of these rows: all, those on the left, scratch

    def __cinit__(self, i64 n_features, int n_classes, i64 capacity, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False, bint wide=False):
        cdef i64 k
        self.standardise = settings.variant == "breiman"
        self.reciprocal = settings.variant == "oc1"
        self.signless = settings.sign == "ignored"
        self.fewest_cycles = 2 if settings.variant == "oc1" else 1
        self.most_cycles = settings.max_cycles
        self.epsilon = settings.epsilon
        self.beta = -1.0 if settings.beta is None else settings.beta
        self.min_rows = settings.min_rows
        self.root_rows = settings.root_rows
        self.reserve_starts(1, capacity, helper, settings.journal)
        self.reserve_selection(capacity)
        self.node_scale = <double*> malloc(n_features * sizeof(double))
        self.lowest = <double*> malloc(n_features * sizeof(double))
        self.index = <i32*> malloc(capacity * sizeof(i32))
        self.tally = <i64*> malloc(4 * n_classes * sizeof(i64))
        if (self.node_scale == NULL or self.lowest == NULL or self.index == NULL
                or self.tally == NULL):
            raise MemoryError("no room to move hyperplanes")
        if self.standardise:
            for k in range(n_features):
                self.node_scale[k] = 1.0
            self.scale = self.node_scale

    def __dealloc__(self):
        free(self.node_scale)
        free(self.lowest)
        free(self.index)
        free(self.tally)

    # -- the node ----------------------------------------------------------------------------

    cdef bint is_small(self, const i32* rows, i64 n) noexcept nogil:
        """As for every method; but the root is never too small where the method says so."""
        return n != self.root_rows and PlanningFinder.is_small(self, rows, n)

    cdef void plan(self) noexcept nogil:
        """One task: the hyperplane that starts at the best axis-parallel cut."""
        cdef i64 k, i, n = self.gathered.n
        cdef const double* x
        cdef double* z
        cdef double low, high
        if self.is_late(0):
            return
        for k in range(self.n_features):
            x = self.gathered.columns + k * n
            z = self.z + k * n
            self.shift[k] = 0.0
            if self.standardise:
                self.find_middle(k)
            low = (self.gathered.low[k] - self.shift[k]) * self.scale[k]
            high = (self.gathered.high[k] - self.shift[k]) * self.scale[k]
            self.lowest[k] = low
            self.reach[k] = 0.0
            if low == high or low - low != 0.0 or high - high != 0.0:
                memset(z, 0, n * sizeof(double))     # constant, or too large to count with
                continue
            for i in range(n):
                z[i] = (x[i] - self.shift[k]) * self.scale[k]
            self.reach[k] = self.mean_size(self, z)
        if self.max_features < self.n_features:
            self.measure_spread()
        self.find_top()
        self.done = self.n_starts
        self.tried[0] = 0
        memset(self.vectors, 0, self.n_features * sizeof(double))
        self.add_task(self.n_features, False)

    cdef void find_middle(self, i64 k) noexcept nogil:
        """Median and one over the interquartile range (the range, where that is 0)."""
        cdef i64 n = self.gathered.n, i, row, quarters = 1, below = 0
        cdef const double* x = self.gathered.columns + k * n
        cdef double[3] at
        cdef double factor
        sort_order(x, self.memory.work.order, n, &self.memory.work.buffers)
        for i in range(n):
            row = self.memory.work.order[i] & 0x7FFFFFFF
            below += self.gathered.weights[row] if self.gathered.weighted else 1
            while quarters <= 3 and 4 * below >= quarters * self.scorer.weight:
                at[quarters - 1] = x[row]
                quarters += 1
            if quarters > 3:
                break
        self.shift[k] = at[1]
        factor = at[2] - at[0] if at[2] > at[0] else self.gathered.high[k] - self.gathered.low[k]
        factor = 1.0 / factor if factor > 0.0 else 1.0
        self.node_scale[k] = factor if factor > 0.0 and factor - factor == 0.0 else 1.0

    # -- the way of the hyperplane -----------------------------------------------------------

    cdef void improve(self, Position owner, i64 task, const Cut* best) noexcept nogil:
        self.scale = owner.scale             # which may be that of the node
        self.activate(owner)
        if not self.start_at_axis(owner, owner.start_column(best)):
            self.start_in_the_middle(owner)
        if self.score >= owner.top:
            return                           # the axis-parallel cut itself
        self.settle(owner)
        if self.leave_out(owner):
            self.settle(owner)

    cdef void start_in_the_middle(self, Position owner) noexcept nogil:
        """Where no axis-parallel cut gains anything: the middle of the first feature."""
        cdef i64 k
        memset(self.a, 0, (self.n_features + 1) * sizeof(double))
        for k in range(self.n_features):
            if self.active[k]:
                self.a[k] = 1.0
                self.a[self.n_features] = -(
                    (midpoint(owner.gathered.low[k], owner.gathered.high[k]) - owner.shift[k])
                    * self.scale[k])
                break
        self.place(owner)

    cdef bint perfect(self, Position owner) noexcept nogil:
        """Whether nothing can be better; without signs only if both sides are pure."""
        cdef int c, n_mixed = 0
        if not self.signless:
            return self.score >= owner.top
        for c in range(owner.scorer.n_sums):
            n_mixed += 0 < self.right[c] and self.right[c] < owner.scorer.counts[c]
        return n_mixed == 0 and owner.gathered.n_present == 2 and self.score > 0.0

    cdef void settle(self, Position owner) noexcept nogil:
        """Cycles until the goodness changes no more."""
        cdef i64 cycle
        cdef double before, change
        for cycle in range(self.most_cycles):
            before = self.score
            if not self.one_cycle(owner):
                return
            change = fabs(self.score - before)
            if cycle + 1 < self.fewest_cycles:
                continue
            if self.reciprocal:              # |1 / score - 1 / before|, infinite for 0
                if before > 0.0 and self.score > 0.0 and (
                        change <= self.epsilon * self.score * before):
                    return
                if change == 0.0 and not self.signless:
                    return                   # of no use, and stays so
            elif change <= self.epsilon:
                return

    cdef bint one_cycle(self, Position owner) noexcept nogil:
        """Every feature once, then the constant; False: perfect, stuck, or told to stop."""
        cdef i64 k
        cdef bint moved = False
        for k in range(self.n_features):
            if not self.active[k]:
                continue
            if self.stopped(owner, owner.gathered.n * N_GAMMAS):
                return False
            if self.signless and owner.measure is None:
                self.guess_feature(owner, k)
                moved = True
            elif self.move_feature(owner, k):
                moved = True
            if moved and self.perfect(owner):
                return False
        self.place(owner)                    # sums that were added to lose digits
        if self.signless and owner.measure is None:
            self.guess_constant(owner)
        elif self.move_constant(owner):
            moved = True
        return moved and not self.perfect(owner)

    cdef bint move_feature(self, Position owner, i64 k) noexcept nogil:
        """Goes to the best place along three lines; the first of them wins ties."""
        cdef i64 n = owner.gathered.n
        cdef int g, chosen = -1
        cdef Move move, best
        best.score = -1.0
        for g in range(N_GAMMAS):
            move = self.along_line(<LinearCombinationFinder> owner, k, GAMMAS[g])
            if move.found and move.score > best.score:
                best = move
                chosen = g
        if chosen < 0:
            return False
        self.fill_line(owner, k, GAMMAS[chosen])
        ob_add_multiple(self.v, self.w, best.amount, n)
        self.a[k] += best.amount
        self.a[self.n_features] += best.amount * GAMMAS[chosen]
        self.score = best.score
        if owner.trail is not None:
            self.note(owner)
        return True

    cdef void fill_line(self, Position owner, i64 k, double gamma) noexcept nogil:
        cdef i64 i, n = owner.gathered.n
        cdef const double* z = owner.z + k * n
        for i in range(n):
            self.w[i] = z[i] + gamma

    cdef Move along_line(self, LinearCombinationFinder owner, i64 k, double gamma) noexcept nogil:
        """The best change of coefficient k and, by gamma times that, of the constant."""
        cdef i64 n = owner.gathered.n
        cdef double scale
        self.fill_line(owner, k, gamma)
        scale = power_of_two(self.mean_value / self.mean_size(owner, self.w))
        if owner.lowest[k] + gamma >= 0.0:   # all rows cross the same way
            ob_crossings(self.memory.work.values, self.v, self.w, scale, n)
            return self.best_along(owner, False, scale, 0.0)
        ob_swings(self.memory.work.values, self.leaves, self.v, self.w, scale, n)
        return self.best_along(owner, True, scale, 0.0)

    # -- without signs, as in the OC1 program ------------------------------------------------

    cdef void guess_feature(self, Position owner, i64 k) noexcept nogil:
        """Tries what the search promises for each gamma, and takes the best, however bad."""
        cdef i64 n = owner.gathered.n
        cdef int g, chosen = 0
        cdef double highest = -1.0, chosen_amount = 0.0, amount
        cdef double* here = self.v
        for g in range(N_GAMMAS):
            self.fill_line(owner, k, GAMMAS[g])
            amount = self.guess(owner)
            self.v = self.trial
            self.shifted(here, amount, n)
            self.assess(owner)
            self.v = here
            if max(self.score, 0.0) > highest:
                highest = max(self.score, 0.0)
                chosen = g
                chosen_amount = amount
        self.fill_line(owner, k, GAMMAS[chosen])
        self.a[k] += chosen_amount
        self.a[self.n_features] += chosen_amount * GAMMAS[chosen]
        ob_add_multiple(self.v, self.w, chosen_amount, n)
        self.assess(owner)

    cdef void guess_constant(self, Position owner) noexcept nogil:
        cdef i64 i, n = owner.gathered.n
        cdef double amount
        for i in range(n):
            self.w[i] = 1.0
        amount = self.guess(owner)
        self.a[self.n_features] += amount
        ob_add_multiple(self.v, self.w, amount, n)
        self.assess(owner)

    cdef void shifted(self, const double* here, double amount, i64 n) noexcept nogil:
        cdef i64 i
        for i in range(n):
            self.v[i] = here[i] + amount * self.w[i]

    cdef double guess(self, Position owner) noexcept nogil:
        """The best cut of v / w over the rows with w != 0, as if w were positive.

        Of equally good cuts a coin decides, so the last one is the likeliest.
        """
        cdef i64 n = owner.gathered.n, m = 0, i, j, row, weight = 0, total = 0, step
        cdef int n_classes = owner.scorer.n_sums
        cdef double* u = self.along
        cdef i64* left = self.tally + n_classes
        cdef double best = 0.0, delta, score
        memset(self.tally, 0, 2 * n_classes * sizeof(i64))
        for i in range(n):
            if self.w[i] != 0.0:
                u[m] = self.v[i] / self.w[i]
                self.index[m] = <i32> i
                step = owner.gathered.weights[i] if owner.gathered.weighted else 1
                self.tally[self.memory.work.classes[i]] += step
                total += step
                m += 1
        self.n_tried += 1
        if m == 0:
            return 0.0
        sort_order(u, self.memory.work.order, m, &self.memory.work.buffers)
        delta = u[self.memory.work.order[0] & 0x7FFFFFFF] - BEFORE_ALL
        for j in range(m):
            i = self.memory.work.order[j] & 0x7FFFFFFF
            row = self.index[i]
            step = owner.gathered.weights[row] if owner.gathered.weighted else 1
            left[self.memory.work.classes[row]] += step
            weight += step
            if j + 1 < m and u[self.memory.work.order[j + 1] & 0x7FFFFFFF] == u[i]:
                continue
            score = 0.0
            if weight < total:
                score = goodness(owner.scorer.code, left, self.tally, n_classes, weight, total,
                                 left + n_classes)
            if score > best or (score == best and draw_uniform(&self.stream) < 0.5):
                best = score
                delta = u[i]
                if j + 1 < m:
                    delta = midpoint(u[i], u[self.memory.work.order[j + 1] & 0x7FFFFFFF])
        return -delta if fabs(delta) <= FARTHEST else 0.0
