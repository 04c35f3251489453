"""Scatter matrices of few rows and many features, as products of the rows.

With Y the centred rows, a row each times the root of its weight, the scatter matrix is Y'Y. With
fewer rows than features Y Y' is smaller, and has the same eigenvalues: from its eigenvectors v
come those of the other, Y'v. With a diagonal matrix D, (Y'Y + D)^-1 x is
D^-1 (x - Y' (I + Y D^-1 Y')^-1 Y D^-1 x), a system of as many equations as there are rows.

Sums over rows that are rounded would depend on the order of the rows. So rows have one of their
own: by class, then by their whole numbers on the grid, feature by feature; and equal rows are one
row with the sum of their weights. Sums over features go in the order of these.
"""

from libc.math cimport ldexp, rint, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from obliqua._core.base.types cimport i32, i64
from obliqua._core.grow.moments cimport Grid, moments_mean
from obliqua._core.search.gathered cimport Gathered

cdef extern from "loops.h" nogil:
    int OB_TOGETHER
    void ob_whole(double* q, const double* x, double shift, double scale, i64 n)
    void ob_add_outer(double* matrix, const double* z, const double* factor, i64 n)
    void ob_add_multiple(double* v, const double* z, double d, i64 n)

cdef enum:
    VALUE_BITS = 24

cdef double UNIT = 1.0 / ((<i64> 1) << VALUE_BITS)


cdef bint span_init(RowSpan* span, i64 capacity, i64 n_classes) noexcept nogil:
    memset(span, 0, sizeof(RowSpan))
    span.capacity = capacity
    span.starts = <i64*> malloc((n_classes + 1) * sizeof(i64))
    span.order = <i32*> malloc(capacity * sizeof(i32))
    span.place = <i64*> malloc((capacity + 1) * sizeof(i64))
    span.root = <double*> malloc(capacity * sizeof(double))
    span.merging = <i32*> malloc(capacity * sizeof(i32))
    span.wholes = <double*> malloc(capacity * sizeof(double))
    span.columns = <double*> malloc(OB_TOGETHER * capacity * sizeof(double))
    return (span.starts != NULL and span.order != NULL and span.place != NULL
            and span.root != NULL and span.merging != NULL and span.wholes != NULL
            and span.columns != NULL)


cdef void span_free(RowSpan* span) noexcept nogil:
    free(span.starts)
    free(span.order)
    free(span.place)
    free(span.root)
    free(span.merging)
    free(span.wholes)
    free(span.columns)
    memset(span, 0, sizeof(RowSpan))


cdef int compare_rows(const Gathered* gathered, const Grid* grid, i32 a, i32 b) noexcept nogil:
    """Compares two rows by their whole numbers."""
    cdef i64 k
    cdef double[2] x, q
    cdef const double* column
    for k in range(gathered.n_features):
        column = gathered.columns + k * gathered.n
        if column[a] == column[b]:
            continue
        x[0] = column[a]
        x[1] = column[b]
        ob_whole(q, x, grid.shift[k], ldexp(1.0, VALUE_BITS - grid.exponent[k]), 2)
        if q[0] != q[1]:
            return -1 if q[0] < q[1] else 1
    return 0


cdef void sort_rows(RowSpan* span, const Gathered* gathered, const Grid* grid, i64 first,
                    i64 n) noexcept nogil:
    """Sorts the rows of a class by merging."""
    cdef i32* order = span.order + first
    cdef i64 width = 1, low, middle, high, i, j, at
    while width < n:
        low = 0
        while low + width < n:
            middle = low + width
            high = min(middle + width, n)
            memcpy(span.merging, order + low, width * sizeof(i32))
            i = 0
            j = middle
            at = low
            while i < width:
                if j < high and compare_rows(gathered, grid, order[j], span.merging[i]) < 0:
                    order[at] = order[j]
                    j += 1
                else:
                    order[at] = span.merging[i]
                    i += 1
                at += 1
            low = high
        width *= 2


cdef void span_read(RowSpan* span, const Gathered* gathered, const Grid* grid) noexcept nogil:
    """Finds the different rows of a node."""
    cdef i64 i, at = 0, weight = 0
    cdef int k
    span.n = 0
    for i in range(gathered.n):
        span.order[i] = <i32> i
    for k in range(gathered.n_present):
        at = gathered.starts[k]
        span.starts[k] = span.n
        sort_rows(span, gathered, grid, at, gathered.starts[k + 1] - at)
        for i in range(at, gathered.starts[k + 1]):
            if i == at or compare_rows(gathered, grid, span.order[i - 1], span.order[i]) != 0:
                span.place[span.n] = i
                span.n += 1
                weight = 0
            if gathered.weighted:
                weight += <i64> rint(ldexp(<double> gathered.weights[span.order[i]],
                                           -grid.weight_shift))
            else:
                weight += 1
            span.root[span.n - 1] = sqrt(<double> weight)
    span.starts[gathered.n_present] = span.n
    span.place[span.n] = gathered.n


cdef void span_column(const SpanRows* rows, i64 k, double* column) noexcept nogil:
    """A column of Y, in units of 2^exponent."""
    cdef const RowSpan* span = rows.span
    cdef const Gathered* gathered = rows.gathered
    cdef double here = moments_mean(rows.sums, rows.slot, k)
    cdef double there = here
    cdef i64 i, row
    if rows.other != rows.slot:
        there = moments_mean(rows.sums, rows.other, k)
    ob_whole(span.wholes, gathered.columns + k * gathered.n, rows.grid.shift[k],
             ldexp(1.0, VALUE_BITS - rows.grid.exponent[k]), gathered.n)
    for i in range(rows.n):
        row = rows.first + i if rows.chosen == NULL else rows.chosen[i]
        column[i] = ((UNIT * span.wholes[span.order[span.place[row]]]
                      - (here if rows.begin <= row < rows.end else there)) * span.root[row])


cdef void span_add_products(const SpanRows* rows, const double* factor, i64 first, i64 last,
                            double* matrix) noexcept nogil:
    """Adds the features first .. last - 1 to the lower triangle of Y F Y', F diagonal."""
    cdef double[16] some
    cdef double* columns = rows.span.columns
    cdef i64 k, i
    while first < last:
        for i in range(OB_TOGETHER):
            k = first + i
            if k < last and factor[k] > 0.0:
                some[i] = factor[k]
                span_column(rows, k, columns + i * rows.n)
            else:
                some[i] = 0.0
                memset(columns + i * rows.n, 0, rows.n * sizeof(double))
        ob_add_outer(matrix, columns, some, rows.n)
        first += OB_TOGETHER


cdef void span_project(const SpanRows* rows, const double* vector, i64 n_features,
                       double* out) noexcept nogil:
    """Y x."""
    cdef i64 k
    cdef double* column = rows.span.columns
    memset(out, 0, rows.n * sizeof(double))
    for k in range(n_features):
        if vector[k] != 0.0:
            span_column(rows, k, column)
            ob_add_multiple(out, column, vector[k], rows.n)
