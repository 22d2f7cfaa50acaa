"""Small processes that hold sockets until the test ends."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

# Runs the code, says what it printed, and lives until our end of its stdin is closed.
Child = Callable[..., "subprocess.Popen[str]"]
_PRELUDE = "import os, socket, sys\nkeep = []\n"
_WAIT = "\nprint('ready', flush=True)\nsys.stdin.read()\n"


@pytest.fixture
def child() -> Iterator[Child]:
    with ExitStack() as stack:

        def start(code: str, *wrapper: str) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [*wrapper, sys.executable, "-c", _PRELUDE + code + _WAIT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            line = process.stdout.readline()
            if line != "ready\n":
                pytest.skip(f"cannot start {wrapper or 'the child'}")
            return process

        yield start
