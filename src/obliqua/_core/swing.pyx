"""The best place along a line on which rows change sides in both directions.

`quick_search` looks for a cut of sorted values: each row is on the left of it, then on its right.
Here some rows go the other way. They are on the counted side before their value and leave it there.
"""

from libc.string cimport memset

from obliqua._core.criterion cimport goodness
from obliqua._core.quick cimport Bench
from obliqua._core.sheet cimport Sheet
from obliqua._core.sort cimport sort_order
from obliqua._core.types cimport Cut, Scorer, allowed, better, i64, u8


cdef void offer(const Scorer* scorer, const i64* sums, i64 rows, i64 weight, i64* scratch,
                double below, double above, i64 place, Cut* best) noexcept nogil:
    cdef double score
    if not allowed(scorer, rows, weight):
        return
    score = goodness(scorer.code, sums, scorer.counts, scorer.n_classes, weight, scorer.weight,
                     scratch)
    if better(score, 0, place, best):
        best.score = score
        best.direction = 0
        best.rows_left = place
        best.below = below
        best.above = above


cdef void swing_search(Bench* bench, const Sheet* sheet, const u8* leaves, double tolerance,
                       const Scorer* scorer, Cut* best) noexcept nogil:
    """Offers the best place between the values in bench.work.values, which are in [-1, 1]."""
    cdef i64 n = sheet.n, k, row, rows = 0, weight = 0, step
    cdef int n_classes = scorer.n_classes
    cdef const double* values = bench.work.values
    cdef i64* sums = bench.work.left
    cdef double here, last = -1.0
    memset(sums, 0, n_classes * sizeof(i64))
    for k in range(n):
        if leaves[k]:
            step = sheet.weights[k] if sheet.weighted else 1
            sums[bench.work.classes[k]] += step
            weight += step
            rows += 1
    sort_order(values, bench.work.order, n, &bench.work.packed)
    for k in range(n):
        row = bench.work.order[k] & 0x7FFFFFFF
        here = values[row]
        if here - last > tolerance:
            offer(scorer, sums, rows, weight, sums + n_classes, last, here, k, best)
        last = here
        step = sheet.weights[row] if sheet.weighted else 1
        if leaves[row]:
            sums[bench.work.classes[row]] -= step
            weight -= step
            rows -= 1
        else:
            sums[bench.work.classes[row]] += step
            weight += step
            rows += 1
    if 1.0 - last > tolerance:
        offer(scorer, sums, rows, weight, sums + n_classes, last, 1.0, n, best)
