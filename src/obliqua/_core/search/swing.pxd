"""The best place along a line on which rows change sides in both directions."""

from obliqua._core.base.types cimport Cut, Scorer, i32, i64, u8
from obliqua._core.search.gathered cimport SearchMemory, Gathered


cdef struct Swing:
    # Scratch memory of one thread. Per class and bin, and in the last place for all classes:
    i32* up                  # rows of the bin that enter the right side
    i32* down                # rows that leave it
    i32* right               # rows on the right side at the bin's lower end
    i32* passed              # per bin: rows in the bins below
    double* edge             # per bin: what the place at its lower end is worth
    double* inside           # per bin: no place inside is worth more


cdef bint swing_init(Swing* swing, int n_classes) noexcept nogil
cdef void swing_free(Swing* swing) noexcept nogil
cdef void swing_search(Swing* swing, SearchMemory* memory, const Gathered* gathered, u8* leaves,
                       double tolerance, const Scorer* scorer, Cut* best) noexcept nogil
