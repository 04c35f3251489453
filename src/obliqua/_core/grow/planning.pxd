"""A finder that plans the directions of a node first and then looks along each of them."""

from obliqua._core.base.types cimport Cut, Scorer, i32, i64, u8
from obliqua._core.grow.coding cimport LevelCoding
from obliqua._core.grow.finder cimport FitData, Finder
from obliqua._core.grow.moments cimport Grid, ClassMoments
from obliqua._core.search.gathered cimport SearchMemory, Gathered


cdef struct PlanTask:
    # A mirror, whose p columns are directions, or a single direction.
    i64 first                # number of its first direction
    bint mirror


cdef class PlanningFinder(Finder):
    cdef Grid grid           # of the node that was read
    cdef object held         # the array behind `scale`
    cdef object held_counts  # the class sums of the node that was loaded
    cdef const double* scale
    cdef const double* every_scale   # of all columns of the fit,
    cdef double* own_scale           # and of those that were chosen
    cdef i32* inverse                # of sparse columns: where a row was gathered to
    cdef double* factor      # per feature: what a unit of the grid is in scaled features
    cdef i64 n_features
    cdef int n_classes
    cdef readonly i64 min_rows       # nodes with fewer rows get axis-parallel splits only
    cdef object counted      # the array behind `row_counts`
    cdef const i64* row_counts       # as how many rows a row counts; NULL: as one
    cdef i64 max_features    # features in a split
    cdef Gathered gathered
    cdef SearchMemory memory
    cdef ClassMoments sums   # one slot per class that is present, and two more
    cdef Scorer scorer       # of the classes that are there
    cdef PlanTask* tasks
    cdef double* vectors     # per task: the mirror's normal, or the direction
    cdef i64 n_tasks
    cdef double* spread      # per feature: standard deviation in the node
    cdef double* normal
    cdef i32* places         # features that can matter in columns of the mirror at hand
    cdef i64 n_places
    cdef double* along       # projections on a mirror's normal
    cdef LevelCoding coding  # of columns that are not plain numbers
    cdef u8* coded           # per feature: whether it is one of them
    cdef i64* coded_place    # and its place among them
    cdef bint sides          # whether missing values are tried on both sides of a cut
    cdef u8* gone            # per row: whether it misses a value of the winner
    cdef i64 capacity        # the most rows of a node
    cdef bint helper         # whether it only looks at nodes that others have read
    cdef object measure      # a criterion in Python, or None
    cdef object trouble      # the exception that it raised

    cdef bint is_small(self, const i32* rows, i64 n) noexcept nogil
    cdef int reserve(self, i64 most) except -1
    cdef void add_task(self, i64 first, bint mirror) noexcept nogil
    cdef void clear_tasks(self) noexcept nogil
    cdef void plan(self) noexcept nogil
    cdef void plan_from_sums(self) noexcept nogil
    cdef void extend(self, const Cut* axis) noexcept nogil
    cdef void borrow(self, PlanningFinder owner) noexcept nogil
    cdef void give_back(self, PlanningFinder owner) noexcept nogil
    cdef void offer(self, PlanningFinder owner, double tolerance, i64 direction,
                    Cut* best) noexcept nogil
    cdef void share_memory(self, PlanningFinder owner) noexcept nogil
    cdef double priced(self, double score) noexcept nogil
    cdef void set_grid(self) noexcept nogil
    cdef void take_columns(self, const i32* columns) noexcept nogil
    cdef void read_sparse(self, const i32* rows) noexcept nogil
    cdef void read(self, const FitData* data, const i32* rows, i64 n,
                   const Scorer* scorer) noexcept nogil
    cdef void make_normal(self, PlanningFinder owner, i64 task, i64 j) noexcept nogil
    cdef double choose_places(self, PlanningFinder owner, i64 task) noexcept nogil
    cdef void make_short_normal(self, PlanningFinder owner, i64 task, i64 j) noexcept nogil
    cdef double project(self, const Gathered* gathered) noexcept nogil
    cdef void search(self, PlanningFinder owner, i64 first, i64 last, Cut* best) noexcept nogil
    cdef void search_task(self, PlanningFinder owner, i64 task, i64 first, i64 last,
                          Cut* best) noexcept nogil
    cdef void measure_spread(self) noexcept nogil
    cdef void search_coded(self, Cut* best) noexcept nogil
    cdef void describe_terms(self) noexcept nogil
    cdef void choose_direction(self, i64 direction) noexcept nogil
    cdef bint note_gone(self) noexcept nogil
    cdef void search_sides(self, double tolerance, i64 direction, Cut* best) noexcept nogil
    cdef bint confirm(self, Cut rough, Cut* best, u8* side) noexcept nogil
    cdef bint find(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil
    cdef bint find_any(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                       Cut* best, u8* side) noexcept nogil
    cdef object plane(self)
    cdef int raise_trouble(self) except -1
    cdef void ask_best(self, PlanningFinder owner, u8* leaves, i64 direction, double tolerance,
                       bint right, Cut* cut) noexcept nogil
