"""Holds every thread of a process for a moment, with ptrace; nothing in it is changed.

SEIZE and INTERRUPT send no signal, and should this process die the kernel lets the target go.
"""

import ctypes
import errno
import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17  # linux/ptrace.h
_EVENT_STOP = 128
_WALL = 0x40000000
_STOP_LIMIT_S = 0.2
_LET_GO_LIMIT_S = 2.0
_POLL_S = 0.0001
# PyDLL keeps the interpreter lock: no other thread of ours comes between while the target is held.
_ptrace = ctypes.PyDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long] * 4
_ptrace.restype = ctypes.c_long


@contextmanager
def held(pid: int) -> Generator[None]:
    """All threads of `pid` stand still inside. Raises TornError when one does not stop in time."""
    seized: set[int] = set()
    stopped: dict[int, int] = {}  # thread -> signal that it was about to receive
    try:
        seen: set[int] = set()
        while new := _threads(pid) - seen:
            seen |= new
            seized.update(tid for tid in new if _seize(tid))
            for tid in seized - stopped.keys():
                stopped[tid] = _await_stop(tid, _STOP_LIMIT_S)
        yield
    finally:
        for tid, signal_number in stopped.items():
            _ptrace(_DETACH, tid, 0, signal_number)
        for tid in seized - stopped.keys():
            _let_go(tid)


def _let_go(tid: int) -> None:
    """Only a stopped thread can be detached. Otherwise our end is what sets it free."""
    try:
        _ptrace(_DETACH, tid, 0, _await_stop(tid, _LET_GO_LIMIT_S))
    except TornError as error:
        raise CannotLookError(str(error)) from None


def _threads(pid: int) -> set[int]:
    try:
        return set(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        raise CannotLookError(f"process {pid} has ended") from None


def _seize(tid: int) -> bool:
    """False when the thread is gone."""
    if _ptrace(_SEIZE, tid, 0, 0) == 0:
        _ptrace(_INTERRUPT, tid, 0, 0)
        return True
    code = ctypes.get_errno()
    if code == errno.ESRCH:
        return False
    raise CannotLookError(f"ptrace is not allowed on thread {tid}: {os.strerror(code)}")


def _await_stop(tid: int, limit_s: float) -> int:
    """The signal that must be handed on when the thread goes on: 0 for a plain stop."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        try:
            seen, status = os.waitpid(tid, _WALL | os.WNOHANG)
        except ChildProcessError:
            return 0  # it ended
        if seen:
            return _pending_signal(status)
        time.sleep(_POLL_S)
    raise TornError(f"thread {tid} does not stop (it waits in the kernel)")


def _pending_signal(status: int) -> int:
    """A thread can stop because a signal is on its way; detaching must not lose that signal."""
    if not os.WIFSTOPPED(status) or status >> 16 == _EVENT_STOP:
        return 0
    number = os.WSTOPSIG(status)
    return 0 if number == signal.SIGTRAP and status >> 16 else number
