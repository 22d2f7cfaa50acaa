"""A process and its descendants: who they are, and which of them does the work."""

import contextlib
import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import anyio

from dea.process import identity

_LIMIT = 4096


@dataclass(frozen=True)
class Worker:
    """A process and the share of one core that it used while we looked."""

    pid: int
    cpu_share: float


def descendants(pid: int) -> list[int]:
    """All descendants, nearest first, at most 4096."""
    by_parent = None if _kernel_lists_children() else _children_by_parent()
    found: list[int] = []
    queue = [pid]
    while queue and len(found) < _LIMIT:
        parent = queue.pop(0)
        children = _children(parent) if by_parent is None else by_parent[parent]
        found += children
        queue += children
    return found[:_LIMIT]


def ancestors(pid: int) -> list[int]:
    """The parent, its parent and so on; those that this namespace shows."""
    found: list[int] = []
    while (pid := identity.parent(pid)) > 0 and pid not in found:
        found.append(pid)
    return found


async def busiest(pids: list[int], look_s: float = 0.25) -> list[Worker]:
    """The processes that still run, ordered by the CPU they use now; ties keep their order."""
    before = {pid: _cpu_ns(pid) for pid in pids}
    await anyio.sleep(look_s)
    workers = [
        Worker(pid, max(0, _cpu_ns(pid) - before[pid]) / 1e9 / look_s)
        for pid in pids
        if identity.is_same(pid, None)
    ]
    return sorted(workers, key=lambda worker: -round(worker.cpu_share, 2))


def _kernel_lists_children() -> bool:
    """Kernels may be built without CONFIG_PROC_CHILDREN."""
    return Path("/proc/thread-self/children").exists()


def _children(pid: int) -> list[int]:
    """From /proc/PID/task/*/children, proc(5); exact unless children end meanwhile."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    except OSError:
        return found
    return found


def _children_by_parent() -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        found[identity.parent(pid)].append(pid)
    return found


def _cpu_ns(pid: int) -> int:
    """CPU time of the threads that live, from schedstat (exact, unlike the ticks in stat)."""
    total = 0
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, IndexError, ValueError):  # a thread that just ended
                total += int((task / "schedstat").read_text().split()[0])
    return total
