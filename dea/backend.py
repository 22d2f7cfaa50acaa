"""What a backend is. With dea.contracts this is all that a provider may import."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from dea.contracts.artifact import ArtifactKind
from dea.contracts.evidence import Fact
from dea.contracts.readiness import ProviderStatus
from dea.contracts.target import Runtime, Target


@dataclass(frozen=True)
class Host:
    """What this host allows. `programs` maps a name to its path."""

    os: str
    kernel: str
    arch: str
    is_root: bool
    capabilities: frozenset[str]
    ptrace_scope: int | None
    perf_event_paranoid: int | None
    programs: Mapping[str, Path]

    def may_trace_others(self) -> bool:
        """Whether processes of other users can be read and traced."""
        return self.is_root or "CAP_SYS_PTRACE" in self.capabilities


@dataclass(frozen=True)
class Availability:
    """Whether a backend can run on this host, and what to do when it cannot."""

    status: ProviderStatus
    reason: str = ""
    remedy: str = ""


READY = Availability("ready")


@dataclass(frozen=True)
class Request:
    """What to observe.

    `pids` are the processes to look at, the one of most interest first; `options` are the tool's
    other arguments (`categories`, `port`, ...).
    """

    target: Target
    pids: tuple[int, ...]
    duration_s: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def pid(self) -> int:
        return self.pids[0]


@dataclass(frozen=True)
class ProgramResult:
    """How a program ended. `returncode` is negative for a signal; `stdout` is what was kept."""

    returncode: int
    stdout: bytes
    stderr: str
    truncated: bool
    timed_out: bool
    duration_s: float


class Instruments(Protocol):
    """What a backend may do while it observes. Everything it saves is kept as an artifact."""

    def path(self, name: str, kind: ArtifactKind = "raw_text") -> Path:
        """Where a program may write the raw output `name`; it counts as saved."""
        ...

    def save(self, name: str, data: bytes | str, kind: ArtifactKind = "raw_text") -> None:
        """Store raw bytes under `name`."""
        ...

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        writes: Path | None = None,
        max_bytes: int = 64 * 2**20,
        guards: int | None = None,
    ) -> ProgramResult:
        """Run a program to its end; it dies with us. `writes`: the file whose growth is capped.

        `guards`: the pid of what it stops with PTRACE_ATTACH, to run on even if we are killed.
        Raises BackendError when it cannot be started.
        """
        ...

    async def progress(self, fraction: float, message: str) -> None:
        """Tell whoever waits how far we are (0..1)."""
        ...


@dataclass(frozen=True)
class Observation:
    """Raw bytes as they were seen: `files` by the name they were saved under.

    `facts` is what the backend noted besides (window, pid, rate): JSON values only.
    """

    backend: str
    tool: str
    pid: int
    files: Mapping[str, bytes]
    facts: Mapping[str, Any]

    def text(self, name: str) -> str:
        """The file as text; bytes that are not UTF-8 become replacement characters."""
        return self.files.get(name, b"").decode("utf-8", "replace")


@dataclass(frozen=True)
class Product:
    """A file made from an observation, such as a flame graph."""

    name: str
    kind: ArtifactKind
    data: bytes
    description: str = ""


@dataclass(frozen=True)
class Parsed:
    """What a parser made of an observation."""

    facts: Sequence[Fact]
    limitations: Sequence[str] = ()
    products: Sequence[Product] = ()


class Backend(Protocol):
    """One way to observe for one tool.

    `parse` is pure: it cannot tell a live observation from a replayed one.
    """

    name: ClassVar[str]  # unique: "py_spy.record"
    tool: ClassVar[str]  # the tool it serves
    runtimes: ClassVar[frozenset[Runtime]]  # which targets it suits; empty: all
    rank: ClassVar[int]  # cheaper for the target comes first
    programs: ClassVar[tuple[str, ...]]  # external programs it needs
    install_hint: ClassVar[str]
    traces: ClassVar[bool]  # attaches with ptrace, so only one at a time
    look: ClassVar[str]  # backends that name the same look save the same bytes: one serves both

    def availability(self, host: Host) -> Availability:
        """Whether it can run here."""
        ...

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        """The only I/O. Returns the observation's `facts`."""
        ...

    def parse(self, observation: Observation) -> Parsed:
        """Raises BackendError, with the first bad line, when nothing is usable."""
        ...


class LinuxBackend:
    """Shared defaults of backends that need Linux and perhaps some programs."""

    runtimes: ClassVar[frozenset[Runtime]] = frozenset()
    rank: ClassVar[int] = 0
    programs: ClassVar[tuple[str, ...]] = ()
    install_hint: ClassVar[str] = ""
    traces: ClassVar[bool] = False
    look: ClassVar[str] = ""

    def availability(self, host: Host) -> Availability:
        """Ready on Linux when every program it needs is installed."""
        if host.os != "linux":
            return Availability("unsupported_platform", "needs Linux")
        missing = [name for name in self.programs if name not in host.programs]
        if missing:
            return Availability("missing", f"{', '.join(missing)} not found", self.install_hint)
        return READY
