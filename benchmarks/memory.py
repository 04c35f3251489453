"""Peak memory of one fit, in a process of its own.

Run as ``python -m benchmarks.memory FOLDER ADAPTER THREADS``: it loads ``X.npy`` and ``y.npy``
from the folder, fits once, and prints the peak above what was in use before, in bytes.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.adapters import ALL
from benchmarks.adapters.base import Adapter
from benchmarks.measure import Case, limit_threads
from benchmarks.problems import Problem

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def save(problem: Problem, folder: Path) -> None:
    """Store a problem for `peak`. Made anew, it would leave a peak of its own."""
    np.save(folder / "X.npy", problem.X)
    np.save(folder / "y.npy", problem.y)


def peak(folder: Path, adapter: Adapter, n_threads: int) -> int | None:
    """Bytes that a fit on the stored problem needs beyond the problem; None if unknown."""
    command = [sys.executable, "-m", "benchmarks.memory"]
    done = subprocess.run(
        [*command, str(folder), adapter.name, str(n_threads)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not done.stdout.strip():
        return None
    answer = done.stdout.split()[-1]
    return None if answer == "unknown" else int(answer)


def measure(folder: Path, adapter: Adapter, n_threads: int) -> int | None:
    """What `peak` runs in the new process."""
    # Whatever is imported or allocated once belongs to the library, not to this fit.
    Case(adapter, n_threads).warm_up()
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    gc.collect()
    before = settled()
    model = adapter.fit(X, y, n_threads)
    after = high_water()
    del model
    return None if before is None or after is None else max(0, after - before)


def settled() -> int | None:
    """Memory in use now, with the high-water mark set back to it where that can be done."""
    try:
        RESET.write_text("5")
    except OSError:
        return high_water()
    return _status("VmRSS")


def high_water() -> int | None:
    # On Linux getrusage is no help: ru_maxrss of a new process starts at the size of the
    # process that started it, which holds all the data.
    if STATUS.is_file():
        return _status("VmHWM")
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def _status(field: str) -> int | None:
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return None


def main(arguments: list[str]) -> int:
    folder, name, n_threads = arguments
    (adapter,) = (a for a in ALL if a.name == name)
    with limit_threads(int(n_threads)):
        found = measure(Path(folder), adapter, int(n_threads))
    print("unknown" if found is None else found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
