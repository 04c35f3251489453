"""Running an exported module in Node: all rows in one process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Reads rows from stdin, and writes what the module says of each; messages in the place of answers.
DRIVER = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const model = await import(pathToFileURL(process.argv[1]));
const rows = JSON.parse(readFileSync(0, "utf8"));
function attempt(work) {
  try { return work(); } catch (error) { return { error: error.message }; }
}
const proba = model.classes.length ? model.predictProba : (row) => [model.predict(row)].flat();
process.stdout.write(JSON.stringify({
  columns: model.columns,
  classes: model.classes,
  leaves: rows.map((row) => attempt(() => model.apply(row))),
  answers: rows.map((row) => attempt(() => proba(row))),
  labels: rows.map((row) => attempt(() => model.predict(row))),
  tested: attempt(() => model.selfTest()),
}));
"""


def node(script: str, *words: str, stdin: str = "") -> str:
    """What a module prints in Node."""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script, "--", *words],
        input=stdin.encode(),
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def run_module(text: str, rows: Sequence[Any], folder: Path) -> dict[str, Any]:
    """What an exported module says of rows, and of itself."""
    path = folder / "model.mjs"
    path.write_text(text, "ascii")
    said: dict[str, Any] = json.loads(
        node(DRIVER, str(path), stdin=json.dumps(rows, allow_nan=False))
    )
    return said
