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

from obliqua._core.base.linalg cimport eigen_symmetric, solve_lower, solve_upper
from obliqua._core.base.rounding cimport round_significant
from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.target cimport TargetRows, squared_error, weight_at
from obliqua._core.base.types cimport Cut, Scorer, better, i32, i64
from obliqua._core.grow.coding cimport coding_find_absent, coding_measure
from obliqua._core.grow.finder cimport FitData
from obliqua._core.grow.level_means cimport number_column, room_free, room_init
from obliqua._core.grow.moments cimport central, moments_add_all, moments_mean, moments_spread
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.search.direction cimport workspace_free, workspace_init
from obliqua._core.search.gathered cimport gathered_fill, search_gathered

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
        if not helper:
            self.slice_ = <i32*> malloc(rows.n_rows * sizeof(i32))
        if (self.moment == NULL or (self.slice_ == NULL and not helper)
                or not workspace_init(&self.memory.work, capacity, self.learnt.n_sums, False,
                                      self.learnt)):
            raise MemoryError("no room to look for oblique splits")
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

    cdef void plan_slopes(self) noexcept nogil:
        """Adds all directions, from sums that are there."""
        cdef i64 p = self.n_features
        cdef int n = self.gathered.n_present, k
        cdef i64 i, j
        cdef double error = 0.0
        cdef double* normal = self.parts.normal
        if not self.factorise_total():
            return
        for k in range(n):
            self.solve_class(k)
        memset(normal, 0, p * sizeof(double))
        for k in range(1, n):                    # the rows above each quantile
            for i in range(p):                   # and those below, which add up to 0
                normal[i] -= self.parts.share[k - 1] * self.parts.solved[(k - 1) * p + i]
            if self.set_vector(normal, False, self.vectors + self.n_tasks * p):
                self.add_task(p + self.gathered.present[k] - 1, False)
        for j in range(min(<i64> self.learnt.n_numbers, <i64> MOST_FITS)):
            error = self.fit_output(j)
            if self.set_vector(self.fit, False, self.vectors + self.n_tasks * p):
                self.add_task(p + N_SLICES - 1 + j, False)
        if self.learnt.n_numbers > 1:
            error = self.fit_output(self.output)
        if error > 0.0:
            self.plan_bends(error)

    cdef double fit_output(self, i64 output) noexcept nogil:
        """Least squares of an output, in `fit`; returns the squared error that is left."""
        cdef i64 p = self.n_features, n = self.gathered.n
        cdef i64 i, k, at, size, w, value, product, low, high, total = 0
        cdef i64 first_y = 0, square_high = 0, square_low = 0
        cdef int m = self.learnt.n_numbers
        cdef double factor, error
        cdef double[32] q
        for i in range(n):
            value = self.learnt.rows[<i64> self.gathered.rows[i] * m + output]
            w = self.weight_in_sums(i)
            total += w
            first_y += w * value
            product = value * value
            square_high += w * (product >> PIECE_BITS)
            square_low += w * (product & ((<i64> 1 << PIECE_BITS) - 1))
            square_high += square_low >> PIECE_BITS
            square_low &= (<i64> 1 << PIECE_BITS) - 1
        error = central(square_high, square_low, total, first_y, first_y)
        for i in range(n):
            self.memory.work.values[i] = <double> self.learnt.rows[
                <i64> self.gathered.rows[i] * m + output]
        for k in range(p):
            self.fit[k] = 0.0
            if not self.parts.varies[k]:
                continue
            high = low = 0
            factor = ldexp(1.0, <int> (VALUE_BITS - self.grid.exponent[k]))
            at = 0
            while at < n:
                size = min(n - at, <i64> 32)
                ob_whole(q, self.gathered.columns + k * n + at, self.grid.shift[k], factor, size)
                if not self.gathered.weighted:
                    product = ob_whole_products(q, self.memory.work.values + at, size)
                    high += product >> PIECE_BITS
                    low += product & ((<i64> 1 << PIECE_BITS) - 1)
                else:
                    for i in range(size):
                        product = <i64> self.memory.work.values[at + i] * <i64> q[i]
                        w = self.weight_in_sums(at + i)
                        high += w * (product >> PIECE_BITS)
                        low += w * (product & ((<i64> 1 << PIECE_BITS) - 1))
                        high += low >> PIECE_BITS
                        low &= (<i64> 1 << PIECE_BITS) - 1
                at += size
            self.fit[k] = ldexp(central(high, low, total,
                                        self.sums.first[self.n_classes * p + k], first_y),
                                <int> -VALUE_BITS)
        memcpy(self.moment, self.fit, p * sizeof(double))
        solve_lower(self.parts.matrix, p, self.fit)
        solve_upper(self.parts.matrix, p, self.fit)
        for k in range(p):
            error -= self.moment[k] * self.fit[k]
        return error

    cdef i64 weight_in_sums(self, i64 i) noexcept nogil:
        """The weight of a gathered row in the sums of the grid."""
        if not self.gathered.weighted:
            return 1
        return <i64> rint(ldexp(<double> self.gathered.weights[i], -self.grid.weight_shift))

    cdef void plan_bends(self, double error) noexcept nogil:
        """Adds the directions in which what least squares leave over bends most."""
        cdef i64 p = self.n_features, n = self.gathered.n
        cdef i64 i, j, k, e, at
        cdef int m = self.learnt.n_numbers
        cdef double weight = <double> self.sums.weights[self.n_classes]
        cdef double mean = 0.0, rest, deviation, x
        cdef double* bend = self.bend
        cdef double[OB_BEND] rests
        cdef double[OB_BEND] weights
        cdef i64 first_y = 0, first = 0, size
        cdef double shrink = 1.0
        for i in range(n):
            first_y += self.weight_in_sums(i) * <i64> self.learnt.rows[
                <i64> self.gathered.rows[i] * m + self.output]
        mean = (<double> first_y) / weight
        deviation = sqrt(error / weight)
        while shrink * weight > 2.0 ** 28:       # so that sums stay whole numbers
            shrink /= 2.0
        for k in range(p):
            self.centre[k] = moments_mean(&self.sums, self.n_classes, k)
            self.reach[k] = ldexp(moments_spread(&self.sums, self.n_classes, &self.grid, k),
                                  -self.grid.exponent[k])
        memset(bend, 0, p * p * sizeof(double))
        memset(self.block, 0, p * OB_BEND * sizeof(double))
        while first < n:
            size = min(n - first, <i64> OB_BEND)
            for i in range(size):
                at = <i64> self.gathered.rows[first + i] * m + self.output
                rests[i] = (<double> self.learnt.rows[at]) - mean
            for k in range(p):
                if self.parts.varies[k]:
                    ob_bend_column(self.block + k * OB_BEND, rests,
                                   self.gathered.columns + k * n + first, self.grid.shift[k],
                                   ldexp(1.0, -self.grid.exponent[k]), self.centre[k],
                                   self.fit[k], FEATURE_STEPS / self.reach[k],
                                   FAR_OUT * FEATURE_STEPS, size)
            memset(weights, 0, sizeof(weights))
            for i in range(size):
                rest = rint(min(max(rests[i] / deviation, -FAR), FAR) * REST_STEPS)
                weights[i] = rint(shrink * <double> self.weight_in_sums(first + i)) * rest
            ob_bend_products(bend, self.block, weights, p)
            first += size
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
            if self.set_vector(self.parts.normal, True, self.vectors + self.n_tasks * p):
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
