"""Which processes are likely to live as long as the window.

perf 6.1 polls without a pause once a process that it was told to sample has ended, and takes a
whole CPU until the window is over. What is born meanwhile it follows without being told.
"""

import os
import time
from collections.abc import Sequence

from dea_linux import procfs

_BUSY = 0.1  # of its life spent on a CPU: worth its samples, whatever it costs


def lasting(pids: Sequence[int], window_s: float) -> list[int]:
    """The first, which is the reason to look, and of the others those that are old or busy."""
    return [pid for at, pid in enumerate(pids) if at == 0 or _is_worth_it(pid, window_s)]


def _is_worth_it(pid: int, window_s: float) -> bool:
    """By fields 14, 15 and 22 of /proc/PID/stat, in clock ticks (proc(5))."""
    fields = procfs.stat_fields(procfs.read_text(f"/proc/{pid}/stat"))
    if len(fields) < 20:
        return False
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / ticks_per_s
    used_s = (int(fields[11]) + int(fields[12])) / ticks_per_s
    return age_s > window_s or used_s > _BUSY * age_s
