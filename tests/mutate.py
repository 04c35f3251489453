"""Puts small mistakes into the package, one at a time, and says which tests notice them.

    python tests/mutate.py [ids ...] [--tests "pytest arguments"] [--jobs N]

The mistakes stand in `mutations.toml`: a text that occurs once in the package, what stands in its
place, and the tests that are likely to notice. A file is found by its text, so it may be moved.
Each mutant is a private copy of `src/obliqua` with the compiled modules of the package that this
Python imports, hence that package must be built from these sources: run `make test` before, or
`make mutations`, which sees to it. Where compiled code is changed, its module is built anew.

First the likely tests are run, as far as they belong to the suite that `--tests` names; if they
pass, the whole suite. At the end the tests that failed are run with the package as it is: one
that fails there too proves nothing, is left out, and its mutants are run again. The table goes to
the screen and, as Markdown, into a file. The command fails if a mutant survives.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import filecmp
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from hypothesis import Phase, settings

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PACKAGE = ROOT / "src" / "obliqua"
COMPILED = (".pyx", ".h")
KILLED, SURVIVED, LATE, BROKEN = "killed", "survived", "out of time", "not run"
LIKELY_SECONDS = 300  # after which the whole suite has its turn
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Mutation:
    id: str
    breaks: str
    old: str
    new: str
    likely: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    mutation: Mutation
    outcome: str
    test: str
    seconds: float


def read_mutations() -> list[Mutation]:
    with open(TESTS / "mutations.toml", "rb") as file:
        listed = tomllib.load(file)["mutation"]
    return [Mutation(**{**entry, "likely": tuple(entry["likely"])}) for entry in listed]


def read_sources(package: Path = PACKAGE) -> dict[Path, str]:
    return {
        path.relative_to(package): path.read_text("utf-8")
        for path in sorted(package.rglob("*"))
        if path.suffix in (".py", *COMPILED)
    }


def place_of(mutation: Mutation, sources: dict[Path, str]) -> Path:
    """The one file with the old text; ValueError if there is none, or it is there twice."""
    found = [path for path, text in sources.items() for _ in range(text.count(mutation.old))]
    if len(found) != 1:
        where = ", ".join(map(str, found)) or "nowhere"
        raise ValueError(f"{mutation.id}: its old text must stand in one place; it is in {where}.")
    return found[0]


def mutated(mutation: Mutation, sources: dict[Path, str]) -> str:
    """The whole text of the changed file; SyntaxError if it is no Python."""
    path = place_of(mutation, sources)
    text = sources[path].replace(mutation.old, mutation.new)
    if path.suffix == ".py":
        ast.parse(text, str(path))
    return text


# --- copies of the package ---------------------------------------------------------------------


class Workshop:
    """A folder with the package as it is, from which mutants are copied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = read_sources()
        self.plain = folder / "plain"
        self.building = threading.Lock()
        self.targets: list[tuple[str, Path, list[Path]]] | None = None
        shutil.copytree(
            PACKAGE,
            self.plain / "obliqua",
            ignore=shutil.ignore_patterns("__pycache__", *(f"*{s}" for s in EXTENSION_SUFFIXES)),
        )
        self._link_compiled()
        compileall.compile_dir(self.plain, quiet=1)  # once, and not in every process

    def _link_compiled(self) -> None:
        spec = importlib.util.find_spec("obliqua")
        if spec is None or spec.origin is None:
            raise SystemExit("obliqua is not installed here. Run `make test` first.")
        installed = Path(spec.origin).parent
        for path in self.sources:
            if path.suffix == ".py" and not (
                (installed / path).is_file()
                and filecmp.cmp(installed / path, PACKAGE / path, shallow=False)
            ):
                raise SystemExit(
                    f"{path} in {installed} is not that of {PACKAGE}. Run `make test` first: it "
                    "builds and installs the sources as they are."
                )
        found = [p for p in installed.rglob("*") if p.name.endswith(tuple(EXTENSION_SUFFIXES))]
        if not found:
            raise SystemExit(f"There are no compiled modules in {installed}. Run `make test`.")
        for path in found:
            link = self.plain / "obliqua" / path.relative_to(installed)
            link.symlink_to(path.resolve())

    def mutant(self, mutation: Mutation) -> Path:
        """Makes a mutant; returns the folder to import it from."""
        path = place_of(mutation, self.sources)
        folder = self.folder / mutation.id
        shutil.copytree(self.plain, folder, symlinks=True)
        (folder / "obliqua" / path).write_text(mutated(mutation, self.sources), "utf-8")
        if path.suffix in COMPILED:
            for module, built in self._build(path, mutation):
                (folder / "obliqua" / module).unlink()
                shutil.copy(built, folder / "obliqua" / module)
        return folder

    def _build(self, path: Path, mutation: Mutation) -> list[tuple[Path, Path]]:
        """Builds what a compiled source is part of: (place in the package, file) of each."""
        source, build = self.folder / "source", self.folder / "build"
        with self.building:
            if self.targets is None:
                shutil.copytree(ROOT / "src", source / "src")
                for file in ROOT.iterdir():
                    if file.is_file():
                        shutil.copy(file, source)
                _run(["meson", "setup", build, source, "-Dbuildtype=release"])
                self.targets = _targets(build)
            here = source / "src" / "obliqua" / path
            here.write_text(mutated(mutation, self.sources), "utf-8")
            # Where it stands in, itself or by another header.
            quotes = {f'"{path.name}"'}
            quotes |= {
                f'"{other.name}"'
                for other, text in self.sources.items()
                if other.suffix == ".h" and f'#include "{path.name}"' in text
            }
            out = []
            for name, module, files in self.targets:
                texts = [file.read_text("utf-8") for file in files]
                if here in files or any(quote in text for quote in quotes for text in texts):
                    _run(["ninja", "-C", build, name])
                    kept = self.folder / f"{mutation.id}-{module.name}"
                    shutil.copy(build / name, kept)
                    out.append((module, kept))
            here.write_text(self.sources[path], "utf-8")
        if not out:
            raise RuntimeError(f"{mutation.id}: no compiled module is built from {path}.")
        return out


def _targets(build: Path) -> list[tuple[str, Path, list[Path]]]:
    """What meson builds: the file in its folder, the place in the package, and the sources."""
    out = []
    for target in json.loads(_run(["meson", "introspect", "--targets", build])):
        for file, place in zip(
            target["filename"], target.get("install_filename", []), strict=False
        ):
            if place.endswith(tuple(EXTENSION_SUFFIXES)):
                parts = Path(place).parts
                module = Path(*parts[len(parts) - parts[::-1].index("obliqua") :])
                name = os.path.relpath(file, build)
                read = _run(["ninja", "-C", build, "-t", "inputs", name]).splitlines()
                sources = [(build / line).resolve() for line in read if line.endswith(".pyx")]
                out.append((name, module, sources))
    return out


def _run(command: Sequence[str | Path]) -> str:
    """Runs a tool of the environment of this Python; raises with what it said."""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr)[-3000:]
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{said}")
    return done.stdout


# --- tests -------------------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """As a plugin of pytest: a failure is enough, nobody reads the smallest example of it."""
    phases = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
    settings.register_profile("mutate", settings.default, phases=phases)
    settings.load_profile("mutate")


class Suite:
    """The tests that mutants must get past."""

    def __init__(self, arguments: str, seconds: float) -> None:
        words = shlex.split(arguments)
        self.paths = [word for word in words if (ROOT / word.partition("::")[0]).exists()]
        self.options = [word for word in words if word not in self.paths]
        self.seconds = seconds
        self.useless: set[str] = set()  # tests that fail without any mutation
        self.files = [
            path.relative_to(ROOT).as_posix()
            for path in sorted(TESTS.rglob("test_*.py"))
            if not self.paths or any(path.is_relative_to(ROOT / p) for p in self.paths)
        ]

    def likely(self, mutation: Mutation) -> list[str]:
        """The tests that a mutation names, as far as they are in the suite."""
        out = []
        for entry in mutation.likely:
            file, _, test = entry.partition("::")
            found = [f for f in self.files if f"/{f}".endswith(f"/{file}")]
            found = found or [f for f in self.files if Path(f).name == Path(file).name]
            with_it = [f for f in found if f"def {test}(" in (ROOT / f).read_text("utf-8")]
            out += [f"{name}::{test}" for name in with_it] if test and with_it else found
        return [name for name in dict.fromkeys(out) if name.partition("::")[0] not in self.useless]

    def run(
        self,
        package: Path,
        tests: Sequence[str],
        first: bool = True,
        seconds: float | None = None,
    ) -> tuple[str, set[str]]:
        """Runs tests with a copy of the package: what came of it, and which of them failed."""
        command = [sys.executable, "-m", "pytest", *(["-x"] if first else []), "-q", "--tb=no"]
        command += ["-p", "no:cacheprovider", "-p", "mutate", *self.options, *tests]
        for test in sorted(self.useless):  # without a name, it is a file that cannot be read
            command.append(f"--deselect={test}" if "::" in test else f"--ignore={test}")
        env = {
            **os.environ,
            "PYTHONPATH": f"{package}{os.pathsep}{TESTS}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(package / "hypothesis"),
        }
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=seconds or self.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return LATE, set()
        failed = set(FAILED.findall(said))
        if process.returncode in (0, 5):  # all passed, or there are none
            return SURVIVED, set()
        if process.returncode > 0 and failed:  # 1, or another where a file cannot be read
            return KILLED, failed
        if process.returncode < 0:  # the interpreter itself came down
            return KILLED, {f"signal {-process.returncode}"}
        raise RuntimeError(f"pytest failed with code {process.returncode}:\n{said[-3000:]}")

    def judge(self, workshop: Workshop, mutation: Mutation) -> Result:
        began = time.monotonic()
        outcome, failed = SURVIVED, set[str]()
        try:
            package = workshop.mutant(mutation)
            likely = self.likely(mutation)
            if likely:
                outcome, failed = self.run(package, likely, seconds=LIKELY_SECONDS)
            if outcome != KILLED:
                outcome, failed = self.run(package, self.paths)
        except RuntimeError as error:  # the others need not suffer
            outcome, failed = BROKEN, {str(error)}
        finally:
            shutil.rmtree(workshop.folder / mutation.id, ignore_errors=True)
        return Result(mutation, outcome, min(failed, default=""), time.monotonic() - began)


def judged(
    workshop: Workshop, suite: Suite, mutations: list[Mutation], jobs: int, report: Path
) -> list[Result]:
    """Judges all, and those again whose test fails with the package as it is."""
    results: dict[str, Result] = {}
    waiting = list(mutations)
    while waiting:
        with ThreadPoolExecutor(jobs) as pool:
            for result in pool.map(lambda each: suite.judge(workshop, each), waiting):
                results[result.mutation.id] = result
                print(line_of(result), flush=True)
                report.write_text(table_of(results.values()), "utf-8")
        tests = {result.test for result in results.values() if ".py" in result.test}
        outcome, useless = SURVIVED, set[str]()
        if tests:
            outcome, useless = suite.run(workshop.plain, sorted(tests), first=False)
        if outcome == LATE:
            raise RuntimeError("There was no time to see that the killers pass without mutations.")
        if useless & suite.useless:
            raise RuntimeError(f"These cannot be left out: {useless & suite.useless}")
        for test in sorted(useless):
            print(f"{test} fails without any mutation and is left out.")
        suite.useless |= useless
        waiting = [each for each in mutations if results[each.id].test in useless]
    return [results[each.id] for each in mutations]


def line_of(result: Result) -> str:
    name = result.mutation.id
    return f"{name:32} {result.outcome:12} {result.seconds:6.1f} s  {result.test}"


def table_of(results: Iterable[Result]) -> str:
    lines = ["| mutation | what it breaks | outcome | killed by | seconds |", "|--|--|--|--|--:|"]
    for result in results:
        test = f"`{result.test}`" if result.test else ""
        cells = (result.mutation.id, result.mutation.breaks, result.outcome, test)
        escaped = [cell.replace("|", "\\|") for cell in cells]
        lines.append(f"| {' | '.join(escaped)} | {result.seconds:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ids", nargs="*", help="the mutations to try; all if none is named")
    parser.add_argument("--tests", default="tests", help="arguments of pytest that name the suite")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at once")
    parser.add_argument("--seconds", type=float, default=1800, help="limit of a run of the suite")
    parser.add_argument("--report", type=Path, default=ROOT / "build" / "mutations.md")
    given = parser.parse_args()
    mutations = read_mutations()
    unknown = sorted(set(given.ids) - {each.id for each in mutations})
    if unknown:
        parser.error(f"there is no mutation {', '.join(unknown)}")
    sources, broken = read_sources(), []
    for mutation in mutations:
        try:
            mutated(mutation, sources)
        except (ValueError, SyntaxError) as error:
            broken.append(str(error))
    if broken:
        print("These mutations do not apply any more:", *broken, sep="\n", file=sys.stderr)
        return 2
    chosen = [each for each in mutations if not given.ids or each.id in given.ids]
    given.report.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="obliqua-mutations-") as folder:
        suite = Suite(given.tests, given.seconds)
        results = judged(Workshop(Path(folder).resolve()), suite, chosen, given.jobs, given.report)
    given.report.write_text(table_of(results), "utf-8")
    killed = sum(result.outcome == KILLED for result in results)
    print(f"{killed} of {len(results)} mutants were killed; the table is in {given.report}")
    return 0 if killed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
