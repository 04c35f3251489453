"""Walking rows down a tree: from the root to a leaf, for every kind of node."""

from libc.math cimport NAN, isnan
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np
import threading

from obliqua._core.base.types cimport View, i32, i64, make_view, real, u8, u32, u64, view_at

cdef enum:
    HYPERPLANE = 1
    LEVELS = 2
    MACHINE = 3

cdef enum:
    NO_FEATURE = -1          # a leaf
    SLOW_NODE = -2           # levels, a machine, or a hyperplane over level tables

cdef enum:
    TOGETHER = 8             # rows walked side by side

cdef i64 ROWS_PER_THREAD = 8192
cdef double SMALL = 2.0 ** -200


cdef struct Step:
    # What the fast walk needs of a node, in one place.
    double threshold
    i32 first_child          # -1: a leaf
    i32 feature              # >= 0: this column against the threshold
    u32 begin                # else the coefficients begin .. begin + n_coef - 1
    i32 n_coef               # 0 with feature -2: see SLOW_NODE


cdef class Walker:
    """The arrays of a Tree, packed for walking. `apply` gives the leaf of each row."""

    cdef Step* steps
    cdef const u8[::1] kind
    cdef const i32[::1] n_children
    cdef const i32[::1] plane_ptr
    cdef const i64[::1] coef_ptr
    cdef const i32[::1] coef_idx
    cdef const double[::1] coef
    cdef const double[::1] fill
    cdef const i64[::1] table_ptr
    cdef const double[::1] table
    cdef const double[::1] threshold
    cdef const u8[::1] missing_side
    cdef readonly i64 n_features

    def __cinit__(self, tree):
        cdef i64 node, plane, k
        cdef i64 n_nodes = tree.kind.shape[0]
        cdef const i32[::1] first_child = tree.first_child
        cdef bint tables
        self.kind, self.n_children = tree.kind, tree.n_children
        self.plane_ptr, self.coef_ptr = tree.plane_ptr, tree.coef_ptr
        self.coef_idx, self.coef, self.fill = tree.coef_idx, tree.coef, tree.fill
        self.table_ptr, self.table = tree.table_ptr, tree.table
        self.threshold, self.missing_side = tree.threshold, tree.missing_side
        self.n_features = tree.n_features
        self.steps = <Step*> malloc(n_nodes * sizeof(Step))
        if self.steps == NULL:
            raise MemoryError
        for node in range(n_nodes):
            self.steps[node].first_child = first_child[node]
            self.steps[node].feature = NO_FEATURE
            self.steps[node].n_coef = 0
            self.steps[node].begin = 0
            self.steps[node].threshold = 0.0
            if first_child[node] < 0:
                continue
            self.steps[node].feature = SLOW_NODE
            plane = self.plane_ptr[node]
            if self.kind[node] != HYPERPLANE:
                continue
            tables = False
            for k in range(self.coef_ptr[plane], self.coef_ptr[plane + 1]):
                if self.table_ptr[k + 1] > self.table_ptr[k]:
                    tables = True
            self.steps[node].threshold = self.threshold[plane]
            if tables or self.coef_ptr[plane + 1] >> 32:
                continue
            self.steps[node].begin = <u32> self.coef_ptr[plane]
            self.steps[node].n_coef = <i32> (self.coef_ptr[plane + 1] - self.coef_ptr[plane])
            if self.steps[node].n_coef == 1 and self.coef[self.steps[node].begin] == 1.0:
                self.steps[node].feature = self.coef_idx[self.steps[node].begin]

    def __dealloc__(self):
        free(self.steps)

    cdef double entry_value(self, i64 k, double raw) noexcept nogil:
        """What coefficient k multiplies: the raw value, its stand-in, or its level's number."""
        cdef i64 level, size = self.table_ptr[k + 1] - self.table_ptr[k]
        if isnan(raw):
            return self.fill[k]
        if size == 0:
            return raw
        if not (raw >= 0.0 and raw < <double> size):
            return 0.0
        level = <i64> raw
        return self.table[self.table_ptr[k] + level]

    cdef double plane_value(self, const View* view, i64 row, i64 plane,
                            double scale) noexcept nogil:
        """The canonical dot product of a row with a plane; NaN where a value is not known."""
        cdef i64 k
        cdef double value, total = 0.0
        for k in range(self.coef_ptr[plane], self.coef_ptr[plane + 1]):
            value = self.entry_value(k, view_at(view, row, self.coef_idx[k]))
            total += self.coef[k] * (value * scale)
        return total

    cdef i64 slow_branch(self, const View* view, i64 row, i64 node) noexcept nogil:
        """The branch that a row takes at any kind of node; -1 where a value is not known."""
        cdef i64 plane = self.plane_ptr[node]
        cdef i64 k, branch, best
        cdef double value, top, raw
        if self.kind[node] == LEVELS:
            k = self.coef_ptr[plane]
            raw = view_at(view, row, self.coef_idx[k])
            if isnan(raw):
                value = self.fill[k]
            elif raw >= 0.0 and raw < <double> (self.table_ptr[k + 1] - self.table_ptr[k]):
                value = self.table[self.table_ptr[k] + <i64> raw]
            else:
                value = self.threshold[plane]
            if isnan(value):
                return -1
            return <i64> value
        if self.kind[node] == MACHINE:
            best = 0
            top = NAN
            for branch in range(self.n_children[node]):
                value = self.plane_value(view, row, plane + branch, 1.0)
                value -= self.threshold[plane + branch]
                if isnan(value):
                    return -1
                if branch == 0 or value > top:
                    best = branch
                    top = value
            return best
        if self.missing_side[plane]:
            for k in range(self.coef_ptr[plane], self.coef_ptr[plane + 1]):
                if isnan(view_at(view, row, self.coef_idx[k])):
                    return self.missing_side[plane] - 1
        value = self.plane_value(view, row, plane, 1.0)
        top = self.threshold[plane]
        if isnan(value):
            # Terms of a finite row may overflow on both sides; scaled down, they do not.
            value = self.plane_value(view, row, plane, SMALL)
            top *= SMALL
        if isnan(value):
            return -1
        return 0 if value <= top else 1

    cdef i64 leaf_of(self, const View* view, const real* row_data, i64 row,
                     i64 node) noexcept nogil:
        """The leaf that a row reaches from a node; -1 where a missing value has no stand-in."""
        cdef i64 k, branch
        cdef const Step* step = &self.steps[node]
        cdef double value
        while step.first_child >= 0:
            if step.feature >= 0:
                value = row_data[step.feature * view.col_stride]
            elif step.n_coef > 0:
                value = 0.0
                for k in range(step.begin, step.begin + step.n_coef):
                    value += self.coef[k] * (<double> row_data[self.coef_idx[k] * view.col_stride])
            else:
                value = NAN
            if value <= step.threshold:
                node = step.first_child
            elif value > step.threshold:
                node = step.first_child + 1
            else:                # missing, or a node that is not a plain hyperplane
                branch = self.slow_branch(view, row, node)
                if branch < 0:
                    return -1
                node = step.first_child + branch
            step = &self.steps[node]
        return node

    cdef void walk_together(self, const View* view, const real* data, i64 first,
                            i64* out) noexcept nogil:
        """Walks a few rows side by side, so that one can move while another waits for memory.

        Nodes that ask about one feature are passed here; what is left goes on alone.
        """
        cdef i64[TOGETHER] node
        cdef bint[TOGETHER] missing
        cdef bint moving = True
        cdef int r
        cdef const Step* step
        cdef double value
        for r in range(TOGETHER):
            node[r] = 0
            missing[r] = False
        while moving:
            moving = False
            for r in range(TOGETHER):
                step = &self.steps[node[r]]
                if step.feature >= 0:
                    value = data[(first + r) * view.row_stride + step.feature * view.col_stride]
                    missing[r] |= value != value
                    node[r] = step.first_child + (not value <= step.threshold)
                    moving = True
        for r in range(TOGETHER):
            if missing[r]:
                node[r] = 0
            out[first + r] = self.leaf_of(view, data + (first + r) * view.row_stride, first + r,
                                          node[r])

    cdef void walk_rows(self, const View* view, const real* data, i64 start, i64 stop,
                        i64* out) noexcept nogil:
        """Fills the leaves of some rows."""
        cdef i64 row = start
        while row + TOGETHER <= stop:
            self.walk_together(view, data, row, out)
            row += TOGETHER
        while row < stop:
            out[row] = self.leaf_of(view, data + row * view.row_stride, row, 0)
            row += 1

    def walk_range(self, Z, i64[::1] out, i64 start, i64 stop):
        """One thread's share of `apply`."""
        cdef View view = make_view(Z)
        with nogil:
            if view.single:
                self.walk_rows(&view, <const float*> view.data, start, stop, &out[0])
            else:
                self.walk_rows(&view, <const double*> view.data, start, stop, &out[0])

    def apply(self, Z, int n_threads=1):
        """The leaf number of each row of a float32 or float64 matrix with n_features columns.

        A leaf number of -1 says that a missing value met a node without a stand-in for it.
        """
        cdef i64 n = Z.shape[0]
        leaves = np.empty(n, dtype=np.int64)
        if n == 0:
            return leaves
        n_threads = <int> min(<i64> n_threads, n // ROWS_PER_THREAD)
        if n_threads <= 1:
            self.walk_range(Z, leaves, 0, n)
            return leaves
        ends = [n * k // n_threads for k in range(n_threads + 1)]
        threads = [
            threading.Thread(target=self.walk_range, args=(Z, leaves, ends[k], ends[k + 1]))
            for k in range(n_threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return leaves


def line_values(Z, const i64[::1] nodes, lines, const double[::1] otherwise):
    """What the linear functions of nodes say of rows, each of its own node; within limits.

    `lines`: the arrays of a tree that begin with `leaf_`, in their order. A row whose value is no
    number gets what stands in `otherwise` for its node.
    """
    cdef View view = make_view(Z)
    cdef const i64[::1] ptr = lines[0], table_ptr = lines[4]
    cdef const i32[::1] idx = lines[1]
    cdef const double[::1] coef = lines[2], fill = lines[3], table = lines[5]
    cdef const double[::1] intercept = lines[6], low = lines[7], high = lines[8]
    cdef i64 row, node, k, size, level
    cdef double total, raw
    values = np.empty(nodes.shape[0])
    cdef double[::1] values_ = values
    with nogil:
        for row in range(nodes.shape[0]):
            node = nodes[row]
            total = intercept[node]
            for k in range(ptr[node], ptr[node + 1]):
                raw = view_at(&view, row, idx[k])
                size = table_ptr[k + 1] - table_ptr[k]
                if isnan(raw):
                    raw = fill[k]
                elif size:
                    level = -1
                    if raw >= 0.0 and raw < <double> size:
                        level = <i64> raw
                    raw = table[table_ptr[k] + level] if level >= 0 else 0.0
                total += coef[k] * raw
            if isnan(total):
                total = otherwise[node]
            values_[row] = min(max(total, low[node]), high[node])
    return values


cdef bint finite_run(const real* data, i64 n) noexcept nogil:
    """Whether no exponent is all ones. Integers, so that the compiler can use wide registers."""
    cdef i64 k
    cdef u32 bits32, bad32 = 0
    cdef u64 bits64, bad64 = 0
    if real is float:
        for k in range(n):
            memcpy(&bits32, data + k, 4)
            bad32 |= (bits32 & 0x7F800000u) == 0x7F800000u
        return bad32 == 0
    else:
        for k in range(n):
            memcpy(&bits64, data + k, 8)
            bad64 |= (bits64 & 0x7FF0000000000000ULL) == 0x7FF0000000000000ULL
        return bad64 == 0


cdef bint finite_rows(const View* view) noexcept nogil:
    cdef i64 row, col
    cdef double value
    if view.col_stride == 1:
        for row in range(view.n_rows):
            if view.single:
                if not finite_run(<const float*> view.data + row * view.row_stride, view.n_cols):
                    return False
            elif not finite_run(<const double*> view.data + row * view.row_stride, view.n_cols):
                return False
        return True
    for col in range(view.n_cols):
        for row in range(view.n_rows):
            value = view_at(view, row, col)
            if not value - value == 0.0:
                return False
    return True


def all_finite(Z):
    """Whether a float32 or float64 matrix has neither NaN nor infinity."""
    cdef View view = make_view(Z)
    cdef bint result
    if view.n_rows == 0 or view.n_cols == 0:
        return True
    if view.col_stride == 1 and view.row_stride == view.n_cols:
        view.n_cols *= view.n_rows       # one long run
        view.n_rows = 1
    with nogil:
        result = finite_rows(&view)
    return result
