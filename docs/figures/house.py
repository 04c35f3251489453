"""The map of docs/develop/house.md: rooms, what they rest on, the ways of a fit and a predict.

``make figures`` writes it beside this file, from docs/develop/rooms.toml, which the import test
enforces. It is plain SVG, so that it is the same everywhere; ``tests/test_figures.py`` compares.
"""

from __future__ import annotations

import sys
import tomllib
from html import escape
from pathlib import Path

ROOMS = Path(__file__).resolve().parents[1] / "develop" / "rooms.toml"

WIDTH, HEIGHT, BOX, TALL = 900, 620, 112, 38
# Where the middle of each room stands: column and floor, from the ground up.
PLACES = {
    "_core": (3.0, 0),
    "data": (3.0, 1),
    "tree": (3.0, 2),
    "engine": (1.0, 3),
    "io": (4.4, 3),
    "words": (5.76, 3),
    "prune": (1.0, 4),
    "datasets": (2.4, 4.15),
    "export": (4.64, 4.15),
    "explain": (5.76, 4.15),
    "spectrum": (6.88, 4.15),
    "stats": (3.52, 4.15),
    "methods": (1.6, 5.2),
    "refine": (0.4, 5.2),
    "forest": (2.72, 5.2),
    "sources": (3.88, 5.2),
    "plot": (6.2, 5.2),
    "edit": (5.0, 5.2),
    "pages": (6.3, 6.0),
    "estimators": (3.2, 6.75),
    "select": (3.2, 7.6),
    "cli": (3.2, 8.4),
}
HEAD = f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">
<title>The rooms of obliqua and what they rest on</title>
<style>
text {{ font: 15px sans-serif }}
line {{ stroke: #8a8a8a; stroke-width: 1.2; marker-end: url(#tip) }}
g rect {{ fill: #f4f1ea; stroke: #444444; rx: 6px }}
</style>
<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
orient="auto"><path d="M0 0L8 4L0 8z" fill="#8a8a8a"/></marker></defs>"""
WAYS = {
    "fit": ("#b5541c", ["estimators", "data", "engine", "methods", "_core", "tree", "prune"]),
    "predict": ("#1f6f8b", ["estimators", "data", "tree", "_core"]),
}


def place(room: str) -> tuple[float, float]:
    """Return the middle of a room."""
    column, floor = PLACES[room]
    return 70 + column * 109, HEIGHT - 42 - floor * 66


def line(lower: str, upper: str) -> str:
    """Return an arrow from a room to one that it rests on."""
    (x1, y1), (x2, y2) = place(upper), place(lower)
    return (
        f'<line x1="{x1:.0f}" y1="{y1 + TALL / 2:.0f}" '
        f'x2="{x2:.0f}" y2="{y2 - TALL / 2 - 3:.0f}"/>'
    )


def box(room: str, says: str) -> str:
    """Return a room with its name, what it is for as a tooltip, and its numbers on the ways."""
    x, y = place(room)
    parts = [
        f"<g><title>{escape(says)}</title>",
        f'<rect x="{x - BOX / 2:.0f}" y="{y - TALL / 2:.0f}" width="{BOX}" height="{TALL}"/>',
        f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{room}</text>',
    ]
    for number, (colour, way) in enumerate(WAYS.values()):
        if room in way:
            cx, cy = x - BOX / 2 + number * BOX, y - TALL / 2
            parts.append(
                f'<circle cx="{cx:.0f}" cy="{cy:.0f}" r="10" fill="{colour}"/>'
                f'<text x="{cx:.0f}" y="{cy + 4:.0f}" text-anchor="middle" fill="white" '
                f'style="font-size:12px">{way.index(room) + 1}</text>'
            )
    return "".join([*parts, "</g>"])


def draw() -> str:
    """Return the map as SVG."""
    rooms = tomllib.loads(ROOMS.read_text("utf-8"))
    arrows = [
        line(lower, upper)
        for upper in PLACES
        for lower in rooms[upper]["rests_on"]
        if lower in PLACES
    ]
    boxes = [box(room, rooms[room]["says"]) for room in PLACES]
    key = "".join(
        f'<circle cx="700" cy="{30 + 28 * k}" r="10" fill="{colour}"/>'
        f'<text x="718" y="{35 + 28 * k}">the way of a {name}</text>'
        for k, (name, (colour, _)) in enumerate(WAYS.items())
    )
    return "\n".join([HEAD, *arrows, *boxes, key, "</svg>\n"])


def write(folder: Path) -> None:
    """Write the figure into a folder."""
    (folder / "house.svg").write_text(draw(), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent)
