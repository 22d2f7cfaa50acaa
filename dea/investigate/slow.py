"""Slow: where every thread's time goes, then the code that burns or waits."""

from collections.abc import Iterator

from dea.contracts.data import FrameHot, Metric
from dea.contracts.evidence import Evidence
from dea.investigate.inquiry import Inquiry
from dea.rules import cpu, sockets, stacks, waiting
from dea.rules.draft import judge

DURATION_S = 8
_WORTH_A_LOOK = 0.25  # of a thread's wall time
_EXPLAINABLE = frozenset(
    {
        *("lock", "futex", "receive", "send", "connect", "pipe_read", "pipe_write"),
        *("disk", "page_fault", "file_lock", "sleep", "other"),
    }
)


async def investigate_slow(inquiry: Inquiry) -> None:
    duration_s = inquiry.duration_s or DURATION_S
    await inquiry.side_by_side(
        ("time_budget", {"duration_s": min(duration_s, 60)}),
        ("profile_cpu", {"duration_s": min(duration_s, 60), "consent": inquiry.consent}),
        ("inspect_sockets", {}),
    )
    if _held_up(inquiry.evidence) and any(_unexplained_waits(inquiry.evidence)):
        await inquiry.step("dump_stacks")  # it may stop the target for a moment, so only now
    inquiry.judge(waiting.RULES, cpu.RULES, stacks.RULES, sockets.RULES)


def _held_up(evidence: list[Evidence]) -> bool:
    """Whether some wait is worth more than a remark."""
    return any(draft.severity != "info" for draft in judge(evidence, waiting.RULES))


def _unexplained_waits(evidence: list[Evidence]) -> Iterator[int]:
    """Threads that wait for long without a sampled stack that says where in the code."""
    seen = {
        item.data.tid
        for item in evidence
        if isinstance(item.data, FrameHot) and item.data.scope == "wall"
    }
    for item in evidence:
        metric = item.data
        if not isinstance(metric, Metric) or metric.name != "thread_time" or metric.tid is None:
            continue
        waits = sum(part.share for part in metric.parts if part.cause in _EXPLAINABLE)
        if waits >= _WORTH_A_LOOK and metric.tid not in seen:
            yield metric.tid
