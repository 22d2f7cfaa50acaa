"""Stacks, hot frames and lock waits."""

from typing import ClassVar, Literal

from dea.contracts.data.base import Data, EvidenceKind, Terse


class Frame(Terse):
    """One function on a stack. `own`: the user's code, not a library or the runtime."""

    function: str
    file: str | None = None
    line: int | None = None
    module: str | None = None
    own: bool = False

    def place(self) -> str:
        """`function file:line` as a person would say it."""
        if self.file is None:
            return self.function
        line = "" if self.line is None else f":{self.line}"
        return f"{self.function} {self.file.rsplit('/', 1)[-1]}{line}"


class Stack(Data):
    """One thread's stack, innermost frame first."""

    kind: ClassVar[EvidenceKind] = "stack"

    pid: int
    tid: int
    thread: str
    frames: list[Frame]
    state: str | None = None  # R, S, D, T, t, Z as in proc(5)
    syscall: str | None = None
    waits_on: str | None = None
    on_cpu: bool | None = None
    holds_gil: bool | None = None


class StackGroup(Terse):
    """Threads that share one stack, innermost frame first."""

    threads: int
    tids: list[int]
    frames: list[Frame]


class StackSummary(Data):
    """All threads of a process, those with the same stack grouped."""

    kind: ClassVar[EvidenceKind] = "stack_summary"

    pid: int
    threads: int
    groups: list[StackGroup]


class FrameHot(Data):
    """How much of a profile falls on one place in the code.

    `scope`: "cpu" samples threads that run, "wall" all threads, "wait" those that wait,
    "alloc" first touches of memory that stayed.
    `share` counts samples in which this is the innermost frame of the user's own code (or the
    innermost frame at all, when none is the user's); `self_share` those where nothing is below it.
    """

    kind: ClassVar[EvidenceKind] = "frame_hot"

    pid: int
    scope: Literal["cpu", "wall", "wait", "alloc"]
    frame: Frame
    share: float  # 0..1 of `total_samples`
    self_share: float
    samples: int
    total_samples: int
    tid: int | None = None  # set when the profile is of one thread
    thread: str | None = None
    callers: list[str] = []  # outermost last
    below: list[str] = []  # what it was calling, most frequent first
    lines: dict[str, float] = {}  # line number -> share, for the function as a whole
    source: str | None = None  # the line's text, when the file could be read
    in_loop: bool | None = None  # the line stands in a loop of its function
    event_loop: str | None = None  # it was called by this event loop, which it keeps from going on
    calls: list[str] = []  # what the line calls, by name
    # The nearest loop over data that runs this line, in this function or in a caller that hands its
    # item on, as a place; what that loop calls each time round, and its function outside of it.
    loop: str | None = None
    loop_calls: list[str] = []
    loop_fed_by: list[str] = []


class LockWait(Data):
    """Threads that wait for one lock. `owner_tid` only when it was read from the lock itself."""

    kind: ClassVar[EvidenceKind] = "lock_wait"

    pid: int
    lock: str  # e.g. "pthread mutex 0x55d0c0ffee40"
    waiters: list[int]  # tids
    wait_s: float | None = None  # summed over the waiters
    share: float | None = None  # of the waiters' wall time
    owner_tid: int | None = None
    owner_thread: str | None = None
    owner_state: str | None = None
    owner_place: Frame | None = None  # where the owner was while others waited
    place: Frame | None = None
