"""Leak: what grows and how fast, from cheap samples; then, if something grows, what holds it."""

from dea.contracts.data import MetricSeries
from dea.contracts.evidence import Evidence
from dea.investigate.inquiry import Inquiry
from dea.rules import growth, sockets

DURATION_S = 10
_LONGEST_WINDOW_S = 30


async def investigate_leak(inquiry: Inquiry) -> None:
    window_s = min(inquiry.duration_s or DURATION_S, _LONGEST_WINDOW_S)
    await inquiry.side_by_side(
        ("snapshot_memory", {"window_s": window_s}),
        ("inspect_files", {"window_s": window_s}),
        ("profile_cpu", {"duration_s": max(1, window_s)}),
        ("inspect_sockets", {}),
    )
    if _memory_grows(inquiry.evidence) and inquiry.target.runtime in ("native", "go", "unknown"):
        await inquiry.observe("snapshot_memory.sites", duration_s=min(window_s, 5))
    inquiry.judge(growth.RULES, sockets.RULES)


def _memory_grows(evidence: list[Evidence]) -> bool:
    return any(
        isinstance(item.data, MetricSeries)
        and item.data.name in ("anon_bytes", "rss_bytes", "heap_bytes")
        and item.data.shape == "growing"
        for item in evidence
    )
