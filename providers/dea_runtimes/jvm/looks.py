"""Takes thread dumps of a virtual machine again and again, with the CPU time of its threads between."""

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from dea_runtimes.jvm.attach import Door, open_door
from dea_runtimes.jvm.process import outer_tids, read_machine, resident_bytes

_EVERY_S = 0.1
_PAUSES = 20  # times as long as a dump took: the target stands still for it
_RECENT = 5  # dumps by which the cost is judged
_LONGEST_AT_FIRST_S = 0.5
_DEEP_COST_S = 0.03
_DEEP_RESIDENT_BYTES = 128 * 2**20
_LARGEST_BYTES = 32 * 2**20  # of all dumps
_TASKS = 1024
_WANTS_LOCK = re.compile(
    r"parking to wait for\s+<\w+> \(a java\.util\.concurrent\.locks\.Reentrant"
)


class Look(TypedDict):
    """One dump, as JSON holds it. `tasks`: [CPU time in ns, state] by tid, just before the dump."""

    at_s: float
    took_s: float
    first_line: int
    lines: int
    tasks: dict[str, tuple[int, str]]


@dataclass
class Watch:
    """The dumps of one process, and when the next is due.

    Owners of lock objects (not of monitors) are only in "deep" dumps, for which the JVM searches
    its whole heap: those are taken of small heaps, and only while somebody waits for such a lock.
    """

    pid: int
    door: Door
    began_s: float
    looks: list[Look] = field(default_factory=list[Look])
    dumps: list[str] = field(default_factory=list[str])
    tids: dict[int, int] = field(default_factory=dict[int, int])
    next_s: float = 0.0
    _deep: bool = False
    _deep_cost_s: float = 0.0
    _bytes: int = 0

    @property
    def is_full(self) -> bool:
        return self._bytes > _LARGEST_BYTES

    def look(self) -> None:
        """Take one dump. Raises BackendError when the JVM does not answer."""
        tasks = _tasks(self.pid, self.looks[-1]["tasks"] if self.looks else {})
        at_s = time.monotonic()
        text = self.door.command("threaddump", *(["-l"] if self._deep else []))
        took_s = time.monotonic() - at_s
        self._add(text, at_s - self.began_s, took_s, tasks)
        self._deep_cost_s = max(self._deep_cost_s, took_s if self._deep else 0.0)
        self._deep = (
            self._deep_cost_s < _DEEP_COST_S
            and _WANTS_LOCK.search(text) is not None
            and resident_bytes(self.pid) <= _DEEP_RESIDENT_BYTES
        )
        # The cheapest of the last: dearer ones waited for a CPU, or for the collector to end.
        typical_s = min(look["took_s"] for look in self.looks[-_RECENT:])
        pause_s = _PAUSES * typical_s
        if len(self.looks) < _RECENT:
            pause_s = min(pause_s, _LONGEST_AT_FIRST_S)
        self.next_s = at_s + max(_EVERY_S, pause_s)

    def _add(
        self, text: str, at_s: float, took_s: float, tasks: dict[str, tuple[int, str]]
    ) -> None:
        text = text if text.endswith("\n") else f"{text}\n"
        last = self.looks[-1] if self.looks else None
        self.looks.append(
            Look(
                at_s=round(at_s, 4),
                took_s=round(took_s, 4),
                first_line=last["first_line"] + last["lines"] if last else 1,
                lines=text.count("\n"),
                tasks=tasks,
            )
        )
        self.dumps.append(text)
        self._bytes += len(text)
        if self.door.machine.inner_pid != self.pid:
            self.tids |= outer_tids(self.pid)


def open_watch(pid: int) -> Watch:
    """Raises BackendError when the process is no JVM that can be asked."""
    door = open_door(read_machine(pid))
    return Watch(pid, door, time.monotonic())


def _tasks(pid: int, before: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    """CPU time and state of each thread; the state only of those that ran since the last look."""
    found: dict[str, tuple[int, str]] = {}
    try:
        names = sorted(path.name for path in Path(f"/proc/{pid}/task").iterdir())[:_TASKS]
    except OSError:
        return found
    for name in names:
        task = Path(f"/proc/{pid}/task/{name}")
        try:
            used_ns = int((task / "schedstat").read_text().split()[0])
            ran = name not in before or before[name][0] != used_ns
            stat = (task / "stat").read_text(errors="replace") if ran else ") S"
        except (OSError, IndexError, ValueError):
            continue  # it has just ended, or the kernel keeps no such account
        found[name] = (used_ns, stat[stat.rindex(")") + 2])
    return found
