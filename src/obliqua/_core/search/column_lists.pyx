"""Axis-parallel columns, sorted once and kept sorted while nodes are divided.

Each column is a list of entries in order of value; a node is the same window [start, end) of
every list:

    column 0   | node A           | node B      | node C |
    column 1   | node A           | node B      | node C |      start and end are shared

An entry packs what a scan needs, so that a scan reads one stream of 4 bytes a row:

    | new value : 1 bit | class | row |

"New value" says that the value differs from the entry before it *in the same window*: dividing a
window carries the bit on, so the values themselves are read only for the winner's threshold.
Entries are 32 bits where row and class fit in 31, else 64. Numbers to learn are too long to be
packed: they are looked up by the row.

Rows that miss a value stand at the end of its list, as one more value, and dividing keeps them
there. So a scan tries them on the right side, and their own place is the cut between values and
none. A second scan, over a copy that begins with them, tries them on the left.

Sparse columns have entries for what is not 0 only, in two lists: below 0, and above (with what is
missing at the end). All other rows of a node are zeros between them. `order` has the rows node by
node, `place` says where a row stands there; the entries of a node stand side by side in a list,
and are found by the places of their rows. So a node costs the entries that it has.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, isnan
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.sort cimport SortBuffers, buffers_free, buffers_reserve, sort_order
from obliqua._core.base.target cimport TargetRows, add_row, weight_at
from obliqua._core.base.types cimport (
    ALONE_RIGHT, GO_LEFT, GO_RIGHT, STAND_IN, Cut, Scorer, allowed, better, i32, i64, make_view,
    midpoint, u8, u32, u64, view_at,
)
from obliqua._core.search.criterion cimport (
    ABSOLUTE_ERROR, GINI, SQUARED_ERROR, TWOING, bin_bound, goodness, is_convex, is_narrow,
    of_numbers,
)
from obliqua._core.search.medians cimport Medians, measure_cuts, median_goodness

ctypedef fused entry:
    u32
    u64

cdef enum:
    COLUMNS_AT_ONCE = 4      # columns gathered in one pass over row-major data
    MANY_ROWS = 384          # measured: from here on, bounds on blocks pay
    BLOCK = 64               # rows in a block; with more classes, as many rows as classes

cdef i64 WORK_BETWEEN_SIGNALS = (<i64> 1) << 24

# A filter may only reject what is worse beyond doubt; the exact score decides the rest.
cdef double SLACK = 1.0 - 1e-12


cdef int bits_for(u64 largest) noexcept nogil:
    cdef int bits = 0
    while largest >> bits:
        bits += 1
    return bits


cdef inline void offer(const Scorer* scorer, const i64* left, i64 weight_left, i64 col,
                       i64 rows_left, i64* scratch, Cut* best) noexcept nogil:
    """Scores a cut exactly and keeps it if it is better, or as good and earlier."""
    cdef double score = goodness(scorer.code, left, scorer.counts, scorer.n_sums, weight_left,
                                 scorer.weight, scratch)
    if better(score, col, rows_left, best):
        best.score = score
        best.direction = col
        best.rows_left = rows_left
        best.missing = STAND_IN


cdef void scan_two_classes(const entry* list, i64 n, const Layout* layout, const Scorer* scorer,
                           i64 col, Cut* best) noexcept nogil:
    """Gini and twoing of two classes order cuts alike: by d^2 / (i (n - i)), d = excess left.

    The filter needs no division; d changes by a constant with each row.
    """
    cdef int top = 8 * sizeof(entry) - 1
    cdef i64 k, w, d = 0, weight = 0, class_one = 0
    cdef i64 first = max(scorer.min_rows, 1)
    cdef i64 last = n - scorer.min_rows
    cdef i64 n_weight = scorer.weight
    cdef i64 up = scorer.counts[0]           # d falls by this with a row of class 1
    cdef i64 down = scorer.counts[1]         # and rises by this with a row of class 0
    cdef i64 min_weight = scorer.min_weight
    cdef i64[2] left
    cdef int row_bits = layout.row_bits
    cdef u64 row_mask = layout.row_mask
    cdef const i64* weights = layout.weights
    cdef double unit = (<double> n_weight) * (<double> n_weight)
    cdef double bar, dd, sides
    cdef u64 e, c
    if scorer.code == GINI:
        unit = unit / 2
    bar = best.score * unit * SLACK
    for k in range(n):
        e = list[k]
        c = (e >> row_bits) & 1
        if (e >> top) and k >= first and k <= last:
            dd = <double> d
            sides = (<double> weight) * (<double> (n_weight - weight))
            if (dd * dd >= bar * sides and weight >= min_weight
                    and n_weight - weight >= min_weight):
                left[1] = class_one
                left[0] = weight - class_one
                offer(scorer, left, weight, col, k, NULL, best)
                bar = best.score * unit * SLACK
        if weights == NULL:
            weight += 1
            class_one += <i64> c
            d += -up if c else down
        else:
            w = weights[e & row_mask]
            weight += w
            if c:
                class_one += w
                d -= up * w
            else:
                d += down * w


cdef void scan_gini(const entry* list, i64 n, const Layout* layout, const Scorer* scorer, i64 col,
                    i64* left, Cut* best) noexcept nogil:
    """Gini of unit weights: sums of squares change by one term with each row."""
    cdef int top = 8 * sizeof(entry) - 1
    cdef i64 k, c, squares_left = 0, squares_right = 0
    cdef i64 first = max(scorer.min_rows, 1)
    cdef i64 last = n - scorer.min_rows
    cdef i64 min_weight = scorer.min_weight
    cdef int row_bits = layout.row_bits
    cdef u64 class_mask = layout.class_mask
    cdef double m = <double> n
    cdef double base, bar, i, r
    cdef u64 e
    memset(left, 0, scorer.n_sums * sizeof(i64))
    for k in range(scorer.n_sums):
        squares_right += scorer.counts[k] * scorer.counts[k]
    base = (<double> squares_right) / m
    bar = (best.score * m + base) * SLACK
    for k in range(n):
        e = list[k]
        if (e >> top) and k >= first and k <= last and k >= min_weight and n - k >= min_weight:
            i = <double> k
            r = <double> (n - k)
            if (<double> squares_left) * r + (<double> squares_right) * i >= bar * i * r:
                offer(scorer, left, k, col, k, NULL, best)
                bar = (best.score * m + base) * SLACK
        c = <i64> ((e >> row_bits) & class_mask)
        squares_left += 2 * left[c] + 1
        squares_right -= 2 * (scorer.counts[c] - left[c]) - 1
        left[c] += 1


cdef void scan_one_number(const entry* list, i64 n, const Layout* layout, const Scorer* scorer,
                          i64 col, Cut* best) noexcept nogil:
    """Squared error: as for two classes by d^2 / (i (n - i)), d the excess left of the sum.

    The filter works with doubles. Numbers are counted from near the node's mean, so that they
    lose little, and what they may lose is added; the exact score decides.
    """
    cdef int top = 8 * sizeof(entry) - 1
    cdef i64 k, w = 1, row, weight = 0, sum_left = 0
    cdef i64 first = max(scorer.min_rows, 1)
    cdef i64 last = n - scorer.min_rows
    cdef i64 min_weight = scorer.min_weight, total = scorer.weight
    cdef i64 middle = (scorer.counts[1] + total // 2) // total
    cdef i64[4] left
    cdef const i32* numbers = layout.target.rows
    cdef const i64* weights = layout.weights
    cdef u64 row_mask = layout.row_mask
    cdef double n_weight = <double> total
    cdef double rest = <double> (scorer.counts[1] - middle * total)
    cdef double lost = 2.0 ** -50 * n_weight
    cdef double square = n_weight * n_weight
    cdef double bar = best.score * square * SLACK
    cdef double d, s, i
    cdef u64 e
    for k in range(n):
        e = list[k]
        if (e >> top) and k >= first and k <= last:
            s = <double> sum_left
            i = <double> weight
            d = fabs(s * n_weight - rest * i) + lost * (fabs(s) + i)
            if (d * d >= bar * (i * (n_weight - i)) and weight >= min_weight
                    and total - weight >= min_weight):
                left[0] = weight
                left[1] = sum_left + middle * weight
                offer(scorer, left, weight, col, k, NULL, best)
                bar = best.score * square * SLACK
        row = <i64> (e & row_mask)
        if weights != NULL:
            w = weights[row]
        weight += w
        sum_left += w * (numbers[row] - middle)


cdef void scan_numbers(const entry* list, i64 n, const Layout* layout, const Scorer* scorer,
                       i64 col, i64* left, Cut* best) noexcept nogil:
    """The same for several outputs, whose squared errors add up; and other criteria of sums."""
    cdef int top = 8 * sizeof(entry) - 1
    cdef int j, m = scorer.n_sums - 3
    cdef i64 k, w, row, weight = 0
    cdef double n_weight = <double> scorer.weight
    cdef double lost = 2.0 ** -50 * n_weight
    cdef double square = n_weight * n_weight
    cdef double bar = best.score * square * SLACK
    cdef double d, squares
    cdef u64 e
    cdef i64* middle = left + scorer.n_sums
    cdef i64* rest = left + 2 * scorer.n_sums        # of the node's sums, without the middle
    cdef i64* sums = left + 3 * scorer.n_sums        # of the rows to the left, without it
    for j in range(m):
        middle[j] = (scorer.counts[1 + j] + scorer.weight // 2) // scorer.weight
        rest[j] = scorer.counts[1 + j] - middle[j] * scorer.weight
        sums[j] = 0
    for k in range(n):
        e = list[k]
        if (e >> top) and k > 0 and allowed(scorer, k, weight):
            squares = 0.0
            for j in range(m):
                d = fabs((<double> sums[j]) * n_weight - (<double> rest[j]) * (<double> weight))
                d += lost * (fabs(<double> sums[j]) + (<double> weight))
                squares += d * d
            if scorer.code != SQUARED_ERROR or squares >= bar * (
                    (<double> weight) * (n_weight - (<double> weight))):
                left[0] = weight
                for j in range(m):
                    left[1 + j] = sums[j] + middle[j] * weight
                offer(scorer, left, weight, col, k, NULL, best)
                bar = best.score * square * SLACK
        row = <i64> (e & layout.row_mask)
        w = weight_at(layout.target, row)
        weight += w
        for j in range(m):
            sums[j] += w * (layout.target.rows[row * m + j] - middle[j])


cdef void scan_rows(const entry* list, i64 n, const Layout* layout, const Scorer* scorer, i64 col,
                    Cut* best) noexcept nogil:
    """A criterion that needs rows, not sums of them."""
    cdef int top = 8 * sizeof(entry) - 1
    cdef Medians* medians = <Medians*> scorer.medians
    cdef i64 k, weight = 0
    cdef double score
    for k in range(n):
        medians.rows[k] = <i32> (list[k] & layout.row_mask)
    measure_cuts(medians)
    for k in range(n):
        if (list[k] >> top) and k > 0 and allowed(scorer, k, weight):
            score = median_goodness(scorer, k)
            if better(score, col, k, best):
                best.score = score
                best.direction = col
                best.rows_left = k
                best.missing = STAND_IN
        weight += weight_at(layout.target, medians.rows[k])


cdef void scan_range(const entry* list, i64 n, i64 begin, i64 end, const Layout* layout,
                     const Scorer* scorer, bint skip_runs, i64 col, i64 weight, i64* left,
                     i64* scratch, Cut* best) noexcept nogil:
    """Any criterion, any weights: offers the cuts in front of entries begin .. end - 1.

    `left` and `weight` are the sums of the entries before `begin`. Convex criteria skip cuts
    inside a run of one class.
    """
    cdef int top = 8 * sizeof(entry) - 1
    cdef i64 k = begin, c, w, ahead, next_class, group = -1
    cdef bint mixed
    cdef u64 e
    while k < end:
        # [k, ahead) is a group of equal values; `next_class` its class, -1 if mixed
        next_class = <i64> ((list[k] >> layout.row_bits) & layout.class_mask)
        ahead = k + 1
        # The part of a group in front of `begin` is not looked at: it may be of other classes.
        mixed = k == begin and k > 0 and not list[k] >> top
        while ahead < n and not list[ahead] >> top:
            if <i64> ((list[ahead] >> layout.row_bits) & layout.class_mask) != next_class:
                mixed = True
            ahead += 1
        if mixed:
            next_class = -1
        if (k > 0 and list[k] >> top and allowed(scorer, k, weight)
                and not (skip_runs and next_class >= 0 and next_class == group)):
            offer(scorer, left, weight, col, k, scratch, best)
        group = next_class
        while k < ahead:
            e = list[k]
            c = <i64> ((e >> layout.row_bits) & layout.class_mask)
            w = 1 if layout.weights == NULL else layout.weights[e & layout.row_mask]
            left[c] += w
            weight += w
            k += 1


cdef i64 add_block(const entry* list, i64 begin, i64 end, const Layout* layout,
                   i64* sums) noexcept nogil:
    """Adds the class sums of some entries; returns their weight."""
    cdef i64 k, w, weight = 0
    cdef u64 e
    for k in range(begin, end):
        e = list[k]
        w = 1 if layout.weights == NULL else layout.weights[e & layout.row_mask]
        sums[(e >> layout.row_bits) & layout.class_mask] += w
        weight += w
    return weight


cdef void scan_blocks(const entry* list, i64 n, i64 block, const Layout* layout,
                      const Scorer* scorer, bint skip_runs, i64 col, i64* scratch,
                      Cut* best) noexcept nogil:
    """A convex criterion that costs a loop over the classes: bounds first, cuts where needed.

    One pass scores the cuts between blocks, a second looks into the blocks whose bound promises
    more than the best cut so far.
    """
    cdef int c, n_classes = scorer.n_sums
    cdef int top = 8 * sizeof(entry) - 1
    cdef i64 begin, end, inside_weight, weight = 0
    cdef i64* left = scratch
    cdef i64* inside = scratch + n_classes
    cdef i64* inner = scratch + 2 * n_classes
    cdef i64* spare = scratch + 3 * n_classes
    cdef double bound
    memset(left, 0, n_classes * sizeof(i64))
    begin = 0
    while begin < n:
        if begin > 0 and list[begin] >> top and allowed(scorer, begin, weight):
            offer(scorer, left, weight, col, begin, spare, best)
        end = min(begin + block, n)
        weight += add_block(list, begin, end, layout, left)
        begin = end
    memset(left, 0, n_classes * sizeof(i64))
    weight = 0
    begin = 0
    while begin < n:
        end = min(begin + block, n)
        memset(inside, 0, n_classes * sizeof(i64))
        inside_weight = add_block(list, begin, end, layout, inside)
        bound = bin_bound(scorer.code, left, inside, scorer.counts, n_classes, weight,
                          inside_weight, scorer.weight)
        if better(bound, col, begin, best):
            memcpy(inner, left, n_classes * sizeof(i64))
            scan_range(list, n, begin, end, layout, scorer, skip_runs, col, weight, inner, spare,
                       best)
        for c in range(n_classes):
            left[c] += inside[c]
        weight += inside_weight
        begin = end


cdef void divide_list(entry* list, i64 n, const u8* side, u64 row_mask,
                      entry* scratch) noexcept nogil:
    """Stable division of a window: left rows stay in front, right rows follow.

    Written without branches: each entry is stored on both sides and only one index moves on.
    A "new value" bit that was passed over belongs to the next entry of each side.
    """
    cdef int top = 8 * sizeof(entry) - 1
    cdef entry bit = <entry> ((<u64> 1) << top)
    cdef entry owed_left = 0, owed_right = 0, e, flag, go
    cdef entry rows = <entry> row_mask
    cdef i64 k, n_left = 0, n_right = 0
    for k in range(n):
        e = list[k]
        flag = e & bit
        go = side[e & rows]                       # 0 left, 1 right
        owed_left |= flag
        owed_right |= flag
        go = -go                                  # all ones for right
        e = (e & ~bit) | (owed_left & ~go) | (owed_right & go)
        owed_left &= go
        owed_right &= ~go
        list[n_left] = e
        scratch[n_right] = e
        n_right += go & 1
        n_left += 1 - (go & 1)
    memcpy(list + n_left, scratch, n_right * sizeof(entry))


cdef void fill_entries(entry* list, const u32* order, i64 n, int row_bits, int top,
                       const i32* classes) noexcept nogil:
    """`classes`: NULL if numbers are learnt."""
    cdef i64 k
    cdef u32 row
    for k in range(n):
        row = order[k] & 0x7FFFFFFF
        list[k] = <entry> (((<u64> (order[k] >> 31)) << top) | <u64> row)
        if classes != NULL:
            list[k] |= <entry> ((<u64> classes[row]) << row_bits)


cdef i64 first_from(const entry* list, i64 begin, i64 end, const i32* place, u64 row_mask,
                    i64 start) noexcept nogil:
    """The first of some entries whose row stands at `start` or behind it."""
    cdef i64 middle
    while begin < end:
        middle = (begin + end) // 2
        if place[list[middle] & row_mask] < start:
            begin = middle + 1
        else:
            end = middle
    return begin


cdef void pass_entry(u64 e, const Layout* layout, i64* sums) noexcept nogil:
    """Adds the row of an entry to sums."""
    cdef u64 row = e & layout.row_mask
    if layout.target.n_numbers:
        add_row(layout.target, row, sums)
    else:
        sums[(e >> layout.row_bits) & layout.class_mask] += weight_at(layout.target, row)


cdef inline bint hopeless(const Scorer* scorer, i64 weight, const Cut* best) noexcept nogil:
    """Whether no cut with so little weight on one side can be better.

    With |D| at most 2 n times that weight, twoing is at most its ratio to the rest, gini twice it.
    """
    cdef double most = <double> weight
    if scorer.code == GINI:
        most *= 2
    elif scorer.code != TWOING:
        return False
    return most < best.score * SLACK * (<double> (scorer.weight - weight))


cdef void scan_side(const entry* list, i64 n, bint from_right, bint at_zeros, const Layout* layout,
                    const Scorer* scorer, i64 col, i64* scratch, Cut* best) noexcept nogil:
    """Offers the cuts among the values on one side of 0, from the outermost to `at_zeros`.

    That one, between these values and all others, is offered if there are others.
    """
    cdef int c, top = 8 * sizeof(entry) - 1
    cdef i64 k, at, weight, rows
    cdef i64* outer = scratch
    cdef i64* left = scratch + scorer.n_sums
    cdef bint edge
    memset(outer, 0, scorer.n_sums * sizeof(i64))
    for k in range(n):
        at = n - 1 - k if from_right else k
        pass_entry(list[at], layout, outer)
        rows = k + 1
        if rows == n:
            edge = at_zeros
        else:                                    # the bit of the inner one of two neighbours
            edge = list[at if from_right else at + 1] >> top
        if not edge:
            continue
        weight = outer[0] if layout.target.n_numbers else 0
        if not layout.target.n_numbers:
            if layout.weights == NULL:
                weight = rows
            else:
                for c in range(scorer.n_sums):
                    weight += outer[c]
        if hopeless(scorer, weight, best):
            continue
        if not from_right:
            if allowed(scorer, rows, weight):
                offer(scorer, outer, weight, col, rows, scratch + 2 * scorer.n_sums, best)
            continue
        if allowed(scorer, scorer.n_rows - rows, scorer.weight - weight):
            for c in range(scorer.n_sums):
                left[c] = scorer.counts[c] - outer[c]
            offer(scorer, left, scorer.weight - weight, col, scorer.n_rows - rows,
                  scratch + 2 * scorer.n_sums, best)


cdef inline u64 entry_at(ColumnLists lists, i64 col, i64 place) noexcept nogil:
    if lists.wide:
        return (<const u64*> lists.entries)[col * lists.n_rows + place]
    return (<const u32*> lists.entries)[col * lists.n_rows + place]


cdef class ColumnLists:
    """All columns of a problem as sorted lists of entries."""

    def __cinit__(self, Z, TargetRows target, const u8[::1] has_missing=None):
        """`Z`: a matrix; or a tuple of its shape, ptr, rows and values of sparse columns."""
        cdef i64 n_entries
        memset(&self.view, 0, sizeof(self.view))
        if has_missing is not None:
            self.gaps = &has_missing[0]
        self.held = (Z, target, has_missing)
        if isinstance(Z, tuple):
            self.read_sparse(Z)
            n_entries = self.ptr[self.n_cols]
        else:
            self.view = make_view(Z)
            self.n_rows = self.view.n_rows
            self.n_cols = self.view.n_cols
            n_entries = self.n_rows * self.n_cols
        self.target = &target.target
        self.row_bits = bits_for(<u64> max(self.n_rows - 1, 1))
        cdef int class_bits = 0
        if self.target.n_numbers == 0:
            class_bits = bits_for(<u64> max(self.target.n_sums - 1, 1))
        self.wide = self.row_bits + class_bits > 31
        if self.wide:
            self.row_bits = 32
        self.row_mask = ((<u64> 1) << self.row_bits) - 1
        self.class_mask = ((<u64> 1) << class_bits) - 1
        self.layout.row_bits = self.row_bits
        self.layout.row_mask = self.row_mask
        self.layout.class_mask = self.class_mask
        self.layout.weights = self.target.weights
        self.layout.target = self.target
        self.entries = malloc(max(n_entries, 1) * self.entry_size())
        self.side = <u8*> calloc(self.n_rows, 1)
        if self.entries == NULL or self.side == NULL:
            raise MemoryError("no room for the sorted columns")
        if self.sparse:
            self.make_order()

    cdef int read_sparse(self, tuple Z) except -1:
        """Takes sparse columns: each has its rows in ascending order, and no zeros."""
        cdef const i64[::1] ptr = Z[1]
        cdef const i32[::1] rows = Z[2]
        cdef const float[::1] single
        cdef const double[::1] values
        self.sparse = True
        self.n_rows, self.n_cols = Z[0]
        self.ptr = &ptr[0]
        if rows.shape[0]:
            self.sparse_rows = &rows[0]
            self.view.single = Z[3].dtype.itemsize == 4
            if self.view.single:
                single = Z[3]
                self.view.data = <const void*> &single[0]
            else:
                values = Z[3]
                self.view.data = <const void*> &values[0]
        return 0

    cdef int make_order(self) except -1:
        """Makes room for what nodes of sparse columns need, and puts all rows into the root."""
        cdef i64 k
        self.negative = <i64*> malloc(self.n_cols * sizeof(i64))
        self.order = <i32*> malloc(self.n_rows * sizeof(i32))
        self.order_spare = <i32*> malloc(self.n_rows * sizeof(i32))
        self.place = <i32*> malloc(self.n_rows * sizeof(i32))
        self.full = malloc(self.n_rows * self.entry_size())
        if (self.negative == NULL or self.order == NULL or self.order_spare == NULL
                or self.place == NULL or self.full == NULL):
            raise MemoryError("no room for the sorted columns")
        for k in range(self.n_rows):
            self.order[k] = self.place[k] = <i32> k
        return 0

    def __dealloc__(self):
        free(self.entries)
        free(self.side)
        free(self.negative)
        free(self.order)
        free(self.order_spare)
        free(self.place)
        free(self.full)

    cdef void copy_rows(self, i64 col, i64 start, i64 end, i32* rows) noexcept nogil:
        """The numbers of the rows in a column's window."""
        cdef i64 k
        if self.sparse:
            memcpy(rows, self.order + start, (end - start) * sizeof(i32))
            return
        for k in range(start, end):
            rows[k - start] = <i32> (entry_at(self, col, k) & self.row_mask)

    def release(self):
        """Gives back the memory of the lists; nobody may ask for them again."""
        free(self.entries)
        self.entries = NULL

    cpdef int entry_size(self):
        return sizeof(u64) if self.wide else sizeof(u32)

    cdef void mind_signals(self, i64 work) noexcept nogil:
        """Lets Ctrl-C through now and then (on the main thread); work: rows x directions."""
        self.work += work
        if self.work < WORK_BETWEEN_SIGNALS:
            return
        self.work = 0
        with gil:
            try:
                PyErr_CheckSignals()
            except BaseException as error:
                self.stop = True
                self.reason = error

    def presort(self, i64 first, i64 last):
        """Sorts the columns first..last-1. Threads may sort different columns at once."""
        if self.sparse:
            self.presort_sparse(first, last)
            return
        cdef i64 n = self.n_rows
        cdef SortBuffers buffers
        cdef double* values = <double*> malloc(COLUMNS_AT_ONCE * n * sizeof(double))
        cdef u32* order = <u32*> malloc(n * sizeof(u32))
        cdef i64 col, k, group, count
        cdef const i32* classes = NULL if self.target.n_numbers else self.target.rows
        memset(&buffers, 0, sizeof(buffers))
        if values == NULL or order == NULL or not buffers_reserve(&buffers, n):
            free(values)
            free(order)
            buffers_free(&buffers)
            raise MemoryError("no room to sort the columns")
        try:
            group = first
            while group < last and not self.stop:
                count = min(COLUMNS_AT_ONCE, last - group)
                with nogil:
                    for k in range(n):
                        for col in range(count):
                            values[col * n + k] = view_at(&self.view, k, group + col)
                    for col in range(count):
                        if self.gaps != NULL and self.gaps[group + col]:
                            for k in range(n):
                                if isnan(values[col * n + k]):
                                    values[col * n + k] = INFINITY
                        sort_order(values + col * n, order, n, &buffers)
                        if self.wide:
                            fill_entries(<u64*> self.entries + (group + col) * n, order, n,
                                         self.row_bits, 63, classes)
                        else:
                            fill_entries(<u32*> self.entries + (group + col) * n, order, n,
                                         self.row_bits, 31, classes)
                PyErr_CheckSignals()         # lets Ctrl-C through
                group += count
        finally:
            free(values)
            free(order)
            buffers_free(&buffers)

    cdef int presort_sparse(self, i64 first, i64 last) except -1:
        """Sorts the entries of sparse columns."""
        cdef i64 col, k, n, most = 1
        cdef SortBuffers buffers
        cdef double* values
        cdef u32* order
        cdef u64 e
        cdef int top = 63 if self.wide else 31
        for col in range(first, last):
            most = max(most, self.ptr[col + 1] - self.ptr[col])
        values = <double*> malloc(most * sizeof(double))
        order = <u32*> malloc(most * sizeof(u32))
        memset(&buffers, 0, sizeof(buffers))
        if values == NULL or order == NULL or not buffers_reserve(&buffers, most):
            free(values)
            free(order)
            buffers_free(&buffers)
            raise MemoryError("no room to sort the columns")
        with nogil:
            for col in range(first, last):
                n = self.ptr[col + 1] - self.ptr[col]
                self.negative[col] = self.ptr[col]
                if n == 0:
                    continue
                for k in range(n):
                    values[k] = self.stored(self.ptr[col] + k)
                    self.negative[col] += values[k] < 0.0
                    if isnan(values[k]):
                        values[k] = INFINITY
                sort_order(values, order, n, &buffers)
                for k in range(n):
                    e = <u64> self.sparse_rows[self.ptr[col] + (order[k] & 0x7FFFFFFF)]
                    if self.target.n_numbers == 0:
                        e |= (<u64> self.target.rows[e]) << self.row_bits
                    self.put_entry(self.ptr[col] + k, e | (<u64> (order[k] >> 31)) << top)
        free(values)
        free(order)
        buffers_free(&buffers)
        return 0

    cdef void put_entry(self, i64 at, u64 e) noexcept nogil:
        if self.wide:
            (<u64*> self.entries)[at] = e
        else:
            (<u32*> self.entries)[at] = <u32> e

    cdef u64 get_entry(self, i64 at) noexcept nogil:
        return (<u64*> self.entries)[at] if self.wide else (<u32*> self.entries)[at]

    cdef double stored(self, i64 at) noexcept nogil:
        """A value that sparse columns hold."""
        if self.view.single:
            return (<const float*> self.view.data)[at]
        return (<const double*> self.view.data)[at]

    cdef double sparse_value(self, i64 col, i64 row) noexcept nogil:
        """The value of a row in a sparse column that has it."""
        cdef i64 begin = self.ptr[col], end = self.ptr[col + 1], middle
        while begin < end:
            middle = (begin + end) // 2
            if self.sparse_rows[middle] < row:
                begin = middle + 1
            else:
                end = middle
        return self.stored(begin)

    cdef SparseWindow window(self, i64 col, i64 start, i64 end) noexcept nogil:
        """Where the entries of a node stand in the two lists of a column."""
        cdef SparseWindow found
        cdef i64 low = self.ptr[col], zero = self.negative[col], high = self.ptr[col + 1]
        if start == 0 and end == self.n_rows:
            found.low, found.low_end, found.high, found.high_end = low, zero, zero, high
        else:
            found.low = self.first_at(low, zero, start)
            found.low_end = self.first_at(found.low, zero, end)
            found.high = self.first_at(zero, high, start)
            found.high_end = self.first_at(found.high, high, end)
        found.n_low = found.low_end - found.low
        found.n_zeros = end - start - found.n_low - (found.high_end - found.high)
        return found

    cdef i64 first_at(self, i64 begin, i64 end, i64 start) noexcept nogil:
        if self.wide:
            return first_from(<const u64*> self.entries, begin, end, self.place, self.row_mask,
                              start)
        return first_from(<const u32*> self.entries, begin, end, self.place, self.row_mask, start)

    cdef double value_at(self, i64 col, const SparseWindow* window, i64 k) noexcept nogil:
        """The k-th value of a node in ascending order."""
        if k < window.n_low:
            k += window.low
        elif k < window.n_low + window.n_zeros:
            return 0.0
        else:
            k += window.high - window.n_low - window.n_zeros
        return self.sparse_value(col, <i64> (self.get_entry(k) & self.row_mask))

    cdef i64 sparse_missing(self, i64 col, const SparseWindow* window) noexcept nogil:
        """The number of rows in the window that miss the column's value."""
        cdef int top = 63 if self.wide else 31
        cdef i64 k = window.high_end - 1
        if (self.gaps == NULL or not self.gaps[col] or k < window.high
                or not isnan(self.sparse_value(col, <i64> (self.get_entry(k) & self.row_mask)))):
            return 0
        while k > window.high and not self.get_entry(k) >> top:
            k -= 1
        return window.high_end - k

    cdef void scan_sparse(self, i64 col, i64 start, i64 end, const Scorer* scorer, bint exhaustive,
                          i64* scratch, void* spare, Cut* best, bint* constant) noexcept nogil:
        """As `scan`, for a sparse column."""
        cdef SparseWindow window = self.window(col, start, end)
        cdef const Layout* layout = &self.layout
        cdef i64 n_high = window.high_end - window.high
        cdef i64 n_missing = self.sparse_missing(col, &window)
        if window.n_zeros == end - start:
            constant[0] = True
            return
        if n_missing or scorer.code == ABSOLUTE_ERROR or (
                window.n_zeros == 0 and (window.n_low == 0 or n_high == 0)):
            self.write_full(&window, start, end)
            scan_entries(self, self.full, col, end - start, n_missing, scorer, exhaustive, scratch,
                         spare, best, constant)
            return
        constant[0] = False
        if window.n_zeros and layout.weights == NULL and hopeless(
                scorer, max(window.n_low, n_high), best):
            return
        if self.wide:
            scan_side(<const u64*> self.entries + window.low, window.n_low, False, True, layout,
                      scorer, col, scratch, best)
            scan_side(<const u64*> self.entries + window.high, n_high, True, True, layout, scorer,
                      col, scratch, best)
        else:
            scan_side(<const u32*> self.entries + window.low, window.n_low, False, True, layout,
                      scorer, col, scratch, best)
            scan_side(<const u32*> self.entries + window.high, n_high, True, True, layout, scorer,
                      col, scratch, best)

    cdef void write_full(self, const SparseWindow* window, i64 start, i64 end) noexcept nogil:
        """Writes a node's list with its zeros into `full`, as a dense column has it."""
        cdef int top = 63 if self.wide else 31
        cdef u64 bit = (<u64> 1) << top, e
        cdef i64 k, n = 0, row
        for k in range(start, end):
            self.side[self.order[k]] = 0
        for k in range(window.low, window.low_end):
            e = self.get_entry(k)
            self.side[e & self.row_mask] = 1
            self.put_full(n, e)
            n += 1
        for k in range(window.high, window.high_end):
            self.side[self.get_entry(k) & self.row_mask] = 1
        for k in range(start, end):
            row = self.order[k]
            if self.side[row]:
                continue
            e = <u64> row
            if self.target.n_numbers == 0:
                e |= (<u64> self.target.rows[row]) << self.row_bits
            self.put_full(n, e | bit if n == window.n_low else e)
            n += 1
        for k in range(window.high, window.high_end):
            e = self.get_entry(k)
            self.put_full(n, e | bit if k == window.high else e)
            n += 1

    cdef void put_full(self, i64 at, u64 e) noexcept nogil:
        if self.wide:
            (<u64*> self.full)[at] = e
        else:
            (<u32*> self.full)[at] = <u32> e

    cdef void mark_sparse(self, i64 col, i64 start, i64 end, const Cut* cut,
                          i64* left) noexcept nogil:
        """As `mark_sides`, for a sparse column."""
        cdef SparseWindow window = self.window(col, start, end)
        cdef i64 k, at, first = cut.rows_left, last = end - start    # what goes right
        if cut.missing == GO_LEFT:
            last -= self.sparse_missing(col, &window)
            first -= end - start - last
        for k in range(start, end):
            self.side[self.order[k]] = first <= window.n_low
        for k in range(window.low, window.low_end):
            at = k - window.low
            self.side[self.get_entry(k) & self.row_mask] = first <= at and at < last
        for k in range(window.high, window.high_end):
            at = k - window.high + window.n_low + window.n_zeros
            self.side[self.get_entry(k) & self.row_mask] = first <= at and at < last
        self.sum_left(self.order + start, end - start, left)

    cdef void divide_order(self, i64 start, i64 end) noexcept nogil:
        """Divides the rows of a node of sparse columns by the marked sides."""
        cdef i64 k
        self.divide_rows(self.order + start, end - start, self.order_spare)
        for k in range(start, end):
            self.place[self.order[k]] = <i32> k

    cdef void divide_sparse(self, i64 col, i64 start, i64 end, void* scratch) noexcept nogil:
        """As `divide`, for a sparse column, before the order of rows is divided."""
        cdef SparseWindow window = self.window(col, start, end)
        if self.wide:
            divide_list(<u64*> self.entries + window.low, window.n_low, self.side, self.row_mask,
                        <u64*> scratch)
            divide_list(<u64*> self.entries + window.high, window.high_end - window.high,
                        self.side, self.row_mask, <u64*> scratch)
        else:
            divide_list(<u32*> self.entries + window.low, window.n_low, self.side, self.row_mask,
                        <u32*> scratch)
            divide_list(<u32*> self.entries + window.high, window.high_end - window.high,
                        self.side, self.row_mask, <u32*> scratch)

    cdef i64 n_missing(self, i64 col, i64 start, i64 end) noexcept nogil:
        """The number of rows in the window that miss the column's value: those at its end."""
        cdef int top = 63 if self.wide else 31
        cdef i64 k = end - 1
        if (self.gaps == NULL or not self.gaps[col]
                or not isnan(view_at(&self.view, entry_at(self, col, k) & self.row_mask, col))):
            return 0
        while k > start and not entry_at(self, col, k) >> top:
            k -= 1
        return end - k

    cdef void scan(self, i64 col, i64 start, i64 end, const Scorer* scorer, bint exhaustive,
                   i64* scratch, void* spare, Cut* best, bint* constant) noexcept nogil:
        """Offers every legal cut of the column in the window to `best`.

        `scratch`: room for four vectors of sums; `spare`: for the entries of the window, if
        there may be missing values. `exhaustive`: also cuts without gain.
        """
        cdef i64 n_missing = 0
        cdef char* list
        if self.sparse:
            self.scan_sparse(col, start, end, scorer, exhaustive, scratch, spare, best, constant)
            return
        if self.gaps != NULL and self.gaps[col]:
            n_missing = self.n_missing(col, start, end)
        list = <char*> self.entries + (col * self.n_rows + start) * (
            sizeof(u64) if self.wide else sizeof(u32))
        scan_entries(self, list, col, end - start, n_missing, scorer, exhaustive, scratch, spare,
                     best, constant)

    cdef double threshold(self, i64 col, i64 start, i64 end, const Cut* cut) noexcept nogil:
        """The number that separates the values on both sides of a cut; 0 if there is none."""
        cdef i64 place = start + cut.rows_left
        cdef SparseWindow window
        if cut.missing == ALONE_RIGHT:
            return 0.0
        if self.sparse:
            window = self.window(col, start, end)
            place = cut.rows_left
            if cut.missing == GO_LEFT:
                place -= self.sparse_missing(col, &window)
            return midpoint(self.value_at(col, &window, place - 1),
                            self.value_at(col, &window, place))
        if cut.missing == GO_LEFT:
            place -= self.n_missing(col, start, end)
        return midpoint(view_at(&self.view, entry_at(self, col, place - 1) & self.row_mask, col),
                        view_at(&self.view, entry_at(self, col, place) & self.row_mask, col))

    cdef void mark_sides(self, i64 col, i64 start, i64 end, const Cut* cut,
                         i64* left) noexcept nogil:
        """Marks each row of the window as left or right of a cut, and sums up the left ones."""
        cdef i64 k, first = start + cut.rows_left, last = end    # the places that go right
        if self.sparse:
            self.mark_sparse(col, start, end, cut, left)
            return
        if cut.missing == GO_LEFT:
            last -= self.n_missing(col, start, end)
            first -= end - last
        memset(left, 0, self.target.n_sums * sizeof(i64))
        self.mark_left(col, start, first, left)
        for k in range(first, last):
            self.side[entry_at(self, col, k) & self.row_mask] = 1
        self.mark_left(col, last, end, left)

    cdef void mark_left(self, i64 col, i64 first, i64 last, i64* left) noexcept nogil:
        """Marks the rows at some places of a list as left, and sums them up."""
        cdef i64 k
        cdef u64 e
        for k in range(first, last):
            e = entry_at(self, col, k)
            self.side[e & self.row_mask] = 0
            if self.target.n_numbers:
                add_row(self.target, e & self.row_mask, left)
            else:                            # the entry has the class at hand
                left[(e >> self.row_bits) & self.class_mask] += weight_at(self.target,
                                                                          e & self.row_mask)

    def mark(self, const i32[::1] rows, const u8[::1] right):
        """Marks rows as left (0) or right (1) of a split that is not a column's."""
        cdef i64 k
        with nogil:
            for k in range(rows.shape[0]):
                self.side[rows[k]] = right[k]

    def divide_window(self, i32[::1] rows):
        """Divides row numbers by the marked sides; returns the sums of the left ones."""
        cdef i64 n = rows.shape[0]
        cdef i32* spare = <i32*> malloc(n * sizeof(i32))
        if spare == NULL:
            raise MemoryError("no room to divide a node")
        left = np.empty(self.target.n_sums, dtype=np.int64)
        cdef i64[::1] left_ = left
        with nogil:
            self.sum_left(&rows[0], n, &left_[0])
            self.divide_rows(&rows[0], n, spare)
        free(spare)
        return left

    cdef void sum_left(self, const i32* rows, i64 n, i64* left) noexcept nogil:
        """Sums up the rows that are marked as left."""
        cdef i64 k
        memset(left, 0, self.target.n_sums * sizeof(i64))
        for k in range(n):
            if not self.side[rows[k]]:
                add_row(self.target, rows[k], left)

    cdef void divide_rows(self, i32* rows, i64 n, i32* scratch) noexcept nogil:
        """Divides a window of row numbers by the marked sides; both keep their order."""
        cdef i64 k, n_left = 0, n_right = 0
        cdef i32 row
        for k in range(n):
            row = rows[k]
            rows[n_left] = row
            scratch[n_right] = row
            n_left += 1 - self.side[row]
            n_right += self.side[row]
        memcpy(rows + n_left, scratch, n_right * sizeof(i32))

    cdef void divide(self, i64 col, i64 start, i64 end, void* scratch) noexcept nogil:
        """Divides a column's window by the marked sides, keeping the order of values."""
        if self.sparse:
            self.divide_sparse(col, start, end, scratch)
            return
        if self.wide:
            divide_list(<u64*> self.entries + col * self.n_rows + start, end - start, self.side,
                        self.row_mask, <u64*> scratch)
        else:
            divide_list(<u32*> self.entries + col * self.n_rows + start, end - start, self.side,
                        self.row_mask, <u32*> scratch)


cdef inline void scan_entries(ColumnLists lists, const void* list, i64 col, i64 n, i64 n_missing,
                              const Scorer* scorer, bint exhaustive, i64* scratch, void* spare,
                              Cut* best, bint* constant) noexcept nogil:
    """Offers the cuts of a list with an entry for each row of a node."""
    cdef const Layout* layout = &lists.layout
    if lists.wide:
        scan_list(<const u64*> list, n, layout, scorer, exhaustive, col, scratch, best, constant)
        if n_missing and not constant[0]:
            scan_missing_left(<const u64*> list, n, n_missing, layout, scorer, exhaustive, col,
                              scratch, <u64*> spare, best)
    else:
        scan_list(<const u32*> list, n, layout, scorer, exhaustive, col, scratch, best, constant)
        if n_missing and not constant[0]:
            scan_missing_left(<const u32*> list, n, n_missing, layout, scorer, exhaustive, col,
                              scratch, <u32*> spare, best)
    if n_missing and best.direction == col and best.missing != GO_LEFT:
        best.missing = GO_RIGHT
        if best.rows_left == n - n_missing:
            best.missing = ALONE_RIGHT


cdef void scan_list(const entry* list, i64 n, const Layout* layout, const Scorer* scorer,
                    bint exhaustive, i64 col, i64* scratch, Cut* best,
                    bint* constant) noexcept nogil:
    """Chooses the cheapest scan that is exact for this criterion."""
    cdef int top = 8 * sizeof(entry) - 1
    cdef i64 k
    cdef bint plain, skip_runs
    constant[0] = True
    for k in range(1, n):
        if list[k] >> top:
            constant[0] = False
            break
    if constant[0]:
        return
    if scorer.code == ABSOLUTE_ERROR:
        scan_rows(list, n, layout, scorer, col, best)
        return
    if of_numbers(scorer.code):
        if layout.target.n_numbers == 1 and scorer.code == SQUARED_ERROR:
            scan_one_number(list, n, layout, scorer, col, best)
        else:
            scan_numbers(list, n, layout, scorer, col, scratch, best)
        return
    plain = not exhaustive and is_narrow(scorer.weight)
    if plain and scorer.n_sums == 2 and (scorer.code == GINI or scorer.code == TWOING):
        scan_two_classes(list, n, layout, scorer, col, best)
        return
    if plain and scorer.code == GINI and layout.weights == NULL:
        scan_gini(list, n, layout, scorer, col, scratch, best)
        return
    # With a smallest side, the ends of a run may be forbidden and its inside allowed.
    skip_runs = (not exhaustive and is_convex(scorer.code) and scorer.min_rows <= 1
                 and scorer.min_weight <= 1)
    if n >= MANY_ROWS and is_convex(scorer.code) and not exhaustive:
        scan_blocks(list, n, max(<i64> BLOCK, <i64> scorer.n_sums), layout, scorer, skip_runs,
                    col, scratch, best)
        return
    memset(scratch, 0, scorer.n_sums * sizeof(i64))
    scan_range(list, n, 0, n, layout, scorer, skip_runs, col, 0, scratch,
               scratch + scorer.n_sums, best)


cdef void scan_missing_left(const entry* list, i64 n, i64 n_missing, const Layout* layout,
                            const Scorer* scorer, bint exhaustive, i64 col, i64* scratch,
                            entry* spare, Cut* best) noexcept nogil:
    """Offers the cuts with missing values on the left, but for that between them and values."""
    cdef entry bit = <entry> ((<u64> 1) << (8 * sizeof(entry) - 1))
    cdef Cut other = best[0]
    cdef bint constant
    memcpy(spare, list + n - n_missing, n_missing * sizeof(entry))
    memcpy(spare + n_missing, list, (n - n_missing) * sizeof(entry))
    spare[n_missing] &= ~bit
    scan_list(spare, n, layout, scorer, exhaustive, col, scratch, &other, &constant)
    # Of equals in one column, missing values on the right win.
    if other.score > best.score or other.direction != best.direction:
        best[0] = other
        best.missing = GO_LEFT
