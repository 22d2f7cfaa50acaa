"""Reads back the samples of a process and its descendants, as series."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from dea.backend import Observation
from dea.contracts.data import MetricSeries
from dea.contracts.secrets import target_text
from dea.contracts.trend import Point, metric_series
from dea.errors import BackendError

LEAKING = ("anon_bytes", "shmem_bytes", "threads", "fds", "zombies", "children")
_MOST_DESCENDANTS = 2
_BORN_LATE = 0.2  # of the window


@dataclass(frozen=True)
class _Line:
    """What one look at one process showed."""

    at_s: float
    pid: int
    look: str
    numbers: dict[str, int]


@dataclass
class Samples:
    """All numbers by process and name; `lines` are the first and last line of each process."""

    target: int
    points: dict[tuple[int, str], list[Point]] = field(
        default_factory=dict[tuple[int, str], list[Point]]
    )
    lines: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    born_s: dict[int, float] = field(default_factory=dict[int, float])  # when it was first seen
    last_s: float = 0.0
    bad: list[str] = field(default_factory=list[str])

    def series(self, pid: int, name: str) -> MetricSeries | None:
        """None when there is no such sample."""
        points = self.points.get((pid, name))
        unit = "bytes" if name.endswith("_bytes") else "count"
        return metric_series(name, unit, pid, points) if points else None

    def growing_descendants(self) -> list[int]:
        """Those in which something grows, the one with the most memory gained first.

        One that was born in the window grows because it starts, and is left out.
        """
        gained: dict[int, float] = {}
        for pid, born_s in self.born_s.items():
            if pid == self.target or born_s > _BORN_LATE * self.last_s:
                continue
            found = [series for name in LEAKING if (series := self.series(pid, name))]
            if any(series.shape == "growing" for series in found):
                gained[pid] = found[0].last - found[0].first
        return sorted(gained, key=lambda pid: -gained[pid])[:_MOST_DESCENDANTS]

    def add(self, line: _Line, number: int) -> None:
        """Take one line, in the order in which they were written."""
        self.lines[line.pid] = (self.lines.get(line.pid, (number, number))[0], number)
        self.born_s.setdefault(line.pid, line.at_s)
        self.last_s = line.at_s
        for name, value in self._numbers(line):
            self.points.setdefault((line.pid, name), []).append((line.at_s, float(value)))

    def _numbers(self, line: _Line) -> Iterator[tuple[str, int]]:
        """What was swapped out is anonymous memory still."""
        numbers = dict(line.numbers)
        if line.look == "status":
            numbers["anon_bytes"] = numbers.get("anon_bytes", 0) + numbers.get("swap_bytes", 0)
            self._sum_up(line, numbers.get("rss_bytes", 0))
        yield from numbers.items()

    def _sum_up(self, line: _Line, rss_bytes: int) -> None:
        """All that follows the target's own line belongs to the same moment."""
        family = self.points.setdefault((self.target, "family_rss_bytes"), [])
        if line.pid == self.target:
            family.append((line.at_s, 0.0))
        if family:
            family[-1] = (family[-1][0], family[-1][1] + rss_bytes)


def read(observation: Observation) -> Samples:
    """Raises BackendError when no line is a sample of the target."""
    samples = Samples(observation.pid)
    for number, text in enumerate(observation.text("samples").splitlines(), 1):
        line = _parse(text)
        if line is None:
            samples.bad.append(text)
        else:
            samples.add(line, number)
    if (observation.pid, "rss_bytes") not in samples.points:
        bad = f": {target_text(samples.bad[0], 120)}" if samples.bad else ""
        raise BackendError(f"no sample of process {observation.pid} is readable{bad}")
    return samples


def _parse(text: str) -> _Line | None:
    """`seconds pid look name=number ...`, as `watch` writes it."""
    try:
        at, pid, look, *pairs = text.split()
        split = (pair.partition("=") for pair in pairs)
        return _Line(float(at), int(pid), look, {name: int(value) for name, _, value in split})
    except ValueError:
        return None
