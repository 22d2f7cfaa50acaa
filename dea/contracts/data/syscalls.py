"""System calls."""

from typing import ClassVar

from dea.contracts.data.base import Data, EvidenceKind


class SyscallStat(Data):
    """All calls of one name in the window."""

    kind: ClassVar[EvidenceKind] = "syscall_stat"

    name: str
    count: int
    errors: int
    total_s: float
    max_s: float
    window_s: float
    tid: int | None = None
    object: str | None = None  # the file, socket or pipe, when all calls were on one


class SyscallSlow(Data):
    """One call that took long."""

    kind: ClassVar[EvidenceKind] = "syscall_slow"

    name: str
    duration_s: float
    tid: int
    args: str
    at_s: float | None = None  # since the window began
    finished: bool = True  # false: it was still blocked when the window ended


class SyscallError(Data):
    """Calls of one name that failed with one errno."""

    kind: ClassVar[EvidenceKind] = "syscall_error"

    name: str
    errno: str  # "EADDRINUSE"
    count: int
    window_s: float
    example: str | None = None
