"""The base of evidence data: each model knows the one evidence kind that it is the data of."""

from typing import ClassVar, Literal

from dea.contracts.wire import Wire

EvidenceKind = Literal[
    "syscall_stat",
    "syscall_slow",
    "syscall_error",
    "stack",
    "stack_summary",
    "lock_wait",
    "frame_hot",
    "socket",
    "socket_summary",
    "fd",
    "fd_summary",
    "packet_summary",
    "dns_query",
    "tls_sni",
    "metric",
    "metric_series",
    "heap_retainer",
    "heap_summary",
    "log_excerpt",
    "process",
    "process_list",
    "container_state",
    "cgroup",
    "diff",
    "readiness",
    "note",
]


class Terse(Wire):
    """Base of what evidence data is made of: every byte of it is read by an agent."""

    terse: ClassVar[bool] = True


class Data(Terse):
    """Base of all evidence data."""

    kind: ClassVar[EvidenceKind]
