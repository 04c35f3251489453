"""Trees of a forest: grown from samples of the rows, one tree a call, without the GIL."""

from libc.math cimport exp, frexp, isfinite, ldexp
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.rng cimport mix
from obliqua._core.base.sort cimport SortBuffers, buffers_free, buffers_reserve, sort_order
from obliqua._core.base.types cimport View, i32, i64, make_view, u8, u32, u64

cdef extern from "trees.h" nogil:
    enum:
        OB_SQUARES
        LANES "OB_LANES"

    ctypedef struct ob_forest:
        i64 n, p
        const i32* rank
        const i32* n_values
        const i64* ptr
        const i32* entry_row
        const i32* entry_rank
        const float* entry_x
        const double* entry_value
        const i32* zero_rank
        const float* zero_x
        const i64* row_ptr
        const i32* row_column
        const float* x
        const void* z
        i64 row_stride, col_stride
        i32 single
        const i64* source
        const double* stand_in
        const i32* exponent
        const i64* level_ptr
        const u8* has_missing
        const i32* y
        const double* number
        i32 n_classes, n_outputs
        i32 criterion
        i64 n_axis, n_oblique, most_terms, direction_rows
        double rows_per_term, ridge, price
        i64 max_depth, min_split, min_leaf, max_leaves
        double min_leaf_share, min_decrease

    ctypedef struct ob_node:
        i64 begin, end
        double decrease
        i32 depth, split, left

    ctypedef struct ob_member:
        double w, number
        i32 row, y, times

    ctypedef struct ob_split:
        double threshold
        i64 first_term
        i32 n_terms, missing

    ctypedef struct ob_term:
        double coef, spread
        i32 column

    ctypedef struct ob_best:
        i32* term_column
        float* term_coef

    ctypedef struct ob_grower:
        const ob_forest* f
        ob_node* nodes
        ob_split* splits
        ob_term* terms
        i32* open
        i64 n_nodes, n_splits, n_terms
        ob_member* rows
        i64 n
        ob_member* aside
        double* cells
        double* values
        i32* sample
        u64* keys
        u64* spare
        float* along
        u32* grid
        u8* goes_right
        i32* place
        i32* found
        i64* entry
        i32* sample_place
        float* term
        double* zeros
        i64* stamp
        i64 stamp_here, n_stamps
        double* sums
        double* left_sums
        double* right_sums
        double* mean
        i32* columns
        i32* swaps
        i32* others
        i32* other_swaps
        i32* drawn
        float* coefs
        ob_best best
        double* scatter
        double* moment
        double* size
        double* buffer
        i32 failed, depth
        i64 (*ask)(void* asked, i64 begin, i64 n, i64 k, u64 key) noexcept nogil
        void* asked

    int ob_grow_tree(ob_grower* g, u64 key)
    void ob_read_column(ob_grower* g, i64 begin, i64 n, i64 column, double* values)

cdef double MOST_AT_ONCE = 16.0      # larger means are drawn in pieces


# --- samples ----------------------------------------------------------------------------------

cdef inline i64 poisson(double u, double mean, double none) noexcept nogil:
    """The smallest k whose cumulative probability is above u; that of 0 is `none`.

    What is added up may stay below a u next to 1, hence it ends where terms no longer count.
    """
    cdef double term = none, below = none
    cdef i64 k = 0
    while u >= below:
        k += 1
        term *= mean / <double> k
        if <double> k > mean and below + term == below:
            break
        below += term
    return k


cdef inline double uniform(u64 bits) noexcept nogil:
    return (<double> (bits >> 11)) * (1.0 / 9007199254740992.0)


def draw_counts(const u64[::1] keys, const i64[::1] pieces, const double[::1] means, u64 key,
                double[::1] counts, i32[::1] times, u8[::1] drawn, bint never_none=True):
    """How often each row is drawn, and how many of its pieces are.

    A row has `pieces`, each of which is drawn as often as a number with a Poisson distribution
    says, whose mean is that of the row. It depends on the row's key and the number of the piece.
    If nothing is drawn at all, and that must not be, the piece that was nearest to it is. `drawn`
    says of each piece whether it is, if it has room for that.
    """
    cdef i64 i, piece, found, part, n_parts, number = 0, at = 0, at_piece = 0
    cdef double u, mean = 0.0, none = 1.0, nearest = -1.0, total = 0.0
    cdef bint noted = drawn.shape[0] > 0
    cdef u64 own
    with nogil:
        for i in range(keys.shape[0]):
            counts[i] = 0
            times[i] = 0
            n_parts = 1 + <i64> (means[i] / MOST_AT_ONCE)
            if means[i] / <double> n_parts != mean:      # most rows weigh the same
                mean = means[i] / <double> n_parts
                none = exp(-mean)
            for piece in range(pieces[i]):
                own = mix(mix(key, keys[i]), <u64> piece)
                found = 0
                for part in range(n_parts):
                    u = uniform(own if part == 0 else mix(own, <u64> part))
                    found += poisson(u, mean, none)
                    if u > nearest:
                        nearest, at, at_piece = u, i, number
                counts[i] += <double> found
                times[i] += found > 0
                if noted:
                    drawn[number] = found > 0
                number += 1
            total += counts[i]
        if total == 0.0 and never_none:
            counts[at] = times[at] = 1
            if noted:
                drawn[at_piece] = 1


def draw_share(const u64[::1] keys, const i64[::1] pieces, double share, u64 key,
               i32[::1] times, u8[::1] drawn, bint never_none=True):
    """How many pieces of each row are drawn, each once or not at all; see `draw_counts`."""
    cdef i64 i, piece, number = 0, at = 0, at_piece = 0, total = 0
    cdef double u, nearest = 2.0
    cdef bint noted = drawn.shape[0] > 0
    with nogil:
        for i in range(keys.shape[0]):
            times[i] = 0
            for piece in range(pieces[i]):
                u = uniform(mix(mix(key, keys[i]), <u64> piece))
                times[i] += u < share
                if u < nearest:
                    nearest, at, at_piece = u, i, number
                if noted:
                    drawn[number] = u < share
                number += 1
            total += times[i]
        if total == 0 and never_none:
            times[at] = 1
            if noted:
                drawn[at_piece] = 1


def sum_levels(const i32[:, ::1] rank, const i64[::1] columns, const i64[::1] level_ptr,
               const double[::1] weights, const i32[::1] times, const double[::1] off,
               double[:, ::1] sums):
    """By level of some columns: weight of rows, as how many they count, and the sum of `off`."""
    cdef i64 i, k, level
    with nogil:
        for i in range(times.shape[0]):
            if times[i] == 0:
                continue
            for k in range(columns.shape[0]):
                level = level_ptr[columns[k]] + rank[i, columns[k]]
                sums[level, 0] += weights[i]
                sums[level, 1] += times[i]
                sums[level, 2] += weights[i] * off[i]


# --- sparse columns ---------------------------------------------------------------------------


def rank_entries(tuple shape, const i64[::1] ptr, const i32[::1] rows, values,
                 const double[::1] stand_in):
    """The entries of sparse columns as `ForestRows` has those of dense ones.

    Returned are, by entry, the place of its value, the value as a float about a middle one, and as
    a double; by column the place of 0 and its float, how many values there are, and the exponent.
    """
    cdef i64 n = shape[0], p = shape[1], j, k, m, count, place, n_there, n_zeros, most = 1
    cdef i64 below, half, middle
    cdef int far = 0, near = 0
    cdef double value, centre, off, largest, zero_off
    cdef SortBuffers buffers
    for j in range(p):
        most = max(most, ptr[j + 1] - ptr[j])
    value_ = np.ascontiguousarray(values, dtype=np.float64)
    cdef const double[::1] z = value_
    rank, x = np.empty(rows.shape[0], dtype=np.int32), np.empty(rows.shape[0], dtype=np.float32)
    zero_rank, n_values, exponent = np.zeros((3, p), dtype=np.int32)
    zero_x = np.zeros(p, dtype=np.float32)
    cdef i32[::1] rank_ = rank, zero_rank_ = zero_rank, n_values_ = n_values, exponent_ = exponent
    cdef float[::1] x_ = x, zero_x_ = zero_x
    cdef double[::1] there = np.empty(most), distinct = np.empty(most + 1)
    cdef i64[::1] which = np.empty(most, dtype=np.int64)
    cdef i64[::1] sizes = np.empty(most + 1, dtype=np.int64)
    cdef u32[::1] order = np.empty(most, dtype=np.uint32)
    memset(&buffers, 0, sizeof(buffers))
    if not buffers_reserve(&buffers, most):
        raise MemoryError("no room to sort the columns")
    with nogil:
        for j in range(p):
            n_there = 0
            for k in range(ptr[j], ptr[j + 1]):
                rank_[k] = -1
                x_[k] = 0.0
                if z[k] == z[k]:
                    there[n_there] = z[k]
                    which[n_there] = k
                    n_there += 1
            n_zeros = n - (ptr[j + 1] - ptr[j])
            if n_there + n_zeros == 0:
                continue                     # all are missing
            if n_there:
                sort_order(&there[0], &order[0], n_there, &buffers)
            count = 0                        # of different values, 0 among them if it is there
            place = -1                       # of 0
            for k in range(n_there):
                m = order[k] & 0x7FFFFFFF
                value = there[m]
                if n_zeros and place < 0 and value > 0.0:
                    place = count
                    distinct[count], sizes[count] = 0.0, n_zeros
                    count += 1
                if count == 0 or distinct[count - 1] != value:
                    distinct[count], sizes[count] = value, 0
                    count += 1
                sizes[count - 1] += 1
                rank_[which[m]] = <i32> (count - 1)
            if n_zeros and place < 0:
                place = count
                distinct[count], sizes[count] = 0.0, n_zeros
                count += 1
            n_values_[j] = <i32> count
            zero_rank_[j] = <i32> max(place, <i64> 0)
            half = (n_there + n_zeros + 1) // 2
            middle, below = 0, sizes[0]
            while below < half:
                middle += 1
                below += sizes[middle]
            frexp(max(abs(distinct[0]), abs(distinct[count - 1])), &far)
            centre = ldexp(distinct[middle], -far)
            zero_off = 0.0 - centre
            largest = abs(zero_off) if n_zeros else 0.0
            for k in range(ptr[j], ptr[j + 1]):
                off = ldexp(z[k] if z[k] == z[k] else stand_in[j], -far) - centre
                largest = max(largest, abs(off))
            frexp(largest, &near)
            zero_x_[j] = <float> ldexp(zero_off, -near)
            for k in range(ptr[j], ptr[j + 1]):
                off = ldexp(z[k] if z[k] == z[k] else stand_in[j], -far) - centre
                x_[k] = <float> ldexp(off, -near)
            exponent_[j] = far + near
    buffers_free(&buffers)
    return rank, x, value_, zero_rank, zero_x, n_values, exponent


# --- growing ----------------------------------------------------------------------------------

cdef class ForestData:
    """What all trees of a forest share: rows, columns and rules. Holds on to the arrays."""

    cdef ob_forest f
    cdef object held
    cdef readonly bint numbers

    def __cinit__(self, columns, target, rules):
        cdef const i32[::1] n_values = columns.n_values
        cdef const double[::1] stand_in = columns.stand_in
        cdef const i64[::1] source = columns.source
        cdef const i64[::1] level_ptr = columns.level_ptr
        cdef const i32[::1] exponent = columns.exponent
        cdef const u8[::1] has_missing = columns.has_missing
        cdef const i32[::1] y
        cdef const double[:, ::1] number
        memset(&self.f, 0, sizeof(ob_forest))
        self.held = (columns, target)
        self.f.n, self.f.p = source.shape[0], n_values.shape[0]
        self.f.n_values, self.f.source = &n_values[0], &source[0]
        if columns.entries is None:
            self.read_dense(columns)
        else:
            self.read_sparse(columns.entries)
        self.f.stand_in, self.f.exponent = &stand_in[0], &exponent[0]
        self.f.level_ptr, self.f.has_missing = &level_ptr[0], &has_missing[0]
        self.f.criterion = rules["criterion"]
        self.numbers = self.f.criterion == OB_SQUARES
        if self.numbers:
            number = target
            self.f.number, self.f.n_outputs = &number[0, 0], <i32> number.shape[1]
        else:
            y = target
            self.f.y, self.f.n_classes = &y[0], rules["n_classes"]
        self.f.n_axis, self.f.n_oblique = rules["n_axis"], rules["n_oblique"]
        self.f.most_terms, self.f.direction_rows = rules["most_terms"], rules["direction_rows"]
        self.f.rows_per_term, self.f.ridge = rules["rows_per_term"], rules["ridge"]
        self.f.price = rules["price"]
        self.f.max_depth, self.f.min_split = rules["max_depth"], rules["min_split"]
        self.f.min_leaf, self.f.max_leaves = rules["min_leaf"], rules["max_leaves"]
        self.f.min_leaf_share = rules["min_leaf_share"]
        self.f.min_decrease = rules["min_decrease"]

    cdef int read_dense(self, columns) except -1:
        cdef const i32[:, ::1] rank = columns.rank
        cdef const float[:, ::1] x = columns.x
        cdef View view = make_view(columns.Z)
        self.f.rank, self.f.x = &rank[0, 0], &x[0, 0]
        self.f.z, self.f.single = view.data, view.single
        self.f.row_stride, self.f.col_stride = view.row_stride, view.col_stride
        return 0

    cdef int read_sparse(self, entries) except -1:
        cdef const i64[::1] ptr = entries.ptr
        cdef const i32[::1] row = entries.row, rank = entries.rank, zero_rank = entries.zero_rank
        cdef const float[::1] x = entries.x, zero_x = entries.zero_x
        cdef const double[::1] value = entries.value
        cdef const i64[::1] row_ptr = entries.row_ptr
        cdef const i32[::1] row_column = entries.row_column
        self.f.ptr, self.f.zero_rank, self.f.zero_x = &ptr[0], &zero_rank[0], &zero_x[0]
        self.f.row_ptr = &row_ptr[0]
        if row.shape[0]:
            self.f.entry_row, self.f.entry_rank = &row[0], &rank[0]
            self.f.entry_x, self.f.entry_value = &x[0], &value[0]
            self.f.row_column = &row_column[0]
        return 0


cdef i64 ask_grower(void* asked, i64 begin, i64 n, i64 k, u64 key) noexcept with gil:
    return (<TreeGrower> asked).ask(begin, n, k, key)


cdef class TreeGrower:
    """Grows trees, one after another, with memory of its own: one for each thread.

    `directions`: who is asked for a normal in the place of fitting one, with the values of a
    node's rows in a few columns, what is learnt, their weights, the node's depth, and a key for
    random numbers.
    """

    cdef ob_grower g
    cdef ob_forest f                 # as it is for one tree: levels have numbers
    cdef ForestData data
    cdef i32* own_rank               # of levels, by these numbers; or NULL
    cdef float* own_x
    cdef list memory
    cdef object directions
    cdef object error                # that it has raised

    def __cinit__(self, ForestData data, directions=None):
        cdef i64 n = data.f.n, p = data.f.p, k = max(data.f.most_terms, 1), i
        cdef i64 m = max(<i64> data.f.n_outputs, 1), C = max(<i64> data.f.n_classes, m)
        cdef i64 size = data.f.direction_rows
        memset(&self.g, 0, sizeof(ob_grower))
        self.data = data
        self.f = data.f
        self.g.f = &self.f
        self.memory = []
        self.directions = directions
        if directions is not None:
            self.g.ask, self.g.asked = &ask_grower, <void*> self
        self.g.rows = <ob_member*> self.room(sizeof(ob_member), n)
        self.g.aside = <ob_member*> self.room(sizeof(ob_member), n)
        self.g.values, self.g.sample = <double*> self.room(8, n), <i32*> self.room(4, size + LANES)
        self.g.keys, self.g.spare = <u64*> self.room(8, n), <u64*> self.room(8, n)
        self.g.cells = <double*> self.g.aside
        self.g.along, self.g.grid = <float*> self.room(4, n), <u32*> self.room(4, n)
        self.g.goes_right = <u8*> self.room(1, n)
        if data.f.ptr != NULL:
            self.make_sparse_room(n, C)
        self.g.sums, self.g.mean = <double*> self.room(8, C), <double*> self.room(8, C)
        self.g.left_sums, self.g.right_sums = <double*> self.room(8, C), <double*> self.room(8, C)
        self.g.columns, self.g.swaps = <i32*> self.room(4, p), <i32*> self.room(4, p)
        self.g.others, self.g.other_swaps = <i32*> self.room(4, p), <i32*> self.room(4, p)
        self.g.drawn = <i32*> self.room(4, k)
        self.g.coefs = <float*> self.room(4, k)
        self.g.scatter = <double*> self.room(8, k * k)
        self.g.moment, self.g.size = <double*> self.room(8, k), <double*> self.room(8, k)
        self.g.buffer = <double*> self.room(8, (size + LANES) * (k + 3))
        self.g.best.term_column = <i32*> self.room(4, k)
        self.g.best.term_coef = <float*> self.room(4, k)
        for i in range(p):
            self.g.columns[i] = self.g.others[i] = <i32> i
        if data.f.level_ptr[p] > 0:
            self.own_rank = <i32*> self.room(4, n * p)
            self.own_x = <float*> self.room(4, n * p)
            memcpy(self.own_rank, data.f.rank, n * p * sizeof(i32))
            memcpy(self.own_x, data.f.x, n * p * sizeof(float))
            self.f.rank, self.f.x = self.own_rank, self.own_x

    cdef int make_sparse_room(self, i64 n, i64 C) except -1:
        """Makes room for what nodes of sparse columns need."""
        self.g.place, self.g.found = <i32*> self.room(4, n), <i32*> self.room(4, n)
        self.g.entry, self.g.term = <i64*> self.room(8, n), <float*> self.room(4, n)
        self.g.sample_place = <i32*> self.room(4, n)
        self.g.zeros = <double*> self.room(8, C + 2)
        self.g.stamp = <i64*> self.room(8, self.f.p)
        memset(self.g.stamp, 0, self.f.p * sizeof(i64))
        memset(self.g.place, 0, n * sizeof(i32))
        memset(self.g.sample_place, 0, n * sizeof(i32))
        return 0

    cdef void number_levels(self, const i32* times, const double* numbers,
                            const i32* places) noexcept nogil:
        """Gives levels their numbers, for the tree that comes, where its rows have them."""
        cdef i64 i, j, at, p = self.f.p
        for i in range(self.f.n):
            if times[i] == 0:
                continue
            for j in range(p):
                if self.f.level_ptr[j] < self.f.level_ptr[j + 1]:
                    at = self.f.level_ptr[j] + self.data.f.rank[i * p + j]
                    self.own_rank[i * p + j] = places[at]
                    self.own_x[i * p + j] = <float> numbers[at]

    cdef i64 ask(self, i64 begin, i64 n, i64 k, u64 key) noexcept:
        """Asks for a direction of the drawn columns; 0 if there is none, or an error."""
        try:
            return self.take(self.directions(*self.seen(begin, n, k), self.g.depth, key), k)
        except BaseException as error:           # raised when the compiled code has ended
            self.error = error
            self.g.failed = 1
        return 0

    cdef tuple seen(self, i64 begin, i64 n, i64 k):
        """What is told of a node's rows: values, what is learnt, weights."""
        cdef i64 i, a, m = self.f.n_outputs
        X, weights = np.empty((k, n)), np.empty(n)
        y = np.empty((n, m)) if self.data.numbers else np.empty(n, dtype=np.int32)
        cdef double[:, ::1] X_ = X, number_
        cdef double[::1] weights_ = weights
        cdef i32[::1] y_
        if self.data.numbers:
            number_ = y
        else:
            y_ = y
        for a in range(k):
            ob_read_column(&self.g, begin, n, self.g.drawn[a], &X_[a, 0])
        for i in range(n):
            weights_[i] = self.g.rows[begin + i].w
            if self.data.numbers:
                for a in range(m):
                    number_[i, a] = self.number_of(begin + i, a)
            else:
                y_[i] = self.g.rows[begin + i].y
        return np.ascontiguousarray(X.T), y, weights

    cdef i64 take(self, normal, i64 k) except -1:
        """Takes a normal in the units of the columns; returns its number of terms."""
        if normal is None:
            return 0
        cdef const double[::1] normal_ = normal
        cdef i64 a, kept = 0
        cdef int exponent
        cdef double coef, longest = 0.0
        for a in range(k):
            coef = abs(ldexp(normal_[a], self.f.exponent[self.g.drawn[a]]))
            if not isfinite(coef):
                return 0
            longest = max(longest, coef)
        frexp(longest, &exponent)
        for a in range(k):
            coef = <float> ldexp(normal_[a], self.f.exponent[self.g.drawn[a]] - exponent)
            if coef != 0.0:
                self.g.drawn[kept] = self.g.drawn[a]
                self.g.coefs[kept] = <float> coef
                kept += 1
        return kept

    cdef void* room(self, i64 size, i64 n) except NULL:
        """Memory that lives as long as this object."""
        array = np.empty(max(size * n, 8), dtype=np.uint8)
        cdef u8[::1] view = array
        self.memory.append(array)
        return &view[0]

    def __dealloc__(self):
        free(self.g.nodes)
        free(self.g.splits)
        free(self.g.terms)
        free(self.g.open)

    def grow(self, const double[::1] weights, const i32[::1] times, u64 key,
             const double[::1] numbers, const i32[::1] places):
        """Grow the tree of the rows that count at least once; a dict of arrays, in level order.

        `numbers` of the levels of all qualitative columns, and their places in each of them.
        """
        cdef i64 i, n = 0
        cdef int grown
        with nogil:
            if numbers.shape[0]:
                self.number_levels(&times[0], &numbers[0], &places[0])
            for i in range(times.shape[0]):
                if times[i] > 0:
                    self.g.rows[n].row = <i32> i
                    self.g.rows[n].times = times[i]
                    self.g.rows[n].w = weights[i]
                    n += 1
            self.g.n = n
            grown = ob_grow_tree(&self.g, key)
        if self.error is not None:
            raise self.error
        if not grown:
            raise MemoryError("no room to grow a tree of a forest")
        return self.packed()

    cdef object packed(self):
        """The nodes in level order."""
        cdef i64 n_nodes = self.g.n_nodes, k, n_inner, taken = 1, at = 0
        order = np.empty(n_nodes, dtype=np.int32)
        cdef i32[::1] order_ = order
        order_[0] = 0
        while at < taken:
            k = self.g.nodes[order_[at]].left
            if k >= 0:
                order_[taken] = <i32> k
                order_[taken + 1] = <i32> (k + 1)
                taken += 2
            at += 1
        n_inner = (n_nodes - 1) // 2
        found = self.pack_nodes(order, n_nodes, n_inner)
        found.update(self.pack_leaves(order, n_nodes, n_inner + 1))
        return found

    cdef dict pack_nodes(self, const i32[::1] order, i64 n_nodes, i64 n_inner):
        """Splits: along a column, or as terms of a plane."""
        cdef i64 at, t, n_planes = 0, n_terms = 0, next_child = 1, n_leaves = 0
        cdef ob_split* split
        cdef ob_term* term
        child, column = np.empty((2, n_nodes), dtype=np.int32)
        threshold = np.zeros(n_nodes)
        cdef i32[::1] child_ = child, column_ = column
        cdef double[::1] threshold_ = threshold
        for at in range(n_nodes):
            if self.g.nodes[order[at]].left >= 0:
                split = &self.g.splits[self.g.nodes[order[at]].split]
                if not self.is_plain(split):
                    n_planes += 1
                    n_terms += split.n_terms
        term_count = np.empty(n_planes, dtype=np.int32)
        side = np.empty(n_planes, dtype=np.uint8)
        term_column = np.empty(n_terms, dtype=np.int32)
        coef, spread = np.empty((2, n_terms))
        cdef i32[::1] term_count_ = term_count, term_column_ = term_column
        cdef u8[::1] side_ = side
        cdef double[::1] coef_ = coef, spread_ = spread
        n_planes = n_terms = 0
        for at in range(n_nodes):
            if self.g.nodes[order[at]].left < 0:
                n_leaves += 1
                child_[at] = <i32> -n_leaves
                column_[at] = 0
                continue
            child_[at] = <i32> next_child
            next_child += 2
            split = &self.g.splits[self.g.nodes[order[at]].split]
            threshold_[at] = split.threshold
            if self.is_plain(split):
                column_[at] = self.g.terms[split.first_term].column
                continue
            column_[at] = <i32> (-1 - n_planes)
            term_count_[n_planes] = split.n_terms
            side_[n_planes] = <u8> split.missing
            n_planes += 1
            for t in range(split.n_terms):
                term = &self.g.terms[split.first_term + t]
                term_column_[n_terms], coef_[n_terms] = term.column, term.coef
                spread_[n_terms] = term.spread
                n_terms += 1
        return {
            "child": child, "column": column, "threshold": threshold,
            "term_count": term_count, "missing_side": side, "term_column": term_column,
            "coef": coef, "spread": spread,
        }

    cdef bint is_plain(self, const ob_split* split) noexcept nogil:
        """Whether a split compares one column with the threshold, and no more is to be said."""
        cdef const ob_term* term = &self.g.terms[split.first_term]
        return split.n_terms == 1 and term.coef == 1.0 and split.missing == 0

    cdef double number_of(self, i64 at, i64 output) noexcept nogil:
        return self.data.f.number[<i64> self.g.rows[at].row * self.data.f.n_outputs + output]

    cdef dict pack_leaves(self, const i32[::1] order, i64 n_nodes, i64 n_leaves):
        """What the rows of leaves add up to."""
        cdef i64 at, i, o, leaf = 0, n_entries = 0, begin, end
        cdef i32 c, C = self.data.f.n_classes, m = self.data.f.n_outputs
        cdef double weight, off, start
        rows = np.empty(n_leaves, dtype=np.int32)
        weights = np.empty(n_leaves)
        cdef i32[::1] rows_ = rows
        cdef double[::1] weights_ = weights
        cdef double* sums = self.g.sums
        means, rests = np.empty((n_leaves, max(m, 1))), np.empty(n_leaves)
        cdef double[:, ::1] means_ = means
        cdef double[::1] rests_ = rests
        entry_count = np.empty(n_leaves, dtype=np.int32)
        # A leaf has at most as many classes as rows.
        entry_class = np.empty(self.g.n, dtype=np.int32)
        entry_weight = np.empty(self.g.n)
        cdef i32[::1] count_ = entry_count, class_ = entry_class
        cdef double[::1] share_ = entry_weight
        for at in range(n_nodes):
            if self.g.nodes[order[at]].left >= 0:
                continue
            begin, end = self.g.nodes[order[at]].begin, self.g.nodes[order[at]].end
            rows_[leaf] = 0
            weight = 0.0
            for i in range(begin, end):
                rows_[leaf] += self.g.rows[i].times
                weight += self.g.rows[i].w
            weights_[leaf] = weight
            if self.data.numbers:
                rests_[leaf] = 0.0
                for o in range(m):
                    means_[leaf, o] = 0.0
                    start = self.number_of(begin, o)
                    for i in range(begin, end):
                        means_[leaf, o] += self.g.rows[i].w * (self.number_of(i, o) - start)
                    means_[leaf, o] = start + means_[leaf, o] / weight
                    for i in range(begin, end):
                        off = self.number_of(i, o) - means_[leaf, o]
                        rests_[leaf] += self.g.rows[i].w * off * off
            else:
                memset(sums, 0, C * sizeof(double))
                for i in range(begin, end):
                    sums[self.g.rows[i].y] += self.g.rows[i].w
                count_[leaf] = 0
                weights_[leaf] = 0.0         # of its classes, as `PackedTrees` adds them up too
                for c in range(C):
                    if sums[c] > 0.0:
                        weights_[leaf] += sums[c]
                        class_[n_entries] = c
                        share_[n_entries] = sums[c]
                        n_entries += 1
                        count_[leaf] += 1
            leaf += 1
        found = {"leaf_rows": rows, "leaf_weight": weights}
        if self.data.numbers:
            found.update(leaf_mean=means, leaf_rest=rests)
        else:
            found.update(entry_count=entry_count, entry_class=entry_class[:n_entries].copy(),
                         entry_weight=entry_weight[:n_entries].copy())
        return found
