"""Numbers for levels and for missing values at a node.

A qualitative column stays one column of level codes. At a node its levels get numbers, the first
discriminant coordinate of their indicator vectors (CRIMCOORD, Loh and Shih 1997), from the table
of levels and classes alone: a level's number is a function of its shares of the classes, so equal
shares get equal numbers. They have variance 1 at the node, so neither the number of rows nor the
unit of their weights tells how much levels count beside numbers; or, as published, the sum of
their squares about their mean is 1. A missing value is one more level where the node has seen it,
else 0.
In a numeric column the mean of the node's rows stands in for what is missing.
"""

from libc.math cimport INFINITY, fabs, frexp, isnan, ldexp, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.linalg cimport eigen_symmetric
from obliqua._core.base.pairs cimport (
    DoublePair, add_pair, difference, divided, product, square, times,
)
from obliqua._core.base.rounding cimport round_significant
from obliqua._core.base.types cimport i32, i64, u8
from obliqua._core.search.gathered cimport Gathered

cdef extern from "loops.h" nogil:
    void ob_range(const double* z, i64 n, double* low, double* high)

cdef double NO_LAMBDA = 1e-14


cdef bint coding_init(LevelCoding* coding, i64 n_coded, const i32* column, const i32* n_levels,
                      const double* usual, bint by_node, int n_classes) noexcept nogil:
    """Makes room; False if there is no memory."""
    cdef i64 k, most = 1, size
    memset(coding, 0, sizeof(LevelCoding))
    coding.n_coded = n_coded
    coding.n_classes = n_classes
    coding.by_node = by_node
    coding.column = <i32*> malloc(n_coded * sizeof(i32))
    coding.n_levels = <i32*> malloc(n_coded * sizeof(i32))
    coding.usual = <double*> malloc(n_coded * sizeof(double))
    coding.begin = <i64*> malloc((n_coded + 1) * sizeof(i64))
    if (coding.column == NULL or coding.n_levels == NULL or coding.usual == NULL
            or coding.begin == NULL):
        coding_free(coding)
        return False
    memcpy(coding.column, column, n_coded * sizeof(i32))
    memcpy(coding.n_levels, n_levels, n_coded * sizeof(i32))
    memcpy(coding.usual, usual, n_coded * sizeof(double))
    coding.begin[0] = 0
    for k in range(n_coded):
        coding.begin[k + 1] = coding.begin[k] + n_levels[k] + 1
        most = max(most, <i64> n_levels[k] + 1)
    coding.number = <double*> malloc(coding.begin[n_coded] * sizeof(double))
    coding.tally = <i64*> malloc(most * n_classes * sizeof(i64))
    coding.here = <i32*> malloc(most * sizeof(i32))
    coding.share = <i64*> malloc(n_classes * sizeof(i64))
    size = min(most, <i64> n_classes)            # of levels or classes, whichever are fewer
    coding.matrix = <double*> malloc(size * size * sizeof(double))
    coding.values = <double*> malloc(max(size, <i64> n_classes) * sizeof(double))
    coding.scratch = <double*> malloc((4 * size + 2 * n_classes) * sizeof(double))
    if (coding.number == NULL or coding.tally == NULL or coding.here == NULL
            or coding.share == NULL or coding.matrix == NULL or coding.values == NULL
            or coding.scratch == NULL):
        coding_free(coding)
        return False
    memset(coding.number, 0, coding.begin[n_coded] * sizeof(double))
    memset(coding.tally, 0, most * n_classes * sizeof(i64))
    return True


cdef bint coding_note_absent(LevelCoding* coding, i64 most_rows) noexcept nogil:
    """Makes room to note what is missing; False if there is no memory."""
    coding.absent = <u8*> malloc(coding.n_coded * most_rows)
    return coding.absent != NULL


cdef void coding_free(LevelCoding* coding) noexcept nogil:
    free(coding.absent)
    free(coding.column)
    free(coding.n_levels)
    free(coding.usual)
    free(coding.begin)
    free(coding.number)
    free(coding.tally)
    free(coding.here)
    free(coding.share)
    free(coding.matrix)
    free(coding.values)
    free(coding.scratch)
    memset(coding, 0, sizeof(LevelCoding))


cdef void scaled_row(const LevelCoding* coding, i64 level, int n_present, double n,
                     double* row) noexcept nogil:
    """S_lc of one level, for all classes."""
    cdef const i64* sums = coding.tally + level * n_present
    cdef double x, r = 0.0
    cdef int c
    for c in range(n_present):
        r += <double> sums[c]
    for c in range(n_present):
        x = <double> coding.share[c]
        row[c] = (<double> sums[c] - r * (x / n)) / sqrt(r * x)


cdef i64 fill_matrix(LevelCoding* coding, int n_present, i64 n_here, double n,
                     double* row) noexcept nogil:
    """S'S or SS', whichever is smaller: they share their eigenvalues; returns its size."""
    cdef i64 i, j, size = min(<i64> n_present, n_here)
    cdef double* matrix = coding.matrix
    cdef double* other = row + n_present
    cdef double x
    cdef int c
    memset(matrix, 0, size * size * sizeof(double))
    for i in range(n_here):
        scaled_row(coding, coding.here[i], n_present, n, row)
        if size == n_present:
            for j in range(size):
                for c in range(<int> j + 1):
                    matrix[j * size + c] += row[j] * row[c]
        else:
            for j in range(i + 1):
                scaled_row(coding, coding.here[j], n_present, n, other)
                x = 0.0
                for c in range(n_present):
                    x += row[c] * other[c]
                matrix[i * size + j] = x
    for i in range(size):
        for j in range(i):
            matrix[j * size + i] = matrix[i * size + j]
    return size


cdef void class_factors(LevelCoding* coding, int n_present, i64 n_here, i64 total) noexcept nogil:
    """u_c in `values`: a level's number is the sum of its shares times these, but for a constant.

    With S_lc = (n_lc - r_l n_c / n) / sqrt(r_l n_c): v is the top eigenvector of S'S, lambda its
    eigenvalue, and u_c = v_c sqrt(n / (n_c lambda)). All 0 if the levels tell nothing.
    """
    cdef i64 i, size
    cdef int a, b = 0
    cdef double top, n = <double> total
    cdef double* v = coding.matrix
    cdef double* row = coding.scratch + 4 * min(<i64> n_present, n_here)
    size = fill_matrix(coding, n_present, n_here, n, row)
    # Eigenvectors are rows, the first one with the largest eigenvalue.
    if (not eigen_symmetric(coding.matrix, size, coding.values, coding.scratch)
            or coding.values[0] < NO_LAMBDA):
        memset(coding.values, 0, n_present * sizeof(double))
        return
    top = coding.values[0]
    if size < n_present:                         # of SS': v = S'w / sqrt(lambda)
        v = row + n_present
        memset(v, 0, n_present * sizeof(double))
        for i in range(n_here):
            scaled_row(coding, coding.here[i], n_present, n, row)
            for a in range(n_present):
                v[a] += row[a] * coding.matrix[i] / sqrt(top)
    while b < n_present - 1 and fabs(v[b]) < 1e-12:
        b += 1
    top = -sqrt(top) if v[b] < 0.0 else sqrt(top)
    for a in range(n_present):
        coding.values[a] = v[a] / top * sqrt(n / <double> coding.share[a])


cdef void two_class_factors(LevelCoding* coding, i64 n_here, i64 total) noexcept nogil:
    """The same for two classes, without an eigen-problem: only the second share counts."""
    cdef i64 i, level
    cdef double r, f, mean = (<double> coding.share[1]) / (<double> total), squares = 0.0
    for i in range(n_here):
        level = coding.here[i]
        r = <double> (coding.tally[2 * level] + coding.tally[2 * level + 1])
        f = (<double> coding.tally[2 * level + 1]) / r - mean
        squares += r * f * f
    coding.values[0] = 0.0
    coding.values[1] = 0.0
    if squares >= NO_LAMBDA * mean * (1.0 - mean) * (<double> total):
        coding.values[1] = 1.0 / sqrt(squares / <double> total)


cdef inline bint is_zero(const i64* sums, int n_classes) noexcept nogil:
    cdef int c
    for c in range(n_classes):
        if sums[c]:
            return False
    return True


cdef inline bint before(const i64* one, const i64* other, int n_classes) noexcept nogil:
    cdef int c
    for c in range(n_classes):
        if one[c] != other[c]:
            return one[c] < other[c]
    return False


cdef void order_levels(LevelCoding* coding, i64 n_here, int n_classes) noexcept nogil:
    """Orders the levels that are there by their sums, so that no sum depends on their codes.

    Shell's sort, with gaps 3 k + 1: levels are few, as a rule.
    """
    cdef i64 i, j, gap = 1
    cdef i32 level
    while gap < n_here // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n_here):
            level = coding.here[i]
            j = i
            while j >= gap and before(coding.tally + (<i64> level) * n_classes,
                                      coding.tally + (<i64> coding.here[j - gap]) * n_classes,
                                      n_classes):
                coding.here[j] = coding.here[j - gap]
                j -= gap
            coding.here[j] = level
        gap //= 3


cdef void numbers_of_tally(LevelCoding* coding, i64 n_here, int C, double* number) noexcept nogil:
    """Numbers for the levels in `here`, from `tally` and `share`, the weights of the classes."""
    cdef i64 i, level, total = 0
    cdef int c
    cdef double r, x, mean = 0.0, factor = 1.0
    if n_here < 2 or C < 2:
        return
    for c in range(C):
        total += coding.share[c]
    order_levels(coding, n_here, C)
    if C == 2:
        two_class_factors(coding, n_here, total)
    else:
        class_factors(coding, C, n_here, total)
    for i in range(n_here):
        level = coding.here[i]
        r = 0.0
        x = 0.0
        for c in range(C):
            r += <double> coding.tally[level * C + c]
        for c in range(C):
            x += (<double> coding.tally[level * C + c]) / r * coding.values[c]
        number[level] = x
        mean += x
    mean /= <double> n_here
    if coding.unit > 0.0:
        factor = 1.0 / sqrt((<double> total) * coding.unit)
    for i in range(n_here):
        level = coding.here[i]
        number[level] = round_significant((number[level] - mean) * factor)


cdef void number_levels(LevelCoding* coding, i64 which, Gathered* gathered) noexcept nogil:
    """Numbers for the levels of one column; the others get 0."""
    cdef i64 i, level, n_here = 0, n = gathered.n
    cdef i64 missing = coding.n_levels[which]
    cdef bint few = n * 32 <= missing
    cdef i64 weight
    cdef int C = gathered.n_present
    cdef double* column = gathered.columns + coding.column[which] * n
    cdef double* number = coding.number + coding.begin[which]
    memcpy(coding.share, gathered.counts, C * sizeof(i64))
    # In small nodes the rows say which levels there are; in large ones all levels are looked at.
    for i in range(n):
        level = missing if isnan(column[i]) else <i64> column[i]
        weight = gathered.weights[i] if gathered.weighted else 1
        if few and is_zero(coding.tally + level * C, C):
            coding.here[n_here] = <i32> level
            n_here += 1
        coding.tally[level * C + gathered.classes[i]] += weight
    if not few:
        n_here = find_levels(coding, missing + 1, C)
    memset(number, 0, (missing + 1) * sizeof(double))
    numbers_of_tally(coding, n_here, C, number)
    for i in range(n_here):
        memset(coding.tally + (<i64> coding.here[i]) * C, 0, C * sizeof(i64))
    for i in range(n):
        column[i] = number[missing if isnan(column[i]) else <i64> column[i]]


cdef i64 find_levels(LevelCoding* coding, i64 n_levels, int n_classes) noexcept nogil:
    """Lists the levels that are there in `here`; returns how many there are."""
    cdef i64 level, n_here = 0
    for level in range(n_levels):
        if not is_zero(coding.tally + level * n_classes, n_classes):
            coding.here[n_here] = <i32> level
            n_here += 1
    return n_here


def level_numbers(const i64[:, ::1] sums, double unit):
    """The numbers of levels, the last of which is what is missing, from their sums by class.

    Classes are those that are there. `unit` as for `code_columns`.
    """
    cdef LevelCoding coding
    cdef i32 column = 0, n_levels = <i32> sums.shape[0] - 1
    cdef double usual = 0.0
    cdef i64 level
    cdef int c, C = <int> sums.shape[1]
    numbers = np.zeros(sums.shape[0])
    cdef double[::1] numbers_ = numbers
    if not coding_init(&coding, 1, &column, &n_levels, &usual, True, C):
        raise MemoryError("no room to number levels")
    coding.unit = unit
    with nogil:
        memcpy(coding.tally, &sums[0, 0], sums.shape[0] * C * sizeof(i64))
        memset(coding.share, 0, C * sizeof(i64))
        for level in range(sums.shape[0]):
            for c in range(C):
                coding.share[c] += sums[level, c]
        numbers_of_tally(&coding, find_levels(&coding, sums.shape[0], C), C, &numbers_[0])
        coding_free(&coding)
    return numbers


cdef double middle_of(double low, double high, int* exponent) noexcept nogil:
    """The middle of a range, and the power of two about it that no value goes beyond."""
    cdef double middle = low / 2 + high / 2
    frexp(max(high - middle, middle - low), exponent)
    exponent[0] = max(exponent[0], -900)
    return middle


cdef void sum_about(const double* values, const i64* weights, i64 n, double low, double high,
                    DoublePair* total, double* weight) noexcept nogil:
    """The sum of what is there about the middle of its range, and its weight.

    Sums are so wide that neither the order of the rows shows nor whether one of weight 2 was
    written twice.
    """
    cdef int exponent = 0
    cdef double w, middle = middle_of(low, high, &exponent)
    cdef i64 i
    for i in range(n):
        if not isnan(values[i]):
            w = 1.0 if weights == NULL else <double> weights[i]
            weight[0] += w
            add_pair(total, product(w, ldexp(values[i] - middle, -exponent)))


cdef double mean_about(double low, double high, double total, double weight) noexcept nogil:
    """The mean, from a sum about the middle of the range."""
    cdef int exponent = 0
    cdef double middle = middle_of(low, high, &exponent)
    if low == high:
        return low + 0.0                         # of 0 and -0, whichever came first
    return middle + ldexp(total / weight, exponent)


cdef void fill_missing(LevelCoding* coding, i64 which, Gathered* gathered) noexcept nogil:
    """The mean of the values that are there, in the place of the others."""
    cdef i64 i, n = gathered.n
    cdef double* column = gathered.columns + coding.column[which] * n
    cdef double low = INFINITY, high = -INFINITY, weight = 0.0, value
    cdef DoublePair total
    total.high, total.low = 0.0, 0.0
    value = coding.usual[which]
    if coding.by_node:
        for i in range(n):
            if not isnan(column[i]):
                low = min(low, column[i])
                high = max(high, column[i])
        if low <= high:
            sum_about(column, gathered.weights if gathered.weighted else NULL, n, low, high,
                      &total, &weight)
            value = mean_about(low, high, total.high, weight)
    coding.number[coding.begin[which]] = value
    for i in range(n):
        if isnan(column[i]):
            column[i] = value


def present_sum(const double[::1] values, weights, double low, double high):
    """What is there: its weight, and its sum about the middle of a range, a pair of numbers."""
    cdef const i64[::1] w = weights
    cdef double weight = 0.0
    cdef DoublePair total
    total.high, total.low = 0.0, 0.0
    if values.shape[0]:
        sum_about(&values[0], NULL if weights is None else &w[0], values.shape[0], low, high,
                  &total, &weight)
    return np.array([weight, total.high, total.low])


def mean_of_present(double low, double high, double weight, double total):
    """The mean, from what `present_sum` has found in all rows."""
    return mean_about(low, high, total, weight)


cdef void coding_apply(LevelCoding* coding, Gathered* gathered) noexcept nogil:
    """Turns the coded columns of gathered rows into numbers."""
    cdef i64 k
    coding_find_absent(coding, gathered)
    for k in range(coding.n_coded):
        if coding.n_levels[k] > 0:
            number_levels(coding, k, gathered)
        else:
            fill_missing(coding, k, gathered)
    coding_measure(coding, gathered)


cdef void coding_find_absent(LevelCoding* coding, const Gathered* gathered) noexcept nogil:
    """Notes what is missing, if there is room for it."""
    cdef i64 i, k
    cdef const double* column
    cdef u8* absent
    coding.n_absent = 0
    if coding.absent == NULL:
        return
    for k in range(coding.n_coded):
        column = gathered.columns + coding.column[k] * gathered.n
        absent = coding.absent + k * gathered.n
        for i in range(gathered.n):
            absent[i] = isnan(column[i])
            coding.n_absent += absent[i]


cdef void coding_measure(const LevelCoding* coding, Gathered* gathered) noexcept nogil:
    """Finds the ranges of columns that have become numbers."""
    cdef i64 k, at
    for k in range(coding.n_coded):
        at = coding.column[k]
        gathered.low[at] = INFINITY
        gathered.high[at] = -INFINITY
        ob_range(gathered.columns + at * gathered.n, gathered.n, &gathered.low[at],
                 &gathered.high[at])


cdef void square_about(const double* values, const i64* weights, i64 n, double low, double high,
                       DoublePair* first, DoublePair* second, double* weight) noexcept nogil:
    """Sums of values and of squares, scaled to at most 1 about the middle of the range."""
    cdef double middle = low / 2 + high / 2
    cdef double reach = max(high - middle, middle - low)
    cdef double value, w = 1.0
    cdef i64 i
    for i in range(n):
        if weights != NULL:
            w = <double> weights[i]
        value = (values[i] - middle) / reach
        weight[0] += w
        add_pair(first, product(w, value))
        add_pair(second, times(product(value, value), w))


cdef double spread_about(double low, double high, DoublePair first, DoublePair second,
                         double weight) noexcept nogil:
    """The standard deviation, to 24 bits, from such sums."""
    cdef double middle = low / 2 + high / 2
    cdef double reach = max(high - middle, middle - low)
    second = difference(second, divided(square(first), weight))
    return round_significant(reach * sqrt(max(second.high, 0.0) / weight))


cdef double column_spread(const Gathered* gathered, i64 k) noexcept nogil:
    """The standard deviation of one column, to 24 bits."""
    cdef double low = gathered.low[k], high = gathered.high[k], weight = 0.0
    cdef DoublePair first, second
    if not low < high:
        return 0.0
    first.high, first.low, second.high, second.low = 0.0, 0.0, 0.0, 0.0
    square_about(gathered.columns + k * gathered.n,
                 gathered.weights if gathered.weighted else NULL, gathered.n, low, high, &first,
                 &second, &weight)
    return spread_about(low, high, first, second, weight)


def square_sums(const double[::1] values, weights, double low, double high):
    """The weight of values, and sums of them and of squares in a range: two pairs of numbers."""
    cdef const i64[::1] w = weights
    cdef double weight = 0.0
    cdef DoublePair first, second
    first.high, first.low, second.high, second.low = 0.0, 0.0, 0.0, 0.0
    if values.shape[0] and low < high:
        square_about(&values[0], NULL if weights is None else &w[0], values.shape[0], low, high,
                     &first, &second, &weight)
    return np.array([weight, first.high, first.low, second.high, second.low])


def spread_of_squares(const double[::1] sums, double low, double high):
    """The standard deviation, to 24 bits, from what `square_sums` has found in all rows."""
    cdef DoublePair first, second
    if not low < high:
        return 0.0
    first.high, first.low, second.high, second.low = sums[1], sums[2], sums[3], sums[4]
    return spread_about(low, high, first, second, sums[0])


def code_columns(double[:, ::1] values, const i32[::1] classes, weights,
                 const i64[::1] counts, const i32[::1] n_levels, const double[::1] usual,
                 bint by_node, double unit=0.0):
    """Turns coded columns, each a row of `values`, into numbers, in place.

    Returns the numbers and the columns' standard deviations. The numbers stand one column after
    another: one per level and a last one for what is missing; of a numeric column only that.
    `classes` are numbered without gaps, `counts` are their weights. With `unit`, which is what
    one of these weighs, the squares of the numbers add up to 1, instead of a variance of 1.
    """
    cdef i64 k, n_coded = values.shape[0]
    cdef LevelCoding coding
    cdef Gathered gathered
    cdef const i64[::1] w
    places = np.arange(n_coded, dtype=np.int32)
    low, high, spreads = np.empty((3, n_coded))
    numbers = np.empty(int(np.sum(n_levels)) + n_coded)
    cdef i32[::1] places_ = places
    cdef double[::1] low_ = low, high_ = high, spreads_ = spreads, numbers_ = numbers
    memset(&gathered, 0, sizeof(Gathered))
    gathered.n = values.shape[1]
    gathered.n_present = <int> counts.shape[0]
    gathered.columns = &values[0, 0]
    gathered.classes = <i32*> &classes[0]
    gathered.counts = <i64*> &counts[0]
    gathered.low = &low_[0]
    gathered.high = &high_[0]
    if weights is not None:
        w = weights
        gathered.weighted = True
        gathered.weights = <i64*> &w[0]
    if not coding_init(&coding, n_coded, &places_[0], &n_levels[0], &usual[0], by_node,
                       gathered.n_present):
        raise MemoryError("no room to number levels")
    coding.unit = unit
    with nogil:
        coding_apply(&coding, &gathered)
        memcpy(&numbers_[0], coding.number, coding.begin[n_coded] * sizeof(double))
        coding_free(&coding)
        for k in range(n_coded):
            spreads_[k] = column_spread(&gathered, k)
    return numbers, spreads
