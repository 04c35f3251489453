"""Directions that part classes, and superclasses that start from the best cuts."""

from obliqua._core.base.types cimport Cut, i64, u8
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.grow.row_span cimport RowSpan, SpanRows

cdef enum:
    STARTS = 3               # directions whose best cuts are starts
    STEPS = 4                # superclasses that are tried from each of them, at most


cdef struct Leaders:
    # The best cuts of different directions, the best one first.
    Cut[STARTS] cut
    i64 n
    u8* heavy                # per cut and class: whether it is more frequent to the right


cdef struct DirectionParts:
    # What the directions of a node are made of, in units of its grid. Per class:
    double* share            # of the weight
    double* root             # of that
    double* halves           # L^-1 (mean - mean of all), L L' = G + ridge
    double* solved           # (G + ridge)^-1 (mean - mean of all)
    # and for all of them:
    double* matrix           # L; not where rows are few
    double* small            # between the classes, then eigenvectors as rows
    double* values           # eigenvalues
    double* scratch
    double* normal           # a direction
    u8* varies               # per feature: whether it has a coefficient
    # where directions have few features:
    double* whole            # G + ridge
    double* columns          # per chosen feature: a column of the factor of its rows of `whole`
    double* pull             # per feature: what is left of its product with the direction
    double* left             # and of its own square
    double* steps            # per chosen feature
    i64* chosen


cdef class DiscriminantFinder(PlanningFinder):
    cdef bint wanted         # whether these directions are looked at
    cdef bint superclasses   # and whether the best ones are starts
    cdef i64 base            # directions that a method has numbered before these
    cdef double* numbers     # the memory of `parts`
    cdef bint few            # whether directions have few features, which are fitted anew
    cdef u8* flags           # and of all that is true or false
    cdef DirectionParts parts
    # Where the rows of the whole fit are few beside the features:
    cdef bint wide           # whether they are
    cdef RowSpan span
    cdef double* gram        # products of rows, or L of them
    cdef double* row_sums    # per row
    cdef double* weighing    # per feature: its factor in products of rows
    cdef double* inverse     # per feature: 1 / ridge; 0: it does not count
    # Of a node, in the object that has read it:
    cdef readonly bint leading       # whether the best cuts are to be kept, as starts
    cdef Leaders all         # of all threads
    cdef i64 n_first         # tasks of the first round
    cdef i64 n_climbs
    cdef u8* groups          # per climb and class: whether it is in the superclass at the start
    cdef double[STARTS] scores       # per climb: of its start
    # Of a search:
    cdef Leaders mine        # the best cuts that this object knows
    cdef u8* group           # two superclasses

    cdef int reserve_parts(self) except -1
    cdef i64 most_directions(self) noexcept nogil
    cdef int reserve_span(self) except -1
    cdef SpanRows rows_about(self, i64 slot) noexcept nogil
    cdef SpanRows rows_of_class(self, int k, i64 slot) noexcept nogil
    cdef bint multiply_rows(self, const SpanRows* rows) noexcept nogil
    cdef bint factorise_rows(self, const SpanRows* rows, const double* factor) noexcept nogil
    cdef void solve_rows(self, const SpanRows* rows, const double* factor,
                         double* vector) noexcept nogil
    cdef void plan_discriminants(self) noexcept nogil
    cdef bint weigh_total(self) noexcept nogil
    cdef bint factorise_total(self) noexcept nogil
    cdef void solve_class(self, int k) noexcept nogil
    cdef void between_classes(self, int n) noexcept nogil
    cdef void between_features(self, int n) noexcept nogil
    cdef void plan_eigenvectors(self) noexcept nogil
    cdef bint set_vector(self, DiscriminantFinder owner, const double* normal, bint signed,
                         double* vector) noexcept nogil
    cdef void fit_few(self, DiscriminantFinder owner, const double* normal,
                      double* few) noexcept nogil
    cdef void scan(self, DiscriminantFinder owner, double tolerance, i64 direction,
                   Cut* cut) noexcept nogil
    cdef void mark_heavier(self, DiscriminantFinder owner, const Cut* cut,
                           u8* heavy) noexcept nogil
    cdef void scan_axis(self, i64 column, Cut* cut) noexcept nogil
    cdef void join_classes(self, const u8* group, double* normal) noexcept nogil
    cdef void climb(self, DiscriminantFinder owner, i64 task, Cut* best) noexcept nogil
