"""What advise and compare refuse alike: data that cannot be cross-validated, and wrong usage."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_tools import Run, table


@pytest.mark.parametrize("command", ["advise", "compare"])
@pytest.mark.parametrize(
    ("content", "part"),
    [
        (table() + "9,9,9,maybe\n", "class 'maybe' has 1 row"),
        ("a,y\n1,p\n2,p\n", "one class only"),
        ("a,y\n1,0.5\n2,0.7\n", "numbers needs at least 4 rows; got 2"),
        ("a,y\n1,p\n2,\n3,q\n", "The target 'y' is empty in 1 row"),
        ("a,b\n1,p\n2,q\n", "has no column 'y'"),
        ("y\np\nq\n", "no column left to learn from"),
        ("a,y\n1,p\n2,q\nx,p\n3,q\n", "'a' has 1 value that is no number, first 'x' in row 3"),
    ],
)
def test_bad_data(run: Run, data: Path, command: str, content: str, part: str) -> None:
    data.write_text(content)
    result = run(command, "data.csv", "-t", "y", code=1)
    assert part in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        *(
            [command, option, value]
            for command in ("advise", "compare")
            for option, value in (
                ("--folds", "1"),
                ("--repeats", "0"),
                ("--format", "xml"),
                ("--seed", "-1"),
            )
        ),
        ["advise", "--max-rows", "1"],
        ["compare", "--methods", "cart,hhcard"],
        ["compare", "--methods", ""],
    ],
)
def test_wrong_usage(run: Run, data: Path, words: list[str]) -> None:
    command, *rest = words
    result = run(command, "data.csv", "-t", "y", *rest, code=2)
    assert rest[0] in result.stderr
    assert result.stdout == ""
