"""What compiled growth asks of a method: the best oblique cut of a node."""

from libc.stdlib cimport free, malloc

from obliqua._core.types cimport Cut, Scorer, i32, i64, u8


cdef class Finder:
    """Base of compiled methods; one object per thread, because it holds scratch memory."""

    def __cinit__(self, i64 n_features, *args, **more):
        self.idx = <i32*> malloc(n_features * sizeof(i32))
        self.coef = <double*> malloc(n_features * sizeof(double))
        if self.idx == NULL or self.coef == NULL:
            raise MemoryError("no room to look for oblique splits")

    def __dealloc__(self):
        free(self.idx)
        free(self.coef)

    cdef bint find(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil:
        """Looks for a cut better than `best`, which is axis-parallel or has direction -1.

        True if there is one: then it stands in `best`, its hyperplane in idx, coef, n_coef and
        threshold, and side[row] is 1 for the rows to its right.
        """
        return False
