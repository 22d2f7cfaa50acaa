"""A process and its descendants: who they are, and which of them does the work."""

from dataclasses import dataclass
from pathlib import Path

import anyio

_LIMIT = 256


@dataclass(frozen=True)
class Worker:
    """A process and the share of one core that it used while we looked."""

    pid: int
    cpu_share: float


def descendants(pid: int) -> list[int]:
    """All descendants, nearest first, at most 256."""
    found: list[int] = []
    queue = [pid]
    while queue and len(found) < _LIMIT:
        children = _children(queue.pop(0))
        found += children
        queue += children
    return found[:_LIMIT]


async def busiest(pids: list[int], look_s: float = 0.25) -> list[Worker]:
    """The processes that still run, ordered by the CPU they use now; ties keep their order."""
    before = {pid: _cpu_ns(pid) for pid in pids}
    await anyio.sleep(look_s)
    workers = [
        Worker(pid, (after - (before[pid] or 0)) / 1e9 / look_s)
        for pid in pids
        if (after := _cpu_ns(pid)) is not None
    ]
    return sorted(workers, key=lambda worker: -round(worker.cpu_share, 2))


def _children(pid: int) -> list[int]:
    """From /proc/PID/task/*/children, proc(5); exact unless children end meanwhile."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    except OSError:
        return found
    return found


def _cpu_ns(pid: int) -> int | None:
    """CPU time of all threads, from schedstat (exact, unlike the ticks in stat)."""
    total = 0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    except (OSError, IndexError, ValueError):
        return None
    return total
