"""Child processes that cannot outlive us."""

import ctypes
import os
import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> Callable[[], None]:
    """A preexec function: the kernel kills the child when the thread that started it ends.

    A tracer killed this way detaches: the kernel sets its tracees free (ptrace(2)).
    """
    parent = os.getpid()

    def preexec() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before prctl took effect
            os._exit(127)

    return preexec
