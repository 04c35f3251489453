"""Slopes for trees whose leaves are linear functions.

A cut is worth what the functions of its two sides leave over less than the function of the node
(see `ridge`). Along each direction, single columns among them, some 16 cuts are tried: those at
the inner 17ths of the weight, moved up to the next place where values differ, and those below
equal values that have a 17th of the weight. Where there are many
columns, the functions that compare cuts have those that matter most in the function of the node,
and the fewer the more columns there are: the work grows with the number of columns, and with the
square of the number of those that functions have.
"""

from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.target cimport TargetRows, weight_at
from obliqua._core.base.types cimport (
    STAND_IN, Cut, Scorer, allowed, better, i32, i64, midpoint, u8,
)
from obliqua._core.grow.finder cimport FitData
from obliqua._core.grow.moments cimport (
    moments_add, moments_clear, moments_combine, moments_copy, moments_spread,
)
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.grow.ridge cimport Ridge, ridge_fit, ridge_free, ridge_init, ridge_read
from obliqua._core.methods.slopes cimport SlopeFinder
from obliqua._core.search.direction cimport tolerance_for

cdef enum:
    MOST_COLUMNS = 24        # of functions that compare cuts: as many if there are no more, and
    LEAST_COLUMNS = 12       # fewer of very many, to this number, for each column is a direction
    PIECES = 17
    LEFT = PIECES            # slots of sums: those of the pieces, then these
    RIGHT = PIECES + 1
    ALL = PIECES + 2


cpdef i64 compared_columns(i64 n_columns) noexcept nogil:
    """How many columns the functions that compare cuts have of so many."""
    if n_columns <= MOST_COLUMNS:
        return n_columns
    return max(<i64> (MOST_COLUMNS * (<double> MOST_COLUMNS / n_columns) ** 0.5),
               <i64> LEAST_COLUMNS)


cdef class ModelSlopeFinder(SlopeFinder):
    """Looks along single columns too. `settings` has the rows of the models and a penalty."""

    cdef object held_model
    cdef const double* model
    cdef i64 n_columns       # of it
    cdef Ridge whole         # with all columns, if they are many
    cdef Ridge ridge
    cdef i64* kept           # the columns that it has of them; NULL: all
    cdef i32* chosen         # the rows of a direction in their order
    cdef i64 fewest          # rows of a node with other directions
    cdef bint oblique        # whether there are directions beside the columns

    def __cinit__(self, i64 n_features, int n_classes, i64 capacity, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False, bint wide=False):
        cdef TargetRows rows = settings.target_rows
        cdef const double[:, ::1] model = settings.model
        self.held_model = settings.model
        self.model = &model[0, 0]
        self.oblique = settings.oblique
        self.looks_at_axes = True
        self.chosen = <i32*> malloc(capacity * sizeof(i32))
        self.n_columns = model.shape[1]
        if self.chosen == NULL or not ridge_init(
                &self.ridge, capacity, compared_columns(self.n_columns), ALL + 1,
                rows.target.weights != NULL, weight_shift):
            raise MemoryError("no room to look for oblique splits")
        self.ridge.penalty = settings.penalty * 2.0 ** -weight_shift
        if self.n_columns > MOST_COLUMNS:
            self.keep_columns(1 if helper else capacity, weight_shift)
        self.reserve(n_features + self.most_directions())
        self.fewest = self.min_rows
        self.min_rows = 0                        # single columns are looked at everywhere

    def __dealloc__(self):
        free(self.chosen)
        free(self.kept)
        ridge_free(&self.ridge)
        ridge_free(&self.whole)

    cdef int keep_columns(self, i64 capacity, int weight_shift) except -1:
        """Makes room to choose columns."""
        self.kept = <i64*> malloc(self.n_columns * sizeof(i64))
        if self.kept == NULL or not ridge_init(&self.whole, capacity, self.n_columns, 1,
                                               self.ridge.rows.weighted, weight_shift):
            raise MemoryError("no room to look for oblique splits")
        self.whole.penalty = self.ridge.penalty
        return 0

    # -- the node ------------------------------------------------------------------------------

    cdef void read(self, const FitData* data, const i32* rows, i64 n,
                   const Scorer* scorer) noexcept nogil:
        SlopeFinder.read(self, data, rows, n, scorer)
        self.read_models()

    cdef void read_models(self) noexcept nogil:
        """Gathers what models are made of, in the order of the gathered rows."""
        cdef i64 n = self.gathered.n
        if self.kept != NULL:
            self.choose_columns()
        ridge_read(&self.ridge, self.model, self.n_columns, self.kept, self.gathered.rows, n,
                   self.learnt)
        self.add_rows(&self.ridge, ALL)
        self.variance = ridge_fit(&self.ridge, ALL, NULL) / <double> self.ridge.sums.weights[ALL]

    cdef void add_rows(self, Ridge* ridge, i64 slot) noexcept nogil:
        """Adds up all rows that were read."""
        moments_clear(&ridge.sums, slot)
        ridge.rows.starts[0] = 0
        ridge.rows.starts[1] = ridge.rows.n
        moments_add(&ridge.sums, &ridge.rows, 0, slot, &ridge.grid, NULL, 0)

    cdef void choose_columns(self) noexcept nogil:
        """Keeps the columns of largest |coefficient| * spread in the function of the node."""
        cdef i64 k, place, left = self.n_columns, last
        cdef double size, least
        ridge_read(&self.whole, self.model, self.n_columns, NULL, self.gathered.rows,
                   self.gathered.n, self.learnt)
        self.add_rows(&self.whole, 0)
        ridge_fit(&self.whole, 0, NULL)
        for k in range(left):
            self.kept[k] = k
        while left > self.ridge.q:               # the last of the least ones goes
            last, least = 0, INFINITY
            for place in range(left):
                k = self.kept[place]
                size = fabs(self.whole.coef[k]) * moments_spread(&self.whole.sums, 0,
                                                                 &self.whole.grid, k)
                if size <= least:
                    last, least = place, size
            left -= 1
            for place in range(last, left):
                self.kept[place] = self.kept[place + 1]

    cdef void share_memory(self, PlanningFinder owner) noexcept nogil:
        SlopeFinder.share_memory(self, owner)
        if self.kept != NULL:
            memcpy(self.kept, (<ModelSlopeFinder> owner).kept, self.ridge.q * sizeof(i64))
        ridge_read(&self.ridge, self.model, self.n_columns, self.kept, owner.gathered.rows,
                   owner.gathered.n, self.learnt)
        moments_copy(&self.ridge.sums, ALL, &(<ModelSlopeFinder> owner).ridge.sums)

    cdef void plan(self) noexcept nogil:
        cdef i64 k, p = self.n_features
        cdef i64 i
        for k in range(p):
            for i in range(p):
                self.vectors[k * p + i] = 1.0 if i == k else 0.0
            self.add_task(k, False)
        if self.oblique and self.n_counted >= <double> self.fewest:
            SlopeFinder.plan(self)

    # -- looking -------------------------------------------------------------------------------

    cdef void search_coded(self, Cut* best) noexcept nogil:
        """They are among the columns that are tried anyway."""

    cdef void search_task(self, PlanningFinder owner, i64 task, i64 first, i64 last,
                          Cut* best) noexcept nogil:
        if owner.tasks[task].first >= self.n_features:
            SlopeFinder.search_task(self, owner, task, first, last, best)
            return
        self.choose_axis(owner.tasks[task].first)
        if first == 0 and owner.gathered.low[self.idx[0]] < owner.gathered.high[self.idx[0]]:
            self.project(&owner.gathered)
            self.offer(owner, 0.0, owner.tasks[task].first, best)

    cdef void choose_axis(self, i64 column) noexcept nogil:
        self.n_coef = 1
        self.idx[0] = <i32> column
        self.coef[0] = 1.0

    cdef void offer(self, PlanningFinder owner, double tolerance, i64 direction,
                    Cut* best) noexcept nogil:
        """Offers the cuts between pieces of memory.work.values."""
        cdef double price = (<ModelSlopeFinder> owner).price_of(self.n_coef)
        cdef double variance = (<ModelSlopeFinder> owner).variance, gain
        cdef double* values = self.memory.work.values
        cdef i64 i, row, start = 0, piece = 0, n = owner.gathered.n, below = 0
        cdef i64 total = owner.scorer.weight
        cdef double weight = <double> self.ridge.sums.weights[ALL]
        cdef double last = 0.0, here
        cdef bint due
        sort_order(values, self.memory.work.order, n, &self.memory.work.buffers)
        for i in range(n):
            self.chosen[i] = <i32> (self.memory.work.order[i] & 0x7FFFFFFF)
        moments_clear(&self.ridge.sums, LEFT)
        for i in range(n):
            row = self.chosen[i]
            here = values[row]
            if i > 0 and here - last > tolerance:
                due = piece < PIECES - 1 and PIECES * below >= (piece + 1) * total
                while piece < PIECES - 1 and PIECES * below >= (piece + 1) * total:
                    piece += 1
                due = due or self.many_equals(owner, i, tolerance)
                if due and allowed(&owner.scorer, i, below):
                    moments_add(&self.ridge.sums, &self.ridge.rows, 0, LEFT, &self.ridge.grid,
                                self.chosen + start, i - start)
                    start = i
                    gain = variance - self.sides_error() / weight
                    gain -= price * (variance - gain)
                    if better(gain, direction, i, best):
                        best.score = gain
                        best.direction = direction
                        best.rows_left = i
                        best.below = last
                        best.above = here
            last = here
            below += weight_at(self.learnt, owner.gathered.rows[row])

    cdef bint many_equals(self, PlanningFinder owner, i64 first,
                          double tolerance) noexcept nogil:
        """Whether the equal values that begin at a place have a 17th of the weight."""
        cdef double* values = self.memory.work.values
        cdef i64 i = first, n = owner.gathered.n, weight = 0
        while True:
            weight += weight_at(self.learnt, owner.gathered.rows[self.chosen[i]])
            i += 1
            if i == n or values[self.chosen[i]] - values[self.chosen[i - 1]] > tolerance:
                return PIECES * weight >= owner.scorer.weight

    cdef double sides_error(self) noexcept nogil:
        """What the functions of both sides leave over; the left one is in its slot."""
        moments_clear(&self.ridge.sums, RIGHT)
        moments_combine(&self.ridge.sums, RIGHT, ALL, 1)
        moments_combine(&self.ridge.sums, RIGHT, LEFT, -1)
        return ridge_fit(&self.ridge, LEFT, NULL) + ridge_fit(&self.ridge, RIGHT, NULL)

    cdef bint confirm(self, Cut rough, Cut* best, u8* side) noexcept nogil:
        """Looks along the winner once more, and marks the sides."""
        cdef i64 i
        cdef double largest
        if rough.direction < self.n_features:
            self.choose_axis(rough.direction)
        else:
            self.choose_direction(rough.direction)
        if self.n_coef == 0:
            return False
        largest = self.project(&self.gathered)
        if largest - largest != 0.0:
            return False
        rough.score = 0.0
        rough.direction, i = -1, rough.direction
        self.offer(self, tolerance_for(largest, self.n_coef), i, &rough)
        if rough.direction < 0 or not better(rough.score, rough.direction, rough.rows_left, best):
            return False
        best[0] = rough
        best.missing = self.missing = STAND_IN
        self.threshold = midpoint(rough.below, rough.above)
        if self.coding.n_coded:
            self.describe_terms()
        for i in range(self.gathered.n):
            side[self.gathered.rows[i]] = self.memory.work.values[i] > self.threshold
        return True

    cdef bint find(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil:
        cdef Cut rough = best[0]
        self.read(data, rows, n, scorer)
        self.clear_tasks()
        self.plan()
        self.search(self, 0, min(self.n_tasks, self.n_features) * self.n_features, &rough)
        self.axis_score = rough.score
        self.search(self, self.n_features * self.n_features, self.n_tasks * self.n_features,
                    &rough)
        return rough.direction >= 0 and self.confirm(rough, best, side)
