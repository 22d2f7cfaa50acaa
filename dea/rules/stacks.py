"""Rules over the stacks of all threads at one moment: deadlocks, lock holders, who runs at all."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dea.contracts.data import LockWait, Metric, Process, Stack, StackSummary
from dea.contracts.data.causes import MEANING, Cause
from dea.rules.draft import Cited, Draft, Facts, Rule

_ALWAYS = 0.9  # of the waiters' time, for a wait that may be called permanent
_SEVERAL = 2
_LISTED = 3


@dataclass(frozen=True)
class _Edge:
    """A thread that waits for a lock which another thread owns."""

    waiter: int
    owner: int
    lock: Cited[LockWait]


def deadlocks(facts: Facts) -> Iterator[Draft]:
    """Threads that wait for each other in a circle, by owners read from the locks themselves."""
    edges = {edge.waiter: edge for edge in _edges(facts)}
    told: set[frozenset[int]] = set()
    for start in edges:
        cycle = _cycle(start, edges)
        tids = frozenset(edge.waiter for edge in cycle)
        if cycle and tids not in told:
            told.add(tids)
            yield _deadlock(facts, cycle)


def held_locks(facts: Facts) -> Iterator[Draft]:
    """Several threads wait for a lock, and its owner is somewhere else than on the CPU."""
    circled = {edge.lock.id for cycle in _cycles(facts) for edge in cycle}
    for lock in facts.of(LockWait):
        data = lock.data
        waiting = [stack for tid in data.waiters if (stack := _stack(facts, data.pid, tid))]
        if lock.id in circled or data.owner_tid is None or not waiting:
            continue
        owner = _stack(facts, data.pid, data.owner_tid)
        idle_owner = owner is not None and owner.data.on_cpu is False
        yield Draft(
            severity="warn" if len(data.waiters) >= _SEVERAL and idle_owner else "info",
            summary=f"{_threads(len(data.waiters))} of process {data.pid} "
            f"{'waits' if len(data.waiters) == 1 else 'wait'} for {data.lock} in "
            f"{_places(waiting)}; it is held by {_who(facts, data.pid, data.owner_tid)}, which is "
            f"{_doing(facts, owner)}",
            evidence_ids=[
                lock.id,
                *(s.id for s in waiting[:_LISTED]),
                *([owner.id] if owner else []),
            ],
            confidence="observed",
            detail="One moment only: time_budget says for how long threads wait for it.",
            weight=0.5,
            next=("time_budget",),
        )


def overview(facts: Facts) -> Iterator[Draft]:
    """Which threads of a process run, and where the others wait."""
    by_pid: dict[int, list[Cited[Stack]]] = {}
    for stack in facts.of(Stack):
        by_pid.setdefault(stack.data.pid, []).append(stack)
    for pid, stacks in by_pid.items():
        running = [stack for stack in stacks if stack.data.on_cpu]
        shown = running or _main_first(stacks)
        where = "; ".join(_line(facts, stack) for stack in shown[:_LISTED])
        yield Draft(
            severity="info",
            summary=f"in process {pid} {_count(len(running), pid, len(stacks), facts)}: {where}",
            evidence_ids=[stack.id for stack in shown[:_LISTED]],
            confidence="observed",
            weight=0.1,
        )


def _edges(facts: Facts) -> Iterator[_Edge]:
    for lock in facts.of(LockWait):
        if lock.data.owner_tid is not None and (lock.data.share or 1.0) >= _ALWAYS:
            for waiter in lock.data.waiters:
                yield _Edge(waiter, lock.data.owner_tid, lock)


def _cycles(facts: Facts) -> list[list[_Edge]]:
    edges = {edge.waiter: edge for edge in _edges(facts)}
    return [cycle for start in edges if (cycle := _cycle(start, edges))]


def _cycle(start: int, edges: dict[int, _Edge]) -> list[_Edge]:
    """The circle that `start` is part of; empty when there is none.

    Each lock stands in it once: otherwise its owner changed while we looked.
    """
    path: list[_Edge] = []
    at = start
    while at in edges and len(path) <= len(edges):
        path.append(edges[at])
        at = edges[at].owner
        if at == start:
            locks = {edge.lock.data.lock for edge in path}
            return path if len(locks) == len(path) else []
    return []


def _deadlock(facts: Facts, cycle: Sequence[_Edge]) -> Draft:
    pid = cycle[0].lock.data.pid
    parts = [
        f"{_who(facts, pid, edge.waiter)} waits in {_place(_stack(facts, pid, edge.waiter))} for "
        f"{edge.lock.data.lock}, owned by {edge.owner}"
        for edge in cycle
    ]
    stacks = [stack for edge in cycle if (stack := _stack(facts, pid, edge.waiter))]
    alone = len(cycle) == 1
    return Draft(
        severity="high",
        summary=f"deadlock proven in process {pid}: {'; '.join(parts)}"
        + (" itself" if alone else ""),
        evidence_ids=[*(edge.lock.id for edge in cycle), *(stack.id for stack in stacks)],
        confidence="observed",
        detail="The owners were read from the locks. Take locks in the same order everywhere."
        if not alone
        else "The owner was read from the lock: a thread locks again what it holds already.",
        weight=1.0,
    )


def _stack(facts: Facts, pid: int, tid: int) -> Cited[Stack] | None:
    found = (s for s in facts.of(Stack) if (s.data.pid, s.data.tid) == (pid, tid))
    return next(found, None)


def _who(facts: Facts, pid: int, tid: int) -> str:
    stack = _stack(facts, pid, tid)
    return f"thread {tid} ({stack.data.thread})" if stack else f"thread {tid}"


def _doing(facts: Facts, owner: Cited[Stack] | None) -> str:
    if owner is None:
        return "not among the stacks"
    return f"in {_place(owner)}{_wait(facts, owner.data)}"


def _line(facts: Facts, stack: Cited[Stack]) -> str:
    return f"{stack.data.thread} ({stack.data.tid}) in {_place(stack)}{_wait(facts, stack.data)}"


def _wait(facts: Facts, stack: Stack) -> str:
    """` (waits for pthread mutex 0x1)`, when something told what it waits for."""
    for metric in facts.of(Metric):
        data = metric.data
        if data.name == "thread_wait" and (data.pid, data.tid) == (stack.pid, stack.tid):
            parts = [part for part in data.parts if not _is_running(part.cause)]
            if parts:
                return f" (waits for {parts[0].object or MEANING[parts[0].cause].split(':')[0]})"
    return ""


def _is_running(cause: Cause) -> bool:
    return cause in ("cpu_user", "cpu_kernel", "runnable")


def _place(stack: Cited[Stack] | None) -> str:
    """The innermost frame of the user's own code, and what it called."""
    if stack is None or not stack.data.frames:
        return "an unknown place"
    frames = stack.data.frames
    own = next((frame for frame in frames if frame.own), None)
    if own is None:
        return frames[0].place()
    return own.place() if own == frames[0] else f"{own.place()}, calling {frames[0].function}"


def _places(stacks: Sequence[Cited[Stack]]) -> str:
    """Where several threads are, the most frequent place first."""
    places = Counter(next((f.place() for f in s.data.frames if f.own), _place(s)) for s in stacks)
    return ", ".join(place for place, _ in places.most_common(_LISTED))


def _main_first(stacks: Sequence[Cited[Stack]]) -> list[Cited[Stack]]:
    return sorted(stacks, key=lambda stack: stack.data.tid != stack.data.pid)


def _threads_of(facts: Facts, pid: int) -> int:
    """How many the process has as far as known; 0 when it is not."""
    counted = [one.data.threads or 0 for one in facts.of(Process) if one.data.pid == pid]
    waits = {m.data.tid for m in facts.of(Metric) if m.data.pid == pid and m.data.tid}
    return max([*counted, len(waits)])


def _seen(facts: Facts, pid: int, shown: int) -> int:
    """How many had a stack: evidence shows those that run, and of the others only some."""
    return max([shown, *(s.data.threads for s in facts.of(StackSummary) if s.data.pid == pid)])


def _count(running: int, pid: int, shown: int, facts: Facts) -> str:
    """Of some runtimes only the threads that run the language's code have a stack."""
    seen, existing = _seen(facts, pid, shown), _threads_of(facts, pid)
    hidden = existing - seen
    rest = (
        f" ({hidden} more {'has' if hidden == 1 else 'have'} no stack here)" if hidden > 0 else ""
    )
    if seen == 1:
        which = "the only" if existing == 1 else "one"
        return f"{which} thread {'is on the CPU' if running else 'waits'}{rest}"
    if not running:
        return f"all {seen} threads wait, none is on the CPU{rest}"
    least = "at least " if running == shown < seen else ""
    return f"{least}{running} of {seen} threads {'is' if running == 1 else 'are'} on the CPU{rest}"


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


RULES: tuple[Rule, ...] = (deadlocks, held_locks, overview)
