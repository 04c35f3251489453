"""What a tree would lose if some of its splits were left out: exact changes of training errors.

`bits` say on which side of each node each row is (see `soft.Soft.sides`), whether it reaches the
node or not. So a row can be sent down any part of the tree without another look at its columns.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np


cdef inline int32_t _leaf_below(const uint8_t* bits, const int32_t* child,
                                int32_t at) noexcept nogil:
    """The leaf, as -1 - its number, that a row reaches from a node or leaf."""
    while at >= 0:
        at = child[2 * at + ((bits[at >> 3] >> (at & 7)) & 1)]
    return at


def leaf_counts(const uint8_t[:, ::1] bits, const int32_t[:, ::1] child, int32_t root,
                const int32_t[::1] y, const int64_t[::1] weight, int64_t n_leaves,
                int64_t n_classes, int64_t first, int64_t last):
    """The weight of each class of some rows in each leaf of the tree below a root."""
    cdef int64_t row
    cdef int32_t at
    counts = np.zeros((n_leaves, n_classes), dtype=np.int64)
    cdef int64_t[:, ::1] counts_ = counts
    with nogil:
        for row in range(first, last):
            at = _leaf_below(&bits[row, 0], &child[0, 0], root)
            counts_[-1 - at, y[row]] += weight[row]
    return counts


def raising_changes(const uint8_t[:, ::1] bits, const int32_t[:, ::1] child, int32_t root,
                    const int32_t[::1] y, const int64_t[::1] weight, const int32_t[::1] label,
                    int64_t first, int64_t last):
    """By node and side: what some rows lose if the split goes and only that side stays.

    The change of the weight of the rows that are misclassified, with the labels of the leaves as
    they are: rows of the other side are sent down this one.
    """
    cdef int64_t row
    cdef int32_t at, side, leaf, other
    cdef int64_t wrong
    changes = np.zeros((child.shape[0], 2), dtype=np.int64)
    cdef int64_t[:, ::1] changes_ = changes
    cdef const uint8_t* here
    with nogil:
        for row in range(first, last):
            here = &bits[row, 0]
            leaf = _leaf_below(here, &child[0, 0], root)
            wrong = label[-1 - leaf] != y[row]
            at = root
            while at >= 0:
                side = (here[at >> 3] >> (at & 7)) & 1
                other = _leaf_below(here, &child[0, 0], child[at, 1 - side])
                changes_[at, 1 - side] += weight[row] * (<int64_t> (label[-1 - other] != y[row])
                                                         - wrong)
                at = child[at, side]
    return changes
