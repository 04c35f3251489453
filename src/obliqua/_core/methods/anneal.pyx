"""Simulated annealing of a hyperplane, after SADT (Heath, Kasif, Salzberg 1993).

Coordinates: z = (x - low) / (high - low) at the node, between 0 and 1; features that do not vary
there take no part. A move adds to one coefficient, or to all of them, and costs one pass over the
rows for each column that it touches. The values before the move are kept in a second array, so
that a move that is not accepted is taken back by exchanging the two.
"""

from libc.math cimport exp, fabs, frexp, ldexp
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from obliqua._core.base.rng cimport draw, draw_uniform
from obliqua._core.base.types cimport Cut, i64, midpoint
from obliqua._core.methods.position cimport Position

cdef extern from "loops.h" nogil:
    void ob_reflect(double* z, const double* x, const double* along, double scale, double factor,
                    i64 n)
    void ob_add_multiple(double* v, const double* z, double d, i64 n)
    void ob_add_constant(double* v, double d, i64 n)
    void ob_range(const double* values, i64 n, double* low, double* high)

cdef enum:
    MOVES_BETWEEN_LOOKS = 64         # at the clock, and for Ctrl-C
    MOVES_BETWEEN_SUMS = 256         # accepted ones: sums that were added to for long lose digits


cdef double TIE = 1e-12      # of a goodness: scores that differ by less are equal


cdef double worth(double score) noexcept nogil:
    """What is gained: nothing where a side is too small, for then nothing is divided."""
    return 0.0 if score == -1.0 else score


cdef class AnnealFinder(Position):
    """Anneals one hyperplane per node; `settings` is an `obliqua.methods.sadt.Anneal`."""

    # Of a node, in the object that has read it:
    cdef double* width       # per feature: high - low, times 2^-middle; 0: it does not vary
    cdef i64* free_          # coefficients that move: features that vary, then the constant
    cdef i64 n_free
    # Of a hyperplane, in the object that moves it:
    cdef double* best        # the best coefficients so far
    # Of all nodes:
    cdef bint all_at_once    # a move changes all coefficients
    cdef double temperature  # at the start
    cdef double cooling      # its factor after each move
    cdef i64 patience        # moves without a better hyperplane after which it ends

    def __cinit__(self, i64 n_features, int n_classes, i64 capacity, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False, bint wide=False):
        self.all_at_once = settings.moves == "all"
        self.temperature = settings.temperature
        self.cooling = settings.cooling
        self.patience = settings.patience
        self.reserve_starts(1, capacity, helper, settings.journal)
        self.width = <double*> malloc(n_features * sizeof(double))
        self.free_ = <i64*> malloc((n_features + 1) * sizeof(i64))
        self.best = <double*> malloc((n_features + 1) * sizeof(double))
        if self.width == NULL or self.free_ == NULL or self.best == NULL:
            raise MemoryError("no room to anneal hyperplanes")

    def __dealloc__(self):
        free(self.width)
        free(self.free_)
        free(self.best)

    # -- the node ----------------------------------------------------------------------------

    cdef void plan(self) noexcept nogil:
        """One task: the hyperplane that starts in the usual place."""
        cdef i64 k
        if self.is_late(0):
            return
        self.n_free = 0
        for k in range(self.n_features):
            if self.scale_column(k):
                self.free_[self.n_free] = k
                self.n_free += 1
        if self.n_free < 2:
            return                           # a single feature: searched with the axes
        self.free_[self.n_free] = self.n_features
        self.n_free += 1
        self.centre_widths()
        if self.max_features < self.n_features:
            self.measure_spread()
        self.find_top()
        self.done = self.n_starts
        self.tried[0] = 0
        self.add_task(self.n_features, False)

    cdef bint scale_column(self, i64 k) noexcept nogil:
        """Brings a column between 0 and 1; False if it does not vary."""
        cdef i64 i, n = self.gathered.n
        cdef const double* x = self.gathered.columns + k * n
        cdef double* z = self.z + k * n
        cdef double low = self.gathered.low[k], width = self.gathered.high[k] - low
        if not width > 0.0:
            self.width[k] = 0.0
            return False
        if width - width == 0.0:
            for i in range(n):
                z[i] = (x[i] - low) / width
        else:                                # the difference overflows
            width = self.gathered.high[k] / 2 - low / 2
            for i in range(n):
                z[i] = (x[i] / 2 - low / 2) / width
        self.width[k] = width
        return True

    cdef void centre_widths(self) noexcept nogil:
        """Divides the widths by a power of two in their middle: no normal then overflows."""
        cdef i64 k
        cdef int exponent = 0, least = 5000, most = -5000
        for k in range(self.n_features):
            if self.width[k] > 0.0:
                frexp(self.width[k], &exponent)
                exponent += self.overflows(k)
                least = min(least, exponent)
                most = max(most, exponent)
        for k in range(self.n_features):
            if self.width[k] > 0.0:
                self.width[k] = ldexp(self.width[k], self.overflows(k) - (least + most) // 2)

    cdef bint overflows(self, i64 k) noexcept nogil:
        """Whether `width` is half of the true one, which no number can hold."""
        cdef double width = self.gathered.high[k] - self.gathered.low[k]
        return width - width != 0.0

    # -- a hyperplane ------------------------------------------------------------------------

    cdef void run(self, Position owner, i64 task, const Cut* best) noexcept nogil:
        """Anneals, and notes the normal in units of the features."""
        cdef i64 k
        cdef double* normal = owner.vectors + task * self.n_features
        cdef const double* width = (<AnnealFinder> owner).width
        Position.run(self, owner, task, best)
        for k in range(self.n_features):
            normal[k] = self.a[k] / width[k] / self.scale[k] if width[k] > 0.0 else 0.0

    cdef void improve(self, Position owner, i64 task, const Cut* best) noexcept nogil:
        """Moves until nothing better was found for so many moves; the best one stands in `a`."""
        cdef i64 idle = 0, accepted = 0
        cdef double heat = self.temperature, best_score
        self.start(<AnnealFinder> owner)
        best_score = self.score
        memcpy(self.best, self.a, (self.n_features + 1) * sizeof(double))
        while idle < self.patience and best_score + TIE * fabs(best_score) < owner.top:
            if self.n_tried % MOVES_BETWEEN_LOOKS == 0 and self.stopped(
                    owner, owner.gathered.n * MOVES_BETWEEN_LOOKS):
                break
            idle += 1
            if self.move(<AnnealFinder> owner, heat):
                accepted += 1
                if self.score > best_score + TIE * fabs(best_score):
                    idle = 0
                    best_score = self.score
                    memcpy(self.best, self.a, (self.n_features + 1) * sizeof(double))
                if accepted % MOVES_BETWEEN_SUMS == 0:
                    self.place(owner)
            heat *= self.cooling
        memcpy(self.a, self.best, (self.n_features + 1) * sizeof(double))
        self.score = best_score

    cdef void start(self, AnnealFinder node) noexcept nogil:
        """The usual place: through the ends of all axes, the sum of all features being 1.

        With many features all rows may be beyond it, or too few on one side. Then the constant is
        changed so that the middle of the values is 0.
        """
        cdef i64 k
        cdef double low, high
        memset(self.a, 0, (self.n_features + 1) * sizeof(double))
        for k in range(node.n_free):
            self.a[node.free_[k]] = 1.0
        self.a[self.n_features] = -1.0
        self.place(node)
        self.n_tried = 1
        if self.score == -1.0:
            low = high = self.v[0]
            ob_range(self.v, node.gathered.n, &low, &high)
            self.a[self.n_features] -= midpoint(low, high)
            self.place(node)
            self.n_tried = 2

    cdef bint move(self, AnnealFinder node, double heat) noexcept nogil:
        """Makes a random move; False if it was taken back."""
        cdef i64 n = node.gathered.n, p = self.n_features, j, k = p
        cdef double before = self.score, amount = 0.0, loss, chance
        cdef double* w = self.w
        self.n_tried += 1
        if self.all_at_once:
            memcpy(w, self.v, n * sizeof(double))
            for j in range(node.n_free):
                k = node.free_[j]
                self.jump[k] = draw_uniform(&self.stream) - 0.5
                if k < p:
                    ob_add_multiple(w, node.z + k * n, self.jump[k], n)
            ob_add_constant(w, self.jump[p], n)
        else:
            k = node.free_[draw(&self.stream) % <unsigned long long> node.n_free]
            amount = draw_uniform(&self.stream) - 0.5
            if k < p:
                ob_reflect(w, self.v, node.z + k * n, 1.0, amount, n)
            else:
                memcpy(w, self.v, n * sizeof(double))
                ob_add_constant(w, amount, n)
        self.w = self.v
        self.v = w
        self.assess(node)
        loss = worth(before) - worth(self.score)
        # Drawn for every move, so that a last digit of a score does not shift the stream.
        chance = draw_uniform(&self.stream)
        if loss > 0.0 and not chance < exp(-loss / heat):
            self.v = self.w
            self.w = w
            self.score = before
            return False
        if self.all_at_once:
            for j in range(node.n_free):
                self.a[node.free_[j]] += self.jump[node.free_[j]]
        else:
            self.a[k] += amount
        return True
