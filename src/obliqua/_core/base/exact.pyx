"""Means of numbers at the nodes of a tree, from sums without any rounding.

A number is a whole multiple of a power of two, written in digits of 26 bits:

    number = (d0 + d1 2^26 + d2 2^52 + ...) 2^base

`base` is the lowest bit of all numbers, so nothing is lost; digits are added up with weights, one
sum for each. What order rows come in does not show.
"""

from libc.math cimport frexp, ldexp

import numpy as np

from obliqua._core.base.pairs cimport DoublePair, product
from obliqua._core.base.types cimport i64

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


def exact_means(const double[:, ::1] values, weights, const i64[::1] leaf, const i64[::1] parent):
    """Weighted means at all nodes, of shape (n_nodes, n_outputs); children follow their parents.

    `leaf`: the node of each row. A node without rows has the mean 0.
    """
    cdef i64 i, node, col, n_nodes = parent.shape[0]
    cdef const i64[::1] w
    cdef bint weighted = weights is not None
    means = np.zeros((n_nodes, values.shape[1]))
    total = np.zeros(n_nodes, dtype=np.int64)
    cdef i64[::1] total_ = total
    if weighted:
        w = weights
    for i in range(values.shape[0]):
        total_[leaf[i]] += w[i] if weighted else 1
    for node in range(n_nodes - 1, 0, -1):
        total_[parent[node]] += total_[node]
    bits = number_bits(values)
    for col in range(values.shape[1]):
        sums = digit_sums(values, weights, leaf, n_nodes, bits, col)
        if sums is not None:
            means[:, col] = means_of_digits(sums, total, parent, bits, col)
    return means
