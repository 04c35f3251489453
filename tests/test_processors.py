"""The same rows give the same model on every processor, and the makers of data the same rows.

OpenBLAS, NumPy and the C library choose code by the processor that they find. Each can be told to
take the code of another one, so this processor plays older ones. What a machine cannot play is
skipped by name. Instructions that our own kernels choose among cannot be told: see
docs/concepts/exactness.md for how that was tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("fingerprints.py")
Found = dict[str, Any]

# As which processor each part behaves; of NumPy's extra instructions those that are left out.
SETTINGS: dict[str, tuple[dict[str, str], Callable[[str], bool]]] = {
    "without AVX-512": ({"OPENBLAS_CORETYPE": "Haswell"}, lambda name: name != "X86_V3"),
    "without AVX": (
        {
            "OPENBLAS_CORETYPE": "Prescott",
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F",
        },
        lambda name: True,
    ),
}


def started(**settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(running: subprocess.Popen[str]) -> Found:
    printed, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    found: Found = json.loads(printed)
    return found


@pytest.fixture(scope="module")
def here() -> Found:
    return told(started())


@pytest.fixture(scope="module", params=SETTINGS)
def there(request: pytest.FixtureRequest, here: Found) -> Found:
    settings, left_out = SETTINGS[request.param]
    names = " ".join(filter(left_out, here["instructions"]))
    found = told(started(**settings, **({"NPY_DISABLE_CPU_FEATURES": names} if names else {})))
    if found["machine"] == here["machine"]:
        say = pytest.fail if os.environ.get("OBLIQUA_ALL_TOOLS") else pytest.skip
        say(f"nothing on this machine can be told to compute {request.param}")
    return found


@pytest.mark.parametrize("what", ["data", "models"])
def test_another_processor_gives_the_same_bits(what: str, here: Found, there: Found) -> None:
    assert len(here[what]) >= 6
    assert there[what] == here[what]
