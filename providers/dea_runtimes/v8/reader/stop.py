"""Stops one thread for a fraction of a millisecond, with ptrace; nothing in it is changed.

It is seized and let go again for each look, so that between looks it is not traced: signals reach
it undelayed, and should this process die in the middle the kernel lets the thread go.
"""

import contextlib
import ctypes
import errno
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from dea_runtimes.cpython_heap.reader.failures import CannotLookError

_SEIZE, _INTERRUPT, _DETACH, _GETREGS = 0x4206, 0x4207, 17, 12  # linux/ptrace.h
_EVENT_STOP = 128
_WALL = 0x40000000
_STOP_LIMIT_S, _LET_GO_LIMIT_S = 0.05, 2.0
_Seen = TypeVar("_Seen")
# PyDLL keeps the interpreter lock: no other thread of ours comes between while the target is held.
_ptrace = ctypes.PyDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
_ptrace.restype = ctypes.c_long
_registers = (ctypes.c_uint64 * 27)()  # user_regs_struct of x86-64
_R13, _RBP, _SYSCALL, _RIP, _RSP, _FS_BASE = 2, 4, 15, 16, 19, 21
_NO_SYSCALL = 1 << 63  # and above: it is a negative number


@dataclass(frozen=True)
class Registers:
    r13: int
    rbp: int
    syscall: int | None  # that it was stopped in
    rip: int
    rsp: int
    fs_base: int


def look(tid: int, seen: Callable[[Registers], _Seen]) -> tuple[_Seen, float] | None:
    """What `seen` makes of the stopped thread, and how long it was looked at (s).

    None when it did not stop in time. Raises CannotLookError when it may not be traced or is gone.
    """
    if _ptrace(_SEIZE, tid, 0, None) != 0:
        code = ctypes.get_errno()
        if code == errno.ESRCH:
            raise CannotLookError(f"thread {tid} has ended")
        raise CannotLookError(f"ptrace is not allowed on thread {tid}: {os.strerror(code)}")
    pending: int | None = None
    _hurry(True)
    try:
        _ptrace(_INTERRUPT, tid, 0, None)
        pending = _await_stop(tid, _STOP_LIMIT_S)
        if pending is None:
            return None
        stopped_s = time.perf_counter()
        if _ptrace(_GETREGS, tid, 0, ctypes.byref(_registers)) != 0:
            raise CannotLookError(f"thread {tid} has ended")
        result = seen(_read_registers())
        return result, time.perf_counter() - stopped_s
    finally:
        _let_go(tid, pending)
        _hurry(False)


def _read_registers() -> Registers:
    syscall = _registers[_SYSCALL]
    return Registers(
        r13=_registers[_R13],
        rbp=_registers[_RBP],
        syscall=syscall if syscall < _NO_SYSCALL else None,
        rip=_registers[_RIP],
        rsp=_registers[_RSP],
        fs_base=_registers[_FS_BASE],
    )


def _hurry(yes: bool) -> None:
    """On a busy host, whoever is held should not wait for us to get a CPU."""
    policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK if yes else os.SCHED_OTHER
    with contextlib.suppress(OSError):  # where that is not allowed, a hold may last longer
        os.sched_setscheduler(0, policy, os.sched_param(1 if yes else 0))


def _let_go(tid: int, pending: int | None) -> None:
    """Only a stopped thread can be detached. Otherwise our end is what sets it free."""
    if pending is None:
        pending = _await_stop(tid, _LET_GO_LIMIT_S)
    if pending is None:
        raise CannotLookError(f"thread {tid} does not stop (it waits in the kernel)")
    _ptrace(_DETACH, tid, 0, ctypes.c_void_p(pending))


def _await_stop(tid: int, limit_s: float) -> int | None:
    """The signal that must be handed on when the thread goes on: 0 for a plain stop."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # the kernel says so by this
    until_s = time.monotonic() + limit_s
    while True:
        try:
            seen, status = os.waitpid(tid, _WALL | os.WNOHANG)
        except ChildProcessError:
            return 0  # it ended
        if seen:
            return _pending_signal(status)
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            return None
        signal.sigtimedwait({signal.SIGCHLD}, left_s)


def _pending_signal(status: int) -> int:
    """A thread can stop because a signal is on its way; detaching must not lose that signal."""
    if not os.WIFSTOPPED(status) or status >> 16 == _EVENT_STOP:
        return 0
    number = os.WSTOPSIG(status)
    return 0 if number == signal.SIGTRAP and status >> 16 else number
