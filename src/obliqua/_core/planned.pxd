"""A finder that plans the directions of a node first and then looks along each of them."""

from obliqua._core.coding cimport Coding
from obliqua._core.finder cimport Data, Finder
from obliqua._core.moments cimport Grid, Moments
from obliqua._core.quick cimport Bench
from obliqua._core.sheet cimport Sheet
from obliqua._core.types cimport Cut, Scorer, i32, i64, u8


cdef struct Task:
    # A mirror, whose p columns are directions, or a single direction.
    i64 first                # number of its first direction
    bint mirror


cdef class Planned(Finder):
    cdef Grid grid           # of the node that was read
    cdef object held         # the array behind `scale`
    cdef object held_counts  # the class sums of the node that was loaded
    cdef const double* scale
    cdef double* factor      # per feature: what a unit of the grid is in scaled features
    cdef i64 n_features
    cdef int n_classes
    cdef i64 min_rows        # nodes with fewer rows get axis-parallel splits only
    cdef object counted      # the array behind `row_counts`
    cdef const i64* row_counts       # as how many rows a row counts; NULL: as one
    cdef i64 max_features    # features in a split
    cdef Sheet sheet
    cdef Bench bench
    cdef Moments sums        # one slot per class that is present, and two more
    cdef Scorer scorer       # of the sheet's classes
    cdef Task* tasks
    cdef double* vectors     # per task: the mirror's normal, or the direction
    cdef i64 n_tasks
    cdef double* spread      # per feature: standard deviation in the node
    cdef double* normal
    cdef double* along       # projections on a mirror's normal
    cdef Coding coding       # of columns that are not plain numbers
    cdef u8* odd             # per feature: whether it is one of them
    cdef i64* odd_place      # and its place among them

    cdef bint is_small(self, const i32* rows, i64 n) noexcept nogil
    cdef int reserve(self, i64 most) except -1
    cdef void add_task(self, i64 first, bint mirror) noexcept nogil
    cdef void clear_tasks(self) noexcept nogil
    cdef void plan(self) noexcept nogil
    cdef void extend(self, const Cut* axis) noexcept nogil
    cdef void borrow(self, Planned owner) noexcept nogil
    cdef void give_back(self, Planned owner) noexcept nogil
    cdef void offer(self, Planned owner, double tolerance, i64 direction,
                    Cut* best) noexcept nogil
    cdef void set_grid(self) noexcept nogil
    cdef void read(self, const Data* data, const i32* rows, i64 n,
                   const Scorer* scorer) noexcept nogil
    cdef void make_normal(self, Planned owner, i64 task, i64 j) noexcept nogil
    cdef double project(self, const Sheet* sheet) noexcept nogil
    cdef void search(self, Planned owner, i64 first, i64 last, Cut* best) noexcept nogil
    cdef void search_task(self, Planned owner, i64 task, i64 first, i64 last,
                          Cut* best) noexcept nogil
    cdef void measure_spread(self) noexcept nogil
    cdef void search_odd(self, Cut* best) noexcept nogil
    cdef void describe_terms(self) noexcept nogil
    cdef void choose_direction(self, i64 direction) noexcept nogil
    cdef bint confirm(self, Cut rough, Cut* best, u8* side) noexcept nogil
    cdef bint find(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil
    cdef bint find_any(self, const Data* data, const i32* rows, i64 n, const Scorer* scorer,
                       Cut* best, u8* side) noexcept nogil
    cdef object plane(self)
