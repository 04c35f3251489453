"""What the cuts of an order of rows save of the absolute error: medians need the rows.

The rows of a node are sorted by their numbers once. For an order of rows, say along a direction,
they are taken out of that chain one after another, first from the end, then from the beginning:
what is left is the left side of each cut, and the right. The median moves to a neighbour when a
row goes, so an order takes time in proportion to its rows; where weights differ, as much more as
the median passes light rows when a heavy one goes.

All numbers are whole, so every error is exact and the same in any order of equal rows.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from obliqua._core.base.sort cimport buffers_free, buffers_reserve, sort_order
from obliqua._core.base.target cimport Target, weight_at
from obliqua._core.base.types cimport i32, i64, u32


cdef bint medians_init(Medians* medians, const Target* target, i64 n_fit,
                       i64 capacity) noexcept nogil:
    """Makes room for nodes of up to `capacity` rows; False if there is no memory."""
    cdef i64 m = target.n_numbers, n = max(capacity, 1)
    memset(medians, 0, sizeof(Medians))
    medians.target = target
    medians.n_fit = n_fit
    medians.rows = <i32*> malloc(n * sizeof(i32))
    medians.saved = <double*> malloc(n * sizeof(double))
    medians.place = <i32*> malloc(m * n_fit * sizeof(i32))
    medians.number = <i32*> malloc(m * n * sizeof(i32))
    medians.weight = <i64*> malloc(m * n * sizeof(i64))
    medians.whole = <Middle*> malloc(m * sizeof(Middle))
    medians.before = <i32*> malloc(n * sizeof(i32))
    medians.after = <i32*> malloc(n * sizeof(i32))
    medians.left = <i64*> malloc(n * sizeof(i64))
    medians.values = <double*> malloc(n * sizeof(double))
    medians.order = <u32*> malloc(n * sizeof(u32))
    if (medians.rows == NULL or medians.saved == NULL or medians.place == NULL
            or medians.number == NULL or medians.weight == NULL or medians.whole == NULL
            or medians.before == NULL or medians.after == NULL or medians.left == NULL
            or medians.values == NULL or medians.order == NULL
            or not buffers_reserve(&medians.buffers, n)):
        medians_free(medians)
        return False
    return True


cdef void medians_free(Medians* medians) noexcept nogil:
    free(medians.rows)
    free(medians.saved)
    free(medians.place)
    free(medians.number)
    free(medians.weight)
    free(medians.whole)
    free(medians.before)
    free(medians.after)
    free(medians.left)
    free(medians.values)
    free(medians.order)
    buffers_free(&medians.buffers)
    memset(medians, 0, sizeof(Medians))


cdef Middle middle_of(const i32* number, const i64* weight, i64 n) noexcept nogil:
    """The median of all rows."""
    cdef Middle middle
    cdef i64 k
    middle.weight = 0
    middle.error = 0
    for k in range(n):
        middle.weight += weight[k]
    middle.place = 0
    middle.below = weight[0]
    while 2 * middle.below < middle.weight:
        middle.place += 1
        middle.below += weight[middle.place]
    for k in range(n):
        if k < middle.place:
            middle.error += weight[k] * (number[middle.place] - number[k])
        else:
            middle.error += weight[k] * (number[k] - number[middle.place])
    return middle


cdef void medians_read(Medians* medians, i64 n) noexcept nogil:
    """Sorts a node by its numbers; its rows stand in `rows`, in any order."""
    cdef int j, m = medians.target.n_numbers
    cdef i64 i, k
    cdef i32* number
    cdef i64* weight
    medians.n = n
    for j in range(m):
        number = medians.number + j * n
        weight = medians.weight + j * n
        for i in range(n):
            medians.values[i] = <double> medians.target.rows[<i64> medians.rows[i] * m + j]
        sort_order(medians.values, medians.order, n, &medians.buffers)
        for k in range(n):
            i = medians.order[k] & 0x7FFFFFFF
            number[k] = <i32> medians.values[i]
            weight[k] = weight_at(medians.target, medians.rows[i])
            medians.place[j * medians.n_fit + medians.rows[i]] = <i32> k
        medians.whole[j] = middle_of(number, weight, n)


cdef void chain(Medians* medians) noexcept nogil:
    """Puts all rows back."""
    cdef i64 k
    for k in range(medians.n):
        medians.before[k] = <i32> (k - 1)
        medians.after[k] = <i32> (k + 1)


cdef inline void take_out(const i32* number, const i64* weight, i32* before, i32* after, i64 n,
                          i64 place, Middle* middle) noexcept nogil:
    """Takes out a row that is not the last, and moves the median."""
    cdef i64 p = middle.place, w = weight[place], last = before[place], next_ = after[place]
    cdef i64 step = <i64> number[place] - number[p]
    middle.weight -= w
    middle.error -= w * (step if step >= 0 else -step)
    if place <= p:
        middle.below -= w
    if last >= 0:
        after[last] = <i32> next_
    if next_ < n:
        before[next_] = <i32> last
    if place == p and last >= 0:
        # Rows up to the one before come nearer, the others go away.
        step = <i64> number[p] - number[last]
        middle.error += step * (middle.weight - 2 * middle.below)
        p = last
    elif place == p:
        middle.error -= (<i64> number[next_] - number[p]) * middle.weight
        middle.below = weight[next_]
        p = next_
    while 2 * middle.below < middle.weight:
        next_ = after[p]
        middle.error -= (<i64> number[next_] - number[p]) * (middle.weight - 2 * middle.below)
        middle.below += weight[next_]
        p = next_
    while 2 * (middle.below - weight[p]) >= middle.weight:
        last = before[p]
        middle.below -= weight[p]
        middle.error += (<i64> number[p] - number[last]) * (middle.weight - 2 * middle.below)
        p = last
    middle.place = p


cdef void measure_cuts(Medians* medians) noexcept nogil:
    """Fills `saved` for the order in `rows`: of the node that was read, all its rows."""
    cdef i64 k, n = medians.n
    cdef int j
    cdef const i32* number
    cdef const i64* weight
    cdef const i32* place
    cdef Middle middle
    cdef double saved
    for j in range(medians.target.n_numbers):
        number = medians.number + j * n
        weight = medians.weight + j * n
        place = medians.place + j * medians.n_fit
        chain(medians)
        middle = medians.whole[j]
        for k in range(n - 1, 0, -1):
            take_out(number, weight, medians.before, medians.after, n, place[medians.rows[k]],
                     &middle)
            medians.left[k] = middle.error
        chain(medians)
        middle = medians.whole[j]
        for k in range(1, n):
            take_out(number, weight, medians.before, medians.after, n,
                     place[medians.rows[k - 1]], &middle)
            saved = <double> (medians.whole[j].error - medians.left[k] - middle.error)
            medians.saved[k] = saved if j == 0 else medians.saved[k] + saved
