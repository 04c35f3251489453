"""`tree_of`: the tree of a spectrum."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.errors import SpectrumTooLarge
from obliqua.spectrum import _checks
from obliqua.spectrum._parts import BoxedFunction, part_of
from obliqua.spectrum.boxes import LeafSum
from obliqua.spectrum.domain import VALUES, Domain
from obliqua.spectrum.function import Spectrum
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree

__all__ = ["MAX_LEAVES", "Rebuilt", "rebuild", "tree_of"]

#: The most leaves of a tree that is built without a limit.
MAX_LEAVES = 2**17

# Squared differences of values are 0 below this share of the energy.
_NOTHING = 1e-22
# Energies that differ by less than this share of the whole are equal.
_SAME = 1e-12
# Gains that differ by less than this share of the larger are equal.
_TIE = 1e-9


@dataclass(frozen=True)
class Rebuilt:
    """A tree that was built from a function, and what it has kept of it.

    Parameters
    ----------
    tree : Tree
        The tree; the stats of its nodes are the means of the function.
    energy : float
        The share of the function's energy that the tree's function has; the rest of it is the
        mean square of their difference.
    """

    tree: Tree
    energy: float


@dataclass
class _BoxNode:
    part: BoxedFunction
    mass: float
    mean: FloatArray
    spare: float = 0.0  # the energy that a leaf here would lose, if it is looked at
    feature: int = -1
    groups: list[Int64Array] = field(default_factory=list)
    gain: float = 0.0
    children: list[_BoxNode] = field(default_factory=list)


def tree_of(
    function: Spectrum | LeafSum,
    *,
    max_leaf_nodes: int | None = None,
    energy: float = 1.0,
    merge: str = "value",
) -> Tree:
    """Build the tree of a function.

    The node that gains most is split next, by the feature whose split removes the most variance:
    the energy of its coefficients of order one. Where no feature alone removes any, as in an
    exclusive or, it is the one with the largest energy of all coefficients that it takes part in.
    A feature of symbols has a branch for each level; levels behind which the function is the same
    share one. A feature of numbers is cut at its best threshold. Without a limit the tree is the
    function itself, at every point of the domain, to rounding.

    Parameters
    ----------
    function : Spectrum or LeafSum
        The function.
    max_leaf_nodes : int, default=None
        The most leaves. A split with more branches than there is room for is left out.
    energy : float, default=1.0
        Stop when the tree has this share of the function's energy.
    merge : {"value", "class", "none"}, default="value"
        What becomes one leaf: leaves below a split that have equal values; those with the same
        largest output; or none. With "class" a node is not split at all where its coefficients
        are too small to change the largest output.

    Returns
    -------
    Tree
        A tree over the columns of the domain, with one of the stats for each output: the mean of
        the function at the node. Rows whose level is missing or not known take the branch with
        the most levels, the first at ties.

    Raises
    ------
    SpectrumTooLarge
        If there is no limit and the tree has more than 131,072 leaves.

    Examples
    --------
    >>> from obliqua.spectrum import Domain, Spectrum, tree_of
    >>> xor = Spectrum.from_dict(
    ...     Domain.of_levels([2, 2]), {(): 0.5, ((0, 1), (1, 1)): -0.5}
    ... )
    >>> tree_of(xor)
    Tree(7 nodes, 4 leaves, depth 2, 2 columns, 1 stats)
    """
    return rebuild(function, max_leaf_nodes=max_leaf_nodes, energy=energy, merge=merge).tree


def rebuild(
    function: Spectrum | LeafSum,
    *,
    max_leaf_nodes: int | None = None,
    energy: float = 1.0,
    merge: str = "value",
    stats: Callable[[FloatArray], FloatArray] | None = None,
) -> Rebuilt:
    """Do the same, and say what the tree has kept.

    Parameters
    ----------
    function : Spectrum or LeafSum
        The function.
    max_leaf_nodes, energy, merge : object
        As in `tree_of`.
    stats : callable, default=None
        Makes the stats of a node of the mean of the function there: as many as there are outputs,
        in which none falls where an output rises; or any number of them for a single output.

    Returns
    -------
    Rebuilt
        The tree and the share of the energy.
    """
    _check(max_leaf_nodes, energy, merge)
    part, domain, _ = part_of(function)
    root = _BoxNode(part, 1.0, part.mean)
    total = part.energy
    as_stats = stats if stats is not None else (lambda mean: mean)
    label = (lambda mean: int(np.argmax(as_stats(mean)))) if merge == "class" else None
    if total > part.noise:  # else there is nothing to split
        growing = _Growing(domain, total, energy < 1.0, label)
        growing.grow(root, max_leaf_nodes, (1.0 - energy) * total)
    if merge != "none":
        _merge(root, label, _NOTHING * total)
    kept = sum(node.mass * float((node.mean**2).sum()) for node in _leaves(root))
    return Rebuilt(
        _assembled(root, domain, as_stats), min(1.0, kept / total) if total > part.noise else 1.0
    )


def _check(max_leaf_nodes: int | None, energy: float, merge: str) -> None:
    _checks.check_count("max_leaf_nodes", max_leaf_nodes, 1, none=True)
    _checks.check_share("energy", energy)
    if merge not in ("value", "class", "none"):
        raise ValueError(f"merge must be 'value', 'class' or 'none'; got {merge!r}.")


class _Growing:
    """Splits nodes, the one that gains most first."""

    def __init__(
        self,
        domain: Domain,
        total: float,
        weigh: bool,
        label: Callable[[FloatArray], int] | None,
    ) -> None:
        self.domain = domain
        self.total, self.nothing = total, _NOTHING * total
        self.weigh = weigh  # whether the energy that leaves lose matters
        self.label = label  # if it is all that matters

    def grow(self, root: _BoxNode, most: int | None, allowed: float) -> None:
        queue: list[tuple[float, int, _BoxNode]] = []
        number = 0
        n_leaves, lost = 1, self._look(root)
        if root.feature >= 0:
            heapq.heappush(queue, (-root.gain, number, root))
        while queue and not (self.weigh and lost <= allowed):
            _, _, node = heapq.heappop(queue)
            if most is not None and n_leaves + len(node.groups) - 1 > most:
                continue
            lost -= node.spare
            for chosen in node.groups:
                part = node.part.taken(node.feature, chosen)
                share = len(chosen) / sum(map(len, node.groups))
                child = _BoxNode(part, node.mass * share, part.mean)
                node.children.append(child)
                lost += self._look(child)
                if child.feature >= 0:
                    number += 1
                    heapq.heappush(queue, (-child.gain, number, child))
            n_leaves += len(node.children) - 1
            if most is None and n_leaves > MAX_LEAVES:
                raise SpectrumTooLarge(
                    f"The tree of this function has more than {MAX_LEAVES} leaves. Give "
                    "max_leaf_nodes, or energy below 1."
                )

    def _look(self, node: _BoxNode) -> float:
        """Find the best split of a node; return the energy that is lost without one."""
        part = node.part
        features = tuple(f for f in part.features if len(part.levels(f)) > 1)
        if self.weigh and features:
            node.spare = node.mass * part.variance
        if self._settled(node):
            return node.spare
        found = [
            self._of_feature(f, effect)
            for f, effect in zip(features, part.effects(features), strict=True)
        ]
        best = max((gain for gain, _ in found), default=0.0)
        if best > self.nothing:
            tied = [i for i, (gain, _) in enumerate(found) if gain >= best * (1.0 - _TIE)]
            if len(tied) > 1:
                energies = [part.without(features[i]) for i in tied]
                least = min(energies)
                tied = [
                    i
                    for i, e in zip(tied, energies, strict=True)
                    if e <= least + _SAME * self.total
                ]
            gain, groups = found[tied[0]]
            self._set(node, features[tied[0]], groups, gain)
        elif features:
            self._look_deeper(node, features)
        return node.spare

    def _settled(self, node: _BoxNode) -> bool:
        """Say whether the label is the same everywhere in a node."""
        if self.label is None:
            return False
        mean, reach = node.mean, node.part.reach * (1.0 + _TIE)
        if len(mean) == 1:
            return self.label(mean - reach) == self.label(mean + reach)
        first = self.label(mean)
        worst = mean + reach
        worst[first] = mean[first] - reach[first]
        return self.label(worst) == first

    def _set(self, node: _BoxNode, feature: int, groups: list[Int64Array], gain: float) -> None:
        if not self.domain.features[feature].ordered and len(groups) > 2:
            groups = self._like_levels(node.part, feature, groups)
            if len(groups) == 1:  # all differences are rounding
                return
        node.feature, node.groups, node.gain = feature, groups, node.mass * gain

    def _of_feature(self, feature: int, effect: FloatArray) -> tuple[float, list[Int64Array]]:
        """Return the variance that a split of a feature removes, and the split."""
        n_levels = len(effect)
        apart = effect - effect.mean(axis=0)
        if not self.domain.features[feature].ordered:
            gain = float((apart**2).sum(axis=1).mean())
            return gain, [np.array([place]) for place in range(n_levels)]
        sums = np.cumsum(apart, axis=0)[:-1]
        n_left = np.arange(1, n_levels)
        gains = (sums**2).sum(axis=1) / (n_left * (n_levels - n_left))
        cut = int(np.argmax(gains >= gains.max() * (1.0 - _TIE))) + 1
        return float(gains[cut - 1]), _two_sides(n_levels, cut)

    def _look_deeper(self, node: _BoxNode, features: tuple[int, ...]) -> None:
        """Split where no feature alone says anything, if the function varies at all."""
        if node.part.variance <= node.part.blur * self.total:
            return
        whole = node.part.energy
        influence = np.array([whole - node.part.without(f) for f in features])
        feature = features[int(np.argmax(influence >= influence.max() * (1.0 - _TIE)))]
        n_levels = len(node.part.levels(feature))
        groups = [np.array([place]) for place in range(n_levels)]
        if self.domain.features[feature].ordered and n_levels > 2:
            parts = [node.part.taken(feature, group) for group in groups]
            cuts = [a for a in range(1, n_levels) if not self._alike(parts[a - 1], parts[a])]
            # The middle one of those where the function changes.
            groups = _two_sides(n_levels, cuts[len(cuts) // 2] if cuts else n_levels // 2)
        self._set(node, feature, groups, 0.0)

    def _like_levels(
        self, part: BoxedFunction, feature: int, groups: list[Int64Array]
    ) -> list[Int64Array]:
        """Put levels together behind which the function is the same."""
        known: list[tuple[BoxedFunction, list[int]]] = []
        for group in groups:
            taken = part.taken(feature, group)
            for other, places in known:
                if self._alike(other, taken):
                    places.extend(group.tolist())
                    break
            else:
                known.append((taken, group.tolist()))
        return [np.array(places) for _, places in known]

    def _alike(self, one: BoxedFunction, other: BoxedFunction) -> bool:
        return one.equals(other, self.nothing)


def _two_sides(n_levels: int, cut: int) -> list[Int64Array]:
    return [np.arange(cut), np.arange(cut, n_levels)]


def _leaves(root: _BoxNode) -> list[_BoxNode]:
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        stack.extend(node.children)
        if not node.children:
            found.append(node)
    return found


def _in_order(root: _BoxNode) -> list[_BoxNode]:
    """List all nodes, each before its children."""
    nodes = [root]
    for node in nodes:
        nodes.extend(node.children)
    return nodes


def _merge(root: _BoxNode, label: Callable[[FloatArray], int] | None, tolerance: float) -> None:
    for node in reversed(_in_order(root)):
        if not node.children or any(child.children for child in node.children):
            continue
        means = [child.mean for child in node.children]
        if label is None:
            same = all(((mean - means[0]) ** 2).sum() <= tolerance for mean in means)
        else:
            same = len({label(mean) for mean in means}) == 1
        if same:
            node.children = []


def _assembled(root: _BoxNode, domain: Domain, stats: Callable[[FloatArray], FloatArray]) -> Tree:
    """Make a tree of the nodes."""
    nodes = _in_order(root)
    number = {id(node): i for i, node in enumerate(nodes)}
    builder = TreeBuilder(domain.n_features, len(stats(root.mean)))
    for i, node in enumerate(nodes):
        if not node.children:
            builder.set_leaf(i, stats(node.mean))
            continue
        _add_split(builder, i, node, [number[id(child)] for child in node.children], domain)
        builder.annotate(i, stats=stats(node.mean), n_samples=0, gain=node.gain)
    return builder.build()


def _add_split(
    builder: TreeBuilder, i: int, node: _BoxNode, children: list[int], domain: Domain
) -> None:
    feature = domain.features[node.feature]
    levels = node.part.levels(node.feature)
    sizes = [len(group) for group in node.groups]
    largest = int(np.argmax(sizes))
    if feature.ordered:
        last = int(levels[node.groups[0][-1]])  # the highest level on the left
        threshold = float(feature.numbers[last])
        if feature.kind == VALUES:
            after = float(feature.numbers[last + 1])
            middle = threshold + (after - threshold) / 2
            threshold = middle if threshold <= middle < after else threshold
        fill = threshold if largest == 0 else float(np.nextafter(threshold, np.inf))
        builder.add_split(i, {node.feature: 1.0}, threshold, children, fill={node.feature: fill})
        return
    branches = np.full(feature.cardinality, largest)
    for branch, group in enumerate(node.groups):
        branches[levels[group]] = branch
    builder.add_levels(i, node.feature, branches, children, unseen=largest, missing=largest)
