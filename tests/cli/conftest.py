"""`dea` in this process or as a program, and a process to look at."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dea.cli.entry import run

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "tool_result.schema.json").read_text())
DEA = [sys.executable, "-m", "dea"]


@dataclass(frozen=True)
class Answer:
    """What one command line gave."""

    code: int
    out: str
    err: str

    def result(self) -> dict[str, Any]:
        """stdout as a ToolResult."""
        result: dict[str, Any] = json.loads(self.out)
        jsonschema.validate(result, SCHEMA)
        return result


Dea = Callable[..., Answer]


@pytest.fixture
def dea(capsys: pytest.CaptureFixture[str]) -> Dea:
    """`dea("ps", "--json")` runs in this process, with output that is no terminal."""

    def call(*words: object) -> Answer:
        code = run([str(word) for word in words])
        out, err = capsys.readouterr()
        return Answer(code, out, err)

    return call


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing until its stdin is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdout.write('.'); sys.stdout.flush(); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.read(1)
        yield process
        process.stdin.write(b"\n")
        process.stdin.close()
