"""What holds for every test: no network, and the papers' data for those tests only that say so."""

from __future__ import annotations

import gc
import ipaddress
import os
import shutil
import socket
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest

# --- no network -------------------------------------------------------------------------------

#: Nothing listens there. Programs that tests start, and processes of joblib, learn from the
#: environment that this is the way to the network, and are refused at once.
NO_PROXY_HERE = ("127.0.0.1", 9)
HOST_COMES_FIRST = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
ADDRESS_COMES_SECOND = ("socket.connect", "socket.sendto", "socket.sendmsg")


def stay_on_this_machine(event: str, args: tuple[Any, ...]) -> None:
    """Fail the test that looks for another machine.

    This hears of every socket of the process, whoever opens it. A failure of pytest is no
    Exception: nothing under test can take it for a lost connection and go on.
    """
    opened = None
    if event in HOST_COMES_FIRST:
        host, port = args[0], None
    elif event in ADDRESS_COMES_SECOND:
        opened, address = args
        if opened.family not in (socket.AF_INET, socket.AF_INET6) or not address:
            return
        host, port = address[:2]
    else:
        return
    if is_this_machine(host) and (host, port) != NO_PROXY_HERE:
        return
    if opened is not None:
        opened.close()  # or another test would be told that it is still open
    pytest.fail(
        f"this test reached for the network ({event} to {host!r}), and no test may: give it what "
        "it needs, or mark it `data` if it needs the papers' files"
    )


def is_this_machine(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:  # the name of another machine
        return False
    return address.is_loopback or address.is_unspecified


def pytest_configure() -> None:
    for name in ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy"):
        for spelling in (name, name.upper()):
            os.environ[spelling] = "http://{}:{}".format(*NO_PROXY_HERE)
    for name in ("no_proxy", "NO_PROXY"):
        os.environ.pop(name, None)
    sys.addaudithook(stay_on_this_machine)


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what stays for ever: ten thousand tests and all modules."""
    gc.freeze()


# --- what a machine may lack ------------------------------------------------------------------


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The one place where tests are skipped for what this machine lacks."""
    if item.get_closest_marker("data") and not os.environ.get("OBLIQUA_DATA"):
        pytest.skip("OBLIQUA_DATA is not set: it must name the folder with the papers' data sets")
    for mark in item.iter_markers("needs"):
        for tool in mark.args:
            if shutil.which(tool) is None:
                say = pytest.fail if os.environ.get("OBLIQUA_ALL_TOOLS") else pytest.skip
                say(f"{tool} is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Hide the papers' data from tests that do not say that they need them.

    So a mark that was forgotten is noticed on every machine, not only where there are none.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not item.get_closest_marker("data"):
            patch.delenv("OBLIQUA_DATA", raising=False)
        return (yield)


@pytest.fixture(autouse=True, scope="session")
def _no_data_of_earlier_days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the cache of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OBLIQUA_CACHE", str(tmp_path_factory.mktemp("home") / "cache"))
        yield
