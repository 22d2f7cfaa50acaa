"""Starts programs under every CPython of this machine, and reads how they were left."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.providers.observing import FIXTURES

PROGRAMS = FIXTURES / "cpython_heap"
_OLDEST, _NEWEST = 8, 14


def interpreters() -> dict[str, str]:
    """Programs by a readable name: our own, the system's and those of pyenv, each once."""
    found = [sys.executable, "/usr/bin/python3"]
    found += map(str, sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3")))
    named: dict[str, str] = {}
    for program in found:
        path = Path(program).resolve()
        minor = path.name.removeprefix("python3.").split("-")[0]
        if path.exists() and minor.isdigit() and _OLDEST <= int(minor) <= _NEWEST:
            where = "system" if str(path).startswith("/usr/bin") else path.parents[1].name
            named.setdefault(f"{path.name}-{where}", program)
    return named


@contextmanager
def running(program: str, python: str = sys.executable) -> Generator["subprocess.Popen[str]"]:
    """A program of the fixtures that has said it is ready."""
    process = subprocess.Popen(
        [python, str(PROGRAMS / program)], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def left_alone(pid: int) -> bool:
    """No thread is traced or stopped."""
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        if fields["TracerPid"] != "0" or fields["State"][0] in "tT":
            return False
    return True


def site_line(name: str) -> int:
    """The line of growing.py that is marked as the one that lets `name` grow."""
    lines = (PROGRAMS / "growing.py").read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if f"# SITE {name}" in f"{line} ".rstrip())
