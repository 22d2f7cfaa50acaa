"""Hang: what each thread waits for, judged on more than one look so that slow is not taken for hung."""

from dea.investigate.inquiry import Inquiry
from dea.rules import sockets, stacks, waiting

DURATION_S = 4


async def investigate_hang(inquiry: Inquiry) -> None:
    duration_s = inquiry.duration_s or DURATION_S
    await inquiry.side_by_side(
        ("time_budget", {"duration_s": min(duration_s, 60)}),
        ("inspect_sockets", {}),
    )
    await inquiry.step("dump_stacks")
    inquiry.judge(stacks.RULES, waiting.RULES, sockets.RULES)
    inquiry.limit(
        "waits are not followed into other processes yet: a peer is named, not what it waits for",
        "coroutines that wait inside an event loop are not seen yet, only threads",
    )
