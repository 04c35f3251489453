"""The rows of one node, gathered, and their best cut along one of many directions."""

from obliqua._core.base.types cimport Cut, Scorer, View, i32, i64, u8
from obliqua._core.search.direction cimport Workspace


cdef struct Gathered:
    i64 capacity             # rows that fit
    i64 n_features
    i64 n                    # rows that are there
    int n_present            # classes that are there
    bint weighted
    double* columns          # n_features blocks of n values
    const u8* wanted         # which columns to gather; NULL: all
    const i32* taken         # where the columns stand in the matrix; NULL: all, in their order
    i32* rows                # row numbers: class by class, in the node's order within a class
    i32* classes             # per row: the place of its class among those present
    i64* weights             # NULL: every row weighs 1
    i32* present             # the classes that are there, ascending
    i64* starts              # where each of them begins; one more for the end
    i64* counts              # their weights
    i32* place               # per class: its place among those present, -1 if absent
    double* low              # per column: the smallest value
    double* high             # and the largest


cdef bint gathered_init(Gathered* gathered, i64 capacity, i64 n_features, int n_classes,
                        bint weighted) noexcept nogil
cdef void gathered_free(Gathered* gathered) noexcept nogil
cdef void group_rows(Gathered* gathered, const i32* rows, i64 n, const i32* classes,
                     const i64* weights, int n_classes) noexcept nogil
cdef void gathered_range(Gathered* gathered) noexcept nogil
cdef void gathered_fill(Gathered* gathered, const View* view, const i32* rows, i64 n,
                        const i32* classes, const i64* weights, int n_classes) noexcept nogil


cdef struct SearchMemory:
    # Scratch memory of one thread for searching directions of gathered rows.
    Workspace work
    i32* place               # per row: its bin
    i32* tally               # per class and bin: rows in the bin
    i32* left                # per class and bin: rows below the bin
    i32* all                 # per bin: rows in it
    i32* before              # per bin: rows below it
    double* edge             # per bin: what a cut at its upper end is worth
    double* inside           # per bin: no cut inside is worth more


cdef bint memory_init(SearchMemory* memory, i64 capacity, int n_classes,
                      bint weighted) noexcept nogil
cdef void memory_free(SearchMemory* memory) noexcept nogil
cdef void memory_read(SearchMemory* memory, const Gathered* gathered) noexcept nogil
cdef void search_gathered(SearchMemory* memory, const Gathered* gathered, double tolerance,
                          const Scorer* scorer, i64 direction, Cut* best) noexcept nogil
