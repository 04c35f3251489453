"""Columns of levels, and numbers with stand-ins, where numbers are learnt."""

from obliqua._core.base.target cimport Target
from obliqua._core.base.types cimport i32, i64
from obliqua._core.grow.coding cimport LevelCoding
from obliqua._core.search.gathered cimport Gathered


cdef struct MeanRoom:
    # Room to give numbers to levels.
    i64* sums                # per level: those of the target
    double* off              # per level and output: how far its mean is from that of all
    double* matrix           # of the outputs
    double* values
    double* scratch


cdef bint room_init(MeanRoom* room, i64 most_levels, const Target* target) noexcept nogil
cdef void room_free(MeanRoom* room) noexcept nogil
cdef void number_column(MeanRoom* room, const Target* target, LevelCoding* coding, i64 k,
                        const i32* rows, Gathered* gathered) noexcept nogil
