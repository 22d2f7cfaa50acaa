"""A call that waits inside an event loop holds up every other task of it."""

from collections.abc import Iterator

from dea.contracts.data import Cause, FrameHot, Part
from dea.rules.draft import Draft, Facts
from dea.rules.thread_view import read_threads
from dea.rules.waiting_groups import waits

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


def _for_what(part: Part) -> str:
    names_object = part.cause not in ("sleep", "futex", "disk", "child")
    thing = f" {part.object}" if names_object and part.object else ""
    longest = f" (up to {part.longest_s:.1f} s each)" if (part.longest_s or 0) >= 0.1 else ""
    return f"{_BLOCKING[part.cause]}{thing}{longest}"
