"""Watches a process and its descendants: what it sees becomes lines of text."""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dea.errors import BackendError
from dea_linux.descendants import descendants
from dea_linux.memory import limits, looks, mappings
from dea_linux.pace import Pace

_MOST_PROCESSES = 16
_AFFORDABLE_S = 0.02  # a walk over all pages holds up the target's own changes to its mappings


@dataclass
class Watch:
    """`texts` are what is stored. A line of samples is `seconds pid look name=number ...`."""

    pid: int
    texts: dict[str, str] = field(default_factory=dict[str, str])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    ended: bool = False
    _lines: list[str] = field(default_factory=list[str])
    _family: list[int] = field(default_factory=list[int])
    _paces: dict[tuple[int, str], Pace] = field(default_factory=dict[tuple[int, str], Pace])
    _refused: set[str] = field(default_factory=set[str])
    _began_s: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        self.look()
        if not self._lines:
            raise BackendError(
                f"process {self.pid} has no memory of its own",
                "It is a kernel thread or has ended; attach to another process",
            )
        self.texts["cgroup"] = limits.read(self.pid)
        self._map("mappings.begin")

    def end(self) -> None:
        if not self.ended:
            self._map("mappings.end")
        self.texts["samples"] = "\n".join([*self._lines, ""])
        self.facts = {
            "window_s": round(time.monotonic() - self._began_s, 3),
            "ended": self.ended,
            "refused": sorted(self._refused),
            "ages_s": {str(pid): looks.age_s(pid) for pid in (self.pid, *self._family)},
            "left_out": max(0, len(self._family) - _MOST_PROCESSES + 1),
        }

    def look(self) -> None:
        """Every number of every process that is due."""
        self._look_at(self.pid)
        if self.ended:
            return
        pace = self._pace(self.pid, "family", 0.5)
        if pace.due():
            self._family = pace.look(lambda: descendants(self.pid))
        for pid in self._family[: _MOST_PROCESSES - 1]:
            self._look_at(pid)

    def _look_at(self, pid: int) -> None:
        seen = self._note(pid, "status", looks.status)
        if not seen:
            self.ended = self.ended or pid == self.pid
            return
        for name, every_s, at in (
            ("descriptors", 0.25, looks.descriptors),
            ("offspring", 0.5, looks.offspring),
            ("rollup", 1.0, looks.rollup),
        ):
            pace = self._pace(pid, name, every_s)
            if pace.due() and not (name == "rollup" and pace.cost_s > _AFFORDABLE_S):
                pace.look(functools.partial(self._note, pid, name, at))

    def _note(self, pid: int, name: str, at: Callable[[int], dict[str, int]]) -> bool:
        """Write down what a look shows; False when there is nothing to see."""
        at_s = time.monotonic() - self._began_s
        try:
            numbers = at(pid)
        except PermissionError:
            self._refused.add(name)
            return False
        except OSError:  # gone
            return False
        if numbers:
            shown = " ".join(f"{key}={value}" for key, value in numbers.items())
            self._lines.append(f"{at_s:.3f} {pid} {name} {shown}")
        return bool(numbers)

    def _pace(self, pid: int, name: str, every_s: float) -> Pace:
        return self._paces.setdefault((pid, name), Pace(every_s))

    def _map(self, name: str) -> None:
        """Which mappings hold memory, unless the walk over the pages took long already."""
        if self._pace(self.pid, "rollup", 1.0).cost_s > _AFFORDABLE_S:
            return
        try:
            self.texts[name] = mappings.condense(self.pid)
        except OSError:
            self._refused.add("mappings")
