"""Programs to watch."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

Program = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def program() -> Iterator[Program]:
    """Runs Python code until it calls ready(), and kills it and its children after the test."""
    with ExitStack() as stack:

        def start(code: str) -> "subprocess.Popen[bytes]":
            head = "def ready(*facts): print(*facts, flush=True)\n"
            process = subprocess.Popen(
                [sys.executable, "-c", head + code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                process_group=0,
            )
            stack.enter_context(process)
            stack.callback(os.killpg, process.pid, 9)
            return process

        yield start
