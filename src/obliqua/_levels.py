"""Which levels of a qualitative column take which branch of a node, in words."""

from __future__ import annotations

from dataclasses import dataclass

from obliqua.data import Column, Encoding, written_name
from obliqua.tree import Tree


@dataclass(frozen=True)
class LevelBranch:
    """One branch of a node that asks for the level of a qualitative column.

    Parameters
    ----------
    name : str
        The column's name, as it is written.
    levels : tuple of str
        The levels that take this branch, as they are written.
    others : bool
        Whether levels that the node does not know take it.
    missing : bool
        Whether missing values take it.
    """

    name: str
    levels: tuple[str, ...]
    others: bool
    missing: bool

    def condition(self, max_levels: int | None = None) -> str:
        """Write when a row takes this branch.

        Parameters
        ----------
        max_levels : int, default=None
            How many levels to name; the others are counted.

        Returns
        -------
        str
            ``colour in {red, blue} or any other level``, for instance.
        """
        parts = []
        if self.levels:
            parts.append(f"{self.name} in {{{self.listed(max_levels)}}}")
        if self.others:
            parts.append("any other level" if parts else f"{self.name}: any other level")
        if self.missing:
            parts.append("missing" if parts else f"{self.name} is missing")
        return " or ".join(parts) or f"{self.name}: no level"

    def short(self, max_levels: int | None = None) -> str:
        """Write the same below a line that names the column.

        Parameters
        ----------
        max_levels : int, default=None
            How many levels to name; the others are counted.

        Returns
        -------
        str
            ``red, blue or any other level``, for instance.
        """
        parts = [self.listed(max_levels)] if self.levels else []
        parts += ["any other level"] * self.others + ["missing"] * self.missing
        return " or ".join(parts) or "no level"

    def listed(self, max_levels: int | None = None) -> str:
        """Write the levels.

        Parameters
        ----------
        max_levels : int, default=None
            How many levels to name; the others are counted.

        Returns
        -------
        str
            The levels, with commas.
        """
        shown = self.levels if max_levels is None else self.levels[: max(max_levels, 0)]
        hidden = len(self.levels) - len(shown)
        return ", ".join([*shown, *[f"{hidden} more"][: int(hidden > 0)]])


def level_branches(tree: Tree, node: int, encoding: Encoding) -> list[LevelBranch]:
    """Read which levels take which branch of a node.

    Parameters
    ----------
    tree : Tree
        The tree.
    node : int
        A node that asks for the level of a column.
    encoding : Encoding
        What the columns are.

    Returns
    -------
    list of LevelBranch
        One per child.
    """
    plane = int(tree.plane_ptr[node])
    at = int(tree.coef_ptr[plane])
    column = encoding.columns[int(tree.coef_idx[at])]
    levels: list[list[str]] = [[] for _ in range(int(tree.n_children[node]))]
    table = tree.table[tree.table_ptr[at] : tree.table_ptr[at + 1]].astype(int)
    for code, branch in enumerate(table.tolist()):
        levels[branch].append(written_level(column, code))
    others, fill = int(tree.threshold[plane]), float(tree.fill[at])
    name = written_name(column.name)
    return [
        LevelBranch(name, tuple(known), branch == others, fill == branch)
        for branch, known in enumerate(levels)
    ]


def written_level(column: Column, code: int) -> str:
    """Write a level of a qualitative column.

    Parameters
    ----------
    column : Column
        The column.
    code : int
        The level's code.

    Returns
    -------
    str
        The level, or its code if the column does not know it.
    """
    if code < len(column.levels):
        return written_name(str(column.levels[code]))
    return f"code {code}"
