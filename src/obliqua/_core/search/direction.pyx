"""The best cut along any direction: bins first, exact values where bins cannot decide.

One code path, in steps that add up over parts of the data:

    ranges     smallest and largest projection           (min and max over parts)
    histogram  sums per bin of an interval               (added over parts)
    choose     scores the edges of the bins, keeps the bins that could hide a better cut
    histogram  again on the kept bins, where they hold too many rows ("zoom")
    collect    the values in the bins that are left      (joined over parts)
    finish     sorts these few values and scores every cut

In memory they run one after the other for each direction; `obliqua.engine.passes` runs them over
parts. Every score comes from integer sums, so both find the same cut, bit for bit, and the
same cut that sorting all rows would find.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from obliqua._core.base.sort cimport buffers_free, buffers_reserve, sort_order
from obliqua._core.base.target cimport Target, add_row, weight_at
from obliqua._core.base.types cimport Cut, Scorer, View, allowed, better, i32, i64, real, u32
from obliqua._core.search.criterion cimport (
    ABSOLUTE_ERROR, GINI, SQUARED_ERROR, TWOING, bin_bound, goodness, is_convex, is_narrow,
    of_numbers,
)
from obliqua._core.search.medians cimport Medians, measure_cuts, median_goodness

cdef enum:
    FEW_ROWS = 256           # measured: below this a sort is cheaper than bins
    MANY_CLASSES = 256       # and with more classes than this, too
    MOST_BINS = 1024
    ROWS_PER_BIN = 16

cdef double SLACK = 1.0 - 1e-12
# Per term, of the largest sum of |coefficient * value|: four times what rounding can do to the
# difference of two sums, because features carry rounding errors of their own.
cdef double TIE = 2.0 ** -50


# -- memory ----------------------------------------------------------------------------------


cdef bint workspace_init(Workspace* work, i64 capacity, int n_sums, bint weighted,
                         const Target* target) noexcept nogil:
    """Makes room for nodes of up to `capacity` rows; False if there is no memory."""
    memset(work, 0, sizeof(Workspace))
    work.capacity = max(capacity, 1)
    work.n_sums = n_sums
    work.target = target
    work.bin_capacity = 1
    if capacity >= FEW_ROWS:  # a node may hold few of many classes
        work.bin_capacity = MOST_BINS * (min(n_sums, <int> MANY_CLASSES) + 1)
    work.values = <double*> malloc(work.capacity * sizeof(double))
    work.classes = <i32*> malloc(work.capacity * sizeof(i32))
    work.order = <u32*> malloc(work.capacity * sizeof(u32))
    work.left = <i64*> malloc((3 if target == NULL else 6) * n_sums * sizeof(i64))
    work.bins = <i64*> malloc(work.bin_capacity * sizeof(i64))
    work.edges = <double*> malloc(2 * MOST_BINS * sizeof(double))
    work.offsets = <i64*> malloc((MOST_BINS + 1) * sizeof(i64))
    work.some_values = <double*> malloc(work.capacity * sizeof(double))
    work.some_classes = <i32*> malloc(work.capacity * sizeof(i32))
    if weighted:
        work.weights = <i64*> malloc(work.capacity * sizeof(i64))
        work.some_weights = <i64*> malloc(work.capacity * sizeof(i64))
    if (work.values == NULL or work.classes == NULL or work.order == NULL or work.left == NULL
            or work.bins == NULL or work.edges == NULL or work.offsets == NULL
            or work.some_values == NULL or work.some_classes == NULL
            or (weighted and (work.weights == NULL or work.some_weights == NULL))
            or not buffers_reserve(&work.buffers, work.capacity)):
        workspace_free(work)
        return False
    return True


cdef void workspace_free(Workspace* work) noexcept nogil:
    free(work.values)
    free(work.classes)
    free(work.order)
    free(work.left)
    free(work.bins)
    free(work.edges)
    free(work.offsets)
    free(work.some_values)
    free(work.some_classes)
    free(work.weights)
    free(work.some_weights)
    buffers_free(&work.buffers)
    memset(work, 0, sizeof(Workspace))


# -- projections -----------------------------------------------------------------------------


cdef double project_rows(const real* data, const View* view, const i32* rows, i64 n,
                         const i32* idx, const double* coef, i64 n_coef,
                         double* values) noexcept nogil:
    """Canonical dot products: terms in stored order, each rounded.

    Returns the largest sum of |terms|.

    Infinity says that a value is not finite: such a direction is left alone.
    """
    cdef i64 i, k
    cdef const real* row
    cdef double total, size, term, largest = 0.0
    for i in range(n):
        row = data + rows[i] * view.row_stride
        total = 0.0
        size = 0.0
        for k in range(n_coef):
            term = coef[k] * (<double> row[idx[k] * view.col_stride])
            total += term
            size += fabs(term)
        values[i] = total
        if not size <= largest:
            largest = size
    return largest


cdef double project(const View* view, const i32* rows, i64 n, const i32* idx, const double* coef,
                    i64 n_coef, double* values) noexcept nogil:
    cdef double largest
    if view.single:
        largest = project_rows(<const float*> view.data, view, rows, n, idx, coef, n_coef, values)
    else:
        largest = project_rows(<const double*> view.data, view, rows, n, idx, coef, n_coef, values)
    if largest - largest != 0.0:
        return INFINITY
    return largest


cdef double tolerance_for(double largest, i64 n_coef) noexcept nogil:
    """One feature: equal is equal. Sums: equal also if rounding explains the difference."""
    return 0.0 if n_coef == 1 else TIE * <double> n_coef * largest


# -- exact scan ------------------------------------------------------------------------------


cdef struct Squares:
    # Sums over the classes, exact: of left^2, of left * total, of total^2; and n, the weight.
    i64 of_left
    i64 mixed
    double of_total
    double n
    double slack             # more than rounding can take off the sum below


cdef void squares_start(Squares* sums, const i64* left, const Scorer* scorer) noexcept nogil:
    cdef int c
    sums.of_left = 0
    sums.mixed = 0
    sums.of_total = 0.0
    for c in range(scorer.n_sums):
        sums.of_left += left[c] * left[c]
        sums.mixed += left[c] * scorer.counts[c]
        sums.of_total += (<double> scorer.counts[c]) * (<double> scorer.counts[c])
    sums.n = <double> scorer.weight
    sums.slack = 1e-14 * (sums.n * sums.n) * (sums.n * sums.n)


cdef inline double squares_most(const Squares* sums, i64 n_left) noexcept nogil:
    """The sum of squared excesses, (left * n - total * n_left)^2; never less than it is."""
    cdef double i = <double> n_left
    return (sums.n * sums.n * (<double> sums.of_left) - 2.0 * sums.n * i * (<double> sums.mixed)
            + i * i * sums.of_total + sums.slack)


cdef void scan_sorted(const double* values, const i32* classes, const i64* weights,
                      const u32* order, i64 n, const i64* before, i64 rows_before, i64* left,
                      i64* scratch, double tolerance, const Scorer* scorer, i64 direction,
                      Cut* best) noexcept nogil:
    """Offers every legal cut between sorted values; `before`: class sums left of them."""
    cdef i64 k, row, rows_left, step, weight = 0
    cdef i64 n_weight = scorer.weight
    cdef int c
    cdef bint two = (scorer.n_sums == 2 and is_narrow(n_weight)
                     and (scorer.code == GINI or scorer.code == TWOING))
    cdef double unit = (<double> n_weight) * (<double> n_weight)
    cdef double here, last = 0.0, score, d
    # With a row of class c on the other side, twoing's sum S of |excesses| grows by at most
    # 2 w (n - n_c), so for a while after a poor cut none can be better than the best.
    cdef bint many = (scorer.n_sums > 2 and is_narrow(n_weight) and scorer.code == TWOING)
    cdef double reach = 0.0
    # Gini's sum of squared excesses needs no look at all classes, but it loses digits.
    cdef bint squares = (scorer.n_sums > 2 and is_narrow(n_weight) and scorer.code == GINI)
    cdef Squares sums
    if squares:
        squares_start(&sums, before, scorer)
    elif scorer.code == GINI:
        unit = unit / 2
    for c in range(scorer.n_sums):
        left[c] = before[c]
        weight += before[c]
    if many:
        for c in range(scorer.n_sums):
            reach += fabs(<double> (left[c] * n_weight - scorer.counts[c] * weight))
    for k in range(n):
        row = order[k] & 0x7FFFFFFF
        here = values[row]
        rows_left = rows_before + k
        if k > 0 and here - last > tolerance and allowed(scorer, rows_left, weight):
            score = INFINITY
            if two:              # cheap test first: d^2 / (i (n - i)) against the best so far
                d = <double> (left[0] * n_weight - scorer.counts[0] * weight)
                if (d * d < best.score * unit * SLACK
                        * ((<double> weight) * (<double> (n_weight - weight)))):
                    score = -INFINITY
            elif squares and (squares_most(&sums, weight) < best.score * unit * SLACK
                              * ((<double> weight) * (<double> (n_weight - weight)))):
                score = -INFINITY
            elif many and (reach * reach < best.score * 4.0 * unit * SLACK
                           * ((<double> weight) * (<double> (n_weight - weight)))):
                score = -INFINITY
            if score > 0:
                score = goodness(scorer.code, left, scorer.counts, scorer.n_sums, weight,
                                 n_weight, scratch)
                if many:
                    reach = (1.0 + 1e-9) * sqrt(score * 4.0 * unit * ((<double> weight)
                                                * (<double> (n_weight - weight))))
            if better(score, direction, rows_left, best):
                best.score = score
                best.direction = direction
                best.rows_left = rows_left
                best.below = last
                best.above = here
        last = here
        c = classes[row]
        step = 1 if weights == NULL else weights[row]
        if many:
            reach += 2.0 * (<double> step) * (<double> (n_weight - scorer.counts[c]))
        if squares:
            sums.of_left += step * (2 * left[c] + step)
            sums.mixed += step * scorer.counts[c]
        left[c] += step
        weight += step


cdef void scan_sorted_numbers(const double* values, const i32* rows, const Target* target,
                              const u32* order, i64 n, const i64* before, i64 rows_before,
                              i64* left, double tolerance, const Scorer* scorer, i64 direction,
                              Cut* best) noexcept nogil:
    """The same for numbers; `left`: room for four vectors of sums.

    As in `column_lists`, doubles filter squared errors and the exact score decides.
    """
    cdef int j, m = target.n_numbers
    cdef i64 k, at, row, w, rows_left, weight = before[0]
    cdef double n_weight = <double> scorer.weight
    cdef double lost = 2.0 ** -50 * n_weight
    cdef double square = n_weight * n_weight
    cdef double here, last = 0.0, score, d, squares
    cdef i64* middle = left + scorer.n_sums
    cdef i64* rest = left + 2 * scorer.n_sums
    cdef i64* sums = left + 3 * scorer.n_sums
    for j in range(m):
        middle[j] = (scorer.counts[1 + j] + scorer.weight // 2) // scorer.weight
        rest[j] = scorer.counts[1 + j] - middle[j] * scorer.weight
        sums[j] = before[1 + j] - middle[j] * weight
    for k in range(n):
        at = order[k] & 0x7FFFFFFF
        here = values[at]
        rows_left = rows_before + k
        if k > 0 and here - last > tolerance and allowed(scorer, rows_left, weight):
            squares = 0.0
            for j in range(m):
                d = fabs((<double> sums[j]) * n_weight - (<double> rest[j]) * (<double> weight))
                d += lost * (fabs(<double> sums[j]) + (<double> weight))
                squares += d * d
            if scorer.code != SQUARED_ERROR or squares >= best.score * square * SLACK * (
                    (<double> weight) * (n_weight - (<double> weight))):
                left[0] = weight
                for j in range(m):
                    left[1 + j] = sums[j] + middle[j] * weight
                score = goodness(scorer.code, left, scorer.counts, scorer.n_sums, weight,
                                 scorer.weight, NULL)
                if better(score, direction, rows_left, best):
                    best.score = score
                    best.direction = direction
                    best.rows_left = rows_left
                    best.below = last
                    best.above = here
        last = here
        row = rows[at]
        w = weight_at(target, row)
        weight += w
        for j in range(m):
            sums[j] += w * (target.rows[row * m + j] - middle[j])


cdef void scan_sorted_rows(const double* values, const i32* rows, const Target* target,
                           const u32* order, i64 n, double tolerance, const Scorer* scorer,
                           i64 direction, Cut* best) noexcept nogil:
    """The same for a criterion that needs rows: all of the node's."""
    cdef Medians* medians = <Medians*> scorer.medians
    cdef i64 k, weight = 0
    cdef double here, last = 0.0, score
    for k in range(n):
        medians.rows[k] = rows[order[k] & 0x7FFFFFFF]
    measure_cuts(medians)
    for k in range(n):
        here = values[order[k] & 0x7FFFFFFF]
        if k > 0 and here - last > tolerance and allowed(scorer, k, weight):
            score = median_goodness(scorer, k)
            if better(score, direction, k, best):
                best.score = score
                best.direction = direction
                best.rows_left = k
                best.below = last
                best.above = here
        last = here
        weight += weight_at(target, medians.rows[k])


# -- bins ------------------------------------------------------------------------------------


cdef i64 bin_of(double value, double low, double scale, i64 n_bins) noexcept nogil:
    """A function of the value that never decreases, so bins are intervals of values."""
    cdef double place = (value - low) * scale
    if not place < <double> n_bins:          # the upper end, or a range that overflows
        return n_bins - 1
    return <i64> place


cdef double bin_scale(double low, double high, i64 n_bins) noexcept nogil:
    """Bins per unit; 0 puts everything in one bin where the range cannot be divided."""
    cdef double scale = (<double> n_bins) / (high - low)
    return scale if scale - scale == 0.0 else 0.0


cdef inline i64 weight_in(const Scorer* scorer, const i64* sums) noexcept nogil:
    """The weight in a vector of sums."""
    cdef int c
    cdef i64 weight = 0
    if of_numbers(scorer.code):
        return sums[0]
    for c in range(scorer.n_sums):
        weight += sums[c]
    return weight


cdef void clear_bins(i64* bins, double* edges, i64 n_bins, int n_sums) noexcept nogil:
    cdef i64 b
    memset(bins, 0, n_bins * (n_sums + 1) * sizeof(i64))
    for b in range(n_bins):
        edges[2 * b] = INFINITY
        edges[2 * b + 1] = -INFINITY


cdef void add_to_bin(i64* bins, double* edges, i64 b, int n_classes, double value, i32 cls,
                     i64 weight) noexcept nogil:
    bins[b * (n_classes + 1) + cls] += weight
    bins[b * (n_classes + 1) + n_classes] += 1
    if value < edges[2 * b]:
        edges[2 * b] = value
    if value > edges[2 * b + 1]:
        edges[2 * b + 1] = value


cdef void add_number_to_bin(i64* bins, double* edges, i64 b, const Target* target, double value,
                            i64 row) noexcept nogil:
    cdef i64* bin_ = bins + b * (target.n_sums + 1)
    add_row(target, row, bin_)
    bin_[target.n_sums] += 1
    if value < edges[2 * b]:
        edges[2 * b] = value
    if value > edges[2 * b + 1]:
        edges[2 * b + 1] = value


cdef void score_edges(const i64* bins, const double* edges, i64 n_bins, const i64* before,
                      i64 rows_before, i64* left, i64* scratch, double tolerance,
                      const Scorer* scorer, i64 direction, Cut* best) noexcept nogil:
    """Offers the cuts between neighbouring bins that are not empty."""
    cdef i64 b, rows_left = rows_before, weight = 0
    cdef int c, n_sums = scorer.n_sums
    cdef const i64* bin_
    cdef double last = -INFINITY, score
    cdef bint started = False
    for c in range(n_sums):
        left[c] = before[c]
    weight = weight_in(scorer, before)
    for b in range(n_bins):
        bin_ = bins + b * (n_sums + 1)
        if bin_[n_sums] == 0:
            continue
        if started and edges[2 * b] - last > tolerance and allowed(scorer, rows_left, weight):
            score = goodness(scorer.code, left, scorer.counts, n_sums, weight, scorer.weight,
                             scratch)
            if better(score, direction, rows_left, best):
                best.score = score
                best.direction = direction
                best.rows_left = rows_left
                best.below = last
                best.above = edges[2 * b]
        started = True
        last = edges[2 * b + 1]
        rows_left += bin_[n_sums]
        for c in range(n_sums):
            left[c] += bin_[c]
        weight += weight_in(scorer, bin_)


cdef inline bint could_hide(const i64* bin_, const double* edge, const i64* left, i64 weight,
                            i64 rows_left, double tolerance, const Scorer* scorer, i64 direction,
                            const Cut* best) noexcept nogil:
    """Whether a cut inside this bin could still replace the best one."""
    cdef double bound
    if bin_[scorer.n_sums] < 2 or not edge[1] - edge[0] > tolerance:
        return False
    if not is_convex(scorer.code):
        return True
    bound = bin_bound(scorer.code, left, bin_, scorer.counts, scorer.n_sums, weight,
                      weight_in(scorer, bin_), scorer.weight)
    return better(bound, direction, rows_left, best)


cdef i64 open_bins(const i64* bins, const double* edges, i64 n_bins, const i64* before,
                   i64 rows_before, i64* left, double tolerance, const Scorer* scorer,
                   i64 direction, const Cut* best, i64* offsets) noexcept nogil:
    """Marks bins to look into: offsets[b] is where its rows go, -1 if it is decided."""
    cdef i64 b, rows_left = rows_before, weight = 0, taken = 0
    cdef int c, n_sums = scorer.n_sums
    cdef const i64* bin_
    for c in range(n_sums):
        left[c] = before[c]
    weight = weight_in(scorer, before)
    for b in range(n_bins):
        bin_ = bins + b * (n_sums + 1)
        offsets[b] = -1
        if could_hide(bin_, edges + 2 * b, left, weight, rows_left, tolerance, scorer, direction,
                      best):
            offsets[b] = taken
            taken += bin_[n_sums]
        rows_left += bin_[n_sums]
        for c in range(n_sums):
            left[c] += bin_[c]
        weight += weight_in(scorer, bin_)
    return taken


cdef void finish_bins(Workspace* work, i64 n_bins, double tolerance, const Scorer* scorer,
                      i64 direction, Cut* best) noexcept nogil:
    """Sorts the collected rows bin by bin and scans those whose bound still holds out hope."""
    cdef i64 b, first, count, rows_left = 0, weight = 0
    cdef int c, n_sums = scorer.n_sums
    cdef const i64* bin_
    cdef i64* before = work.left + n_sums
    memset(before, 0, n_sums * sizeof(i64))
    for b in range(n_bins):
        bin_ = work.bins + b * (n_sums + 1)
        count = bin_[n_sums]
        if work.offsets[b] >= 0 and could_hide(bin_, work.edges + 2 * b, before, weight, rows_left,
                                               tolerance, scorer, direction, best):
            first = work.offsets[b] - count          # collecting moved it on
            sort_order(work.some_values + first, work.order, count, &work.buffers)
            if work.target != NULL:
                scan_sorted_numbers(work.some_values + first, work.some_classes + first,
                                    work.target, work.order, count, before, rows_left,
                                    work.left + 2 * n_sums, tolerance, scorer, direction, best)
            else:
                scan_sorted(work.some_values + first, work.some_classes + first,
                            NULL if work.weights == NULL else work.some_weights + first,
                            work.order, count, before, rows_left, work.left,
                            work.left + 2 * n_sums, tolerance, scorer, direction, best)
        rows_left += count
        for c in range(n_sums):
            before[c] += bin_[c]
        weight += weight_in(scorer, bin_)


cdef void search_bins(Workspace* work, i64 n, double low, double high, double tolerance,
                      const Scorer* scorer, i64 direction, Cut* best) noexcept nogil:
    """histogram, choose, collect and finish for one direction in memory."""
    cdef i64 n_bins = min(n // ROWS_PER_BIN, <i64> MOST_BINS)
    cdef double scale = bin_scale(low, high, n_bins)
    cdef i64 i, b, at
    cdef int n_sums = scorer.n_sums
    cdef i64* before = work.left + n_sums
    clear_bins(work.bins, work.edges, n_bins, n_sums)
    for i in range(n):
        b = bin_of(work.values[i], low, scale, n_bins)
        if work.target != NULL:
            add_number_to_bin(work.bins, work.edges, b, work.target, work.values[i],
                              work.classes[i])
        else:
            add_to_bin(work.bins, work.edges, b, n_sums, work.values[i], work.classes[i],
                       1 if work.weights == NULL else work.weights[i])
    memset(before, 0, n_sums * sizeof(i64))
    score_edges(work.bins, work.edges, n_bins, before, 0, work.left, work.left + 2 * n_sums,
                tolerance, scorer, direction, best)
    if open_bins(work.bins, work.edges, n_bins, before, 0, work.left, tolerance, scorer, direction,
                 best, work.offsets) == 0:
        return
    for i in range(n):
        b = bin_of(work.values[i], low, scale, n_bins)
        at = work.offsets[b]
        if at >= 0:
            work.some_values[at] = work.values[i]
            work.some_classes[at] = work.classes[i]
            if work.weights != NULL:
                work.some_weights[at] = work.weights[i]
            work.offsets[b] = at + 1
    finish_bins(work, n_bins, tolerance, scorer, direction, best)


cdef void search_values(Workspace* work, i64 n, double tolerance, const Scorer* scorer,
                        bint exhaustive, i64 direction, Cut* best) noexcept nogil:
    """The best cut of work.values (with work.classes, work.weights), offered to `best`."""
    cdef i64 i
    cdef double low = INFINITY, high = -INFINITY
    cdef int n_sums = scorer.n_sums
    for i in range(n):
        if work.values[i] < low:
            low = work.values[i]
        if work.values[i] > high:
            high = work.values[i]
    if not high - low > tolerance:
        return
    if (n >= FEW_ROWS and n_sums <= MANY_CLASSES and is_convex(scorer.code)
            and not exhaustive):
        search_bins(work, n, low, high, tolerance, scorer, direction, best)
        return
    memset(work.left + n_sums, 0, n_sums * sizeof(i64))
    sort_order(work.values, work.order, n, &work.buffers)
    if scorer.code == ABSOLUTE_ERROR:
        scan_sorted_rows(work.values, work.classes, work.target, work.order, n, tolerance, scorer,
                         direction, best)
        return
    if work.target != NULL:
        scan_sorted_numbers(work.values, work.classes, work.target, work.order, n,
                            work.left + n_sums, 0, work.left + 2 * n_sums, tolerance, scorer,
                            direction, best)
        return
    scan_sorted(work.values, work.classes, work.weights, work.order, n, work.left + n_sums, 0,
                work.left, work.left + 2 * n_sums, tolerance, scorer, direction, best)
