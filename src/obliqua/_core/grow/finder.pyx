"""What compiled growth asks of a method: an oblique cut of a node; and a store of cuts."""

from libc.math cimport NAN
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.types cimport Cut, Scorer, i32, i64, u8


cdef class Finder:
    """Base of compiled methods; one object per thread, because it holds scratch memory."""

    def __cinit__(self, i64 n_features, *args, **more):
        cdef i64 k
        self.bias = 1.0
        self.idx = <i32*> malloc(n_features * sizeof(i32))
        self.coef = <double*> malloc(n_features * sizeof(double))
        self.fill = <double*> malloc(n_features * sizeof(double))
        self.width = <double*> malloc(n_features * sizeof(double))
        self.table = <const double**> malloc(n_features * sizeof(double*))
        self.table_size = <i32*> malloc(n_features * sizeof(i32))
        if (self.idx == NULL or self.coef == NULL or self.fill == NULL or self.width == NULL
                or self.table == NULL or self.table_size == NULL):
            raise MemoryError("no room to look for oblique splits")
        for k in range(n_features):
            self.fill[k] = NAN
            self.width[k] = NAN
            self.table[k] = NULL
            self.table_size[k] = 0

    def __dealloc__(self):
        free(self.idx)
        free(self.coef)
        free(self.fill)
        free(self.width)
        free(self.table)
        free(self.table_size)

    def finished(self):
        """Called at the end of a subtree: the place to report what a search has counted."""

    cdef void take_columns(self, const i32* columns) noexcept nogil:
        """Takes some columns of the fit, ascending, as those of the finder."""
        self.taken = columns

    cdef bint find(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil:
        """Looks for a cut better than `best`, which is axis-parallel or has direction -1.

        True if there is one: then it stands in `best`, its hyperplane in idx, coef, n_coef and
        threshold (and in fill, width, table and table_size), and side[row] is 1 for the rows to
        its right.
        """
        return False

    cdef bint find_any(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                       Cut* best, u8* side) noexcept nogil:
        """Looks for a cut without gain, among columns that the sorted ones do not hold."""
        return False


# -- the hyperplanes of a growing tree: coefficients and what they multiply ------------------


cdef void store_free(PlaneStore* store) noexcept nogil:
    free(store.terms)
    free(store.tables)
    memset(store, 0, sizeof(PlaneStore))


cdef bint make_room(PlaneStore* store, i64 terms, i64 entries) noexcept nogil:
    """Makes room for so many more; False if there is no memory."""
    cdef i64 capacity
    cdef void* grown
    if store.n_terms + terms > store.term_capacity:
        capacity = max(2 * store.term_capacity, store.n_terms + terms + 256)
        grown = realloc(store.terms, capacity * sizeof(PlaneTerm))
        if grown == NULL:
            return False
        store.terms = <PlaneTerm*> grown
        store.term_capacity = capacity
    if store.n_entries + entries > store.entry_capacity:
        capacity = max(2 * store.entry_capacity, store.n_entries + entries + 256)
        grown = realloc(store.tables, capacity * sizeof(double))
        if grown == NULL:
            return False
        store.tables = <double*> grown
        store.entry_capacity = capacity
    return True


cdef bint store_keep(PlaneStore* store, Finder finder) noexcept nogil:
    """Adds the hyperplane that a finder has found; False if there is no memory."""
    cdef i64 k, entries = 0, n = finder.n_coef
    cdef PlaneTerm* term
    for k in range(n):
        entries += finder.table_size[k]
    if not make_room(store, n, entries):
        return False
    for k in range(n):
        term = &store.terms[store.n_terms + k]
        term.idx = finder.idx[k] if finder.taken == NULL else finder.taken[finder.idx[k]]
        term.coef = finder.coef[k]
        term.fill = finder.fill[k]
        term.width = finder.width[k]
        term.table = store.n_entries
        term.table_size = finder.table_size[k]
        if term.table_size:
            memcpy(store.tables + store.n_entries, finder.table[k],
                   term.table_size * sizeof(double))
            store.n_entries += term.table_size
    store.n_terms += n
    return True


cdef object store_export(PlaneStore* store, const i64[::1] plane, const i64[::1] n_coef):
    """Some hyperplanes, each given by its first term and its number of terms, as arrays."""
    cdef i64 k, i, at = 0, entries = 0, total = 0
    cdef PlaneTerm* term
    for k in range(plane.shape[0]):
        total += n_coef[k]
        for i in range(n_coef[k]):
            entries += store.terms[plane[k] + i].table_size
    idx = np.empty(total, dtype=np.int32)
    coef = np.empty(total, dtype=np.float64)
    fill = np.empty(total, dtype=np.float64)
    width = np.empty(total, dtype=np.float64)
    size = np.zeros(total, dtype=np.int64)
    tables = np.empty(entries, dtype=np.float64)
    cdef i32[::1] idx_ = idx
    cdef double[::1] coef_ = coef, fill_ = fill, width_ = width, tables_ = tables
    cdef i64[::1] size_ = size
    entries = 0
    for k in range(plane.shape[0]):
        for i in range(n_coef[k]):
            term = &store.terms[plane[k] + i]
            idx_[at] = term.idx
            coef_[at] = term.coef
            fill_[at] = term.fill
            width_[at] = term.width
            size_[at] = term.table_size
            if term.table_size:
                memcpy(&tables_[entries], store.tables + term.table,
                       term.table_size * sizeof(double))
                entries += term.table_size
            at += 1
    return idx, coef, fill, width, size, tables


cdef object found_terms(Finder finder):
    """The hyperplane that a finder has found, as arrays."""
    cdef PlaneStore store
    memset(&store, 0, sizeof(PlaneStore))
    try:
        if not store_keep(&store, finder):
            raise MemoryError("no room to keep a split")
        return store_export(&store, np.zeros(1, np.int64), np.full(1, finder.n_coef, np.int64))
    finally:
        store_free(&store)
