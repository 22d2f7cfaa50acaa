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
    object: str | None = None  # the file, socket or pipe, when only calls on this one are meant
    transferred_bytes: int | None = None  # read or written; event counters (eventfd) left out
    transfers: int | None = None  # how many calls moved those bytes


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
    object: str | None = None  # the path or address, when most of the calls were on one
    recovered: bool | None = None  # of bind: each thread that failed then succeeded with another
    spread: float | None = None  # share (0..1) of the window's tenths in which it happened
