"""Files, memory and metrics over time."""

from typing import ClassVar, Literal

from dea.contracts.data.base import Data, EvidenceKind, Terse
from dea.contracts.data.causes import Cause
from dea.contracts.data.sockets import SocketRole
from dea.contracts.data.stacks import Frame

FdType = Literal[
    "file", "directory", "device", "pipe", "socket", "eventfd", "epoll", "inotify", "memfd", "other"
]


class Fd(Data):
    """One open descriptor, or several of one type with the same name.

    `path` is the file ("/tmp/x-*.log" when several differ only there) or the socket's peer ("tcp to
    10.0.0.7:5432"); `looks` is the count at each of several moments spread over the window.
    """

    kind: ClassVar[EvidenceKind] = "fd"

    pid: int
    type: FdType
    path: str
    count: int = 1
    fds: list[int] = []  # at most ten
    added: int | None = None  # how many came in the window
    deleted: bool = False
    size_bytes: int | None = None
    state: str | None = None  # of sockets, as Socket.state
    role: SocketRole | None = None  # of sockets
    looks: list[int] = []


class FdSummary(Data):
    """All descriptors of a process and how they changed over the window."""

    kind: ClassVar[EvidenceKind] = "fd_summary"

    pid: int
    total: int
    by_type: dict[str, int]
    soft_limit: int | None = None
    window_s: float = 0.0
    added: dict[str, int] = {}  # by type, net change over the window


class Part(Terse):
    """One cause's share of a thread's wall time.

    For connections to others that it waits on: `sent_bytes` and `received_bytes` moved in the
    window, `unanswered` is the share of looks at which something was sent after the last byte came,
    `unanswered_s` how long ago that was on average.
    """

    cause: Cause
    share: float  # 0..1
    syscall: str | None = None
    object: str | None = None  # what it waits on: "tcp 127.0.0.1:5432 (outbound)", "/var/x.db"
    role: str | None = None  # of a socket: see Socket.role
    longest_s: float | None = None
    episodes: int | None = None  # how many separate waits were seen
    peer_pids: list[int] = []  # who could end the wait, when known
    wakes: str | None = None
    sent_bytes: int | None = None
    received_bytes: int | None = None
    unanswered: float | None = None
    unanswered_s: float | None = None


class Metric(Data):
    """One number. `parts`, when set, split it by cause; `shares` (0..1) by anything else."""

    kind: ClassVar[EvidenceKind] = "metric"

    name: str  # "thread_time", "host_load", "cpu_share", ...
    value: float
    unit: str
    pid: int | None = None
    tid: int | None = None
    thread: str | None = None
    runtime: str | None = None
    parts: list[Part] = []
    shares: dict[str, float] = {}


SeriesShape = Literal["growing", "shrinking", "steady", "leveling", "sawtooth", "noisy", "short"]


class MetricSeries(Data):
    """One number over time, with the slope of a robust fit and its 95 % interval."""

    kind: ClassVar[EvidenceKind] = "metric_series"

    name: str  # "anon_bytes", "fds", "threads", ...
    unit: str
    pid: int
    points: list[tuple[float, float]]  # (seconds since the window began, value), thinned
    samples: int
    first: float
    last: float
    slope_per_s: float
    slope_low_per_s: float
    slope_high_per_s: float
    shape: SeriesShape
    age_s: float | None = None  # of the process when the window began


class HeapRetainer(Data):
    """What keeps memory alive: a container by its items, or a class by its instances.

    `path` says where it hangs, empty when no name leads to it; `count` is how many there are now,
    `added` how many came within `window_s`; `bytes` is an estimate of all that it keeps alive.
    `sites` are lines that add to it, inferred from the source: none of it was seen to run.
    """

    kind: ClassVar[EvidenceKind] = "heap_retainer"

    type: str
    path: str
    count: int
    pid: int | None = None
    bytes: int | None = None
    added: int | None = None
    window_s: float | None = None
    own: bool | None = None  # whether a name of the user's own code leads to it
    sites: list[Frame] = []


class HeapSummary(Data):
    """The heap by type."""

    kind: ClassVar[EvidenceKind] = "heap_summary"

    objects: int
    bytes: int | None = None
    by_type: dict[str, int] = {}
    added: dict[str, int] = {}  # by type, net change over the window; those that changed most
    window_s: float | None = None
