"""The rows of one node, gathered column by column and grouped by class.

Directions are computed column by column, so that one pass reads two streams of memory; and with
the rows of a class side by side, sums per class need no look at a row's class. Only classes that
are there have a number here: deep in a tree of many classes they are few.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from obliqua._core.types cimport View, i32, i64, real

cdef extern from "loops.h" nogil:
    void ob_range(const double* z, i64 n, double* low, double* high)

cdef enum:
    ROWS_AT_ONCE = 64


cdef bint sheet_init(Sheet* sheet, i64 room, i64 n_features, int n_classes,
                     bint weighted) noexcept nogil:
    """Makes room for nodes of up to `room` rows; False if there is no memory."""
    memset(sheet, 0, sizeof(Sheet))
    sheet.room = max(room, 1)
    sheet.n_features = n_features
    sheet.weighted = weighted
    sheet.columns = <double*> malloc(sheet.room * n_features * sizeof(double))
    sheet.rows = <i32*> malloc(sheet.room * sizeof(i32))
    sheet.classes = <i32*> malloc(sheet.room * sizeof(i32))
    sheet.present = <i32*> malloc(n_classes * sizeof(i32))
    sheet.starts = <i64*> malloc((n_classes + 1) * sizeof(i64))
    sheet.counts = <i64*> malloc(n_classes * sizeof(i64))
    sheet.place = <i32*> malloc(n_classes * sizeof(i32))
    sheet.low = <double*> malloc(n_features * sizeof(double))
    sheet.high = <double*> malloc(n_features * sizeof(double))
    if weighted:
        sheet.weights = <i64*> malloc(sheet.room * sizeof(i64))
    if (sheet.columns == NULL or sheet.rows == NULL or sheet.classes == NULL
            or sheet.present == NULL or sheet.starts == NULL or sheet.counts == NULL
            or sheet.place == NULL or sheet.low == NULL or sheet.high == NULL
            or (weighted and sheet.weights == NULL)):
        sheet_free(sheet)
        return False
    return True


cdef void sheet_free(Sheet* sheet) noexcept nogil:
    free(sheet.columns)
    free(sheet.rows)
    free(sheet.classes)
    free(sheet.present)
    free(sheet.starts)
    free(sheet.counts)
    free(sheet.place)
    free(sheet.low)
    free(sheet.high)
    free(sheet.weights)
    memset(sheet, 0, sizeof(Sheet))


cdef void group_rows(Sheet* sheet, const i32* rows, i64 n, const i32* classes,
                     const i64* weights, int n_classes) noexcept nogil:
    """Orders the row numbers by class, keeping their order within a class."""
    cdef i64 i, at = 0, size
    cdef int c, k = 0
    for c in range(n_classes):
        sheet.place[c] = 0
    for i in range(n):
        sheet.place[classes[rows[i]]] += 1
    for c in range(n_classes):
        size = sheet.place[c]
        sheet.place[c] = -1
        if size:
            sheet.place[c] = k
            sheet.present[k] = c
            sheet.starts[k] = at
            sheet.counts[k] = 0
            at += size
            k += 1
    sheet.n = n
    sheet.n_present = k
    sheet.starts[k] = n
    for i in range(n):
        k = sheet.place[classes[rows[i]]]
        at = sheet.starts[k]
        sheet.starts[k] += 1
        sheet.rows[at] = rows[i]
        sheet.classes[at] = k
        if sheet.weighted:
            sheet.weights[at] = weights[rows[i]]
            sheet.counts[k] += weights[rows[i]]
        else:
            sheet.counts[k] += 1
    for k in range(sheet.n_present, 0, -1):      # filling moved every start to the next one
        sheet.starts[k] = sheet.starts[k - 1]
    sheet.starts[0] = 0


cdef void fill_columns(Sheet* sheet, const real* data, const View* view) noexcept nogil:
    """Copies the rows, some at a time: they stay in the cache while their columns are written."""
    cdef i64 n = sheet.n
    cdef i64 i, k, start = 0, end
    cdef const real* first
    cdef double* column
    while start < n:
        end = min(start + ROWS_AT_ONCE, n)
        for k in range(sheet.n_features):
            if sheet.wanted != NULL and not sheet.wanted[k]:
                continue
            first = data + k * view.col_stride
            column = sheet.columns + k * n
            for i in range(start, end):
                column[i] = <double> first[sheet.rows[i] * view.row_stride]
        start = end


cdef void sheet_fill(Sheet* sheet, const View* view, const i32* rows, i64 n, const i32* classes,
                     const i64* weights, int n_classes) noexcept nogil:
    """Gathers the rows of a node."""
    cdef i64 k
    group_rows(sheet, rows, n, classes, weights, n_classes)
    if view.single:
        fill_columns(sheet, <const float*> view.data, view)
    else:
        fill_columns(sheet, <const double*> view.data, view)
    for k in range(sheet.n_features):
        if sheet.wanted != NULL and not sheet.wanted[k]:
            continue
        sheet.low[k] = INFINITY
        sheet.high[k] = -INFINITY
        ob_range(sheet.columns + k * n, n, &sheet.low[k], &sheet.high[k])
