"""One node as Python sees it: its rows, and the steps of the search over them."""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.target cimport Target, TargetRows, add_row, weight_at, weight_of
from obliqua._core.base.types cimport Cut, Scorer, View, allowed, i32, i64, make_view, midpoint, u8
from obliqua._core.search.criterion cimport goodness
from obliqua._core.search.direction cimport (
    Workspace, add_number_to_bin, add_to_bin, bin_of, bin_scale, clear_bins, open_bins, project,
    scan_sorted, scan_sorted_numbers, score_edges, search_values, tolerance_for, workspace_free,
    workspace_init,
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
    cdef Scorer scorer

    def __cinit__(self, Z, const i32[::1] rows, TargetRows target, const i64[::1] counts,
                  int code, i64 n_rows, i64 min_rows, i64 min_weight):
        self.view = make_view(Z)
        self.held = (Z, target)
        self.rows = rows
        self.target = &target.target
        self.weighted = self.target.weights != NULL
        self.counts = counts
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

    def search(self, const i64[::1] ptr, const i32[::1] idx, const double[::1] coef, i64 first,
               i64 last, bint exhaustive=False):
        """Best cut over directions first..last-1: (score, direction, rows left, below, above).

        Direction -1: none has a positive score (`exhaustive`: a score of at least zero).
        """
        cdef Workspace work
        cdef Cut best
        cdef i64 d, n = self.rows.shape[0]
        cdef double largest
        best.score = 0.0
        best.direction = (<i64> 1) << 62 if exhaustive else -1
        best.rows_left = 0
        best.below = best.above = 0.0
        if not self.open(&work, n):
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
                search_values(&work, n, tolerance_for(largest, ptr[d + 1] - ptr[d]), &self.scorer,
                              exhaustive, d, &best)
            workspace_free(&work)
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
        if not self.open(&work, n):
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
                if allowed(&self.scorer, rows_left, weight):
                    out[d] = goodness(self.scorer.code, work.left, self.scorer.counts, n_sums,
                                      weight, self.scorer.weight, work.left + 2 * n_sums)
            workspace_free(&work)
        return scores

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

    # -- the same steps for a part of the data ------------------------------------------------

    def ranges(self, const i64[::1] ptr, const i32[::1] idx, const double[::1] coef):
        """Per direction: smallest and largest projection, largest sum of |terms|."""
        cdef i64 d, i, n = self.rows.shape[0]
        result = np.empty((ptr.shape[0] - 1, 3))
        cdef double[:, ::1] out = result
        cdef double* values = <double*> malloc(max(n, 1) * sizeof(double))
        if values == NULL:
            raise MemoryError
        with nogil:
            for d in range(ptr.shape[0] - 1):
                out[d, 0] = INFINITY
                out[d, 1] = -INFINITY
                out[d, 2] = 0.0
                if n == 0 or ptr[d + 1] == ptr[d]:
                    continue
                out[d, 2] = project(&self.view, &self.rows[0], n, &idx[ptr[d]], &coef[ptr[d]],
                                    ptr[d + 1] - ptr[d], values)
                for i in range(n):
                    if values[i] < out[d, 0]:
                        out[d, 0] = values[i]
                    if values[i] > out[d, 1]:
                        out[d, 1] = values[i]
        free(values)
        return result

    def histogram(self, const i64[::1] ptr, const i32[::1] idx, const double[::1] coef,
                  const i64[::1] direction, const double[::1] low, const double[::1] high,
                  i64 n_bins):
        """Sums (and rows, last) per bin of some intervals, with the values at bins' ends."""
        cdef i64 j, i, b, d, held = -1, n = self.rows.shape[0]
        cdef int n_sums = self.scorer.n_sums
        cdef double scale, value
        sums = np.empty((direction.shape[0], n_bins, n_sums + 1), dtype=np.int64)
        ends = np.empty((direction.shape[0], n_bins, 2))
        cdef i64[:, :, ::1] sums_ = sums
        cdef double[:, :, ::1] ends_ = ends
        cdef double* values = <double*> malloc(max(n, 1) * sizeof(double))
        if values == NULL:
            raise MemoryError
        with nogil:
            for j in range(direction.shape[0]):
                clear_bins(&sums_[j, 0, 0], &ends_[j, 0, 0], n_bins, n_sums)
                d = direction[j]
                if n == 0:
                    continue
                if d != held:
                    project(&self.view, &self.rows[0], n, &idx[ptr[d]], &coef[ptr[d]],
                            ptr[d + 1] - ptr[d], values)
                    held = d
                scale = bin_scale(low[j], high[j], n_bins)
                for i in range(n):
                    value = values[i]
                    if not (value >= low[j] and value <= high[j]):
                        continue
                    b = bin_of(value, low[j], scale, n_bins)
                    if self.target.n_numbers:
                        add_number_to_bin(&sums_[j, 0, 0], &ends_[j, 0, 0], b, self.target, value,
                                          self.rows[i])
                    else:
                        add_to_bin(&sums_[j, 0, 0], &ends_[j, 0, 0], b, n_sums, value,
                                   self.target.rows[self.rows[i]],
                                   weight_at(self.target, self.rows[i]))
        free(values)
        return sums, ends

    def choose(self, const i64[:, :, ::1] sums, const double[:, :, ::1] ends,
               const i64[::1] direction, const i64[:, ::1] before, const double[::1] tolerance,
               best_so_far):
        """Scores the edges of the bins: (best, interval numbers and bins that stay undecided).

        `before` holds, per interval, the sums left of it and (last) the number of rows.
        """
        cdef Cut best
        cdef i64 j, b, n_bins = sums.shape[1]
        cdef int n_sums = self.scorer.n_sums
        best.score, best.direction, best.rows_left, best.below, best.above = best_so_far
        undecided = np.zeros((sums.shape[0], n_bins), dtype=np.uint8)
        cdef u8[:, ::1] undecided_ = undecided
        cdef i64* left = <i64*> malloc(2 * n_sums * sizeof(i64))
        cdef i64* offsets = <i64*> malloc(n_bins * sizeof(i64))
        if left == NULL or offsets == NULL:
            free(left)
            free(offsets)
            raise MemoryError
        with nogil:
            for j in range(sums.shape[0]):
                score_edges(&sums[j, 0, 0], &ends[j, 0, 0], n_bins, &before[j, 0],
                            before[j, n_sums], left, left + n_sums, tolerance[j],
                            &self.scorer, direction[j], &best)
            for j in range(sums.shape[0]):
                open_bins(&sums[j, 0, 0], &ends[j, 0, 0], n_bins, &before[j, 0],
                          before[j, n_sums], left, tolerance[j], &self.scorer, direction[j],
                          &best, offsets)
                for b in range(n_bins):
                    undecided_[j, b] = offsets[b] >= 0
        free(left)
        free(offsets)
        found = (best.score, best.direction, best.rows_left, best.below, best.above)
        return found, *np.nonzero(undecided)

    def collect(self, const i64[::1] ptr, const i32[::1] idx, const double[::1] coef,
                const i64[::1] direction, const double[::1] low, const double[::1] high):
        """The rows inside some intervals: (interval, value, class or numbers, weight)."""
        cdef i64 i, j, d, row
        cdef int k, width = max(self.target.n_numbers, 1)
        cdef i64[::1] inside
        cdef i32[:, ::1] learnt
        cdef i64[::1] weights
        found = [(np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, width), dtype=np.int32),
                  np.empty(0, dtype=np.int64))]
        for j in range(direction.shape[0]):
            d = direction[j]
            values = self.values(idx[ptr[d]:ptr[d + 1]], coef[ptr[d]:ptr[d + 1]])
            places = np.nonzero((values >= low[j]) & (values <= high[j]))[0]
            inside = places
            learnt = np.empty((len(places), width), dtype=np.int32)
            weights = np.empty(len(places), dtype=np.int64)
            for i in range(inside.shape[0]):
                row = self.rows[inside[i]]
                weights[i] = weight_at(self.target, row)
                for k in range(width):
                    learnt[i, k] = self.target.rows[row * width + k]
            found.append((np.full(len(places), j), values[places], np.asarray(learnt),
                          np.asarray(weights)))
        return tuple(np.concatenate(column) for column in zip(*found))

    def values(self, const i32[::1] idx, const double[::1] coef):
        """Canonical projections of the node's rows."""
        cdef i64 n = self.rows.shape[0]
        result = np.empty(n)
        cdef double[::1] out = result
        if n and idx.shape[0]:
            with nogil:
                project(&self.view, &self.rows[0], n, &idx[0], &coef[0], idx.shape[0], &out[0])
        return result

    def finish(self, const i64[::1] interval, const double[::1] values, TargetRows collected,
               const i64[::1] direction, const i64[:, ::1] before, const double[::1] tolerance,
               best_so_far):
        """Scores every cut inside the collected intervals (rows grouped by interval)."""
        cdef Cut best
        cdef i64 i, j, start, end, n = interval.shape[0]
        cdef int n_sums = self.scorer.n_sums
        cdef const Target* target = &collected.target
        cdef Workspace work
        best.score, best.direction, best.rows_left, best.below, best.above = best_so_far
        if not workspace_init(&work, n, n_sums, False, target):
            raise MemoryError("no room to search a node")
        with nogil:
            for i in range(n):
                work.classes[i] = <i32> i
            start = 0
            while start < n:
                j = interval[start]
                end = start
                while end < n and interval[end] == j:
                    end += 1
                sort_order(&values[start], work.order, end - start, &work.buffers)
                if target.n_numbers:
                    scan_sorted_numbers(&values[start], work.classes + start, target, work.order,
                                        end - start, &before[j, 0], before[j, n_sums],
                                        work.left, tolerance[j], &self.scorer, direction[j],
                                        &best)
                else:
                    scan_sorted(&values[start], target.rows + start, target.weights + start,
                                work.order, end - start, &before[j, 0], before[j, n_sums],
                                work.left, work.left + 2 * n_sums, tolerance[j], &self.scorer,
                                direction[j], &best)
                start = end
            workspace_free(&work)
        return best.score, best.direction, best.rows_left, best.below, best.above
