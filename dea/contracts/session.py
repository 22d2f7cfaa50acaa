"""A session's index, as it lies in session.json."""

from typing import ClassVar, Literal

from dea.contracts.target import Target
from dea.contracts.wire import Count, NullableInt, Pid, Text, Wire


class RunEntry(Wire):
    """One tool call; `file` is relative to the session's folder."""

    run_id: str
    tool: str
    ok: bool
    started_at: str
    duration_ms: Count
    file: str


class Spawned(Wire):
    """The command that DEA launched; `exit_code` is negative for a signal, null while it runs."""

    nullable: ClassVar[frozenset[str]] = frozenset({"exit_code"})

    pid: Pid
    stdout: str
    stderr: str
    exit_code: NullableInt = None


class Session(Wire):
    """Times are ISO 8601 in UTC."""

    id: Text
    state: Literal["attached", "detached"]
    target: Target
    created_at: str
    detached_at: str | None = None
    dir: str
    platform: Literal["linux", "darwin", "win32"]
    runs: list[RunEntry]
    spawned: Spawned | None = None
