"""What can be observed on this host, and what is missing for the rest."""

from typing import ClassVar, Literal

from dea.contracts.wire import NullableBool, NullableInt, NullableText, Wire

ProviderStatus = Literal[
    "ready", "missing", "no_permission", "unsupported_platform", "not_implemented"
]


class Permissions(Wire):
    """Null where the platform has no such setting."""

    nullable: ClassVar[frozenset[str]] = frozenset(
        {"ptrace_scope", "sip_enabled", "developer_mode", "perf_event_paranoid"}
    )

    ptrace_scope: NullableInt
    capabilities: list[str] = []
    sip_enabled: NullableBool
    developer_mode: NullableBool
    perf_event_paranoid: NullableInt


class RequiredProgram(Wire):
    """A program a backend needs, and where it was found."""

    nullable: ClassVar[frozenset[str]] = frozenset({"path"})

    binary: str
    path: NullableText


class ProviderReadiness(Wire):
    """One backend: which tools it serves and whether it can run here."""

    name: str
    tools: list[str]
    status: ProviderStatus
    requires: list[RequiredProgram]
    install_hint: str | None = None
    notes: list[str] = []


class UnavailableTool(Wire):
    """A tool that no backend can serve here."""

    tool: str
    reason: str


class Readiness(Wire):
    """`node` is the Node.js version found on the host, "" when there is none."""

    os: Literal["linux", "darwin", "win32"]
    arch: str
    kernel: str | None = None
    node: str
    dea_version: str
    is_root: bool
    has_sudo_noninteractive: bool
    permissions: Permissions
    providers: list[ProviderReadiness]
    tools_available: list[str]
    tools_unavailable: list[UnavailableTool]
    sessions_dir: str
