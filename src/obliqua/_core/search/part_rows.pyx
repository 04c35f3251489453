"""The search for a cut of rows that lie in parts: what rows answer, and what decides.

The steps are those of `direction`. `PartRows` are some of the rows of a node, wherever they are;
their answers can be added or joined. A `CutJudge` knows the sums of the node and no rows.

A line is what rows have a value along. It has terms and, for a column of a reflected matrix, a
column of its own:

    sum    of coef * (scale * x) over the terms
    value  that sum; with a column of its own, own_scale * x[own] + factor * sum

Lines with the same terms stand next to each other, so that their sums are made once.
"""

from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free, malloc

import numpy as np

from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.target cimport Target, TargetRows, weight_at, weight_of
from obliqua._core.base.types cimport Cut, Scorer, View, i32, i64, make_view, real, u8, view_at
from obliqua._core.search.direction cimport (
    Workspace, add_number_to_bin, add_to_bin, bin_of, bin_scale, clear_bins, open_bins,
    scan_sorted, scan_sorted_numbers, score_edges, workspace_free, workspace_init,
)


cdef double add_terms(const real* data, const View* view, const i32* rows, i64 n, const i32* idx,
                      const double* coef, const double* scale, i64 n_coef,
                      double* sums) noexcept nogil:
    """Sums of terms in stored order, each rounded; returns the largest sum of |terms|."""
    cdef i64 i, k
    cdef const real* row
    cdef double total, size, term, largest = 0.0
    for i in range(n):
        row = data + rows[i] * view.row_stride
        total = 0.0
        size = 0.0
        for k in range(n_coef):
            term = coef[k] * (scale[k] * (<double> row[idx[k] * view.col_stride]))
            total += term
            size += fabs(term)
        sums[i] = total
        if not size <= largest:
            largest = size
    return largest if largest - largest == 0.0 else INFINITY


cdef class PartRows:
    """Some of the rows of a node, and lines to look along (an `obliqua.engine.lines.Lines`)."""

    cdef View view
    cdef object held
    cdef const i32[::1] rows
    cdef const Target* target
    cdef const i64[::1] begin
    cdef const i64[::1] end
    cdef const i32[::1] idx
    cdef const double[::1] coef
    cdef const double[::1] scale
    cdef const i32[::1] own
    cdef const double[::1] own_scale
    cdef const double[::1] factor
    cdef double* sums
    cdef double* reflected
    cdef double* values      # of the line that was looked along last: one of the two above
    cdef i64 first           # where the terms of `sums` begin; -1: none were added yet
    cdef i64 last
    cdef double largest      # sum of |terms| of a row

    def __cinit__(self, Z, const i32[::1] rows, TargetRows target, lines):
        cdef i64 n = max(rows.shape[0], 1)
        self.view = make_view(Z)
        self.held = (Z, target)
        self.rows = rows
        self.target = &target.target
        (self.begin, self.end, self.idx, self.coef, self.scale, self.own, self.own_scale,
         self.factor) = lines
        self.first = -1
        self.sums = <double*> malloc(n * sizeof(double))
        self.reflected = <double*> malloc(n * sizeof(double))
        if self.sums == NULL or self.reflected == NULL:
            raise MemoryError("no room to look along a line")

    def __dealloc__(self):
        free(self.sums)
        free(self.reflected)

    cdef void look(self, i64 line) noexcept nogil:
        """Puts the values along a line into `values`."""
        cdef i64 i, at = self.begin[line], size = self.end[line] - at
        cdef i32 own = self.own[line]
        cdef double scale = self.own_scale[line], factor = self.factor[line]
        if self.rows.shape[0] == 0:
            return
        if at != self.first or self.end[line] != self.last:
            if self.view.single:
                self.largest = add_terms(<const float*> self.view.data, &self.view, &self.rows[0],
                                         self.rows.shape[0], &self.idx[at], &self.coef[at],
                                         &self.scale[at], size, self.sums)
            else:
                self.largest = add_terms(<const double*> self.view.data, &self.view,
                                         &self.rows[0], self.rows.shape[0], &self.idx[at],
                                         &self.coef[at], &self.scale[at], size, self.sums)
            self.first = at
            self.last = self.end[line]
        self.values = self.sums
        if own < 0:
            return
        self.values = self.reflected
        for i in range(self.rows.shape[0]):
            self.reflected[i] = (scale * view_at(&self.view, self.rows[i], own)
                                 + factor * self.sums[i])

    def ranges(self):
        """Per line: the smallest and the largest value, the largest sum of |terms|."""
        cdef i64 d, i
        result = np.empty((self.begin.shape[0], 3))
        cdef double[:, ::1] out = result
        with nogil:
            for d in range(self.begin.shape[0]):
                out[d, 0] = INFINITY
                out[d, 1] = -INFINITY
                out[d, 2] = 0.0
                if self.rows.shape[0] == 0 or self.begin[d] == self.end[d]:
                    continue
                self.look(d)
                out[d, 2] = self.largest
                for i in range(self.rows.shape[0]):
                    if self.values[i] < out[d, 0]:
                        out[d, 0] = self.values[i]
                    if self.values[i] > out[d, 1]:
                        out[d, 1] = self.values[i]
        return result

    def divide(self, double threshold):
        """Which rows go right of a threshold along the first line (0 or 1 each)."""
        cdef i64 i
        right = np.empty(self.rows.shape[0], dtype=np.uint8)
        cdef u8[::1] right_ = right
        with nogil:
            self.look(0)
            for i in range(self.rows.shape[0]):
                right_[i] = not self.values[i] <= threshold
        return right

    def histogram(self, const i64[::1] line, const double[::1] low, const double[::1] high,
                  i64 n_bins):
        """Sums (and rows, last) per bin of some intervals, with the values at bins' ends.

        Intervals of a line stand next to each other, in ascending order, and do not overlap.
        """
        cdef i64 first = 0, last, i, j, b, m = line.shape[0]
        cdef int n_sums = self.target.n_sums
        cdef double value
        sums = np.empty((m, n_bins, n_sums + 1), dtype=np.int64)
        ends = np.empty((m, n_bins, 2))
        cdef i64[:, :, ::1] sums_ = sums
        cdef double[:, :, ::1] ends_ = ends
        cdef double[::1] scale = np.empty(m)
        with nogil:
            for j in range(m):
                clear_bins(&sums_[j, 0, 0], &ends_[j, 0, 0], n_bins, n_sums)
                scale[j] = bin_scale(low[j], high[j], n_bins)
            while first < m and self.rows.shape[0]:
                last = end_of_line(line, first)
                self.look(line[first])
                for i in range(self.rows.shape[0]):
                    value = self.values[i]
                    j = interval_of(value, low, high, first, last)
                    if j < 0:
                        continue
                    b = bin_of(value, low[j], scale[j], n_bins)
                    if self.target.n_numbers:
                        add_number_to_bin(&sums_[j, 0, 0], &ends_[j, 0, 0], b, self.target, value,
                                          self.rows[i])
                    else:
                        add_to_bin(&sums_[j, 0, 0], &ends_[j, 0, 0], b, n_sums, value,
                                   self.target.rows[self.rows[i]],
                                   weight_at(self.target, self.rows[i]))
                first = last
        return sums, ends

    def collect(self, const i64[::1] line, const double[::1] low, const double[::1] high):
        """The rows inside such intervals: (interval, value, class or numbers, weight)."""
        cdef i64 first = 0, last, i, j, row, count = 0, room = 64, m = line.shape[0]
        cdef int k, width = max(self.target.n_numbers, 1)
        interval, value = np.empty(room, dtype=np.int64), np.empty(room)
        learnt, weight = np.empty((room, width), dtype=np.int32), np.empty(room, dtype=np.int64)
        cdef i64[::1] interval_ = interval, weight_ = weight
        cdef double[::1] value_ = value
        cdef i32[:, ::1] learnt_ = learnt
        while first < m and self.rows.shape[0]:
            last = end_of_line(line, first)
            self.look(line[first])
            if room - count < self.rows.shape[0]:        # then there is room for all of them
                room = 2 * room + self.rows.shape[0]
                interval_ = interval = np.resize(interval, room)
                value_ = value = np.resize(value, room)
                learnt_ = learnt = np.resize(learnt, (room, width))
                weight_ = weight = np.resize(weight, room)
            with nogil:
                for i in range(self.rows.shape[0]):
                    j = interval_of(self.values[i], low, high, first, last)
                    if j < 0:
                        continue
                    row = self.rows[i]
                    interval_[count] = j
                    value_[count] = self.values[i]
                    weight_[count] = weight_at(self.target, row)
                    for k in range(width):
                        learnt_[count, k] = self.target.rows[row * width + k]
                    count += 1
            first = last
        return (interval[:count].copy(), value[:count].copy(), learnt[:count].copy(),
                weight[:count].copy())


cdef i64 end_of_line(const i64[::1] line, i64 first) noexcept nogil:
    """Where the intervals of the line of interval `first` end."""
    cdef i64 last = first
    while last < line.shape[0] and line[last] == line[first]:
        last += 1
    return last


cdef i64 interval_of(double value, const double[::1] low, const double[::1] high, i64 first,
                     i64 last) noexcept nogil:
    """The one of some ascending intervals that holds a value; -1: none does."""
    cdef i64 middle
    while last - first > 1:
        middle = (first + last) // 2
        if value >= low[middle]:
            first = middle
        else:
            last = middle
    return first if value >= low[first] and value <= high[first] else -1


cdef class CutJudge:
    """Decides about the cuts of a node from sums: it knows the node's own, and no rows."""

    cdef object held
    cdef const Target* target
    cdef const i64[::1] counts
    cdef Scorer scorer

    def __cinit__(self, TargetRows target, const i64[::1] counts, int code, i64 n_rows,
                  i64 min_rows, i64 min_weight):
        self.held = target
        self.target = &target.target         # says what is learnt
        self.counts = counts
        self.scorer.code = code
        self.scorer.n_sums = self.target.n_sums
        self.scorer.n_rows = n_rows
        self.scorer.weight = weight_of(self.target, &counts[0])
        self.scorer.counts = &counts[0]
        self.scorer.min_rows = max(min_rows, 1)
        self.scorer.min_weight = min_weight

    def choose(self, const i64[:, :, ::1] sums, const double[:, :, ::1] ends,
               const i64[::1] line, const i64[:, ::1] before, const double[::1] tolerance,
               best_so_far):
        """Scores the edges of the bins: (best, interval numbers and bins that stay undecided).

        A cut is (score, line, rows left, below, above); the earlier line wins ties. `before`
        holds, per interval, the sums left of it and (last) the number of rows.
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
                            &self.scorer, line[j], &best)
            for j in range(sums.shape[0]):
                open_bins(&sums[j, 0, 0], &ends[j, 0, 0], n_bins, &before[j, 0],
                          before[j, n_sums], left, tolerance[j], &self.scorer, line[j],
                          &best, offsets)
                for b in range(n_bins):
                    undecided_[j, b] = offsets[b] >= 0
        free(left)
        free(offsets)
        found = (best.score, best.direction, best.rows_left, best.below, best.above)
        return found, *np.nonzero(undecided)

    def finish(self, const i64[::1] interval, const double[::1] values, TargetRows collected,
               const i64[::1] line, const i64[:, ::1] before, const double[::1] tolerance,
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
                                        work.left, tolerance[j], &self.scorer, line[j], &best)
                else:
                    scan_sorted(&values[start], target.rows + start, target.weights + start,
                                work.order, end - start, &before[j, 0], before[j, n_sums],
                                work.left, work.left + 2 * n_sums, tolerance[j], &self.scorer,
                                line[j], &best)
                start = end
            workspace_free(&work)
        return best.score, best.direction, best.rows_left, best.below, best.above
