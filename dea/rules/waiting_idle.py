"""What is healthy: waiting for clients, events, time or children. At most worth a remark."""

from collections.abc import Iterator

from dea.contracts.data import Cause, Metric, Part
from dea.rules.draft import Draft, Facts
from dea.rules.thread_view import RUNNING, ThreadTime, View, read_threads

_IDLE_CAUSES: frozenset[Cause] = frozenset(
    {
        *("futex", "accept", "poll", "tty", "child", "sleep", "signal_wait", "receive"),
        *("pipe_read", "other", "unattributed"),
    }
)
_IDLE, _LARGE, _HALF = 0.9, 0.5, 0.5
_MOST_NAMED = 4


def idle(facts: Facts) -> Iterator[Draft]:
    """One remark when nothing in the whole target works or is kept from working."""
    view = read_threads(facts)
    threads = view.threads
    if not threads or any(_works(thread) for thread in threads):
        return
    mains = [thread for thread in threads if thread.is_main] or threads
    named = [f"pid {main.pid} {_says(main)}" for main in mains[:_MOST_NAMED]]
    more = f", and {len(mains) - _MOST_NAMED} more" if len(mains) > _MOST_NAMED else ""
    yield Draft(
        severity="info",
        summary=f"nothing was busy or held up: {'; '.join(named)}{more}",
        evidence_ids=[thread.id for thread in threads],
        confidence="observed",
        detail="All threads wait for others to want something, for time to pass or for each other.",
        weight=0.05,
    )


def _works(thread: ThreadTime) -> bool:
    idle_share = sum(
        part.share
        for part in thread.parts
        if part.cause in _IDLE_CAUSES and not (part.role == "outbound" and part.unanswered)
    )
    return idle_share < _IDLE


def _says(thread: ThreadTime) -> str:
    part = max(thread.parts, key=lambda part: part.share, default=None)
    if part is None:
        return "did nothing"
    place = thread.place(part)
    at = f" at {place.text}" if place and place.own else ""
    return f"{_phrase(part)}{at}"


def _phrase(part: Part) -> str:
    thing = part.object or ""
    match part.cause:
        case "poll" | "accept" if part.role in ("listen", "inbound"):
            return f"waits for {thing if thing.startswith('clients') else 'clients on ' + thing}"
        case "poll":
            return f"waits for {thing or 'events'}"
        case "receive":
            return f"waits for data from {thing}"
        case "sleep":
            return f"sleeps {part.share:.0%} of the time"
        case "child":
            return f"waits for its child {thing}" if thing else "waits for a child"
        case "pipe_read":
            return f"waits for input from {thing}"
        case "tty":
            return f"waits for its terminal {thing}"
        case "signal_wait":
            return "waits for a signal"
        case "futex":
            return f"waits for {thing}" if thing.startswith("the end") else "waits for its threads"
        case _:
            return f"waits ({part.cause}{' ' + thing if thing else ''})"


def sleepers(facts: Facts) -> Iterator[Draft]:
    """Main threads that sleep on purpose most of the time, though the target is not all idle."""
    view = read_threads(facts)
    if not any(_works(thread) for thread in view.threads):
        return
    for thread in view.threads:
        for part in thread.of("sleep"):
            place = thread.place(part)
            if part.share >= _LARGE and (thread.is_main or (place and place.own)):
                at = f", at {place.text}" if place else ""
                yield Draft(
                    severity="info",
                    summary=f"{thread.title} of pid {thread.pid} sleeps on purpose {part.share:.0%} of "
                    f"the time{at}",
                    evidence_ids=[thread.id, *([place.id] if place else [])],
                    confidence="observed",
                    weight=0.2 * part.share,
                )


def children(facts: Facts) -> Iterator[Draft]:
    """Processes that only wait for children: the time goes there."""
    view = read_threads(facts)
    ended = {m.data.pid: m for m in facts.of(Metric) if m.data.name == "ended_children_cpu"}
    for thread in view.threads:
        if not thread.is_main:
            continue
        short = ended.get(thread.pid)
        waits = max(thread.of("child", "pipe_read"), key=lambda part: part.share, default=None)
        if short is not None and short.data.value >= _HALF and thread.share(*RUNNING) < _HALF:
            yield Draft(
                severity="warn" if short.data.value >= 0.7 else "info",
                summary=f"pid {thread.pid} ({thread.name}) spends its time in commands that it starts and "
                f"that end again: together they used {short.data.value:.0%} of a CPU, itself "
                f"{thread.share(*RUNNING):.0%}",
                evidence_ids=[short.id, thread.id],
                confidence="observed",
                detail="Commands that lived for less than 0.1 s are not listed one by one.",
                weight=min(1.0, short.data.value),
                next=("trace_syscalls",),
            )
        elif waits is not None and waits.cause == "child" and waits.share >= _LARGE:
            yield from _points_to_child(thread, waits, view)


def _points_to_child(thread: ThreadTime, part: Part, view: View) -> Iterator[Draft]:
    for pid in part.peer_pids:
        doing = view.doing(pid)
        if doing is not None and (doing.is_busy or doing.is_blocked):
            yield Draft(
                severity="info",
                summary=f"pid {thread.pid} ({thread.name}) only waits for its child {view.name(pid)}, which "
                f"{doing.text}",
                evidence_ids=[thread.id, *doing.ids],
                confidence="observed",
                detail="Look at the child for the cause.",
                weight=0.3 * part.share,
            )


def busy(facts: Facts) -> Iterator[Draft]:
    """Threads that compute: what they compute is for a profile to say."""
    view = read_threads(facts)
    for thread in view.threads:
        share = thread.share(*RUNNING)
        if share >= _HALF:
            kernel = thread.share("cpu_kernel")
            yield Draft(
                severity="info",
                summary=f"{thread.title} of {view.name(thread.pid)} is on the CPU {share:.0%} of the time"
                + (f", {kernel:.0%} of it in the kernel" if kernel >= 0.5 * share else ""),
                evidence_ids=[thread.id],
                confidence="observed",
                detail="profile_cpu says in which function and line.",
                weight=0.1 * share,
                next=("trace_syscalls",) if kernel >= 0.5 * share else ("profile_cpu",),
            )
