"""The search for a cut of rows that lie in parts: what rows answer, and what decides.

The steps are those of `direction`. `PartRows` are some of the rows of a node, wherever they are;
their answers can be added or joined. A `CutJudge` knows the sums of the node and no rows.

A line is what rows have a value along. It has terms and, for a column of a reflected matrix, a
column of its own:

    sum    of coef * (scale * x) over the terms
    value  that sum; with a column of its own, own_scale * x[own] + factor * sum

Lines with the same terms stand next to each other, so that their sums are made once.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.target cimport Target, TargetRows, add_row, weight_at, weight_of
from obliqua._core.base.types cimport Cut, Scorer, View, i32, i64, make_view, real, u8
from obliqua._core.search.direction cimport (
    Workspace, bin_scale, open_bins, scan_sorted, scan_sorted_numbers, score_edges,
    workspace_free, workspace_init,
)


cdef extern from "loops.h" nogil:
    void ob_add_terms(double* sum, double* size, const double* x, double scale, double factor,
                      i64 n)
    void ob_sum_four(double* sum, const double** x, const double* coef, const double* scale,
                     i64 n)
    void ob_sum_one(double* sum, const double* x, double coef, double scale, i64 n)
    void ob_reflect(double* z, const double* x, const double* along, double scale, double factor,
                    i64 n)
    void ob_range(const double* z, i64 n, double* low, double* high)
    void ob_places(const double* z, i32* place, i64 n, double low, double scale, double last)

cdef enum:
    BLOCK = 512              # rows that are looked at together: their columns fit in a cache
    NEAR = 8                 # of so many bins one is for all values, where others are near a cut
    CELLS = 512              # that tell which values of a line may lie inside intervals


cdef void gather(const real* data, const View* view, const i32* rows, i64 n, const i32* columns,
                 i64 n_columns, double* out) noexcept nogil:
    """Puts some columns of some rows next to each other, each into a place of `BLOCK` numbers."""
    cdef i64 i, k
    cdef const real* values
    cdef double* column
    if view.col_stride == 1:
        for i in range(n):
            values = data + rows[i] * view.row_stride
            for k in range(n_columns):
                out[k * BLOCK + i] = values[columns[k]]
        return
    for k in range(n_columns):
        values = data + columns[k] * view.col_stride
        column = out + k * BLOCK
        if view.row_stride == 1:
            for i in range(n):
                column[i] = values[rows[i]]
        else:
            for i in range(n):
                column[i] = values[rows[i] * view.row_stride]


cdef void add_terms(const double* gathered, const i32* place, const i32* idx, const double* coef,
                    const double* scale, i64 n_coef, i64 n, double* sums) noexcept nogil:
    """Sums of terms in stored order, each rounded before it is added."""
    cdef i64 k = 0
    cdef int j
    cdef const double* x[4]
    memset(sums, 0, n * sizeof(double))
    while k + 4 <= n_coef:
        for j in range(4):
            x[j] = gathered + place[idx[k + j]] * BLOCK
        ob_sum_four(sums, x, coef + k, scale + k, n)
        k += 4
    while k < n_coef:
        ob_sum_one(sums, gathered + place[idx[k]] * BLOCK, coef[k], scale[k], n)
        k += 1


cdef inline void widen(double* ends, double value) noexcept nogil:
    if value < ends[0]:
        ends[0] = value
    if value > ends[1]:
        ends[1] = value


cdef void fill_bins(const Target* target, const i32* rows, const i32* learnt,
                    const double* values, i64 n, const i32* bins, i64* sums,
                    double* ends) noexcept nogil:
    """More rows in their bins."""
    cdef i64 i
    cdef int n_sums = target.n_sums
    cdef i64* bin_
    if target.n_numbers == 0 and target.weights == NULL:
        for i in range(n):
            bin_ = sums + bins[i] * (n_sums + 1)
            bin_[learnt[i]] += 1
            bin_[n_sums] += 1
            widen(ends + 2 * bins[i], values[i])
        return
    for i in range(n):
        bin_ = sums + bins[i] * (n_sums + 1)
        add_row(target, rows[i], bin_)
        bin_[n_sums] += 1
        widen(ends + 2 * bins[i], values[i])


cdef struct Found:
    # The rows inside some intervals, as they are collected.
    i64 count
    i64 capacity
    i64* interval
    double* value
    i32* learnt
    i64* weight


cdef bint reserve(Found* found, i64 more, int width) noexcept nogil:
    """Makes room for so many rows more; False if there is no memory."""
    cdef i64 capacity = found.capacity
    cdef void* moved
    if found.count + more <= capacity:
        return True
    capacity = 2 * capacity + more
    moved = realloc(found.interval, capacity * sizeof(i64))
    if moved == NULL:
        return False
    found.interval = <i64*> moved
    moved = realloc(found.value, capacity * sizeof(double))
    if moved == NULL:
        return False
    found.value = <double*> moved
    moved = realloc(found.learnt, capacity * width * sizeof(i32))
    if moved == NULL:
        return False
    found.learnt = <i32*> moved
    moved = realloc(found.weight, capacity * sizeof(i64))
    if moved == NULL:
        return False
    found.weight = <i64*> moved
    found.capacity = capacity
    return True


cdef class PartRows:
    """Some of the rows of a node, and lines to look along (an `obliqua.engine.lines.Lines`).

    Rows are looked at in blocks. The columns that lines need are put next to each other first, so
    that all lines find them in a cache, and several rows are added up at once.
    """

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
    cdef i32* place          # of each column among those that are gathered; -1: not needed
    cdef i32* columns        # that are gathered
    cdef i64 n_columns
    cdef double* gathered    # of the present block
    cdef i64 at              # its first row
    cdef i64 n               # its rows
    cdef double* sums
    cdef double* reflected
    cdef double* values      # of the line that was looked along last: one of the two above
    cdef i32* learnt         # the classes of the block's rows
    cdef i32* bins           # that their values are in; or the rows that lie inside intervals
    cdef i32* interval       # and these intervals
    cdef i32* cells          # CELLS of each line that is looked along, see `cover`
    cdef i64 first           # where the terms of `sums` begin; -1: none were added yet
    cdef i64 last

    def __cinit__(self, Z, const i32[::1] rows, TargetRows target, lines):
        cdef i64 k
        self.view = make_view(Z)
        self.held = (Z, target)
        self.rows = rows
        self.target = &target.target
        (self.begin, self.end, self.idx, self.coef, self.scale, self.own, self.own_scale,
         self.factor) = lines
        self.place = <i32*> malloc(max(self.view.n_cols, 1) * sizeof(i32))
        self.columns = <i32*> malloc(max(self.view.n_cols, 1) * sizeof(i32))
        self.sums = <double*> malloc(3 * BLOCK * sizeof(double))
        self.learnt = <i32*> malloc(3 * BLOCK * sizeof(i32))
        if (self.place == NULL or self.columns == NULL or self.sums == NULL
                or self.learnt == NULL):
            raise MemoryError("no room to look along a line")
        self.reflected = self.sums + BLOCK
        self.bins = self.learnt + BLOCK
        self.interval = self.bins + BLOCK
        for k in range(self.view.n_cols):
            self.place[k] = -1

    def __dealloc__(self):
        free(self.place)
        free(self.columns)
        free(self.gathered)
        free(self.sums)
        free(self.learnt)
        free(self.cells)

    cdef void need(self, i64 line) noexcept nogil:
        """Gathers what a line needs from now on."""
        cdef i64 k
        if self.begin[line] != self.first or self.end[line] != self.last:
            for k in range(self.begin[line], self.end[line]):
                self.need_column(self.idx[k])
            self.first = self.begin[line]
            self.last = self.end[line]
        if self.own[line] >= 0:
            self.need_column(self.own[line])

    cdef void need_column(self, i32 column) noexcept nogil:
        if self.place[column] < 0:
            self.place[column] = <i32> self.n_columns
            self.columns[self.n_columns] = column
            self.n_columns += 1

    cdef bint ready(self) noexcept nogil:
        """Makes room for the columns of a block; False if there is no memory."""
        free(self.gathered)
        self.gathered = <double*> malloc(max(self.n_columns, 1) * BLOCK * sizeof(double))
        self.at = -BLOCK
        return self.gathered != NULL

    cdef bint next_block(self) noexcept nogil:
        """Goes on to the next rows; False if there are none."""
        cdef i64 i
        self.at += BLOCK
        self.n = min(self.rows.shape[0] - self.at, <i64> BLOCK)
        self.first = -1
        if self.n <= 0:
            return False
        if self.view.single:
            gather(<const float*> self.view.data, &self.view, &self.rows[self.at], self.n,
                   self.columns, self.n_columns, self.gathered)
        else:
            gather(<const double*> self.view.data, &self.view, &self.rows[self.at], self.n,
                   self.columns, self.n_columns, self.gathered)
        if self.target.n_numbers == 0:
            for i in range(self.n):
                self.learnt[i] = self.target.rows[self.rows[self.at + i]]
        return True

    cdef inline const double* column(self, i64 column) noexcept nogil:
        return self.gathered + self.place[column] * BLOCK

    cdef void look(self, i64 line) noexcept nogil:
        """Puts the values of the block's rows along a line into `values`."""
        cdef i64 at = self.begin[line]
        if at != self.first or self.end[line] != self.last:
            if self.end[line] > at:
                add_terms(self.gathered, self.place, &self.idx[at], &self.coef[at],
                          &self.scale[at], self.end[line] - at, self.n, self.sums)
            self.first = at
            self.last = self.end[line]
        self.values = self.sums
        if self.own[line] >= 0:
            self.values = self.reflected
            ob_reflect(self.reflected, self.column(self.own[line]), self.sums,
                       self.own_scale[line], self.factor[line], self.n)

    def ranges(self):
        """Per line: the smallest and the largest value, the largest sum of |terms|."""
        cdef i64 d, m = self.begin.shape[0]
        cdef bint enough
        result, sizes = np.empty((m, 3)), np.zeros(m)
        cdef double[:, ::1] out = result
        cdef double[::1] sizes_ = sizes
        result[:, 0], result[:, 1] = np.inf, -np.inf
        with nogil:
            self.first = -1
            for d in range(m):
                self.need(d)
            enough = self.ready()
            while enough and self.next_block():
                for d in range(m):
                    if self.begin[d] == self.end[d]:
                        continue
                    self.measure(d, &sizes_[0])
                    self.look(d)
                    ob_range(self.values, self.n, &out[d, 0], &out[d, 1])
        if not enough:
            raise MemoryError("no room to look along a line")
        result[:, 2] = sizes
        return result

    def divided(self, double threshold):
        """The rows at most at a threshold along the first line, and those right of it."""
        cdef i64 i, n_left = 0, n_right = 0
        cdef bint enough, right
        left, rest = np.empty((2, self.rows.shape[0]), dtype=np.int32)
        cdef i32[::1] left_ = left, rest_ = rest
        with nogil:
            self.first = -1
            self.need(0)
            enough = self.ready()
            while enough and self.next_block():
                self.look(0)
                for i in range(self.n):              # no branch: half of them would be guessed
                    right = not self.values[i] <= threshold
                    left_[n_left] = rest_[n_right] = self.rows[self.at + i]
                    n_right += right
                    n_left += 1 - right
        if not enough:
            raise MemoryError("no room to look along a line")
        return left[:n_left].copy(), rest[:n_right].copy()

    def open_histogram(self, const double[::1] low, const double[::1] high, near,
                       i64[:, :, ::1] sums, double[:, :, ::1] ends, double[::1] sizes):
        """Adds to sums (and rows, last) per bin of each line, and to values at bins' ends.

        What lies below and above is in the outermost bins. `near` None, or two ends for each line
        between which most bins are. And to the largest sums of |terms|.
        """
        cdef const double[:, ::1] near_
        cdef i64 i, n_coarse
        cdef i64 d, m = self.begin.shape[0], n_bins = sums.shape[1]
        cdef bint enough, looks_near = near is not None
        n_coarse = n_bins
        if looks_near:
            near_ = near
            n_coarse = max(n_bins // NEAR, 1)
        with nogil:
            self.first = -1
            for d in range(m):
                self.need(d)
            enough = self.ready()
            while enough and self.next_block():
                for d in range(m):
                    if not self.is_axis(d):
                        self.measure(d, &sizes[0])
                    self.look(d)
                    ob_places(self.values, self.bins, self.n, low[d],
                              bin_scale(low[d], high[d], n_coarse), <double> (n_coarse - 1))
                    if looks_near:       # both grow with the values, and so does their sum
                        ob_places(self.values, self.interval, self.n, near_[d, 0],
                                  bin_scale(near_[d, 0], near_[d, 1], n_bins - n_coarse + 1),
                                  <double> (n_bins - n_coarse))
                        for i in range(self.n):
                            self.bins[i] += self.interval[i]
                    fill_bins(self.target, &self.rows[self.at], self.learnt, self.values, self.n,
                              self.bins, &sums[d, 0, 0], &ends[d, 0, 0])
            for d in range(m):
                if self.is_axis(d):
                    sizes[d] = farthest(&ends[d, 0, 0], n_bins)
        if not enough:
            raise MemoryError("no room to look along a line")

    cdef inline bint is_axis(self, i64 line) noexcept nogil:
        """Whether the values along a line are its only term."""
        return self.end[line] - self.begin[line] == 1 and self.own[line] < 0

    cdef void measure(self, i64 line, double* sizes) noexcept nogil:
        """The largest sum of |terms| of a line so far; infinity if one is not finite."""
        cdef i64 i, k
        cdef double size, largest = sizes[line]
        if line > 0 and (self.begin[line] == self.begin[line - 1]
                         and self.end[line] == self.end[line - 1]):
            sizes[line] = sizes[line - 1]
            return
        memset(self.reflected, 0, 2 * BLOCK * sizeof(double))
        for k in range(self.begin[line], self.end[line]):
            ob_add_terms(self.reflected, self.reflected + BLOCK, self.column(self.idx[k]),
                         self.scale[k], self.coef[k], self.n)
        for i in range(self.n):
            size = self.reflected[BLOCK + i]
            largest = largest if size <= largest else size
        sizes[line] = largest if largest - largest == 0.0 else INFINITY

    def histogram(self, const i64[::1] line, const double[::1] low, const double[::1] high,
                  i64[:, :, ::1] sums, double[:, :, ::1] ends):
        """Adds to sums (and rows, last) per bin of some intervals, and to values at bins' ends.

        Intervals of a line stand next to each other, in ascending order, and do not overlap.
        """
        cdef i64 first, last, i, j, k, n, m = line.shape[0], n_bins = sums.shape[1]
        cdef i32 b
        cdef const i32* cells
        cdef double[::1] scale = np.empty(m)
        cdef double at
        cdef bint enough
        with nogil:
            enough = self.ready_for(line, low, high)
            for j in range(m):
                scale[j] = bin_scale(low[j], high[j], n_bins)
            while enough and self.next_block():
                first = 0
                cells = self.cells
                while first < m:
                    last = end_of_line(line, first)
                    self.look(line[first])
                    n = self.inside(cells, &low[0], &high[0], first, last)
                    cells += CELLS
                    for k in range(n):
                        i = self.bins[k]
                        j = self.interval[k]
                        at = (self.values[i] - low[j]) * scale[j]    # as ob_places does
                        at = at if at > 0.0 else 0.0
                        b = <i32> (at if at < <double> (n_bins - 1) else <double> (n_bins - 1))
                        fill_bins(self.target, &self.rows[self.at + i], self.learnt + i,
                                  self.values + i, 1, &b, &sums[j, 0, 0], &ends[j, 0, 0])
                    first = last
        if not enough:
            raise MemoryError("no room to look along a line")

    cdef bint ready_for(self, const i64[::1] line, const double[::1] low,
                        const double[::1] high) noexcept nogil:
        """Gets ready to look for what lies inside intervals; False if there is no memory."""
        cdef i64 first = 0, last, n_lines = 0, m = line.shape[0]
        self.first = -1
        while first < m:
            self.need(line[first])
            first = end_of_line(line, first)
            n_lines += 1
        free(self.cells)
        self.cells = <i32*> malloc(max(n_lines, 1) * CELLS * sizeof(i32))
        if self.cells == NULL:
            return False
        first = n_lines = 0
        while first < m:
            last = end_of_line(line, first)
            cover(&low[0], &high[0], first, last, self.cells + n_lines * CELLS)
            first = last
            n_lines += 1
        return self.ready()

    cdef i64 inside(self, const i32* cells, const double* low, const double* high, i64 first,
                    i64 last) noexcept nogil:
        """Which rows of the block lie inside intervals of the present line; how many.

        Their places in the block stand in `bins` then, and their intervals in `interval`.
        """
        cdef i64 i, j, k, n_near = 0, n = 0
        cdef double value
        places_of_cells(self.values, self.interval, self.n, low[first], high[last - 1])
        for i in range(self.n):                          # no branch depends on the value
            self.bins[n_near] = <i32> i
            j = cells[self.interval[i]]
            self.interval[n_near] = <i32> j
            n_near += j >= 0
        for k in range(n_near):
            value = self.values[self.bins[k]]
            j = self.interval[k]
            while j + 1 < last and value >= low[j + 1]:
                j += 1
            self.bins[n] = self.bins[k]
            self.interval[n] = <i32> j
            n += value >= low[j] and value <= high[j]
        return n

    def collect(self, const i64[::1] line, const double[::1] low, const double[::1] high):
        """The rows inside such intervals: (interval, value, class or numbers, weight)."""
        cdef i64 first, last, i, j, n, row, m = line.shape[0]
        cdef int k, width = max(self.target.n_numbers, 1)
        cdef Found found
        cdef const i32* cells
        cdef bint enough
        memset(&found, 0, sizeof(Found))
        with nogil:
            enough = self.ready_for(line, low, high)
            while enough and self.next_block():
                first = 0
                cells = self.cells
                while enough and first < m:
                    last = end_of_line(line, first)
                    self.look(line[first])
                    n = self.inside(cells, &low[0], &high[0], first, last)
                    cells += CELLS
                    enough = reserve(&found, n, width)
                    for j in range(n if enough else 0):
                        i = self.bins[j]
                        row = self.rows[self.at + i]
                        found.interval[found.count] = self.interval[j]
                        found.value[found.count] = self.values[i]
                        found.weight[found.count] = weight_at(self.target, row)
                        for k in range(width):
                            found.learnt[found.count * width + k] = (
                                self.target.rows[row * width + k])
                        found.count += 1
                    first = last
        try:
            if not enough:
                raise MemoryError("no room to collect values")
            return taken(&found, width)
        finally:
            free(found.interval)
            free(found.value)
            free(found.learnt)
            free(found.weight)


cdef inline void places_of_cells(const double* values, i32* place, i64 n, double low,
                                 double high) noexcept nogil:
    """The cells of some values: equal parts of a stretch, with one more at each end."""
    cdef double scale = bin_scale(low, high, CELLS - 2)
    ob_places(values, place, n, low - (high - low) / (CELLS - 2), scale, <double> (CELLS - 1))


cdef void cover(const double* low, const double* high, i64 first, i64 last,
                i32* cells) noexcept nogil:
    """The first of a line's intervals in which values of each cell may lie; -1: none."""
    cdef i64 c, j
    cdef i32 begin, end
    for c in range(CELLS):
        cells[c] = -1
    for j in range(last - 1, first - 1, -1):             # the first interval has the last word
        places_of_cells(&low[j], &begin, 1, low[first], high[last - 1])
        places_of_cells(&high[j], &end, 1, low[first], high[last - 1])
        for c in range(begin, end + 1):
            cells[c] = <i32> j


cdef tuple taken(const Found* found, int width):
    """What was collected, as arrays."""
    interval, value = np.empty(found.count, dtype=np.int64), np.empty(found.count)
    learnt = np.empty((found.count, width), dtype=np.int32)
    weight = np.empty(found.count, dtype=np.int64)
    cdef i64[::1] interval_ = interval, weight_ = weight
    cdef double[::1] value_ = value
    cdef i32[:, ::1] learnt_ = learnt
    if found.count:
        memcpy(&interval_[0], found.interval, found.count * sizeof(i64))
        memcpy(&value_[0], found.value, found.count * sizeof(double))
        memcpy(&learnt_[0, 0], found.learnt, found.count * width * sizeof(i32))
        memcpy(&weight_[0], found.weight, found.count * sizeof(i64))
    return interval, value, learnt, weight


def empty_bins(i64 m, i64 n_bins, i64 n_sums):
    """Sums and ends of bins without rows."""
    sums = np.zeros((m, n_bins, n_sums + 1), dtype=np.int64)
    ends = np.empty((m, n_bins, 2))
    ends[..., 0], ends[..., 1] = np.inf, -np.inf
    return sums, ends


cdef double farthest(const double* ends, i64 n_bins) noexcept nogil:
    """The largest absolute value in bins; infinity if one is not finite."""
    cdef i64 first = 0, last = n_bins - 1
    cdef double size
    while first < last and ends[2 * first] > ends[2 * first + 1]:      # an empty one
        first += 1
    while last > first and ends[2 * last] > ends[2 * last + 1]:
        last -= 1
    if ends[2 * first] > ends[2 * last + 1]:
        return 0.0
    size = max(-ends[2 * first], ends[2 * last + 1])
    return size if size - size == 0.0 else INFINITY


cdef inline i64 end_of_line(const i64[::1] line, i64 first) noexcept nogil:
    """Where the intervals of the line of interval `first` end."""
    cdef i64 last = first
    while last < line.shape[0] and line[last] == line[first]:
        last += 1
    return last


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
