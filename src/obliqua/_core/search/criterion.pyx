"""Compiled criteria; the formulas and their codes are listed in obliqua/criteria.py."""

from libc.math cimport INFINITY, fabs, log, log1p, log2, sqrt
from libc.stdlib cimport free, malloc

import numpy as np

from obliqua._core.base.target cimport squared_error
from obliqua._core.base.types cimport i64, u64
from obliqua._core.base.wide cimport add_product, difference, nearest_double

# Up to this, weights times the numbers of their classes fit in 64 bits.
cdef i64 MOST_NUMBERED = (<i64> 1) << 62
# Up to this weight, numbers of 2^26 times the weight's square are exact in 64 bits.
cdef i64 LITTLE_WEIGHT = (<i64> 1) << 18


cdef double side_variance(const i64* left, const i64* total, int n_classes, i64 n,
                          bint right, i64* scratch) noexcept nogil:
    """Sum of squared deviations of the class number; over two classes are numbered by size."""
    cdef int c, j
    cdef i64 v
    cdef double k, first = 0.0, second = 0.0
    if n == 0:
        return 0.0
    for c in range(n_classes):
        v = total[c] - left[c] if right else left[c]
        if n_classes > 2:            # insertion into ascending order
            j = c
            while j > 0 and scratch[j - 1] > v:
                scratch[j] = scratch[j - 1]
                j -= 1
            scratch[j] = v
        else:
            scratch[c] = v
    for c in range(n_classes):
        k = <double> (c + 1)
        first += k * (<double> scratch[c])
        second += k * k * (<double> scratch[c])
    return second - first * first / (<double> n)


cdef inline bint comes_before(const i64* total, i64 a, i64 b) noexcept nogil:
    """Whether class a is smaller than b, or as large and the first of both."""
    return total[a] < total[b] or (total[a] == total[b] and a < b)


cdef bint in_order(const i64* total, int n_classes, const i64* places) noexcept nogil:
    """Whether `places`, whatever it holds, has all classes in ascending order: each comes once."""
    cdef int j
    for j in range(n_classes):
        if not 0 <= places[j] < n_classes:
            return False
        if j > 0 and not comes_before(total, places[j - 1], places[j]):
            return False
    return True


cdef void sift(const i64* total, i64* places, int at, int end) noexcept nogil:
    """Move an entry of a heap down to where it belongs."""
    cdef int child
    cdef i64 moved = places[at]
    while 2 * at + 1 < end:
        child = 2 * at + 1
        if child + 1 < end and comes_before(total, places[child], places[child + 1]):
            child += 1
        if not comes_before(total, moved, places[child]):
            break
        places[at] = places[child]
        at = child
    places[at] = moved


cdef void order_classes(const i64* total, int n_classes, i64* places) noexcept nogil:
    """Put the classes into ascending order, by a heap."""
    cdef int j
    cdef i64 top
    for j in range(n_classes):
        places[j] = j
    for j in range(n_classes // 2 - 1, -1, -1):
        sift(total, places, j, n_classes)
    for j in range(n_classes - 1, 0, -1):
        top = places[0]
        places[0] = places[j]
        places[j] = top
        sift(total, places, 0, j)


cdef double wide_excess_of_numbers(const i64* left, const i64* total, int n_classes, i64 n_left,
                                   i64 n, const i64* places) noexcept nogil:
    """The sum of each class's number times its excess, which may have far more than 64 bits."""
    cdef int j
    cdef u64 high, low
    cdef u64[2] highs
    cdef u64[2] lows
    cdef bint negative
    highs[0] = highs[1] = lows[0] = lows[1] = 0
    for j in range(n_classes):
        negative = difference(left[places[j]], total[places[j]], n_left, n, &high, &low)
        highs[negative] += high * (<u64> j + 1)
        add_product(low, <u64> j + 1, &highs[negative], &lows[negative])
    negative = highs[0] < highs[1] or (highs[0] == highs[1] and lows[0] < lows[1])
    low = lows[not negative]
    high = highs[negative] - highs[not negative] - (lows[negative] < low)
    low = lows[negative] - low
    return -nearest_double(high, low) if negative else nearest_double(high, low)


cdef double variance_between(const i64* left, const i64* total, int n_classes, i64 n_left,
                             i64 n, i64* places) noexcept nogil:
    """The squared excess of class numbers on the left; they are numbered by size in the node.

    All cuts of a node have the same numbers: `places` mostly has them from the cut before.
    """
    cdef int j
    cdef i64 sum_left = 0, whole = 0
    cdef double x
    if not in_order(total, n_classes, places):
        order_classes(total, n_classes, places)
    if n > MOST_NUMBERED // n_classes:
        x = wide_excess_of_numbers(left, total, n_classes, n_left, n, places)
        return x * x
    for j in range(n_classes):
        sum_left += (j + 1) * left[places[j]]
        whole += (j + 1) * total[places[j]]
    if is_narrow(whole):
        x = <double> (sum_left * n - whole * n_left)
    else:
        x = wide_excess(sum_left, whole, n_left, n)
    return x * x


cdef inline double log_of_rate(double x, double part, double total, double n_part,
                               double n) noexcept nogil:
    """The logarithm of (part / n_part) / (total / n), 1 + x / (total n_part) with the excess x."""
    cdef double off = x / (total * n_part)
    # Near 1 small differences are not lost; near 0 the part itself is not.
    return log1p(off) if off > -0.5 else log(part / total * (n / n_part))


cdef double poisson_goodness(const i64* left, const i64* total, int n_sums, i64 n_left,
                             i64 n) noexcept nogil:
    """Minus infinity if the sum of a side is 0: its logarithm is none."""
    cdef int c
    cdef double x, a, b, t, s = 0.0
    cdef double i = <double> n_left, r = <double> (n - n_left), m = <double> n
    for c in range(1, n_sums - 2):
        if left[c] == 0 or left[c] == total[c]:
            return -INFINITY
        x = wide_excess(left[c], total[c], n_left, n)
        a = <double> left[c]
        b = <double> (total[c] - left[c])
        t = <double> total[c]
        s += a * log_of_rate(x, a, t, i, m) + b * log_of_rate(-x, b, t, r, m)
    return max(s, 0.0) / m


cdef double goodness(int code, const i64* left, const i64* total, int n_sums, i64 n_left,
                     i64 n, i64* scratch) noexcept nogil:
    cdef int c
    cdef i64 n_right = n - n_left
    cdef i64 whole, d
    cdef double x, s, a, b
    cdef u64 high, low, sum_high = 0, sum_low = 0
    cdef double sides = (<double> n_left) * (<double> n_right)
    cdef double square = (<double> n) * (<double> n)
    if n_left <= 0 or n_right <= 0:
        return 0.0
    if code == TWOING:
        s = 0.0
        if is_narrow(n):
            whole = 0
            for c in range(n_sums):
                d = left[c] * n - total[c] * n_left
                whole += d if d >= 0 else -d
            s = <double> whole
        else:
            for c in range(n_sums):
                difference(left[c], total[c], n_left, n, &high, &low)
                sum_low += low
                sum_high += high + (sum_low < low)
            s = nearest_double(sum_high, sum_low)
        return (s * s) / sides / (4.0 * square)
    if code == GINI:
        s = 0.0
        for c in range(n_sums):
            x = excess(left[c], total[c], n_left, n)
            s += x * x
        return s / sides / square
    if code == ENTROPY or code == GAIN_RATIO:
        s = 0.0
        for c in range(n_sums):
            s += fabs(excess(left[c], total[c], n_left, n))
        if s == 0.0:
            return 0.0
        a = (<double> n_left) / (<double> n)
        b = (<double> n_right) / (<double> n)
        s = side_entropy(total, total, n_sums, n, False)
        s = s - a * side_entropy(left, total, n_sums, n_left, False)
        s = s - b * side_entropy(left, total, n_sums, n_right, True)
        if s <= 0.0:
            return 0.0
        if code == ENTROPY:
            return s
        return s / -(a * log2(a) + b * log2(b))
    if code == MAX_MINORITY or code == SUM_MINORITY:
        whole = side_minority(left, total, n_sums, n_left, False)
        d = side_minority(left, total, n_sums, n_right, True)
        if code == SUM_MINORITY:
            whole += d
        elif d > whole:
            whole = d
        return (<double> (side_minority(total, total, n_sums, n, False) - whole)) / (<double> n)
    if code == SQUARED_ERROR:        # Gini's formula; the sums of the outputs follow the weight
        s = 0.0
        for c in range(1, n_sums - 2):
            if n <= LITTLE_WEIGHT:
                x = <double> (left[c] * n - total[c] * n_left)
            else:
                x = wide_excess(left[c], total[c], n_left, n)
            s += x * x
        return s / sides / square
    if code == POISSON:
        return poisson_goodness(left, total, n_sums, n_left, n)
    if code == NODE_VARIANCES:
        return variance_between(left, total, n_sums, n_left, n, scratch) / sides / square
    # sum of variances: equal shares save nothing, however the sums below are rounded
    s = 0.0
    for c in range(n_sums):
        s += fabs(excess(left[c], total[c], n_left, n))
    if s == 0.0:
        return 0.0
    a = side_variance(left, total, n_sums, n_left, False, scratch)
    b = side_variance(left, total, n_sums, n_right, True, scratch)
    return (side_variance(total, total, n_sums, n, False, scratch) - a - b) / (<double> n)


cdef inline double gini_term(double x, double total, double i, double n) noexcept nogil:
    cdef double t = 0.0
    if i > 0:
        t += x * x / i
    if n - i > 0:
        t += (total - x) * (total - x) / (n - i)
    return t


cdef inline double entropy_term(double x, double total, double i, double n) noexcept nogil:
    cdef double t = 0.0
    if x > 0:
        t += x * log2(x / i)
    if total - x > 0:
        t += (total - x) * log2((total - x) / (n - i))
    return t


cdef inline double corner_term(int code, double x, double total, double i,
                               double n) noexcept nogil:
    if code == TWOING:
        return fabs(x * n - total * i)
    if code == GINI:
        return gini_term(x, total, i, n)
    return entropy_term(x, total, i, n)


cdef double two_class_bound(int code, const i64* left, const i64* inside, const i64* total,
                            i64 n) noexcept nogil:
    """A convex function on a rectangle is largest at a corner, so this bound is exact there."""
    cdef int corner
    cdef i64[2] at
    cdef i64[2] scratch
    cdef double best = 0.0
    for corner in range(4):
        at[0] = left[0] + (inside[0] if corner & 1 else 0)
        at[1] = left[1] + (inside[1] if corner & 2 else 0)
        best = max(best, goodness(code, at, total, 2, at[0] + at[1], n, scratch))
    return best * (1.0 + 1e-9)


cdef double numbers_bound(const i64* left, const i64* inside, const i64* total, int n_sums,
                          i64 n_left, i64 n_inside, i64 n) noexcept nogil:
    """The same for numbers, by Cauchy's and Schwarz's inequality.

    A part of the bin that weighs i of its W differs from i times the bin's mean by at most
    sqrt(i (W - i) R / W) <= sqrt(W R) / 2, R being the bin's squared error. Without that, the
    excess d would move on a straight line from one end of the bin to the other. So |d| is at most
    that of the larger end and n sqrt(W R) / 2, and i (n - i) is least at an end.
    """
    cdef int c
    cdef double first = 0.0, last = 0.0, x, most, sides
    cdef double i0 = <double> n_left, i1 = <double> (n_left + n_inside), m = <double> n
    for c in range(1, n_sums - 2):
        x = wide_excess(left[c], total[c], n_left, n)
        first += x * x
        x = wide_excess(left[c] + inside[c], total[c], n_left + n_inside, n)
        last += x * x
    sides = min(i0 * (m - i0), i1 * (m - i1))
    if not sides > 0.0:
        return INFINITY
    most = m * sqrt(i1 - i0) * sqrt(squared_error(inside, n_sums - 3)) / 2.0
    most += sqrt(max(first, last))
    return most * most / sides / (m * m) * (1.0 + 1e-9)


cdef double bin_bound(int code, const i64* left, const i64* inside, const i64* total,
                      int n_classes, i64 n_left, i64 n_inside, i64 n) noexcept nogil:
    """No cut inside the bin is better than this.

    Goodness is a sum over classes of functions that are convex in (x, i), x = weight of the
    class on the left and i = weight on the left. Inside the bin (x, i) stays in a parallelogram,
    so each term is largest at one of its four corners. Twoing divides by i (n - i), which is
    smallest at an end of the range of i.
    """
    cdef int c
    cdef double x0, x1, h, t, best, s = 0.0, base = 0.0
    cdef double i0 = <double> n_left
    cdef double i1 = <double> (n_left + n_inside)
    cdef double m = <double> n
    cdef double top_left = 0.0, top_right = 0.0, top = 0.0, low, high
    if code == SQUARED_ERROR:
        return numbers_bound(left, inside, total, n_classes, n_left, n_inside, n)
    if n_classes == 2:
        return two_class_bound(code, left, inside, total, n)
    if code == SUM_MINORITY:
        for c in range(n_classes):
            if left[c] + inside[c] > top_left:
                top_left = <double> (left[c] + inside[c])
            if total[c] - left[c] > top_right:
                top_right = <double> (total[c] - left[c])
            if total[c] > top:
                top = <double> total[c]
        return (top_left + top_right - top) / m * (1.0 + 1e-9)
    for c in range(n_classes):
        x0 = <double> left[c]
        h = <double> inside[c]
        x1 = x0 + h
        t = <double> total[c]
        best = corner_term(code, x0, t, i0, m)
        best = max(best, corner_term(code, x0, t, i1 - h, m))
        best = max(best, corner_term(code, x1, t, i0 + h, m))
        best = max(best, corner_term(code, x1, t, i1, m))
        s += best
        if code == GINI:
            base += t * t / m
        elif code == ENTROPY and t > 0:
            base += t * log2(t / m)
    if code == TWOING:
        low = max(i0, 1.0)
        high = min(i1, m - 1.0)
        t = min(low * (m - low), high * (m - high))
        return s * s / t / (4.0 * m * m) * (1.0 + 1e-9)
    # The terms are of the size of the node's own, so their rounding is too.
    return (s - base) / m + 1e-9 * (fabs(s) + fabs(base)) / m


def py_goodness(int code, const i64[::1] left, const i64[::1] right):
    """Goodness of the sums of two sides (for tests and for scoring one cut)."""
    cdef int c
    cdef int n_classes = left.shape[0]
    cdef i64 n_left = 0, n = 0
    cdef double result
    cdef i64* total = <i64*> malloc(2 * max(n_classes, 1) * sizeof(i64))
    if total == NULL:
        raise MemoryError
    for c in range(n_classes):
        total[c] = left[c] + right[c]
        if c == 0 or not of_numbers(code):
            n_left += left[c]
            n += total[c]
    result = goodness(code, &left[0], total, n_classes, n_left, n, total + n_classes)
    free(total)
    return result


def py_bound(int code, const i64[::1] left, const i64[::1] inside, const i64[::1] total):
    """Upper bound of the goodness of any cut inside a bin (convex criteria only)."""
    cdef int c
    cdef i64 n_left = 0, n_inside = 0, n = 0
    if not is_convex(code):
        raise ValueError(f"no bound is known for criterion code {code}: it is not convex")
    for c in range(1 if of_numbers(code) else left.shape[0]):
        n_left += left[c]
        n_inside += inside[c]
        n += total[c]
    return bin_bound(code, &left[0], &inside[0], &total[0], left.shape[0], n_left, n_inside, n)


def logarithms(values):
    """Binary logarithms by the C library, as above; NumPy's depend on the processor more often."""
    found = np.array(values, dtype=np.float64, order="C")
    cdef double[::1] flat = found.reshape(-1)
    cdef i64 i
    for i in range(flat.shape[0]):
        # Most numbers are 1 if there are many classes.
        flat[i] = log2(flat[i]) if flat[i] != 1.0 else 0.0
    return found
