"""A folder in which data sets that a network has delivered are kept for the next time."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

from obliqua.errors import DatasetMissing
from obliqua.io.files import write_text

CACHE_VARIABLE = "OBLIQUA_CACHE"


def cache_folder() -> Path:
    """Where data sets are kept: the folder of the variable, or the usual place of the system."""
    named = os.environ.get(CACHE_VARIABLE)
    if not named:
        return _usual_place() / "obliqua"
    folder = Path(named).expanduser()
    if folder.exists() and not folder.is_dir():
        raise DatasetMissing(
            f"{CACHE_VARIABLE} names {named!r}, which is not a folder; set it to a folder in "
            "which data sets may be kept, or unset it"
        )
    return folder


def _usual_place() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home, as in some containers
        home = Path(tempfile.gettempdir())
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")


def read_kept(file: str) -> bytes | None:
    """What is kept under a name; None if nothing is, or if it cannot be read."""
    try:
        return (cache_folder() / file).read_bytes()
    except OSError:
        return None


def keep(file: str, text: str) -> None:
    """Keep a file, completely or not at all. If that fails the data are there all the same."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(str(folder / file), text)
    except OSError as error:
        warnings.warn(
            f"{file} cannot be kept in the cache {str(folder)!r} ({error}), so it will be fetched "
            f"again the next time; set the environment variable {CACHE_VARIABLE} to a folder that "
            "can be written to",
            stacklevel=2,
        )


def say_damaged(file: str, reason: str) -> None:
    """Warn that a kept file is of no use."""
    warnings.warn(
        f"{file} in the cache {str(cache_folder())!r} is damaged and will be fetched anew: "
        f"{reason}",
        stacklevel=2,
    )
