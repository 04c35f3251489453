"""Partitions as packed integers: a few bits per feature, one row of 64-bit words each."""

from __future__ import annotations

import numpy as np

from obliqua._typing import Int64Array
from obliqua.spectrum.domain import Domain


def group(keys: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the different rows in ascending order, and the place of each row among them."""
    if keys.shape[1] == 1:
        distinct, place = np.unique(keys[:, 0], return_inverse=True)
        return distinct[:, None], place.ravel()
    if len(keys) == 0:
        return keys, np.zeros(0, dtype=np.int64)
    order = np.lexsort(keys.T[::-1])
    ordered = keys[order]
    first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    place = np.empty(len(keys), dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place


def shared(one: Int64Array, other: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return where rows stand that occur in both; each has its rows once, in ascending order."""
    if one.shape[1] == 1:
        place = np.minimum(np.searchsorted(one[:, 0], other[:, 0]), max(len(one) - 1, 0))
        same = one[place, 0] == other[:, 0] if len(one) else np.zeros(len(other), dtype=bool)
        return place[same], np.flatnonzero(same)
    _, place = group(np.concatenate([one, other]))
    where = np.full(len(place), -1)
    where[place[: len(one)]] = np.arange(len(one))
    found = where[place[len(one) :]]
    return found[found >= 0], np.flatnonzero(found >= 0)


def digit(domain: Domain, keys: Int64Array, feature: int) -> Int64Array:
    """Return the entry of a feature in each partition."""
    word, shift, mask, _ = domain.layout
    return (keys[:, word[feature]] >> shift[feature]) & mask[feature]


def cleared(domain: Domain, keys: Int64Array, feature: int) -> Int64Array:
    """Return the partitions with 0 as the entry of a feature."""
    word, shift, mask, _ = domain.layout
    rest = keys.copy()
    rest[:, word[feature]] &= ~(mask[feature] << shift[feature])
    return rest


def spread_out(domain: Domain, rest: Int64Array, feature: int) -> Int64Array:
    """Return each partition with every entry of a feature in turn."""
    word, shift, _, _ = domain.layout
    cardinality = domain.cardinalities[feature]
    keys = np.repeat(rest, cardinality, axis=0)
    keys[:, word[feature]] |= np.tile(np.arange(cardinality), len(rest)) << shift[feature]
    return keys


def entries(domain: Domain, keys: Int64Array) -> Int64Array:
    """Return the partitions as vectors, of shape (n_partitions, n_features)."""
    word, shift, mask, _ = domain.layout
    return (keys[:, word] >> shift) & mask


def packed(domain: Domain, vectors: Int64Array) -> Int64Array:
    """Pack partitions that are given as vectors."""
    word, shift, _, n_words = domain.layout
    keys = np.zeros((len(vectors), n_words), dtype=np.int64)
    for feature in range(domain.n_features):
        keys[:, word[feature]] |= vectors[:, feature] << shift[feature]
    return keys


def orders(domain: Domain, keys: Int64Array) -> Int64Array:
    """Return how many entries of each partition are not 0."""
    count = np.zeros(len(keys), dtype=np.int64)
    for feature, cardinality in enumerate(domain.cardinalities):
        if cardinality > 1:
            count += digit(domain, keys, feature) != 0
    return count


def partners(domain: Domain, keys: Int64Array) -> Int64Array:
    """Return the partitions whose coefficients are the conjugates: every entry negated."""
    word, shift, mask, _ = domain.layout
    turned = keys.copy()
    for feature, cardinality in enumerate(domain.cardinalities):
        if cardinality > 2:
            entry = digit(domain, keys, feature)
            turned[:, word[feature]] &= ~(mask[feature] << shift[feature])
            turned[:, word[feature]] |= ((cardinality - entry) % cardinality) << shift[feature]
    return turned
