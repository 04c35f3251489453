"""Many trees packed one after another: rows go through all of them in one call."""

from libc.stdlib cimport free, malloc

import numpy as np
from concurrent.futures import ThreadPoolExecutor

from obliqua._core.base.types cimport View, i32, i64, make_view, u8, view_at

cdef extern from "packed.h" nogil:
    enum:
        BLOCK "OB_BLOCK_ROWS"

    ctypedef struct ob_step:
        double threshold
        i32 child, column

    ctypedef struct ob_packed:
        const ob_step* steps
        const i64* node_ptr
        const i64* plane_ptr
        const i64* term_ptr
        const i32* term_column
        const double* coef
        const u8* side
        const double* stand_in

    void ob_walk_tree(const ob_packed* f, i64 tree, const double* rows, i64 p, i64 n,
                      i32* reached)

cdef i64 MOST_CELLS = 1 << 19     # of a block of rows
cdef i64 LEAST_WORK = 1 << 16    # rows times trees that are worth a thread


cdef class ForestWalker:
    """The arrays of packed trees, ready to be walked."""

    cdef ob_packed f
    cdef ob_step* steps
    cdef object held
    cdef i64 p
    cdef readonly i64 n_trees
    cdef bint numbers
    cdef const i64[::1] leaf_ptr
    cdef const i64[::1] level_ptr    # columns of levels: where their numbers begin
    cdef bint coded                  # whether there are any
    cdef const double[:, ::1] level  # by tree
    cdef const i64[::1] entry_ptr    # classes: what leaves hold
    cdef const i32[::1] entry_class
    cdef const double[::1] entry_weight, leaf_weight
    cdef const double[:, ::1] leaf_mean

    def __cinit__(self, trees, i64 n_features):
        cdef const i64[::1] node_ptr = trees.node_ptr, plane_ptr = trees.plane_ptr
        cdef const i64[::1] term_ptr = trees.term_ptr
        cdef const i32[::1] child = trees.child, column = trees.column
        cdef const i32[::1] term_column = trees.term_column
        cdef const double[::1] threshold = trees.threshold, coef = trees.coef
        cdef const double[::1] stand_in = trees.stand_in
        cdef const u8[::1] side = trees.missing_side
        cdef i64 k, n_nodes = child.shape[0]
        self.held = (node_ptr, plane_ptr, term_ptr, term_column, coef, stand_in, side)
        self.p = n_features
        self.n_trees = node_ptr.shape[0] - 1
        self.leaf_ptr = trees.leaf_ptr
        self.leaf_weight = trees.leaf_weight
        self.numbers = trees.leaf_mean is not None
        if not self.numbers:
            self.entry_ptr = trees.entry_ptr
            self.entry_class, self.entry_weight = trees.entry_class, trees.entry_weight
        else:
            self.leaf_mean = trees.leaf_mean
        self.steps = <ob_step*> malloc(n_nodes * sizeof(ob_step))
        if self.steps == NULL:
            raise MemoryError("no room for the steps of a forest")
        for k in range(n_nodes):
            self.steps[k].threshold = threshold[k]
            self.steps[k].child, self.steps[k].column = child[k], column[k]
        self.f.steps = self.steps
        self.f.node_ptr, self.f.plane_ptr = &node_ptr[0], &plane_ptr[0]
        self.f.term_ptr = &term_ptr[0]
        self.f.stand_in = &stand_in[0]
        self.level_ptr, self.level = trees.level_ptr, trees.level
        self.coded = self.level_ptr[n_features] > 0
        if term_column.shape[0]:
            self.f.term_column, self.f.coef = &term_column[0], &coef[0]
            self.f.side = &side[0]

    def __dealloc__(self):
        free(self.steps)

    cdef i64 block_rows(self, i64 n) noexcept nogil:
        """How many rows go through a tree together: fewer of very many columns."""
        return min(n, max(min(<i64> BLOCK, MOST_CELLS // self.p), <i64> 64))

    cdef void fill_block(self, const View* view, i64 start, i64 n, double* rows) noexcept nogil:
        cdef i64 r, j
        for r in range(n):
            for j in range(self.p):
                rows[r * self.p + j] = view_at(view, start + r, j)

    cdef void number_levels(self, const View* view, i64 tree, i64 start, i64 n,
                            double* rows) noexcept nogil:
        """Puts a tree's numbers in the place of levels; a level that is not known counts 0."""
        cdef i64 r, j, first, end
        cdef double value
        for j in range(self.p):
            first, end = self.level_ptr[j], self.level_ptr[j + 1]
            if first == end:
                continue
            for r in range(n):
                value = view_at(view, start + r, j)
                if value != value:
                    value = self.level[tree, end - 1]
                elif value >= 0.0 and value < <double> (end - first - 1):
                    value = self.level[tree, first + <i64> value]
                else:
                    value = 0.0
                rows[r * self.p + j] = value

    def walk_range(self, Z, trees, i32[:, ::1] nodes, double[:, ::1] sums, i64 start, i64 stop):
        """Walks rows from `start` to before `stop` down trees, from this one to before that one.

        `nodes` get what each row reaches in each tree; to `sums` is added what the trees say, in
        their order: shares of classes, or means. One of the two has no rows, and is left alone.
        """
        cdef View view = make_view(Z)
        cdef i32[BLOCK] reached
        cdef i64 at, t, r, n, begin = trees[0], end = trees[1]
        cdef i64 most = self.block_rows(stop - start)
        cdef bint added = sums.shape[0] > 0
        cdef bint in_place = (not self.coded and not view.single and view.col_stride == 1
                              and view.row_stride == self.p)
        cdef const double* here
        cdef double* rows = NULL
        if not in_place:
            rows = <double*> malloc(most * self.p * sizeof(double))
            if rows == NULL:
                raise MemoryError("no room for a block of rows")
        with nogil:
            at = start
            while at < stop:
                n = min(most, stop - at)
                if in_place:
                    here = <const double*> view.data + at * self.p
                else:
                    self.fill_block(&view, at, n, rows)
                    here = rows
                for t in range(begin, end):
                    if self.coded:
                        self.number_levels(&view, t, at, n, rows)
                    ob_walk_tree(&self.f, t, here, self.p, n, reached)
                    for r in range(n):
                        if added:
                            self.add_leaf(self.leaf_of(t, reached[r]), &sums[at + r, 0])
                        else:
                            nodes[at + r, t - begin] = reached[r]
                at += n
            free(rows)

    cdef i64 leaf_of(self, i64 tree, i32 node) noexcept nogil:
        """The number of a leaf among those of all trees."""
        return self.leaf_ptr[tree] - 1 - self.steps[self.f.node_ptr[tree] + node].child

    cdef void add_leaf(self, i64 leaf, double* out) noexcept nogil:
        cdef i64 k
        if not self.numbers:
            for k in range(self.entry_ptr[leaf], self.entry_ptr[leaf + 1]):
                out[self.entry_class[k]] += self.entry_weight[k] / self.leaf_weight[leaf]
        else:
            for k in range(self.leaf_mean.shape[1]):
                out[k] += self.leaf_mean[leaf, k]

    def sums(self, Z, i64 n_columns, int n_threads=1, trees=None):
        """What the trees say of each row, added up."""
        out = np.zeros((Z.shape[0], n_columns))
        self.walk(Z, trees or (0, self.n_trees), np.empty((0, 0), dtype=np.int32), out, n_threads)
        return out

    def apply(self, Z, int n_threads=1, trees=None):
        """The node, within its tree, that each row reaches in each tree."""
        first, end = trees or (0, self.n_trees)
        out = np.empty((Z.shape[0], end - first), dtype=np.int32)
        self.walk(Z, (first, end), out, np.empty((0, 0)), n_threads)
        return out

    cdef object walk(self, Z, trees, nodes, sums, int n_threads):
        """Shares rows out among threads."""
        cdef i64 k, n = Z.shape[0], n_trees = trees[1] - trees[0]
        cdef i64 most = max(min(<i64> n_threads, n * n_trees // LEAST_WORK), 1)
        if n == 0:
            return
        if most == 1:
            self.walk_range(Z, trees, nodes, sums, 0, n)
            return
        ends = [n * k // most for k in range(most + 1)]
        with ThreadPoolExecutor(most) as pool:
            shares = [
                pool.submit(self.walk_range, Z, trees, nodes, sums, ends[k], ends[k + 1])
                for k in range(most)
            ]
        for share in shares:
            share.result()                   # raises what the thread has raised
