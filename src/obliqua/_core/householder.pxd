"""HHCART's directions, searched as they are made."""

from obliqua._core.finder cimport Data, Finder
from obliqua._core.moments cimport Grid, Moments
from obliqua._core.quick cimport Bench
from obliqua._core.sheet cimport Sheet
from obliqua._core.types cimport Cut, Scorer, i32, i64, u8


cdef struct Settings:
    # What is looked at, the same for every node.
    bint every               # all eigenvectors of a class, or the dominant one
    bint nearest             # reflect to the nearest axis instead of the first
    double tau               # an eigenvector this close to an axis is left alone
    i64 min_rows             # nodes with fewer rows get axis-parallel splits only
    bint fisher              # one class against the rest, beside the reflections
    double trim              # share of a class's rows, the farthest ones, that covariances ignore
    i64 max_features         # features in a split


cdef struct Task:
    # A mirror, whose p columns are directions, or a single direction.
    i64 first                # number of its first direction
    bint mirror


cdef class Householder(Finder):
    cdef Settings settings
    cdef Grid grid
    cdef object held         # the arrays behind `grid` and `scale`
    cdef const double* scale
    cdef i64 n_features
    cdef int n_classes
    cdef Sheet sheet
    cdef Bench bench
    cdef Moments sums
    cdef Scorer scorer       # of the sheet's classes
    cdef Task* tasks
    cdef double* vectors     # per task: the mirror's normal, or the direction
    cdef i64 n_tasks
    cdef double* matrix      # a scatter matrix, then its eigenvectors as rows
    cdef double* other
    cdef double* values      # eigenvalues
    cdef double* scratch
    cdef double* spread      # per feature: standard deviation in the node
    cdef double* normal
    cdef double* along       # projections on a mirror's normal
    cdef double* size        # sums of |terms| of a projection
    cdef i32* chosen         # rows that trimming leaves

    cdef void read(self, const Data* data, const i32* rows, i64 n,
                   const Scorer* scorer) noexcept nogil
    cdef void plan(self) noexcept nogil
    cdef void plan_mirrors(self, int k) noexcept nogil
    cdef void plan_fisher(self) noexcept nogil
    cdef void measure_spread(self) noexcept nogil
    cdef i64 trimmed(self, int k) noexcept nogil
    cdef bint set_mirror(self, double* d, double* mirror) noexcept nogil
    cdef void make_normal(self, Householder owner, i64 task, i64 j) noexcept nogil
    cdef double project(self, const Sheet* sheet) noexcept nogil
    cdef double look_along(self, Householder owner, i64 task) noexcept nogil
    cdef void search(self, Householder owner, i64 first, i64 last, Cut* best) noexcept nogil
    cdef void search_mirror(self, Householder owner, i64 task, i64 first, i64 last,
                            Cut* best) noexcept nogil
    cdef void search_normals(self, Householder owner, i64 task, i64 first, i64 last,
                             Cut* best) noexcept nogil
    cdef bint confirm(self, Cut rough, Cut* best, u8* side) noexcept nogil
    cdef bint find(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil
    cdef object plane(self)
