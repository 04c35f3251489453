"""The best cut along any direction: bins first, exact values where bins cannot decide."""

from obliqua._core.base.sort cimport SortBuffers
from obliqua._core.base.target cimport Target
from obliqua._core.base.types cimport Cut, Scorer, View, i32, i64, u32


cdef struct Workspace:
    # Scratch memory of one thread, made once and used for every direction of every node.
    i64 capacity             # rows
    i64 bin_capacity         # numbers in `bins`
    int n_sums
    const Target* target     # of numbers; NULL: classes
    double* values           # projections of the node's rows
    i32* classes             # of the rows; of numbers: which rows of the target they are
    i64* weights             # NULL: every row weighs 1
    u32* order
    SortBuffers buffers
    i64* left                # vectors of sums: three, of numbers six
    i64* bins                # sums and number of rows per bin
    double* edges            # smallest and largest value per bin
    i64* offsets             # where a bin's rows are collected
    double* some_values      # the rows of undecided bins
    i32* some_classes
    i64* some_weights


cdef bint workspace_init(Workspace* work, i64 capacity, int n_sums, bint weighted,
                         const Target* target) noexcept nogil
cdef void workspace_free(Workspace* work) noexcept nogil
cdef void search_values(Workspace* work, i64 n, double tolerance, const Scorer* scorer,
                        bint exhaustive, i64 direction, Cut* best) noexcept nogil

cdef double project(const View* view, const i32* rows, i64 n, const i32* idx, const double* coef,
                    i64 n_coef, double* values) noexcept nogil
cdef double tolerance_for(double largest, i64 n_coef) noexcept nogil
cdef void scan_sorted(const double* values, const i32* classes, const i64* weights,
                      const u32* order, i64 n, const i64* before, i64 rows_before, i64* left,
                      i64* scratch, double tolerance, const Scorer* scorer, i64 direction,
                      Cut* best) noexcept nogil
cdef void scan_sorted_numbers(const double* values, const i32* rows, const Target* target,
                              const u32* order, i64 n, const i64* before, i64 rows_before,
                              i64* left, double tolerance, const Scorer* scorer, i64 direction,
                              Cut* best) noexcept nogil
cdef i64 bin_of(double value, double low, double scale, i64 n_bins) noexcept nogil
cdef double bin_scale(double low, double high, i64 n_bins) noexcept nogil
cdef void clear_bins(i64* bins, double* edges, i64 n_bins, int n_sums) noexcept nogil
cdef void add_to_bin(i64* bins, double* edges, i64 b, int n_classes, double value, i32 cls,
                     i64 weight) noexcept nogil
cdef void add_number_to_bin(i64* bins, double* edges, i64 b, const Target* target, double value,
                            i64 row) noexcept nogil
cdef void score_edges(const i64* bins, const double* edges, i64 n_bins, const i64* before,
                      i64 rows_before, i64* left, i64* scratch, double tolerance,
                      const Scorer* scorer, i64 direction, Cut* best) noexcept nogil
cdef i64 open_bins(const i64* bins, const double* edges, i64 n_bins, const i64* before,
                   i64 rows_before, i64* left, double tolerance, const Scorer* scorer,
                   i64 direction, const Cut* best, i64* offsets) noexcept nogil
