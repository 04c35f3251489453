"""What compiled growth asks of a method: the best oblique cut of a node."""

from libc.math cimport NAN
from libc.stdlib cimport free, malloc

from obliqua._core.types cimport Cut, Scorer, i32, i64, u8


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

    cdef bint find(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil:
        """Looks for a cut better than `best`, which is axis-parallel or has direction -1.

        True if there is one: then it stands in `best`, its hyperplane in idx, coef, n_coef and
        threshold (and in fill, width, table and table_size), and side[row] is 1 for the rows to
        its right.
        """
        return False

    cdef bint find_any(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                       Cut* best, u8* side) noexcept nogil:
        """Looks for a cut without gain, among columns that the sorted ones do not hold."""
        return False
