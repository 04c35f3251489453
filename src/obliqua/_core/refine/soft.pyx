"""A tree with soft gates: all hyperplanes and leaves moved together, by minibatches and Adam.

The arithmetic is in soft.h. Here are the arrays, the schedule of a step and the two phases of a
batch: rows are shared out among threads, which note at each node which of them reach it; then
nodes and leaves are, each summed by one thread in the order of the rows. A large batch consists of
blocks, whose sums the threads make in the first phase. So the result does not depend on the number
of threads.

At the end stands what a tree would lose if some of its splits were left out: exact changes of
training errors, from one bit per row and node.
"""

from libc.math cimport M_PI, cos, pow
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

import numpy as np

from obliqua._core.base.linalg cimport factorise, solve
from obliqua._core.base.rng cimport draw
from obliqua._core.base.types cimport u64

cdef extern from "soft.h" nogil:
    ctypedef struct ob_soft:
        const float* x
        const int64_t* more_ptr
        const int32_t* more
        const int32_t* y
        const float* weight
        int64_t stride
        const int32_t* child
        float* w
        float* a
        float* q
        int64_t width
        int64_t depth
        int32_t n_nodes, n_leaves, n_classes
        float floor
        const float* number
        const float* u
        float* line
        int64_t u_stride
        int64_t n_outputs
        float narrow

    ctypedef struct ob_batch:
        float* pull
        float* loss
        int32_t* y

    ctypedef struct ob_reached:
        int32_t* count
        int32_t* leaf_count
        int32_t* row
        int32_t* kid
        float* reach
        float* gate
        float* value
        float* delta
        int32_t* leaf_row
        float* leaf_reach
        float* leaf_value
        float* height
        float* left
        float* right
        int64_t capacity
        float* x
        float* g
        float* ga
        float* ga_sum

    ctypedef struct ob_adam:
        float* g
        float* m
        float* v
        float* ga
        float* ma
        float* va
        const float* decay
        const float* pulled
        const float* mask

    ctypedef struct ob_barrier:
        int32_t waiting, round, n, given_up

    void ob_soft_rows(const ob_soft*, const ob_batch*, const ob_reached*, const int64_t*, int64_t,
                      int64_t, float)
    void ob_soft_nodes(const ob_soft*, const ob_batch*, const ob_reached*, int, const ob_adam*,
                       const int64_t*, int32_t, int32_t, float, float)
    void ob_soft_leaves(const ob_soft*, const ob_batch*, const ob_reached*, int, const ob_adam*,
                        int32_t, int32_t, float, float)
    void ob_soft_block(const ob_soft*, const ob_batch*, const ob_reached*, const int64_t*)
    void ob_soft_lines(const ob_soft*, const ob_batch*, const ob_reached*, int, const int64_t*,
                       int32_t, int32_t, double*, int64_t)
    void ob_hard_lines(const ob_soft*, const int32_t*, int64_t, int64_t, double*, int64_t)
    void ob_soft_start(const ob_soft*)
    void ob_soft_sides(const ob_soft*, int64_t, int64_t, uint8_t*, int64_t)
    void ob_soft_walk(const ob_soft*, int64_t, int64_t, int32_t*, double*)
    void ob_soft_nearness(const ob_soft*, int64_t, int64_t, const int64_t*, float, int64_t*)
    int OB_HALVINGS, OB_SMALL
    float ob_line_error(const ob_soft*, const float*, int64_t, int64_t, float, float)
    int ob_wait(ob_barrier*)
    void ob_give_up(ob_barrier*)


def shuffle(int64_t[::1] order, u64 key):
    """Puts numbers into a random order that depends on the key and on the order they have."""
    cdef u64 state = key
    cdef int64_t i, j, n = order.shape[0]
    with nogil:
        for i in range(n - 1, 0, -1):
            j = <int64_t> (draw(&state) % <u64> (i + 1))
            order[i], order[j] = order[j], order[i]


cdef class SoftTree:
    """A soft tree over rows. The arrays of the tree are changed in place.

    `rows`: (x, more_ptr or None, more or None, y, weight), floats where they are numbers.
    `tree`: (child, w, a), see soft.h; `floor`: the constant in the logarithm of the loss.
    `lines`, where numbers are learnt: (numbers, columns of functions, functions, 1 / (2 s^2)).
    """

    cdef ob_soft soft
    cdef readonly int64_t n_rows
    cdef object held             # the arrays behind the pointers
    cdef readonly object q

    def __cinit__(self, rows, tree, int n_classes, double floor, lines=None):
        cdef const float[:, ::1] x = rows[0]
        cdef const int64_t[::1] more_ptr
        cdef const int32_t[::1] more
        cdef const int32_t[::1] y = rows[3]
        cdef const float[::1] weight = rows[4]
        cdef const int32_t[:, ::1] child = tree[0]
        cdef float[:, ::1] w = tree[1]
        cdef float[:, ::1] a = tree[2]
        self.q = np.zeros_like(tree[2])
        cdef float[:, ::1] q = self.q
        self.held = (rows, tree)
        self.n_rows = x.shape[0]
        self.soft.x = &x[0, 0]
        self.soft.stride = x.shape[1]
        self.soft.more_ptr = NULL
        self.soft.more = NULL
        if rows[1] is not None:
            more_ptr, more = rows[1], rows[2]
            self.soft.more_ptr = &more_ptr[0]
            self.soft.more = &more[0]
        self.soft.y = &y[0]
        self.soft.weight = &weight[0]
        self.soft.n_nodes = <int32_t> child.shape[0]
        self.soft.n_leaves = <int32_t> a.shape[0]
        self.soft.n_classes = n_classes
        self.soft.width = w.shape[1]
        self.soft.depth = a.shape[1]
        self.soft.child = &child[0, 0] if child.shape[0] else NULL
        self.soft.w = &w[0, 0] if child.shape[0] else NULL
        self.soft.a = &a[0, 0]
        self.soft.q = &q[0, 0]
        self.soft.floor = <float> floor
        self.soft.number = NULL
        if lines is not None:
            self.read_lines(lines)
        ob_soft_start(&self.soft)

    cdef int read_lines(self, lines) except -1:
        cdef const float[:, ::1] number = lines[0]
        cdef const float[:, ::1] u = lines[1]
        cdef float[:, ::1] line = lines[2]
        self.held += (lines,)
        self.soft.number = &number[0, 0]
        self.soft.n_outputs = number.shape[1]
        self.soft.u = &u[0, 0]
        self.soft.line = &line[0, 0]
        self.soft.u_stride = u.shape[1]
        self.soft.narrow = <float> lines[3]
        return 0

    def line_sums(self, const int32_t[::1] leaf, int64_t first, int64_t last):
        """Sums of some rows, each at its leaf, from which `solve_lines` makes functions."""
        cdef int64_t size = sums_of_a_leaf(&self.soft)
        sums = np.zeros((self.soft.n_leaves, size))
        cdef double[:, ::1] sums_ = sums
        with nogil:
            ob_hard_lines(&self.soft, &leaf[0], first, last, &sums_[0, 0], size)
        return sums

    def raising_costs(self, const uint8_t[:, ::1] bits, const int32_t[:, ::1] child, int32_t root,
                      const float[:, ::1] lines, const float[::1] low, const float[::1] high,
                      int64_t first, int64_t last):
        """As `raising_changes`, of squared errors: leaves say `lines` between `low` and `high`."""
        cdef int64_t row
        cdef int32_t at, side
        cdef double here_cost
        changes = np.zeros((child.shape[0], 2))
        cdef double[:, ::1] changes_ = changes
        cdef const uint8_t* here
        with nogil:
            for row in range(first, last):
                here = &bits[row, 0]
                here_cost = self.line_cost(row, _leaf_below(here, &child[0, 0], root), lines, low,
                                           high)
                at = root
                while at >= 0:
                    side = (here[at >> 3] >> (at & 7)) & 1
                    changes_[at, 1 - side] += self.line_cost(
                        row, _leaf_below(here, &child[0, 0], child[at, 1 - side]), lines, low,
                        high) - here_cost
                    at = child[at, side]
        return changes

    cdef double line_cost(self, int64_t row, int32_t at, const float[:, ::1] lines,
                          const float[::1] low, const float[::1] high) noexcept nogil:
        """What a row costs in a leaf, which is given as -1 - its number."""
        cdef int64_t leaf = -1 - at
        return self.soft.weight[row] * ob_line_error(&self.soft, &lines[0, 0], leaf, row,
                                                     low[leaf], high[leaf])

    def walk(self, int32_t[::1] leaf, int64_t first, int64_t last):
        """Hard gates: notes the leaf of some rows; sums of weight, height and its square by node.
        """
        sums = np.zeros((max(self.soft.n_nodes, 1), 3))
        cdef double[:, ::1] sums_ = sums
        with nogil:
            ob_soft_walk(&self.soft, first, last, &leaf[0], &sums_[0, 0])
        return sums[:self.soft.n_nodes]

    def nearness(self, const int64_t[::1] units, double near, int64_t first, int64_t last):
        """Hard gates: weights of some rows by node, side and how near they are to the split.

        The first cell has those beyond `near`, the next ones those within it, within half of it,
        within a quarter and so on, each without those that are nearer.
        """
        cells = np.zeros((self.soft.n_nodes, 2, OB_HALVINGS + 2), dtype=np.int64)
        cdef int64_t[:, :, ::1] cells_ = cells
        if self.soft.n_nodes:
            with nogil:
                ob_soft_nearness(&self.soft, first, last, &units[0], <float> near,
                                 &cells_[0, 0, 0])
        return cells

    def sides(self, uint8_t[:, ::1] bits, int64_t first, int64_t last):
        """Notes on which side of each node some rows are: bit m of a row is 1 for the right."""
        with nogil:
            ob_soft_sides(&self.soft, first, last, &bits[0, 0], bits.shape[1])


cdef class Descent:
    """Steps of Adam down the loss of a soft tree.

    `limits`: (steps in all, first and last sharpness of the gates, rates of normals and logits).
    `pull`: per node, how much its normal is drawn to 0; `pulled`: per column, 1 where it is;
    `mask`: per weight, 0 where it stays 0, or None. `shares`: where the nodes and leaves of each
    thread begin, and the end. `n_blocks`: of a batch, each of which is summed by itself; 1 if the
    rows are summed in their order. There must be one for each thread then.
    """

    cdef SoftTree tree
    cdef ob_batch batch
    cdef ob_adam adam
    cdef ob_barrier barrier
    cdef ob_reached* reached
    cdef int64_t size
    cdef double n_steps, sharp, sharper, rate, leaf_rate
    cdef const int32_t[:, ::1] shares
    cdef object held
    cdef readonly int n_threads
    cdef int n_blocks, n_lists       # a list of rows for each block, or for each thread
    cdef readonly double loss        # sum over the rows since it was set to 0
    cdef double[:, ::1] lines        # of numbers: sums of the leaves

    def __cinit__(self, SoftTree tree, int64_t size, limits, const float[::1] pull,
                  const float[::1] pulled, mask, const int32_t[:, ::1] shares, int n_blocks=1):
        cdef int64_t n_nodes = tree.soft.n_nodes, n_leaves = tree.soft.n_leaves
        cdef int64_t n_w = n_nodes * tree.soft.width, n_a = n_leaves * tree.soft.depth
        cdef const float[:, ::1] masked
        self.tree = tree
        self.size = size
        self.n_steps, self.sharp, self.sharper, self.rate, self.leaf_rate = limits
        self.shares = shares
        self.n_threads = <int> shares.shape[0] - 1
        self.n_blocks = n_blocks
        self.n_lists = n_blocks if n_blocks > 1 else self.n_threads
        if n_blocks > 1 and n_blocks < self.n_threads:
            raise ValueError("there must be a block for each thread")
        self.barrier.n = self.n_threads
        self.barrier.waiting = self.barrier.round = self.barrier.given_up = 0
        moments = np.zeros((3, n_w + 1), dtype=np.float32)
        leaf_moments = np.zeros((3, n_a), dtype=np.float32)
        of_rows = np.empty((2, size), dtype=np.float32)
        labels = np.empty(size, dtype=np.int32)
        cdef float[:, ::1] moments_ = moments
        cdef float[:, ::1] leaf_moments_ = leaf_moments
        cdef float[:, ::1] of_rows_ = of_rows
        cdef int32_t[::1] labels_ = labels
        self.adam.g, self.adam.m, self.adam.v = (&moments_[0, 0], &moments_[1, 0],
                                                 &moments_[2, 0])
        self.adam.ga, self.adam.ma, self.adam.va = (&leaf_moments_[0, 0], &leaf_moments_[1, 0],
                                                    &leaf_moments_[2, 0])
        self.adam.decay = &pull[0]
        self.adam.pulled = &pulled[0]
        self.adam.mask = NULL
        if mask is not None:
            masked = mask
            self.adam.mask = &masked[0, 0]
        self.batch.pull, self.batch.loss = &of_rows_[0, 0], &of_rows_[1, 0]
        self.batch.y = &labels_[0]
        self.held = [moments, leaf_moments, of_rows, labels, pull, pulled, mask]
        self.reached = <ob_reached*> malloc(self.n_lists * sizeof(ob_reached))
        if self.reached == NULL:
            raise MemoryError("no room to refine a tree")
        self.make_room(n_nodes, n_leaves)
        if n_blocks > 1:
            self.make_sums(n_nodes, n_leaves)
        self.lines = np.zeros((1, 1))
        if tree.soft.number != NULL:
            self.lines = np.zeros((n_leaves, sums_of_a_leaf(&tree.soft)))

    def move_lines(self, int64_t q, double penalty):
        """Fits the functions of the leaves to the rows that they have had since the last time."""
        solve_lines(self.lines, self.tree.held[2][2], self.tree.soft.n_outputs, q, penalty)
        self.lines[:] = 0.0

    cdef int make_room(self, int64_t n_nodes, int64_t n_leaves) except -1:
        """Makes room for the rows that each thread notes at nodes and leaves.

        Blocks of one thread come one after another, so that they have the same room; but where
        numbers are learnt, what they have noted at leaves is read when all are done.
        """
        # One more than its rows, because what is handed on may be written over once.
        cdef int64_t capacity = (self.size + self.n_lists - 1) // self.n_lists + 1
        cdef int32_t[::1] counts
        cdef int b, k
        capacity = (capacity + 7) // 8 * 8
        for k in range(self.n_threads):
            for b in range(self.n_lists * k // self.n_threads,
                           self.n_lists * (k + 1) // self.n_threads):
                if (b == self.n_lists * k // self.n_threads
                        or self.tree.soft.number != NULL):
                    self.make_lists(b, n_nodes, n_leaves, capacity)
                else:
                    self.reached[b] = self.reached[b - 1]
                counts = np.zeros(n_nodes + n_leaves, dtype=np.int32)
                self.held.append(counts)
                self.reached[b].count = &counts[0]
                self.reached[b].leaf_count = &counts[0] + n_nodes
        return 0

    cdef int make_lists(self, int b, int64_t n_nodes, int64_t n_leaves,
                        int64_t capacity) except -1:
        cdef int32_t[::1] rows, kids, leaf_rows
        cdef float[:, ::1] floats
        cdef float[:, ::1] here
        cdef float[:, ::1] leaf_floats
        cdef float[::1] beside
        arrays = (
            np.zeros(n_nodes * capacity, dtype=np.int32),
            np.zeros(2 * n_nodes * capacity, dtype=np.int32),
            np.zeros((4, n_nodes * capacity), dtype=np.float32),
            np.zeros(n_leaves * capacity, dtype=np.int32),
            np.zeros((2, n_leaves * capacity), dtype=np.float32),
            np.zeros((3, capacity), dtype=np.float32),
        )
        self.held.append(arrays)
        rows, kids, floats, leaf_rows, leaf_floats, here = arrays
        self.reached[b].row = &rows[0]
        self.reached[b].kid = &kids[0]
        self.reached[b].reach, self.reached[b].gate = &floats[0, 0], &floats[1, 0]
        self.reached[b].value, self.reached[b].delta = &floats[2, 0], &floats[3, 0]
        self.reached[b].leaf_row = &leaf_rows[0]
        self.reached[b].leaf_reach = &leaf_floats[0, 0]
        self.reached[b].leaf_value = &leaf_floats[1, 0]
        self.reached[b].height = &here[0, 0]
        self.reached[b].left, self.reached[b].right = &here[1, 0], &here[2, 0]
        self.reached[b].capacity = capacity
        self.reached[b].x = NULL
        if self.tree.soft.number == NULL and n_nodes * self.tree.soft.stride <= OB_SMALL:
            beside = np.zeros(capacity * self.tree.soft.stride, dtype=np.float32)
            self.held.append(beside)
            self.reached[b].x = &beside[0]
        self.reached[b].g = self.reached[b].ga = self.reached[b].ga_sum = NULL
        return 0

    cdef int make_sums(self, int64_t n_nodes, int64_t n_leaves) except -1:
        """Makes room for the gradients of blocks."""
        cdef int64_t n_a = n_leaves * self.tree.soft.depth
        cdef float[::1] sums
        cdef int k
        for k in range(self.n_lists):
            sums = np.zeros(n_nodes * self.tree.soft.width + n_a + n_leaves, dtype=np.float32)
            self.held.append(sums)
            self.reached[k].g = &sums[0]
            self.reached[k].ga = &sums[0] + n_nodes * self.tree.soft.width
            self.reached[k].ga_sum = self.reached[k].ga + n_a
        return 0

    def __dealloc__(self):
        free(self.reached)

    def give_up(self):
        """Lets threads go that wait for one which will not come; nothing is worth keeping then."""
        ob_give_up(&self.barrier)

    def forget_loss(self):
        """Starts the sum of the loss anew."""
        self.loss = 0.0

    def run(self, const int64_t[::1] order, int64_t first, int64_t last, int64_t before, int k):
        """Batches first .. last - 1 of rows in this order; `before`: steps that were made.

        Each thread calls it, with its number k, and each returns when all are done.
        """
        cdef int64_t step, n_rows = order.shape[0]
        with nogil:
            for step in range(first, last):
                if self.barrier.given_up:
                    break
                self.one(&order[step * self.size], min(self.size, n_rows - step * self.size),
                         before + step - first, k)

    def quiet(self):
        """Zero rates: a step then leaves the tree as it is. For tests of the gradient."""
        self.rate = self.leaf_rate = 0.0

    def gradients(self):
        """Those of the last batch: of the normals and of the logits."""
        nodes, leaves = self.tree.soft.n_nodes, self.tree.soft.n_leaves
        return (self.held[0][0, :nodes * self.tree.soft.width].reshape(nodes, -1).copy(),
                self.held[1][0].reshape(leaves, -1).copy())

    cdef void one(self, const int64_t* order, int64_t n, int64_t t, int k) noexcept nogil:
        """One batch of n rows, as far as thread k does it."""
        cdef double done = t / self.n_steps
        cdef double warm = 0.5 * (1.0 + cos(M_PI * done))
        # Adam's moments start at 0, which the first steps make up for.
        cdef double start = ((1.0 - pow(0.999, t + 1.0)) ** 0.5) / (1.0 - pow(0.9, t + 1.0))
        cdef float beta = <float> (self.sharp * pow(self.sharper / self.sharp, done))
        cdef float share = <float> (1.0 / n)
        cdef double loss = self.loss
        cdef int64_t i
        cdef int b
        for b in range(self.n_lists * k // self.n_threads,
                       self.n_lists * (k + 1) // self.n_threads):
            ob_soft_rows(&self.tree.soft, &self.batch, &self.reached[b], order,
                         n * b // self.n_lists, n * (b + 1) // self.n_lists, beta)
            if self.n_blocks > 1:
                ob_soft_block(&self.tree.soft, &self.batch, &self.reached[b], order)
        if not ob_wait(&self.barrier):
            return
        if self.shares[k + 1, 0] > self.shares[k, 0]:
            ob_soft_nodes(&self.tree.soft, &self.batch, self.reached, self.n_lists, &self.adam,
                          order, self.shares[k, 0], self.shares[k + 1, 0], share,
                          <float> (self.rate * warm * start))
        if self.tree.soft.number != NULL:
            ob_soft_lines(&self.tree.soft, &self.batch, self.reached, self.n_lists, order,
                          self.shares[k, 1], self.shares[k + 1, 1], &self.lines[0, 0],
                          self.lines.shape[1])
        elif self.shares[k + 1, 1] > self.shares[k, 1]:
            ob_soft_leaves(&self.tree.soft, &self.batch, self.reached, self.n_lists, &self.adam,
                           self.shares[k, 1], self.shares[k + 1, 1], share,
                           <float> (self.leaf_rate * warm * start))
        if k == 0:
            for i in range(n):
                loss += self.batch.loss[i]
            self.loss = loss
        ob_wait(&self.barrier)


cdef int64_t sums_of_a_leaf(const ob_soft* soft) noexcept nogil:
    return soft.u_stride * (soft.u_stride + soft.n_outputs) + 1


def solve_lines(const double[:, ::1] sums, float[:, ::1] lines, int64_t n_outputs, int64_t q,
                double penalty):
    """Functions of least squares from sums of rows: the squared errors that they leave over.

    The last of their q columns is the constant, which has no penalty. Without rows a function
    stays as it is.
    """
    cdef int64_t n = sums.shape[0], stride = lines.shape[1] // n_outputs
    cdef int64_t i, j, k, output
    cdef double weight, error
    cdef double* matrix = <double*> malloc(q * (q + 1) * sizeof(double))
    cdef double* coef = matrix + q * q
    cdef const double* here
    cdef const double* products
    errors = np.zeros(n)
    cdef double[::1] errors_ = errors
    if matrix == NULL:
        raise MemoryError("no room to fit the leaves of a tree")
    with nogil:
        for i in range(n):
            here = &sums[i, 0]
            weight = here[(q - 1) * stride + q - 1]
            if not weight > 1e-6:
                continue
            for j in range(q):
                for k in range(j + 1):
                    matrix[j * q + k] = here[j * stride + k]
                if j < q - 1:
                    matrix[j * q + j] += penalty + 1e-9 * weight
            if not factorise(matrix, q):
                continue
            error = here[stride * (stride + n_outputs)]
            for output in range(n_outputs):
                products = here + stride * (stride + output)
                for j in range(q):
                    coef[j] = products[j]
                solve(matrix, q, coef)
                for j in range(q):
                    error -= coef[j] * products[j]
                    if j < q - 1:
                        error -= penalty * coef[j] * coef[j]
                    lines[i, output * stride + j] = <float> coef[j]
            errors_[i] = max(error, 0.0)
    free(matrix)
    return errors


# -- what a tree would lose if some of its splits were left out ------------------------------
#
# `bits` say on which side of each node each row is (see `SoftTree.sides`), whether it reaches the
# node or not. So a row can be sent down any part of the tree without another look at its columns.


cdef inline int32_t _leaf_below(const uint8_t* bits, const int32_t* child,
                                int32_t at) noexcept nogil:
    """The leaf, as -1 - its number, that a row reaches from a node or leaf."""
    while at >= 0:
        at = child[2 * at + ((bits[at >> 3] >> (at & 7)) & 1)]
    return at


def leaf_counts(const uint8_t[:, ::1] bits, const int32_t[:, ::1] child, int32_t root,
                const int32_t[::1] y, const int64_t[::1] weight, int64_t n_leaves,
                int64_t n_classes, int64_t first, int64_t last):
    """The weight of each class of some rows in each leaf of the tree below a root."""
    cdef int64_t row
    cdef int32_t at
    counts = np.zeros((n_leaves, n_classes), dtype=np.int64)
    cdef int64_t[:, ::1] counts_ = counts
    with nogil:
        for row in range(first, last):
            at = _leaf_below(&bits[row, 0], &child[0, 0], root)
            counts_[-1 - at, y[row]] += weight[row]
    return counts


def leaves_below(const uint8_t[:, ::1] bits, const int32_t[:, ::1] child, int32_t root,
                 int32_t[::1] leaf, int64_t first, int64_t last):
    """Notes the leaf of some rows in the tree below a root."""
    cdef int64_t row
    with nogil:
        for row in range(first, last):
            leaf[row] = -1 - _leaf_below(&bits[row, 0], &child[0, 0], root)


def raising_changes(const uint8_t[:, ::1] bits, const int32_t[:, ::1] child, int32_t root,
                    const int32_t[::1] y, const int64_t[::1] weight, const int32_t[::1] label,
                    int64_t first, int64_t last):
    """By node and side: what some rows lose if the split goes and only that side stays.

    The change of the weight of the rows that are misclassified, with the labels of the leaves as
    they are: rows of the other side are sent down this one.
    """
    cdef int64_t row
    cdef int32_t at, side, leaf, other
    cdef int64_t wrong
    changes = np.zeros((child.shape[0], 2), dtype=np.int64)
    cdef int64_t[:, ::1] changes_ = changes
    cdef const uint8_t* here
    with nogil:
        for row in range(first, last):
            here = &bits[row, 0]
            leaf = _leaf_below(here, &child[0, 0], root)
            wrong = label[-1 - leaf] != y[row]
            at = root
            while at >= 0:
                side = (here[at >> 3] >> (at & 7)) & 1
                other = _leaf_below(here, &child[0, 0], child[at, 1 - side])
                changes_[at, 1 - side] += weight[row] * (<int64_t> (label[-1 - other] != y[row])
                                                         - wrong)
                at = child[at, side]
    return changes
