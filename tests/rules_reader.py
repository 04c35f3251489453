"""A reader of written rules that knows nothing of trees: names, numbers and lists only.

It knows the columns as ``x0, x1, ...`` and how the levels of each qualitative one are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

Rows = np.ndarray
Levels = Mapping[int, Mapping[str, int]]  # the code of each written level, by column

NUMBER = r"-?[\d.]+(?:e[-+]?\d+)?"
QUOTED = re.compile(r"`(?:[^`]|``)*`")
NOTE = re.compile(r" \[((?:score\(x\d+\)|missing counts as): [^\]]*)\]")
BOUNDS = re.compile(rf"(?:({NUMBER}) (<=?) )?(.+?)(?: ([<>]=?) ({NUMBER}))?")
FUNCTION = re.compile(rf"y = (.+?)(?:, between ({NUMBER}) and ({NUMBER}))?(?: \(.*\))?")
TERM = re.compile(rf"(?:({NUMBER})\*)?(?:x(\d+)|score\(x(\d+)\))|({NUMBER})")
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


class Reader:
    """Reads conditions and rules, and says for which rows they hold."""

    def __init__(self, levels: Levels) -> None:
        self.levels = levels

    def rule(self, text: str, Z: Rows) -> Rows:
        """For which rows the one line of a rule holds."""
        if text.startswith("always "):
            return np.ones(len(Z), dtype=bool)
        masked, quoted = _masked(text.removeprefix("if "))
        asked = masked.rpartition(" then ")[0]
        parts = [self._holds(part, quoted, Z) for part in asked.split(" and ")]
        return np.logical_and.reduce(parts)

    def conclusion(self, text: str, Z: Rows) -> Rows:
        """What the linear function at the end of a rule says of rows."""
        masked, quoted = _masked(text)
        said = masked.rpartition(" then ")[2].removeprefix("always ")
        columns = self._with_notes([_unmasked(note, quoted) for note in NOTE.findall(said)], Z)
        found = FUNCTION.fullmatch(NOTE.sub("", said))
        assert found is not None, said
        value = _value(found[1], columns)
        return value if found[2] is None else np.clip(value, float(found[2]), float(found[3]))

    def condition(self, text: str, Z: Rows) -> Rows:
        """For which rows a condition holds."""
        masked, quoted = _masked(text)
        return self._holds(masked, quoted, Z)

    def _holds(self, condition: str, quoted: list[str], Z: Rows) -> Rows:
        notes = NOTE.findall(condition)
        columns = self._with_notes([_unmasked(note, quoted) for note in notes], Z)
        condition = NOTE.sub("", condition)
        if condition.startswith("("):
            condition = condition[1:-1]
        first, *others = condition.split(" or ")
        if found := re.fullmatch(
            r"x(\d+) (in|not in|neither missing nor in|is) (?!the )(.+)", first
        ):
            column = int(found[1])
            parts = [f"{found[2]} {found[3]}", *others]
            kept = [self._levels(column, _unmasked(part, quoted), Z[:, column]) for part in parts]
            return np.logical_or.reduce(kept)
        missing = np.zeros(len(Z), dtype=bool)
        if others:
            used = sorted({int(k) for k in re.findall(r"x(\d+)", first)})
            assert others == ["is missing" if len(used) == 1 else "any is missing"], condition
            missing = np.isnan(Z[:, used]).any(axis=1)
        return missing | _compared(first, columns)

    def _with_notes(self, notes: list[str], Z: Rows) -> dict[str, Rows]:
        """What the features of a sum are worth, row by row."""
        columns = {f"x{k}": Z[:, k] for k in range(Z.shape[1])}
        for note in notes:
            head, *words = _split(note.replace(": ", ", ", 1))
            pairs = [
                (name, float(number)) for name, _, number in (w.rpartition(" ") for w in words)
            ]
            if head == "missing counts as":
                for name, number in pairs:
                    columns[name] = np.where(np.isnan(columns[name]), number, columns[name])
                continue
            place = int(head.removeprefix("score(x").removesuffix(")"))
            score = dict(pairs)
            assert score.pop("any other level") == 0
            found = np.where(np.isnan(Z[:, place]), score.pop("missing", np.nan), 0.0)
            for name, number in score.items():
                found[Z[:, place] == self.levels[place][name]] = number
            columns[head] = found
        return columns

    def _levels(self, place: int, part: str, column: Rows) -> Rows:
        known = np.isin(column, list(self.levels.get(place, {}).values()))
        missing = np.isnan(column)
        if part in ("is missing", "is new", "is known", "is any level"):
            return {"missing": missing, "new": ~known & ~missing}.get(part[3:], ~missing)
        assert part.endswith("}"), part
        relation, _, names = part[:-1].partition(" {")
        inside = np.isin(column, [self.levels[place][name] for name in _split(names) if name])
        if relation == "not in":
            return ~inside  # which takes in what is missing
        return inside if relation == "in" else ~inside & ~missing


def _masked(text: str) -> tuple[str, list[str]]:
    """Put numbers in the place of what is quoted, so that nothing in it has a meaning."""
    quoted: list[str] = []

    def mask(found: re.Match[str]) -> str:
        quoted.append(found[0])
        return f"\0{len(quoted) - 1}\0"

    return QUOTED.sub(mask, text), quoted


def _unmasked(text: str, quoted: list[str]) -> str:
    return re.sub(r"\0(\d+)\0", lambda found: quoted[int(found[1])], text)


def _split(names: str) -> list[str]:
    """The parts of a list; commas in backquotes do not divide it."""
    masked, quoted = _masked(names)
    return [_unmasked(part, quoted) for part in masked.split(", ")]


def _value(formula: str, columns: dict[str, Rows]) -> Rows:
    """The value of a sum, added up in the order in which it is written."""
    words = re.sub(r"^-(?=x|score)", "-1*", formula).split(" ")
    total = np.zeros(len(columns["x0"]))
    for sign, term in zip(["+", *words[1::2]], words[::2], strict=True):
        found = TERM.fullmatch(term)
        assert found is not None and sign in "+-", formula
        if found[4] is not None:
            part = np.full(len(total), float(found[4]))
        else:
            name = f"x{found[2]}" if found[2] else f"score(x{found[3]})"
            part = float(found[1] or 1) * columns[name]
        total = total + part if sign == "+" else total - part
    return total


def _compared(condition: str, columns: dict[str, Rows]) -> Rows:
    if " is the largest of " in condition:
        winner, others = condition[:-1].split(" is the largest of [")
        values = np.stack([_value(other, columns) for other in others.split(", ")])
        numbered = re.fullmatch(r"(.*) \(number (\d+)\)", winner)
        number = int(numbered[2]) - 1 if numbered else others.split(", ").index(winner)
        return values.argmax(axis=0) == number
    found = BOUNDS.fullmatch(condition)
    assert found is not None, condition
    along = _value(found[3], columns)
    kept = np.ones(len(along), dtype=bool)
    if found[1]:
        kept &= COMPARE[found[2]](float(found[1]), along)
    if found[5]:
        kept &= COMPARE[found[4]](along, float(found[5]))
    return kept
