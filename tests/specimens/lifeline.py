# Support for the specimens, no specimen itself: says ready, and sees to it that nothing is left behind.
"""Every Python specimen calls `lifeline()` first and `ready()` once its fault is in steady state.

A specimen ends on SIGTERM, by itself after DEA_SPECIMEN_LIFE_S seconds (120), and when the thread
that started it dies. There is no handler and no timer thread, so a profile shows only the specimen.
"""

import atexit
import ctypes
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG = 1


def lifeline() -> None:
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)
    signal.alarm(int(os.environ.get("DEA_SPECIMEN_LIFE_S", "120")))


def ready(**facts: object) -> None:
    """One line: `ready pid=1 port=2`. Goes to the descriptor DEA_READY_FD, else to stdout."""
    line = " ".join(["ready", *(f"{key}={value}" for key, value in facts.items())])
    line = f"{line} pid={os.getpid()}\n"
    given = os.environ.pop("DEA_READY_FD", None)
    if given is None:
        print(line, end="", flush=True)
        return
    os.write(int(given), line.encode())
    os.close(int(given))


def scratch() -> Path:
    """A folder of its own, removed when the specimen ends on SIGTERM or at its limit."""
    folder = Path(tempfile.mkdtemp(prefix="dea-specimen-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGALRM, _leave)
    return folder


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
