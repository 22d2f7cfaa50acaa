"""Descriptors that are opened and not closed: which kind, to what, and how long that can go on."""

from collections.abc import Iterator, Sequence

from dea.contracts.data import Fd, FdSummary, MetricSeries
from dea.contracts.data.resources import FdType
from dea.contracts.quantities import in_figures, in_time
from dea.contracts.trend import Trend, trend
from dea.rules.draft import Cited, Draft, Facts
from dea.rules.series import Grown, growing, is_load, rate_text

_FEWEST = 5
_SOON_S = 600.0
_FAR_S = 86400.0
_NEARLY_ALL = 0.9
_PLURAL: dict[FdType, str] = {
    "file": "open files",
    "directory": "open directories",
    "device": "open devices",
    "pipe": "pipes",
    "socket": "sockets",
    "eventfd": "eventfds",
    "epoll": "epoll instances",
    "inotify": "inotify instances",
    "memfd": "memory files",
    "other": "descriptors",
}


def descriptor_growth(facts: Facts) -> Iterator[Grown]:
    """At most one conclusion per process about leaks, besides those about clients that connect."""
    for summary in facts.of(FdSummary):
        groups = list(_growing_groups(facts, summary.data))
        clients = [(fd, found) for fd, found in groups if _is_client(fd.data)]
        for fd, found in clients:
            yield Grown(summary.data.pid, _clients(fd, found, summary))
        others = [(fd, found) for fd, found in groups if not _is_client(fd.data)]
        if others:
            yield Grown(summary.data.pid, _leak(others, summary, facts))
        elif not clients:
            yield from _of_many_names(summary, facts)


def nearly_full(facts: Facts) -> Iterator[Draft]:
    """A process about to reach its limit of descriptors, growing or not."""
    for summary in facts.of(FdSummary):
        data = summary.data
        if data.soft_limit and data.total >= _NEARLY_ALL * data.soft_limit:
            kinds = ", ".join(f"{count} {kind}" for kind, count in data.by_type.items())
            yield Draft(
                "warn",
                f"process {data.pid} has {data.total} of its {data.soft_limit} descriptors open "
                f"({kinds}); opening more will fail with EMFILE",
                [summary.id],
                "observed",
                weight=0.5,
                next=("inspect_sockets",),
            )


def _growing_groups(facts: Facts, summary: FdSummary) -> Iterator[tuple[Cited[Fd], Trend]]:
    """Groups that grow steadily over the looks, the one that grew most first."""
    mine = [fd for fd in facts.of(Fd) if fd.data.pid == summary.pid]
    for fd in sorted(mine, key=lambda fd: -(fd.data.added or 0)):
        if (fd.data.added or 0) < _FEWEST or len(fd.data.looks) < 2:
            continue
        step_s = summary.window_s / (len(fd.data.looks) - 1)
        found = trend([(at * step_s, float(n)) for at, n in enumerate(fd.data.looks)], grain=1)
        if found.shape == "growing":
            yield fd, found


def _is_client(fd: Fd) -> bool:
    return fd.role == "inbound" and fd.state == "ESTABLISHED"


def _clients(fd: Cited[Fd], found: Trend, summary: Cited[FdSummary]) -> Draft:
    return Draft(
        "info",
        f"clients connect to process {fd.data.pid} faster than they leave: {rate_text(found, 'count')} "
        f"{fd.data.path}, now {fd.data.count}{_headroom(summary.data, found)[1]}",
        [fd.id, summary.id],
        "observed",
        "Both ends hold these connections open, so this is load, unless clients have long lost "
        "interest and only this side keeps them.",
        weight=0.4,
        next=("inspect_sockets",),
    )


def _leak(
    groups: Sequence[tuple[Cited[Fd], Trend]], summary: Cited[FdSummary], facts: Facts
) -> Draft:
    """About the group that grew most; others of the same type are counted with it."""
    first, found = groups[0]
    came = first.data.added or 0
    load = is_load(facts, summary.data.pid, came) if first.data.state != "CLOSE_WAIT" else []
    total = max(came, sum(count for count in summary.data.added.values() if count > 0))
    left_s, headroom = _headroom(summary.data, found)
    rest = ", ".join(f"{fd.data.path} {fd.data.added:+d}" for fd, _ in groups[1:3])
    soon = left_s is not None and left_s < _SOON_S
    return Draft(
        "info" if load else "high" if soon else "warn",
        f"{_PLURAL[first.data.type]} of process {summary.data.pid} grow "
        f"{rate_text(found, 'count')}, {_share(came, total)} {_what(first.data)} "
        f"({first.data.count} open, {came:+d} in {summary.data.window_s:.1f} s){headroom}"
        + ("; each client that connects brings one" if load else ""),
        [summary.id, *(fd.id for fd, _ in groups), *load],
        "observed",
        _advice(first.data) + (f" Growing too: {rest}." if rest else ""),
        weight=0.3 if load else came / total,
        next=("trace_syscalls", "dump_stacks"),
    )


def _of_many_names(summary: Cited[FdSummary], facts: Facts) -> Iterator[Grown]:
    """Descriptors that grow although no group of them does: each goes to something else."""
    data = summary.data
    for growth in growing(facts, "fds"):
        series: MetricSeries = growth.series
        net = series.last - series.first
        if series.pid != data.pid or net < _FEWEST:
            continue
        load = is_load(facts, data.pid, net)
        kinds = ", ".join(f"{count:+d} {kind}" for kind, count in data.added.items())
        yield Grown(
            data.pid,
            Draft(
                "info" if load else "warn",
                f"descriptors of process {data.pid} grow {growth.rate()}, to many different names "
                f"({kinds})",
                [growth.cited.id, summary.id, *load],
                "observed",
                weight=0.6,
                next=("trace_syscalls",),
            ),
        )


def _headroom(summary: FdSummary, found: Trend) -> tuple[float | None, str]:
    """Seconds until the limit at this rate, and that as text."""
    if not summary.soft_limit or found.slope_per_s <= 0:
        return None, ""
    left_s = max(0, summary.soft_limit - summary.total) / found.slope_per_s
    if left_s > _FAR_S:
        return left_s, ""
    return left_s, f"; the limit of {summary.soft_limit} is reached in {in_time(left_s)}"


def _share(came: int, total: int) -> str:
    return "all" if came >= 0.95 * total else f"{came / total:.0%} of it"


def _what(fd: Fd) -> str:
    state = f" in {fd.state}" if fd.state else ""
    return f"{fd.path}{state}{' (deleted)' if fd.deleted else ''}"


def _advice(fd: Fd) -> str:
    if fd.state == "CLOSE_WAIT":
        return "The peer has closed these connections; this process never closes its own end."
    if fd.type == "socket":
        return (
            "Connections are opened and neither closed nor used again. To confirm, find who "
            f"connects: {in_figures(fd.added or 0)} new ones and none gone."
        )
    return "They are opened again and again and not closed; whoever opens them shows in a trace."
