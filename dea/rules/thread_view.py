"""The threads of a target as rules read them: where their time went, where in the code, and who is who."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dea.contracts.data import Cause, FrameHot, Metric, Part, Process, Stack, StackSummary
from dea.rules.draft import Cited, Facts
from dea.rules.places import Place, place_of

RUNNING: frozenset[Cause] = frozenset({"cpu_user", "cpu_kernel"})
_BLOCKED: dict[Cause, str] = {
    "lock": "waits for a lock",
    "disk": "waits for the disk",
    "page_fault": "waits for memory to be read from disk",
    "throttled": "is throttled by its CPU quota",
    "runnable": "waits for a CPU",
    "file_lock": "waits for a file lock",
    "connect": "waits for a connection",
    "send": "waits for its peer to take data",
    "pipe_write": "waits for a reader of its pipe",
    "stopped": "is stopped",
}
_IDLE: dict[Cause, str] = {
    "sleep": "sleeps",
    "poll": "waits for events",
    "accept": "waits for clients",
    "receive": "waits for data",
    "pipe_read": "waits for data from a pipe",
    "child": "waits for a child process",
    "signal_wait": "waits for a signal",
    "tty": "waits for its terminal",
    "futex": "waits for another of its threads",
    "gil": "waits for the GIL",
    "other": "waits",
}


@dataclass(frozen=True)
class ThreadTime:
    """One thread over the window; `tid` 0: several of a process that are summed up."""

    id: str
    pid: int
    tid: int
    name: str
    runtime: str
    window_s: float
    parts: tuple[Part, ...]
    hots: tuple[Cited[FrameHot], ...] = ()
    stacks: tuple[Cited[Stack], ...] = ()

    @property
    def is_main(self) -> bool:
        return self.tid == self.pid

    @property
    def title(self) -> str:
        """`thread worker (12)`, or `the main thread`."""
        named = next((hot.data.thread for hot in self.hots if hot.data.thread), "")
        generic = named.lower() in ("", "thread", "main", "mainthread")
        name = self.name if generic else named
        return "the main thread" if self.is_main else f"thread {name} ({self.tid})"

    def share(self, *causes: Cause) -> float:
        return sum(part.share for part in self.parts if part.cause in causes)

    def of(self, *causes: Cause) -> Iterator[Part]:
        yield from (part for part in self.parts if part.cause in causes)

    @property
    def hottest(self) -> Place | None:
        """The user's own line where most of its time was spent, waiting or not."""
        hot = max((hot for hot in self.hots if hot.data.frame.own), key=_share, default=None)
        if hot is None or hot.data.share < 0.5:
            return None
        return Place(hot.data.frame.place(), hot.id, own=True)

    def place(self, part: Part) -> Place | None:
        """Where in the code it waits like this, if evidence about this very thread says so."""
        return place_of(part, self.parts, self.hots, self.stacks)


def _share(hot: Cited[FrameHot]) -> float:
    return hot.data.share


@dataclass(frozen=True)
class Doing:
    """What a process mostly did. `is_blocked`: something kept it from going on; `is_asleep`: it slept
    on purpose, at a place that is known."""

    text: str
    is_busy: bool = False
    is_blocked: bool = False
    is_asleep: bool = False
    ids: tuple[str, ...] = ()

    @property
    def explains(self) -> bool:
        """Whether it tells why others wait for it."""
        return self.is_busy or self.is_blocked or self.is_asleep


@dataclass
class View:
    """All that rules about waiting read. `threads` were there for most of the window."""

    threads: list[ThreadTime] = field(default_factory=list[ThreadTime])
    groups: list[ThreadTime] = field(default_factory=list[ThreadTime])
    peers: list[ThreadTime] = field(default_factory=list[ThreadTime])
    processes: dict[int, Cited[Process]] = field(default_factory=dict[int, Cited[Process]])

    @property
    def pids(self) -> set[int]:
        """The processes of the target."""
        return {thread.pid for thread in self.threads}

    def of(self, pid: int) -> list[ThreadTime]:
        return [thread for thread in (*self.threads, *self.peers) if thread.pid == pid]

    def by_tid(self, tid: int) -> ThreadTime | None:
        return next((thread for thread in self.threads if thread.tid == tid), None)

    def name(self, pid: int) -> str:
        """`pid 77 (redis-server)`."""
        process = self.processes.get(pid)
        return f"pid {pid} ({process.data.comm})" if process else f"pid {pid}"

    def doing(self, pid: int) -> Doing | None:
        """What a process did in the window, told by the thread that works, or else serves others."""
        threads = [thread for thread in self.of(pid) if thread.parts]
        return doing_of(max(threads, key=_activity)) if threads else None


def _activity(thread: ThreadTime) -> tuple[float, float, bool, bool]:
    inbound = any(part.role == "inbound" for part in thread.parts)
    return thread.share(*RUNNING), thread.share(*_BLOCKED), inbound, thread.is_main


def doing_of(thread: ThreadTime) -> Doing:
    """What one thread mostly did."""
    running = thread.share(*RUNNING)
    if running >= 0.5:
        return Doing(f"is on the CPU {running:.0%} of the time", is_busy=True, ids=(thread.id,))
    part = max(thread.parts, key=lambda part: part.share, default=None)
    if part is None:
        return Doing("did nothing")
    place = thread.place(part)
    asks = part.role == "outbound" and part.cause in ("receive", "poll") and is_exchange(part)
    does = _BLOCKED.get(part.cause) or ("waits for an answer" if asks else _IDLE.get(part.cause))
    on = f" ({part.object})" if part.object else ""
    at = f" at {place.text}" if place and place.own else ""
    return Doing(
        f"{does or 'waits'}{on}{at} {part.share:.0%} of the time",
        is_blocked=part.share >= 0.5 and (part.cause in _BLOCKED or asks),
        is_asleep=part.share >= 0.5 and part.cause == "sleep" and bool(at),
        ids=(thread.id, place.id) if place else (thread.id,),
    )


def read_threads(facts: Facts) -> View:
    """From metrics with parts, joined with stacks of the same thread."""
    hots, stacks = list(facts.of(FrameHot)), [*facts.of(Stack), *_grouped(facts)]
    view = View(processes={process.data.pid: process for process in facts.of(Process)})
    for metric in facts.of(Metric):
        if metric.data.name == "thread_time":
            thread = _thread(metric, hots, stacks)
            (view.threads if thread.tid else view.groups).append(thread)
        elif metric.data.name == "peer_time":
            view.peers.append(_thread(metric, hots, stacks))
    return view


def _thread(
    metric: Cited[Metric], hots: Iterable[Cited[FrameHot]], stacks: Iterable[Cited[Stack]]
) -> ThreadTime:
    data = metric.data
    tid = data.tid or 0
    return ThreadTime(
        id=metric.id,
        pid=data.pid or 0,
        tid=tid,
        name=data.thread or "",
        runtime=data.runtime or "unknown",
        window_s=data.value,
        parts=tuple(data.parts),
        hots=tuple(h for h in hots if h.data.tid == tid and h.data.scope in ("wall", "wait")),
        stacks=tuple(stack for stack in stacks if stack.data.tid == tid),
    )


def _grouped(facts: Facts) -> Iterator[Cited[Stack]]:
    """The stacks of threads that a summary tells together."""
    for summary in facts.of(StackSummary):
        for group in summary.data.groups:
            for tid in group.tids:
                stack = Stack(pid=summary.data.pid, tid=tid, thread="", frames=group.frames)
                yield Cited(summary.id, summary.summary, stack)


def is_exchange(part: Part) -> bool:
    """Whether requests went out and answers came back while it waited, more than once.

    Where bytes are not known (AF_UNIX, connections that were closed), separate waits must do.
    """
    if part.sent_bytes is None or part.received_bytes is None:
        return (part.episodes or 0) >= 2 and (part.unanswered is None or part.unanswered >= 0.5)
    moved = part.sent_bytes > 0 and part.received_bytes > 0
    return moved or ((part.episodes or 0) >= 2 and (part.unanswered or 0.0) >= 0.5)


def mean_s(part: Part, window_s: float) -> float:
    """How long one such wait takes."""
    return part.share * window_s / max(1, part.episodes or 1)
