"""A radix sort on the upper half of the key, repaired where upper halves are equal.

The bits of a float64, with the sign folded in, order like the numbers themselves. Sorting pairs
(upper 32 bits, position) takes three passes of 11 bits over 8-byte pairs; only runs of equal upper
halves need the lower ones. Short lists go through a merge sort instead, because clearing the
counters would cost more than the sort.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from obliqua._core.base.types cimport i64, u32, u64

cdef enum:
    SHORT_LIST = 128         # measured: below this the merge sort wins
    SHORT_RUN = 12           # insertion sort below this

cdef u32 NEW_VALUE = <u32> 1 << 31


cdef inline u64 ordered_bits(double value) noexcept nogil:
    """An integer that orders like the value; -0.0 and 0.0 are one number."""
    cdef double clean = value + 0.0
    cdef u64 bits
    memcpy(&bits, &clean, sizeof(bits))
    if bits >> 63:
        return ~bits
    return bits | (<u64> 1 << 63)


cdef bint buffers_reserve(SortBuffers* buffers, i64 n) noexcept nogil:
    if n <= buffers.capacity:
        return True
    buffers_free(buffers)
    buffers.front = <u64*> malloc(n * sizeof(u64))
    buffers.back = <u64*> malloc(n * sizeof(u64))
    if buffers.front == NULL or buffers.back == NULL:
        buffers_free(buffers)
        return False
    buffers.capacity = n
    return True


cdef void buffers_free(SortBuffers* buffers) noexcept nogil:
    free(buffers.front)
    free(buffers.back)
    buffers.front = NULL
    buffers.back = NULL
    buffers.capacity = 0


cdef void merge_sort(const double* values, u32* order, u32* spare, i64 n) noexcept nogil:
    """Sorts positions by value: insertion within short runs, then merging from below."""
    cdef i64 i, j, k, start, middle, end, width
    cdef u32 moving
    cdef u32* source = order
    cdef u32* target = spare
    cdef u32* swap
    start = 0
    while start < n:
        end = min(start + SHORT_RUN, n)
        for i in range(start + 1, end):
            moving = order[i]
            j = i
            while j > start and values[order[j - 1]] > values[moving]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = moving
        start = end
    width = SHORT_RUN
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i = start
            j = middle
            for k in range(start, end):
                if i < middle and (j >= end or values[source[i]] <= values[source[j]]):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
            start = end
        swap = source
        source = target
        target = swap
        width *= 2
    if source != order:
        memcpy(order, source, n * sizeof(u32))


cdef u64* radix_passes(u64* front, u64* back, i64 n) noexcept nogil:
    """Sorts pairs by their upper 32 bits; returns the buffer that holds the result."""
    cdef u32[3 * 2048] counters
    cdef int digit, shift
    cdef i64 i
    cdef u64 pair
    cdef u32 running, held
    cdef u32* counter
    cdef u64* swap
    memset(counters, 0, sizeof(counters))
    for i in range(n):
        pair = front[i]
        counters[(pair >> 32) & 2047] += 1
        counters[2048 + ((pair >> 43) & 2047)] += 1
        counters[4096 + (pair >> 54)] += 1
    for digit in range(3):
        counter = counters + 2048 * digit
        shift = 32 + 11 * digit
        if counter[(front[0] >> shift) & 2047] == <u32> n:
            continue             # all share this digit
        running = 0
        for i in range(2048):
            held = counter[i]
            counter[i] = running
            running += held
        for i in range(n):
            pair = front[i]
            held = counter[(pair >> shift) & 2047]
            counter[(pair >> shift) & 2047] = held + 1
            back[held] = pair
        swap = front
        front = back
        back = swap
    return front


cdef void mark_values(const double* values, u32* order, i64 n) noexcept nogil:
    """Sets the top bit of each position whose value differs from the one before it."""
    cdef i64 i
    cdef double here, before = values[order[0]]
    order[0] |= NEW_VALUE
    for i in range(1, n):
        here = values[order[i]]
        if here != before:
            order[i] |= NEW_VALUE
        before = here


cdef void repair_run(const double* values, u32* order, i64 n, SortBuffers* buffers) noexcept nogil:
    """Orders a run whose upper halves agree by the lower halves, and marks its values."""
    cdef i64 i
    cdef u64* result
    cdef double first
    order[0] &= ~NEW_VALUE
    first = values[order[0]]
    for i in range(1, n):
        if values[order[i]] != first:
            break
    else:
        order[0] |= NEW_VALUE
        return
    if n < SHORT_LIST:
        merge_sort(values, order, <u32*> buffers.front, n)
    else:
        for i in range(n):
            buffers.front[i] = (ordered_bits(values[order[i]]) << 32) | order[i]
        result = radix_passes(buffers.front, buffers.back, n)
        for i in range(n):
            order[i] = <u32> result[i]
    mark_values(values, order, n)


cdef void sort_order(const double* values, u32* order, i64 n, SortBuffers* buffers) noexcept nogil:
    """Fills `order` with 0..n-1 sorted by value; the top bit says "another value than before".

    `buffers` must have room for n, and n must stay below 2**31.
    """
    cdef i64 i, start
    cdef u64 upper
    cdef u64* result
    if n < SHORT_LIST:
        for i in range(n):
            order[i] = <u32> i
        merge_sort(values, order, <u32*> buffers.front, n)
        mark_values(values, order, n)
        return
    for i in range(n):
        buffers.front[i] = (ordered_bits(values[i]) & 0xFFFFFFFF00000000ULL) | <u64> i
    result = radix_passes(buffers.front, buffers.back, n)
    # The marks are written first, because repairing a run reuses the buffers.
    upper = ~(result[0] >> 32)
    for i in range(n):
        order[i] = <u32> result[i]
        if result[i] >> 32 != upper:
            upper = result[i] >> 32
            order[i] |= NEW_VALUE
    start = 0
    for i in range(1, n + 1):
        if i == n or order[i] & NEW_VALUE:
            if i - start > 1:
                repair_run(values, order + start, i - start, buffers)
            start = i


def py_sort_order(const double[::1] values):
    """Positions that sort the values, with the top bit on each new value (for tests)."""
    import numpy as np
    cdef i64 n = values.shape[0]
    order = np.empty(n, dtype=np.uint32)
    cdef u32[::1] out = order
    cdef SortBuffers buffers
    memset(&buffers, 0, sizeof(buffers))
    if n == 0:
        return order
    if not buffers_reserve(&buffers, n):
        raise MemoryError
    with nogil:
        sort_order(&values[0], &out[0], n, &buffers)
    buffers_free(&buffers)
    return order
