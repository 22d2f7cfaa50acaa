"""Slow: where every thread's time goes, then the code that burns or waits."""

from dea.investigate.inquiry import Inquiry
from dea.rules import cpu, sockets, stacks, waiting
from dea.rules.draft import judge

DURATION_S = 8


async def investigate_slow(inquiry: Inquiry) -> None:
    duration_s = min(inquiry.duration_s or DURATION_S, 60)
    await inquiry.side_by_side(
        ("time_budget", {"duration_s": duration_s}),
        ("profile_cpu", {"duration_s": duration_s, "consent": inquiry.consent}),
        ("inspect_sockets", {}),
    )
    if _misses_a_place(inquiry):
        await inquiry.step("dump_stacks")  # it may stop the target for a moment, so only now
    inquiry.judge(waiting.RULES, cpu.RULES, stacks.RULES, sockets.RULES)


def _misses_a_place(inquiry: Inquiry) -> bool:
    """Whether some wait that is worth more than a remark has no line of code yet."""
    loud = (d for d in judge(inquiry.evidence, waiting.RULES) if d.severity != "info")
    return any("dump_stacks" in draft.next for draft in loud)
