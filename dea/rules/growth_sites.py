"""What holds memory that grows, from whichever evidence tells it most directly."""

from collections.abc import Sequence
from dataclasses import dataclass

from dea.contracts.data import FrameHot, HeapRetainer, Metric
from dea.rules.draft import Cited, Facts
from dea.rules.series import Growth

_LEAST_SHARE = 0.1  # of the growth, to be called its cause
_NEARLY_ALL = 0.99
_LEAST_CPU = 0.3  # of the CPU time, to be called what ran meanwhile


@dataclass(frozen=True)
class Site:
    """`text` continues the finding's sentence; `share` (0..1) of the growth is explained."""

    text: str = ""
    detail: str = ""
    evidence_ids: Sequence[str] = ()
    share: float = 0.0
    next: Sequence[str] = ()


def site_of(growth: Growth, facts: Facts) -> Site:
    """The container that grows, else the code that touches new memory, else the code that ran."""
    pid = growth.series.pid
    ran = _busiest(facts, pid)
    found = _retainer(growth, facts, ran) or _first_touch(facts, pid)
    if found is None and ran is not None:
        found = _ran_meanwhile(ran)
    where = _mappings(facts, pid)
    if found is None:
        return Site(detail=where, next=("profile_cpu", "investigate"))
    return Site(found.text, f"{found.detail} {where}".strip(), found.evidence_ids, found.share)


def _retainer(growth: Growth, facts: Facts, ran: Cited[FrameHot] | None) -> Site | None:
    """Of the containers that grow enough to matter, the user's own first, the largest first."""
    candidates = [
        (cited.data.own is not False, share, cited.data.added or 0, cited)
        for cited in facts.of(HeapRetainer)
        if cited.data.pid in (None, growth.series.pid)
        and (cited.data.added or 0) > 0
        and ((share := _explains(cited.data, growth)) >= _LEAST_SHARE or cited.data.bytes is None)
    ]
    if not candidates:
        return None
    _, share, _, best = max(candidates, key=lambda candidate: candidate[:3])
    data = best.data
    lines = [frame.place() for frame in data.sites]
    if not lines and ran is not None:
        lines = [ran.data.frame.place()]
    made = f", filled in {' or '.join(lines[:2])}" if lines else ""
    explained = f"About {share:.0%} of the growth is explained by it." if data.bytes else ""
    where = data.path or "a place that no name leads to"
    return Site(
        f"; held by {data.type} {where}: {data.added:+d} to {data.count}{made}",
        f"{explained} Lines that fill it are read from the source, not seen to run.".strip(),
        [best.id, *([ran.id] if ran is not None and not data.sites else [])],
        share or 0.5,
    )


def _explains(data: HeapRetainer, growth: Growth) -> float:
    """The share of the growth that its new items keep alive, if they are like those before."""
    if not data.bytes or not data.count:
        return 0.0
    gained_per_s = data.bytes * (data.added or 0) / data.count / (data.window_s or growth.window_s)
    return min(1.0, gained_per_s / growth.series.slope_per_s)


def _first_touch(facts: Facts, pid: int) -> Site | None:
    hot = [c for c in facts.of(FrameHot) if c.data.scope == "alloc" and c.data.pid == pid]
    best = max(hot, key=lambda cited: cited.data.share, default=None)
    if best is None or best.data.share < _LEAST_SHARE:
        return None
    rest = f", and {1 - best.data.share:.0%} of the growth came from elsewhere"
    callers = f", called from {best.data.callers[0]}" if best.data.callers else ""
    return Site(
        f"; {best.data.share:.0%} of the new memory is touched first in "
        f"{best.data.frame.place()}{callers}",
        "That is where new pages came to be used and stayed; who keeps them does not show"
        f"{rest if best.data.share < _NEARLY_ALL else ''}.",
        [best.id],
        best.data.share,
    )


def _busiest(facts: Facts, pid: int) -> Cited[FrameHot] | None:
    """The user's own function that took most CPU time while memory grew."""
    hot = [
        cited
        for cited in facts.of(FrameHot)
        if cited.data.scope == "cpu" and cited.data.pid == pid and cited.data.frame.own
    ]
    best = max(hot, key=lambda cited: cited.data.share, default=None)
    return best if best is not None and best.data.share >= _LEAST_CPU else None


def _ran_meanwhile(ran: Cited[FrameHot]) -> Site:
    share = ran.data.share
    return Site(
        f"; {ran.data.frame.place()} ran meanwhile ({share:.0%} of the CPU time)",
        "What ran while memory grew is a hint, not proof: the heap itself was not read.",
        [ran.id],
        0.5 * share,
        ("snapshot_memory",),
    )


def _mappings(facts: Facts, pid: int) -> str:
    for cited in facts.of(Metric):
        if cited.data.name == "anon_growth" and cited.data.pid == pid and cited.data.shares:
            name, share = next(iter(cited.data.shares.items()))
            return f"{share:.0%} of it came in {name}." if name.startswith("[") else ""
    return ""
