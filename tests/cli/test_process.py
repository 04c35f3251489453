"""The command as a process: exit codes, pipes, signals, missing packages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli_tools import Run, Shell, table
from interrupts import ctrl_c_means
from obliqua.cli import main

BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {blocked!r}:
            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)
sys.meta_path.insert(0, Blocker())
sys.argv = ['obliqua', *{words!r}]
from obliqua.cli import main
sys.exit(main())
"""


def blocked(package: str, *words: str) -> subprocess.CompletedProcess[str]:
    program = BLOCKER.format(blocked={package}, words=words)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


@pytest.mark.parametrize("package", ["click", "rich", "polars"])
def test_without_an_extra_one_line_says_what_to_install(package: str, data: Path) -> None:
    done = blocked(package, "compare", "data.csv", "-t", "y", "--folds", "2", "-m", "cart")
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"needs the package {package}" in line
    assert f"pip install {package} (obliqua's extra 'cli'" in line


def test_help_needs_no_tables(data: Path) -> None:
    assert blocked("polars", "fit", "--help").returncode == 0


# --- what is written ---------------------------------------------------------------------------


def test_the_data_are_not_replaced_by_the_model(run: Run, data: Path, folder: Path) -> None:
    before = data.read_bytes()
    (folder / "link.csv").symlink_to(data)
    for output in ("data.csv", "./data.csv", "link.csv"):
        result = run("fit", "data.csv", "-t", "y", "-o", output, code=1)
        assert "is the file that is read" in result.stderr
    assert data.read_bytes() == before


def test_nor_by_predictions_or_pictures(run: Run, data: Path, model: Path) -> None:
    kept = data.read_bytes(), model.read_bytes()
    run("predict", "m.obliqua", "data.csv", "-o", "data.csv", code=1)
    run("show", "m.obliqua", "--dot", "m.obliqua", code=1)
    assert (data.read_bytes(), model.read_bytes()) == kept


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", ["fit --help", "fit data.csv -t y -o x.obliqua"])
def test_a_full_disk_behind_stdout_is_told(shell: Shell, data: Path, words: str) -> None:
    done = shell(f"obliqua {words} > /dev/full")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ") and "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fit data.csv -t y -o /dev/full", "room"),
        ("predict m.obliqua data.csv -q -o full.csv", "full.csv cannot be written"),
    ],
)
def test_a_full_disk_is_told(run: Run, model: Path, words: str, said: str) -> None:
    Path("full.csv").symlink_to("/dev/full")
    done = run(*words.split(), code=1)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ") and said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert Path("/dev/full").is_char_device()


# --- pipes and signals -------------------------------------------------------------------------


def test_a_command_works_in_a_pipe(shell: Shell, model: Path) -> None:
    done = shell("cat data.csv | obliqua predict m.obliqua - -q | sort | uniq -c")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[1::2] == ["no", "prediction", "yes"]


@pytest.mark.skipif(os.name == "nt", reason="pipes end differently there")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_early(shell: Shell, model: Path, unbuffered: str) -> None:
    shell = partial(shell, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    Path("many.csv").write_text(table(25_000))  # more than a pipe holds
    done = shell("{ obliqua predict m.obliqua many.csv -q; echo $? >&2; } | head -2")
    assert done.stdout.splitlines()[0] == "prediction"
    assert done.stderr == "141\n"
    if unbuffered:
        return
    done = shell("{ obliqua compare data.csv -t y -m cart --folds 2; echo $? >&2; } | true")
    assert done.stderr == "141\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes end differently there")
@pytest.mark.parametrize("words", ["--help", "--version", "fit --help"])
def test_a_reader_that_does_not_want_help(shell: Shell, words: str) -> None:
    """What is printed before a command runs ends as quietly; `sleep` lets the reader leave."""
    done = shell(f"{{ (sleep 0.2; obliqua {words}); echo $? >&2; }} | true")
    assert (done.stdout, done.stderr) == ("", "141\n")


def test_streams_that_are_closed(run: Run, shell: Shell, data: Path) -> None:
    """Nothing that is written to them gets into other files."""
    run("fit", "data.csv", "-t", "y", "-o", "a.obliqua")
    assert shell("obliqua fit data.csv -t y -o b.obliqua >&- 2>&- <&-").returncode == 0
    assert Path("a.obliqua").read_bytes() == Path("b.obliqua").read_bytes()
    done = shell("obliqua predict b.obliqua data.csv -o p.csv >&-")
    assert (done.returncode, done.stderr) == (0, "Note: 1 column not used: 'y'.\n")
    assert Path("p.csv").read_text("utf-8").startswith("prediction\n")
    done = shell("obliqua predict b.obliqua - <&-")
    assert (done.returncode, done.stdout) == (1, "")
    assert "is empty" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
def test_ctrl_c(handler: Any, folder: Path) -> None:
    """It ends the command in a terminal; in the background, where it is ignored, it stays so."""
    words = [sys.executable, "-m", "obliqua", "fit", "-", "-t", "y"]
    pipe = subprocess.PIPE
    with ctrl_c_means(handler):
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdin is not None
    # More than a pipe holds: when all is written, the command is reading, and waits for more.
    process.stdin.write(table(8000))
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    if handler is signal.SIG_IGN:
        assert (process.returncode, err) == (0, "")
        assert (folder / "model.obliqua").exists()
    else:
        assert (process.returncode, out, err) == (130, "", "Interrupted.\n")


def test_main_returns_the_exit_code(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert main(["fit", "data.csv"]) == 2
    assert main(["fit", "nothing.csv", "-t", "y"]) == 1
    assert "nothing.csv is not there" in capsys.readouterr().err
    assert main(["fit", "data.csv", "-t", "nothing", "-o", "x", "--debug"]) == 1
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.splitlines()[-1].startswith("Error: --target")


def test_what_nobody_expected(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("gone")

    monkeypatch.setattr("obliqua.cli.fit.make_estimator", broken)
    result = run("fit", "data.csv", "-t", "y", code=1)
    assert result.stderr.startswith("Error: This should not have happened: KeyError: 'gone'")
    assert "report" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_panic_of_the_reader_is_one_line(
    shell: Shell, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = table()[:-1] + '"\n"'  # polars 2.1 panics at this, and says so itself
    data.write_text(text)
    done = shell("RUST_BACKTRACE=1 obliqua fit data.csv -t y -o x")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: data.csv cannot be read as CSV")
    assert len(done.stderr.splitlines()) == 1
    # Other versions may not panic there; that a panic is understood does not depend on it.
    import polars

    def panic(*_: Any, **__: Any) -> None:
        raise polars.exceptions.PanicException("slice index")

    monkeypatch.setattr(polars, "read_csv", panic)
    assert main(["fit", "data.csv", "-t", "y", "-o", "x"]) == 1


def test_too_little_memory(run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("obliqua.cli.fit.read_whole", broken)
    assert "not enough memory" in run("fit", "data.csv", "-t", "y", code=1).stderr


def test_a_screen_that_lacks_letters(shell: Shell) -> None:
    Path("t.csv").write_text("größe,y\n1,あ\n2,b\n", "utf-8")
    done = shell("obliqua fit t.csv -t y -m cart", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "\\u3042 (1)" in done.stdout
    done = shell(
        "obliqua predict model.obliqua t.csv -q",
        env={**os.environ, "PYTHONIOENCODING": "latin1"},
        encoding="utf-8",
    )
    assert "あ" in done.stdout  # data are UTF-8 wherever they go


def test_progress_and_colour_are_for_terminals_only(run: Run, data: Path) -> None:
    result = run("compare", "data.csv", "-t", "y", "-m", "cart", "--folds", "2")
    assert "comparing" not in result.stderr
    assert "\x1b" not in result.output
