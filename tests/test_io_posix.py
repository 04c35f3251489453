"""Model files where the system is of the family of Unix: kills, limits, permissions."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from obliqua.errors import ModelFileError, ModelFileIOError
from obliqua.io.files import read_model, write_model
from obliqua.io.format import to_bytes
from test_io_atomic import NEW, OLD, assert_untouched

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="these kills, limits, permissions and devices are Unix's"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.obliqua"
    write_model(OLD, path)
    return path


LIMITED = """
import resource, signal, sys
from obliqua.io import read_model, write_model
from obliqua.errors import ModelFileIOError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
model, _ = read_model(sys.argv[1])
try:
    write_model(model, sys.argv[2])
except ModelFileIOError as error:
    print(error)
"""


def test_a_full_disk(path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The system itself refuses to write more than 1,000 bytes."""
    other = tmp_path_factory.mktemp("other") / "new.obliqua"
    write_model(NEW, other)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(other), str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "no room" in done.stdout
    assert str(path) in done.stdout
    assert_untouched(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has this device")
def test_a_device_that_is_full() -> None:
    with pytest.raises(ModelFileIOError, match=r"/dev/full.*no room"):
        write_model(NEW, "/dev/full")
    with pytest.raises(ModelFileIOError, match="no room"), open("/dev/full", "wb", 0) as file:
        write_model(NEW, file)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


SAVING = """
import sys
from obliqua.io import read_model, write_model
models = [read_model(path)[0] for path in sys.argv[2:]]
print("ready", flush=True)
while True:
    for model in models:
        write_model(model, sys.argv[1])
"""

# Children that save without end, each of them killed a moment after its first save.
KILLING = """
import os, random, signal, sys, time
from obliqua.io import read_model, write_model
path, *sources = sys.argv[1:]
models = [read_model(source)[0] for source in sources]
moment = random.Random(0)
ready, done = os.pipe()
for _ in range(40):
    child = os.fork()
    if child == 0:
        write_model(models[1], path)
        os.write(done, b"x")
    while child == 0:
        for model in models:
            write_model(model, path)
    os.read(ready, 1)
    time.sleep(moment.uniform(0.001, 0.04))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(models.index(read_model(path)[0]))  # an error if it is neither
"""


def test_a_kill_at_any_moment(tmp_path: Path) -> None:
    path, *sources = [tmp_path / name / "m.obliqua" for name in ("target", "old", "new")]
    for source, model in zip((path, *sources), (OLD, OLD, NEW), strict=True):
        source.parent.mkdir()
        write_model(model, source)
    command = [sys.executable, "-c", KILLING, *map(str, (path, *sources))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    # Which of the two it is depends on the moment: a busy machine may show only the new one.
    assert set(done.stdout.split()) <= {"0", "1"}
    assert len(done.stdout.split()) == 40
    # What a kill leaves behind has a name of its own, which nobody takes for a model.
    assert all(
        other.name.startswith(".obliqua-") for other in path.parent.iterdir() if other != path
    )


def test_a_reader_never_sees_half_a_file(path: Path) -> None:
    """Read as fast as possible while another process saves."""
    other = path.parent / "other.obliqua"
    write_model(NEW, other)
    command = [sys.executable, "-c", SAVING, str(path), str(path), str(other)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            seen = [read_model(path)[0].n_classes for _ in range(300)]
        finally:
            process.kill()
    assert set(seen) <= {2, 3}


# --- permissions, links and places -----------------------------------------------------------


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_permissions_are_those_of_any_file(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "m.obliqua"
    plain.write_bytes(b"")
    write_model(OLD, path)
    assert mode(path) == mode(plain)


def test_permissions_of_an_old_file_stay(path: Path) -> None:
    path.chmod(0o640)
    write_model(NEW, path)
    assert mode(path) == 0o640
    assert read_model(path)[0] == NEW


def test_a_private_file_is_private_while_it_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(0o600)
    seen = []
    fsync = os.fsync

    def look(descriptor: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    old = os.umask(0o022)
    try:
        write_model(NEW, path)
    finally:
        os.umask(old)
    assert seen[0] == 0o600
    assert mode(path) == 0o600


def test_links_are_followed(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    old = path.stat().st_ino
    write_model(NEW, link)
    assert link.is_symlink()
    assert read_model(path)[0] == NEW
    assert path.stat().st_ino != old  # replaced as a whole, not written over


def test_links_to_nothing_yet(tmp_path: Path) -> None:
    link, path = tmp_path / "link", tmp_path / "m.obliqua"
    link.symlink_to(path)
    write_model(NEW, link)
    assert link.is_symlink()
    assert read_model(path)[0] == NEW


def test_the_new_name_lasts_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First the file, then the folder that names it, are brought to the disk."""
    kinds = []
    monkeypatch.setattr(
        os, "fsync", lambda number: kinds.append(stat.S_IFMT(os.fstat(number).st_mode))
    )
    write_model(NEW, path)
    assert kinds == [stat.S_IFREG, stat.S_IFDIR]


def test_the_longest_name_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / ("m" * 255)
    write_model(OLD, path)
    assert read_model(path)[0] == OLD


def test_a_pipe(tmp_path: Path) -> None:
    """What is no ordinary file is written to, not replaced."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb'), sys.stdout.buffer)"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(pipe)], stdout=subprocess.PIPE
    ) as process:
        write_model(OLD, pipe)
        data, _ = process.communicate()
    assert read_model(io.BytesIO(data))[0] == OLD
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ModelFileError, match="is a pipe, and nobody has written into it"):
        read_model(pipe)
    writer = os.open(pipe, os.O_RDWR)  # there is somebody, who has written nothing yet
    late = threading.Timer(0.1, lambda: (os.write(writer, to_bytes(OLD)), os.close(writer)))
    late.start()
    assert read_model(pipe)[0] == OLD
    late.join()


NAMELESS = """
import sys
from obliqua.io import read_model, write_model
write_model(read_model(sys.argv[1])[0], sys.argv[2])
"""


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="not every Unix has these names")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_open_files_by_their_number(path: Path, name: str) -> None:
    """They lead to something that has no name of its own, such as a pipe."""
    command = [sys.executable, "-c", NAMELESS, str(path), name]
    done = subprocess.run(command, check=True, capture_output=True)
    assert read_model(io.BytesIO(done.stdout))[0] == OLD
    lost = path.parent / "lost"
    with lost.open("w+b") as file:
        lost.unlink()
        subprocess.run(command, check=True, stdout=file)
        file.seek(0)
        assert read_model(file)[0] == OLD
    assert_untouched(path)


def test_names_that_the_system_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ModelFileIOError, match="Not a directory"):
        write_model(OLD, tmp_path / "file" / "m")
    with pytest.raises(ModelFileIOError, match="File name too long"):
        write_model(OLD, tmp_path / ("m" * 300))


def test_a_device_without_an_end() -> None:
    with pytest.raises(ModelFileError, match="not a model file"):
        read_model("/dev/zero")
