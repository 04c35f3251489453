"""Directions that part classes, and superclasses that start from the best cuts.

With G the scatter matrix of a node's rows about their mean, R = 1e-3 diag G, m_c the mean of class
c less that of all rows, and s_c its share of the weight:

- for each class y_c = (G + R)^-1 m_c;
- the solutions of B v = lambda (G + R) v, B = sum of s_c m_c m_c'. These are those of the between
  and the within scatter, B v = mu (W + R) v with W = G - B, in the same order: one
  factorisation G + R = L L' serves all. Of L^-1 B L'^-1, or of the matrix of the classes with the
  same eigenvalues, the smaller is looked at;
- the sum of s_c y_c over a superclass, for superclasses that the best cuts of the three best
  directions suggest, and of the best axis: the classes that are more frequent to the right than in
  the node. From each, at most four times, while the cut becomes better.

Where a split may have few features only, each of them is fitted anew by so many, chosen one by one
by least squares in G + R.

The last kind is the second round of a plan. Which cuts are best does not depend on the order in
which threads find them, so neither do the starts.

Where a fit has few rows beside its features (`wide`), no matrix of the features is made: see
`obliqua._core.grow.row_span`.
"""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from obliqua._core.base.linalg cimport (
    dot, eigen_symmetric, factorise, solve, solve_lower, solve_upper,
)
from obliqua._core.base.types cimport Cut, better, i64, midpoint, u8
from obliqua._core.grow.moments cimport (
    moments_add_all, moments_clear, moments_combine, moments_mean, moments_scatter, moments_spread,
    moments_square,
)
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.grow.row_span cimport (
    SpanRows, span_add_products, span_column, span_free, span_init, span_project, span_read,
)
from obliqua._core.search.criterion cimport excess
from obliqua._core.search.direction cimport tolerance_for
from obliqua._core.search.gathered cimport Gathered, search_gathered

cdef extern from "loops.h" nogil:
    i64 ob_count_above(const double* v, double at, i64 n)

cdef enum:
    COLUMNS_AT_ONCE = 512    # of products of rows, before signals are minded

cdef double RIDGE = 1e-3             # of each diagonal entry
cdef double TINY = 2.0 ** -500       # of the widest feature's range: not to be told from constant
cdef double NEGLIGIBLE = 1e-10       # of a direction's square: a feature that adds less stays out
cdef double EQUAL = 1.0 + 1e-9       # two such gains that differ by less are equal
cdef double NO_SPREAD = 1e-10        # of the largest eigenvalue: the direction is arbitrary


cdef Cut no_cut() noexcept nogil:
    cdef Cut cut
    cut.score = 0.0
    cut.direction = -1
    cut.rows_left = 0
    cut.below = cut.above = 0.0
    return cut


cdef Cut last_leader(const Leaders* leaders) noexcept nogil:
    """The cut that a new one must beat."""
    return leaders.cut[STARTS - 1] if leaders.n == STARTS else no_cut()


cdef void leaders_put(Leaders* leaders, const Cut* cut, const u8* heavy,
                      i64 n_classes) noexcept nogil:
    """Puts a cut in its place, if it has one and is not there already."""
    cdef i64 i, at = leaders.n
    for i in range(leaders.n):
        if leaders.cut[i].direction == cut.direction:
            return
    while at > 0 and better(cut.score, cut.direction, cut.rows_left, &leaders.cut[at - 1]):
        at -= 1
    if at == STARTS:
        return
    leaders.n = min(leaders.n + 1, <i64> STARTS)
    for i in range(leaders.n - 1, at, -1):
        leaders.cut[i] = leaders.cut[i - 1]
        memcpy(leaders.heavy + i * n_classes, leaders.heavy + (i - 1) * n_classes, n_classes)
    leaders.cut[at] = cut[0]
    memcpy(leaders.heavy + at * n_classes, heavy, n_classes)


cdef bint is_known(const u8* group, i64 n, const u8* known, i64 n_known,
                   i64 stride) noexcept nogil:
    """Whether a superclass of n classes, or its rest, is one class or among those known."""
    cdef i64 i, k, size = 0, same
    for k in range(n):
        size += group[k]
    if size < 2 or n - size < 2:
        return True
    for i in range(n_known):
        same = 0
        for k in range(n):
            same += group[k] == known[i * stride + k]
        if same == 0 or same == n:
            return True
    return False


cdef class DiscriminantFinder(PlanningFinder):
    """Plans the directions of a node; `settings` says whether there are `superclasses` too."""

    def __cinit__(self, i64 n_features, int n_classes, i64 capacity, bint weighted,
                  int weight_shift, const double[::1] scale, settings, max_features,
                  bint helper=False, bint wide=False):
        self.wanted = settings.discriminants
        self.superclasses = self.wanted and settings.superclasses and n_classes > 3
        self.min_rows = settings.min_rows
        self.wide = wide
        self.few = not wide and 1 < self.max_features < n_features
        if wide and not helper:
            self.reserve_span()
        if self.wanted:
            self.reserve_parts()
            self.reserve(self.most_directions())

    cdef int reserve_parts(self) except -1:
        """Makes room for what nodes need; in one piece, for the parts are many and small."""
        cdef i64 p = self.n_features, c = self.n_classes
        cdef i64 m = min(p, c), square = 0 if self.wide else p * p
        cdef i64 most = self.max_features if self.few else 0
        cdef i64 fits = p * p + (most + 2) * p + 2 * most if self.few else 0
        self.numbers = <double*> malloc((2 * c * (p + 1) + square + m * m + 5 * m + p + fits)
                                        * sizeof(double))
        self.flags = <u8*> malloc(p + (3 * STARTS + 2) * c)
        if self.numbers == NULL or self.flags == NULL:
            raise MemoryError("no room to look for discriminants")
        self.parts.share = self.numbers
        self.parts.root = self.parts.share + c
        self.parts.halves = self.parts.root + c
        self.parts.solved = self.parts.halves + c * p
        self.parts.matrix = self.parts.solved + c * p
        self.parts.small = self.parts.matrix + square
        self.parts.values = self.parts.small + m * m
        self.parts.scratch = self.parts.values + m
        self.parts.normal = self.parts.scratch + 4 * m
        if self.few:
            self.parts.whole = self.parts.normal + p
            self.parts.columns = self.parts.whole + p * p
            self.parts.pull = self.parts.columns + most * p
            self.parts.left = self.parts.pull + p
            self.parts.steps = self.parts.left + p
            self.parts.chosen = <i64*> (self.parts.steps + most)
        self.parts.varies = self.flags
        self.all.heavy = self.flags + p
        self.mine.heavy = self.all.heavy + STARTS * c
        self.groups = self.mine.heavy + STARTS * c
        self.group = self.groups + STARTS * c
        return 0

    cdef int reserve_span(self) except -1:
        """Makes room for products of rows."""
        cdef i64 p = self.n_features, n = self.capacity
        self.gram = <double*> malloc(n * n * sizeof(double))
        self.row_sums = <double*> malloc(n * sizeof(double))
        self.weighing = <double*> malloc(p * sizeof(double))
        self.inverse = <double*> malloc(p * sizeof(double))
        if (self.gram == NULL or self.row_sums == NULL or self.weighing == NULL
                or self.inverse == NULL or not span_init(&self.span, n, self.n_classes)):
            raise MemoryError("no room for the products of rows")
        return 0

    def __dealloc__(self):
        free(self.numbers)
        free(self.flags)
        free(self.gram)
        free(self.row_sums)
        free(self.weighing)
        free(self.inverse)
        span_free(&self.span)

    cdef i64 most_directions(self) noexcept nogil:
        """As many tasks a node may have."""
        if not self.wanted:
            return 0
        return (self.n_classes + min(<i64> self.n_classes, self.n_features)
                + (STARTS * STEPS if self.superclasses else 0))

    # -- few rows ----------------------------------------------------------------------------

    cdef SpanRows rows_about(self, i64 slot) noexcept nogil:
        """All rows of a node that was read, about the mean of a slot."""
        cdef SpanRows rows
        rows.span = &self.span
        rows.gathered = &self.gathered
        rows.sums = &self.sums
        rows.grid = &self.grid
        rows.chosen = NULL
        rows.first = rows.begin = 0
        rows.n = rows.end = self.span.n
        rows.slot = rows.other = slot
        return rows

    cdef SpanRows rows_of_class(self, int k, i64 slot) noexcept nogil:
        cdef SpanRows rows = self.rows_about(slot)
        rows.first = self.span.starts[k]
        rows.n = self.span.starts[k + 1] - rows.first
        return rows

    cdef bint multiply_rows(self, const SpanRows* rows) noexcept nogil:
        """Products of rows, features times `weighing`, in `gram`; False if it was interrupted."""
        cdef i64 p = self.n_features, n = rows.n
        cdef i64 first = 0, last
        memset(self.gram, 0, n * n * sizeof(double))
        while first < p:
            last = min(first + COLUMNS_AT_ONCE, p)
            span_add_products(rows, self.weighing, first, last, self.gram)
            if self.columns is not None:
                self.columns.mind_signals((last - first) * n * (1 + n // 16))
                if self.columns.stop:
                    return False
            first = last
        return True

    cdef bint factorise_rows(self, const SpanRows* rows, const double* factor) noexcept nogil:
        """L L' = I + Y D^-1 Y', features times `factor` (NULL: 1) and D given by `inverse`."""
        cdef i64 k
        for k in range(self.n_features):
            self.weighing[k] = self.inverse[k]
            if factor != NULL:
                self.weighing[k] *= factor[k] * factor[k]
        if not self.multiply_rows(rows):
            return False
        for k in range(rows.n):
            self.gram[k * rows.n + k] += 1.0
        return factorise(self.gram, rows.n)

    cdef void solve_rows(self, const SpanRows* rows, const double* factor,
                         double* vector) noexcept nogil:
        """Replaces x by (Y'Y + D)^-1 x, given what `factorise_rows` leaves."""
        cdef i64 k
        cdef double f = 1.0
        for k in range(self.n_features):
            self.weighing[k] = vector[k] * self.inverse[k]
            if factor != NULL:
                self.weighing[k] *= factor[k]
        span_project(rows, self.weighing, self.n_features, self.row_sums)
        solve(self.gram, rows.n, self.row_sums)
        for k in range(self.n_features):
            if self.inverse[k] == 0.0:
                vector[k] = 0.0
                continue
            if factor != NULL:
                f = factor[k]
            span_column(rows, k, self.span.columns)
            vector[k] = ((vector[k] - f * dot(self.row_sums, self.span.columns, rows.n))
                         * self.inverse[k])

    # -- the first round ---------------------------------------------------------------------

    cdef void clear_tasks(self) noexcept nogil:
        self.n_tasks = 0
        self.n_climbs = 0
        self.all.n = 0
        self.leading = False

    cdef void plan(self) noexcept nogil:
        moments_add_all(&self.sums, &self.gathered, self.n_classes, &self.grid)
        if self.wide:
            span_read(&self.span, &self.gathered, &self.grid)
        if self.max_features < self.n_features:
            self.measure_spread()
        self.plan_discriminants()

    cdef void plan_from_sums(self) noexcept nogil:
        cdef int k
        moments_clear(&self.sums, self.n_classes)
        for k in range(self.gathered.n_present):
            moments_combine(&self.sums, self.n_classes, k, 1)
        if self.max_features < self.n_features:
            self.measure_spread()
        self.plan_discriminants()

    cdef void measure_spread(self) noexcept nogil:
        cdef i64 k
        for k in range(self.n_features):
            self.spread[k] = moments_spread(&self.sums, self.n_classes, &self.grid, k)

    cdef void plan_discriminants(self) noexcept nogil:
        """Adds the directions of classes and the discriminants, from sums that are there."""
        cdef i64 p = self.n_features
        cdef int n = self.gathered.n_present, k
        if n < 2 or not (self.weigh_total() if self.wide else self.factorise_total()):
            return
        for k in range(1 if n == 2 else n):          # the second of two would be the first again
            self.solve_class(k)
            if self.set_vector(self, self.parts.solved + k * p, False,
                               self.vectors + self.n_tasks * p):
                self.add_task(p + self.base + self.gathered.present[k], False)
        if n > 2:
            self.plan_eigenvectors()
        # Of three classes every superclass is one class or all but one.
        self.leading = self.superclasses and n > 3

    cdef bint factorise_total(self) noexcept nogil:
        """L of G + R; a feature that does not vary is cut off from the others."""
        cdef i64 p = self.n_features
        cdef i64 i, j
        cdef double* matrix = self.parts.matrix
        if self.columns is not None:
            self.columns.mind_signals(p * p * p)
            if self.columns.stop:
                return False
        if not moments_scatter(&self.sums, self.n_classes, NULL, matrix):
            return False
        for i in range(p):
            self.parts.varies[i] = matrix[i * p + i] > 0.0 and self.factor[i] >= TINY
            if self.parts.varies[i]:
                matrix[i * p + i] += RIDGE * matrix[i * p + i]
                continue
            for j in range(i):
                matrix[i * p + j] = 0.0
            for j in range(i + 1, p):
                matrix[j * p + i] = 0.0
            matrix[i * p + i] = 1.0
        if self.few:
            for i in range(p):
                for j in range(i + 1):
                    self.parts.whole[i * p + j] = self.parts.whole[j * p + i] = matrix[i * p + j]
        return factorise(matrix, p)

    cdef bint weigh_total(self) noexcept nogil:
        """The same from products of rows."""
        cdef i64 i
        cdef double square
        cdef bint some = False
        cdef SpanRows rows = self.rows_about(self.n_classes)
        for i in range(self.n_features):
            square = moments_square(&self.sums, self.n_classes, i)
            self.parts.varies[i] = square > 0.0 and self.factor[i] >= TINY
            self.inverse[i] = 1.0 / (RIDGE * square) if self.parts.varies[i] else 0.0
            some |= self.parts.varies[i]
        return some and self.factorise_rows(&rows, NULL)

    cdef void solve_class(self, int k) noexcept nogil:
        cdef i64 p = self.n_features
        cdef i64 i
        cdef SpanRows rows
        cdef double* half = self.parts.halves + k * p
        self.parts.share[k] = (<double> self.gathered.counts[k]) / (<double> self.scorer.weight)
        for i in range(p):
            half[i] = 0.0
            # A class whose weights are too small beside the others to be summed has no mean.
            if self.parts.varies[i] and self.sums.weights[k] > 0:
                half[i] = (moments_mean(&self.sums, k, i)
                           - moments_mean(&self.sums, self.n_classes, i))
        if self.wide:                                # half of it all need not be known
            memcpy(self.parts.solved + k * p, half, p * sizeof(double))
            rows = self.rows_about(self.n_classes)
            self.solve_rows(&rows, NULL, self.parts.solved + k * p)
            return
        solve_lower(self.parts.matrix, p, half)
        memcpy(self.parts.solved + k * p, half, p * sizeof(double))
        solve_upper(self.parts.matrix, p, self.parts.solved + k * p)

    cdef void between_classes(self, int n) noexcept nogil:
        """The matrix of the classes with the same eigenvalues, into `small`."""
        cdef i64 p = self.n_features
        cdef i64 c, d, i
        cdef double s
        cdef const double* one
        cdef const double* other
        for c in range(n):
            self.parts.root[c] = sqrt(self.parts.share[c])
            one = self.parts.halves + c * p
            for d in range(c + 1):
                other = (self.parts.solved if self.wide else self.parts.halves) + d * p
                s = 0.0
                for i in range(p):
                    s += one[i] * other[i]
                self.parts.small[c * n + d] = s * (self.parts.root[c] * self.parts.root[d])

    cdef void between_features(self, int n) noexcept nogil:
        """L^-1 B L'^-1, into `small`."""
        cdef i64 p = self.n_features
        cdef i64 c, i, j
        cdef double s
        cdef const double* half
        memset(self.parts.small, 0, p * p * sizeof(double))
        for c in range(n):
            half = self.parts.halves + c * p
            for i in range(p):
                s = self.parts.share[c] * half[i]
                for j in range(i + 1):
                    self.parts.small[i * p + j] += s * half[j]

    cdef void plan_eigenvectors(self) noexcept nogil:
        """Adds the directions in which the means of all classes differ most."""
        cdef i64 p = self.n_features
        cdef int n = self.gathered.n_present
        cdef i64 e, c, i, m = min(<i64> n, p)
        cdef double* vector
        cdef double* normal = self.parts.normal
        cdef double s
        if n <= p:
            self.between_classes(n)
        else:
            self.between_features(n)
        if not eigen_symmetric(self.parts.small, m, self.parts.values, self.parts.scratch):
            return
        for e in range(min(<i64> (n - 1), p)):
            if not self.parts.values[e] > NO_SPREAD * self.parts.values[0]:
                break
            vector = self.parts.small + e * m
            if n <= p:
                memset(normal, 0, p * sizeof(double))
                for c in range(n):
                    s = vector[c] * self.parts.root[c]
                    for i in range(p):
                        normal[i] += s * self.parts.solved[c * p + i]
            else:
                memcpy(normal, vector, p * sizeof(double))
                solve_upper(self.parts.matrix, p, normal)
            if self.set_vector(self, normal, True, self.vectors + self.n_tasks * p):
                self.add_task(p + self.base + self.n_classes + e, False)

    cdef void fit_few(self, DiscriminantFinder owner, const double* normal,
                      double* few) noexcept nogil:
        """Fits a direction by as few features as it may have: they are chosen one by one.

        The next one is that which brings the fit nearest, by least squares over the rows of the
        node, to the whole direction; the first of equals. Each step is one of a factorisation of
        the rows and columns of the chosen features in G + R.
        """
        cdef i64 p = self.n_features
        cdef i64 i, j, k, n = 0, best
        cdef const double* row
        cdef double* column
        cdef double* pull = self.parts.pull
        cdef double* left = self.parts.left
        cdef double gain, most, root, x, whole = 0.0
        for i in range(p):
            n += normal[i] != 0.0
        if n <= self.max_features:
            memcpy(few, normal, p * sizeof(double))
            return
        n = 0
        for i in range(p):
            row = owner.parts.whole + i * p
            pull[i] = dot(row, normal, p) if owner.parts.varies[i] else 0.0
            left[i] = row[i]
            few[i] = 0.0
            whole += normal[i] * pull[i]
        while n < self.max_features:
            best = -1
            most = NEGLIGIBLE * whole
            for i in range(p):
                # What the chosen ones say as well, but for the ridge, is no new feature.
                if left[i] > 0.5 * RIDGE * owner.parts.whole[i * p + i]:
                    gain = pull[i] * pull[i] / left[i]
                    if gain > most * EQUAL:
                        most = gain
                        best = i
            if best < 0:
                break
            root = sqrt(left[best])
            column = self.parts.columns + n * p
            row = owner.parts.whole + best * p
            for i in range(p):
                column[i] = row[i]
            for k in range(n):
                x = self.parts.columns[k * p + best]
                for i in range(p):
                    column[i] -= x * self.parts.columns[k * p + i]
            self.parts.steps[n] = pull[best] / root
            for i in range(p):
                column[i] /= root
                pull[i] -= self.parts.steps[n] * column[i]
                left[i] -= column[i] * column[i]
            left[best] = 0.0
            self.parts.chosen[n] = best
            n += 1
        for k in range(n - 1, -1, -1):
            column = self.parts.columns + k * p
            x = self.parts.steps[k]
            for j in range(k + 1, n):
                x -= column[self.parts.chosen[j]] * few[self.parts.chosen[j]]
            few[self.parts.chosen[k]] = x / column[self.parts.chosen[k]]

    cdef bint set_vector(self, DiscriminantFinder owner, const double* normal, bint signed,
                         double* vector) noexcept nogil:
        """A direction of the grid as one of the scaled features; False if it is an axis.

        The largest entry is made 1 or -1: lengths have no meaning, but would tell a weight of 2
        from a repeated row. `signed`: 1, for the sign of an eigenvector is an accident.
        """
        cdef i64 k, at = 0, n_entries = 0
        cdef double top = 0.0
        if self.few:
            self.fit_few(owner, normal, vector)
        else:
            memcpy(vector, normal, self.n_features * sizeof(double))
        for k in range(self.n_features):
            if vector[k] != 0.0:
                vector[k] /= owner.factor[k]
                n_entries += 1
                if fabs(vector[k]) > top:
                    top = fabs(vector[k])
                    at = k
        if n_entries < 2 or top == 0.0 or top - top != 0.0:
            return False
        if signed and vector[at] < 0.0:
            top = -top
        for k in range(self.n_features):
            vector[k] /= top
        return True

    # -- the best cuts -----------------------------------------------------------------------

    cdef void scan(self, DiscriminantFinder owner, double tolerance, i64 direction,
                   Cut* cut) noexcept nogil:
        """The best cut of memory.work.values, if it is better than `cut`."""
        if owner.scorer.code < 0:
            self.ask_best(owner, NULL, direction, tolerance, False, cut)
        else:
            search_gathered(&self.memory, &owner.gathered, tolerance, &owner.scorer, direction,
                            cut)

    cdef void offer(self, PlanningFinder owner, double tolerance, i64 direction,
                    Cut* best) noexcept nogil:
        cdef Cut cut
        if not (<DiscriminantFinder> owner).leading:
            PlanningFinder.offer(self, owner, tolerance, direction, best)
            return
        cut = last_leader(&self.mine)
        self.scan(<DiscriminantFinder> owner, tolerance, direction, &cut)
        if cut.direction != direction:
            return
        self.mark_heavier(<DiscriminantFinder> owner, &cut, self.group)
        leaders_put(&self.mine, &cut, self.group, self.n_classes)
        if better(cut.score, cut.direction, cut.rows_left, best):
            best[0] = cut

    cdef void mark_heavier(self, DiscriminantFinder owner, const Cut* cut,
                           u8* heavy) noexcept nogil:
        """Which classes are more frequent to the right of a cut of memory.work.values."""
        cdef const Gathered* gathered = &owner.gathered
        cdef const double* values = self.memory.work.values
        cdef double threshold = midpoint(cut.below, cut.above)
        cdef i64 i, here, total = 0
        cdef i64* right = self.memory.work.left
        cdef int k
        for k in range(gathered.n_present):
            here = 0
            if gathered.weighted:
                for i in range(gathered.starts[k], gathered.starts[k + 1]):
                    if values[i] > threshold:
                        here += gathered.weights[i]
            else:
                here = ob_count_above(values + gathered.starts[k], threshold,
                                      gathered.starts[k + 1] - gathered.starts[k])
            right[k] = here
            total += here
        for k in range(gathered.n_present):
            heavy[k] = excess(right[k], gathered.counts[k], total, owner.scorer.weight) > 0.0

    cdef void borrow(self, PlanningFinder owner) noexcept nogil:
        cdef Leaders* known = &(<DiscriminantFinder> owner).all
        self.mine.n = known.n
        if known.n:
            memcpy(self.mine.cut, known.cut, sizeof(known.cut))
            memcpy(self.mine.heavy, known.heavy, STARTS * self.n_classes)

    cdef void give_back(self, PlanningFinder owner) noexcept nogil:
        cdef i64 i
        for i in range(self.mine.n):
            leaders_put(&(<DiscriminantFinder> owner).all, &self.mine.cut[i],
                        self.mine.heavy + i * self.n_classes, self.n_classes)

    # -- the second round --------------------------------------------------------------------

    cdef void scan_axis(self, i64 column, Cut* cut) noexcept nogil:
        memcpy(self.memory.work.values, self.gathered.columns + column * self.gathered.n,
               self.gathered.n * sizeof(double))
        self.scan(self, 0.0, column, cut)

    cdef void extend(self, const Cut* axis) noexcept nogil:
        """Adds a task for each superclass of a climb that may follow."""
        cdef Cut cut = last_leader(&self.all)
        cdef i64 i, step, first
        cdef i64 p = self.n_features
        self.n_first = self.n_tasks
        if not self.leading:
            return
        if axis.direction >= 0 and better(axis.score, axis.direction, axis.rows_left, &cut):
            cut = no_cut()
            self.scan_axis(axis.direction, &cut)
            if cut.direction >= 0:
                self.mark_heavier(self, &cut, self.group)
                leaders_put(&self.all, &cut, self.group, self.n_classes)
        self.leading = False
        for i in range(self.all.n):
            if is_known(self.all.heavy + i * self.n_classes, self.gathered.n_present, self.groups,
                        self.n_climbs, self.n_classes):
                continue
            memcpy(self.groups + self.n_climbs * self.n_classes,
                   self.all.heavy + i * self.n_classes, self.n_classes)
            self.scores[self.n_climbs] = self.all.cut[i].score
            self.n_climbs += 1
            first = p + self.base + self.n_classes + p + i * STEPS
            for step in range(STEPS):
                memset(self.vectors + self.n_tasks * p, 0, p * sizeof(double))
                self.add_task(first + step, False)

    cdef void search_task(self, PlanningFinder owner, i64 task, i64 first, i64 last,
                          Cut* best) noexcept nogil:
        cdef i64 later = task - (<DiscriminantFinder> owner).n_first
        if not (<DiscriminantFinder> owner).n_climbs or later < 0:
            PlanningFinder.search_task(self, owner, task, first, last, best)
        elif first == 0 and later % STEPS == 0:
            self.climb(<DiscriminantFinder> owner, task, best)

    cdef void climb(self, DiscriminantFinder owner, i64 task, Cut* best) noexcept nogil:
        """Goes from superclass to superclass while the cut becomes better."""
        cdef i64 p = self.n_features
        cdef i64 start = (task - owner.n_first) // STEPS
        cdef i64 step
        cdef u8* group = self.group
        cdef u8* found = self.group + self.n_classes
        cdef double* normal = self.parts.normal
        cdef double largest
        cdef Cut cut = no_cut()
        memcpy(group, owner.groups + start * self.n_classes, owner.gathered.n_present)
        cut.score = owner.scores[start]
        for step in range(STEPS):
            owner.join_classes(group, normal)
            if not self.set_vector(owner, normal, False, owner.vectors + (task + step) * p):
                return
            self.make_normal(owner, task + step, 0)
            largest = self.project(&owner.gathered)
            if self.n_coef < 2 or largest - largest != 0.0:
                return
            cut.direction = -1               # an equal score does not replace it
            self.scan(owner, tolerance_for(largest, self.n_coef), owner.tasks[task + step].first,
                      &cut)
            if cut.direction < 0:
                return
            if better(cut.score, cut.direction, cut.rows_left, best):
                best[0] = cut
            self.mark_heavier(owner, &cut, found)
            if is_known(found, owner.gathered.n_present, group, 1, self.n_classes):
                return
            memcpy(group, found, owner.gathered.n_present)

    cdef void join_classes(self, const u8* group, double* normal) noexcept nogil:
        """The direction of a superclass, in units of the grid."""
        cdef i64 i, p = self.n_features
        cdef int k
        memset(normal, 0, p * sizeof(double))
        for k in range(self.gathered.n_present):
            if group[k]:
                for i in range(p):
                    normal[i] += self.parts.share[k] * self.parts.solved[k * p + i]

    def superclass(self, const u8[::1] group, i64 start, i64 step):
        """A direction of the second round: (its number, normal); None if it is an axis.

        `group` says which of the classes that are there belong to the superclass.
        """
        cdef i64 p = self.n_features
        self.join_classes(&group[0], self.parts.normal)
        if not self.set_vector(self, self.parts.normal, False, self.vectors + self.n_tasks * p):
            return None
        self.tasks[self.n_tasks].mirror = False
        self.make_normal(self, self.n_tasks, 0)
        if self.n_coef < 2:
            return None
        return p + self.base + self.n_classes + p + start * STEPS + step, self.plane()

    def directions(self):
        """All directions of the node that was loaded, for criteria in Python."""
        cdef Cut best = no_cut(), axis = no_cut()
        cdef i64 k
        if self.leading:
            with nogil:
                self.borrow(self)
                self.search(self, 0, self.n_tasks * self.n_features, &best)
                self.give_back(self)
                for k in range(self.n_features):
                    self.scan_axis(k, &axis)
                self.extend(&axis)
                self.search(self, self.n_first * self.n_features,
                            self.n_tasks * self.n_features, &best)
            self.raise_trouble()
        return PlanningFinder.directions(self)
