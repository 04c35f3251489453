"""One node as Python sees it: its rows, and the steps of the search over them."""

from libc.math cimport INFINITY, NAN
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.target cimport Target, TargetRows, add_row, weight_at, weight_of
from obliqua._core.base.types cimport Cut, Scorer, View, allowed, i32, i64, make_view, midpoint, u8
from obliqua._core.search.criterion cimport ABSOLUTE_ERROR, goodness
from obliqua._core.search.direction cimport (
    Workspace, project, search_values, tolerance_for, workspace_free, workspace_init,
)
from obliqua._core.search.medians cimport (
    Medians, measure_cuts, median_goodness, medians_free, medians_init, medians_read,
)


def threshold_between(double below, double above):
    """The threshold that separates two neighbouring values."""
    return midpoint(below, above)


cdef class NodeSearch:
    """The rows of one node as the search sees them, with the rules for its cuts."""

    cdef View view
    cdef object held
    cdef const i32[::1] rows
    cdef const Target* target
    cdef bint weighted
    cdef const i64[::1] counts
    cdef i64 n_fit           # rows of the fit
    cdef Scorer scorer

    def __cinit__(self, Z, const i32[::1] rows, TargetRows target, const i64[::1] counts,
                  int code, i64 n_rows, i64 min_rows, i64 min_weight):
        self.view = make_view(Z)
        self.held = (Z, target)
        self.rows = rows
        self.target = &target.target
        self.weighted = self.target.weights != NULL
        self.counts = counts
        self.n_fit = target.n_rows
        self.scorer.code = code
        self.scorer.n_sums = self.target.n_sums
        self.scorer.n_rows = n_rows
        self.scorer.weight = weight_of(self.target, &counts[0])
        self.scorer.counts = &counts[0]
        self.scorer.min_rows = max(min_rows, 1)
        self.scorer.min_weight = min_weight

    cdef bint open(self, Workspace* work, i64 capacity) noexcept nogil:
        """Makes room for a search; False if there is no memory."""
        if self.target.n_numbers:
            return workspace_init(work, capacity, self.scorer.n_sums, False, self.target)
        return workspace_init(work, capacity, self.scorer.n_sums, self.weighted, NULL)

    cdef void gather(self, Workspace* work) noexcept nogil:
        cdef i64 i
        for i in range(self.rows.shape[0]):
            if self.target.n_numbers:
                work.classes[i] = self.rows[i]
                continue
            work.classes[i] = self.target.rows[self.rows[i]]
            if self.weighted:
                work.weights[i] = self.target.weights[self.rows[i]]

    cdef bint open_medians(self, Medians* medians, Scorer* scorer) noexcept nogil:
        """A scorer for one thread, with the node's rows if it needs them; False: no memory."""
        cdef i64 n = self.rows.shape[0]
        scorer[0] = self.scorer
        if scorer.code != ABSOLUTE_ERROR:
            memset(medians, 0, sizeof(Medians))
            return True
        if not medians_init(medians, self.target, self.n_fit, n):
            return False
        memcpy(medians.rows, &self.rows[0], n * sizeof(i32))
        medians_read(medians, n)
        scorer.medians = medians
        return True

    def search(self, const i64[::1] ptr, const i32[::1] idx, const double[::1] coef, i64 first,
               i64 last, bint exhaustive=False):
        """Best cut over directions first..last-1: (score, direction, rows left, below, above).

        Direction -1: none has a positive score (`exhaustive`: a score of at least zero).
        """
        cdef Workspace work
        cdef Medians medians
        cdef Scorer scorer
        cdef Cut best
        cdef i64 d, n = self.rows.shape[0]
        cdef double largest
        best.score = 0.0
        best.direction = (<i64> 1) << 62 if exhaustive else -1
        best.rows_left = 0
        best.below = best.above = 0.0
        if not self.open(&work, n):
            raise MemoryError("no room to search a node")
        if not self.open_medians(&medians, &scorer):
            workspace_free(&work)
            raise MemoryError("no room to search a node")
        with nogil:
            self.gather(&work)
            for d in range(first, last):
                if ptr[d + 1] == ptr[d]:
                    continue
                largest = project(&self.view, &self.rows[0], n, &idx[ptr[d]], &coef[ptr[d]],
                                  ptr[d + 1] - ptr[d], work.values)
                if largest == INFINITY:
                    continue
                search_values(&work, n, tolerance_for(largest, ptr[d + 1] - ptr[d]), &scorer,
                              exhaustive, d, &best)
            workspace_free(&work)
            medians_free(&medians)
        if best.direction == (<i64> 1) << 62:
            best.direction = -1
        return best.score, best.direction, best.rows_left, best.below, best.above

    def score_at(self, const i64[::1] ptr, const i32[::1] idx, const double[::1] coef,
                 const double[::1] thresholds):
        """Goodness of each direction at its given threshold; NaN where that is no legal split."""
        cdef i64 d, i, n = self.rows.shape[0], weight, rows_left
        cdef int n_sums = self.scorer.n_sums
        scores = np.full(ptr.shape[0] - 1, np.nan)
        cdef double[::1] out = scores
        cdef Workspace work
        cdef Medians medians
        cdef Scorer scorer
        if not self.open(&work, n):
            raise MemoryError("no room to search a node")
        if not self.open_medians(&medians, &scorer):
            workspace_free(&work)
            raise MemoryError("no room to search a node")
        with nogil:
            for d in range(ptr.shape[0] - 1):
                if ptr[d + 1] == ptr[d] or project(
                        &self.view, &self.rows[0], n, &idx[ptr[d]], &coef[ptr[d]],
                        ptr[d + 1] - ptr[d], work.values) == INFINITY:
                    continue
                memset(work.left, 0, n_sums * sizeof(i64))
                rows_left = 0
                for i in range(n):
                    if work.values[i] <= thresholds[d]:
                        rows_left += 1
                        add_row(self.target, self.rows[i], work.left)
                weight = weight_of(self.target, work.left)
                if not allowed(&self.scorer, rows_left, weight):
                    continue
                if scorer.code == ABSOLUTE_ERROR:
                    out[d] = self.score_sides(&scorer, work.values, thresholds[d], rows_left)
                    continue
                out[d] = goodness(scorer.code, work.left, scorer.counts, n_sums, weight,
                                  scorer.weight, work.left + 2 * n_sums)
                if out[d] == -INFINITY:          # a side that the criterion does not allow
                    out[d] = NAN
            workspace_free(&work)
            medians_free(&medians)
        return scores

    cdef double score_sides(self, const Scorer* scorer, const double* values, double threshold,
                            i64 rows_left) noexcept nogil:
        """Goodness of a threshold by a criterion that needs rows: those of the left come first."""
        cdef Medians* medians = <Medians*> scorer.medians
        cdef i64 i, left = 0, right = rows_left
        for i in range(self.rows.shape[0]):
            if values[i] <= threshold:
                medians.rows[left] = self.rows[i]
                left += 1
            else:
                medians.rows[right] = self.rows[i]
                right += 1
        measure_cuts(medians)
        return median_goodness(scorer, rows_left)

    def cuts(self, const i32[::1] idx, const double[::1] coef):
        """Every legal cut along one direction: (rows left, left sums, below, above).

        For criteria written in Python, which score all cuts of a direction at once.
        """
        cdef i64 i, c, n = self.rows.shape[0], count = 0, weight = 0
        cdef i64 row
        cdef double largest, tolerance, here, last = 0.0
        cdef Workspace work
        cdef int n_sums = self.scorer.n_sums
        rows_left = np.empty(max(n - 1, 0), dtype=np.int64)
        below = np.empty(max(n - 1, 0))
        above = np.empty(max(n - 1, 0))
        sums = np.empty((max(n - 1, 0), n_sums), dtype=np.int64)
        cdef i64[::1] rows_left_ = rows_left
        cdef double[::1] below_ = below, above_ = above
        cdef i64[:, ::1] sums_ = sums
        if not self.open(&work, n):
            raise MemoryError("no room to search a node")
        with nogil:
            memset(work.left, 0, n_sums * sizeof(i64))
            largest = project(&self.view, &self.rows[0], n, &idx[0], &coef[0], idx.shape[0],
                              work.values)
            if largest != INFINITY:
                tolerance = tolerance_for(largest, idx.shape[0])
                sort_order(work.values, work.order, n, &work.buffers)
                for i in range(n):
                    row = work.order[i] & 0x7FFFFFFF
                    here = work.values[row]
                    if i > 0 and here - last > tolerance and allowed(&self.scorer, i, weight):
                        rows_left_[count] = i
                        below_[count] = last
                        above_[count] = here
                        for c in range(n_sums):
                            sums_[count, c] = work.left[c]
                        count += 1
                    last = here
                    add_row(self.target, self.rows[row], work.left)
                    weight += weight_at(self.target, self.rows[row])
            workspace_free(&work)
        return rows_left[:count], sums[:count], below[:count], above[:count]

    def divide(self, const i32[::1] idx, const double[::1] coef, double threshold):
        """Which rows go right of a hyperplane (0 or 1 each), and the sums of the left."""
        cdef i64 i, n = self.rows.shape[0]
        right = np.empty(n, dtype=np.uint8)
        left = np.zeros(self.scorer.n_sums, dtype=np.int64)
        cdef u8[::1] right_ = right
        cdef i64[::1] left_ = left
        cdef double* values = <double*> malloc(max(n, 1) * sizeof(double))
        if values == NULL:
            raise MemoryError
        with nogil:
            project(&self.view, &self.rows[0], n, &idx[0], &coef[0], idx.shape[0], values)
            for i in range(n):
                right_[i] = not values[i] <= threshold
                if not right_[i]:
                    add_row(self.target, self.rows[i], &left_[0])
        free(values)
        return right, left

    def values(self, const i32[::1] idx, const double[::1] coef):
        """Canonical projections of the node's rows."""
        cdef i64 n = self.rows.shape[0]
        result = np.empty(n)
        cdef double[::1] out = result
        if n and idx.shape[0]:
            with nogil:
                project(&self.view, &self.rows[0], n, &idx[0], &coef[0], idx.shape[0], &out[0])
        return result
