"""Exported JavaScript beside the library: are all leaves the same, and how fast is it?

``python -m benchmarks.exports_javascript`` exports a model of every kind, those of
`tests/export_cases.py`, runs a million random rows and a hundred thousand rows next to thresholds
of each in Node, and counts the rows whose leaves or answers differ in any bit (but for exp), which
is a failure.
Then it measures rows per second on the letter data, beside `predict`. ``--quick`` takes a
hundredth of the rows.

A row next to a threshold is one that reaches a split; a number of it is moved so that the value of
the plane is off the threshold by at most 1e-12 of it. At a linear machine it is the difference of
two planes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.exported_rows import near_rows, random_rows
from benchmarks.measure import limit_threads
from benchmarks.report import ROOT
from obliqua import DatasetMissing, HHCartClassifier, ObliqueForestClassifier, datasets
from obliqua import export_javascript as export
from obliqua.export.computation import Computation, raw_value

sys.path.insert(0, str(ROOT / "tests"))
from export_cases import MAKERS

# Reads rows as codes, makes of them what a user has, and writes leaves and answers.
DRIVER = """
import { readFileSync, writeFileSync } from "node:fs";
const [folder, asObject, rounds] = process.argv.slice(1);
const model = await import(`${folder}/model.mjs`);
const values = JSON.parse(readFileSync(`${folder}/values.json`));  // by column: level by code + 1
const data = new Float64Array(new Uint8Array(readFileSync(`${folder}/rows.bin`)).buffer);
const p = model.columns.length;
const rows = [];
for (let start = 0; start < data.length; start += p) {
  const row = Array.from(data.subarray(start, start + p), (entry, place) => {
    if (Number.isNaN(entry)) return null;
    return values[place] ? values[place][entry + 1] : entry;
  });
  if (asObject === "1") {
    rows.push(Object.fromEntries(row.map((value, place) => [model.columns[place], value])));
  } else {
    rows.push(row);
  }
}
const proba = model.classes.length ? model.predictProba : (row) => [model.predict(row)].flat();
const seconds = [];
for (let round = 0; round < Number(rounds); round++) {
  const start = process.cpuUsage();
  for (const row of rows) model.predict(row);
  const { user, system } = process.cpuUsage(start);
  seconds.push((user + system) / 1e6);
}
if (rounds === "0") {
  const leaves = [], answers = [];
  for (const row of rows) {
    for (const leaf of model.apply(row)) leaves.push(leaf);
    for (const value of proba(row)) answers.push(value);
  }
  writeFileSync(`${folder}/leaves.bin`, Int32Array.from(leaves));
  writeFileSync(`${folder}/answers.bin`, Float64Array.from(answers));
}
console.log(JSON.stringify({ seconds, tested: model.selfTest() }));
"""


def run_node(folder: Path, as_object: bool = False, rounds: int = 0) -> dict[str, Any]:
    """Run the module in a folder over the rows in it."""
    words = ["node", "--max-old-space-size=4096", "--input-type=module", "-e", DRIVER, "--"]
    words += [str(folder), str(int(as_object)), str(rounds)]
    said: dict[str, Any] = json.loads(subprocess.run(words, stdout=-1, check=True).stdout)
    return said


def put(folder: Path, model: Any, rows: np.ndarray) -> None:
    """Write what the driver reads."""
    columns = Computation.of(model).columns
    values = [
        [raw_value(c, code) for code in range(-1, len(c.levels))] if c.levels else None
        for c in columns
    ]
    (folder / "values.json").write_text(json.dumps(values))
    rows.astype("<f8").tofile(folder / "rows.bin")


def differing(model: Any, rows: np.ndarray, folder: Path) -> tuple[int, int]:
    """How many rows have other leaves, and other answers, in Node."""
    computation = Computation.of(model)
    inner, leaves, answers = computation.model, 0, 0
    (folder / "model.mjs").write_text(export(model), "ascii")
    step = max(2_000_000 // (computation.n_trees + computation.n_answers), 1)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        put(folder, model, part)
        run_node(folder)
        found = np.fromfile(folder / "leaves.bin", np.int32).reshape(len(part), -1)
        leaves += int((found != inner.apply(part).reshape(found.shape)).any(axis=1).sum())
        said = inner.predict_proba(part) if inner.n_classes else inner.predict(part)
        got = np.fromfile(folder / "answers.bin").reshape(len(part), -1)
        off = 1e-14 if computation.finish == "log_odds" else 0.0  # exp has last digits of its own
        answers += int((np.abs(got - said.reshape(got.shape)) > off).any(axis=1).sum())
    return leaves, answers


def speed(model: Any, X: np.ndarray, folder: Path, rounds: int) -> dict[str, float]:
    """Rows per second of CPU time, the best of several rounds, interleaved."""
    (folder / "model.mjs").write_text(export(model, n_tests=0), "ascii")
    put(folder, model, X)
    best: dict[str, float] = {}

    def note(name: str, seconds: float, n: int) -> None:
        best[name] = max(best.get(name, 0.0), n / seconds)

    few = X[:2000]
    for _ in range(rounds):
        for as_object in (False, True):
            name = "Node, objects" if as_object else "Node, arrays"
            note(name, min(run_node(folder, as_object, 3)["seconds"]), len(X))
        start = time.process_time()
        model.predict(X)
        note("predict, all rows", time.process_time() - start, len(X))
        start = time.process_time()
        for row in few:
            model.predict(row[None])
        note("predict, one by one", time.process_time() - start, len(few))
    best["bytes of the module"] = (folder / "model.mjs").stat().st_size
    return best


def main(words: list[str] | None = None) -> int:
    """Compare, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    parser.add_argument("--no-speed", action="store_true")
    given = parser.parse_args(words)
    limit_threads(1)
    n_random, n_near = (10_000, 1_000) if given.quick else (1_000_000, 100_000)
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(
            f"{'model':22} {'random':>9} {'leaves':>6} {'bits':>6} {'near':>8} {'leaves':>6} bits"
        )
        for kind, make in MAKERS.items():
            model, rng = make(), np.random.default_rng(0)
            computation = Computation.of(model)
            line = f"{kind:22}"
            for rows in (
                random_rows(computation, n_random, rng),
                near_rows(computation, n_near, rng),
            ):
                found = differing(model, rows, folder)
                wrong += sum(found)
                line += f" {len(rows):9,} {found[0]:6,} {found[1]:6,}"
            print(line, flush=True)
        if given.no_speed:
            return int(wrong > 0)
        try:
            X, y = datasets.load_letter(return_X_y=True)
        except DatasetMissing as error:
            print(error)
            return int(wrong > 0)
        X = np.ascontiguousarray(X, dtype=np.float64)
        for model in (
            HHCartClassifier(random_state=0),
            ObliqueForestClassifier(100, random_state=0),
        ):
            model.fit(X[:4000], y[:4000])
            found = speed(model, X[: 2000 if given.quick else 20_000], folder, 3)
            shown = ", ".join(f"{what} {number:,.0f}" for what, number in found.items())
            print(f"letter, {type(model).__name__}, {model.model_._n_leaves} leaves: {shown}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
