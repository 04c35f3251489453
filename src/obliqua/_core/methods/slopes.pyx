"""Directions along which numbers rise, fall or bend.

With G the scatter matrix of a node's rows about their mean, R = 1e-3 diag G, y what is learnt:

- slices: (G + R)^-1 sum of (x - mean) over the rows with y above its .1, .3, .5, .7 and .9
  quantile. Together they span what sliced inverse regression finds (Li 1991), and no outlier of y
  moves them far;
- least squares: (G + R)^-1 sum of (x - mean) y, for each of five outputs;
- bends: principal Hessian directions (Li 1992), the two solutions of H v = lambda (G + R) v with
  the largest |lambda|, where H = sum of r (x - mean)(x - mean)' and r is what least squares leave.

The rows of a slice stand side by side, as those of a class do elsewhere, so most of the work is
that of discriminants. A hyperplane must earn its coefficients: of the gain g of a cut in mean
squared error, with variance V and n rows in the node and z coefficients,

    g - price ln(n) (z - 1) (V - g) / n

is compared, which is what a coefficient costs in the criterion of Schwarz (BIC).

All sums are exact: H is one of whole numbers too, of standardised values to 1/32.
"""

from libc.math cimport fabs, ldexp, log, rint, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.linalg cimport eigen_symmetric, solve_lower, solve_upper
from obliqua._core.base.rounding cimport round_significant
from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.target cimport Target, TargetRows, squared_error, weight_at
from obliqua._core.base.types cimport Cut, Scorer, View, better, i32, i64, make_view, u8
from obliqua._core.grow.coding cimport coding_find_absent, coding_measure
from obliqua._core.grow.finder cimport FitData
from obliqua._core.grow.level_means cimport number_column, room_free, room_init
from obliqua._core.grow.moments cimport (
    Grid, central, moments_add_all, moments_clear, moments_combine, moments_mean, moments_spread,
)
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.search.direction cimport workspace_free, workspace_init
from obliqua._core.search.gathered cimport (
    Gathered, gathered_fill, gathered_free, gathered_init, search_gathered,
)

cdef extern from "loops.h" nogil:
    enum: OB_BEND
    void ob_whole(double* q, const double* x, double shift, double scale, i64 n)
    i64 ob_whole_products(const double* q, const double* y, i64 n)
    void ob_bend_column(double* u, double* rest, const double* x, double shift, double unit,
                        double centre, double fit, double steps, double far, i64 n)
    void ob_bend_products(double* sums, const double* u, const double* w, i64 p)

cdef double SLACK = 1.0 - 1e-12          # a filter rejects only what is worse beyond doubt
cdef double FAR = 4.0                    # standard deviations beyond which a rest counts no more
cdef double FAR_OUT = 8.0                # and a feature
cdef double REST_STEPS = 64.0            # steps of the grid per deviation
cdef double FEATURE_STEPS = 32.0
cdef i64 VALUE_BITS = 24
cdef i64 PIECE_BITS = 26

cdef enum:
    ROWS_AT_ONCE = 4096


cdef inline i64 weight_in_sums(const Gathered* gathered, const Grid* grid, i64 i) noexcept nogil:
    """The weight of a gathered row in the sums of a grid."""
    if not gathered.weighted:
        return 1
    return <i64> rint(ldexp(<double> gathered.weights[i], -grid.weight_shift))


cdef void output_clear(OutputSums* sums, i64 n_features) noexcept nogil:
    sums.weight = sums.first = sums.square_high = sums.square_low = 0
    memset(sums.high, 0, n_features * sizeof(i64))
    memset(sums.low, 0, n_features * sizeof(i64))


cdef void output_add(OutputSums* sums, const Gathered* gathered, const Grid* grid,
                     const Target* learnt, i64 output, const u8* varies,
                     double* values) noexcept nogil:
    """Adds the products of gathered rows with an output; of columns that vary (NULL: of all).

    `values`: room for a number per row.
    """
    cdef i64 n = gathered.n
    cdef i64 i, k, at, size, w, value, product, low, high
    cdef int m = learnt.n_numbers
    cdef double factor
    cdef double[32] q
    for i in range(n):
        value = learnt.rows[<i64> gathered.rows[i] * m + output]
        values[i] = <double> value
        w = weight_in_sums(gathered, grid, i)
        sums.weight += w
        sums.first += w * value
        product = value * value
        sums.square_high += w * (product >> PIECE_BITS)
        sums.square_low += w * (product & ((<i64> 1 << PIECE_BITS) - 1))
        sums.square_high += sums.square_low >> PIECE_BITS
        sums.square_low &= (<i64> 1 << PIECE_BITS) - 1
    for k in range(gathered.n_features):
        if varies != NULL and not varies[k]:
            continue
        high, low = sums.high[k], sums.low[k]
        factor = ldexp(1.0, <int> (VALUE_BITS - grid.exponent[k]))
        at = 0
        while at < n:
            size = min(n - at, <i64> 32)
            ob_whole(q, gathered.columns + k * n + at, grid.shift[k], factor, size)
            if not gathered.weighted:
                product = ob_whole_products(q, values + at, size)
                high += product >> PIECE_BITS
                low += product & ((<i64> 1 << PIECE_BITS) - 1)
            else:
                for i in range(size):
                    product = <i64> values[at + i] * <i64> q[i]
                    w = weight_in_sums(gathered, grid, at + i)
                    high += w * (product >> PIECE_BITS)
                    low += w * (product & ((<i64> 1 << PIECE_BITS) - 1))
                    high += low >> PIECE_BITS
                    low &= (<i64> 1 << PIECE_BITS) - 1
            at += size
        sums.high[k], sums.low[k] = high, low


cdef void bend_add(const BendPlan* plan, const Gathered* gathered, const Grid* grid,
                   const Target* learnt, double* block, double* bend) noexcept nogil:
    """Adds products of two features, times what least squares leave over, to a triangle.

    `block`: room for OB_BEND rows. All sums are whole numbers.
    """
    cdef i64 p = gathered.n_features, n = gathered.n
    cdef i64 i, k, at, first = 0, size
    cdef int m = learnt.n_numbers
    cdef double rest
    cdef double[OB_BEND] rests
    cdef double[OB_BEND] weights
    memset(block, 0, p * OB_BEND * sizeof(double))
    while first < n:
        size = min(n - first, <i64> OB_BEND)
        for i in range(size):
            at = <i64> gathered.rows[first + i] * m + plan.output
            rests[i] = (<double> learnt.rows[at]) - plan.mean
        for k in range(p):
            if plan.varies[k]:
                ob_bend_column(block + k * OB_BEND, rests, gathered.columns + k * n + first,
                               grid.shift[k], ldexp(1.0, -grid.exponent[k]), plan.centre[k],
                               plan.fit[k], FEATURE_STEPS / plan.reach[k],
                               FAR_OUT * FEATURE_STEPS, size)
        memset(weights, 0, sizeof(weights))
        for i in range(size):
            rest = rint(min(max(rests[i] / plan.deviation, -FAR), FAR) * REST_STEPS)
            weights[i] = rint(plan.shrink * <double> weight_in_sums(gathered, grid, first + i)
                              ) * rest
        ob_bend_products(bend, block, weights, p)
        first += size


cdef class SlopeFinder(DiscriminantFinder):
    """Plans the directions of a node; `settings` has the rows of the target and the price."""

    def __cinit__(self, i64 n_features, int n_classes, i64 capacity, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False, bint wide=False):
        cdef TargetRows rows = settings.target_rows
        cdef i64 p = n_features
        self.held_target = rows
        self.learnt = &rows.target
        self.row_unit = settings.row_unit
        self.price = settings.price
        workspace_free(&self.memory.work)
        self.moment = <double*> malloc((p * p + 9 * p + p * OB_BEND) * sizeof(double))
        self.products.high = <i64*> malloc(2 * p * sizeof(i64))
        if not helper:
            self.slice_ = <i32*> malloc(rows.n_rows * sizeof(i32))
        if (self.moment == NULL or self.products.high == NULL
                or (self.slice_ == NULL and not helper)
                or not workspace_init(&self.memory.work, capacity, self.learnt.n_sums, False,
                                      self.learnt)):
            raise MemoryError("no room to look for oblique splits")
        self.products.low = self.products.high + p
        self.fit = self.moment + p
        self.centre = self.fit + p
        self.reach = self.centre + p
        self.eigen = self.reach + p
        self.bend = self.eigen + 5 * p
        self.block = self.bend + p * p
        self.reserve(self.most_directions())     # there may be more than of discriminants

    def __dealloc__(self):
        free(self.slice_)
        free(self.moment)
        free(self.products.high)
        room_free(&self.room)

    def set_coding(self, const i32[::1] columns, const i32[::1] n_levels,
                   const double[::1] usual, bint by_node, bint sides, bint only):
        """As for classes; levels get their means as numbers."""
        DiscriminantFinder.set_coding(self, columns, n_levels, usual, by_node, sides, only)
        if not room_init(&self.room, max(n_levels), self.learnt):
            raise MemoryError("no room to number levels")

    cdef i64 most_directions(self) noexcept nogil:
        return N_SLICES - 1 + MOST_FITS + N_BENDS

    # -- the rows of a node --------------------------------------------------------------------

    cdef void widest_output(self, const i32* rows, i64 n) noexcept nogil:
        """Notes the output that varies most, by its upper 13 bits; of equals the first."""
        cdef i64 i, w, value
        cdef int j, m = self.learnt.n_numbers
        cdef i64 weight, first, second
        cdef double found, largest = -1.0
        self.output = 0
        if m == 1:
            return
        for j in range(m):
            weight = first = second = 0
            for i in range(n):
                w = weight_at(self.learnt, rows[i])
                value = self.learnt.rows[<i64> rows[i] * m + j] >> 13
                weight += w
                first += w * value
                second += w * value * value
            found = (<double> second) - (<double> first) * ((<double> first) / (<double> weight))
            if found > largest:
                largest = found
                self.output = j

    cdef void slice_rows(self, const i32* rows, i64 n) noexcept nogil:
        """Notes the slice of each row: how many of five quantiles its number is above."""
        cdef int m = self.learnt.n_numbers
        cdef i64 i, k, row, below = 0, total = 0
        cdef i64 tenth = 1                       # the quantile that comes next
        cdef double here, last = 0.0
        cdef double* values = self.memory.work.values
        self.widest_output(rows, n)
        for i in range(n):
            values[i] = <double> self.learnt.rows[<i64> rows[i] * m + self.output]
            total += weight_at(self.learnt, rows[i])
        sort_order(values, self.memory.work.order, n, &self.memory.work.buffers)
        k = 0
        for i in range(n):
            row = self.memory.work.order[i] & 0x7FFFFFFF
            here = values[row]
            # The quantile is the number at which so many tenths of the weight are reached.
            while i > 0 and here > last and tenth < 10 and 10 * below >= tenth * total:
                tenth += 2
                k += 1
            self.slice_[rows[row]] = <i32> k
            below += weight_at(self.learnt, rows[row])
            last = here

    cdef void read(self, const FitData* data, const i32* rows, i64 n,
                   const Scorer* scorer) noexcept nogil:
        """Gathers the node's rows, those of a slice side by side."""
        cdef i64 k
        self.slice_rows(rows, n)
        gathered_fill(&self.gathered, &data.view, rows, n, self.slice_, data.target.weights,
                      N_SLICES)
        if self.coding.n_coded:
            coding_find_absent(&self.coding, &self.gathered)
            for k in range(self.coding.n_coded):
                number_column(&self.room, self.learnt, &self.coding, k, self.gathered.rows,
                              &self.gathered)
            coding_measure(&self.coding, &self.gathered)
        memcpy(self.memory.work.classes, self.gathered.rows, n * sizeof(i32))
        if not self.is_small(rows, n):
            self.set_grid()
        self.scorer = scorer[0]
        self.scorer.n_sums = self.learnt.n_sums
        self.variance = (squared_error(scorer.counts, self.learnt.n_numbers)
                         / (<double> scorer.weight))
        self.n_counted = self.row_unit * (<double> scorer.weight)

    cdef void share_memory(self, PlanningFinder owner) noexcept nogil:
        memcpy(self.memory.work.classes, owner.memory.work.classes,
               owner.gathered.n * sizeof(i32))

    # -- the directions ------------------------------------------------------------------------

    cdef void plan(self) noexcept nogil:
        moments_add_all(&self.sums, &self.gathered, self.n_classes, &self.grid)
        if self.max_features < self.n_features:
            self.measure_spread()
        self.plan_slopes()

    cdef void plan_from_sums(self) noexcept nogil:
        """The slices alone; what least squares and bends need is told later."""
        cdef int k
        moments_clear(&self.sums, self.n_classes)
        for k in range(self.gathered.n_present):
            moments_combine(&self.sums, self.n_classes, k, 1)
        if self.max_features < self.n_features:
            self.measure_spread()
        self.is_factorised = self.plan_slices()

    cdef void plan_slopes(self) noexcept nogil:
        """Adds all directions, from sums that are there."""
        cdef i64 j
        cdef double error = 0.0
        if not self.plan_slices():
            return
        for j in range(min(<i64> self.learnt.n_numbers, <i64> MOST_FITS)):
            error = self.fit_output(j)
            self.add_fit(j)
        if self.learnt.n_numbers > 1:
            error = self.fit_output(self.output)
        if error > 0.0:
            self.begin_bends(error)
            bend_add(&self.bends, &self.gathered, &self.grid, self.learnt, self.block, self.bend)
            self.finish_bends()

    cdef bint plan_slices(self) noexcept nogil:
        """Adds the directions of slices; False if no feature varies."""
        cdef i64 p = self.n_features
        cdef int n = self.gathered.n_present, k
        cdef i64 i
        cdef double* normal = self.parts.normal
        if not self.factorise_total():
            return False
        for k in range(n):
            self.solve_class(k)
        memset(normal, 0, p * sizeof(double))
        for k in range(1, n):                    # the rows above each quantile
            for i in range(p):                   # and those below, which add up to 0
                normal[i] -= self.parts.share[k - 1] * self.parts.solved[(k - 1) * p + i]
            if self.set_vector(self, normal, False, self.vectors + self.n_tasks * p):
                self.add_task(p + self.gathered.present[k] - 1, False)
        return True

    cdef void add_fit(self, i64 output) noexcept nogil:
        """Adds the direction of least squares that stands in `fit`."""
        cdef i64 p = self.n_features
        if self.set_vector(self, self.fit, False, self.vectors + self.n_tasks * p):
            self.add_task(p + N_SLICES - 1 + output, False)

    cdef double fit_output(self, i64 output) noexcept nogil:
        """Least squares of an output, in `fit`; returns the squared error that is left."""
        output_clear(&self.products, self.n_features)
        output_add(&self.products, &self.gathered, &self.grid, self.learnt, output,
                   self.parts.varies, self.memory.work.values)
        return self.solve_output()

    cdef double solve_output(self) noexcept nogil:
        """The same from sums of products, which stand in `products`."""
        cdef i64 p = self.n_features, k
        cdef const OutputSums* sums = &self.products
        cdef double error = central(sums.square_high, sums.square_low, sums.weight, sums.first,
                                    sums.first)
        for k in range(p):
            self.fit[k] = 0.0
            if self.parts.varies[k]:
                self.fit[k] = ldexp(central(sums.high[k], sums.low[k], sums.weight,
                                            self.sums.first[self.n_classes * p + k], sums.first),
                                    <int> -VALUE_BITS)
        memcpy(self.moment, self.fit, p * sizeof(double))
        solve_lower(self.parts.matrix, p, self.fit)
        solve_upper(self.parts.matrix, p, self.fit)
        for k in range(p):
            error -= self.moment[k] * self.fit[k]
        return error

    cdef void begin_bends(self, double error) noexcept nogil:
        """Finds out how rows are to be summed, of what least squares leave over of an output."""
        cdef i64 k
        cdef double weight = <double> self.sums.weights[self.n_classes]
        self.bends.output = self.output
        self.bends.mean = (<double> self.products.first) / weight
        self.bends.deviation = sqrt(error / weight)
        self.bends.shrink = 1.0
        while self.bends.shrink * weight > 2.0 ** 28:     # so that sums stay whole numbers
            self.bends.shrink /= 2.0
        for k in range(self.n_features):
            self.centre[k] = moments_mean(&self.sums, self.n_classes, k)
            self.reach[k] = ldexp(moments_spread(&self.sums, self.n_classes, &self.grid, k),
                                  -self.grid.exponent[k])
        self.bends.centre = self.centre
        self.bends.reach = self.reach
        self.bends.fit = self.fit
        self.bends.varies = self.parts.varies
        memset(self.bend, 0, self.n_features * self.n_features * sizeof(double))

    cdef void finish_bends(self) noexcept nogil:
        """Adds the directions in which what least squares leave over bends most."""
        cdef i64 p = self.n_features
        cdef i64 i, j, k, e
        cdef double x
        cdef double* bend = self.bend
        for j in range(p):
            for k in range(j + 1):
                bend[j * p + k] *= self.reach[j] * self.reach[k]
                bend[k * p + j] = bend[j * p + k]
        # L^-1 H L'^-1, whose eigenvectors q give v = L'^-1 q: rows first, then columns.
        for j in range(p):
            solve_lower(self.parts.matrix, p, bend + j * p)
        for j in range(p):
            for k in range(j):
                x = bend[j * p + k]
                bend[j * p + k] = bend[k * p + j]
                bend[k * p + j] = x
        for j in range(p):
            solve_lower(self.parts.matrix, p, bend + j * p)
        for j in range(p):
            for k in range(j):
                bend[k * p + j] = bend[j * p + k]
        if not eigen_symmetric(bend, p, self.eigen, self.eigen + p):
            return
        i, j = 0, p - 1                          # the next from either end
        for e in range(min(<i64> N_BENDS, p)):
            if fabs(self.eigen[i]) >= fabs(self.eigen[j]):
                k = i
                i += 1
            else:
                k = j
                j -= 1
            memcpy(self.parts.normal, bend + k * p, p * sizeof(double))
            solve_upper(self.parts.matrix, p, self.parts.normal)
            if self.set_vector(self, self.parts.normal, True, self.vectors + self.n_tasks * p):
                self.add_task(p + N_SLICES - 1 + MOST_FITS + e, False)

    # -- looking -------------------------------------------------------------------------------

    cdef double price_of(self, i64 n_coef) noexcept nogil:
        """What a hyperplane costs, as a share of the variance that it leaves."""
        return round_significant(self.price * log(max(self.n_counted, 1.0))
                                 * (<double> (n_coef - 1)) / self.n_counted)

    cdef double priced(self, double score) noexcept nogil:
        cdef double price = self.price_of(self.n_coef)
        return score - price * (self.variance - score)

    cdef void offer(self, PlanningFinder owner, double tolerance, i64 direction,
                    Cut* best) noexcept nogil:
        cdef double price = (<SlopeFinder> owner).price_of(self.n_coef)
        cdef double variance = (<SlopeFinder> owner).variance
        cdef Cut cut
        cut.score = max((best.score + price * variance) / (1.0 + price) * SLACK, 0.0)
        cut.direction = -1
        cut.rows_left = 0
        search_gathered(&self.memory, &owner.gathered, tolerance, &owner.scorer, direction, &cut)
        if cut.direction < 0:
            return
        cut.score -= price * (variance - cut.score)
        if better(cut.score, cut.direction, cut.rows_left, best):
            best[0] = cut

    # -- rows that lie elsewhere ---------------------------------------------------------------

    def load_outputs(self, const i64[::1] counts, outputs, i64 widest):
        """Plans least squares, after `load_sums` has planned slices, which are its classes.

        `counts`: the sums of the node; `outputs`: what `output_sums` says of each that has a
        direction, and of the `widest`, which is the last then. Returns how rows are to be summed
        for bends (see `bend_sums`); None if nothing is left over to bend, or nothing varies.
        """
        cdef i64 j, p = self.n_features
        cdef double error = 0.0
        self.output = widest
        self.variance = squared_error(&counts[0], self.learnt.n_numbers) / (
            <double> self.scorer.weight)
        self.n_counted = self.row_unit * (<double> self.scorer.weight)
        if not self.is_factorised:
            return None
        for j, told in enumerate(outputs):
            self.take_output(told)
            error = self.solve_output()
            if j < min(<i64> self.learnt.n_numbers, <i64> MOST_FITS):
                self.add_fit(j)
        if not error > 0.0:
            return None
        self.begin_bends(error)
        return (self.bends.output, self.bends.mean, self.bends.deviation, self.bends.shrink,
                np.array(<double[:p]> self.centre), np.array(<double[:p]> self.reach),
                np.array(<double[:p]> self.fit), np.array(<u8[:p]> self.parts.varies))

    cdef int take_output(self, told) except -1:
        """Takes over what `output_sums` says of all rows."""
        cdef const i64[::1] sums = told[0], high = told[1], low = told[2]
        cdef OutputSums* mine = &self.products
        mine.weight, mine.first = sums[0], sums[1]
        mine.square_high, mine.square_low = sums[2], sums[3]
        memcpy(mine.high, &high[0], self.n_features * sizeof(i64))
        memcpy(mine.low, &low[0], self.n_features * sizeof(i64))
        return 0

    def load_bends(self, const double[:, ::1] bend):
        """Plans the bends, from what `bend_sums` says of all rows."""
        memcpy(self.bend, &bend[0, 0], self.n_features * self.n_features * sizeof(double))
        with nogil:
            self.finish_bends()

    @property
    def n_planned(self):
        """The number of tasks."""
        return self.n_tasks

    def worth(self, double score, i64 n_coef):
        """What a cut with this score is worth, with so many coefficients."""
        self.n_coef = n_coef
        return self.priced(score)

    def least_score(self, double bar, i64 n_coef):
        """A score that a cut must have at least to be worth more than `bar`."""
        cdef double price = self.price_of(n_coef)
        return max((bar + price * self.variance) / (1.0 + price) * SLACK, 0.0)


# --- sums of parts of the rows -------------------------------------------------------------------


cdef class _Part:
    """Some rows of a problem, gathered a few thousand at a time."""

    cdef object held
    cdef View view
    cdef const i32[::1] rows
    cdef i32[::1] one_class
    cdef const Target* target
    cdef Gathered gathered
    cdef Grid grid
    cdef i64 at

    def __cinit__(self, Z, const i32[::1] rows, TargetRows target, const double[::1] shift,
                  const i32[::1] exponent, int weight_shift):
        self.held = (Z, target, shift, exponent)
        self.view = make_view(Z)
        self.rows = rows
        self.one_class = np.zeros(self.view.n_rows, dtype=np.int32)
        self.target = &target.target
        self.grid.shift = <double*> &shift[0]
        self.grid.exponent = <i32*> &exponent[0]
        self.grid.weight_shift = weight_shift
        if not gathered_init(&self.gathered, max(min(<i64> rows.shape[0], <i64> ROWS_AT_ONCE), 1),
                             self.view.n_cols, 1, self.target.weights != NULL):
            raise MemoryError("no room for the sums of products")

    def __dealloc__(self):
        gathered_free(&self.gathered)

    cdef bint next(self) noexcept nogil:
        """Gathers some more rows; False if there are none."""
        cdef i64 n = min(self.rows.shape[0] - self.at, <i64> ROWS_AT_ONCE)
        if n <= 0:
            return False
        gathered_fill(&self.gathered, &self.view, &self.rows[self.at], n, &self.one_class[0],
                      self.target.weights, 1)
        self.at += n
        return True


def output_sums(Z, rows, TargetRows target, i64 output, shift, exponent, int weight_shift):
    """Of rows and an output: (weight, sum, high and low sums of squares), then of products.

    Products with each column, in two pieces: high * 2^26 + low. Values of columns are on the grid
    of `moments.scatter`, the output on its own.
    """
    cdef _Part part = _Part(Z, rows, target, shift, exponent, weight_shift)
    cdef OutputSums sums
    cdef double[::1] values = np.empty(max(min(len(rows), ROWS_AT_ONCE), 1))
    found = np.zeros((2, part.view.n_cols), dtype=np.int64)
    cdef i64[:, ::1] pieces = found
    sums.high, sums.low = &pieces[0, 0], &pieces[1, 0]
    output_clear(&sums, part.view.n_cols)
    with nogil:
        while part.next():
            output_add(&sums, &part.gathered, &part.grid, part.target, output, NULL, &values[0])
    whole = [sums.weight, sums.first, sums.square_high, sums.square_low]
    return np.array(whole, dtype=np.int64), found[0], found[1]


def bend_sums(Z, rows, TargetRows target, plan, shift, exponent, int weight_shift):
    """The lower triangle of products of two features, times what least squares leave over.

    `plan` is what `SlopeFinder.load_outputs` says of all rows. The sums are whole numbers.
    """
    cdef _Part part = _Part(Z, rows, target, shift, exponent, weight_shift)
    cdef i64 p = part.view.n_cols
    cdef const double[::1] centre = plan[4], reach = plan[5], fit = plan[6]
    cdef const u8[::1] varies = plan[7]
    cdef BendPlan bends
    cdef double[::1] block = np.empty(p * OB_BEND)
    found = np.zeros((p, p))
    cdef double[:, ::1] bend = found
    bends.output, bends.mean, bends.deviation, bends.shrink = plan[:4]
    bends.centre, bends.reach, bends.fit = &centre[0], &reach[0], &fit[0]
    bends.varies = &varies[0]
    with nogil:
        while part.next():
            bend_add(&bends, &part.gathered, &part.grid, part.target, &block[0], &bend[0, 0])
    return found
