"""Random trees over small discrete domains, with features of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from obliqua.data.encoding import Column, Encoding
from obliqua.spectrum import Domain, Feature, Measure, TreeSum
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree
from problems import examples

#: Enumerating domains takes time.
few = examples(60)


def random_domain(rng: Any, n_features: int | None = None) -> Domain:
    """A domain of a few features with two to five levels: symbols, values, intervals."""
    features = []
    for place in range(n_features or int(rng.integers(1, 5))):
        cardinality = int(rng.integers(2, 6))
        kind = ("levels", "values", "intervals")[int(rng.integers(3))]
        if kind == "levels":
            entries: Any = "abcde"[:cardinality]
        else:
            n = cardinality - (kind == "intervals")
            entries = np.cumsum(rng.integers(1, 4, n)) - 3.5
        features.append(Feature(f"f{place}", kind, tuple(entries)))
    return Domain(tuple(features))


def random_tree(rng: Any, domain: Domain, n_stats: int = 2, depth: int = 4) -> Tree:
    """A tree whose splits are of every kind that has one feature; a path may repeat a feature."""
    builder = TreeBuilder(domain.n_features, n_stats)

    def split(name: str) -> list[str]:
        column = int(rng.integers(domain.n_features))
        feature = domain.features[column]
        if feature.kind != "levels":
            cut = float(rng.choice(feature.numbers))
            factor = float(rng.choice([1.0, 2.0, -1.0]))
            # A negative factor puts the cut itself on the other side.
            at = np.nextafter(cut, np.inf) if factor < 0 and feature.kind == "intervals" else cut
            children = [f"{name}l", f"{name}r"]
            builder.add_split(name, {column: factor}, factor * float(at), children)
            return children
        n = int(rng.integers(2, feature.cardinality + 1))
        children = [f"{name}{branch}" for branch in range(n)]
        if rng.random() < 0.3:  # numbers for levels, as CART gives them
            table = rng.normal(size=feature.cardinality)
            children = children[:2]
            builder.add_split(name, {column: 1.0}, 0.0, children, tables={column: table})
        else:
            n_known = int(rng.integers(1, feature.cardinality + 1))  # others are unseen there
            branches = rng.integers(0, n, n_known)
            builder.add_levels(name, column, branches, children, unseen=int(rng.integers(n)))
        return children

    open_nodes = [("n", 0)]
    while open_nodes:
        name, level = open_nodes.pop()
        if level == depth or rng.random() < 0.2:
            builder.set_leaf(name, rng.integers(0, 5, n_stats))
        else:
            open_nodes += [(child, level + 1) for child in split(name)]
    return builder.build()


def random_case(seed: int, n_outputs: int = 2) -> tuple[Tree, Domain, np.ndarray]:
    """A tree, its domain and values for its nodes."""
    rng = np.random.default_rng(seed)
    domain = random_domain(rng)
    tree = random_tree(rng, domain)
    return tree, domain, rng.normal(size=(tree.n_nodes, n_outputs))


def with_stand_ins(rng: Any, tree: Tree) -> Tree:
    """The tree with something for missing values at every split."""
    fill = rng.normal(size=len(tree.fill)) * 3
    sets = tree.kind[~tree.is_leaf] == 2
    branches = rng.integers(0, 2, len(fill))
    return replace(tree, fill=np.where(sets, branches, fill))


def random_sum(seed: int, n_trees: int = 4, n_outputs: int = 2) -> tuple[TreeSum, Measure]:
    """Trees with splits of every kind of one column, numbers in their leaves, and a measure.

    Levels may weigh nothing, be missing or be unseen.
    """
    rng = np.random.default_rng(seed)
    domain = random_domain(rng)
    trees = tuple(with_stand_ins(rng, random_tree(rng, domain)) for _ in range(n_trees))
    values = tuple(rng.normal(size=(tree.n_nodes, n_outputs)) for tree in trees)
    columns = tuple(
        Column(f.name, "qualitative", f.entries) if f.kind == "levels" else Column(f.name)
        for f in domain.features
    )
    weights = [rng.integers(0, 3, f.cardinality) * 1.0 for f in domain.features]
    for weight in weights:
        weight[rng.integers(len(weight))] += rng.random()
    missing = rng.integers(0, 3, domain.n_features)
    unseen = rng.integers(0, 3, domain.n_features)
    unseen *= np.array([feature.kind == "levels" for feature in domain.features])
    measure = Measure(domain, weights, missing, unseen)
    outputs = tuple(f"y{k}" for k in range(n_outputs))
    found = TreeSum(
        trees, values, rng.normal(size=n_trees), np.zeros(2), Encoding(columns), outputs, np.array
    )
    return found, measure
