"""HHCART's directions, searched as they are made (Wickramarachchi et al. 2015).

For each class of a node: eigenvectors d of its covariance matrix; for each d the reflection H that
carries e_1 to d; for each of its columns h_j = e_j - 2 u_j u, u = (e_1 - d) / |e_1 - d|, the best
cut of the rows along h_j. H is never formed: all columns of X H are X_j - 2 u_j (X u), one
projection and one multiple of it added to each column.

These values may round differently from the canonical dot product. The winner's normal is therefore
rounded to 24 bits and searched again with canonical values, which decide the threshold and the
sides of the rows. Fisher's directions and sparse directions are canonical from the start.
"""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.criterion cimport SUM_VARIANCES
from obliqua._core.eigen cimport eigen_symmetric
from obliqua._core.finder cimport Data
from obliqua._core.moments cimport (
    moments_add, moments_clear, moments_combine, moments_free, moments_init, moments_mean,
    moments_scatter,
)
from obliqua._core.quick cimport bench_free, bench_init, bench_read, quick_search
from obliqua._core.search cimport tolerance_for
from obliqua._core.sheet cimport Sheet, sheet_fill, sheet_free, sheet_init
from obliqua._core.solve cimport add_ridge, factorise, solve
from obliqua._core.sort cimport sort_order
from obliqua._core.types cimport Cut, Scorer, i32, i64, midpoint, u8, u64
from obliqua._core.view cimport make_view

cdef extern from "loops.h" nogil:
    void ob_add_terms(double* sum, double* size, const double* x, double scale, double factor,
                      i64 n)
    void ob_reflect(double* z, const double* x, const double* along, double scale, double factor,
                    i64 n)
    void ob_range(const double* z, i64 n, double* low, double* high)

cdef double TIE = 1e-10
cdef double NO_SPREAD = 1e-10        # of the largest eigenvalue: the direction is arbitrary
cdef double NO_MIRROR = 1e-12        # an eigenvector that is the axis itself


cdef inline double round_significant(double x) noexcept nogil:
    """x with 24 significant bits, halves to even."""
    cdef u64 bits
    memcpy(&bits, &x, sizeof(double))
    bits += 0x0FFFFFFFULL + ((bits >> 29) & 1)
    bits &= ~(<u64> 0x1FFFFFFFULL)
    memcpy(&x, &bits, sizeof(double))
    return x


cdef class Householder(Finder):
    """Finds the best oblique cut of a node; one object per thread.

    `settings` has the fields of `obliqua.methods.hhcart.Householder`. A `helper` has no room for
    a node of its own: it only looks at the tasks of another object.
    """

    def __cinit__(self, i64 n_features, int n_classes, i64 room, bint weighted, grid,
                  const double[::1] scale, settings, max_features, bint helper=False):
        cdef i64 p = n_features
        cdef const double[::1] shift = grid.shift
        cdef const i32[::1] exponent = grid.exponent
        self.held = (grid, shift, exponent, scale)
        self.n_features = p
        self.n_classes = n_classes
        self.grid.n_features = p
        self.grid.shift = &shift[0]
        self.grid.exponent = &exponent[0]
        self.grid.weight_shift = grid.weight_shift
        self.scale = &scale[0]
        self.settings.every = settings.variant == "all"
        self.settings.nearest = settings.target == "nearest"
        self.settings.tau = settings.tau
        self.settings.min_rows = settings.min_rows
        self.settings.fisher = settings.fisher
        self.settings.trim = settings.trim
        self.settings.max_features = p if max_features is None else max_features
        cdef i64 most = n_classes * (p if self.settings.every else 1) + n_classes
        self.tasks = <Task*> malloc(most * sizeof(Task))
        self.vectors = <double*> malloc(most * p * sizeof(double))
        self.matrix = <double*> malloc(p * p * sizeof(double))
        self.other = <double*> malloc(p * p * sizeof(double))
        self.values = <double*> malloc(p * sizeof(double))
        self.scratch = <double*> malloc(4 * p * sizeof(double))
        self.spread = <double*> malloc(p * sizeof(double))
        self.normal = <double*> malloc(p * sizeof(double))
        self.along = <double*> malloc(room * sizeof(double))
        self.size = <double*> malloc(room * sizeof(double))
        self.chosen = <i32*> malloc(room * sizeof(i32))
        if (self.tasks == NULL or self.vectors == NULL or self.matrix == NULL
                or self.other == NULL or self.values == NULL or self.scratch == NULL
                or self.spread == NULL or self.normal == NULL or self.along == NULL
                or self.size == NULL or self.chosen == NULL
                or not sheet_init(&self.sheet, 1 if helper else room, p, n_classes, weighted)
                or not bench_init(&self.bench, room, n_classes, weighted)
                or not moments_init(&self.sums, p, n_classes + 2)):
            raise MemoryError("no room to look for oblique splits")

    def __dealloc__(self):
        free(self.tasks)
        free(self.vectors)
        free(self.matrix)
        free(self.other)
        free(self.values)
        free(self.scratch)
        free(self.spread)
        free(self.normal)
        free(self.along)
        free(self.size)
        free(self.chosen)
        sheet_free(&self.sheet)
        bench_free(&self.bench)
        moments_free(&self.sums)

    # -- what to look at ---------------------------------------------------------------------

    cdef void read(self, const Data* data, const i32* rows, i64 n,
                   const Scorer* scorer) noexcept nogil:
        """Gathers the node's rows; classes that are absent are left out."""
        cdef i64 i
        sheet_fill(&self.sheet, &data.view, rows, n, data.classes, data.weights, data.n_classes)
        bench_read(&self.bench, &self.sheet)
        self.scorer = scorer[0]
        self.scorer.counts = self.sheet.counts
        self.scorer.n_classes = self.sheet.n_present
        if scorer.code == SUM_VARIANCES:             # numbers the classes, absent ones too
            self.scorer.counts = scorer.counts
            self.scorer.n_classes = scorer.n_classes
            for i in range(n):
                self.bench.work.classes[i] = self.sheet.present[self.sheet.classes[i]]

    cdef void plan(self) noexcept nogil:
        """Finds the mirrors and directions of the node."""
        cdef int k
        self.n_tasks = 0
        for k in range(self.sheet.n_present):
            moments_clear(&self.sums, k)
            moments_add(&self.sums, &self.sheet, k, k, &self.grid, NULL, 0)
        self.measure_spread()
        for k in range(self.sheet.n_present):
            self.plan_mirrors(k)
        if self.settings.fisher and self.sheet.n_present > 1:
            self.plan_fisher()

    cdef void measure_spread(self) noexcept nogil:
        """Sums over all classes, and the standard deviations of the features."""
        cdef i64 total = self.n_classes
        cdef i64 i, p = self.n_features
        cdef int k
        if not self.settings.fisher and self.settings.max_features >= p:
            return
        moments_clear(&self.sums, total)
        for k in range(self.sheet.n_present):
            moments_combine(&self.sums, total, k, 1)
        moments_scatter(&self.sums, total, &self.grid, NULL, self.matrix)
        for i in range(p):
            self.spread[i] = sqrt(self.matrix[i * p + i] / (<double> self.sums.weights[total]))

    cdef void plan_mirrors(self, int k) noexcept nogil:
        cdef i64 p = self.n_features
        cdef i64 e, slot = k
        if self.settings.trim > 0.0:
            slot = self.trimmed(k)
        if not moments_scatter(&self.sums, slot, &self.grid, self.scale, self.matrix):
            return
        if not eigen_symmetric(self.matrix, p, self.values, self.scratch):
            return
        for e in range(p):
            if self.values[e] <= NO_SPREAD * self.values[0]:
                break
            if self.set_mirror(self.matrix + e * p, self.vectors + self.n_tasks * p):
                self.tasks[self.n_tasks].first = p + (self.sheet.present[k] * p + e) * p
                self.tasks[self.n_tasks].mirror = True
                self.n_tasks += 1
            if not self.settings.every:
                break

    cdef bint set_mirror(self, double* d, double* mirror) noexcept nogil:
        """The mirror's normal for an eigenvector; False if the eigenvector is (nearly) an axis."""
        cdef i64 p = self.n_features
        cdef i64 k, axis = 0
        cdef double size = 0.0, top = 0.0
        for k in range(p):
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
        cdef i64 i, j
        cdef int k, last = 1 if self.sheet.n_present == 2 else self.sheet.n_present
        cdef double* w
        cdef bint varies
        for k in range(last):
            moments_clear(&self.sums, rest)
            moments_combine(&self.sums, rest, total, 1)
            moments_combine(&self.sums, rest, k, -1)
            varies = moments_scatter(&self.sums, k, &self.grid, NULL, self.matrix)
            varies |= moments_scatter(&self.sums, rest, &self.grid, NULL, self.other)
            if not varies:
                continue
            for i in range(p):
                for j in range(i + 1):
                    self.matrix[i * p + j] = ((self.matrix[i * p + j] + self.other[i * p + j])
                                              * (self.scale[i] * self.scale[j]))
            add_ridge(self.matrix, p)
            if not factorise(self.matrix, p):
                continue
            w = self.vectors + self.n_tasks * p
            for i in range(p):
                w[i] = (moments_mean(&self.sums, k, &self.grid, i)
                        - moments_mean(&self.sums, rest, &self.grid, i)) * self.scale[i]
            solve(self.matrix, p, w)
            self.tasks[self.n_tasks].first = p + self.n_classes * p * p + self.sheet.present[k]
            self.tasks[self.n_tasks].mirror = False
            self.n_tasks += 1

    cdef i64 trimmed(self, int k) noexcept nogil:
        """Sums of a class without its farthest rows, by Mahalanobis distance; returns the slot."""
        cdef i64 p = self.n_features
        cdef i64 slot = self.n_classes + 1
        cdef i64 start = self.sheet.starts[k], n = self.sheet.starts[k + 1] - start
        cdef i64 i, j, n_chosen = 0
        cdef double* distance = self.along
        cdef double* x = self.scratch
        cdef double* y = self.scratch + p
        cdef double limit = 0.0, enough, weight = 0.0
        if not moments_scatter(&self.sums, k, &self.grid, self.scale, self.matrix):
            return k
        add_ridge(self.matrix, p)
        if not factorise(self.matrix, p):
            return k
        for i in range(n):
            for j in range(p):
                x[j] = (self.sheet.columns[j * self.sheet.n + start + i]
                        - moments_mean(&self.sums, k, &self.grid, j)) * self.scale[j]
                y[j] = x[j]
            solve(self.matrix, p, y)
            distance[i] = 0.0
            for j in range(p):
                distance[i] += x[j] * y[j]
        sort_order(distance, self.bench.work.order, n, &self.bench.work.packed)
        enough = (1.0 - self.settings.trim) * (<double> self.sheet.counts[k])
        for i in range(n):
            j = self.bench.work.order[i] & 0x7FFFFFFF
            limit = distance[j]
            weight += 1.0 if not self.sheet.weighted else <double> self.sheet.weights[start + j]
            if weight >= enough:
                break
        for i in range(n):
            if distance[i] <= limit:
                self.chosen[n_chosen] = <i32> (start + i)
                n_chosen += 1
        moments_clear(&self.sums, slot)
        moments_add(&self.sums, &self.sheet, k, slot, &self.grid, self.chosen, n_chosen)
        return slot

    # -- looking -----------------------------------------------------------------------------

    cdef void make_normal(self, Householder owner, i64 task, i64 j) noexcept nogil:
        """The normal of a direction, sparse if it must be, rounded: in idx, coef and n_coef."""
        cdef i64 p = self.n_features
        cdef i64 k, i, worst, most = self.settings.max_features
        cdef const double* vector = owner.vectors + task * p
        cdef double f = -2.0 * vector[j]
        cdef double size
        for k in range(p):
            if owner.tasks[task].mirror:
                self.normal[k] = (f * vector[k] + (1.0 if k == j else 0.0)) * self.scale[k]
            else:
                self.normal[k] = vector[k] * self.scale[k]
        self.n_coef = 0
        for k in range(p):
            if self.normal[k] == 0.0:
                continue
            if self.n_coef == most:
                # Leaves out the entry that matters least; of equals the later one.
                worst = -1
                size = fabs(self.normal[k]) * owner.spread[k]
                for i in range(self.n_coef):
                    if fabs(self.normal[self.idx[i]]) * owner.spread[self.idx[i]] < size:
                        size = fabs(self.normal[self.idx[i]]) * owner.spread[self.idx[i]]
                        worst = i
                    elif worst >= 0 and (fabs(self.normal[self.idx[i]])
                                         * owner.spread[self.idx[i]] == size):
                        worst = i
                if worst < 0:
                    continue
                for i in range(worst, self.n_coef - 1):
                    self.idx[i] = self.idx[i + 1]
                self.n_coef -= 1
            self.idx[self.n_coef] = <i32> k
            self.n_coef += 1
        for i in range(self.n_coef):
            self.coef[i] = round_significant(self.normal[self.idx[i]])

    cdef double project(self, const Sheet* sheet) noexcept nogil:
        """Canonical values in bench.work.values; returns the largest sum of |terms|."""
        cdef i64 i
        cdef double low = 0.0, high = 0.0
        memset(self.bench.work.values, 0, sheet.n * sizeof(double))
        memset(self.size, 0, sheet.n * sizeof(double))
        for i in range(self.n_coef):
            ob_add_terms(self.bench.work.values, self.size, sheet.columns + self.idx[i] * sheet.n,
                         1.0, self.coef[i], sheet.n)
        ob_range(self.size, sheet.n, &low, &high)
        return high

    cdef double look_along(self, Householder owner, i64 task) noexcept nogil:
        """Projections on a mirror's normal in `along`; returns the largest sum of |terms|."""
        cdef const Sheet* sheet = &owner.sheet
        cdef const double* mirror = owner.vectors + task * self.n_features
        cdef double low = 0.0, high = 0.0
        cdef i64 k
        memset(self.along, 0, sheet.n * sizeof(double))
        memset(self.size, 0, sheet.n * sizeof(double))
        for k in range(self.n_features):
            if mirror[k] != 0.0:
                ob_add_terms(self.along, self.size, sheet.columns + k * sheet.n, self.scale[k],
                             mirror[k], sheet.n)
        ob_range(self.size, sheet.n, &low, &high)
        return high

    cdef void search(self, Householder owner, i64 first, i64 last, Cut* best) noexcept nogil:
        """Offers some directions of a node that `owner` has read: j of task t is t * p + j."""
        cdef i64 p = self.n_features
        cdef i64 t, end
        t = first // p
        while t * p < last:
            end = min(last - t * p, p if owner.tasks[t].mirror else 1)
            if owner.tasks[t].mirror and self.settings.max_features >= p:
                self.search_mirror(owner, t, max(first - t * p, 0), end, best)
            else:
                self.search_normals(owner, t, max(first - t * p, 0), end, best)
            t += 1

    cdef void search_mirror(self, Householder owner, i64 task, i64 first, i64 last,
                            Cut* best) noexcept nogil:
        """Columns first .. last - 1 of X H."""
        cdef Sheet* sheet = &owner.sheet
        cdef i64 j
        cdef double f, tolerance
        cdef double largest = self.look_along(owner, task)
        for j in range(first, last):
            f = -2.0 * owner.vectors[task * self.n_features + j]
            tolerance = TIE * (self.scale[j] * sheet.reach[j] + fabs(f) * largest)
            if f == 0.0 or tolerance - tolerance != 0.0:
                continue                     # h_j = e_j: searched with the axes; or overflow
            ob_reflect(self.bench.work.values, sheet.columns + j * sheet.n, self.along,
                       self.scale[j], f, sheet.n)
            quick_search(&self.bench, sheet, tolerance, &owner.scorer,
                         owner.tasks[task].first + j, best)

    cdef void search_normals(self, Householder owner, i64 task, i64 first, i64 last,
                             Cut* best) noexcept nogil:
        """Directions whose normals are made one by one: sparse ones, and Fisher's."""
        cdef i64 j
        cdef double largest
        for j in range(first, last):
            if owner.tasks[task].mirror and owner.vectors[task * self.n_features + j] == 0.0:
                continue
            self.make_normal(owner, task, j)
            if self.n_coef < 2:
                continue                     # searched with the axes
            largest = self.project(&owner.sheet)
            if largest - largest != 0.0:
                continue
            quick_search(&self.bench, &owner.sheet, tolerance_for(largest, self.n_coef),
                         &owner.scorer, owner.tasks[task].first + j, best)

    cdef bint confirm(self, Cut rough, Cut* best, u8* side) noexcept nogil:
        """Searches the winner once more with canonical values, and marks the sides."""
        cdef i64 t = 0, i
        cdef Cut exact
        cdef double largest
        while rough.direction >= self.tasks[t].first + (self.n_features if self.tasks[t].mirror
                                                        else 1):
            t += 1
        self.make_normal(self, t, rough.direction - self.tasks[t].first)
        if self.n_coef < 2:
            return False
        largest = self.project(&self.sheet)
        if largest - largest != 0.0:
            return False
        exact.score = 0.0
        exact.direction = -1
        exact.rows_left = 0
        quick_search(&self.bench, &self.sheet, tolerance_for(largest, self.n_coef), &self.scorer,
                     rough.direction, &exact)
        if exact.direction < 0 or exact.score <= best.score:
            return False
        best[0] = exact
        self.threshold = midpoint(exact.below, exact.above)
        for i in range(self.sheet.n):
            side[self.sheet.rows[i]] = self.bench.work.values[i] > self.threshold
        return True

    cdef bint find(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil:
        cdef Cut rough = best[0]
        if n < self.settings.min_rows:
            return False
        self.read(data, rows, n, scorer)
        self.plan()
        self.search(self, 0, self.n_tasks * self.n_features, &rough)
        if rough.direction < self.n_features:        # the axis-parallel one, or none
            return False
        return self.confirm(rough, best, side)

    # -- for the growth loop in Python -------------------------------------------------------

    def load(self, Z, const i32[::1] rows, const i32[::1] classes, weights,
             const i64[::1] counts, limits):
        """Reads a node and plans; returns the number of tasks.

        `limits`: (criterion code, smallest number of rows on a side, smallest weight).
        """
        cdef Data data
        cdef Scorer scorer
        cdef const i64[::1] w
        cdef i64 c
        data.view = make_view(Z)
        data.classes = &classes[0]
        data.weights = NULL
        data.n_classes = self.n_classes
        if weights is not None:
            w = weights
            data.weights = &w[0]
        scorer.code = limits[0]
        scorer.n_classes = self.n_classes
        scorer.n_rows = rows.shape[0]
        scorer.min_rows = limits[1]
        scorer.min_weight = limits[2]
        scorer.counts = &counts[0]
        scorer.weight = 0
        for c in range(counts.shape[0]):
            scorer.weight += counts[c]
        self.n_tasks = 0
        if rows.shape[0] < self.settings.min_rows:
            return 0
        with nogil:
            self.read(&data, &rows[0], rows.shape[0], &scorer)
            self.plan()
        return self.n_tasks

    def look(self, Householder owner, i64 first, i64 last, double score):
        """The best cut of some directions that `owner` planned: (score, direction, rows left).

        Only a score above the given one counts; direction -1: none has.
        """
        cdef Cut best
        best.score = score
        best.direction = -1
        best.rows_left = 0
        if self is not owner:
            bench_read(&self.bench, &owner.sheet)
            if owner.scorer.code == SUM_VARIANCES:
                memcpy(self.bench.work.classes, owner.bench.work.classes,
                       owner.sheet.n * sizeof(i32))
        with nogil:
            self.search(owner, first, last, &best)
        return best.score, best.direction, best.rows_left

    def decide(self, i64 direction, double score, u8[::1] right):
        """Confirms the winner among the tasks: (score, rows left, threshold, idx, coef), or None.

        `score` is what it must exceed. `right` gets the sides of the rows, by row number.
        """
        cdef Cut rough, best
        cdef bint found
        rough.direction = direction
        best.score = score
        with nogil:
            found = self.confirm(rough, &best, &right[0])
        if not found:
            return None
        return (best.score, best.rows_left, self.threshold, *self.plane())

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
