"""Where, when and with what something was measured; nothing names a person or a host."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import obliqua

__all__ = ["code_digest", "facts", "surroundings"]

_HERE = Path(__file__).parent
_PACKAGE = Path(obliqua.__file__).parent
_LIBRARIES = ("obliqua", "numpy", "scipy", "scikit-learn")


def facts() -> dict[str, str | int]:
    """Return date, processor, cores, system and Python."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpu": _cpu(),
        "cores": _cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def surroundings() -> dict[str, str | int]:
    """Return the facts, the versions that figures may depend on, and which code it is."""
    found = facts() | {name: metadata.version(name) for name in _LIBRARIES}
    commit = _commit()
    return found | ({"commit": commit} if commit else {}) | {"code": code_digest()}


@cache
def code_digest() -> str:
    """Return a digest of all code: versions stay the same while it is developed."""
    digest = hashlib.sha256()
    tests = _HERE / "tests"
    for folder in (_PACKAGE, _HERE):
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".so", ".pyd", ".pyx", ".pxd", ".h"):
                if path.is_relative_to(tests):
                    continue
                digest.update(path.relative_to(folder).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _commit() -> str:
    """The commit of the clone that this stands in, if git knows it."""

    def git(*words: str) -> str:
        answer = subprocess.run(
            ["git", "-C", str(_HERE), *words],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return answer.stdout.strip()

    try:
        # A copy without history may stand in the checkout of quite another project.
        if Path(git("rev-parse", "--show-toplevel")) != _HERE.parent:
            return ""
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _cores() -> int:
    """Cores that this process may use, which in a container are fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
