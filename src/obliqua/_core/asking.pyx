"""A finder that must know scores while it plans, also those of a criterion in Python."""

import numpy as np

from obliqua._core.types cimport Cut, i32, i64, u8


cdef class Asking(Planned):
    """Base of methods that go on from what they have found."""

    def set_measure(self, measure):
        """Takes a criterion in Python: an `obliqua.engine.compiled.Measure`."""
        self.measure = measure

    cdef int raise_trouble(self) except -1:
        """Raises what the criterion has raised, once."""
        if self.trouble is not None:
            trouble = self.trouble
            self.trouble = None
            raise trouble
        return 0

    cdef void ask_best(self, Asking owner, u8* leaves, i64 direction, double tolerance,
                       bint right, Cut* cut) noexcept nogil:
        """Asks the criterion in Python for the best place between bench.work.values."""
        cdef i64 n = owner.sheet.n
        cdef double score, below, above
        if owner.trouble is not None:
            return
        with gil:
            try:
                found = owner.measure.best(
                    np.asarray(<double[:n]> self.bench.work.values),
                    None if leaves == NULL else np.asarray(<u8[:n]> leaves),
                    np.asarray(<i32[:n]> self.bench.work.classes),
                    np.asarray(<i64[:n]> owner.sheet.weights) if owner.sheet.weighted else None,
                    tolerance,
                    right,
                    cut.score,
                )
                # A tie goes to the first direction, as in the compiled search.
                if found is not None and (found[0] > cut.score or direction < cut.direction):
                    score, below, above = found
                    cut.score = score
                    cut.direction = direction
                    cut.below = below
                    cut.above = above
            except BaseException as error:
                owner.trouble = error
