"""Inner products of trees under a product measure, from overlaps of their boxes.

Two trees are walked down together: a pair of nodes stands for the points that reach both, which is
a box, and a split of either node divides the mass of the box. A box is a stretch of levels for
each numeric feature, with or without what is missing, and a set of levels for each other one. A
step changes one feature of the box, and an entry in a log takes it back; there is no recursion.

A node is not divided further if the other tree has no say in what is below it: if no feature of
the splits below it has been narrowed by the other tree, or is yet to be. Then its mean under the
measure stands for it. Features are told apart by 64 bits for that; where several share a bit, some
nodes are divided without need.

Masses are sums of the weights of levels and only their ratios matter, so whole numbers are exact
up to 2^53. The twin in `tests/reference/overlaps.py` is the specification.
"""

cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from obliqua._core.base.types cimport i32, i64, u8, u64

cdef enum:
    LEAF = -1


cdef struct ForestNode:
    u64 below                # the bits of the features that splits here and below ask about
    u64 about                # the same with the splits above
    i64 table                # where the branches of its levels stand, for a set
    i32 slot                 # its feature; LEAF
    i32 cut                  # how many levels are on the lower side
    i32 low                  # children: the lower side; the first branch of a set
    i32 high
    i32 gap                  # where what is missing goes
    i32 n_branches
    i32 size                 # nodes here and below


cdef struct Range:
    # The levels of a feature in the current box: a stretch, or a window on the order of a set.
    i32 begin
    i32 end
    i32 gap                  # 1: what is missing is in the box


cdef struct Pending:
    # A pair of nodes that is still to be looked at, and the one narrowing that leads to it.
    double mass
    u64 cut_first            # features of the first tree that the second one has narrowed
    u64 cut_second
    i64 log
    i32 first
    i32 second
    i32 slot
    Range levels


cdef struct Undo:
    i32 slot
    Range levels


cdef struct Way:
    # Where a walk is, and how it gets back.
    Range* box               # one per slot
    Pending* stack
    Undo* log
    i32* order               # the levels of each set: those in the box stand together
    i32* ordered             # for putting levels in order
    double* weight           # of the branches of a set
    i32* count
    i64 n_stack
    i64 n_log
    double total             # what is added up
    double* mass             # where the mass of each node of a single tree is put, or NULL
    const double* value      # what the nodes say, a line per node
    i64 n_outputs
    u64 only                 # bits that both nodes must know of, or 0
    u64 mute                 # bits of features that the trees do not share
    i64 apart                # the feature that they do not share, or -1


@cython.final
cdef class PackedForest:
    """Trees over levels, one after another in flat arrays, and a weight for each level.

    Node k asks about feature `slot[k]`, -1 for a leaf. `children[k]` are its lower and upper child
    and that for what is missing, `cut[k]` how many levels go to the lower one. For a set, `cut` is
    -1, the children are the first branch, the number of branches and nothing, and the branches of
    the levels start at `table[table_ptr[k]]`. `sums` are running sums of the weights of numeric
    levels, from 0 on, and the weights themselves of others; those of feature f start at
    `level_ptr[f]`. `gaps` are the weights of what is missing in numeric columns.
    """

    cdef ForestNode* nodes
    cdef u64* bits           # of each slot
    cdef const i64[::1] roots
    cdef const i64[::1] level_ptr
    cdef const i64[::1] depth
    cdef const double[::1] sums
    cdef const double[::1] gaps
    cdef const u8[::1] is_set
    cdef const i32[::1] table
    cdef i64 n_nodes, n_slots, most_levels, most_branches

    def __cinit__(self, const i32[::1] slot, const i32[::1] cut, const i32[:, ::1] children,
                  const i64[::1] table_ptr, const i32[::1] table, const i64[::1] roots,
                  const i64[::1] depth, const u8[::1] is_set, const i64[::1] level_ptr,
                  const double[::1] sums, const double[::1] gaps):
        cdef i64 k, f
        cdef ForestNode* node
        self.n_nodes, self.n_slots = slot.shape[0], is_set.shape[0]
        self.roots, self.depth, self.is_set = roots, depth, is_set
        self.level_ptr, self.sums, self.gaps = level_ptr, sums, gaps
        self.table = table
        self.nodes = <ForestNode*> calloc(self.n_nodes + 1, sizeof(ForestNode))
        self.bits = <u64*> calloc(self.n_slots + 1, sizeof(u64))
        if self.nodes == NULL or self.bits == NULL:
            raise MemoryError("no room for the nodes of the trees")
        self.nodes[self.n_nodes].slot = LEAF
        self.most_levels, self.most_branches = 1, 2
        for f in range(self.n_slots):
            self.most_levels = max(self.most_levels, level_ptr[f + 1] - level_ptr[f])
        for k in range(self.n_nodes):
            node = &self.nodes[k]
            node.slot, node.cut, node.table = slot[k], cut[k], table_ptr[k]
            node.low, node.high, node.gap = children[k, 0], children[k, 1], children[k, 2]
            if node.slot != LEAF and is_set[node.slot]:
                node.n_branches = children[k, 1]
                self.most_branches = max(self.most_branches, node.n_branches)
        self.give_bits()

    def __dealloc__(self):
        free(self.nodes)
        free(self.bits)

    cdef i64 last_child(self, const ForestNode* node) noexcept nogil:
        return node.low + node.n_branches - 1 if self.is_set[node.slot] else max(
            node.low, node.high)

    cdef i64 first_child(self, const ForestNode* node) noexcept nogil:
        return node.low if self.is_set[node.slot] else min(node.low, node.high)

    cdef void give_bits(self) noexcept:
        """Features that are asked about get bits, as long as there are any, each its own."""
        cdef i64 k, child, used = 0
        cdef ForestNode* node
        for k in range(self.n_nodes):
            node = &self.nodes[k]
            if node.slot != LEAF and self.bits[node.slot] == 0:
                self.bits[node.slot] = (<u64> 1) << (used % 64)
                used += 1
        # Children stand behind their parents.
        for k in range(self.n_nodes - 1, -1, -1):
            node = &self.nodes[k]
            node.size = 1
            if node.slot == LEAF:
                continue
            node.below = self.bits[node.slot]
            for child in range(self.first_child(node), self.last_child(node) + 1):
                node.below |= self.nodes[child].below
                node.size += self.nodes[child].size
        for k in range(self.n_nodes):
            node = &self.nodes[k]
            if node.slot != LEAF:
                for child in range(self.first_child(node), self.last_child(node) + 1):
                    self.nodes[child].about = node.about | self.bits[node.slot]
            node.about |= node.below

    cdef u64 own_bit(self, i64 slot) noexcept nogil:
        """The bit of a feature, if no other one has it; otherwise 0."""
        cdef i64 f
        for f in range(self.n_slots):
            if f != slot and self.bits[f] == self.bits[slot]:
                return 0
        return self.bits[slot]

    # --- a walk --------------------------------------------------------------------------

    cdef bint open_way(self, Way* way, i64 depth) noexcept nogil:
        """Room for pairs of nodes whose depths add up to this; False if there is none."""
        cdef i64 f, k, levels = self.level_ptr[self.n_slots]
        way.only, way.mute, way.apart, way.mass = 0, 0, -1, NULL
        # One more feature: the one that the two trees do not share.
        way.box = <Range*> malloc((self.n_slots + 1) * sizeof(Range))
        way.stack = <Pending*> malloc((depth + 1) * self.most_branches * sizeof(Pending))
        way.log = <Undo*> malloc((depth + 1) * sizeof(Undo))
        way.order = <i32*> malloc((levels + self.most_levels) * sizeof(i32))
        way.ordered = <i32*> malloc(self.most_levels * sizeof(i32))
        way.weight = <double*> malloc(self.most_branches * sizeof(double))
        way.count = <i32*> malloc((self.most_branches + 1) * sizeof(i32))
        if (way.box == NULL or way.stack == NULL or way.log == NULL or way.order == NULL
                or way.ordered == NULL or way.weight == NULL or way.count == NULL):
            return False
        for f in range(self.n_slots):
            for k in range(self.level_ptr[f], self.level_ptr[f + 1]):
                way.order[k] = <i32> (k - self.level_ptr[f])
        for k in range(self.most_levels):
            way.order[levels + k] = <i32> k
        return True

    cdef void close_way(self, Way* way) noexcept nogil:
        free(way.box)
        free(way.stack)
        free(way.log)
        free(way.order)
        free(way.ordered)
        free(way.weight)
        free(way.count)

    cdef void begin(self, Way* way) noexcept nogil:
        """The box is the whole domain."""
        cdef i64 f, of
        for f in range(self.n_slots + 1):
            of = f if f < self.n_slots else max(way.apart, 0)
            way.box[f].begin = 0
            # Running sums have one entry more than there are levels.
            way.box[f].end = <i32> (
                self.level_ptr[of + 1] - self.level_ptr[of] - (0 if self.is_set[of] else 1))
            way.box[f].gap = 0 if self.is_set[of] else 1
        way.n_stack, way.n_log = 0, 0

    cdef inline void take_back(self, Way* way, i64 n_log) noexcept nogil:
        """Undoes what has narrowed the box since the log had this length."""
        while way.n_log > n_log:
            way.n_log -= 1
            way.box[way.log[way.n_log].slot] = way.log[way.n_log].levels

    cdef inline void enter(self, Way* way, i32 slot, Range levels) noexcept nogil:
        """Narrows the box."""
        cdef Undo* undo = &way.log[way.n_log]
        undo.slot, undo.levels = slot, way.box[slot]
        way.n_log += 1
        way.box[slot] = levels

    cdef inline bint go_back(self, Way* way, Pending* at) noexcept nogil:
        """Goes on with what is still to be looked at; False if nothing is."""
        if way.n_stack == 0:
            return False
        way.n_stack -= 1
        at[0] = way.stack[way.n_stack]
        self.take_back(way, at.log)
        self.enter(way, at.slot, at.levels)
        return True

    cdef inline bint divide(self, Way* way, Pending* at, bint second, i32 slot,
                            u64 bit) noexcept nogil:
        """Divides the box at the split of one of the two nodes, and goes on to a child.

        Children below which nothing is left to divide are added up at once. False if both are.
        """
        cdef const ForestNode* node = &self.nodes[at.second if second else at.first]
        cdef Range here = way.box[slot], low = here, high = here
        cdef const double* sums = &self.sums[self.level_ptr[node.slot]]
        cdef double below, above, part
        cdef Pending other
        cdef i32 cut = min(max(node.cut, here.begin), here.end)
        low.end, high.begin = cut, cut
        below = sums[cut] - sums[here.begin]
        above = sums[here.end] - sums[cut]
        if here.gap:
            if node.gap == node.low:
                below += self.gaps[node.slot]
                high.gap = 0
            else:
                above += self.gaps[node.slot]
                low.gap = 0
        if not (below > 0.0 and above > 0.0):
            if second:
                at.second = node.low if below > 0.0 else node.high
            else:
                at.first = node.low if below > 0.0 else node.high
            return True
        other.cut_first, other.cut_second = at.cut_first, at.cut_second
        if second:
            at.cut_first |= bit
            other.cut_first, other.first = at.cut_first, at.first
            other.second, at.second = node.high, node.low
        else:
            at.cut_second |= bit
            other.cut_second, other.second = at.cut_second, at.second
            other.first, at.first = node.high, node.low
        part = at.mass / (below + above)
        other.mass = part * above
        at.mass = part * below
        if self.is_done(way, &other):
            if self.is_done(way, at):
                return False
        elif self.is_done(way, at):
            at.mass, at.first, at.second = other.mass, other.first, other.second
            low = high
        else:
            other.log, other.slot, other.levels = way.n_log, slot, high
            way.stack[way.n_stack] = other
            way.n_stack += 1
        self.enter(way, slot, low)
        return True

    cdef inline bint is_done(self, Way* way, const Pending* at) noexcept nogil:
        """Adds up a pair of nodes if neither tree has more to say of the other; False if not."""
        cdef const ForestNode* one = &self.nodes[at.first]
        cdef const ForestNode* two = &self.nodes[at.second]
        cdef const double* v
        cdef const double* w
        cdef double dot
        cdef i64 c
        if way.mass != NULL:
            way.mass[at.first] = at.mass
            return one.slot == LEAF
        if way.only and not (one.about & way.only and two.about & way.only):
            return True
        if ((one.below & (at.cut_first | two.below) | two.below & (at.cut_second | one.below))
                & ~way.mute):
            return False
        v, w = way.value + at.first * way.n_outputs, way.value + at.second * way.n_outputs
        dot = v[0] * w[0]
        for c in range(1, way.n_outputs):
            dot += v[c] * w[c]
        way.total += at.mass * dot
        return True

    cdef void divide_set(self, Way* way, Pending* at, bint second, i32 slot,
                         u64 bit) noexcept nogil:
        """Does the same with a set of levels, which may have many branches; adds nothing up."""
        cdef const ForestNode* node = &self.nodes[at.second if second else at.first]
        cdef Range here = way.box[slot], part
        cdef i32* order = way.order + self.level_ptr[slot]
        cdef const double* weights = &self.sums[self.level_ptr[node.slot]]
        cdef const i32* branch = &self.table[node.table]
        cdef i64 k
        cdef i32 b, only = -1, n_there = 0
        cdef double total = 0.0, mass = at.mass
        cdef Pending* later
        for b in range(node.n_branches):
            way.weight[b] = 0.0
            way.count[b + 1] = 0
        for k in range(here.begin, here.end):
            b = branch[order[k]]
            way.weight[b] += weights[order[k]]
            way.count[b + 1] += 1
            way.ordered[k - here.begin] = order[k]
        way.count[0] = here.begin
        for b in range(node.n_branches):
            total += way.weight[b]
            way.count[b + 1] += way.count[b]
            if way.weight[b] > 0.0:
                n_there += 1
                only = b
        if n_there > 1:
            # Each branch's levels stand together; afterwards count[b] is where they end.
            for k in range(here.end - here.begin):
                b = branch[way.ordered[k]]
                order[way.count[b]] = way.ordered[k]
                way.count[b] += 1
            if second:
                at.cut_first |= bit
            else:
                at.cut_second |= bit
            for b in range(node.n_branches):
                if b == only or not way.weight[b] > 0.0:
                    continue
                later = &way.stack[way.n_stack]
                way.n_stack += 1
                later[0] = at[0]
                if second:
                    later.second = node.low + b
                else:
                    later.first = node.low + b
                later.mass = mass * (way.weight[b] / total)
                later.log, later.slot = way.n_log, slot
                later.levels.begin = way.count[b - 1] if b > 0 else here.begin
                later.levels.end, later.levels.gap = way.count[b], 0
            part.begin = way.count[only - 1] if only > 0 else here.begin
            part.end, part.gap = way.count[only], 0
            at.mass = mass * (way.weight[only] / total)
            self.enter(way, slot, part)
        if second:
            at.second = node.low + only
        else:
            at.first = node.low + only

    cdef inline bint step(self, Way* way, Pending* at, bint second) noexcept nogil:
        """Divides the box at one of the two nodes; False if nothing is left of the pair."""
        cdef const ForestNode* node = &self.nodes[at.second if second else at.first]
        cdef i32 slot = node.slot
        cdef u64 bit = self.bits[slot]
        if second and slot == way.apart:
            slot = <i32> self.n_slots
        if not self.is_set[node.slot]:
            return self.divide(way, at, second, slot, bit)
        self.divide_set(way, at, second, slot, bit)
        return True

    # --- what is found -------------------------------------------------------------------

    def reach(self):
        """The mass of each node by itself."""
        cdef Way way
        cdef i64 tree, deepest = 0
        found = np.zeros(self.n_nodes)
        cdef double[::1] mass = found
        for tree in range(self.roots.shape[0]):
            deepest = max(deepest, self.depth[tree])
        with nogil:
            memset(&way, 0, sizeof(Way))
            if not self.open_way(&way, deepest + 1):
                self.close_way(&way)
                with gil:
                    raise MemoryError("no room for a walk through the trees")
            way.mass = &mass[0]
            self.begin(&way)
            for tree in range(self.roots.shape[0]):
                # A tree beside a node that says nothing.
                self.overlap(&way, self.roots[tree], self.n_nodes)
            self.close_way(&way)
        return found

    def fill_means(self, const double[::1] mass, double[:, ::1] value):
        """Puts the means of inner nodes over their leaves into `value`; 0 if none is reached."""
        cdef i64 k, child, c
        cdef const ForestNode* node
        cdef double part
        with nogil:
            for k in range(self.n_nodes - 1, -1, -1):
                node = &self.nodes[k]
                if node.slot == LEAF:
                    continue
                for c in range(value.shape[1]):
                    value[k, c] = 0.0
                if not mass[k] > 0.0:
                    continue
                for child in range(self.first_child(node), self.last_child(node) + 1):
                    part = mass[child] / mass[k]
                    for c in range(value.shape[1]):
                        value[k, c] += part * value[child, c]

    cdef double overlap(self, Way* way, i64 first, i64 second) noexcept nogil:
        """The mean of the product of two trees, which are given by their roots."""
        cdef Pending at
        cdef const ForestNode* one
        cdef const ForestNode* two
        cdef bint second_too
        memset(&at, 0, sizeof(Pending))
        at.mass = 1.0
        at.first, at.second = <i32> first, <i32> second
        if way.mass != NULL:
            at.cut_first = ~(<u64> 0)    # no node is left undivided
        # The box is whole again; there may be many more features than these trees ask about.
        self.take_back(way, 0)
        way.total = 0.0
        while True:
            if not self.is_done(way, &at):
                one, two = &self.nodes[at.first], &self.nodes[at.second]
                # Of two that must be divided, the one with more below it.
                second_too = (two.below & (at.cut_second | one.below) & ~way.mute) != 0
                if not one.below & (at.cut_first | two.below) & ~way.mute or (
                        second_too and two.size > one.size):
                    if self.step(way, &at, True):
                        continue
                elif self.step(way, &at, False):
                    continue
            if not self.go_back(way, &at):
                return way.total

    def products(self, const double[:, ::1] value, const i64[::1] first, const i64[::1] second,
                 double[::1] out, i64 feature=-1, bint apart=False):
        """The means of the products of pairs of trees, given what all their nodes say.

        A feature says that `value` is 0 in all leaves that do not know of it. With `apart`, too,
        the two trees of a pair do not share it: each has its own, which is weighted alike. The
        difference is what the product owes to sharing it.
        """
        cdef Way way
        cdef i64 k, deepest = 0
        if value.shape[0] == 0 or value.shape[1] == 0:
            raise ValueError("trees without outputs have no products")
        for k in range(first.shape[0]):
            deepest = max(deepest, self.depth[first[k]] + self.depth[second[k]])
        with nogil:
            memset(&way, 0, sizeof(Way))
            if not self.open_way(&way, deepest + 1):
                self.close_way(&way)
                with gil:
                    raise MemoryError("no room for a walk through two trees")
            way.value, way.n_outputs = &value[0, 0], value.shape[1]
            if feature >= 0:
                way.only = self.bits[feature]
                if apart:
                    way.apart = feature
                    way.mute = self.own_bit(feature)
            self.begin(&way)
            for k in range(first.shape[0]):
                out[k] = self.overlap(&way, self.roots[first[k]], self.roots[second[k]])
            self.close_way(&way)


# -- what two features do together: the energy of a function on the grid of their levels -----
#
# The function is a sum over leaves, each of which has a part of the levels of either feature. The
# grid is passed line by line, and only one line is held. A stretch of levels has two entries, 1
# where it begins and -1 where it ends, so that a running sum along a line and one over the lines
# make its indicator; what is missing, and every level of a set, has an entry of its own.


cdef double line_energy(const double* line, const double* share, const double* mean, double shift,
                        i64 n_levels, i64 n_places, bint numeric) noexcept nogil:
    """The mean square of a line, less the means over either feature."""
    cdef i64 y, n_steps = n_levels - 1 if numeric else n_levels
    cdef double running = 0.0, total = 0.0, here
    for y in range(n_steps):
        running = running + line[y] if numeric else line[y]
        here = running - shift - mean[y]
        total += share[y] * (here * here)
    if numeric:                  # the last level is what is missing
        here = line[n_places - 1] - shift - mean[n_levels - 1]
        total += share[n_levels - 1] * (here * here)
    return total


def pair_energy(const i64[::1] place_ptr, const i32[::1] leaf, const double[::1] sign,
                const i64[::1] leaf_ptr, const i32[::1] place, const double[::1] other_sign,
                const double[::1] value, const double[::1] mean, const double[::1] other_mean,
                const double[::1] share, const double[::1] other_share, bint numeric,
                bint other_numeric, i64 n_places):
    """The energy of what two features do together, for one output.

    The entries of the first feature stand by place, `leaf` and `sign` from `place_ptr` on, those
    of the second by leaf, `place` and `other_sign` from `leaf_ptr` on; it has `n_places` places.
    A leaf adds `value` to each cell that it has. `mean` and `other_mean` are what is to be taken
    from the lines and the columns, and `share` and `other_share` say how likely levels are.
    """
    cdef i64 x, at, e, t, n_lines = share.shape[0], n_columns = other_share.shape[0]
    cdef double total = 0.0, here = 0.0
    cdef bint fresh
    cdef double* line = <double*> calloc(n_places + 1, sizeof(double))
    if line == NULL:
        raise MemoryError("no room for a line of levels")
    with nogil:
        for x in range(n_lines):
            # The last line of a numeric feature is what is missing: no stretch goes on to it.
            fresh = not numeric or x == n_lines - 1
            at = place_ptr.shape[0] - 2 if numeric and x == n_lines - 1 else x
            if fresh:
                memset(line, 0, n_places * sizeof(double))
            for e in range(place_ptr[at], place_ptr[at + 1]):
                for t in range(leaf_ptr[leaf[e]], leaf_ptr[leaf[e] + 1]):
                    line[place[t]] += sign[e] * other_sign[t] * value[leaf[e]]
            # Without an entry a line is like the one before it.
            if fresh or x == 0 or place_ptr[at] < place_ptr[at + 1]:
                here = line_energy(line, &other_share[0], &other_mean[0], mean[x], n_columns,
                                   n_places, other_numeric)
            total += share[x] * here
        free(line)
    return total
