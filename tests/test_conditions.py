"""What conftest.py promises of all tests: no network, and one place where tests are skipped."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import joblib
import pytest

from obliqua.datasets import load_heart

OUTSIDE = "192.0.2.1"  # an address of nobody, kept for documentation


def datagram() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"", (OUTSIDE, 9))


def attempt() -> None:
    with socket.socket() as out:
        out.connect_ex((OUTSIDE, 80))


@pytest.mark.parametrize(
    "reach",
    [
        lambda: socket.create_connection((OUTSIDE, 80)),
        lambda: socket.getaddrinfo("www.openml.org", 443),
        lambda: socket.gethostbyname("www.openml.org"),
        lambda: urllib.request.urlopen("https://www.openml.org"),
        attempt,
        datagram,
        load_heart,  # a failure is not one of the errors that loaders understand
    ],
)
def test_no_test_reaches_the_network(reach: Callable[[], object]) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"reached for the network .* no test may"):
        reach()


def test_this_machine_may_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("127.0.0.1", "localhost"):
        with socket.create_server((host, 0)) as server:
            place = server.getsockname()
            with socket.create_connection((host, place[1])) as client:
                assert client.getpeername() == place
    if not hasattr(socket, "AF_UNIX"):
        return
    monkeypatch.chdir(tmp_path)  # names of such sockets must be short
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind("here")
        server.listen()
        client.connect("here")
        assert client.getpeername() == "here"


def error_of_a_fetch() -> str:
    try:
        urllib.request.urlopen("https://www.openml.org", timeout=60)
    except OSError as error:
        return str(error)
    return "reached"


def test_nor_do_other_processes_that_a_test_starts() -> None:
    program = "import urllib.request as u; u.urlopen('https://www.openml.org', timeout=60)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "refused" in done.stderr
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(error_of_a_fetch)() for _ in range(2))
    assert all("refused" in error for error in found)


TESTS = """
import os, pytest

@pytest.mark.data
def test_of_data():
    assert os.environ["OBLIQUA_DATA"] == "folder"

def test_without_data():
    assert "OBLIQUA_DATA" not in os.environ

@pytest.mark.needs("python_of_nobody")
def test_of_a_tool():
    pass
"""


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, {"1 passed", "2 skipped"}),
        ({"OBLIQUA_DATA": "folder"}, {"2 passed", "1 skipped"}),
        (
            {"OBLIQUA_DATA": "folder", "OBLIQUA_ALL_TOOLS": "1"},
            {"2 passed", "1 error"},
        ),
    ],
    ids=["nothing", "data", "all"],
)
def test_tests_are_skipped_for_what_is_missing_by_name(
    variables: dict[str, str], expected: set[str], tmp_path: Path
) -> None:
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n data\n needs\n", "utf-8")
    others = {k: v for k, v in os.environ.items() if not k.startswith(("OBLIQUA", "PYTEST"))}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-ra",
            "--tb=no",
            "--color=no",
            "-p",
            "no:cacheprovider",
        ],
        cwd=tmp_path,
        env=others | variables,
        capture_output=True,
        text=True,
    )
    assert set(done.stdout.splitlines()[-1].partition(" in ")[0].split(", ")) == expected
    assert "python_of_nobody is not installed" in done.stdout
    assert ("OBLIQUA_DATA is not set" in done.stdout) == (not variables)
