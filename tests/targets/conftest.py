"""Starts processes to look at, and ends them with all that they started."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

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
        return process

    yield run
    for process in started:
        for pid in [*descendants(process.pid), process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


def ready(process: Process) -> int:
    """The pid, once it has printed a line."""
    assert process.stdout is not None
    assert process.stdout.readline(), "it ended without a word"
    return process.pid
