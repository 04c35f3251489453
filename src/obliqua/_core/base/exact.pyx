"""Means of numbers at the nodes of a tree, from sums without any rounding.

A number is a whole multiple of a power of two, written in digits of 26 bits:

    number = (d0 + d1 2^26 + d2 2^52 + ...) 2^base

`base` is the lowest bit of all numbers, so nothing is lost; digits are added up with weights, one
sum for each. What order rows come in does not show.
"""

from libc.math cimport frexp, ldexp
from libc.string cimport memset

import numpy as np

from obliqua._core.base.pairs cimport DoublePair, product
from obliqua._core.base.types cimport i32, i64

cdef enum:
    BITS = 26
    # Beyond so many digits, the lowest are lost: 624 bits below the largest number.
    MOST_DIGITS = 24

cdef i64 MASK = ((<i64> 1) << 26) - 1


cdef inline i64 significand(double value, int* exponent) noexcept nogil:
    """A whole number of 53 bits; the value is this times 2^exponent."""
    cdef double fraction = frexp(value, exponent)
    exponent[0] -= 53
    return <i64> ldexp(fraction, 53)


cdef void find_range(const double[:, ::1] values, i64 col, int* low, int* high) noexcept nogil:
    """The lowest and the highest bit of all numbers; low > high if all are 0."""
    cdef i64 i, whole
    cdef int exponent
    low[0], high[0] = 1 << 20, -(1 << 20)
    for i in range(values.shape[0]):
        if values[i, col] == 0.0:
            continue
        whole = significand(values[i, col], &exponent)
        high[0] = max(high[0], exponent + 53)
        if exponent >= low[0]:
            continue
        while whole & 1 == 0:
            whole //= 2
            exponent += 1
        low[0] = min(low[0], exponent)


cdef inline void add_digits(double value, i64 weight, int base, i64* digits) noexcept nogil:
    cdef int exponent, at, shift
    cdef i64 whole = significand(value, &exponent), part
    if whole < 0:
        whole, weight = -whole, -weight
    if exponent < base:                          # its lowest bits are 0, or too low to count
        if base - exponent > 62:
            return
        whole >>= base - exponent
        exponent = base
    at = (exponent - base) // BITS
    shift = (exponent - base) % BITS
    part = (whole & MASK) << shift
    digits[at] += weight * (part & MASK)
    digits[at + 1] += weight * (part >> BITS)
    part = (whole >> BITS) << shift
    digits[at + 1] += weight * (part & MASK)
    digits[at + 2] += weight * (part >> BITS)


cdef double quotient(const i64* digits, int n, i64 weight, int base, i64* d) noexcept nogil:
    """The sum of digits over a weight; `d`: room for n + 2 digits."""
    cdef int k, sign = 1
    cdef i64 carry = 0
    cdef double high, rest, result
    cdef DoublePair back
    while True:
        carry = 0
        for k in range(n + 2):
            carry += sign * digits[k] if k < n else 0
            d[k] = carry & MASK
            carry >>= BITS                       # towards minus infinity
        if carry >= 0:
            break
        sign = -1
    k = n + 1
    while k > 0 and d[k] == 0:
        k -= 1
    # The upper 27 to 52 bits, and 104 more.
    high = ldexp(<double> d[k], BITS) + (<double> d[k - 1] if k > 0 else 0.0)
    rest = 0.0
    if k > 1:
        rest += ldexp(<double> d[k - 2], -BITS)
    if k > 2:
        rest += ldexp(<double> d[k - 3], -2 * BITS)
    result = high / <double> weight
    back = product(result, <double> weight)
    rest = ((high - back.high) - back.low) + rest
    if k > 3:
        rest += ldexp(<double> d[k - 4], -3 * BITS)
    result += rest / <double> weight
    return sign * ldexp(result, base + BITS * (k - 1))


def number_bits(const double[:, ::1] values):
    """Of each column, the lowest and the highest bit of all numbers; low > high if all are 0."""
    cdef i64 col
    cdef int low, high
    bits = np.empty((values.shape[1], 2), dtype=np.int64)
    cdef i64[:, ::1] bits_ = bits
    for col in range(values.shape[1]):
        find_range(values, col, &low, &high)
        bits_[col, 0] = low
        bits_[col, 1] = high
    return bits


def digit_sums(const double[:, ::1] values, weights, const i64[::1] leaf, i64 n_nodes,
               const i64[:, ::1] bits, i64 col):
    """The sums of digits of a column at the leaves; None if all numbers are 0.

    `leaf`: the node of each row; `bits`: those of all rows, wherever they are.
    """
    cdef i64 i
    cdef int low = base_of(bits, col), high = <int> bits[col, 1]
    cdef const i64[::1] w
    cdef bint weighted = weights is not None
    cdef i64[:, ::1] sums
    if low > high:
        return None
    if weighted:
        w = weights
    sums = np.zeros((n_nodes, (high - low - 1) // BITS + 3), dtype=np.int64)
    with nogil:
        for i in range(values.shape[0]):
            add_digits(values[i, col], w[i] if weighted else 1, low, &sums[leaf[i], 0])
    return np.asarray(sums)


cdef int base_of(const i64[:, ::1] bits, i64 col) noexcept nogil:
    """The lowest bit of a column that counts."""
    return <int> max(bits[col, 0], bits[col, 1] - BITS * MOST_DIGITS)


def means_of_digits(i64[:, ::1] sums, const i64[::1] total, const i64[::1] parent,
                    const i64[:, ::1] bits, i64 col):
    """The means of a column at all nodes, from its sums at leaves, which are used up.

    `total`: the weights of all nodes.
    """
    cdef i64 node, n_nodes = parent.shape[0]
    cdef int k, n_digits = <int> sums.shape[1], low = base_of(bits, col)
    cdef i64[MOST_DIGITS + 5] spare
    means = np.zeros(n_nodes)
    cdef double[::1] means_ = means
    with nogil:
        for node in range(n_nodes - 1, -1, -1):
            if node:
                for k in range(n_digits):
                    sums[parent[node], k] += sums[node, k]
            if total[node]:
                means_[node] = quotient(&sums[node, 0], n_digits, total[node], low, spare)
    return means


cdef object rows_by_leaf(const i64[::1] leaf, i64 n_nodes):
    """Where the rows of each node begin, and all rows, those of one node after another."""
    cdef i64 i, node, count, at = 0
    begin = np.zeros(n_nodes + 1, dtype=np.int32)
    rows = np.empty(leaf.shape[0], dtype=np.int32)
    cdef i32[::1] begin_ = begin, rows_ = rows
    for i in range(leaf.shape[0]):
        begin_[leaf[i]] += 1
    for node in range(n_nodes + 1):
        count = begin_[node]
        begin_[node] = <i32> at
        at += count
    for i in range(leaf.shape[0]):
        rows_[begin_[leaf[i]]] = <i32> i
        begin_[leaf[i]] += 1
    begin[1:] = begin[:-1].copy()                # each has moved to the next one's place
    begin[0] = 0
    return begin, rows


def exact_means(const double[:, ::1] values, weights, const i64[::1] leaf,
                const i32[::1] first_child, const i32[::1] n_children):
    """Weighted means at all nodes, of shape (n_nodes, n_outputs); children follow their parents.

    `leaf`: the node of each row. A node without rows has the mean 0. A tree may have as many
    leaves as there are rows, so only inner nodes keep digits, and behind them their weight.
    """
    cdef i64 node, child, col, n_nodes = first_child.shape[0], n_inner = 0
    cdef int k, n_digits, low, high
    cdef i64[MOST_DIGITS + 5] spare
    cdef i64[MOST_DIGITS + 6] one
    cdef i64* digits
    cdef const i64* more
    cdef i32[::1] begin, rows
    cdef i32[::1] place = np.empty(n_nodes, dtype=np.int32)        # among inner nodes
    cdef i64[:, ::1] sums
    cdef const i64[::1] w
    cdef const i64* weight_of = NULL
    means = np.zeros((n_nodes, values.shape[1]))
    cdef double[:, ::1] means_ = means
    if weights is not None and len(weights):
        w = weights
        weight_of = &w[0]
    begin, rows = rows_by_leaf(leaf, n_nodes)
    for node in range(n_nodes):
        place[node] = <i32> n_inner
        n_inner += n_children[node] > 0
    bits = number_bits(values)
    for col in range(values.shape[1]):
        low, high = base_of(bits, col), bits[col, 1]
        if low > high:
            continue
        n_digits = (high - low - 1) // BITS + 3
        sums = np.zeros((max(n_inner, 1), n_digits + 1), dtype=np.int64)
        with nogil:
            for node in range(n_nodes - 1, -1, -1):
                if n_children[node] == 0 and node > 0:
                    continue                     # its parent will ask
                digits = &sums[place[node], 0]
                add_rows(values, col, weight_of, begin, rows, node, low, n_digits, digits)
                for child in range(first_child[node], first_child[node] + n_children[node]):
                    more = one
                    if n_children[child]:
                        more = &sums[place[child], 0]
                    else:
                        memset(one, 0, sizeof(one))
                        add_rows(values, col, weight_of, begin, rows, child, low, n_digits, one)
                        if one[n_digits]:
                            means_[child, col] = quotient(one, n_digits, one[n_digits], low, spare)
                    for k in range(n_digits + 1):
                        digits[k] += more[k]
                if digits[n_digits]:
                    means_[node, col] = quotient(digits, n_digits, digits[n_digits], low, spare)
    return means


cdef void add_rows(const double[:, ::1] values, i64 col, const i64* weights,
                   const i32[::1] begin, const i32[::1] rows, i64 node, int low, int n_digits,
                   i64* digits) noexcept nogil:
    """Adds the rows that end at a node to its digits, and to the weight behind them."""
    cdef i64 i, row, weight = 1
    for i in range(begin[node], begin[node + 1]):
        row = rows[i]
        if weights != NULL:
            weight = weights[row]
        add_digits(values[row, col], weight, low, digits)
        digits[n_digits] += weight
