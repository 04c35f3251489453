"""A hyperplane that moves: its values at the rows of a node, and where it may go."""

from libc.math cimport fabs, frexp, ldexp

from obliqua._core.base.types cimport Cut, i64, midpoint, u8, u64
from obliqua._core.grow.planning cimport PlanningFinder
from obliqua._core.search.swing cimport Swing


cdef struct Move:
    # The best change of a hyperplane along one line: how far, and how good it is there.
    double amount
    double score
    bint found


cdef class Position(PlanningFinder):
    # Of a node, in the object that has read it:
    cdef double* z           # per feature: scaled values, counted from a point where none is < 0
    cdef double* shift       # per feature: that point, before scaling
    cdef double* reach       # per feature: the mean of z
    cdef double top          # no split of these classes is better; infinite if not known
    cdef i64 n_starts        # tasks: each is a hyperplane that starts somewhere and moves
    cdef i64* tried          # per task: hyperplanes that were tried
    cdef u8* topped          # per task: whether its cut has reached `top`
    cdef i64 done            # a task that has reached `top`; later ones need not be tried
    # Of a hyperplane, in the object that moves it:
    cdef double* a           # coefficients of z, then the constant
    cdef double* v           # its value at each row: above 0 on the right side
    cdef double* jump        # a direction of the space of coefficients
    cdef double* w           # its value at each row
    cdef u8* leaves          # rows that leave the right side as one goes along it
    cdef Swing swings
    cdef i64* right          # class sums on the right side
    cdef double score        # goodness; -1 where a side is too small
    cdef double mean_value   # the mean of |v|
    cdef u64 stream          # random numbers
    cdef i64 n_tried
    # Of all nodes:
    cdef object journal      # who wants to know what was tried
    cdef bint from_zero      # z counts from the smallest value, also where none is negative
    cdef object trail        # a list of the positions on the way, if someone wants to see them
    cdef bint has_deadline
    cdef double deadline     # on the clock `monotonic`
    cdef i64 work            # rows that were looked at since the clock was
    cdef bint late
    cdef i64 total_tried     # at the nodes before this one

    cdef int reserve_starts(self, i64 n_starts, i64 capacity, bint helper, journal) except -1
    cdef void place(self, Position owner) noexcept nogil
    cdef void assess(self, Position owner) noexcept nogil
    cdef i64 start_column(self, const Cut* best) noexcept nogil
    cdef bint start_at_axis(self, Position owner, i64 column) noexcept nogil
    cdef void draw_coefficients(self, Position owner, double* a) noexcept nogil
    cdef void start_anywhere(self, Position owner) noexcept nogil
    cdef Move turn(self, Position owner, i64 k, double bar) noexcept nogil
    cdef void draw_jump(self, Position owner) noexcept nogil
    cdef double reach_of_jump(self, Position owner) noexcept nogil
    cdef Move swing(self, Position owner, double bar) noexcept nogil
    cdef Move best_along(self, Position owner, bint swings, double scale,
                         double bar) noexcept nogil
    cdef void apply_turn(self, Position owner, i64 k, const Move* move) noexcept nogil
    cdef void apply_swing(self, Position owner, const Move* move) noexcept nogil
    cdef void note(self, Position owner) noexcept nogil
    cdef bint stopped(self, Position owner, i64 work) noexcept nogil
    cdef bint is_late(self, i64 work) noexcept nogil
    cdef void find_top(self) noexcept nogil
    cdef double mean_size(self, Position owner, const double* values) noexcept nogil
    cdef void ask_score(self, Position owner) noexcept nogil
    cdef void look_at(self, Position owner, i64 task, Cut* best) noexcept nogil
    cdef void run(self, Position owner, i64 task, const Cut* best) noexcept nogil
    cdef void improve(self, Position owner, i64 task, const Cut* best) noexcept nogil


cdef class SelectingPosition(Position):
    cdef double beta         # how little a feature may matter; negative: all stay
    cdef u8* active          # per feature: whether its coefficient may move
    cdef double* trial       # values at the rows, of a hyperplane that is tried

    cdef int reserve_selection(self, i64 capacity) except -1
    cdef void activate(self, Position owner) noexcept nogil
    cdef bint move_constant(self, Position owner) noexcept nogil
    cdef bint leave_out(self, Position owner) noexcept nogil
    cdef double score_without(self, Position owner, i64 k) noexcept nogil


# Where rows cross a hyperplane that moves, and places between such crossings.


cdef inline double power_of_two(double x) noexcept nogil:
    """The power of two next to a positive number, 1 for any other."""
    cdef int exponent = 0
    if not x > 0.0 or x - x != 0.0:
        return 1.0
    frexp(x, &exponent)
    return ldexp(1.0, exponent)


cdef inline double amount_between(double below, double above, double scale) noexcept nogil:
    """How far to go so as to end between two neighbouring crossings."""
    cdef double low = below / (1.0 - fabs(below))
    cdef double high = above / (1.0 - fabs(above))
    cdef double middle
    if low - low == 0.0 and high - high == 0.0:
        return scale * midpoint(low, high)
    middle = (below + above) / 2         # one of them is infinitely far
    return scale * (middle / (1.0 - fabs(middle)))
