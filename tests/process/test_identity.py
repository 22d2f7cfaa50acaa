"""Telling one process from another, and a traced one from one that runs free."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dea.errors import TargetError, TracedError
from dea.process import identity
from tests.process.waiting import stop


@pytest.fixture
def sleeper() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def test_a_process_is_itself_and_no_other(sleeper: int) -> None:
    ticks = identity.start_ticks(sleeper)
    assert ticks is not None
    identity.require_same(sleeper, ticks)
    identity.require_same(sleeper, None)
    with pytest.raises(TargetError, match=r"belongs to another process.*attach again"):
        identity.require_same(sleeper, ticks + 1)


def test_a_process_that_has_ended() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert identity.state(process.pid) == "Z"
    assert not identity.is_same(process.pid, None)
    with pytest.raises(TargetError, match="has ended"):
        identity.require_same(process.pid, None)
    process.wait()
    assert identity.start_ticks(process.pid) is None
    assert identity.parent(process.pid) == 0


def test_a_name_with_blanks_and_brackets_is_read_past(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "600"])
    try:
        assert identity.state(process.pid) in ("S", "R")
        assert identity.parent(process.pid) == os.getpid()
    finally:
        process.kill()
        process.wait()


def test_a_stopped_process_is_told(sleeper: int) -> None:
    assert not identity.is_stopped(sleeper)
    stop(sleeper)
    assert identity.is_stopped(sleeper)


@pytest.mark.needs("strace")
def test_the_tracer_is_named(sleeper: int) -> None:
    identity.require_untraced(sleeper)
    strace = subprocess.Popen(
        ["strace", "-p", str(sleeper)], stderr=subprocess.PIPE, text=True, errors="replace"
    )
    assert strace.stderr is not None
    try:
        assert "attached" in strace.stderr.readline()
        with pytest.raises(
            TracedError, match=rf"already traced by strace \(pid {strace.pid}\).*End or detach"
        ):
            identity.require_untraced(sleeper)
    finally:
        strace.kill()
        strace.communicate()
    assert identity.tracer_of(sleeper) == 0
