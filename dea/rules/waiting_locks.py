"""Rules over locks: mutexes whose owner is proven, locks seen only in the code, Python's GIL."""

import re
from collections import defaultdict
from collections.abc import Iterator

from dea.contracts.data import LockWait, Part
from dea.contracts.finding import Severity
from dea.rules.draft import Cited, Draft, Facts
from dea.rules.places import Place
from dea.rules.thread_view import RUNNING, ThreadTime, View, read_threads

_NOTICED, _MUCH, _MOST = 0.1, 0.25, 0.7  # of a thread's wall time
_WHOLE = 0.9  # of the window
# An owner that waits for clients or work with a lock held: workers take turns at it.
_TAKING_TURNS = frozenset({"accept", "tty", "pipe_read", "signal_wait"})
_ENTERS = re.compile(r"^\s*(async )?with\b")  # takes something and gives it back
_TAKES = re.compile(r"\bacquire\b")  # may also be how a worker waits for work
_LOCK_NAME = re.compile(r"lock|mutex", re.IGNORECASE)

Waiter = tuple[ThreadTime, Part, Place | None]


def owned_locks(facts: Facts) -> Iterator[Draft]:
    """Locks whose owner was read from the lock itself."""
    view = read_threads(facts)
    for lock in facts.of(LockWait):
        if lock.data.owner_tid is not None:
            yield from _owned_lock(lock, lock.data.owner_tid, view)


def _owned_lock(lock: Cited[LockWait], owner: int, view: View) -> Iterator[Draft]:
    waiters = list(_waiters(lock.data, view))
    worst = max([part.share for _, part, _ in waiters], default=lock.data.share or 0.0)
    contended = len(lock.data.waiters) > 1 or any((p.episodes or 0) > 1 for _, p, _ in waiters)
    whole = any((part.longest_s or 0) >= _WHOLE * t.window_s for t, part, _ in waiters)
    if worst < _NOTICED:
        return
    holder = view.by_tid(owner)
    takes_turns = lock.data.owner_state in _TAKING_TURNS or _polls_for_clients(holder)
    loud = worst >= _MUCH and (contended or whole) and not takes_turns
    severity: Severity = ("high" if worst >= _MOST else "warn") if loud else "info"
    name = lock.data.owner_thread or (holder.name if holder else "") or "thread"
    meanwhile = (
        f", which meanwhile mostly {_does(lock.data.owner_state)}" if lock.data.owner_state else ""
    )
    count = len(lock.data.waiters)
    who = (
        f"{count} threads wait"
        if count > 1
        else f"{waiters[0][0].title if waiters else 'a thread'} waits"
    )
    yield Draft(
        severity=severity,
        summary=f"{who} up to {worst:.0%} of the time{_at([place for *_, place in waiters])} for "
        f"{lock.data.lock}, held by thread {name} ({owner}){meanwhile}",
        evidence_ids=[lock.id, *_ids(waiters), *([holder.id] if holder else [])],
        confidence="observed",
        detail=_owner_detail(holder, takes_turns=takes_turns),
        weight=worst * (0.5 if lock.data.owner_state == "lock" else 1.0),  # the cause is further on
        next=() if any(place for *_, place in waiters) else ("dump_stacks",),
    )


def _waiters(lock: LockWait, view: View) -> Iterator[Waiter]:
    address = lock.lock.rpartition(" ")[2]
    for tid in lock.waiters:
        thread = view.by_tid(tid)
        if thread is None:
            continue
        parts = list(thread.of("lock", "futex"))
        mine = [part for part in parts if address in (part.object or "")] or parts[:1]
        for part in mine[:1]:
            yield thread, part, thread.place(part)


def _polls_for_clients(holder: ThreadTime | None) -> bool:
    return holder is not None and any(
        part.share >= _MUCH and part.role in ("listen", "inbound") for part in holder.of("poll")
    )


def _owner_detail(holder: ThreadTime | None, *, takes_turns: bool) -> str:
    if takes_turns:
        return "The owner waits for work: the threads take turns at it, which is a common design."
    if holder is None:
        return ""
    parts = [part for part in holder.parts if part.share >= _NOTICED]
    doing = ", ".join(
        f"{part.share:.0%} {part.cause}"
        + (f" at {place.text}" if (place := holder.place(part)) else "")
        for part in parts[:3]
    )
    return f"What the owner does in the window: {doing}. It holds the lock during some of that."


def _does(state: str) -> str:
    words = {
        "running": "runs",
        "sleep": "sleeps",
        "disk": "waits for the disk",
        "receive": "waits for data from a socket",
        "lock": "waits for another lock",
        "futex": "waits for another thread",
    }
    return words.get(state, f"waits ({state})")


def unowned_locks(facts: Facts) -> Iterator[Draft]:
    """Threads that wait at lines that take a lock, while the lock itself names no owner."""
    view = read_threads(facts)
    shared = [lock for lock in facts.of(LockWait) if not lock.data.owner_tid]
    waiters = [waiter for thread in view.threads for waiter in _at_lock_lines(thread)]
    stuck = [waiter for waiter in waiters if _is_stuck(waiter)]
    for pid in {thread.pid for thread, *_ in stuck}:
        ours = [waiter for waiter in stuck if waiter[0].pid == pid]
        if len({place.text for *_, place in ours if place}) > 1:
            yield _deadlock(pid, ours)
            waiters = [waiter for waiter in waiters if waiter not in ours]
    groups: dict[tuple[int, str], list[Waiter]] = defaultdict(list)
    for waiter in waiters:
        groups[waiter[0].pid, waiter[2].text if waiter[2] else ""].append(waiter)
    for (pid, where), group in groups.items():
        tids = {thread.tid for thread, *_ in group}
        same = next(
            (lock for lock in shared if len(tids.intersection(lock.data.waiters)) > 1), None
        )
        yield from _unowned_lock(pid, where, group, same, view)


def _at_lock_lines(thread: ThreadTime) -> Iterator[Waiter]:
    for part in thread.of("futex"):
        place = thread.place(part) if part.share >= _NOTICED else None
        if place and place.own and (_ENTERS.search(place.source) or _TAKES.search(place.source)):
            yield thread, part, place


def _is_stuck(waiter: Waiter) -> bool:
    thread, part, _ = waiter
    return part.share >= _WHOLE and (part.longest_s or 0.0) >= _WHOLE * thread.window_s


def _deadlock(pid: int, waiters: list[Waiter]) -> Draft:
    """Several threads of one process stand still at different locks: none of them is served."""
    where = "; ".join(
        f"{thread.title} at {place.text} (`{place.source}`)"
        for thread, _, place in waiters[:4]
        if place
    )
    return Draft(
        severity="high",
        summary=f"{len(waiters)} threads of pid {pid} waited the whole time to get past locks at different "
        f"lines, so perhaps each holds what another wants (deadlock): {where}",
        evidence_ids=_ids(waiters),
        confidence="inferred",
        detail="A language lock names no owner, so the cycle is not proven.",
        weight=max(part.share for _, part, _ in waiters),
        next=("dump_stacks",),
    )


def _unowned_lock(
    pid: int, where: str, waiters: list[Waiter], same: Cited[LockWait] | None, view: View
) -> Iterator[Draft]:
    worst = max(part.share for _, part, _ in waiters)
    source = next((place.source for *_, place in waiters if place and place.source), "")
    named = bool(_LOCK_NAME.search(source))
    if worst < _MUCH or not (named or (len(waiters) > 1 and _ENTERS.search(source))):
        return
    repeated = any((part.episodes or 0) > 1 for _, part, _ in waiters)
    severity: Severity = (
        "high"
        if worst >= _MOST and repeated
        else "warn"
        if repeated or len(waiters) > 1
        else "info"
    )
    count = len(waiters)
    who = f"{count} threads of pid {pid} wait" if count > 1 else f"{waiters[0][0].title} waits"
    proof = " They wait at one and the same address, so it is one lock." if same else ""
    yield Draft(
        severity=severity,
        summary=f"{who} up to {worst:.0%} of the time to get past `{source or 'a lock'}` at {where}: "
        f"the lock is held by another thread for that long",
        evidence_ids=[*_ids(waiters), *([same.id] if same else [])],
        confidence="inferred",
        detail=f"A language lock names no owner.{proof}{_elsewhere(pid, waiters, view)}",
        weight=worst,
        next=("dump_stacks",),
    )


def _elsewhere(pid: int, waiters: list[Waiter], view: View) -> str:
    """Threads of the process that never wait there: the owner is one of them, or one of the waiters."""
    tids = {thread.tid for thread, *_ in waiters}
    places: list[str] = []
    for thread in view.threads:
        if thread.pid != pid or thread.tid in tids or not thread.parts:
            continue
        place = thread.place(thread.parts[0])
        if place and place.own and thread.parts[0].cause != "futex":
            places.append(f"{thread.title} ({thread.parts[0].cause} at {place.text})")
    return f" Others meanwhile, perhaps the owner: {'; '.join(places[:3])}." if places else ""


def interpreter_lock(facts: Facts) -> Iterator[Draft]:
    """Python threads that compete for the GIL."""
    view = read_threads(facts)
    for pid in sorted(view.pids):
        threads = [thread for thread in view.of(pid) if thread.share("gil") >= _NOTICED]
        if not threads:
            continue
        worst = max(thread.share("gil") for thread in threads)
        running = sum(thread.share(*RUNNING) for thread in view.of(pid))
        many = len(threads) > 1 and worst >= 0.4 and running >= 0.7
        if worst >= _MUCH:
            yield Draft(
                severity="warn" if many else "info",
                summary=f"{len(threads)} threads of pid {pid} wait up to {worst:.0%} of the time for the "
                f"Python interpreter's lock (GIL), and together they use {running:.0%} of one CPU"
                + (", about all that one interpreter can" if many else ""),
                evidence_ids=[thread.id for thread in threads],
                confidence="inferred",
                detail="More threads do not make Python code that computes faster; processes do.",
                weight=0.5 * worst,
                next=("profile_cpu",),
            )


def _at(places: list[Place | None]) -> str:
    known = list(dict.fromkeys(place.text for place in places if place))
    return f" at {' and '.join(known[:2])}" if known else ""


def _ids(waiters: list[Waiter]) -> list[str]:
    return [i for thread, _, place in waiters for i in (thread.id, *([place.id] if place else []))]
