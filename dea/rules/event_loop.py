"""A call that waits inside an event loop holds up every other task of it."""

from collections.abc import Iterator

from dea.contracts.data import Cause, FrameHot, Part
from dea.rules.draft import Draft, Facts
from dea.rules.thread_view import RUNNING, read_threads
from dea.rules.waiting_groups import MOST, MUCH, waits

_POLL_BY_THEMSELVES = frozenset({"Node.js"})  # with none of the user's code on the stack
# What an event loop does not do itself: it waits in poll, and computes.
_BLOCKING: dict[Cause, str] = {
    "sleep": "in a sleep",
    "receive": "for data from",
    "send": "for room to send to",
    "connect": "for a connection to",
    "disk": "for the disk",
    "child": "for a child process",
    "pipe_read": "for data from",
    "pipe_write": "for room in",
    "file_lock": "for a lock on",
    "lock": "for",
    "futex": "for another thread",
}


def blocked_loops(facts: Facts) -> Iterator[Draft]:
    """Threads whose event loop called something that waits."""
    view = read_threads(facts)
    loops = {hot.id: hot.data.event_loop for hot in facts.of(FrameHot) if hot.data.event_loop}
    for waiting in waits(view, lambda part: part.cause in _BLOCKING):
        place, part = waiting.place, waiting.part
        if place is None or not place.own or place.id not in loops:
            continue
        yield Draft(
            severity=waiting.severity(view),
            summary=f"{place.text} blocks the {loops[place.id]} event loop: {waiting.who} "
            f"{part.share:.0%} of the time {_for_what(part)} there, and no other task can run",
            evidence_ids=waiting.ids,
            confidence="inferred",
            detail="The call does not give way to the loop. Use the loop's own way to wait for this, "
            "or move it to a thread.",
            weight=min(1.0, 1.1 * part.share),
        )


def synchronous_calls(facts: Facts) -> Iterator[Draft]:
    """A callback that waits for events by itself: a synchronous call such as execSync.

    Only a loop that never polls with the user's code on the stack can be judged like this.
    """
    for thread in read_threads(facts).threads:
        hot = max(
            (h for h in thread.hots if h.data.event_loop in _POLL_BY_THEMSELVES),
            key=lambda h: h.data.share,
            default=None,
        )
        if hot is None or not hot.data.frame.own:
            continue
        # Whatever it did not spend working or waiting for a CPU, it spent waiting there.
        working = thread.share(*RUNNING, "runnable", "throttled", "stopped")
        share = min(hot.data.share - working, thread.share("poll"))
        if share >= MUCH:
            through = f" through {hot.data.below[0]}" if hot.data.below else ""
            yield Draft(
                severity="high" if share >= MOST else "warn",
                summary=f"{hot.data.frame.place()} blocks the {hot.data.event_loop} event loop: "
                f"{thread.title} of pid {thread.pid} waits {share:.0%} of the time in a synchronous "
                f"call made there{through}, and no other callback can run",
                evidence_ids=[thread.id, hot.id],
                confidence="inferred",
                detail="Use the asynchronous form of the call (exec for execSync, and so on).",
                weight=min(1.0, 1.1 * share),
            )


def _for_what(part: Part) -> str:
    names_object = part.cause not in ("sleep", "futex", "disk", "child")
    thing = f" {part.object}" if names_object and part.object else ""
    longest = f" (up to {part.longest_s:.1f} s each)" if (part.longest_s or 0) >= 0.1 else ""
    return f"{_BLOCKING[part.cause]}{thing}{longest}"
