"""Many dumps of one process, with the CPU time of its threads, read back from what was stored."""

import json
from dataclasses import dataclass

from dea.errors import BackendError
from dea_runtimes.jvm.dump import JavaThread, ThreadDump, read_dump


@dataclass(frozen=True)
class Moment:
    """One dump; `used_ns` and `states` of the threads by tid, just before it."""

    at_s: float
    took_s: float
    dump: ThreadDump
    used_ns: dict[int, int]
    states: dict[int, str]

    def is_running(self, thread: JavaThread) -> bool:
        """The JVM says RUNNABLE of a native method that waits in the kernel too."""
        runnable = thread.state == "RUNNABLE"
        return runnable and not (thread.in_native and self.states.get(thread.tid) != "R")


@dataclass(frozen=True)
class Series:
    """All moments of a process, oldest first."""

    pid: int
    moments: list[Moment]

    @property
    def window_s(self) -> float:
        return self.moments[-1].at_s - self.moments[0].at_s if self.moments else 0.0

    @property
    def pause_share(self) -> float:
        """The part of the time that dumps took, in which the target may have stood still."""
        took_s = sum(moment.took_s for moment in self.moments)
        return took_s / self.window_s if self.window_s > 0 else 0.0


def read_series(pid: int, dumps: str, looks: str, tids: dict[int, int]) -> Series:
    """`tids`: as we see them, by how the process sees them, where they differ.

    Raises BackendError when no dump shows a thread.
    """
    lines = dumps.split("\n")
    moments: list[Moment] = []
    for look in json.loads(looks):
        first = look["first_line"]
        dump = read_dump(lines[first - 1 : first - 1 + look["lines"]], first)
        for thread in dump.threads:
            thread.tid = tids.get(thread.tid, thread.tid)
        used = {int(tid): used_ns for tid, (used_ns, _) in look["tasks"].items()}
        states = {int(tid): state for tid, (_, state) in look["tasks"].items()}
        moments.append(Moment(look["at_s"], look["took_s"], dump, used, states))
    if not any(moment.dump.threads for moment in moments):
        raise BackendError(f"the thread dumps cannot be read, first line: {lines[0][:120]}")
    return Series(pid, moments)
