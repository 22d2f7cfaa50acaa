"""Hang: what each thread waits for, judged on more than one look so that slow is not taken for hung."""

from collections.abc import Iterator, Sequence

from dea.contracts.data import Metric
from dea.contracts.evidence import Evidence
from dea.investigate.inquiry import Inquiry
from dea.rules import sockets, stacks, waiting

DURATION_S = 4
_WITH_COROUTINES = ("python", "node")


async def investigate_hang(inquiry: Inquiry) -> None:
    duration_s = inquiry.duration_s or DURATION_S
    await inquiry.side_by_side(
        ("time_budget", {"duration_s": min(duration_s, 60)}),
        ("inspect_sockets", {}),
    )
    await inquiry.step("dump_stacks")
    inquiry.judge(stacks.RULES, waiting.RULES, sockets.RULES)
    inquiry.limit(*unseen(inquiry.evidence))


def unseen(evidence: Sequence[Evidence]) -> Iterator[str]:
    """What could hide the cause, as far as this target has anything of the kind."""
    threads = [item.data for item in evidence if isinstance(item.data, Metric) and item.data.tid]
    pids = {thread.pid for thread in threads if thread.name == "thread_time"}
    peers = {pid for thread in threads for part in thread.parts for pid in part.peer_pids}
    if peers - pids:
        yield "waits are not followed into other processes yet: a peer is named, not what it waits for"
    if any(thread.runtime in _WITH_COROUTINES for thread in threads):
        yield "coroutines that wait inside an event loop are not seen yet, only threads"
