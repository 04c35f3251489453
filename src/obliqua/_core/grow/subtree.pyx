"""Growing without the GIL: the rules, the single steps of a node, whole subtrees.

Axis-parallel cuts come from the sorted columns. A method with a compiled `Finder` looks for
oblique cuts beside them; its nodes are windows on an array of row numbers too.

`Subtree` strings the steps together, depth first or best first. The growth loop in Python calls
them one by one for large nodes with several threads, and beside proposers and criteria written in
Python.
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.rng cimport OF_COLUMNS, draw_below, key_of_child, mix
from obliqua._core.base.target cimport Target, TargetRows, squared_error, weight_of
from obliqua._core.base.types cimport (
    GO_LEFT, GO_RIGHT, STAND_IN, Cut, Scorer, i32, i64, u8, u64,
)
from obliqua._core.grow.finder cimport (
    FitData, Finder, PlaneStore, store_export, store_free, store_keep,
)
from obliqua._core.search.column_lists cimport ColumnLists
from obliqua._core.search.criterion cimport ABSOLUTE_ERROR, of_numbers
from obliqua._core.search.medians cimport Medians, medians_free, medians_init, medians_read

cdef enum:
    OBLIQUE = -3

# The hyperplanes of a subtree without any: coef_ptr, and their terms.
NO_PLANES = (np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), *np.empty((3, 0)),
             np.empty(0, dtype=np.int64), np.empty(0))

cdef i64 MANY_NODES = (<i64> 1) << 16
cdef i64 NOWHERE = (<i64> 1) << 62       # "no direction yet" that every direction precedes


cdef struct GrowthLimits:
    int code
    i64 total_weight
    i64 max_depth
    i64 max_leaves
    i64 min_split
    i64 min_rows
    i64 min_weight
    double min_gain
    double max_leaf_error
    bint zero_gain


cdef GrowthLimits read_limits(object rules, int code, i64 total_weight) except *:
    cdef GrowthLimits limits
    limits.code = code
    limits.total_weight = total_weight
    limits.max_depth = NOWHERE if rules.max_depth is None else rules.max_depth
    limits.max_leaves = NOWHERE if rules.max_leaf_nodes is None else rules.max_leaf_nodes
    limits.min_split = rules.min_samples_split
    limits.min_rows = max(rules.min_samples_leaf, 1)
    limits.min_weight = rules.min_weight_leaf
    limits.min_gain = rules.min_gain
    limits.max_leaf_error = rules.max_leaf_error
    limits.zero_gain = rules.zero_gain
    return limits


cdef bint must_be_leaf(const GrowthLimits* limits, const Target* target, const i64* counts,
                       i64 rows, i64 weight, i64 depth) noexcept nogil:
    """The rules that end growth before any search."""
    cdef int c
    cdef i64 top = 0
    if (rows < limits.min_split or depth >= limits.max_depth or rows < 2 * limits.min_rows
            or weight < 2 * limits.min_weight):
        return True
    if target.n_numbers:
        return squared_error(counts, target.n_numbers) == 0.0
    for c in range(target.n_sums):
        if counts[c] > top:
            top = counts[c]
    return (<double> (weight - top)) / (<double> weight) <= limits.max_leaf_error


cdef void search_columns(ColumnLists columns, const u64* active, i64 start, i64 end,
                         const Scorer* scorer, bint exhaustive, i64* scratch, void* spare,
                         Cut* best, u64* varying) noexcept nogil:
    """Best cut over the active columns; `varying` loses the columns that are constant here."""
    cdef i64 col, word
    cdef u64 bits
    cdef bint constant
    for word in range((columns.n_cols + 63) // 64):
        bits = active[word]
        col = 64 * word
        while bits:
            if bits & 1:
                columns.scan(col, start, end, scorer, exhaustive, scratch, spare, best, &constant)
                if constant and varying != NULL:
                    varying[word] &= ~((<u64> 1) << (col & 63))
                # Two rows can be told apart in one way only, and the first column wins ties.
                if not constant and end - start == 2 and of_numbers(scorer.code):
                    return
            bits >>= 1
            col += 1


cdef void read_node(Medians* medians, ColumnLists columns, const u64* active, i64 start,
                    i64 end) noexcept nogil:
    """Reads the rows of a node from a column that may vary there; without one, nothing."""
    cdef i64 col
    for col in range(columns.n_cols):
        if active[col // 64] >> (col & 63) & 1:
            columns.copy_rows(col, start, end, medians.rows)
            medians_read(medians, end - start)
            return


cdef int side_for_missing(ColumnLists columns, i64 col, const Cut* cut, i64 weight_left,
                          i64 weight) noexcept nogil:
    """Where a cut of a column sends missing values: with most rows, if none are here."""
    if cut.missing != STAND_IN or columns.gaps == NULL or not columns.gaps[col]:
        return cut.missing
    return GO_LEFT if 2 * weight_left >= weight else GO_RIGHT


# -- single steps, for the loop in Python -------------------------------------------------------


def leaf_without_search(rules, TargetRows target, const i64[::1] counts, i64 rows, i64 depth):
    """Whether the growth rules make this node a leaf before any search."""
    cdef GrowthLimits limits = read_limits(rules, 0, 1)
    cdef i64 weight = weight_of(&target.target, &counts[0])
    return must_be_leaf(&limits, &target.target, &counts[0], rows, weight, depth)


def best_axis_cut(ColumnLists columns, const u64[::1] active, i64 start, i64 end,
                  const i64[::1] counts, int code, i64 min_rows, i64 min_weight,
                  bint exhaustive):
    """Best cut over some columns: (score, column, rows left, missing rows, columns that vary).

    Column -1: no cut has a positive score (with `exhaustive`: a score of at least zero).
    """
    cdef Scorer scorer
    cdef Medians medians
    cdef Cut best
    varying = np.array(active, dtype=np.uint64)
    cdef u64[::1] varying_ = varying
    cdef i64* scratch = <i64*> malloc(4 * counts.shape[0] * sizeof(i64))
    cdef void* spare = NULL
    if columns.gaps != NULL:
        spare = malloc((end - start) * columns.entry_size())
    if scratch == NULL or (spare == NULL and columns.gaps != NULL):
        free(scratch)
        free(spare)
        raise MemoryError
    if code == ABSOLUTE_ERROR and not medians_init(&medians, columns.target, columns.n_rows,
                                                   end - start):
        free(scratch)
        free(spare)
        raise MemoryError
    scorer.medians = &medians
    scorer.code = code
    scorer.n_sums = counts.shape[0]
    scorer.n_rows = end - start
    scorer.weight = weight_of(columns.target, &counts[0])
    scorer.counts = &counts[0]
    scorer.min_rows = min_rows
    scorer.min_weight = min_weight
    best.score = 0.0
    best.direction = NOWHERE if exhaustive else -1
    best.rows_left = 0
    best.missing = STAND_IN
    with nogil:
        if code == ABSOLUTE_ERROR:
            read_node(&medians, columns, &active[0], start, end)
        search_columns(columns, &active[0], start, end, &scorer, exhaustive, scratch, spare, &best,
                       &varying_[0])
        if code == ABSOLUTE_ERROR:
            medians_free(&medians)
    free(scratch)
    free(spare)
    column = -1 if best.direction == NOWHERE else best.direction
    return best.score, column, best.rows_left, best.missing, varying


def make_axis_cut(ColumnLists columns, i64 col, i64 start, i64 end, const i64[::1] counts,
                  i64 rows_left, int missing):
    """Marks the sides of a cut of a column: (sums of the left, threshold, missing rows)."""
    cdef Cut cut
    cdef double threshold
    left = np.empty(columns.target.n_sums, dtype=np.int64)
    cdef i64[::1] left_ = left
    cut.rows_left = rows_left
    cut.missing = missing
    with nogil:
        threshold = columns.threshold(col, start, end, &cut)
        columns.mark_sides(col, start, end, &cut, &left_[0])
    return left, threshold, side_for_missing(columns, col, &cut,
                                             weight_of(columns.target, &left_[0]),
                                             weight_of(columns.target, &counts[0]))


def divide_columns(ColumnLists columns, const u64[::1] active, i64 skip, i64 start, i64 end):
    """Divides the windows of some columns by the marked sides; `skip` is divided already."""
    cdef i64 word, col
    cdef u64 bits
    cdef void* spare = malloc((end - start) * columns.entry_size())
    if spare == NULL:
        raise MemoryError
    with nogil:
        for word in range((columns.n_cols + 63) // 64):
            bits = active[word]
            col = 64 * word
            while bits:
                if bits & 1 and col != skip:
                    columns.divide(col, start, end, spare)
                bits >>= 1
                col += 1
    free(spare)


# -- whole subtrees ----------------------------------------------------------------------------


cdef struct SubtreeNode:
    # Unlimited trees have as many of them as rows, so they are kept small.
    i32 start
    i32 end
    i32 rows_left
    i32 slot                 # its set of columns that still vary
    i32 parent
    i32 depth
    i32 feature              # -1: no split, OBLIQUE: a hyperplane
    double threshold
    double gain


cdef struct FoundPlane:
    # What a finder adds to a node.
    i64 plane                # where its coefficients begin
    i64 direction            # the finder's number of its direction
    double axis_gain         # of the best axis-parallel split
    u64 key                  # of its random numbers
    i32 n_coef


cdef class Subtree:
    """A subtree in the making: its nodes, their sums, and scratch memory."""

    cdef ColumnLists columns
    cdef const Target* target
    cdef GrowthLimits limits
    cdef SubtreeNode* nodes
    cdef FoundPlane* found   # per node; NULL without a finder
    cdef u8* missing         # per node: where missing values go; NULL if there are none
    cdef bint knows_missing
    cdef i64* counts
    cdef i64 largest         # rows of its root
    cdef i64 n_nodes
    cdef i64 capacity
    cdef u64* slots
    cdef i64* free_slots
    cdef i64 n_free
    cdef i64 slot_capacity
    cdef i64 set_words       # numbers of 64 bits that make up a set of columns
    cdef i64* scratch
    cdef void* spare
    cdef i64* pending        # a stack, or a heap by gain
    cdef i64 n_pending
    cdef i64 pending_capacity
    cdef bint failed
    cdef Finder finder       # None: axis-parallel cuts only
    cdef FitData data
    cdef object held         # the array behind `rows`
    cdef i32* rows
    cdef i32* row_spare
    cdef PlaneStore planes   # coefficients of all hyperplanes
    cdef Medians medians     # for a criterion that needs rows
    cdef i64 n_drawn         # columns that a node looks at; 0: all
    cdef bint chooses        # whether the finder knows of those alone
    cdef i64 n_passed        # how many this node has drawn so far
    cdef u64 state           # of the node's random numbers for that
    cdef u64* keys           # per node
    cdef i32* every          # all columns; those that were drawn stand in front
    cdef i32* swaps          # how to put them back
    cdef i32* drawn          # those at hand, ascending
    cdef u64* batch          # those of them that may vary, as a set
    cdef u8* looked_at       # and all, as a mask

    def __cinit__(self, ColumnLists columns, rules, int code, i64 total_weight, i64 largest,
                  Finder finder=None, i32[::1] row_numbers=None, i64 n_drawn=0,
                  bint chooses=False):
        self.columns = columns
        self.target = columns.target
        self.limits = read_limits(rules, code, total_weight)
        self.set_words = (columns.n_cols + 63) // 64
        self.largest = largest
        self.scratch = <i64*> malloc(4 * self.target.n_sums * sizeof(i64))
        self.spare = malloc(largest * columns.entry_size())
        if self.scratch == NULL or self.spare == NULL or (
                code == ABSOLUTE_ERROR
                and not medians_init(&self.medians, self.target, columns.n_rows, largest)):
            raise MemoryError("no room to grow a tree")
        self.n_drawn, self.chooses = n_drawn, chooses
        if n_drawn:
            self.make_draws()
        self.finder = finder
        self.knows_missing = columns.gaps != NULL
        if finder is None:
            return
        self.held = row_numbers
        finder.columns = columns
        if n_drawn and not chooses:
            finder.looked_at = self.looked_at
        self.rows = &row_numbers[0]
        self.data.view = columns.view
        self.data.target = columns.target[0]
        self.row_spare = <i32*> malloc(largest * sizeof(i32))
        if self.row_spare == NULL:
            raise MemoryError("no room to grow a tree")

    def __dealloc__(self):
        free(self.keys)
        free(self.every)
        free(self.swaps)
        free(self.drawn)
        free(self.batch)
        free(self.looked_at)
        free(self.row_spare)
        store_free(&self.planes)
        medians_free(&self.medians)
        free(self.nodes)
        free(self.found)
        free(self.missing)
        free(self.counts)
        free(self.slots)
        free(self.free_slots)
        free(self.scratch)
        free(self.spare)
        free(self.pending)

    # -- memory ------------------------------------------------------------------------------

    cdef i64 more_nodes(self) noexcept nogil:
        """For how many nodes to make room next: twice as many, and soon for all that may come.

        Memory that is not written to costs nothing, where arrays that grow leave holes behind.
        """
        cdef i64 most = 2 * min(self.largest // self.limits.min_rows + 1, self.limits.max_leaves)
        cdef i64 capacity = max(2 * self.capacity, <i64> 64)
        return most if capacity >= MANY_NODES and most > capacity else capacity

    cdef i64 add_node(self, i64 start, i64 end, i32 parent, i32 depth) noexcept nogil:
        """A new node; -1 if there is no memory."""
        cdef i64 capacity
        cdef void* grown
        cdef SubtreeNode* node
        if self.n_nodes == self.capacity:
            capacity = self.more_nodes()
            grown = realloc(self.nodes, capacity * sizeof(SubtreeNode))
            if grown == NULL:
                self.failed = True
                return -1
            self.nodes = <SubtreeNode*> grown
            grown = realloc(self.counts, capacity * self.target.n_sums * sizeof(i64))
            if grown == NULL:
                self.failed = True
                return -1
            self.counts = <i64*> grown
            if self.rows != NULL:
                grown = realloc(self.found, capacity * sizeof(FoundPlane))
                if grown == NULL:
                    self.failed = True
                    return -1
                self.found = <FoundPlane*> grown
            if self.n_drawn:
                grown = realloc(self.keys, capacity * sizeof(u64))
                if grown == NULL:
                    self.failed = True
                    return -1
                self.keys = <u64*> grown
            if self.knows_missing:
                grown = realloc(self.missing, capacity)
                if grown == NULL:
                    self.failed = True
                    return -1
                self.missing = <u8*> grown
            self.capacity = capacity
        node = &self.nodes[self.n_nodes]
        node.start = <i32> start
        node.end = <i32> end
        node.parent = parent
        node.depth = depth
        node.feature = -1
        node.slot = -1
        node.rows_left = 0
        node.threshold = 0.0
        node.gain = 0.0
        if self.rows != NULL:
            memset(&self.found[self.n_nodes], 0, sizeof(FoundPlane))
            self.found[self.n_nodes].direction = -1
        if self.knows_missing:
            self.missing[self.n_nodes] = STAND_IN
        self.n_nodes += 1
        return self.n_nodes - 1

    cdef i64 take_slot(self, const u64* active) noexcept nogil:
        cdef i64 capacity, k
        cdef void* grown
        if self.n_free == 0:
            capacity = max(2 * self.slot_capacity, 64)
            grown = realloc(self.slots, capacity * self.set_words * sizeof(u64))
            if grown == NULL:
                self.failed = True
                return -1
            self.slots = <u64*> grown
            grown = realloc(self.free_slots, capacity * sizeof(i64))
            if grown == NULL:
                self.failed = True
                return -1
            self.free_slots = <i64*> grown
            for k in range(self.slot_capacity, capacity):
                self.free_slots[self.n_free] = k
                self.n_free += 1
            self.slot_capacity = capacity
        self.n_free -= 1
        k = self.free_slots[self.n_free]
        if active != NULL:
            memcpy(self.slots + k * self.set_words, active, self.set_words * sizeof(u64))
        return k

    cdef void give_slot(self, i64 slot) noexcept nogil:
        self.free_slots[self.n_free] = slot
        self.n_free += 1

    cdef void push(self, i64 node) noexcept nogil:
        cdef i64 capacity
        cdef void* grown
        if self.n_pending == self.pending_capacity:
            capacity = max(2 * self.pending_capacity, 64)
            grown = realloc(self.pending, capacity * sizeof(i64))
            if grown == NULL:
                self.failed = True
                return
            self.pending = <i64*> grown
            self.pending_capacity = capacity
        self.pending[self.n_pending] = node
        self.n_pending += 1

    # -- one node ----------------------------------------------------------------------------

    cdef i64* sums(self, i64 node) noexcept nogil:
        return self.counts + node * self.target.n_sums

    cdef Scorer scorer(self, i64 node) noexcept nogil:
        cdef Scorer scorer
        scorer.code = self.limits.code
        scorer.n_sums = self.target.n_sums
        scorer.n_rows = self.nodes[node].end - self.nodes[node].start
        scorer.weight = weight_of(self.target, self.sums(node))
        scorer.counts = self.sums(node)
        scorer.min_rows = self.limits.min_rows
        scorer.min_weight = self.limits.min_weight
        scorer.medians = &self.medians
        return scorer

    cdef bint is_leaf(self, i64 node) noexcept nogil:
        cdef SubtreeNode* here = &self.nodes[node]
        return must_be_leaf(&self.limits, self.target, self.sums(node), here.end - here.start,
                            weight_of(self.target, self.sums(node)), here.depth)

    cdef void read_rows(self, i64 node) noexcept nogil:
        """Lets a criterion that needs rows read those of a node."""
        cdef SubtreeNode* here = &self.nodes[node]
        if self.rows == NULL:
            read_node(&self.medians, self.columns, self.slots + here.slot * self.set_words,
                      here.start, here.end)
            return
        memcpy(self.medians.rows, self.rows + here.start, (here.end - here.start) * sizeof(i32))
        medians_read(&self.medians, here.end - here.start)

    # -- drawing columns ---------------------------------------------------------------------

    cdef int make_draws(self) except -1:
        """Makes room to draw columns."""
        cdef i64 k, p = self.columns.n_cols
        self.every = <i32*> malloc(p * sizeof(i32))
        self.swaps = <i32*> malloc(p * sizeof(i32))
        self.drawn = <i32*> malloc(self.n_drawn * sizeof(i32))
        self.batch = <u64*> malloc(self.set_words * sizeof(u64))
        self.looked_at = <u8*> calloc(p, 1)
        if (self.every == NULL or self.swaps == NULL or self.drawn == NULL or self.batch == NULL
                or self.looked_at == NULL):
            raise MemoryError("no room to draw columns")
        for k in range(p):
            self.every[k] = <i32> k
        return 0

    cdef void begin_draws(self, u64 key) noexcept nogil:
        self.n_passed = 0
        self.state = mix(key, OF_COLUMNS)

    cdef bint draw(self, const u64* active) noexcept nogil:
        """Draws the next columns; the last ones may have been there before. False: no more."""
        cdef i64 k, at, word, n = 0, p = self.columns.n_cols, end
        cdef i32 col
        cdef u64 bits
        if self.n_passed == p:
            return False
        self.forget_batch()
        end = min(self.n_passed + self.n_drawn, p)
        for k in range(self.n_passed, end):
            at = k + draw_below(&self.state, p - k)
            col = self.every[k]
            self.every[k] = self.every[at]
            self.every[at] = col
            self.swaps[k] = <i32> at
        self.n_passed = end
        memset(self.batch, 0, self.set_words * sizeof(u64))
        for k in range(end - self.n_drawn, end):
            col = self.every[k]
            self.batch[col // 64] |= (<u64> 1) << (col & 63)
            self.looked_at[col] = 1
        for word in range(self.set_words):
            bits = self.batch[word]
            k = 64 * word
            while bits:
                if bits & 1:
                    self.drawn[n] = <i32> k
                    n += 1
                bits >>= 1
                k += 1
            self.batch[word] &= active[word]
        if self.chooses:
            self.finder.take_columns(self.drawn)
        return True

    cdef void forget_batch(self) noexcept nogil:
        cdef i64 k
        if self.n_passed:
            for k in range(self.n_drawn):
                self.looked_at[self.drawn[k]] = 0

    cdef void end_draws(self) noexcept nogil:
        """Puts the columns back, so that the next node draws from the same order."""
        cdef i64 k
        cdef i32 col
        self.forget_batch()
        for k in range(self.n_passed - 1, -1, -1):
            col = self.every[k]
            self.every[k] = self.every[self.swaps[k]]
            self.every[self.swaps[k]] = col
        self.n_passed = 0

    cdef bint look(self, i64 node, const u64* looked, const Scorer* scorer, Cut* best,
                   double* axis_score) noexcept nogil:
        """Looks for a cut with gain among some columns; whether it is an oblique one."""
        cdef SubtreeNode* here = &self.nodes[node]
        cdef bint oblique = False
        cdef Cut found
        if self.rows == NULL or not self.finder.looks_at_axes:
            search_columns(self.columns, looked, here.start, here.end, scorer, False,
                           self.scratch, self.spare, best,
                           self.slots + here.slot * self.set_words)
        axis_score[0] = best.score
        if self.rows != NULL:
            found = best[0]
            if self.chooses and found.direction > 0:
                found.direction = 0              # before all directions of the finder
            self.finder.key = self.found[node].key
            oblique = self.finder.find(&self.data, self.rows + here.start, here.end - here.start,
                                       scorer, &found, self.columns.side)
            axis_score[0] = self.finder.axis_score
            if oblique or not self.chooses:
                best[0] = found
        return oblique

    cdef bint find_split(self, i64 node) noexcept nogil:
        """Finds the best cut of a node; False if it has none."""
        cdef SubtreeNode* here = &self.nodes[node]
        cdef Scorer scorer = self.scorer(node)
        cdef u64* active = self.slots + here.slot * self.set_words
        cdef Cut best
        cdef double share = (<double> scorer.weight) / (<double> self.limits.total_weight)
        cdef double axis_score = 0.0
        cdef bint oblique = False
        cdef bint with_columns = self.rows == NULL or not self.finder.looks_at_axes
        best.score = 0.0
        best.direction = -1
        best.missing = STAND_IN
        if scorer.code == ABSOLUTE_ERROR:
            self.read_rows(node)
        if self.n_drawn:
            self.begin_draws(self.keys[node])
            while best.direction < 0 and not self.columns.stop and self.draw(active):
                oblique = self.look(node, self.batch, &scorer, &best, &axis_score)
            self.end_draws()
        else:
            oblique = self.look(node, active, &scorer, &best, &axis_score)
        if best.direction < 0 and self.limits.zero_gain and with_columns:
            best.direction = NOWHERE
            best.rows_left = 0
            search_columns(self.columns, active, here.start, here.end, &scorer, True,
                           self.scratch, self.spare, &best, NULL)
            if best.direction == NOWHERE:
                best.direction = -1
            if self.rows != NULL:
                self.finder.looked_at = NULL     # all columns were drawn in vain
                oblique = self.finder.find_any(&self.data, self.rows + here.start,
                                               here.end - here.start, &scorer, &best,
                                               self.columns.side)
                if self.n_drawn and not self.chooses:
                    self.finder.looked_at = self.looked_at
        self.columns.mind_signals((<i64> (here.end - here.start)) * self.columns.n_cols)
        if best.direction < 0:
            return False
        here.gain = share * best.score
        if self.rows != NULL:
            self.found[node].axis_gain = share * axis_score
        if here.gain < self.limits.min_gain:
            here.gain = 0.0
            return False
        here.feature = OBLIQUE if oblique else <i32> best.direction
        if self.knows_missing:
            self.missing[node] = <u8> (self.finder.missing if oblique else best.missing)
        if oblique:
            self.found[node].direction = best.direction
            self.found[node].plane = self.planes.n_terms
            self.found[node].n_coef = <i32> self.finder.n_coef
            here.threshold = self.finder.threshold
            if not store_keep(&self.planes, self.finder):
                self.failed = True
        here.rows_left = <i32> best.rows_left
        return True

    cdef void split(self, i64 node, i64* left, i64* right) noexcept nogil:
        """Makes the two children of a node and divides the columns between them."""
        cdef SubtreeNode here = self.nodes[node]
        cdef i64 middle = here.start + here.rows_left
        cdef i64 c, word, col, divided = here.feature
        cdef u64 bits
        cdef Cut cut
        left[0] = self.add_node(here.start, middle, <i32> node, here.depth + 1)
        right[0] = self.add_node(middle, here.end, <i32> node, here.depth + 1)
        if self.failed:
            return
        if self.rows != NULL:
            self.found[left[0]].key = key_of_child(self.found[node].key, 0)
            self.found[right[0]].key = key_of_child(self.found[node].key, 1)
        if self.n_drawn:
            self.keys[left[0]] = key_of_child(self.keys[node], 0)
            self.keys[right[0]] = key_of_child(self.keys[node], 1)
        if here.feature == OBLIQUE:              # the finder has marked the sides
            self.columns.sum_left(self.rows + here.start, here.end - here.start,
                                  self.sums(left[0]))
        else:
            cut.rows_left = here.rows_left
            cut.missing = self.missing[node] if self.knows_missing else STAND_IN
            self.nodes[node].threshold = self.columns.threshold(here.feature, here.start, here.end,
                                                                &cut)
            self.columns.mark_sides(here.feature, here.start, here.end, &cut, self.sums(left[0]))
            if self.knows_missing:
                self.missing[node] = <u8> side_for_missing(
                    self.columns, here.feature, &cut, weight_of(self.target, self.sums(left[0])),
                    weight_of(self.target, self.sums(node)))
            if cut.missing == GO_LEFT:
                divided = -1                     # what is missing stands at the end of both
        for c in range(self.target.n_sums):
            self.sums(right[0])[c] = self.sums(node)[c] - self.sums(left[0])[c]
        if self.is_leaf(left[0]) and self.is_leaf(right[0]):
            return                               # nobody will read the columns here again
        if self.rows != NULL:
            self.columns.divide_rows(self.rows + here.start, here.end - here.start,
                                     self.row_spare)
        for word in range(self.set_words):
            bits = self.slots[here.slot * self.set_words + word]
            col = 64 * word
            while bits:
                if bits & 1 and col != divided:
                    self.columns.divide(col, here.start, here.end, self.spare)
                bits >>= 1
                col += 1
        if self.columns.sparse:
            self.columns.divide_order(here.start, here.end)

    cdef void inherit(self, i64 parent_slot, i64 node) noexcept nogil:
        cdef i64 slot = self.take_slot(NULL)
        if self.failed:
            return
        memcpy(self.slots + slot * self.set_words, self.slots + parent_slot * self.set_words,
               self.set_words * sizeof(u64))
        self.nodes[node].slot = <i32> slot

    # -- both orders of growth ---------------------------------------------------------------

    cdef void grow_depth_first(self) noexcept nogil:
        cdef i64 node, slot, left = 0, right = 0
        while self.n_pending and not self.failed and not self.columns.stop:
            self.n_pending -= 1
            node = self.pending[self.n_pending]
            slot = self.nodes[node].slot
            if self.find_split(node):
                self.split(node, &left, &right)
                if not self.failed and not self.is_leaf(right):
                    self.inherit(slot, right)
                    self.push(right)
                if not self.failed and not self.is_leaf(left):
                    self.inherit(slot, left)
                    self.push(left)
            self.give_slot(slot)

    cdef bint before(self, i64 a, i64 b) noexcept nogil:
        """Larger gain first, then path order: windows of waiting nodes never overlap."""
        if self.nodes[a].gain != self.nodes[b].gain:
            return self.nodes[a].gain > self.nodes[b].gain
        return self.nodes[a].start < self.nodes[b].start

    cdef void sift_up(self, i64 k) noexcept nogil:
        cdef i64 node = self.pending[k]
        while k > 0 and self.before(node, self.pending[(k - 1) // 2]):
            self.pending[k] = self.pending[(k - 1) // 2]
            k = (k - 1) // 2
        self.pending[k] = node

    cdef i64 pop_best(self) noexcept nogil:
        cdef i64 best = self.pending[0]
        cdef i64 node, child, k = 0
        self.n_pending -= 1
        if self.n_pending == 0:
            return best
        node = self.pending[self.n_pending]
        while True:
            child = 2 * k + 1
            if child >= self.n_pending:
                break
            if (child + 1 < self.n_pending
                    and self.before(self.pending[child + 1], self.pending[child])):
                child += 1
            if not self.before(self.pending[child], node):
                break
            self.pending[k] = self.pending[child]
            k = child
        self.pending[k] = node
        return best

    cdef void consider(self, i64 node) noexcept nogil:
        """Puts a node on the heap if it can be split."""
        if self.find_split(node):
            self.push(node)
            if not self.failed:
                self.sift_up(self.n_pending - 1)
        else:
            self.give_slot(self.nodes[node].slot)

    cdef void grow_best_first(self) noexcept nogil:
        cdef i64 node, slot, left = 0, right = 0, leaves = 1, k
        while (self.n_pending and leaves < self.limits.max_leaves and not self.failed
               and not self.columns.stop):
            node = self.pop_best()
            slot = self.nodes[node].slot
            self.split(node, &left, &right)
            leaves += 1
            if not self.failed and not self.is_leaf(left):
                self.inherit(slot, left)
                if not self.failed:
                    self.consider(left)
            if not self.failed and not self.is_leaf(right):
                self.inherit(slot, right)
                if not self.failed:
                    self.consider(right)
            self.give_slot(slot)
        # What still waits stays a leaf.
        for k in range(self.n_pending):
            self.nodes[self.pending[k]].feature = -1
            self.nodes[self.pending[k]].gain = 0.0

    def grow(self, i64 start, i64 end, i32 depth, const i64[::1] counts, const u64[::1] active,
             bint best_first, u64 key=0, bint alone=False):
        """Grows the window [start, end) and returns its nodes as arrays (see `Block`).

        `alone`: nobody else needs the sorted columns, so their memory is given back.
        """
        cdef i64 root, c
        with nogil:
            root = self.add_node(start, end, -1, depth)
            if root >= 0:
                if self.rows != NULL:
                    self.found[root].key = key
                if self.n_drawn:
                    self.keys[root] = key
                for c in range(self.target.n_sums):
                    self.sums(root)[c] = counts[c]
                if not self.is_leaf(root):
                    self.nodes[root].slot = <i32> self.take_slot(&active[0])
                    if not self.failed:
                        if best_first:
                            self.consider(root)
                            self.grow_best_first()
                        else:
                            self.push(root)
                            self.grow_depth_first()
        if self.finder is not None:
            self.finder.finished()
        if self.columns.reason is not None:
            raise self.columns.reason
        if self.failed:
            raise MemoryError("no room to grow a tree")
        if alone:
            self.columns.release()
        return self.export()

    cdef object export(self):
        cdef i64 k, c, n = self.n_nodes
        cdef int n_sums = self.target.n_sums
        counts = np.empty((n, n_sums), dtype=np.int64)
        cdef i64[:, ::1] counts_ = counts
        for k in range(n):
            for c in range(n_sums):
                counts_[k, c] = self.counts[k * n_sums + c]
        free(self.counts)
        self.counts = NULL
        start, end, parent, depth, feature = np.empty((5, n), dtype=np.int32)
        threshold, gain = np.empty((2, n), dtype=np.float64)
        cdef i32[::1] start_ = start, end_ = end, parent_ = parent, depth_ = depth
        cdef i32[::1] feature_ = feature
        cdef double[::1] threshold_ = threshold, gain_ = gain
        for k in range(n):
            start_[k] = self.nodes[k].start
            end_[k] = self.nodes[k].end
            parent_[k] = self.nodes[k].parent
            depth_[k] = self.nodes[k].depth
            feature_[k] = self.nodes[k].feature
            threshold_[k] = self.nodes[k].threshold
            gain_[k] = self.nodes[k].gain
        free(self.nodes)
        self.nodes = NULL
        missing = np.zeros(n if self.knows_missing else 1, dtype=np.uint8)
        cdef u8[::1] missing_ = missing
        if self.knows_missing:
            memcpy(&missing_[0], self.missing, n)
        found = self.export_planes(feature)
        return (start, end, parent, depth, feature, threshold, gain, counts,
                gain if found is None else found[0],
                np.broadcast_to(np.int64(-1), n) if found is None else found[1],
                np.broadcast_to(missing, n),
                *(NO_PLANES if found is None else found[2:]))

    cdef object export_planes(self, feature):
        """What the finder has added: (axis gains, directions, coef_ptr, terms), or None."""
        cdef i64 k, n = self.n_nodes
        if self.rows == NULL:
            return None
        axis_gain = np.empty(n)
        direction, plane = np.empty((2, n), dtype=np.int64)
        n_coef = np.zeros(n, dtype=np.int64)
        cdef double[::1] axis_gain_ = axis_gain
        cdef i64[::1] direction_ = direction, plane_ = plane, n_coef_ = n_coef
        cdef const i32[::1] feature_ = feature
        for k in range(n):
            axis_gain_[k] = self.found[k].axis_gain
            direction_[k] = self.found[k].direction
            plane_[k] = self.found[k].plane
            if feature_[k] == OBLIQUE:           # else it became a leaf after all
                n_coef_[k] = self.found[k].n_coef
        used = feature == OBLIQUE
        planes = store_export(&self.planes, plane[used], n_coef[used])
        store_free(&self.planes)                 # tables of many levels are large
        return axis_gain, direction, np.concatenate([[0], np.cumsum(n_coef)]), *planes
