"""Twin of `apply_edits`: edits done to the nodes of a JSON text, one dict after the other.

Nodes keep their numbers; what lies below a collapsed node is simply not reached. It knows the
contract in docs/reference/edits.md and nothing of arrays.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from reference.exported import leaf_of, said_by

Node = dict[str, Any]


class Refused(Exception):
    """An edit cannot be done; its number, from 1 on."""


def edited(fields: dict[str, Any], edits: list[dict[str, Any]]) -> list[list[Node]]:
    """Nodes of all trees after the edits; rows are None where they may have changed."""
    trees: list[list[Node]] = deepcopy([tree["nodes"] for tree in fields["trees"]])
    labels = fields["classes"]["values"]
    for number, edit in enumerate(edits, start=1):
        nodes = trees[edit.get("tree", 0)]
        if edit["node"] not in reached(nodes):
            raise Refused(number)
        node = nodes[edit["node"]]
        if edit["edit"] == "label":
            if node["kind"] != "leaf":
                raise Refused(number)
            if "class" in edit:
                node["chooses"] = labels.index(edit["class"])
            else:
                numbers = edit["value"]
                node["says"] = numbers if isinstance(numbers, list) else [numbers]
                node.pop("line", None)
        elif node["kind"] == "leaf":
            raise Refused(number)
        elif edit["edit"] == "collapse":
            node["kind"] = "leaf"
        else:
            if len(node["children"]) != 2:
                raise Refused(number)
            replaced = {}
            for plane in node["planes"]:
                for term in plane["terms"]:
                    replaced.setdefault(term["column"], term)
            plane = deepcopy(edit["plane"])
            plane["terms"] = [completed(term, replaced) for term in plane["terms"]]
            node |= {"kind": edit["kind"], "planes": [plane], "asked anew": True}
    for nodes in trees:
        forget(nodes)
    return trees


def reached(nodes: list[Node]) -> set[int]:
    """Numbers of the nodes that are there: from the root down."""
    found, waiting = set(), [0]
    while waiting:
        node = waiting.pop()
        found.add(node)
        if nodes[node]["kind"] != "leaf":
            waiting += nodes[node]["children"]
    return found


def completed(term: dict[str, Any], replaced: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """A term with what it leaves out: that of the same column before, or null."""
    old = replaced.get(term["column"], {})
    full = {"stand_in": old.get("stand_in"), "spread": old.get("spread")}
    if "table" in old:
        full["table"] = old["table"]
    return {**full, **term}


def forget(nodes: list[Node]) -> None:
    """Below a new question rows are not known, and neither is what splits gain."""

    def down(number: int, known: bool) -> None:
        node = nodes[number]
        if not known:
            node |= {"rows": None, "gain": None, "axis_gain": None}
            for plane in node.get("planes", []):
                for term in plane["terms"]:
                    term["spread"] = None
        if node["kind"] == "leaf":
            return
        new = node.get("asked anew", False)
        if new:
            node["gain"] = None
        for child in node["children"]:
            down(child, known and not new)

    down(0, True)


def answer(nodes: list[Node], row: list[float]) -> tuple[int, list[float], int | None]:
    """Leaf of a row, what it says, and which class it chooses."""
    leaf = leaf_of(nodes, row)
    return leaf, said_by(nodes[leaf], row), nodes[leaf].get("chooses")


def counted(nodes: list[Node], rows: list[list[float]]) -> dict[int, list[int]]:
    """Numbers of the rows that pass each node."""
    parent = {
        child: number
        for number in reached(nodes)
        if nodes[number]["kind"] != "leaf"
        for child in nodes[number]["children"]
    }
    passed: dict[int, list[int]] = {number: [] for number in reached(nodes)}
    for place, row in enumerate(rows):
        number: int | None = leaf_of(nodes, row)
        while number is not None:
            passed[number].append(place)
            number = parent.get(number)
    return passed


def gini_gain(parts: list[list[float]], total: float) -> float:
    """Decrease of the gini impurity, times the share of all weight."""

    def spread(weights: list[float]) -> float:
        whole = sum(weights)
        return whole - sum(weight * weight for weight in weights) / whole if whole else 0.0

    whole = [sum(column) for column in zip(*parts, strict=True)]
    return (spread(whole) - sum(map(spread, parts))) / total
