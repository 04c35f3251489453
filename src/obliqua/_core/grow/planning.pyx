"""A finder that plans the directions of a node first and then looks along each of them.

A plan is a list of tasks: a mirror, given by its normal u, stands for the p columns
h_j = e_j - 2 u_j u of a Householder matrix; any other direction is a task of its own. When all
tasks have been looked at, a plan may be extended once, by tasks that start from the best cuts.

A method may look along values that round differently from the canonical dot product. A winner's
normal is therefore rounded to 24 bits and searched again with canonical values, which decide the
threshold and the sides of the rows. Normals that are made one by one are canonical from the start.
"""

from libc.math cimport INFINITY, NAN, fabs, frexp, ldexp
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.rounding cimport round_significant
from obliqua._core.base.target cimport TargetRows, weight_of
from obliqua._core.base.types cimport (
    GO_LEFT, GO_RIGHT, STAND_IN, Cut, Scorer, better, i32, i64, make_view, midpoint, u8, u64,
)
from obliqua._core.grow.coding cimport (
    coding_apply, coding_free, coding_init, coding_note_absent, column_spread,
)
from obliqua._core.grow.finder cimport FitData, found_terms
from obliqua._core.grow.moments cimport grid_set, moments_free, moments_init
from obliqua._core.search.column_lists cimport ColumnLists
from obliqua._core.search.criterion cimport SUM_VARIANCES
from obliqua._core.search.direction cimport tolerance_for
from obliqua._core.search.gathered cimport (
    Gathered, gathered_fill, gathered_free, gathered_init, gathered_range, group_rows, memory_free,
    memory_init, memory_read, search_gathered,
)

cdef extern from "loops.h" nogil:
    double ob_project(double* sum, const double* columns, i64 n, const i32* idx,
                      const double* coef, const double* scale, i64 n_coef)

# Entries of a mirror's columns are rounded to 24 bits: what is less than the least that counts by
# more than this share cannot change places with it.
cdef double SAFE = 1.0 - 2.0 ** -20
cdef double TINY = 2.0 ** -900       # where rounding to 24 bits might lose more,
cdef double WIDE = 2.0 ** 100        # or spreads might make much of it
cdef i64 NEVER = (<i64> 1) << 62     # more rows than there can be


cdef i64 most_important(const double* normal, const double* spread, const i32* places,
                        i64 n_places, i64 most, i32* idx) noexcept nogil:
    """Puts the features that matter most into idx, ascending; returns how many there are.

    An entry of a normal matters as its size times the feature's spread; of equals the later one
    is left out. `places`: only these are looked at; NULL: the first ones.
    """
    cdef i64 k, i, at, worst, n = 0
    cdef double size, least
    for at in range(n_places):
        k = at if places == NULL else places[at]
        if normal[k] == 0.0:
            continue
        if n == most:
            worst = -1
            least = fabs(normal[k]) * spread[k]
            for i in range(n):
                size = fabs(normal[idx[i]]) * spread[idx[i]]
                if size < least or (size == least and worst >= 0):
                    least = size
                    worst = i
            if worst < 0:
                continue
            for i in range(worst, n - 1):
                idx[i] = idx[i + 1]
            n -= 1
        idx[n] = <i32> k
        n += 1
    return n


cdef class PlanningFinder(Finder):
    """Looks along planned directions; one object per thread.

    A `helper` has no room for a node of its own: it only looks at the tasks of another object.
    """

    def __cinit__(self, i64 n_features, int n_classes, i64 capacity, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False, bint wide=False):
        cdef i64 p = n_features
        self.held = scale
        self.n_features = p
        self.n_classes = n_classes
        self.capacity = capacity
        self.helper = helper
        self.max_features = p if max_features is None else max_features
        self.grid.weight_shift = weight_shift
        self.grid.shift = <double*> malloc(p * sizeof(double))
        self.grid.exponent = <i32*> malloc(p * sizeof(i32))
        self.scale = self.every_scale = &scale[0]
        self.factor = <double*> malloc(p * sizeof(double))
        self.spread = <double*> malloc(p * sizeof(double))
        self.normal = <double*> malloc(p * sizeof(double))
        self.places = <i32*> malloc((p + 1) * sizeof(i32))
        self.along = <double*> malloc(capacity * sizeof(double))
        if (self.grid.shift == NULL or self.grid.exponent == NULL or self.factor == NULL
                or self.spread == NULL or self.normal == NULL or self.places == NULL
                or self.along == NULL
                or not gathered_init(&self.gathered, 1 if helper else capacity, p, n_classes,
                                     weighted)
                or not memory_init(&self.memory, capacity, n_classes, weighted)
                or (settings is not None       # without settings no directions are planned
                    and not moments_init(&self.sums, p, n_classes + 2, wide))):
            raise MemoryError("no room to look for oblique splits")

    def __dealloc__(self):
        free(self.own_scale)
        free(self.inverse)
        free(self.tasks)
        free(self.vectors)
        free(self.grid.shift)
        free(self.grid.exponent)
        free(self.factor)
        free(self.spread)
        free(self.normal)
        free(self.places)
        free(self.along)
        free(self.coded)
        free(self.coded_place)
        free(self.gone)
        coding_free(&self.coding)
        gathered_free(&self.gathered)
        memory_free(&self.memory)
        moments_free(&self.sums)

    def set_coding(self, const i32[::1] columns, const i32[::1] n_levels,
                   const double[::1] usual, bint by_node, bint sides, bint only):
        """Says which columns are coded: codes of levels, or numbers some of which are missing.

        `usual` is what stands in for a missing number where a node knows none, or always, unless
        `by_node`. `sides`: rows with missing values are tried on both sides of an oblique cut,
        and columns of numbers alone are searched elsewhere. `only`: nothing but these columns
        will be looked at.
        """
        cdef i64 k
        self.sides = sides
        self.coded = <u8*> calloc(self.n_features, sizeof(u8))
        self.coded_place = <i64*> malloc(self.n_features * sizeof(i64))
        if (self.coded == NULL or self.coded_place == NULL
                or not coding_init(&self.coding, columns.shape[0], &columns[0], &n_levels[0],
                                   &usual[0], by_node, self.n_classes)):
            raise MemoryError("no room to number levels")
        for k in range(columns.shape[0]):
            self.coded[columns[k]] = True
            self.coded_place[columns[k]] = k
        if only:
            self.gathered.wanted = self.coded
            self.min_rows = NEVER
        elif sides and not self.helper:
            self.gone = <u8*> malloc(self.capacity)
            if self.gone == NULL or not coding_note_absent(&self.coding, self.capacity):
                raise MemoryError("no room to look for missing values")

    def set_level_unit(self, double unit):
        """Says that squares of levels' numbers add up to 1, and what a unit of weight weighs."""
        self.coding.unit = unit

    def set_row_counts(self, const i64[::1] counts):
        """Says as how many rows each row counts where nodes must have enough of them."""
        self.counted = counts
        self.row_counts = &counts[0]

    def set_choice(self, i64 n_sparse):
        """Says that columns are chosen node by node; `n_sparse`: rows, if columns are sparse."""
        self.own_scale = <double*> malloc(self.n_features * sizeof(double))
        self.inverse = <i32*> malloc(max(n_sparse, 1) * sizeof(i32))
        if self.own_scale == NULL or self.inverse == NULL:
            raise MemoryError("no room to look for oblique splits")
        self.scale = self.own_scale

    cdef void take_columns(self, const i32* columns) noexcept nogil:
        cdef i64 k
        self.taken = self.gathered.taken = columns
        for k in range(self.n_features):
            self.own_scale[k] = self.every_scale[columns[k]]

    cdef void read_sparse(self, const i32* rows) noexcept nogil:
        """Gathers the chosen columns of a node, whose rows are grouped, if they are sparse."""
        cdef i64 i, k, at, n = self.gathered.n
        cdef i64 start = self.columns.place[rows[0]], end = start + n
        cdef i32 row, col
        cdef double* column
        for i in range(n):
            self.inverse[self.gathered.rows[i]] = <i32> i
        for k in range(self.n_features):
            column = self.gathered.columns + k * n
            col = self.taken[k]
            memset(column, 0, n * sizeof(double))
            for at in range(self.columns.ptr[col], self.columns.ptr[col + 1]):
                row = self.columns.sparse_rows[at]
                if start <= self.columns.place[row] and self.columns.place[row] < end:
                    column[self.inverse[row]] = self.columns.stored(at)
        gathered_range(&self.gathered)

    cdef bint is_small(self, const i32* rows, i64 n) noexcept nogil:
        """Whether a node has too few rows for oblique splits."""
        cdef i64 i, count = 0
        if self.row_counts == NULL or n >= self.min_rows:
            return n < self.min_rows
        for i in range(n):
            count += self.row_counts[rows[i]]
            if count >= self.min_rows:
                return False
        return True

    # -- planning ----------------------------------------------------------------------------

    cdef int reserve(self, i64 most) except -1:
        """Makes room for so many tasks."""
        cdef void* tasks = realloc(self.tasks, most * sizeof(PlanTask))
        cdef void* vectors = NULL
        if tasks != NULL:
            self.tasks = <PlanTask*> tasks
            vectors = realloc(self.vectors, most * self.n_features * sizeof(double))
        if vectors == NULL:
            raise MemoryError(f"no room for {most} starts or classes; ask for fewer starts")
        self.vectors = <double*> vectors
        return 0

    cdef void add_task(self, i64 first, bint mirror) noexcept nogil:
        """Adds a task whose vector stands at its place in `vectors` already."""
        self.tasks[self.n_tasks].first = first
        self.tasks[self.n_tasks].mirror = mirror
        self.n_tasks += 1

    cdef void clear_tasks(self) noexcept nogil:
        """Forgets the tasks of the last node."""
        self.n_tasks = 0

    cdef void plan(self) noexcept nogil:
        """Adds the tasks of the node that was read; what a method is."""
        pass

    cdef void plan_from_sums(self) noexcept nogil:
        """The same from the sums of each class, which stand in `sums`, for methods that can."""

    cdef void extend(self, const Cut* axis) noexcept nogil:
        """Adds tasks that start from the best cuts of those so far, and of the axes."""

    cdef void read(self, const FitData* data, const i32* rows, i64 n,
                   const Scorer* scorer) noexcept nogil:
        """Gathers the node's rows; classes that are absent are left out."""
        cdef i64 i
        if self.columns is not None and self.columns.sparse:
            group_rows(&self.gathered, rows, n, data.target.rows, data.target.weights,
                       data.target.n_sums)
            self.read_sparse(rows)
        else:
            gathered_fill(&self.gathered, &data.view, rows, n, data.target.rows,
                          data.target.weights, data.target.n_sums)
        if self.coding.n_coded:
            coding_apply(&self.coding, &self.gathered)
        memory_read(&self.memory, &self.gathered)
        if not self.is_small(rows, n):
            self.set_grid()
        self.scorer = scorer[0]
        self.scorer.counts = self.gathered.counts
        self.scorer.n_sums = self.gathered.n_present
        # It numbers the classes, absent ones too; and a criterion in Python sees them all.
        if scorer.code == SUM_VARIANCES or scorer.code < 0:
            self.scorer.counts = scorer.counts
            self.scorer.n_sums = scorer.n_sums
            for i in range(n):
                self.memory.work.classes[i] = self.gathered.present[self.gathered.classes[i]]

    cdef void share_memory(self, PlanningFinder owner) noexcept nogil:
        """Makes ready to look at the rows that `owner` has read."""
        memory_read(&self.memory, &owner.gathered)
        memcpy(self.memory.work.classes, owner.memory.work.classes,
               owner.gathered.n * sizeof(i32))

    cdef double priced(self, double score) noexcept nogil:
        """What a cut with this score is worth, where the hyperplane in idx and coef costs."""
        return score

    cdef void set_grid(self) noexcept nogil:
        """Whole numbers for the ranges of this node: far rows elsewhere take no digits away.

        `factor` turns units of the grid into scaled features, all divided by one power of two.
        """
        cdef i64 k
        cdef int exponent = 0, largest = -5000
        for k in range(self.n_features):
            grid_set(&self.grid, k, self.gathered.low[k], self.gathered.high[k])
            frexp(self.scale[k], &exponent)
            largest = max(largest, exponent + self.grid.exponent[k])
        for k in range(self.n_features):
            self.factor[k] = ldexp(self.scale[k], self.grid.exponent[k] - largest)

    cdef void borrow(self, PlanningFinder owner) noexcept nogil:
        """Takes over what `owner` knows of the tasks so far, before a search."""

    cdef void give_back(self, PlanningFinder owner) noexcept nogil:
        """Tells `owner` what was found. Threads come one after the other, in any order."""

    # -- looking -----------------------------------------------------------------------------

    cdef void make_normal(self, PlanningFinder owner, i64 task, i64 j) noexcept nogil:
        """The normal of a direction, rounded, sparse if it must be: in idx, coef and n_coef."""
        cdef i64 k
        cdef const double* vector = owner.vectors + task * self.n_features
        cdef double f = -2.0 * vector[j]
        cdef double entry
        for k in range(self.n_features):
            entry = vector[k]
            if owner.tasks[task].mirror:
                entry = f * vector[k] + (1.0 if k == j else 0.0)
            self.normal[k] = round_significant(entry * self.scale[k])
        self.n_coef = most_important(self.normal, owner.spread, NULL, self.n_features,
                                     self.max_features, self.idx)
        for k in range(self.n_coef):
            self.coef[k] = self.normal[self.idx[k]]

    cdef double choose_places(self, PlanningFinder owner, i64 task) noexcept nogil:
        """Puts into `places` what can matter in a column of a mirror, beside the column's own.

        One more than is kept: the column's own may drop out. Returns the least size of entries
        there; 0 if all must be looked at.
        """
        cdef const double* vector = owner.vectors + task * self.n_features
        cdef i64 k, most = self.max_features + 1
        cdef double least
        for k in range(self.n_features):
            self.normal[k] = vector[k] * self.scale[k]
        self.n_places = most_important(self.normal, owner.spread, NULL, self.n_features, most,
                                       self.places)
        if self.n_places < most:
            return 0.0
        least = INFINITY
        for k in range(most):
            least = min(least, fabs(self.normal[self.places[k]]) * owner.spread[self.places[k]])
        self.n_places = 0
        for k in range(self.n_features):
            if owner.spread[k] > WIDE:
                return 0.0
            if fabs(self.normal[k]) * owner.spread[k] >= SAFE * least:
                self.places[self.n_places] = <i32> k
                self.n_places += 1
        for k in range(self.n_places):
            least = min(least, fabs(self.normal[self.places[k]]))
        return least

    cdef void make_short_normal(self, PlanningFinder owner, i64 task, i64 j) noexcept nogil:
        """As `make_normal` for a column of a mirror, from `places` and the column's own."""
        cdef const double* vector = owner.vectors + task * self.n_features
        cdef double f = -2.0 * vector[j]
        cdef i64 k, at, n = self.n_places
        self.places[n] = <i32> j
        at = n
        while at > 0 and self.places[at - 1] > j:
            self.places[at] = self.places[at - 1]
            at -= 1
        if at == 0 or self.places[at - 1] != j:
            self.places[at] = <i32> j
            n += 1
        else:                                # it is among them: put the others back
            for k in range(at, n):
                self.places[k] = self.places[k + 1]
            at = -1
        for k in range(n):
            self.normal[self.places[k]] = round_significant(
                (f * vector[self.places[k]] + (1.0 if self.places[k] == j else 0.0))
                * self.scale[self.places[k]])
        self.n_coef = most_important(self.normal, owner.spread, self.places, n,
                                     self.max_features, self.idx)
        for k in range(self.n_coef):
            self.coef[k] = self.normal[self.idx[k]]
        if at >= 0:
            for k in range(at, n - 1):
                self.places[k] = self.places[k + 1]

    cdef double project(self, const Gathered* gathered) noexcept nogil:
        """Canonical values in memory.work.values; returns the largest sum of |terms|."""
        return ob_project(self.memory.work.values, gathered.columns, gathered.n, self.idx,
                          self.coef, NULL, self.n_coef)

    cdef void search(self, PlanningFinder owner, i64 first, i64 last, Cut* best) noexcept nogil:
        """Offers some directions of a node that `owner` has read: j of task t is t * p + j."""
        cdef i64 p = self.n_features
        cdef i64 t, end
        t = first // p
        while t * p < last:
            end = min(last - t * p, p if owner.tasks[t].mirror else 1)
            self.search_task(owner, t, max(first - t * p, 0), end, best)
            t += 1
            if self.columns is not None:
                self.columns.mind_signals(p * owner.gathered.n)
                if self.columns.stop:
                    return

    cdef void search_task(self, PlanningFinder owner, i64 task, i64 first, i64 last,
                          Cut* best) noexcept nogil:
        """Offers some directions of a task, whose normals are made one by one."""
        cdef i64 j
        cdef double largest, entry, least = 0.0
        cdef bint mirror = owner.tasks[task].mirror
        if mirror and self.max_features + 1 < self.n_features:
            least = self.choose_places(owner, task)
        for j in range(first, last):
            entry = owner.vectors[task * self.n_features + j]
            if mirror and entry == 0.0:
                continue
            if fabs(entry) * least > TINY:
                self.make_short_normal(owner, task, j)
            else:
                self.make_normal(owner, task, j)
            if self.n_coef < 2:
                continue                     # searched with the axes
            largest = self.project(&owner.gathered)
            if largest - largest != 0.0:
                continue
            self.offer(owner, tolerance_for(largest, self.n_coef), owner.tasks[task].first + j,
                       best)

    cdef void offer(self, PlanningFinder owner, double tolerance, i64 direction,
                    Cut* best) noexcept nogil:
        """Offers the best cut of the values in memory.work.values."""
        search_gathered(&self.memory, &owner.gathered, tolerance, &owner.scorer, direction, best)

    cdef void measure_spread(self) noexcept nogil:
        """Puts the standard deviations of the features at the node into `spread`."""
        pass

    cdef void search_coded(self, Cut* best) noexcept nogil:
        """Offers the coded columns alone: their numbers are the directions."""
        cdef i64 k, j
        for k in range(self.coding.n_coded):
            j = self.coding.column[k]
            if self.sides and self.coding.n_levels[k] == 0:
                continue                         # among the sorted columns
            if self.looked_at != NULL and not self.looked_at[j]:
                continue
            if self.gathered.low[j] < self.gathered.high[j]:
                memcpy(self.memory.work.values, self.gathered.columns + j * self.gathered.n,
                       self.gathered.n * sizeof(double))
                search_gathered(&self.memory, &self.gathered, 0.0, &self.scorer, j, best)

    cdef void describe_terms(self) noexcept nogil:
        """What the coefficients of the winner stand for: numbers of levels, stand-ins."""
        cdef i64 i, k
        if self.coding.n_coded and self.n_coef > 1:
            self.measure_spread()
        for i in range(self.n_coef):
            self.fill[i] = NAN
            if self.n_coef > 1:
                self.width[i] = self.spread[self.idx[i]]
            else:
                self.width[i] = column_spread(&self.gathered, self.idx[i])
            self.table[i] = NULL
            self.table_size[i] = 0
            if not self.coded[self.idx[i]]:
                continue
            k = self.coded_place[self.idx[i]]
            self.fill[i] = self.coding.number[self.coding.begin[k + 1] - 1]
            self.table_size[i] = self.coding.n_levels[k]
            if self.table_size[i]:
                self.table[i] = self.coding.number + self.coding.begin[k]

    cdef void choose_direction(self, i64 direction) noexcept nogil:
        """Puts the normal of a direction of the node into idx, coef and n_coef."""
        cdef i64 t = 0
        if direction < self.n_features:              # an coded column
            self.n_coef = 1
            self.idx[0] = <i32> direction
            self.coef[0] = 1.0
            return
        while direction >= self.tasks[t].first + (
                self.n_features if self.tasks[t].mirror else 1):
            t += 1
        self.make_normal(self, t, direction - self.tasks[t].first)

    cdef bint confirm(self, Cut rough, Cut* best, u8* side) noexcept nogil:
        """Searches the winner once more with canonical values, and marks the sides."""
        cdef i64 i
        cdef Cut exact
        cdef double largest
        self.choose_direction(rough.direction)
        if self.n_coef == 0 or (self.n_coef == 1 and (self.coded == NULL
                                                      or not self.coded[self.idx[0]])):
            return False
        largest = self.project(&self.gathered)
        if largest - largest != 0.0:
            return False
        exact.score = -1.0 if rough.score == 0.0 else 0.0     # a cut without gain was asked for
        exact.direction = -1
        exact.rows_left = 0
        search_gathered(&self.memory, &self.gathered, tolerance_for(largest, self.n_coef),
                        &self.scorer, rough.direction, &exact)
        exact.missing = STAND_IN
        if self.n_coef > 1 and self.note_gone():
            self.search_sides(tolerance_for(largest, self.n_coef), rough.direction, &exact)
        if exact.direction < 0:
            return False
        exact.score = self.priced(exact.score)
        if not better(exact.score, exact.direction, exact.rows_left, best):
            return False
        best[0] = exact
        self.missing = exact.missing
        self.threshold = midpoint(exact.below, exact.above)
        if self.coding.n_coded:
            self.describe_terms()
        for i in range(self.gathered.n):
            side[self.gathered.rows[i]] = self.memory.work.values[i] > self.threshold
        return True

    cdef bint note_gone(self) noexcept nogil:
        """Notes the rows that miss a value of the winner; False if that is none, or all."""
        cdef i64 i, k, n = self.gathered.n, count = 0
        cdef const u8* absent
        if self.coding.n_absent == 0 or self.coding.absent == NULL:
            return False
        memset(self.gone, 0, n)
        for k in range(self.n_coef):
            if self.coded[self.idx[k]]:
                absent = self.coding.absent + self.coded_place[self.idx[k]] * n
                for i in range(n):
                    self.gone[i] |= absent[i]
        for i in range(n):
            count += self.gone[i]
        return 0 < count and count < n

    cdef void search_sides(self, double tolerance, i64 direction, Cut* best) noexcept nogil:
        """Offers the winner with all rows of `gone` on the right, then on the left.

        There they count as the last or the first of the others, so none is cut off alone.
        """
        cdef i64 i, n = self.gathered.n
        cdef double low = INFINITY, high = -INFINITY
        cdef double* values = self.memory.work.values
        cdef Cut right, left
        for i in range(n):
            if not self.gone[i]:
                low = min(low, values[i])
                high = max(high, values[i])
        memcpy(self.along, values, n * sizeof(double))
        right = left = best[0]
        if best.direction == direction:
            right.rows_left = left.rows_left = -1            # of equals, the stand-in wins
        for i in range(n):
            if self.gone[i]:
                values[i] = high
        search_gathered(&self.memory, &self.gathered, tolerance, &self.scorer, direction, &right)
        for i in range(n):
            values[i] = low if self.gone[i] else self.along[i]
        search_gathered(&self.memory, &self.gathered, tolerance, &self.scorer, direction, &left)
        if left.score > right.score and left.score > best.score:
            best[0] = left
            best.missing = GO_LEFT
            return
        memcpy(values, self.along, n * sizeof(double))
        if right.score > best.score:
            best[0] = right
            best.missing = GO_RIGHT
            for i in range(n):
                if self.gone[i]:
                    values[i] = high

    cdef bint find(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil:
        cdef Cut coded = best[0]                       # and of the coded columns
        cdef Cut rough, exact
        cdef i64 first
        self.axis_score = best.score
        if self.coding.n_coded == 0 and self.is_small(rows, n):
            return False
        self.read(data, rows, n, scorer)
        if self.coding.n_coded:
            self.search_coded(&coded)
            self.axis_score = coded.score
        if not self.is_small(rows, n):
            exact = coded
            exact.score = self.bias * coded.score
            rough = exact
            if self.coding.n_absent:             # a side may make a direction better than it seems
                rough.score = 0.0
            self.clear_tasks()
            self.plan()
            self.borrow(self)
            self.search(self, 0, self.n_tasks * self.n_features, &rough)
            self.give_back(self)
            first = self.n_tasks
            self.extend(&coded)
            self.search(self, first * self.n_features, self.n_tasks * self.n_features, &rough)
            if rough.direction != coded.direction:
                if self.confirm(rough, &exact, side):
                    best[0] = exact
                    return True
        return coded.direction != best.direction and self.confirm(coded, best, side)

    cdef bint find_any(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                       Cut* best, u8* side) noexcept nogil:
        cdef Cut rough = best[0]
        if self.coding.n_coded == 0:
            return False
        if rough.direction < 0:
            rough.score = -1.0
        self.read(data, rows, n, scorer)
        self.search_coded(&rough)
        if rough.direction < 0 or rough.direction == best.direction:
            return False
        if best.direction < 0:
            best.score = -1.0
        return self.confirm(rough, best, side)

    # -- for the growth loop in Python -------------------------------------------------------

    def load(self, Z, const i32[::1] rows, TargetRows target, const i64[::1] counts, limits,
             u64 key=0):
        """Reads a node and plans; returns the number of tasks.

        `limits`: (criterion code, fewest rows on a side, least weight); `key`: for randomness.
        """
        cdef FitData data
        cdef Scorer scorer
        data.view = make_view(Z)
        data.target = target.target
        scorer.code = limits[0]
        scorer.n_sums = self.n_classes
        scorer.n_rows = rows.shape[0]
        scorer.min_rows = limits[1]
        scorer.min_weight = limits[2]
        scorer.counts = &counts[0]
        self.held_counts = counts            # the scorer may keep looking at them
        scorer.weight = weight_of(&target.target, &counts[0])
        self.key = key
        self.clear_tasks()
        if self.coding.n_coded == 0 and self.is_small(&rows[0], rows.shape[0]):
            return 0
        with nogil:
            self.read(&data, &rows[0], rows.shape[0], &scorer)
            if not self.is_small(&rows[0], rows.shape[0]):
                self.plan()
        return self.n_tasks

    def look(self, PlanningFinder owner, i64 first, i64 last, bar, ColumnLists columns=None):
        """The best cut of some directions that `owner` planned: (score, direction, rows left).

        It is `bar`, such a cut itself, if none is better. No directions at all (first = last):
        of the coded columns.
        """
        cdef Cut best
        best.score, best.direction, best.rows_left = bar
        self.columns = columns
        self.borrow(owner)
        if self is not owner:
            self.share_memory(owner)
        with nogil:
            if first < last:
                self.search(owner, first, last, &best)
            else:
                self.search_coded(&best)
        self.give_back(owner)
        if columns is not None and columns.reason is not None:
            raise columns.reason
        return best.score, best.direction, best.rows_left

    def continued(self, axis):
        """Plans the second round, after all tasks of the first; returns the number of tasks.

        `axis` is the best cut along one column: (score, direction, rows left).
        """
        cdef Cut cut
        cut.score, cut.direction, cut.rows_left = axis
        with nogil:
            self.extend(&cut)
        return self.n_tasks

    def decide(self, i64 direction, bar, ColumnLists columns):
        """Confirms the winner: (score, rows left, threshold, missing rows, terms), or None.

        `bar` is the cut that it must beat. The rows' sides are marked in `columns`. The terms are
        arrays: idx, coef, fill, width, table_size and table.
        """
        cdef Cut rough, best
        cdef bint found
        rough.direction = direction
        rough.score = 1.0
        best.score, best.direction, best.rows_left = bar
        with nogil:
            found = self.confirm(rough, &best, columns.side)
        if not found:
            return None
        return best.score, best.rows_left, self.threshold, self.missing, found_terms(self)

    @property
    def n_absent(self):
        """How many values are missing in the node that was loaded, if it matters."""
        return self.coding.n_absent

    cdef object plane(self):
        cdef i64 i
        idx = np.empty(self.n_coef, dtype=np.int32)
        coef = np.empty(self.n_coef, dtype=np.float64)
        cdef i32[::1] idx_ = idx
        cdef double[::1] coef_ = coef
        for i in range(self.n_coef):
            idx_[i] = self.idx[i]
            coef_[i] = self.coef[i]
        return idx, coef

    def directions(self):
        """All directions of the node that was loaded: lists of numbers, idx and coef."""
        cdef i64 t, j
        numbers, planes = [], []
        for t in range(self.n_tasks):
            for j in range(self.n_features if self.tasks[t].mirror else 1):
                if self.tasks[t].mirror and self.vectors[t * self.n_features + j] == 0.0:
                    continue
                self.make_normal(self, t, j)
                if self.n_coef >= 2:
                    numbers.append(self.tasks[t].first + j)
                    planes.append(self.plane())
        return numbers, planes

    # -- rows that lie elsewhere -------------------------------------------------------------

    def load_sums(self, const i64[::1] counts, ranges, sums):
        """Plans a node of which sums are known, and no rows; returns the number of tasks.

        `ranges`: the least and the largest value of each column; `sums`: weights, sums of values,
        high and low pieces of the sums of products, per class (see `moments.scatter`).
        """
        cdef const double[::1] low = ranges[0], high = ranges[1]
        cdef const i64[::1] weights = sums[0]
        cdef const i64[:, ::1] first = sums[1], upper = sums[2], lower = sums[3]
        cdef i64 p = self.n_features, pairs = self.sums.n_pairs
        cdef int c, k = 0
        self.clear_tasks()
        memcpy(self.gathered.low, &low[0], p * sizeof(double))
        memcpy(self.gathered.high, &high[0], p * sizeof(double))
        self.set_grid()
        self.scorer.weight = 0
        for c in range(self.n_classes):
            self.scorer.weight += counts[c]
            if counts[c] == 0:
                continue
            self.gathered.present[k] = c
            self.gathered.counts[k] = counts[c]
            self.sums.weights[k] = weights[c]
            memcpy(self.sums.first + k * p, &first[c, 0], p * sizeof(i64))
            memcpy(self.sums.high + k * pairs, &upper[c, 0], pairs * sizeof(i64))
            memcpy(self.sums.low + k * pairs, &lower[c, 0], pairs * sizeof(i64))
            k += 1
        self.gathered.n_present = k
        with nogil:
            self.plan_from_sums()
        return self.n_tasks

    def task(self, i64 number):
        """A task of the plan: (number of its first direction, whether it is a mirror, vector)."""
        cdef i64 p = self.n_features
        vector = np.array(<double[:p]> (self.vectors + number * p))
        return self.tasks[number].first, bool(self.tasks[number].mirror), vector

    def normal_of(self, i64 direction):
        """The rounded normal of a direction of the plan: (idx, coef)."""
        self.choose_direction(direction)
        return self.plane()

    def spreads(self):
        """The standard deviations of the features at a node of which sums are known."""
        with nogil:
            self.measure_spread()
        return np.array(<double[:self.n_features]> self.spread)

    # -- asking a criterion in Python --------------------------------------------------------

    def set_measure(self, measure):
        """Takes a criterion in Python: an `obliqua.engine.compiled.PythonCriterion`."""
        self.measure = measure

    cdef int raise_trouble(self) except -1:
        """Raises what the criterion has raised, once."""
        if self.trouble is not None:
            trouble = self.trouble
            self.trouble = None
            raise trouble
        return 0

    cdef void ask_best(self, PlanningFinder owner, u8* leaves, i64 direction, double tolerance,
                       bint right, Cut* cut) noexcept nogil:
        """Asks the criterion in Python for the best place between memory.work.values."""
        cdef i64 n = owner.gathered.n
        cdef double score, below, above
        if owner.trouble is not None:
            return
        with gil:
            try:
                found = owner.measure.best(
                    np.asarray(<double[:n]> self.memory.work.values),
                    None if leaves == NULL else np.asarray(<u8[:n]> leaves),
                    np.asarray(<i32[:n]> self.memory.work.classes),
                    (np.asarray(<i64[:n]> owner.gathered.weights) if owner.gathered.weighted
                     else None),
                    tolerance,
                    right,
                    cut.score,
                )
                # A tie goes to the first direction, as in the compiled search.
                if found is not None and (found[0] > cut.score or direction < cut.direction):
                    score, below, above = found
                    cut.score = score
                    cut.direction = direction
                    cut.below = below
                    cut.above = above
            except BaseException as error:
                owner.trouble = error
