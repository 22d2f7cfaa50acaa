"""What a series that grows means: how much came, how fast, and how long it can go on."""

from collections.abc import Iterator
from dataclasses import dataclass

from dea.contracts.data import Cgroup, Fd, MetricSeries, Process
from dea.contracts.quantities import in_unit
from dea.contracts.trend import Trend, largest_fall
from dea.rules.draft import Cited, Draft, Facts

_LOAD = 0.66  # so many new connections from clients for each new thing: the clients explain it

_LEAST_BYTES = 2**20
_LEAST_SHARE = 0.005  # of resident memory
_LONGEST_S = 30  # what may be asked for
_LONG_S = 20.0


@dataclass(frozen=True)
class Growth:
    """A series that grows, and all that is asked of it."""

    cited: Cited[MetricSeries]

    @property
    def series(self) -> MetricSeries:
        return self.cited.data

    @property
    def window_s(self) -> float:
        return self.series.points[-1][0] - self.series.points[0][0]

    @property
    def amount(self) -> float:
        """What came in the window, by the fit."""
        return self.series.slope_per_s * self.window_s

    @property
    def never_fell(self) -> bool:
        values = [value for _, value in self.series.points]
        return largest_fall(values) <= 0.02 * self.amount

    def rate(self) -> str:
        """`4.1 MiB/s (3.9 MiB to 4.3 MiB)`."""
        series = self.series
        return rate_text(
            Trend(
                series.slope_per_s, series.slope_low_per_s, series.slope_high_per_s, series.shape
            ),
            series.unit,
        )


@dataclass(frozen=True)
class Grown:
    """A conclusion about one process, so that others can take it into account."""

    pid: int
    draft: Draft


def growing(facts: Facts, name: str) -> Iterator[Growth]:
    """Series of that name that grow; one per process, the longest watched."""
    best: dict[int, Growth] = {}
    for cited in facts.of(MetricSeries):
        if cited.data.name != name or cited.data.shape != "growing":
            continue
        known = best.get(cited.data.pid)
        if known is None or Growth(cited).window_s > known.window_s:
            best[cited.data.pid] = Growth(cited)
    yield from best.values()


def latest(facts: Facts, name: str, pid: int) -> float:
    """The last value of a series; 0 when there is none."""
    found = [
        c.data.last for c in facts.of(MetricSeries) if (c.data.name, c.data.pid) == (name, pid)
    ]
    return found[-1] if found else 0.0


def least_bytes(facts: Facts, pid: int) -> float:
    """Growth of memory in a window that is less is not material."""
    return max(_LEAST_BYTES, _LEAST_SHARE * latest(facts, "rss_bytes", pid))


def longer(growth: Growth) -> str:
    """What to do about a window that was too short to tell."""
    if growth.window_s < _LONG_S:
        return f"duration_s={_LONGEST_S} (window_s of a single tool) would tell more"
    return "a second look some minutes later would tell more"


def rate_text(trend: Trend, unit: str) -> str:
    rate, low, high = (
        in_unit(value, unit) for value in (trend.slope_per_s, trend.low_per_s, trend.high_per_s)
    )
    return f"{rate}/s ({low} to {high})"


def runtime_of(facts: Facts, pid: int) -> str:
    """As the evidence says; "" when it does not."""
    found = [c.data.runtime for c in facts.of(Process) if c.data.pid == pid and c.data.runtime]
    return found[-1] if found else ""


def memory_limit(facts: Facts) -> Cited[Cgroup] | None:
    """The cgroup whose memory limit is nearest."""
    limits = [c for c in facts.of(Cgroup) if c.data.memory_limit_bytes and c.data.memory_bytes]
    return min(limits, key=left_bytes, default=None)


def left_bytes(limit: Cited[Cgroup]) -> float:
    return max(0, (limit.data.memory_limit_bytes or 0) - (limit.data.memory_bytes or 0))


def new_clients(facts: Facts, pid: int) -> list[Cited[Fd]]:
    """Connections of clients that came in the window and are open on both sides."""
    return [
        cited
        for cited in facts.of(Fd)
        if cited.data.pid == pid
        and cited.data.role == "inbound"
        and cited.data.state == "ESTABLISHED"
        and (cited.data.added or 0) > 0
    ]


def is_load(facts: Facts, pid: int, amount: float) -> list[str]:
    """Evidence that clients explain so many new things; empty when they do not."""
    clients = new_clients(facts, pid)
    came = sum(cited.data.added or 0 for cited in clients)
    return [cited.id for cited in clients] if came >= _LOAD * amount else []
