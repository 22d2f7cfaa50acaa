"""Waits for something in another process without guessing how long it takes."""

import os
import select
import signal
from collections.abc import Callable
from pathlib import Path

import anyio

LIMIT_S = 20.0


async def until(holds: Callable[[], object]) -> None:
    """Until it holds; the test fails when that takes far too long."""
    with anyio.fail_after(LIMIT_S):
        while not holds():
            await anyio.sleep(0.01)


def wait_gone(pid: int) -> None:
    """Until a process that may not be our child has ended."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([pidfd], [], [], LIMIT_S)[0], f"process {pid} still runs"
    finally:
        os.close(pidfd)


def stop(pid: int) -> None:
    """Stop a child, and wait until it is."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)


def is_our_child(pid: int) -> bool:
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def lines(path: Path) -> list[str]:
    """The whole lines that a program has written so far."""
    text = path.read_text() if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def pids_in(path: Path) -> list[int]:
    return [int(line) for line in lines(path)]
