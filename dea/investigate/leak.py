"""Leak: what grows and how fast, from cheap samples, and what holds it; then who holds the rest."""

from dea.investigate.inquiry import Inquiry
from dea.rules import growth, sockets

DURATION_S = 10
_LONGEST_WINDOW_S = 30


async def investigate_leak(inquiry: Inquiry) -> None:
    window_s = min(inquiry.duration_s or DURATION_S, _LONGEST_WINDOW_S)
    await inquiry.side_by_side(
        ("snapshot_memory", {"window_s": window_s}),
        ("inspect_files", {"window_s": window_s}),
        ("profile_cpu", {"duration_s": window_s}),
        ("inspect_sockets", {}),
    )
    if (inquiry.duration_s or 0) > _LONGEST_WINDOW_S:
        inquiry.limit(f"the target was watched for {_LONGEST_WINDOW_S} s, the longest window")
    inquiry.judge(growth.RULES, sockets.RULES)
