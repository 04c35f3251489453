"""The best place along a line on which rows change sides in both directions.

A search for a cut looks at sorted values: each row is on the left of it, then on its right.
Here some rows go the other way: they are on the counted side before their value and leave it
there. As there, twoing of unweighted rows is looked at in bins first: what the ends of the bins
are worth, and what places inside could be worth at most. Only bins that could hide the best
place are sorted.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from obliqua._core.base.sort cimport sort_order
from obliqua._core.base.types cimport Cut, Scorer, View, allowed, better, i32, i64, make_view, u8
from obliqua._core.search.criterion cimport GINI, TWOING, goodness
from obliqua._core.search.gathered cimport (
    Gathered, SearchMemory, gathered_fill, gathered_free, gathered_init, memory_free, memory_init,
    memory_read,
)

cdef extern from "loops.h" nogil:
    void ob_places(const double* z, i32* place, i64 n, double low, double scale, double last)
    void ob_swing_excess(const i32* right, const i32* up, const i32* down, const i32* all_right,
                         const i32* all_up, const i32* all_down, i64 n_bins, double n,
                         double total, double* edge, double* inside)

cdef enum:
    FEW_ROWS = 64            # below this a sort is cheaper
    MOST_BINS = 512
    MOST_CLASSES = 64

cdef i64 MOST_ROWS = (<i64> 1) << 26     # products of two counts are exact in a double
cdef double SLACK = 1.0 - 1e-12          # a filter rejects only what is worse beyond doubt
cdef double BOUND = 1.0 + 1e-9


cdef bint swing_init(Swing* swing, int n_classes) noexcept nogil:
    cdef i64 cells = (min(n_classes, <int> MOST_CLASSES) + 1) * (MOST_BINS + 1)
    memset(swing, 0, sizeof(Swing))
    swing.up = <i32*> malloc(cells * sizeof(i32))
    swing.down = <i32*> malloc(cells * sizeof(i32))
    swing.right = <i32*> malloc(cells * sizeof(i32))
    swing.passed = <i32*> malloc((MOST_BINS + 1) * sizeof(i32))
    swing.edge = <double*> malloc((MOST_BINS + 1) * sizeof(double))
    swing.inside = <double*> malloc((MOST_BINS + 1) * sizeof(double))
    if (swing.up == NULL or swing.down == NULL or swing.right == NULL or swing.passed == NULL
            or swing.edge == NULL or swing.inside == NULL):
        swing_free(swing)
        return False
    return True


cdef void swing_free(Swing* swing) noexcept nogil:
    free(swing.up)
    free(swing.down)
    free(swing.right)
    free(swing.passed)
    free(swing.edge)
    free(swing.inside)
    memset(swing, 0, sizeof(Swing))


# -- sorted ----------------------------------------------------------------------------------


cdef bint offer(const Scorer* scorer, const i64* sums, i64 rows, i64 weight, i64* scratch,
                double below, double above, i64 place, Cut* best) noexcept nogil:
    cdef double score
    if not allowed(scorer, rows, weight):
        return False
    score = goodness(scorer.code, sums, scorer.counts, scorer.n_sums, weight, scorer.weight,
                     scratch)
    if not better(score, 0, place, best):
        return False
    best.score = score
    best.direction = 0
    best.rows_left = place
    best.below = below
    best.above = above
    return True


cdef void scan(const double* values, const i32* classes, const i64* weights, const u8* leaves,
               SearchMemory* memory, i64 n, i64 passed, i64* sums, i64 rows, i64 weight,
               double last, double tolerance, const Scorer* scorer, Cut* best) noexcept nogil:
    """Offers the places between sorted values; `sums`, `rows`, `weight`: of the side below them.

    With `last` below all values, the place before the first one is offered too.
    """
    cdef i64 k, row, step
    cdef double here
    sort_order(values, memory.work.order, n, &memory.work.buffers)
    for k in range(n):
        row = memory.work.order[k] & 0x7FFFFFFF
        here = values[row]
        if here - last > tolerance:
            offer(scorer, sums, rows, weight, sums + scorer.n_sums, last, here, passed + k,
                  best)
        last = here
        step = 1 if weights == NULL else weights[row]
        if leaves[row]:
            sums[classes[row]] -= step
            weight -= step
            rows -= 1
        else:
            sums[classes[row]] += step
            weight += step
            rows += 1


cdef void search_sorted(SearchMemory* memory, const Gathered* gathered, const u8* leaves,
                        double tolerance, const Scorer* scorer, Cut* best) noexcept nogil:
    cdef i64 n = gathered.n, k, rows = 0, weight = 0, step
    cdef const i64* weights = gathered.weights if gathered.weighted else NULL
    cdef i64* sums = memory.work.left
    cdef double last
    memset(sums, 0, scorer.n_sums * sizeof(i64))
    for k in range(n):
        if leaves[k]:
            step = 1 if weights == NULL else weights[k]
            sums[memory.work.classes[k]] += step
            weight += step
            rows += 1
    scan(memory.work.values, memory.work.classes, weights, leaves, memory, n, 0, sums, rows,
         weight, -1.0, tolerance, scorer, best)
    last = memory.work.values[memory.work.order[n - 1] & 0x7FFFFFFF]
    if 1.0 - last > tolerance:
        rows = n - rows                      # all have crossed
        weight = scorer.weight - weight
        offer(scorer, sums, rows, weight, sums + scorer.n_sums, last, 1.0, n, best)


# -- in bins ---------------------------------------------------------------------------------


cdef void count_rows(Swing* swing, const SearchMemory* memory, const Gathered* gathered,
                     const u8* leaves, i64 n_bins) noexcept nogil:
    """Comings and goings per class and bin, and where they lead; one more bin is the end."""
    cdef i64 size = n_bins + 1, i, b
    cdef int k, n_classes = gathered.n_present
    cdef i32 here, passed = 0
    cdef i32* up
    cdef i32* down
    cdef i32* right
    cdef i32* all_up = swing.up + n_classes * size
    cdef i32* all_down = swing.down + n_classes * size
    cdef i32* all_right = swing.right + n_classes * size
    memset(swing.up, 0, (n_classes + 1) * size * sizeof(i32))
    memset(swing.down, 0, (n_classes + 1) * size * sizeof(i32))
    memset(all_right, 0, size * sizeof(i32))
    for k in range(n_classes):
        up = swing.up + k * size
        down = swing.down + k * size
        right = swing.right + k * size
        here = 0
        for i in range(gathered.starts[k], gathered.starts[k + 1]):
            b = memory.place[i]
            down[b] += leaves[i]
            up[b] += 1 - leaves[i]
            here += leaves[i]
        for b in range(size):
            right[b] = here
            here += up[b] - down[b]
        for b in range(size):
            all_up[b] += up[b]
            all_down[b] += down[b]
            all_right[b] += right[b]
    for b in range(size):
        swing.passed[b] = passed
        passed += all_up[b] + all_down[b]


cdef void value_bins(Swing* swing, const Gathered* gathered, const Scorer* scorer,
                     i64 n_bins) noexcept nogil:
    """What places at the ends of bins are worth, and what places inside are worth at most."""
    cdef i64 size = n_bins + 1, b
    cdef int k, n_classes = gathered.n_present
    cdef i32* all_up = swing.up + n_classes * size
    cdef i32* all_down = swing.down + n_classes * size
    cdef i32* all_right = swing.right + n_classes * size
    cdef double n = <double> gathered.n
    cdef double unit = 1.0 / (4.0 * n * n), least, most, here
    if scorer.code == GINI:                  # of two classes: twice twoing
        unit *= 2.0
    memset(swing.edge, 0, size * sizeof(double))
    memset(swing.inside, 0, size * sizeof(double))
    for k in range(n_classes):
        ob_swing_excess(swing.right + k * size, swing.up + k * size, swing.down + k * size,
                        all_right, all_up, all_down, size, n, <double> gathered.counts[k],
                        swing.edge, swing.inside)
    for b in range(size):
        here = <double> all_right[b]
        least = max(here - (<double> all_down[b]), 1.0)
        most = min(here + (<double> all_up[b]), n - 1.0)
        swing.edge[b] *= unit * swing.edge[b] / max(here * (n - here), 1.0)
        swing.inside[b] *= unit * swing.inside[b] / max(
            min(least * (n - least), most * (n - most)), 1.0)


cdef i64 best_edge(Swing* swing, SearchMemory* memory, const Gathered* gathered, i64 n_bins,
                   const Scorer* scorer, Cut* best) noexcept nogil:
    """Offers the lower ends of the bins; returns the bin of the best, or -1."""
    cdef i64 size = n_bins + 1, b, rows, found = -1
    cdef int k, n_classes = gathered.n_present
    cdef i64* sums = memory.work.left
    for b in range(size):
        if swing.edge[b] < best.score * SLACK:
            continue
        rows = swing.right[n_classes * size + b]
        for k in range(n_classes):
            sums[k] = swing.right[k * size + b]
        if offer(scorer, sums, rows, rows, NULL, 0.0, 0.0, swing.passed[b], best):
            found = b
    return found


cdef bint legal_edge(SearchMemory* memory, i64 n, i64 b, double tolerance,
                     Cut* best) noexcept nogil:
    """Whether the values on both sides of a bin's lower end differ; notes them in the cut."""
    cdef i64 i
    best.below = -1.0
    best.above = 1.0
    for i in range(n):
        if memory.place[i] < b:
            if memory.work.values[i] > best.below:
                best.below = memory.work.values[i]
        elif memory.work.values[i] < best.above:
            best.above = memory.work.values[i]
    return best.above - best.below > tolerance


cdef bint could_hide(const Swing* swing, i64 size, int n_classes, i64 b,
                     const Cut* best) noexcept nogil:
    """Whether a place inside this bin could still replace the best one."""
    return (swing.up[n_classes * size + b] + swing.down[n_classes * size + b] > 1
            and better(swing.inside[b] * BOUND, 0, swing.passed[b], best))


cdef bint look_inside(Swing* swing, SearchMemory* memory, const Gathered* gathered, u8* leaves,
                      i64 n_bins, double tolerance, const Scorer* scorer,
                      Cut* best) noexcept nogil:
    """Sorts the rows of bins that could hide a better place; whether one was found.

    The rows of these bins are collected side by side, and with them whether they leave.
    """
    cdef i64 size = n_bins + 1, b, i, at, first, n_here, rows, taken = 0
    cdef int k, n_classes = gathered.n_present
    cdef i64* sums = memory.work.left
    cdef i64* offsets = memory.work.offsets
    cdef u8* some_leaves = leaves + gathered.n
    cdef Cut before = best[0]
    for b in range(n_bins):
        offsets[b] = -1
        if could_hide(swing, size, n_classes, b, best):
            offsets[b] = taken
            taken += swing.up[n_classes * size + b] + swing.down[n_classes * size + b]
    if taken == 0:
        return False
    for i in range(gathered.n):
        b = memory.place[i]
        at = offsets[b]
        if at >= 0:
            memory.work.some_values[at] = memory.work.values[i]
            memory.work.some_classes[at] = gathered.classes[i]
            some_leaves[at] = leaves[i]
            offsets[b] = at + 1
    for b in range(n_bins):
        if offsets[b] < 0 or not could_hide(swing, size, n_classes, b, best):
            continue
        n_here = swing.up[n_classes * size + b] + swing.down[n_classes * size + b]
        first = offsets[b] - n_here          # collecting moved it on
        rows = swing.right[n_classes * size + b]
        for k in range(n_classes):
            sums[k] = swing.right[k * size + b]
        # Nothing is offered before the first value: that is the bin's end.
        scan(memory.work.some_values + first, memory.work.some_classes + first, NULL,
             some_leaves + first, memory, n_here, swing.passed[b], sums, rows, rows, INFINITY,
             tolerance, scorer, best)
    return (best.score != before.score or best.rows_left != before.rows_left
            or best.direction != before.direction)


cdef void swing_search(Swing* swing, SearchMemory* memory, const Gathered* gathered, u8* leaves,
                       double tolerance, const Scorer* scorer, Cut* best) noexcept nogil:
    """Offers the best place between the values in memory.work.values, which are in [-1, 1].

    `leaves` says which rows leave; it has room for twice as many.
    """
    cdef i64 n = gathered.n, n_bins, found
    cdef Cut held = best[0]
    if not (n >= FEW_ROWS and n <= MOST_ROWS and not gathered.weighted
            and scorer.n_sums == gathered.n_present and gathered.n_present <= MOST_CLASSES
            and (scorer.code == TWOING or (scorer.code == GINI and gathered.n_present == 2))):
        search_sorted(memory, gathered, leaves, tolerance, scorer, best)
        return
    n_bins = min(max(n // (6 + gathered.n_present // 2), <i64> 16), <i64> MOST_BINS)
    ob_places(memory.work.values, memory.place, n, -1.0, 0.5 * (<double> n_bins),
              <double> (n_bins - 1))
    count_rows(swing, memory, gathered, leaves, n_bins)
    value_bins(swing, gathered, scorer, n_bins)
    found = best_edge(swing, memory, gathered, n_bins, scorer, best)
    if look_inside(swing, memory, gathered, leaves, n_bins, tolerance, scorer, best):
        return
    if found >= 0 and not legal_edge(memory, n, found, tolerance, best):
        best[0] = held
        search_sorted(memory, gathered, leaves, tolerance, scorer, best)


def best_place(const double[:, ::1] values, const u8[::1] leaves, const i32[::1] classes, weights,
               const i64[::1] counts, limits, double tolerance, bint with_bins):
    """The best place between some values: (score, rows passed, below, above), or None.

    For tests: `values` is a column, `limits` are those of `PlanningFinder.load`, and `with_bins`
    says whether bins may be used.
    """
    cdef i64 n = values.shape[0], i
    cdef int n_classes = <int> counts.shape[0]
    cdef const i64[::1] w
    cdef const i64* given = NULL
    cdef i32[::1] rows = np.arange(n, dtype=np.int32)
    cdef View view = make_view(np.asarray(values))
    cdef Gathered gathered
    cdef SearchMemory memory
    cdef Swing swing
    cdef Scorer scorer
    cdef Cut best
    moved = np.empty(2 * n, dtype=np.uint8)
    cdef u8[::1] moved_ = moved
    if weights is not None:
        w = weights
        given = &w[0]
    if not (gathered_init(&gathered, n, 1, n_classes, given != NULL)
            and memory_init(&memory, n, n_classes, given != NULL)
            and swing_init(&swing, n_classes)):
        raise MemoryError("no room for a test")
    gathered_fill(&gathered, &view, &rows[0], n, &classes[0], given, n_classes)
    memory_read(&memory, &gathered)
    for i in range(n):
        memory.work.values[i] = gathered.columns[i]
        moved_[i] = leaves[gathered.rows[i]]
    scorer.code = limits[0]
    scorer.min_rows = limits[1]
    scorer.min_weight = limits[2]
    scorer.n_rows = n
    scorer.n_sums = gathered.n_present
    scorer.counts = gathered.counts
    scorer.weight = 0
    for i in range(gathered.n_present):
        scorer.weight += gathered.counts[i]
    best.score = 0.0
    best.direction = 1
    best.rows_left = 0
    if with_bins:
        swing_search(&swing, &memory, &gathered, &moved_[0], tolerance, &scorer, &best)
    else:
        search_sorted(&memory, &gathered, &moved_[0], tolerance, &scorer, &best)
    swing_free(&swing)
    memory_free(&memory)
    gathered_free(&gathered)
    if best.direction != 0:
        return None
    return best.score, best.rows_left, best.below, best.above
