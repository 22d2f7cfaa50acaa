"""Child processes that cannot outlive us."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_GUARDIAN = Path(__file__).with_name("guardian.py")
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_libc = ctypes.PyDLL(
    None
)  # keeps the GIL: nothing may happen between fork and exec but these calls
_libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)


def die_with_parent() -> Callable[[], None]:
    """A preexec function: the kernel kills the child when the thread that started it ends.

    A tracer killed this way detaches: the kernel sets its tracees free (ptrace(2)). It also makes
    the child heed SIGINT, which we may ignore and pass on when a shell runs us in the background.
    """
    parent = os.getpid()

    def preexec() -> None:
        _libc.signal(signal.SIGINT, None)  # SIG_DFL
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before prctl took effect
            os._exit(127)

    return preexec


def guarded(argv: Sequence[str], target_pid: int) -> list[str]:
    """`argv`, a tracer by its path, so that the target runs on though we are killed meanwhile."""
    return [sys.executable, "-I", "-S", str(_GUARDIAN), str(target_pid), *argv]
