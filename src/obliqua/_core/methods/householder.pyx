"""HHCART's directions (Wickramarachchi et al. 2015).

For each class of a node: eigenvectors d of its covariance matrix; for each d the reflection H that
carries e_1 to d, given by its mirror's normal u = (e_1 - d) / |e_1 - d|. H is never formed: all
columns of X H are X_j - 2 u_j (X u), one projection and one multiple of it added to each column.
Beside the reflections, if wanted: Fisher's direction of each class against the rest, or the
discriminants.
"""

from libc.math cimport fabs, ldexp, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from obliqua._core.base.linalg cimport (
    add_ridge, dominant_vector, dot, eigen_scatter, eigen_symmetric, factorise, orthogonalise,
    solve, solve_lower,
)
from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.types cimport Cut, i32, i64, u8
from obliqua._core.grow.moments cimport (
    moments_add, moments_clear, moments_combine, moments_mean, moments_scatter, moments_spread,
    moments_square,
)
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.grow.row_span cimport SpanRows, span_column, span_read
from obliqua._core.methods.discriminants cimport DiscriminantFinder
from obliqua._core.search.direction cimport tolerance_for
from obliqua._core.search.gathered cimport Gathered

cdef extern from "loops.h" nogil:
    double ob_project(double* sum, const double* columns, i64 n, const i32* idx,
                      const double* coef, const double* scale, i64 n_coef)
    void ob_reflect(double* z, const double* x, const double* along, double scale, double factor,
                    i64 n)

cdef enum:
    MANY_FEATURES = 40       # measured: from here on one eigenvector is cheaper than all

cdef double RIDGE = 1e-3             # of each diagonal entry
cdef double FLOOR = 1e-12            # of the mean of the diagonal
cdef double NO_SPREAD = 1e-10        # of the largest eigenvalue: the direction is arbitrary
cdef double NO_MIRROR = 1e-12        # an eigenvector that is the axis itself
cdef i64 MIRRORED = 4        # as many terms more for what it takes to reflect a row


cdef class HouseholderFinder(DiscriminantFinder):
    """Plans the mirrors of a node; `settings` is an `obliqua.methods.hhcart.Householder`."""

    def __cinit__(self, i64 n_features, int n_classes, i64 capacity, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False, bint wide=False):
        cdef i64 p = n_features, side = capacity if wide else n_features
        self.settings.every = settings.variant == "all"
        self.settings.by_correlation = settings.zero_eigenvalues == "correlation"
        self.settings.nearest = settings.target == "nearest"
        self.settings.tau = settings.tau
        self.settings.fisher = settings.fisher
        self.settings.trim = settings.trim
        self.min_rows = settings.min_rows
        self.base = n_classes * p * p + n_classes
        self.reserve((0 if not self.settings.every else capacity if wide else n_classes * p)
                     + 2 * n_classes + self.most_directions())
        self.matrix = <double*> malloc(side * side * sizeof(double))
        self.other = <double*> malloc(side * side * sizeof(double))
        self.kept = <double*> malloc(side * side * sizeof(double))
        self.values = <double*> malloc(side * sizeof(double))
        self.scratch = <double*> malloc(5 * side * sizeof(double))
        self.chosen = <i32*> malloc(capacity * sizeof(i32))
        self.still = <u8*> malloc(p * sizeof(u8))
        if (self.matrix == NULL or self.other == NULL or self.kept == NULL
                or self.values == NULL or self.scratch == NULL or self.chosen == NULL
                or self.still == NULL):
            raise MemoryError("no room to look for oblique splits")

    def __dealloc__(self):
        free(self.matrix)
        free(self.other)
        free(self.kept)
        free(self.values)
        free(self.scratch)
        free(self.chosen)
        free(self.still)

    cdef void plan(self) noexcept nogil:
        """Finds the mirrors and directions of the node that was read."""
        cdef int k
        for k in range(self.gathered.n_present):
            moments_clear(&self.sums, k)
            moments_add(&self.sums, &self.gathered, k, k, &self.grid, NULL, 0)
        if self.wide:
            span_read(&self.span, &self.gathered, &self.grid)
        self.plan_from_sums()

    cdef void plan_from_sums(self) noexcept nogil:
        cdef int k
        if self.settings.fisher or self.wanted or self.max_features < self.n_features:
            self.measure_spread()
        for k in range(self.gathered.n_present):
            if self.wide:
                self.plan_mirrors_of_rows(k)
            else:
                self.plan_mirrors(k)
        if self.settings.fisher and self.gathered.n_present > 1:
            self.plan_fisher()
        if self.wanted:
            self.plan_discriminants()

    cdef void measure_spread(self) noexcept nogil:
        """Sums over all classes, and the standard deviations of the features."""
        cdef i64 total = self.n_classes
        cdef i64 i
        cdef int k
        moments_clear(&self.sums, total)
        for k in range(self.gathered.n_present):
            moments_combine(&self.sums, total, k, 1)
        for i in range(self.n_features):
            self.spread[i] = moments_spread(&self.sums, total, &self.grid, i)

    cdef void plan_mirrors(self, int k) noexcept nogil:
        cdef i64 p = self.n_features
        cdef i64 e, n_vectors, slot = k
        if self.settings.trim > 0.0:
            slot = self.trimmed(k)
        if not moments_scatter(&self.sums, slot, self.factor, self.matrix):
            return
        for e in range(p):
            self.still[e] = self.matrix[e * p + e] == 0.0
        if self.columns is not None:
            self.columns.mind_signals(p * p * (p if self.settings.every else 1))
            if self.columns.stop:
                return
        if p >= MANY_FEATURES and not self.settings.every:
            memcpy(self.other, self.matrix, p * p * sizeof(double))
            if dominant_vector(self.other, p, self.values):
                if self.set_mirror(self.values, self.vectors + self.n_tasks * p):
                    self.add_task(p + self.gathered.present[k] * p * p, True)
                return
        n_vectors = self.find_vectors(slot)
        for e in range(n_vectors if self.settings.every else min(n_vectors, 1)):
            if self.set_mirror(self.matrix + e * p, self.vectors + self.n_tasks * p):
                self.add_task(p + (self.gathered.present[k] * p + e) * p, True)

    cdef i64 find_vectors(self, i64 slot) noexcept nogil:
        """Eigenvectors of the scatter matrix in the place of it; returns how many vary.

        An eigenvalue that is tiny beside the largest is 0 only if the correlation matrix is as
        singular: the unit of a feature must not decide. No matrix has a higher rank than rows
        less one, or than features that vary.
        """
        cdef i64 p = self.n_features
        cdef i64 k, n = 0, rank, most = 0
        memcpy(self.other, self.matrix, p * p * sizeof(double))
        if not eigen_symmetric(self.matrix, p, self.values, self.scratch):
            return 0
        while n < p and self.values[n] > NO_SPREAD * self.values[0]:
            n += 1
        for k in range(p):
            most += not self.still[k]
        if (not self.settings.by_correlation or not self.settings.every
                or n >= min(most, self.sums.weights[slot] - 1)):
            return n
        memcpy(self.kept, self.matrix, n * p * sizeof(double))
        rank = eigen_scatter(self.other, self.matrix, p, NO_SPREAD, self.values, self.scratch)
        if rank > n:
            return rank
        memcpy(self.matrix, self.kept, n * p * sizeof(double))
        return n

    cdef void plan_mirrors_of_rows(self, int k) noexcept nogil:
        """The same from products of rows: an eigenvector v of these gives Y'v."""
        cdef i64 p = self.n_features
        cdef i64 first = self.n_tasks, e, j
        cdef double length
        cdef double* d
        cdef bint varies = False
        cdef SpanRows rows = self.rows_of_class(k, k)
        if self.settings.trim > 0.0:
            self.trim_rows(&rows, k)
        for j in range(p):
            self.weighing[j] = self.factor[j] * self.factor[j]
            self.still[j] = moments_square(&self.sums, rows.slot, j) * self.weighing[j] == 0.0
            varies |= not self.still[j]
        if not varies or not self.multiply_rows(&rows):
            return
        for e in range(self.find_vectors_of_rows(&rows)):
            d = self.vectors + (first + e) * p
            length = sqrt(dot(d, d, p))
            if length == 0.0:
                continue
            for j in range(p):
                d[j] /= length
            # What is kept moves up to where the next task stands; it may stand there already.
            if self.set_mirror(d, self.vectors + self.n_tasks * p):
                self.add_task(p + (self.gathered.present[k] * p + e) * p, True)

    cdef i64 find_vectors_of_rows(self, const SpanRows* rows) noexcept nogil:
        """Eigenvectors of any length, where the next tasks stand; returns how many vary.

        As in `find_vectors`; the correlation matrix has the eigenvalues of products of rows whose
        features were divided by their standard deviations.
        """
        cdef i64 n = 0, rank = 0, most = 0, j
        cdef double* turned = self.vectors + self.n_tasks * self.n_features
        if rows.n >= MANY_FEATURES and not self.settings.every:
            memcpy(self.other, self.gram, rows.n * rows.n * sizeof(double))
            if dominant_vector(self.other, rows.n, self.values):
                self.turn_rows(rows, self.values, 1, turned)
                return 1
        if not eigen_symmetric(self.gram, rows.n, self.values, self.scratch):
            return 0
        if not self.settings.every:
            self.turn_rows(rows, self.gram, 1, turned)
            return 1
        while n < rows.n and self.values[n] > NO_SPREAD * self.values[0]:
            n += 1
        for j in range(self.n_features):
            most += not self.still[j]
        if not self.settings.by_correlation or n >= min(most, rows.n - 1):
            self.turn_rows(rows, self.gram, n, turned)
            return n
        memcpy(self.kept, self.gram, n * rows.n * sizeof(double))
        for j in range(self.n_features):
            self.weighing[j] = 0.0
            if not self.still[j]:
                self.weighing[j] = 1.0 / moments_square(&self.sums, rows.slot, j)
        if not self.multiply_rows(rows):
            return 0
        if eigen_symmetric(self.gram, rows.n, self.values, self.scratch):
            while rank < rows.n and self.values[rank] > NO_SPREAD * self.values[0]:
                rank += 1
        if rank > n:
            if self.columns is not None:
                self.columns.mind_signals(rank * rank * self.n_features)
                if self.columns.stop:
                    return 0
            self.turn_rows(rows, self.gram, rank, turned)
            if orthogonalise(turned, rank, self.n_features, self.values):
                return rank
        self.turn_rows(rows, self.kept, n, turned)
        return n

    cdef void turn_rows(self, const SpanRows* rows, const double* turn, i64 n,
                        double* turned) noexcept nogil:
        """n sums of the rows, as `turn` says in its rows."""
        cdef i64 p = self.n_features
        cdef i64 e, j
        for j in range(p):
            span_column(rows, j, self.span.columns)
            if self.still[j]:                # its mean is rounded
                memset(self.span.columns, 0, rows.n * sizeof(double))
            for e in range(n):
                turned[e * p + j] = (
                    self.factor[j] * dot(turn + e * rows.n, self.span.columns, rows.n))

    cdef bint set_mirror(self, double* d, double* mirror) noexcept nogil:
        """The mirror's normal for an eigenvector; False if the eigenvector is (nearly) an axis."""
        cdef i64 p = self.n_features
        cdef i64 k, axis = 0
        cdef double size = 0.0, top = 0.0
        for k in range(p):
            if self.still[k]:                # the class does not vary there: only noise does
                d[k] = 0.0
            if fabs(d[k]) > top:
                top = fabs(d[k])
                if self.settings.nearest:
                    axis = k
        if 2.0 - 2.0 * top <= self.settings.tau * self.settings.tau:
            return False
        # The sign of an eigenvector is an accident; the axis's own entry is made positive.
        k = axis
        if d[k] == 0.0:
            k = 0
            while d[k] == 0.0:
                k += 1
        if d[k] < 0.0:
            for k in range(p):
                d[k] = -d[k]
        for k in range(p):
            mirror[k] = (1.0 if k == axis else 0.0) - d[k]
            size += mirror[k] * mirror[k]
        size = sqrt(size)
        if size < NO_MIRROR:
            return False
        for k in range(p):
            mirror[k] /= size
        return True

    cdef void plan_fisher(self) noexcept nogil:
        """One class against the rest: (W_class + W_rest + ridge)^-1 (mean - mean of the rest)."""
        cdef i64 p = self.n_features
        cdef i64 total = self.n_classes, rest = self.n_classes + 1
        cdef i64 i
        cdef int k, last = 1 if self.gathered.n_present == 2 else self.gathered.n_present
        cdef double* w
        cdef double top
        for k in range(last):
            moments_clear(&self.sums, rest)
            moments_combine(&self.sums, rest, total, 1)
            moments_combine(&self.sums, rest, k, -1)
            if self.sums.weights[k] == 0 or self.sums.weights[rest] == 0:
                continue                     # weights too small beside the others to be summed
            w = self.vectors + self.n_tasks * p
            for i in range(p):
                w[i] = (moments_mean(&self.sums, k, i)
                        - moments_mean(&self.sums, rest, i)) * self.factor[i]
            if not (self.solve_fisher_by_rows(k, rest, w) if self.wide
                    else self.solve_fisher(k, rest, w)):
                continue
            # The length has no meaning, but it would tell a weight of 2 from a repeated row.
            top = 0.0
            for i in range(p):
                top = max(top, fabs(w[i]))
            if top == 0.0 or top - top != 0.0:
                continue
            for i in range(p):
                w[i] /= top
            self.add_task(p + self.n_classes * p * p + self.gathered.present[k], False)

    cdef bint solve_fisher(self, int k, i64 rest, double* w) noexcept nogil:
        """Replaces a difference of means by Fisher's direction; False if there is none."""
        cdef i64 p = self.n_features
        cdef i64 i, j
        cdef bint varies = moments_scatter(&self.sums, k, NULL, self.matrix)
        varies |= moments_scatter(&self.sums, rest, NULL, self.other)
        if not varies:
            return False
        for i in range(p):
            for j in range(i + 1):
                self.matrix[i * p + j] = ((self.matrix[i * p + j] + self.other[i * p + j])
                                          * (self.factor[i] * self.factor[j]))
        add_ridge(self.matrix, p)
        if not factorise(self.matrix, p):
            return False
        solve(self.matrix, p, w)
        return True

    cdef bint solve_fisher_by_rows(self, int k, i64 rest, double* w) noexcept nogil:
        """The same from products of rows, of the class and of the rest about their own means."""
        cdef SpanRows rows = self.rows_about(k)
        rows.begin = self.span.starts[k]
        rows.end = self.span.starts[k + 1]
        rows.other = rest
        if not self.invert_ridge(k, rest) or not self.factorise_rows(&rows, self.factor):
            return False
        self.solve_rows(&rows, self.factor, w)
        return True

    cdef bint invert_ridge(self, i64 slot, i64 other) noexcept nogil:
        """1 / ridge of the scatter matrix of one slot, or of two (other >= 0); as `add_ridge`."""
        cdef i64 i, p = self.n_features
        cdef double square, trace = 0.0
        for i in range(p):
            square = moments_square(&self.sums, slot, i)
            if other >= 0:
                square += moments_square(&self.sums, other, i)
            self.inverse[i] = square * (self.factor[i] * self.factor[i])
            trace += self.inverse[i]
        if trace == 0.0:
            return False
        for i in range(p):
            self.inverse[i] = 1.0 / (RIDGE * self.inverse[i] + FLOOR * trace / p)
        return True

    cdef void trim_rows(self, SpanRows* rows, int k) noexcept nogil:
        """Leaves out the farthest rows of a class, as `trimmed` does.

        The distance of a row, x' (Y'Y + D)^-1 x, is 1 less its entry on the diagonal of
        (I + Y D^-1 Y')^-1, over its weight.
        """
        cdef i64 slot = self.n_classes + 1
        cdef i64 n = rows.n, i, j, row, n_chosen = 0, n_kept = 0
        cdef double* distance = self.along
        cdef double* unit = self.row_sums
        cdef i32* kept = self.span.merging
        cdef double limit = 0.0, enough, weight = 0.0, root
        if not self.invert_ridge(k, -1) or not self.factorise_rows(rows, self.factor):
            return
        for i in range(n):
            memset(unit, 0, n * sizeof(double))
            unit[i] = 1.0
            solve_lower(self.gram, n, unit)
            root = self.span.root[rows.first + i]
            distance[i] = 0.0                # where a weight is nothing beside the others
            if root > 0.0:
                distance[i] = (1.0 - dot(unit, unit, n)) / (root * root)
        sort_order(distance, self.memory.work.order, n, &self.memory.work.buffers)
        enough = (1.0 - self.settings.trim) * (<double> self.gathered.counts[k])
        for i in range(n):
            j = self.memory.work.order[i] & 0x7FFFFFFF
            limit = distance[j]
            row = rows.first + j
            for j in range(self.span.place[row], self.span.place[row + 1]):
                weight += (<double> self.gathered.weights[self.span.order[j]]
                           if self.gathered.weighted else 1.0)
            if weight >= enough:
                break
        for i in range(n):
            row = rows.first + i
            if distance[i] <= limit:
                kept[n_kept] = <i32> row
                n_kept += 1
                for j in range(self.span.place[row], self.span.place[row + 1]):
                    self.chosen[n_chosen] = self.span.order[j]
                    n_chosen += 1
        moments_clear(&self.sums, slot)
        moments_add(&self.sums, &self.gathered, k, slot, &self.grid, self.chosen, n_chosen)
        rows.chosen = kept
        rows.n = n_kept
        rows.slot = rows.other = slot

    cdef i64 trimmed(self, int k) noexcept nogil:
        """Sums of a class without its farthest rows, by Mahalanobis distance; returns the slot."""
        cdef i64 p = self.n_features
        cdef i64 slot = self.n_classes + 1
        cdef i64 start = self.gathered.starts[k], n = self.gathered.starts[k + 1] - start
        cdef i64 i, j, n_chosen = 0
        cdef double* distance = self.along
        cdef double* x = self.scratch
        cdef double* y = self.scratch + p
        cdef double limit = 0.0, enough, weight = 0.0
        if not moments_scatter(&self.sums, k, self.factor, self.matrix):
            return k
        add_ridge(self.matrix, p)
        if not factorise(self.matrix, p):
            return k
        for i in range(n):
            for j in range(p):
                x[j] = (self.gathered.columns[j * self.gathered.n + start + i]
                        - self.grid.shift[j])
                x[j] = (ldexp(x[j], -self.grid.exponent[j])
                        - moments_mean(&self.sums, k, j)) * self.factor[j]
                y[j] = x[j]
            solve(self.matrix, p, y)
            distance[i] = 0.0
            for j in range(p):
                distance[i] += x[j] * y[j]
        sort_order(distance, self.memory.work.order, n, &self.memory.work.buffers)
        enough = (1.0 - self.settings.trim) * (<double> self.gathered.counts[k])
        for i in range(n):
            j = self.memory.work.order[i] & 0x7FFFFFFF
            limit = distance[j]
            weight += (<double> self.gathered.weights[start + j] if self.gathered.weighted
                       else 1.0)
            if weight >= enough:
                break
        for i in range(n):
            if distance[i] <= limit:
                self.chosen[n_chosen] = <i32> (start + i)
                n_chosen += 1
        moments_clear(&self.sums, slot)
        moments_add(&self.sums, &self.gathered, k, slot, &self.grid, self.chosen, n_chosen)
        return slot

    # -- looking -----------------------------------------------------------------------------

    cdef double look_along(self, PlanningFinder owner, i64 task) noexcept nogil:
        """Projections on a mirror's normal in `along`; returns the largest sum of |terms|."""
        cdef const double* mirror = owner.vectors + task * self.n_features
        cdef i64 k
        self.n_coef = 0
        for k in range(self.n_features):
            if mirror[k] != 0.0:
                self.idx[self.n_coef] = <i32> k
                self.coef[self.n_coef] = mirror[k]
                self.n_coef += 1
        return ob_project(self.along, owner.gathered.columns, owner.gathered.n, self.idx,
                          self.coef, self.scale, self.n_coef)

    cdef void search_task(self, PlanningFinder owner, i64 task, i64 first, i64 last,
                          Cut* best) noexcept nogil:
        if owner.tasks[task].mirror and self.max_features >= self.n_features:
            self.search_mirror(owner, task, first, last, best)
        else:
            DiscriminantFinder.search_task(self, owner, task, first, last, best)

    cdef void search_mirror(self, PlanningFinder owner, i64 task, i64 first, i64 last,
                            Cut* best) noexcept nogil:
        """Columns first .. last - 1 of X H."""
        cdef Gathered* gathered = &owner.gathered
        cdef i64 j
        cdef double f, tolerance
        cdef double largest = self.look_along(owner, task)
        for j in range(first, last):
            f = -2.0 * owner.vectors[task * self.n_features + j]
            tolerance = self.scale[j] * max(fabs(gathered.low[j]), fabs(gathered.high[j]))
            tolerance = tolerance_for(tolerance + fabs(f) * largest, self.n_features + MIRRORED)
            if f == 0.0 or tolerance - tolerance != 0.0:
                continue                     # h_j = e_j: searched with the axes; or overflow
            ob_reflect(self.memory.work.values, gathered.columns + j * gathered.n, self.along,
                       self.scale[j], f, gathered.n)
            self.offer(owner, tolerance, owner.tasks[task].first + j, best)
