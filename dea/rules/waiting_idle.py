"""What is healthy: waiting for clients, events, time or children. At most worth a remark."""

from collections.abc import Iterator

from dea.contracts.data import Cause, Metric, Part
from dea.rules.draft import Cited, Draft, Facts
from dea.rules.thread_view import RUNNING, ThreadTime, View, read_threads
from dea.rules.waiting_groups import waits

_IDLE_CAUSES: frozenset[Cause] = frozenset(
    {
        *("futex", "accept", "poll", "tty", "child", "sleep", "signal_wait", "receive"),
        *("pipe_read", "other", "unattributed"),
    }
)
_IDLE, _LARGE, _HALF, _NOTABLE = 0.9, 0.5, 0.5, 0.2
_BUSY, _WANTED = 0.4, 0.8  # on the CPU; on it or ready for it: what it does is compute
_OFTEN_PER_S = 5  # commands that a shell waits for: then starting them is its work
_MOST_NAMED, _MOST_SLEEPERS = 4, 2


def idle(facts: Facts) -> Iterator[Draft]:
    """One remark when nothing in the whole target works or is kept from working."""
    view = read_threads(facts)
    threads = view.threads
    if not threads or any(_works(thread) for thread in threads):
        return
    pids = sorted(view.pids)
    named = [f"pid {pid} {_says(_typical(view, pid))}" for pid in pids[:_MOST_NAMED]]
    more = f", and {len(pids) - _MOST_NAMED} more" if len(pids) > _MOST_NAMED else ""
    yield Draft(
        severity="info",
        summary=f"nothing was busy or held up: {'; '.join(named)}{more}",
        evidence_ids=[thread.id for thread in threads],
        confidence="observed",
        detail="All threads wait for others to want something, for time to pass or for each other.",
        weight=0.05,
    )


def _typical(view: View, pid: int) -> ThreadTime:
    """The thread that takes clients, else the main thread."""
    return max(view.of(pid), key=lambda thread: (any(map(_serves, thread.parts)), thread.is_main))


def _serves(part: Part) -> bool:
    if "/.java_pid" in (part.object or ""):  # where a JVM listens for tools, such as ourselves
        return False
    return part.share >= _HALF and part.role in ("listen", "inbound")


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
            named = thing if part.cause == "poll" else f"clients on {thing.split(' (')[0]}"
            return f"waits for {named or 'clients'}"
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
        case "other" if part.syscall is None and thing:
            return thing
        case _:
            return f"waits ({part.cause}{' ' + thing if thing else ''})"


def sleepers(facts: Facts) -> Iterator[Draft]:
    """Threads that sleep on purpose most of the time, though the target is not all idle."""
    view = read_threads(facts)
    if not any(_works(thread) for thread in view.threads):
        return
    for waiting in waits(view, lambda part: part.cause == "sleep")[:_MOST_SLEEPERS]:
        known = waiting.place is not None and waiting.place.own
        if waiting.part.share >= _LARGE and (waiting.thread.is_main or known):
            yield Draft(
                severity="info",
                summary=f"{waiting.who} {waiting.part.share:.0%} of the time on purpose, in a sleep"
                f"{waiting.at}",
                evidence_ids=waiting.ids,
                confidence="observed",
                weight=0.2 * waiting.part.share,
            )


def children(facts: Facts) -> Iterator[Draft]:
    """Processes that only wait for children: the time goes there."""
    view = read_threads(facts)
    ended = {m.data.pid: m for m in facts.of(Metric) if m.data.name == "ended_children_cpu"}
    for thread in view.threads:
        if not thread.is_main:
            continue
        short = ended.get(thread.pid)
        longest = max(
            (part for part in thread.of("child", "pipe_read", "poll") if part.peer_pids),
            key=lambda part: part.share,
            default=None,
        )
        if short is not None and _works_through_children(thread, short.data.value):
            yield _short_lived_children(thread, short, view)
        elif longest is not None and longest.share >= _LARGE:
            yield from _points_to_child(thread, longest, view)


def _works_through_children(thread: ThreadTime, cpu_share: float) -> bool:
    """Whether ended children did most of the work, also where CPUs are scarce for all."""
    own = thread.share(*RUNNING)
    return own < _HALF and (cpu_share >= _HALF or cpu_share >= max(_NOTABLE, 4 * own))


def _short_lived_children(thread: ThreadTime, used: Cited[Metric], view: View) -> Draft:
    waited = list(thread.of("child", "pipe_read", "poll"))
    one_after_another = sum(part.share for part in waited) >= _HALF and _often(thread, waited)
    place = next((p for part in waited if (p := thread.place(part))), None)
    at = f", at {place.text}" if place is not None and place.own else ""
    return Draft(
        severity="warn" if used.data.value >= _HALF or one_after_another else "info",
        summary=f"{view.name(thread.pid)} spends its time in short-lived commands that it starts{at}: "
        f"together they used {used.data.value:.0%} of a CPU, itself "
        f"{thread.share(*RUNNING):.0%}",
        evidence_ids=[used.id, thread.id, *([place.id] if at and place is not None else [])],
        confidence="observed",
        detail="Commands that lived for less than 0.1 s are not listed one by one.",
        weight=min(1.0, max(used.data.value, sum(part.share for part in waited))),
        next=("trace_syscalls",),
    )


def _often(thread: ThreadTime, waited: list[Part]) -> bool:
    waits = sum(part.episodes or 0 for part in waited if part.cause == "child")
    return waits >= _OFTEN_PER_S * thread.window_s


def _points_to_child(thread: ThreadTime, part: Part, view: View) -> Iterator[Draft]:
    for pid in [pid for pid in part.peer_pids if pid in view.pids and pid != thread.pid]:
        doing = view.doing(pid)
        if doing is not None and (doing.is_busy or doing.is_blocked):
            yield Draft(
                severity="info",
                summary=f"pid {thread.pid} ({thread.name}) only waits for {view.name(pid)}, which "
                f"{doing.text}",
                evidence_ids=[thread.id, *doing.ids],
                confidence="observed",
                detail="Look there for the cause.",
                weight=0.3 * part.share,
            )


def busy(facts: Facts) -> Iterator[Draft]:
    """Threads that compute: what they compute is for a profile to say."""
    view = read_threads(facts)
    for thread in view.threads:
        share, kept = thread.share(*RUNNING), thread.share("runnable", "throttled")
        if share >= _BUSY or (share >= _NOTABLE and share + kept >= _WANTED):
            kernel = thread.share("cpu_kernel")
            place = thread.hottest
            yield Draft(
                severity="info",
                summary=f"{thread.title} of {view.name(thread.pid)} is on the CPU {share:.0%} of the time"
                + (f", {kernel:.0%} in the kernel" if kernel >= 0.5 * share else "")
                + (f", and ready for it another {kept:.0%}" if kept >= _NOTABLE else "")
                + (f", mostly at {place.text}" if place else ""),
                evidence_ids=[thread.id, *([place.id] if place else [])],
                confidence="observed",
                detail="profile_cpu says in which function and line.",
                weight=0.1 * (share + kept),
                next=("trace_syscalls",) if kernel >= 0.5 * share else ("profile_cpu",),
            )
