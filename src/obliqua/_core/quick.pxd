"""The best cut of a sheet's rows along one of many directions."""

from obliqua._core.search cimport Workspace
from obliqua._core.sheet cimport Sheet
from obliqua._core.types cimport Cut, Scorer, i32, i64


cdef struct Bench:
    # Scratch memory of one thread for searching directions of a sheet.
    Workspace work
    i32* place               # per row: its bin
    i32* tally               # per class and bin: rows in the bin
    i32* left                # per class and bin: rows below the bin
    i32* all                 # per bin: rows in it
    i32* before              # per bin: rows below it
    double* edge             # per bin: what a cut at its upper end is worth
    double* inside           # per bin: no cut inside is worth more


cdef bint bench_init(Bench* bench, i64 room, int n_classes, bint weighted) noexcept nogil
cdef void bench_free(Bench* bench) noexcept nogil
cdef void bench_read(Bench* bench, const Sheet* sheet) noexcept nogil
cdef void quick_search(Bench* bench, const Sheet* sheet, double tolerance, const Scorer* scorer,
                       i64 direction, Cut* best) noexcept nogil
