"""Trees whose levels have fixed directions, grown for many folds at once (2C-ETCT).

All folds share one trie of nodes: a node is a way of lefts and rights. Level k of every fold
splits along direction k, so the rows are projected and sorted once per level, for all folds
together, and one walk over the sorted rows finds the best cut of every node of every fold. No rows
are moved: each row knows, per fold, the place of its node on the level. Rows that are at no open
node of any fold are left out from then on. A level costs what sorting its rows costs, and a step
per row and fold, whatever the number of nodes.

Of the test rows only sums are needed: a node is cut back if it does as well as a leaf in those
folds in which it has a split, and a fold has rows in its children exactly where it has a split.
The twin in `tests/reference/eigen_tree.py` is the specification.
"""

from libc.math cimport INFINITY, isfinite
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

import numpy as np

from obliqua._core.base.sort cimport SortBuffers, buffers_free, buffers_reserve, sort_order
from obliqua._core.base.types cimport i32, i64, midpoint, u8, u32

cdef i64 NO_CUT = 0x7FFFFFFFFFFFFFFF

cdef enum:
    TEST = 1 << 30           # added to the place of a test row
    BLOCK = 1024             # rows that are projected together: they stay in the cache


cdef struct Slot:
    # A node of one fold on the current level. What the search writes comes first.
    i64[2] left              # weight of the training rows that the walk has passed, by class
    double last              # the largest value so far, infinite before the first
    i64 error                # of the best cut; NO_CUT before the first, -1 if none is wanted
    double gini
    double threshold
    i64[4] sums              # weight of the classes: of training rows, then of test rows
    i64[2] rows              # training rows, test rows
    i32 node                 # in the trie
    i32 child                # place of its left child on the next level; -1: no split
    u8 label
    u8 is_open


cdef class FoldTrie:
    """The nodes of all folds: children stand in pairs, behind their parent."""

    cdef i32* child          # the left one; -1: none
    cdef i64* with_split     # correct test weight of the folds that divide the node
    cdef i64* without        # the same of the others
    cdef i64 size, capacity
    cdef readonly bint fixed     # no node may be added

    def __cinit__(self, children=None):
        cdef i64 k, n = 1 if children is None else len(children)
        cdef const i32[::1] given
        self.child = NULL
        self.with_split = NULL
        self.without = NULL
        self.size = 0
        self.capacity = 0
        self.fixed = children is not None
        if not self.reserve(max(n, 64)):
            raise MemoryError("no room for the nodes of the folds")
        self.size = n
        self.child[0] = -1
        if self.fixed:
            given = children
            for k in range(n):
                self.child[k] = given[k]

    def __dealloc__(self):
        free(self.child)
        free(self.with_split)
        free(self.without)

    def __len__(self):
        return self.size

    cdef bint reserve(self, i64 capacity) noexcept nogil:
        cdef void* grown
        if capacity <= self.capacity:
            return True
        grown = realloc(self.child, capacity * sizeof(i32))
        if grown == NULL:
            return False
        self.child = <i32*> grown
        grown = realloc(self.with_split, capacity * sizeof(i64))
        if grown == NULL:
            return False
        self.with_split = <i64*> grown
        grown = realloc(self.without, capacity * sizeof(i64))
        if grown == NULL:
            return False
        self.without = <i64*> grown
        memset(self.with_split + self.capacity, 0, (capacity - self.capacity) * sizeof(i64))
        memset(self.without + self.capacity, 0, (capacity - self.capacity) * sizeof(i64))
        self.capacity = capacity
        return True

    cdef i32 children_of(self, i32 node) noexcept nogil:
        """The left child; makes both if they are not there. -1: no memory."""
        if self.child[node] >= 0:
            return self.child[node]
        if self.size + 2 > 2147483647 or not self.reserve(
                self.capacity if self.size + 2 <= self.capacity else 2 * self.capacity):
            return -1
        self.child[node] = <i32> self.size
        self.child[self.size] = -1
        self.child[self.size + 1] = -1
        self.size += 2
        return self.child[node]

    cdef void count(self, i32 node, i64 correct, bint split) noexcept nogil:
        """Adds what a fold gets right at a node, as a leaf."""
        if split:
            self.with_split[node] += correct
        else:
            self.without[node] += correct

    def prune(self):
        """Cuts nodes back that do as well as leaves; returns the correct weight and the children.

        The nodes that are left are numbered level by level: an array of left children, -1 for
        leaves, and beside it the old numbers.
        """
        cdef i64 k, n, below
        cdef i32 first
        total = np.empty(self.size, dtype=np.int64)
        cdef i64[::1] sums = total
        with nogil:
            for k in range(self.size - 1, -1, -1):
                first = self.child[k]
                sums[k] = self.with_split[k] + self.without[k]
                if first < 0:
                    continue
                below = sums[first] + sums[first + 1]
                if self.with_split[k] >= below:
                    self.child[k] = -1
                else:
                    sums[k] = self.without[k] + below
        kept, old = [], [0]
        n = 0
        while n < len(old):
            first = self.child[<i64> old[n]]
            kept.append(-1 if first < 0 else len(old))
            if first >= 0:
                old += [first, first + 1]
            n += 1
        return int(sums[0]), np.array(kept, dtype=np.int32), np.array(old, dtype=np.int32)


cdef class FoldGrower:
    """Grows some folds level by level; tests go with them.

    Parameters: the rows, column by column; their classes, 0 or 1; their weights or None; for each
    row and division the number of the fold that it tests; which folds to grow, as (division,
    number) pairs; the trie. A fold with the number -1 has no test rows.
    """

    cdef const double* columns
    cdef const i32* y
    cdef const i64* weights
    cdef i64 n_rows, n_folds
    cdef object held                 # what the pointers point into
    cdef FoldTrie trie
    cdef i32* place                  # per row that is alive, and fold: its slot, -1 for none
    cdef i32* alive                  # their row numbers, ascending
    cdef i64 n_alive, n_open         # rows; and rows at open nodes, fold by fold
    cdef double* values
    cdef u32* order
    cdef SortBuffers buffers
    cdef Slot** slots                # per fold, those of this level
    cdef Slot** coming               # and of the next
    cdef i64* n_slots
    cdef i64* capacity
    cdef i64* coming_capacity
    cdef bint short_of_memory
    # What each fold has at each node, if the trie is fixed.
    cdef i64[:, :, ::1] fold_train
    cdef i64[:, :, ::1] fold_test
    cdef double[:, ::1] fold_threshold
    cdef i64[:, ::1] fold_rows
    cdef i32[:, ::1] fold_label

    def __cinit__(self, const double[::1, :] columns, const i32[::1] y, weights,
                  const i32[:, ::1] numbers, const i32[:, ::1] folds, FoldTrie trie):
        cdef i64 f, row
        cdef const i64[::1] w
        self.n_rows = columns.shape[0]
        self.n_folds = folds.shape[0]
        self.columns = &columns[0, 0]
        self.y = &y[0]
        self.weights = NULL
        if weights is not None:
            w = weights
            self.weights = &w[0]
        self.held = (columns, y, weights)
        self.trie = trie
        cdef i64 n = self.n_rows, k = self.n_folds
        self.place = <i32*> calloc(n * k, sizeof(i32))
        self.alive = <i32*> malloc(n * sizeof(i32))
        self.values = <double*> malloc(n * sizeof(double))
        self.order = <u32*> malloc(n * sizeof(u32))
        self.slots = <Slot**> calloc(k, sizeof(Slot*))
        self.coming = <Slot**> calloc(k, sizeof(Slot*))
        self.n_slots = <i64*> calloc(k, sizeof(i64))
        self.capacity = <i64*> calloc(k, sizeof(i64))
        self.coming_capacity = <i64*> calloc(k, sizeof(i64))
        memset(&self.buffers, 0, sizeof(self.buffers))
        if (self.place == NULL or self.alive == NULL or self.values == NULL or self.order == NULL
                or self.slots == NULL or self.coming == NULL or self.n_slots == NULL
                or self.capacity == NULL or self.coming_capacity == NULL
                or not buffers_reserve(&self.buffers, n)):
            raise MemoryError("no room for the rows of the folds")
        for row in range(n):
            self.alive[row] = <i32> row
            for f in range(k):
                if numbers[row, folds[f, 0]] == folds[f, 1]:
                    self.place[row * k + f] = TEST
        self.n_alive = n
        if trie.fixed:
            self.fold_train = np.zeros((trie.size, k, 2), dtype=np.int64)
            self.fold_test = np.zeros((trie.size, k, 2), dtype=np.int64)
            self.fold_threshold = np.full((trie.size, k), np.nan)
            self.fold_rows = np.full((trie.size, k), -1, dtype=np.int64)
            self.fold_label = np.zeros((trie.size, k), dtype=np.int32)

    def __dealloc__(self):
        cdef i64 f
        if self.slots != NULL and self.coming != NULL:
            for f in range(self.n_folds):
                free(self.slots[f])
                free(self.coming[f])
        free(self.place)
        free(self.alive)
        free(self.values)
        free(self.order)
        free(self.slots)
        free(self.coming)
        free(self.n_slots)
        free(self.capacity)
        free(self.coming_capacity)
        buffers_free(&self.buffers)

    def per_fold(self):
        """What each fold has at each node of a fixed trie.

        Training and test weight by class, thresholds, training rows and labels; -1 rows where a
        fold has no data.
        """
        return (np.asarray(self.fold_train), np.asarray(self.fold_test),
                np.asarray(self.fold_threshold), np.asarray(self.fold_rows),
                np.asarray(self.fold_label))

    def begin(self, bint more):
        """Puts all rows at the root. `more`: whether there is a direction for it."""
        cdef i64 f
        with nogil:
            for f in range(self.n_folds):
                if not reserve_slots(&self.coming[f], &self.coming_capacity[f], 2):
                    self.short_of_memory = True
                    break
                memset(&self.coming[f][0], 0, sizeof(Slot))
                self.n_slots[f] = 1
            if not self.short_of_memory:
                self.send_on(False)
                self.next_level(more)
        self.check_memory()
        return self.n_open > 0

    def step(self, const i32[::1] columns, const double[::1] coef, double nothing, bint more):
        """Divides the nodes of this level along a direction; returns whether any are left.

        `nothing`: values that are not further apart are the same. `more`: whether there is a
        direction for the next level.
        """
        cdef bint usable
        with nogil:
            usable = self.project(columns, coef)
            if usable:
                sort_order(self.values, self.order, self.n_alive, &self.buffers)
                self.search(nothing)
            self.divide()
            if not self.short_of_memory:
                self.next_level(more)
        self.check_memory()
        return self.n_open > 0

    cdef check_memory(self):
        if self.short_of_memory:
            raise MemoryError("no room for the nodes of the folds")

    cdef bint project(self, const i32[::1] columns, const double[::1] coef) noexcept nogil:
        """The values of the rows along a direction: the canonical dot product.

        False if one of them is not finite: there is nothing to split along then.
        """
        cdef i64 start, end, j, k
        cdef double a
        cdef const double* column
        cdef bint finite = True
        start = 0
        while start < self.n_alive:
            end = min(start + BLOCK, self.n_alive)
            for j in range(start, end):
                self.values[j] = 0.0
            for k in range(columns.shape[0]):
                a = coef[k]
                column = self.columns + columns[k] * self.n_rows
                if self.n_alive == self.n_rows:
                    for j in range(start, end):
                        self.values[j] += a * column[j]
                else:
                    for j in range(start, end):
                        self.values[j] += a * column[self.alive[j]]
            for j in range(start, end):
                finite = finite and isfinite(self.values[j])
            start = end
        return finite and columns.shape[0] > 0

    cdef void search(self, double nothing) noexcept nogil:
        """Finds the best cut of all open nodes in one walk over the sorted rows."""
        cdef i64 i, j, row, f, k = self.n_folds, weight = 1, error, l0, l1
        cdef i32 c
        cdef u32 here
        cdef double value, score
        cdef Slot* slot
        for i in range(self.n_alive):
            j = self.order[i] & 0x7FFFFFFF
            row = self.alive[j]
            value = self.values[j]
            c = self.y[row]
            if self.weights != NULL:
                weight = self.weights[row]
            for f in range(k):
                here = <u32> self.place[j * k + f]
                if here >= TEST:             # nowhere, or a test row
                    continue
                slot = &self.slots[f][here]
                if value - slot.last > nothing:
                    l0 = slot.left[0]
                    l1 = slot.left[1]
                    error = min(l0, l1) + min(slot.sums[0] - l0, slot.sums[1] - l1)
                    if error <= slot.error:
                        score = gini(slot)
                        if error < slot.error or score > slot.gini:
                            slot.error = error
                            slot.gini = score
                            slot.threshold = midpoint(slot.last, value)
                slot.last = value
                slot.left[c] += weight

    cdef void divide(self) noexcept nogil:
        """Makes the slots of the next level and sends all rows there."""
        cdef i64 f, s, n, k = self.n_folds
        cdef i32 first
        cdef Slot* slot
        cdef i64 correct
        for f in range(k):
            n = 0
            for s in range(self.n_slots[f]):
                slot = &self.slots[f][s]
                slot.child = -1
                if not slot.is_open:
                    continue
                correct = slot.sums[2 + slot.label]
                if slot.error == NO_CUT:
                    self.trie.count(slot.node, correct, False)
                    continue
                self.trie.count(slot.node, correct, True)
                if self.trie.fixed:
                    self.fold_threshold[slot.node, f] = slot.threshold
                first = self.trie.children_of(slot.node)
                if first < 0 or not reserve_slots(&self.coming[f], &self.coming_capacity[f],
                                                  n + 2):
                    self.short_of_memory = True
                    return
                slot.child = <i32> n
                memset(&self.coming[f][n], 0, 2 * sizeof(Slot))
                self.coming[f][n].node = first
                self.coming[f][n + 1].node = first + 1
                self.coming[f][n].label = slot.label         # the parent's, for ties
                self.coming[f][n + 1].label = slot.label
                n += 2
            self.n_slots[f] = n
        self.send_on(True)

    cdef void send_on(self, bint down) noexcept nogil:
        """Sends the rows to the slots of the next level and adds them up there.

        `down`: from those of this level; otherwise all rows start at the root.
        """
        cdef i64 j, f, row, k = self.n_folds, weight = 1
        cdef i32 here, c, test
        cdef double value
        cdef Slot* slot
        for j in range(self.n_alive):
            row = self.alive[j]
            value = self.values[j]
            c = self.y[row]
            if self.weights != NULL:
                weight = self.weights[row]
            for f in range(k):
                here = self.place[j * k + f]
                if here < 0:
                    continue
                test = here & TEST
                if down:
                    slot = &self.slots[f][here & ~TEST]
                    if slot.child < 0:
                        self.place[j * k + f] = -1
                        continue
                    here = slot.child + (not value <= slot.threshold)
                    self.place[j * k + f] = here | test
                slot = &self.coming[f][here & ~TEST]
                slot.sums[(2 if test else 0) + c] += weight
                slot.rows[1 if test else 0] += 1

    cdef void next_level(self, bint more) noexcept nogil:
        """Labels the new slots, closes those that cannot be divided, lets go of their rows."""
        cdef i64 f, s, before, k = self.n_folds
        cdef Slot* slot
        cdef Slot* swap
        self.n_open = 0
        for f in range(k):
            swap = self.slots[f]
            self.slots[f] = self.coming[f]
            self.coming[f] = swap
            before = self.capacity[f]
            self.capacity[f] = self.coming_capacity[f]
            self.coming_capacity[f] = before
            for s in range(self.n_slots[f]):
                slot = &self.slots[f][s]
                if slot.sums[0] != slot.sums[1]:
                    slot.label = slot.sums[1] > slot.sums[0]
                slot.is_open = (more and slot.sums[0] > 0 and slot.sums[1] > 0
                                and not (self.trie.fixed and self.trie.child[slot.node] < 0))
                slot.error = NO_CUT if slot.is_open else -1
                slot.last = INFINITY
                if slot.is_open:
                    self.n_open += slot.rows[0] + slot.rows[1]
                else:
                    self.trie.count(slot.node, slot.sums[2 + slot.label], False)
                if self.trie.fixed:
                    self.note(f, slot)
        # Rows that are at an open node of no fold are let go when it pays to look for them.
        if self.n_open * 4 < 3 * self.n_alive * k:
            self.let_go()

    cdef void let_go(self) noexcept nogil:
        cdef i64 j, f, kept = 0, k = self.n_folds
        cdef i32 here
        cdef bint any_open
        for j in range(self.n_alive):
            any_open = False
            for f in range(k):
                here = self.place[j * k + f]
                if here >= 0 and not self.slots[f][here & ~TEST].is_open:
                    here = -1
                any_open = any_open or here >= 0
                self.place[kept * k + f] = here
            if any_open:
                self.alive[kept] = self.alive[j]
                kept += 1
        self.n_alive = kept

    cdef void note(self, i64 f, const Slot* slot) noexcept nogil:
        cdef int c
        for c in range(2):
            self.fold_train[slot.node, f, c] = slot.sums[c]
            self.fold_test[slot.node, f, c] = slot.sums[2 + c]
        self.fold_rows[slot.node, f] = slot.rows[0]
        self.fold_label[slot.node, f] = slot.label


cdef inline double gini(const Slot* slot) noexcept nogil:
    """The decrease of Gini impurity at the walk's place, but for what all cuts of a node share."""
    cdef double l0 = <double> slot.left[0], l1 = <double> slot.left[1]
    cdef double r0 = <double> (slot.sums[0] - slot.left[0])
    cdef double r1 = <double> (slot.sums[1] - slot.left[1])
    cdef double apart = l0 * r1 - l1 * r0
    return apart * apart / ((l0 + l1) * (r0 + r1))


cdef bint reserve_slots(Slot** slots, i64* capacity, i64 n) noexcept nogil:
    cdef i64 size = capacity[0]
    cdef void* new
    if n <= size:
        return True
    size = max(2 * size, n, 16)
    new = realloc(slots[0], size * sizeof(Slot))
    if new == NULL:
        return False
    slots[0] = <Slot*> new
    capacity[0] = size
    return True
