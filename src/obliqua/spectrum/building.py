"""`tree_of`: the tree of a spectrum."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from obliqua._core.base.linalg import product
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.errors import SpectrumTooLarge
from obliqua.spectrum import _checks, _keys
from obliqua.spectrum.boxes import LeafSum, Narrow, mass_of, narrow_of, products_of
from obliqua.spectrum.domain import VALUES, Domain
from obliqua.spectrum.function import Spectrum, squared, to_levels
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
        The tree; the means of its nodes are those of the function.
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
        A tree of numbers over the columns of the domain. `Tree.mean` has the mean of the function
        at each node; no rows were seen, so weights are 0. Rows whose level is missing or not
        known take the branch with the most levels, the first at ties.

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
    Tree(7 nodes, 4 leaves, depth 2, 2 columns, 1 output)
    """
    return rebuild(function, max_leaf_nodes=max_leaf_nodes, energy=energy, merge=merge).tree


def rebuild(
    function: Spectrum | LeafSum,
    *,
    max_leaf_nodes: int | None = None,
    energy: float = 1.0,
    merge: str = "value",
    scores: Callable[[FloatArray], FloatArray] | None = None,
    classes: bool = False,
) -> Rebuilt:
    """Do the same, and say what the tree has kept.

    Parameters
    ----------
    function : Spectrum or LeafSum
        The function.
    max_leaf_nodes, energy, merge : object
        As in `tree_of`.
    scores : callable, default=None
        Makes what the tree says of the means of a node. For ``merge="class"`` as many numbers as
        there are outputs, in which none falls where an output rises; or any number of them for a
        single output.
    classes : bool, default=False
        Whether what the tree says are weights of classes, none of them below 0. Then it is a
        tree of classes, no tree of numbers.

    Returns
    -------
    Rebuilt
        The tree and the share of the energy.
    """
    _check(max_leaf_nodes, energy, merge)
    part, domain, _ = part_of(function)
    root = _BoxNode(part, 1.0, part.mean)
    total = part.energy
    said = scores if scores is not None else (lambda mean: mean)
    label = (lambda mean: int(np.argmax(said(mean)))) if merge == "class" else None
    if total > part.noise:  # else there is nothing to split
        growing = _Growing(domain, total, energy < 1.0, label)
        growing.grow(root, max_leaf_nodes, (1.0 - energy) * total)
    if merge != "none":
        _merge(root, label, _NOTHING * total)
    kept = sum(node.mass * float((node.mean**2).sum()) for node in _leaves(root))
    share = min(1.0, kept / total) if total > part.noise else 1.0
    return Rebuilt(_assembled(root, domain, said, classes), share)


def _check(max_leaf_nodes: int | None, energy: float, merge: str) -> None:
    _checks.check_count("max_leaf_nodes", max_leaf_nodes, 1, none=True)
    _checks.check_share("energy", energy)
    if merge not in ("value", "class", "none"):
        raise ValueError(f"merge must be 'value', 'class' or 'none'; got {merge!r}.")


class _Growing:
    """Splits nodes, the one that gains most first."""

    def __init__(
        self, domain: Domain, total: float, weigh: bool, label: Callable[[FloatArray], int] | None
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


def _assembled(
    root: _BoxNode, domain: Domain, said: Callable[[FloatArray], FloatArray], classes: bool
) -> Tree:
    """Make a tree of the nodes."""
    nodes = _in_order(root)
    number = {id(node): i for i, node in enumerate(nodes)}
    n_outputs = len(said(root.mean))
    builder = (
        TreeBuilder(domain.n_features, n_outputs)
        if classes
        else TreeBuilder(domain.n_features, n_outputs=n_outputs)
    )
    for i, node in enumerate(nodes):
        held = said(node.mean)
        stats = held if classes else np.concatenate([[0.0], held, [0.0]])
        if not node.children:
            builder.set_leaf(i, stats)
            continue
        _add_split(builder, i, node, [number[id(child)] for child in node.children], domain)
        builder.annotate(i, stats=stats, n_samples=0, gain=node.gain)
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


# --- a function within a box, by its spectrum or by its leaves ----------------------------------


class BoxedFunction(Protocol):
    """What is asked of a function within a box."""

    @property
    def mean(self) -> FloatArray:
        """The mean, one number per output."""

    #: Up to which share of the whole function's energy a variance may be rounding.
    blur: float

    @property
    def energy(self) -> float:
        """The mean square."""

    @property
    def noise(self) -> float:
        """A mean square that rounding may have made of nothing."""

    @property
    def reach(self) -> FloatArray:
        """How far each output may be from its mean, at most."""

    @property
    def variance(self) -> float:
        """The mean square of the difference to the mean."""

    @property
    def features(self) -> tuple[int, ...]:
        """The features that it may depend on."""

    def levels(self, feature: int) -> Int64Array:
        """The levels of a feature in the box."""

    def effects(self, features: tuple[int, ...]) -> list[FloatArray]:
        """The mean at each level of each feature."""

    def without(self, feature: int) -> float:
        """The mean square of what is left when a feature is averaged out."""

    def taken(self, feature: int, chosen: Int64Array) -> Self:
        """The function where a feature has some of its levels in the box (by place)."""

    def equals(self, other: Self, tolerance: float) -> bool:
        """Whether another part of the same function is the same function."""


class SpectrumPart:
    """A function within a box by its spectrum over the box, which is a domain of its own."""

    blur = 1e-22  # a sum of squares

    def __init__(self, spectrum: Spectrum, box: dict[int, Int64Array]) -> None:
        self._spectrum = spectrum
        self._box = box  # the levels of features of which some are left out

    @property
    def mean(self) -> FloatArray:
        return self._spectrum.mean

    @property
    def energy(self) -> float:
        return self._spectrum.energy

    @property
    def noise(self) -> float:
        return 0.0  # coefficients that are rounding have been left out

    @property
    def reach(self) -> FloatArray:
        varying = self._spectrum.orders > 0
        return np.asarray(np.abs(self._spectrum.coefficients[varying]).sum(axis=0))

    @property
    def variance(self) -> float:
        there = self._spectrum.keys.any(axis=1)
        return float(squared(self._spectrum.coefficients[there]).sum())

    @property
    def features(self) -> tuple[int, ...]:
        return self._spectrum.features

    def levels(self, feature: int) -> Int64Array:
        known = self._box.get(feature)
        n_levels = self._spectrum.domain.cardinalities[feature]
        return np.arange(n_levels) if known is None else known

    def effects(self, features: tuple[int, ...]) -> list[FloatArray]:
        spectrum = self._spectrum
        domain, mean = spectrum.domain, spectrum.mean
        alone = np.flatnonzero(spectrum.orders == 1)
        keys, values = spectrum.keys[alone], spectrum.coefficients[alone]
        found = []
        for feature in features:
            entry = _keys.digit(domain, keys, feature)
            there = entry > 0
            table = np.zeros((domain.cardinalities[feature], len(mean)), dtype=values.dtype)
            table[entry[there]] = values[there]
            found.append(np.asarray(mean + to_levels(table).real))
        return found

    def without(self, feature: int) -> float:
        spectrum = self._spectrum
        left = _keys.digit(spectrum.domain, spectrum.keys, feature) == 0
        return float(squared(spectrum.coefficients[left]).sum())

    def taken(self, feature: int, chosen: Int64Array) -> SpectrumPart:
        box = {**self._box, feature: self.levels(feature)[chosen]}
        if len(chosen) == 1:
            return SpectrumPart(self._spectrum.restrict(feature, int(chosen[0])), box)
        return SpectrumPart(self._spectrum.narrowed(feature, chosen), box)

    def equals(self, other: SpectrumPart, tolerance: float) -> bool:
        return (self._spectrum - other._spectrum).energy <= tolerance


class LeavesPart:
    """A function within a box by the leaves that reach into it.

    A leaf that fills the box adds the same everywhere, to `_constant`. Of each feature those
    leaves are known that are narrow in it.
    """

    blur = 1e-12  # a difference of squares

    def __init__(
        self,
        constant: FloatArray,
        values: FloatArray,
        narrow: dict[int, Narrow],
        box: dict[int, Int64Array],
        there: BoolArray,
    ) -> None:
        varying = np.zeros(len(values), dtype=bool)
        for boxes in narrow.values():
            varying[boxes.rows] = True
        self._constant = constant + values[there & ~varying].sum(axis=0)
        varying &= there
        kept = {f: boxes.kept(varying) for f, boxes in narrow.items()}
        self._narrow = {f: boxes for f, boxes in kept.items() if len(boxes.rows)}
        self._values, self._box = values[varying], box
        self._means = self._values * mass_of(self._narrow, len(self._values))[:, None]

    @classmethod
    def of(cls, function: LeafSum) -> LeavesPart:
        box = {f: np.arange(function.domain.cardinalities[f]) for f in function.sets}
        there = np.ones(len(function.values), dtype=bool)
        constant = np.zeros(function.values.shape[1])
        return cls(constant, function.values, narrow_of(function.sets), box, there)

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self._constant + self._means.sum(axis=0))

    @property
    def energy(self) -> float:
        return self._mean_square(None)

    @property
    def variance(self) -> float:
        return max(0.0, self.energy - float((self.mean**2).sum()))

    def _mean_square(self, averaged: int | None) -> float:
        """Return the mean square, after averaging over a feature if one is given."""
        narrow = [boxes for f, boxes in self._narrow.items() if f != averaged]
        squares = sum(float(products.sum()) for _, products in products_of(self._means, narrow))
        constant = self._constant * (self._constant + 2.0 * self._means.sum(axis=0))
        return float(2.0 * squares + constant.sum())

    @property
    def reach(self) -> FloatArray:
        # Of each leaf both is possible, that a point is inside and that it is not.
        farthest = np.maximum(np.abs(self._means), np.abs(self._values - self._means))
        return np.asarray(farthest.sum(axis=0))

    @property
    def features(self) -> tuple[int, ...]:
        return tuple(self._narrow)

    def levels(self, feature: int) -> Int64Array:
        return self._box[feature]

    def effects(self, features: tuple[int, ...]) -> list[FloatArray]:
        found = []
        for feature in features:
            boxes = self._narrow[feature]
            means = self._means[boxes.rows]
            at_levels = product(boxes.inside.T.astype(np.float64), means / boxes.shares[:, None])
            found.append(np.asarray(self.mean - means.sum(axis=0) + at_levels))
        return found

    def without(self, feature: int) -> float:
        return self._mean_square(feature)

    def taken(self, feature: int, chosen: Int64Array) -> LeavesPart:
        boxes = self._narrow[feature]
        inside = boxes.inside[:, chosen]
        there = np.ones(len(self._values), dtype=bool)
        there[boxes.rows] = inside.any(axis=1)
        narrow = {**self._narrow, feature: Narrow.of(boxes.rows, inside)}
        box = {**self._box, feature: self._box[feature][chosen]}
        return LeavesPart(self._constant, self._values, narrow, box, there)

    @property
    def noise(self) -> float:
        scale = np.abs(self._constant) + np.abs(self._means).sum(axis=0)
        return float(self.blur * (scale**2).sum())

    def equals(self, other: LeavesPart, tolerance: float) -> bool:
        """Compare sums of leaves, which may be different leaves.

        Means are found to the last digits, a mean square only to half of them; so means go
        first.
        """
        apart = self._minus(other)
        features = apart.features
        means = [apart.mean[None, :], *apart.effects(features)]
        if any(((mean**2).sum(axis=1) > tolerance).any() for mean in means):
            return False
        return apart.energy <= apart.noise

    def _minus(self, other: LeavesPart) -> LeavesPart:
        n_mine = len(self._values)
        values = np.concatenate([self._values, -other._values])
        narrow = {}
        for feature in sorted({*self._narrow, *other._narrow}):
            parts = [
                (boxes.rows + shift, boxes.inside)
                for boxes, shift in (
                    (self._narrow.get(feature), 0),
                    (other._narrow.get(feature), n_mine),
                )
                if boxes is not None
            ]
            rows, inside = (np.concatenate(part) for part in zip(*parts, strict=True))
            narrow[feature] = Narrow.of(rows, inside)
        there = np.ones(len(values), dtype=bool)
        return LeavesPart(self._constant - other._constant, values, narrow, self._box, there)


def part_of(function: Any) -> tuple[BoxedFunction, Domain, int]:
    """Return a function as the part of itself within the whole domain."""
    if isinstance(function, Spectrum):
        return SpectrumPart(function, {}), function.domain, function.n_outputs
    if isinstance(function, LeafSum):
        return LeavesPart.of(function), function.domain, function.values.shape[1]
    raise TypeError(
        "A tree is built from a Spectrum or a LeafSum; got an object of the class "
        f"{type(function).__name__}."
    )
