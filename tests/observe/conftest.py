"""A process to look at, and a run that looks at it."""

import subprocess
from collections.abc import Iterator

import pytest

from dea.tools.run import Run
from tests.backends import run_on


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def run(sleeper: "subprocess.Popen[bytes]") -> Run:
    return run_on(sleeper.pid)
