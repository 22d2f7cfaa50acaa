"""Typed data of each evidence kind."""

from dea.contracts.data.base import Data, EvidenceKind
from dea.contracts.data.causes import Cause
from dea.contracts.data.host import (
    Cgroup,
    ContainerState,
    Diff,
    LogExcerpt,
    Note,
    Process,
    ProcessList,
    ProcessRow,
    ReadinessData,
)
from dea.contracts.data.resources import (
    Fd,
    FdSummary,
    HeapRetainer,
    HeapSummary,
    Metric,
    MetricSeries,
    Part,
)
from dea.contracts.data.sockets import (
    DnsQuery,
    PacketSummary,
    Socket,
    SocketChange,
    SocketSummary,
    TlsSni,
)
from dea.contracts.data.stacks import Frame, FrameHot, LockWait, Stack, StackGroup, StackSummary
from dea.contracts.data.syscalls import SyscallError, SyscallSlow, SyscallStat

DATA_MODELS: dict[str, type[Data]] = {
    model.kind: model
    for model in (
        *(SyscallStat, SyscallSlow, SyscallError),
        *(Stack, StackSummary, LockWait, FrameHot),
        *(Socket, SocketSummary, PacketSummary, DnsQuery, TlsSni),
        *(Fd, FdSummary, Metric, MetricSeries, HeapRetainer, HeapSummary),
        *(LogExcerpt, Process, ProcessList, ContainerState, Cgroup, Diff, ReadinessData, Note),
    )
}

__all__ = [
    "DATA_MODELS",
    "Cause",
    "Cgroup",
    "ContainerState",
    "Data",
    "Diff",
    "DnsQuery",
    "EvidenceKind",
    "Fd",
    "FdSummary",
    "Frame",
    "FrameHot",
    "HeapRetainer",
    "HeapSummary",
    "LockWait",
    "LogExcerpt",
    "Metric",
    "MetricSeries",
    "Note",
    "PacketSummary",
    "Part",
    "Process",
    "ProcessList",
    "ProcessRow",
    "ReadinessData",
    "Socket",
    "SocketChange",
    "SocketSummary",
    "Stack",
    "StackGroup",
    "StackSummary",
    "SyscallError",
    "SyscallSlow",
    "SyscallStat",
    "TlsSni",
]
