"""Starts processes to look at, and ends them with all that they started."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dea.process import identity
from dea.targets.family import descendants

Process = subprocess.Popen[bytes]
Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program; keyword arguments are for its environment."""
    started: list[Process] = []

    def run(*argv: str | Path, **environment: str) -> Process:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | environment
        )
        started.append(process)
        _await_exec(process, [os.fsencode(arg) for arg in argv])
        return process

    yield run
    for process in started:
        for pid in [*descendants(process.pid), process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


def _await_exec(process: Process, argv: list[bytes]) -> None:
    """The kernel gives a process its new name and arguments a moment after Popen returns."""
    cmdline = Path(f"/proc/{process.pid}/cmdline")
    while (
        identity.state(process.pid) not in ("Z", None)
        and cmdline.read_bytes().split(b"\0")[: len(argv)] != argv
    ):
        os.sched_yield()


def ready(process: Process) -> int:
    """The pid, once it has printed a line."""
    assert process.stdout is not None
    assert process.stdout.readline(), "it ended without a word"
    return process.pid
