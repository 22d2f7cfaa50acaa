"""Processes, containers, logs, comparisons and notes."""

from typing import ClassVar, Literal

from dea.contracts.data.base import Data, EvidenceKind, Terse
from dea.contracts.readiness import Readiness


class Process(Data):
    """One process. `cpu_share` is of one core, over the look or since it started."""

    kind: ClassVar[EvidenceKind] = "process"

    pid: int
    comm: str
    ppid: int | None = None
    cmdline: str | None = None
    user: str | None = None
    runtime: str | None = None
    state: str | None = None
    cpu_share: float | None = None
    rss_bytes: int | None = None
    threads: int | None = None
    started_at: str | None = None
    children: list[int] = []
    cwd: str | None = None
    container: str | None = None  # id of the container it runs in
    unit: str | None = None  # systemd unit
    target: int | None = None  # the target's own pid, where this is one of its family
    parents: list[str] = []  # "77 bash", the nearest first
    orphaned: bool | None = None  # whoever started it has ended


class ProcessRow(Terse):
    """A process as one row of a list."""

    pid: int
    ppid: int
    comm: str
    user: str
    cpu_share: float
    rss_bytes: int
    runtime: str
    cmdline: str


class ProcessList(Data):
    """Processes, the busiest first."""

    kind: ClassVar[EvidenceKind] = "process_list"

    total: int
    processes: list[ProcessRow]


class ContainerState(Data):
    """A container as its engine tells."""

    kind: ClassVar[EvidenceKind] = "container_state"

    runtime: str
    id: str
    status: str
    restarts: int | None = None
    exit_code: int | None = None


class Cgroup(Data):
    """Limits and pressure of a cgroup."""

    kind: ClassVar[EvidenceKind] = "cgroup"

    path: str
    version: Literal[1, 2]
    cpu_limit_cores: float | None = None
    throttled_s: float | None = None  # in the window
    memory_limit_bytes: int | None = None
    memory_bytes: int | None = None
    oom_kills: int | None = None


class LogExcerpt(Data):
    """Lines that the target printed, secrets replaced."""

    kind: ClassVar[EvidenceKind] = "log_excerpt"

    source: str
    text: str


class Diff(Data):
    """How one number differs between two runs."""

    kind: ClassVar[EvidenceKind] = "diff"

    name: str
    before: float
    after: float
    within_noise: bool


class ReadinessData(Readiness, Data):
    """What can be observed on this host."""

    kind: ClassVar[EvidenceKind] = "readiness"
    terse: ClassVar[bool] = False  # the contract of Readiness asks for its lists


class Note(Data):
    """Something the reader must know about the observation itself."""

    kind: ClassVar[EvidenceKind] = "note"

    text: str
    skipped_lines: int | None = None
    first_bad_line: str | None = None
