"""Columns of levels, and numbers with stand-ins, where numbers are learnt.

At a node a level's number is the mean of what its rows have, so that the best division of the
levels lies between two neighbours (Fisher 1958). Several outputs are seen along the direction in
which the means of the levels differ most. Missing is one more level.
"""

from libc.math cimport INFINITY, isnan
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from obliqua._core.base.linalg cimport eigen_symmetric
from obliqua._core.base.rounding cimport round_significant
from obliqua._core.base.target cimport Target, TargetRows, add_row, weight_at
from obliqua._core.base.types cimport (
    STAND_IN, Cut, Scorer, View, i32, i64, midpoint, u8, view_at,
)
from obliqua._core.grow.coding cimport (
    LevelCoding, coding_free, coding_init, column_spread, fill_missing,
)
from obliqua._core.grow.finder cimport FitData, Finder
from obliqua._core.search.direction cimport (
    Workspace, search_values, workspace_free, workspace_init,
)
from obliqua._core.search.gathered cimport Gathered

cdef i64 NOWHERE = (<i64> 1) << 62       # "no direction yet" that every direction precedes


cdef void room_free(MeanRoom* room) noexcept nogil:
    free(room.sums)
    free(room.off)
    free(room.matrix)
    free(room.values)
    free(room.scratch)


cdef bint room_init(MeanRoom* room, i64 most_levels, const Target* target) noexcept nogil:
    """Makes room for columns of so many levels; False if there is no memory."""
    cdef i64 m = target.n_numbers
    room.sums = <i64*> malloc((most_levels + 1) * target.n_sums * sizeof(i64))
    room.off = <double*> malloc((most_levels + 1) * m * sizeof(double))
    room.matrix = <double*> malloc(m * m * sizeof(double))
    room.values = <double*> malloc(m * sizeof(double))
    room.scratch = <double*> malloc(4 * m * sizeof(double))
    if (room.sums == NULL or room.off == NULL or room.matrix == NULL or room.values == NULL
            or room.scratch == NULL):
        room_free(room)
        return False
    return True


cdef void means_on_a_line(MeanRoom* room, const Target* target, i64 n_levels,
                          double* number) noexcept nogil:
    """A number for each level from its sums, the larger the larger its mean; 0 without rows."""
    cdef i64 level, weight = 0, total
    cdef int a, b, m = target.n_numbers, n_sums = target.n_sums
    cdef const i64* sums
    cdef double mean, x
    for level in range(n_levels):
        weight += room.sums[level * n_sums]
    for a in range(m):
        total = 0
        for level in range(n_levels):
            total += room.sums[level * n_sums + 1 + a]
        mean = (<double> total) / (<double> weight)
        for level in range(n_levels):
            sums = room.sums + level * n_sums
            room.off[level * m + a] = 0.0
            if sums[0]:
                room.off[level * m + a] = (<double> sums[1 + a]) / (<double> sums[0]) - mean
    if m > 1:
        memset(room.matrix, 0, m * m * sizeof(double))
        for a in range(m):
            for level in range(n_levels):
                x = room.off[level * m + a] * (<double> room.sums[level * n_sums])
                for b in range(m):
                    room.matrix[a * m + b] += x * room.off[level * m + b]
        # The first row is the axis; without one, that of the first output.
        if not eigen_symmetric(room.matrix, m, room.values, room.scratch):
            memset(room.matrix, 0, m * sizeof(double))
            room.matrix[0] = 1.0
    for level in range(n_levels):
        x = room.off[level * m]
        if m > 1:
            x = 0.0
            for a in range(m):
                x += room.off[level * m + a] * room.matrix[a]
        number[level] = round_significant(x)


cdef void number_column(MeanRoom* room, const Target* target, LevelCoding* coding, i64 k,
                        const i32* rows, Gathered* gathered) noexcept nogil:
    """Turns a coded column of gathered rows into numbers; `rows`: which they are."""
    cdef i64 i, level, n = gathered.n, n_levels = coding.n_levels[k]
    cdef int n_sums = target.n_sums
    cdef double* values = gathered.columns + coding.column[k] * n
    cdef double* number = coding.number + coding.begin[k]
    if n_levels == 0:
        fill_missing(coding, k, gathered)
        return
    memset(room.sums, 0, (n_levels + 1) * n_sums * sizeof(i64))
    for i in range(n):
        level = n_levels if isnan(values[i]) else <i64> values[i]
        add_row(target, rows[i], room.sums + level * n_sums)
    means_on_a_line(room, target, n_levels + 1, number)
    for i in range(n):
        values[i] = number[n_levels if isnan(values[i]) else <i64> values[i]]


def level_means(const i64[::1] level, i64 n_levels, TargetRows rows):
    """The numbers of levels, of which each row has one: an array."""
    cdef MeanRoom room
    cdef i64 i
    cdef int n_sums = rows.target.n_sums
    numbers = np.empty(n_levels)
    cdef double[::1] numbers_ = numbers
    if not room_init(&room, n_levels, &rows.target):
        raise MemoryError("no room to number levels")
    with nogil:
        memset(room.sums, 0, n_levels * n_sums * sizeof(i64))
        for i in range(level.shape[0]):
            add_row(&rows.target, i, room.sums + level[i] * n_sums)
        means_on_a_line(&room, &rows.target, n_levels, &numbers_[0])
        room_free(&room)
    return numbers


def means_of_levels(const i64[:, ::1] sums, TargetRows target):
    """The numbers of levels from their sums: an array. Of `target` only its kind counts."""
    cdef MeanRoom room
    numbers = np.empty(sums.shape[0])
    cdef double[::1] numbers_ = numbers
    if not room_init(&room, sums.shape[0], &target.target):
        raise MemoryError("no room to number levels")
    with nogil:
        memcpy(room.sums, &sums[0, 0], sums.shape[0] * sums.shape[1] * sizeof(i64))
        means_on_a_line(&room, &target.target, sums.shape[0], &numbers_[0])
        room_free(&room)
    return numbers


cdef class MeanFinder(Finder):
    """Looks for cuts of coded columns alone; one object per thread."""

    cdef object held
    cdef const Target* target
    cdef LevelCoding coding
    cdef i32* column         # per coded column: which it is
    cdef MeanRoom room
    cdef Workspace work
    cdef Gathered one        # the column at hand, as if it were all
    cdef i64* weights

    def __cinit__(self, i64 n_features, TargetRows target, const i32[::1] columns,
                  const i32[::1] n_levels, const double[::1] usual, bint by_node, i64 capacity):
        cdef i64 k, n_coded = columns.shape[0]
        first = np.zeros(n_coded, dtype=np.int32)    # each is gathered into the same place
        cdef i32[::1] first_ = first
        self.held = target
        self.target = &target.target
        self.column = <i32*> malloc(n_coded * sizeof(i32))
        self.weights = <i64*> malloc(capacity * sizeof(i64))
        if (self.column == NULL or self.weights == NULL
                or not coding_init(&self.coding, n_coded, &first_[0], &n_levels[0], &usual[0],
                                   by_node, 1)
                or not room_init(&self.room, max(n_levels), self.target)
                or not workspace_init(&self.work, capacity, self.target.n_sums, False,
                                      self.target)):
            raise MemoryError("no room to number levels")
        for k in range(n_coded):
            self.column[k] = columns[k]
        memset(&self.one, 0, sizeof(Gathered))
        self.one.columns = self.work.values
        self.one.weighted = self.target.weights != NULL
        self.one.weights = self.weights

    def __dealloc__(self):
        free(self.column)
        free(self.weights)
        coding_free(&self.coding)
        room_free(&self.room)
        workspace_free(&self.work)

    cdef void read(self, const View* view, const i32* rows, i64 n, i64 k) noexcept nogil:
        """Puts the numbers of a coded column into work.values."""
        cdef i64 i
        for i in range(n):
            self.work.values[i] = view_at(view, rows[i], self.column[k])
        number_column(&self.room, self.target, &self.coding, k, rows, &self.one)

    cdef bint look(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                   bint exhaustive, Cut* best, u8* side) noexcept nogil:
        """Offers all coded columns; the winner is described and marked."""
        cdef i64 i, k, winner = -1
        cdef Cut before
        self.one.n = n
        for i in range(n):
            self.work.classes[i] = rows[i]
            self.weights[i] = weight_at(self.target, rows[i])
        for k in range(self.coding.n_coded):
            if self.looked_at != NULL and not self.looked_at[self.column[k]]:
                continue
            before = best[0]
            self.read(&data.view, rows, n, k)
            search_values(&self.work, n, 0.0, scorer, exhaustive, self.column[k], best)
            if best.direction != before.direction or best.score != before.score:
                winner = k
        if winner < 0:
            return False
        self.read(&data.view, rows, n, winner)
        self.describe(winner, n)
        self.threshold = midpoint(best.below, best.above)
        for i in range(n):
            side[rows[i]] = self.work.values[i] > self.threshold
        return True

    cdef void describe(self, i64 k, i64 n) noexcept nogil:
        """What the winner's coefficient stands for."""
        cdef i64 i
        cdef double low = INFINITY, high = -INFINITY
        for i in range(n):
            low = min(low, self.work.values[i])
            high = max(high, self.work.values[i])
        self.one.low = &low
        self.one.high = &high
        self.n_coef = 1
        self.idx[0] = self.column[k]
        self.coef[0] = 1.0
        self.fill[0] = self.coding.number[self.coding.begin[k + 1] - 1]
        self.width[0] = column_spread(&self.one, 0)
        self.table_size[0] = self.coding.n_levels[k]
        self.table[0] = self.coding.number + self.coding.begin[k] if self.table_size[0] else NULL
        self.missing = STAND_IN

    cdef bint find(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                   Cut* best, u8* side) noexcept nogil:
        cdef bint found = self.look(data, rows, n, scorer, False, best, side)
        self.axis_score = best.score
        return found

    cdef bint find_any(self, const FitData* data, const i32* rows, i64 n, const Scorer* scorer,
                       Cut* best, u8* side) noexcept nogil:
        cdef Cut cut = best[0]
        if cut.direction < 0:
            cut.direction = NOWHERE
            cut.rows_left = 0
        if not self.look(data, rows, n, scorer, True, &cut, side):
            return False
        best[0] = cut
        return True
