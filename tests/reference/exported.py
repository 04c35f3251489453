"""Twin of all exports: what the text of `export_json` computes, one row at a time.

It knows nothing but the text, as docs/concepts/exported.md describes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

SMALL = 2.0**-200


class NoAnswer(Exception):
    """A value is missing, and what asks for it has nothing to use instead."""


class Exported:
    """A model as its JSON text says it."""

    def __init__(self, text: str) -> None:
        self.fields = json.loads(text)

    def entries(self, row: Sequence[Any]) -> list[float]:
        """Numbers of a row: codes for levels, NaN for what is missing."""
        return [entry_of(column, v) for column, v in zip(self.fields["columns"], row, strict=True)]

    def leaves(self, row: Sequence[Any]) -> list[int]:
        """Leaf of a row in each tree."""
        entries = self.entries(row)
        return [leaf_of(tree["nodes"], entries) for tree in self.fields["trees"]]

    def sums(self, row: Sequence[Any]) -> list[float]:
        """What leaves say, put together, before the last step."""
        finish, trees = self.fields["finish"], self.fields["trees"]
        entries = self.entries(row)
        reached = [tree["nodes"][leaf_of(tree["nodes"], entries)] for tree in trees]
        n_answers = len(reached[0]["says"])
        votes = [0.0] * n_answers
        total = [self.fields["start"]] * n_answers
        for leaf in reached:
            if finish in ("vote", "pairs"):
                votes[leaf["chooses"]] += 1.0
            total = [a + b for a, b in zip(total, said_by(leaf, entries), strict=True)]
        if finish == "vote":
            return votes
        if finish == "pairs":
            n = len(reached) + 1
            return [v + t / n for v, t in zip(votes, total, strict=True)]
        return said_by(reached[0], entries) if finish == "leaf" else total

    def answer(self, row: Sequence[Any]) -> list[float]:
        """Shares of classes, or numbers."""
        finish, sums = self.fields["finish"], self.sums(row)
        if finish in ("vote", "mean"):
            return [number / len(self.fields["trees"]) for number in sums]
        if finish == "leaf" or self.fields["task"] == "regression":
            return sums
        if finish == "sum":
            sums = [max(number, 0.0) for number in sums]
        if finish == "log_odds":
            largest = max(sums)
            sums = [math.exp(number - largest) for number in sums]
        whole = 0.0
        for number in sums:
            whole += number
        return [number / whole for number in sums]

    def chosen(self, row: Sequence[Any]) -> int:
        """Number of the class."""
        trees = self.fields["trees"]
        if len(trees) == 1:
            return int(trees[0]["nodes"][self.leaves(row)[0]]["chooses"])
        sums = self.sums(row)
        return sums.index(max(sums))

    def label(self, row: Sequence[Any]) -> Any:
        """Label of the class."""
        return self.fields["classes"]["values"][self.chosen(row)]


def entry_of(column: dict[str, Any], value: Any) -> float:
    """Number of one entry of a row."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return math.nan
    if column["kind"] == "numeric":
        return float(value)
    levels, others = column["levels"], column["others"]
    named = levels[:-1] if others else levels
    for code, level in enumerate(named):
        if level == value:
            return float(code)
    return len(levels) - 1.0 if others else -1.0


def leaf_of(nodes: list[dict[str, Any]], entries: list[float]) -> int:
    """Leaf that a row reaches."""
    node = 0
    while nodes[node]["kind"] != "leaf":
        node = nodes[node]["children"][branch_of(nodes[node], entries)]
    return node


def branch_of(node: dict[str, Any], entries: list[float]) -> int:
    """Branch that a row takes at a node."""
    plane = node["planes"][0]
    if node["kind"] == "levels":
        (term,) = plane["terms"]
        code = entries[term["column"]]
        if math.isnan(code):
            return int(known(term["stand_in"]))
        inside = 0 <= code < len(term["table"])
        return int(term["table"][int(code)] if inside else plane["threshold"])
    if node["kind"] == "machine":
        values = [known(value_of(p["terms"], entries) - p["threshold"]) for p in node["planes"]]
        return values.index(max(values))
    gone = any(math.isnan(entries[term["column"]]) for term in plane["terms"])
    if gone and plane["missing"]:
        return ["left", "right"].index(plane["missing"])
    value, threshold = value_of(plane["terms"], entries), plane["threshold"]
    if math.isnan(value):  # terms that overflow on both sides, or a value that is not known
        value, threshold = value_of(plane["terms"], entries, SMALL), threshold * SMALL
    return 0 if known(value) <= threshold else 1


def value_of(
    terms: list[dict[str, Any]], entries: list[float], scale: float = 1.0, start: float = 0.0
) -> float:
    """Sum of terms, from the first to the last."""
    total = start
    for term in terms:
        entry = entries[term["column"]]
        if math.isnan(entry):
            entry = math.nan if term["stand_in"] is None else term["stand_in"]
        elif "table" in term:
            entry = term["table"][int(entry)] if 0 <= entry < len(term["table"]) else 0.0
        total += term["coefficient"] * (entry * scale)
    return total


def said_by(leaf: dict[str, Any], entries: list[float]) -> list[float]:
    """What a leaf says of a row."""
    line = leaf.get("line")
    if line is None:
        return list(leaf["says"])
    value = value_of(line["terms"], entries, start=line["intercept"])
    if math.isnan(value):
        value = leaf["says"][0]
    return [min(max(value, line["low"]), line["high"])]


def known(value: float | None) -> float:
    if value is None or math.isnan(value):
        raise NoAnswer
    return value
