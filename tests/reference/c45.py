"""Twin of C4.5's growth, from the definitions: every split of every column is made and measured.

Rows are lists, sums are fractions, a tree is nested dicts. `unit` is the weight of a row of weight
1 in the problem's grid. Values within `TIE` of the largest count as the largest; a gain must be
larger than `ZERO`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import fsum, inf, isnan, log2
from typing import Any

from reference.search import midpoint

ZERO, TIE, SLACK = 1e-14, 1e-9, 1e-3

Rows = list[int]


@dataclass(frozen=True)
class Data:
    """Rows with classes and weights; the number of levels of each column, 0 for numbers."""

    Z: list[list[float]]
    y: list[int]
    weight: list[Fraction]
    n_levels: list[int]
    n_classes: int


@dataclass(frozen=True)
class Options:
    """What the library calls C45 and Rules; weights in original units."""

    criterion: str = "gain_ratio"
    mdl_correction: bool = True
    binary: bool = False
    min_class_share: float = 0.1
    min_weight_leaf: Fraction = Fraction(0)
    min_samples_leaf: int = 1
    max_depth: int | None = None
    zero_gain: bool = False


def weigh(data: Data, rows: Rows) -> Fraction:
    return sum((data.weight[i] for i in rows), Fraction(0))


def entropy(weights: list[Fraction]) -> float:
    total = sum(weights)
    shares = [float(w / total) for w in weights if w > 0]
    return -fsum(p * log2(p) for p in shares)


def class_entropy(data: Data, rows: Rows) -> float:
    by_class = [weigh(data, [i for i in rows if data.y[i] == c]) for c in range(data.n_classes)]
    return entropy(by_class)


def gain_of(data: Data, rows: Rows, parts: list[Rows]) -> float:
    """Gain on the rows whose value is known, times their share."""
    known = [i for part in parts for i in part]
    inside = fsum(
        float(weigh(data, part) / weigh(data, known)) * class_entropy(data, part) for part in parts
    )
    share = float(weigh(data, known) / weigh(data, rows))
    return share * (class_entropy(data, known) - inside)


def ratio_of(data: Data, rows: Rows, parts: list[Rows], gain: float) -> float:
    known = sum((weigh(data, part) for part in parts), Fraction(0))
    missing = weigh(data, rows) - known
    return gain / entropy([*(weigh(data, part) for part in parts), missing])


def first_of_the_best(values: list[float]) -> int:
    best = max(values)
    return next(k for k, v in enumerate(values) if v >= best - ZERO - TIE * abs(best))


def large(data: Data, part: Rows, least: Fraction, options: Options) -> bool:
    return weigh(data, part) >= least and len(part) >= options.min_samples_leaf


def offer_of_numbers(data: Data, rows: Rows, j: int, options: Options) -> dict[str, Any] | None:
    known = [i for i in rows if not isnan(data.Z[i][j])]
    # In floats: a tenth of 20 is 2.
    share = options.min_class_share * float(weigh(data, known)) / data.n_classes
    least = max(options.min_weight_leaf, Fraction(min(share, 25.0)))
    tried = []
    for a, b in pairwise(sorted({data.Z[i][j] for i in known})):
        parts = [[i for i in known if data.Z[i][j] <= a], [i for i in known if data.Z[i][j] > a]]
        if all(large(data, part, least, options) for part in parts):
            tried.append((gain_of(data, rows, parts), midpoint(a, b), parts))
    if not tried:
        return None
    gain, threshold, parts = tried[first_of_the_best([cut[0] for cut in tried])]
    if options.mdl_correction:
        gain -= log2(len(tried)) / float(weigh(data, rows))
    ratio = ratio_of(data, rows, parts, gain)
    return {"column": j, "gain": gain, "ratio": ratio, "threshold": threshold, "parts": parts}


def offer_of_levels(data: Data, rows: Rows, j: int, options: Options) -> dict[str, Any] | None:
    known = [i for i in rows if not isnan(data.Z[i][j])]
    levels = sorted({int(data.Z[i][j]) for i in known})
    if len(levels) < 2:
        return None
    ways = [{level: k for k, level in enumerate(levels)}]
    if options.binary:
        ways = [{level: int(level != one) for level in levels} for one in levels]
    tried = []
    for way in ways:
        parts = [
            [i for i in known if way[int(data.Z[i][j])] == k] for k in range(max(way.values()) + 1)
        ]
        if sum(large(data, part, options.min_weight_leaf, options) for part in parts) >= 2:
            gain = gain_of(data, rows, parts)
            tried.append((gain, ratio_of(data, rows, parts, gain), way, parts))
    if not tried:
        return None
    by = 0 if options.criterion == "entropy" else 1
    gain, ratio, way, parts = tried[first_of_the_best([found[by] for found in tried])]
    return {"column": j, "gain": gain, "ratio": ratio, "levels": way, "parts": parts}


def choose(data: Data, rows: Rows, options: Options) -> dict[str, Any] | None:
    offers = []
    for j, n_levels in enumerate(data.n_levels):
        find = offer_of_levels if n_levels else offer_of_numbers
        offer = find(data, rows, j, options)
        if offer is not None:
            offers.append(offer)
    limit = 0.3 * float(sum(data.weight))
    many = [n_levels >= limit for n_levels in data.n_levels]
    if all(many):
        many = [False] * len(many)
    say = [
        offer["gain"]
        for offer in offers
        if not many[offer["column"]] and ("levels" in offer or offer["gain"] > ZERO)
    ]
    average = sum(say) / len(say) if say else inf
    able = [offer for offer in offers if offer["gain"] > ZERO]
    by = "gain"
    if options.criterion == "gain_ratio":
        able = [offer for offer in able if offer["gain"] >= average - SLACK]
        by = "ratio"
    if able:
        return able[first_of_the_best([offer[by] for offer in able])]
    return offers[0] if offers and options.zero_gain else None


def grow(data: Data, options: Options, rows: Rows | None = None, depth: int = 0) -> dict[str, Any]:
    """Grow a tree that is neither pruned nor collapsed."""
    rows = list(range(len(data.y))) if rows is None else rows
    node: dict[str, Any] = {"rows": rows, "children": []}
    pure = len({data.y[i] for i in rows}) == 1
    if pure or depth == options.max_depth or weigh(data, rows) < 2 * options.min_weight_leaf:
        return node
    chosen = choose(data, rows, options)
    if chosen is None:
        return node
    weights = [weigh(data, part) for part in chosen["parts"]]
    heaviest = weights.index(max(weights))
    missing = [i for i in rows if isnan(data.Z[i][chosen["column"]])]
    parts = [
        sorted(part + missing) if k == heaviest else part for k, part in enumerate(chosen["parts"])
    ]
    # How good the division is that was made, with the missing values in it.
    goodness = gain_of(data, rows, parts)
    if options.criterion == "gain_ratio":
        goodness = ratio_of(data, rows, parts, goodness)
    share = float(weigh(data, rows) / sum(data.weight))
    node |= {"heaviest": heaviest, "gain": share * goodness, "column": chosen["column"]}
    node |= {name: chosen[name] for name in ("threshold", "levels") if name in chosen}
    node["children"] = [grow(data, options, part, depth + 1) for part in parts]
    return node


def errors(data: Data, rows: Rows) -> Fraction:
    by_class = [weigh(data, [i for i in rows if data.y[i] == c]) for c in range(data.n_classes)]
    return sum(by_class) - max(by_class)


def collapsed(data: Data, node: dict[str, Any]) -> dict[str, Any]:
    """The tree in which no subtree has as many errors on the training rows as a leaf."""
    children = [collapsed(data, child) for child in node["children"]]
    if not children or errors(data, node["rows"]) <= subtree_errors(data, node):
        return {"rows": node["rows"], "children": []}
    return {**node, "children": children}


def subtree_errors(data: Data, node: dict[str, Any]) -> Fraction:
    if not node["children"]:
        return errors(data, node["rows"])
    return sum((subtree_errors(data, child) for child in node["children"]), Fraction(0))
