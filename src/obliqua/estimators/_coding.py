"""What the function of a tree is: votes, shares, or numbers for two labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from obliqua._typing import FloatArray
from obliqua.estimators._ensembles import SHARES, SUMS, VOTES
from obliqua.tree.tree import Tree

#: Numbers that stand for the two classes, by name.
LABELS = {"0/1": (0.0, 1.0), "-1/+1": (-1.0, 1.0), "1/2": (1.0, 2.0)}
CODINGS = (VOTES, SHARES, *LABELS)

# What differs by less is equal: sums that are the same in exact arithmetic are, too.
DECIMALS = 13


@dataclass(frozen=True)
class Coding:
    """How the answers of trees become functions, and sums of functions answers.

    Parameters
    ----------
    name : str
        One of `CODINGS`, or `SUMS`: trees that say numbers, of which the softmax is taken.
    """

    name: str

    def check(self, classes: Any) -> None:
        """Refuse numbers for two labels where there are not two."""
        if self.name in LABELS and len(classes) != 2:
            raise ValueError(
                f"coding={self.name!r} has numbers for two classes; there are {len(classes)}. "
                "Take coding='votes' or 'shares', which have a number for each class."
            )

    def values(self, tree: Tree) -> FloatArray:
        """Return what the function of a tree is at each node."""
        if self.name == SUMS:
            return tree.mean
        if self.name in LABELS:
            return np.array(LABELS[self.name])[tree.leaf_label][:, None]
        return np.eye(tree.n_stats)[tree.leaf_label] if self.name == VOTES else tree.proportion

    def scores(self, values: FloatArray) -> FloatArray:
        """Return a number per class; the largest wins, the first at ties."""
        if self.name in LABELS:
            low, high = LABELS[self.name]
            share = (values[..., :1] - low) / (high - low)
            values = np.concatenate([1.0 - share, share], axis=-1)
        return np.round(values, DECIMALS)

    def shares(self, scores: FloatArray) -> FloatArray:
        """Return the shares of the classes that scores stand for."""
        return np.asarray(softmax(scores, axis=-1)) if self.name == SUMS else shares_of(scores)

    def values_in(self, scores: FloatArray) -> FloatArray:
        """Return what `scores` was given."""
        if self.name in LABELS:
            low, high = LABELS[self.name]
            return np.asarray(low + (high - low) * scores[..., 1:])
        return scores


def shares_of(scores: FloatArray) -> FloatArray:
    """Make shares of numbers per class, of which some may be negative."""
    shares = np.maximum(scores, 0.0)
    total = shares.sum(axis=1)
    lost = ~(total > 0)
    if lost.any():
        shares[lost] = np.eye(shares.shape[1])[scores[lost].argmax(axis=1)]
        total = shares.sum(axis=1)
    return np.asarray(shares / total[:, None])
