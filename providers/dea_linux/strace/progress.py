"""How fast processes get on, so that a tracer can say how much it slowed them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from dea_linux import procfs


@dataclass(frozen=True)
class Progress:
    """Counters of some processes at one moment; see proc(5), PID/io and PID/task/TID/schedstat."""

    at_s: float
    cpu_ns: int
    reads_and_writes: int

    @classmethod
    def read(cls, pids: Sequence[int]) -> "Progress":
        return cls(
            time.monotonic(),
            sum(_cpu_ns(pid) for pid in pids),
            sum(_reads_and_writes(pid) for pid in pids),
        )

    def since(self, earlier: "Progress") -> dict[str, float]:
        """Rates over the time between: a share of one core, and calls per second."""
        lasted_s = max(self.at_s - earlier.at_s, 1e-6)
        return {
            "cpu_share": round((self.cpu_ns - earlier.cpu_ns) / 1e9 / lasted_s, 4),
            "io_per_s": round((self.reads_and_writes - earlier.reads_and_writes) / lasted_s, 1),
        }


def _cpu_ns(pid: int) -> int:
    total = 0
    for tid in procfs.threads(pid):
        fields = procfs.read_text(f"/proc/{pid}/task/{tid}/schedstat").split()
        total += int(fields[0]) if fields else 0
    return total


def _reads_and_writes(pid: int) -> int:
    """read(2), write(2) and their kin, on whatever descriptor; not recv(2) and send(2)."""
    lines = procfs.read_text(f"/proc/{pid}/io").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("syscr", "syscw")))
