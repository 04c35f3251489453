"""The best place along a line on which rows change sides in both directions."""

from obliqua._core.quick cimport Bench
from obliqua._core.sheet cimport Sheet
from obliqua._core.types cimport Cut, Scorer, u8


cdef void swing_search(Bench* bench, const Sheet* sheet, const u8* leaves, double tolerance,
                       const Scorer* scorer, Cut* best) noexcept nogil
