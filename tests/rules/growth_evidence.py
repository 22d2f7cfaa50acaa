"""Series and descriptors for tests of the rules over growth."""

from collections.abc import Callable, Iterable

from dea.contracts.data import (
    Data,
    Fd,
    FdSummary,
    MetricSeries,
)
from dea.contracts.data.resources import FdType
from dea.contracts.data.sockets import SocketRole
from dea.contracts.evidence import Evidence
from dea.contracts.trend import metric_series
from dea.rules.draft import Draft, judge
from dea.rules.growth import RULES

PID = 4242
MIB = 2**20
WINDOW_S = 5.0


def conclude(*data: Data | Iterable[Data]) -> list[Draft]:
    flat = [x for item in data for x in ([item] if isinstance(item, Data) else item)]
    evidence = [
        Evidence(id=f"t.e{number}", kind=item.kind, summary="x", data=item)
        for number, item in enumerate(flat)
    ]
    drafts = judge(evidence, RULES)
    known = {item.id for item in evidence}
    assert all(set(draft.evidence_ids) <= known for draft in drafts)
    return drafts


def loud(drafts: list[Draft]) -> list[Draft]:
    return [draft for draft in drafts if draft.severity != "info"]


def series(name: str, value: Callable[[float], float], pid: int = PID) -> MetricSeries:
    points = [(i / 10, float(value(i / 10))) for i in range(int(WINDOW_S * 10) + 1)]
    return metric_series(name, "bytes" if name.endswith("_bytes") else "count", pid, points)


def memory(rate_mib: float, start_mib: float = 100) -> list[Data]:
    """Anonymous and resident memory that grow in a straight line."""
    anon = series("anon_bytes", lambda t: (start_mib + rate_mib * t) * MIB)
    return [anon, series("rss_bytes", lambda t: (start_mib + 8 + rate_mib * t) * MIB)]


def descriptors(
    *looks: int,
    path: str = "/tmp/x-*.log",
    type_: FdType = "file",
    state: str | None = None,
    role: SocketRole | None = None,
    soft_limit: int | None = 100_000,
) -> list[Data]:
    """One group with its count at each look, and the summary of a process that holds only it."""
    added = looks[-1] - looks[0]
    summary = FdSummary(
        pid=PID,
        total=looks[-1],
        by_type={type_: looks[-1]},
        soft_limit=soft_limit,
        window_s=WINDOW_S,
        added={type_: added} if added else {},
    )
    group = Fd(
        pid=PID,
        type=type_,
        path=path,
        count=looks[-1],
        added=added,
        state=state,
        role=role,
        looks=list(looks),
    )
    return [summary, group]


RISING = tuple(range(10, 110, 10))
CLIENTS = descriptors(*RISING, path="tcp from clients of 0.0.0.0:80", type_="socket",
                      state="ESTABLISHED", role="inbound")  # fmt: skip
