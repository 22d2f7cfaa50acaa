"""The sole right to trace, and what is found wrong afterwards."""

import os
import subprocess
from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest

from dea.errors import BackendError, TracedError
from dea.process import identity
from dea.process.tracing import tracing
from tests.process.waiting import stop

pytestmark = pytest.mark.anyio


@pytest.fixture
def sleeper() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def strace_of(pid: int) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        ["strace", "-p", str(pid)], stderr=subprocess.PIPE, text=True, errors="replace"
    )
    assert process.stderr is not None
    assert "attached" in process.stderr.readline()
    return process


async def test_one_at_a_time_also_when_the_sets_only_overlap(sleeper: int) -> None:
    order: list[str] = []

    async def trace(name: str, pids: list[int]) -> None:
        async with tracing(pids, name):
            order.append(f"{name} begins")
            await anyio.lowlevel.checkpoint()
            order.append(f"{name} ends")

    async with anyio.create_task_group() as group:
        group.start_soon(trace, "a", [sleeper, os.getpid()])
        group.start_soon(trace, "b", [os.getpid()])
        group.start_soon(trace, "c", [sleeper])
    assert order[0::2] == [text.replace("ends", "begins") for text in order[1::2]]


@pytest.mark.needs("strace")
async def test_somebody_elses_tracer_is_respected(sleeper: int) -> None:
    strace = strace_of(sleeper)
    try:
        with pytest.raises(TracedError, match=f"strace .pid {strace.pid}"):
            async with tracing([sleeper], "gdb"):
                pytest.fail("must not begin")
    finally:
        strace.kill()
        strace.communicate()


@pytest.mark.needs("strace")
@pytest.mark.parametrize("fault", [None, ValueError("it broke")])
async def test_a_tracer_that_did_not_let_go_is_told(
    sleeper: int, fault: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dea.process.tracing._LET_GO_LIMIT_S", 0.1)
    started: list[subprocess.Popen[str]] = []

    async def trace() -> None:
        async with tracing([sleeper], "strace.trace"):
            started.append(strace_of(sleeper))
            if fault is not None:
                raise fault

    try:
        with pytest.raises(BackendError, match="strace.trace did not let go") as raised:
            await trace()
        assert f"process {sleeper} is still traced by {started[0].pid}" in str(raised.value)
        assert fault is None or str(raised.value).startswith("it broke; and")
    finally:
        for strace in started:
            strace.kill()
            strace.communicate()


async def test_a_cancellation_goes_on_when_all_is_well(sleeper: int) -> None:
    with anyio.CancelScope() as scope:
        async with tracing([sleeper], "strace.trace"):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    async with tracing([sleeper], "strace.trace"):
        pass  # the lock is free again


async def test_a_target_that_was_left_stopped_is_continued(sleeper: int) -> None:
    async with tracing([sleeper], "gdb.dump"):
        stop(sleeper)
    assert not identity.is_stopped(sleeper)


async def test_a_target_that_was_stopped_before_stays_so(sleeper: int) -> None:
    stop(sleeper)
    async with tracing([sleeper], "gdb.dump"):
        pass
    assert identity.is_stopped(sleeper)


async def test_a_target_that_ends_meanwhile_is_no_trouble() -> None:
    process = subprocess.Popen(["sleep", "600"])
    async with tracing([process.pid], "gdb.dump"):
        process.kill()
        process.wait()
