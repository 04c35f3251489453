"""HHCART's directions."""

from obliqua._core.base.types cimport Cut, i32, i64, u8
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.grow.row_span cimport SpanRows
from obliqua._core.methods.discriminants cimport DiscriminantFinder


cdef struct Settings:
    # What is looked at, the same for every node.
    bint every               # all eigenvectors of a class, or the dominant one
    bint by_correlation      # whether eigenvalues that are 0 are told by the correlation matrix
    bint nearest             # reflect to the nearest axis instead of the first
    double tau               # an eigenvector this close to an axis is left alone
    bint fisher              # one class against the rest, beside the reflections
    double trim              # share of a class's rows, the farthest ones, that covariances ignore


cdef class HouseholderFinder(DiscriminantFinder):
    cdef Settings settings
    cdef double* matrix      # a scatter matrix, then its eigenvectors as rows
    cdef double* other
    cdef double* kept        # eigenvectors, while others are tried
    cdef double* values      # eigenvalues
    cdef double* scratch
    cdef i32* chosen         # rows that trimming leaves
    cdef u8* still           # per feature: whether the class at hand has no spread there

    cdef void plan(self) noexcept nogil
    cdef void plan_from_sums(self) noexcept nogil
    cdef void plan_mirrors(self, int k) noexcept nogil
    cdef i64 find_vectors(self, i64 slot) noexcept nogil
    cdef void plan_mirrors_of_rows(self, int k) noexcept nogil
    cdef i64 find_vectors_of_rows(self, const SpanRows* rows) noexcept nogil
    cdef void turn_rows(self, const SpanRows* rows, const double* turn, i64 n,
                        double* turned) noexcept nogil
    cdef void trim_rows(self, SpanRows* rows, int k) noexcept nogil
    cdef bint invert_ridge(self, i64 slot, i64 other) noexcept nogil
    cdef void plan_fisher(self) noexcept nogil
    cdef bint solve_fisher(self, int k, i64 rest, double* w) noexcept nogil
    cdef bint solve_fisher_by_rows(self, int k, i64 rest, double* w) noexcept nogil
    cdef void measure_spread(self) noexcept nogil
    cdef i64 trimmed(self, int k) noexcept nogil
    cdef bint set_mirror(self, double* d, double* mirror) noexcept nogil
    cdef double look_along(self, PlanningFinder owner, i64 task) noexcept nogil
    cdef void search_mirror(self, PlanningFinder owner, i64 task, i64 first, i64 last,
                            Cut* best) noexcept nogil
