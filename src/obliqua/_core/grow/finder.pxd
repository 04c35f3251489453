"""What compiled growth asks of a method: an oblique cut of a node; and a store of cuts."""

from obliqua._core.base.target cimport Target
from obliqua._core.base.types cimport Cut, Scorer, View, i32, i64, u8, u64
from obliqua._core.search.column_lists cimport ColumnLists


cdef struct FitData:
    # The rows of a fit as compiled code sees them.
    View view
    Target target


cdef class Finder:
    cdef public u64 key      # of the node's random numbers
    cdef public double bias  # an oblique cut must be better than an axis-parallel one times this
    cdef ColumnLists columns  # whom to tell how much work was done, and who says when to stop
    cdef i32* idx            # the hyperplane that was found
    cdef double* coef
    cdef double* fill        # per coefficient: what stands in for a missing value
    cdef double* width       # per coefficient: standard deviation in the node; NaN: not measured
    cdef const double** table    # per coefficient: a number per level, or NULL
    cdef i32* table_size
    cdef i64 n_coef
    cdef double threshold
    cdef int missing         # where rows with missing values go: a MissingRows
    cdef bint looks_at_axes  # whether it looks at single columns itself, all of them
    cdef const u8* looked_at  # which columns a node looks at, if it draws some; NULL: all
    cdef const i32* taken    # which columns of the fit those of the finder are; NULL: all of them
    cdef double axis_score   # of the best axis-parallel cut that it has found itself

    cdef void take_columns(self, const i32* columns) noexcept nogil
    cdef bint find(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil
    cdef bint find_any(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                       Cut* best, u8* side) noexcept nogil


cdef struct PlaneTerm:
    # One coefficient of a hyperplane, and what it multiplies.
    double coef
    double fill
    double width
    i64 table                # where the numbers of its levels begin
    i32 table_size
    i32 idx


cdef struct PlaneStore:
    PlaneTerm* terms
    i64 n_terms
    i64 term_capacity
    double* tables           # numbers of levels
    i64 n_entries
    i64 entry_capacity


cdef void store_free(PlaneStore* store) noexcept nogil
cdef bint store_keep(PlaneStore* store, Finder finder) noexcept nogil
cdef object store_export(PlaneStore* store, const i64[::1] plane, const i64[::1] n_coef)
cdef object found_terms(Finder finder)
