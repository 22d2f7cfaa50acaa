"""All processes of this host, read cheaply: one pass over /proc, a short look, details only for a few."""

import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass

import anyio

_KERNEL_THREAD = 0x00200000  # PF_KTHREAD, include/linux/sched.h
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STAT_BYTES = 1024


@dataclass(frozen=True)
class Seen:
    """A process as /proc/PID/stat tells it, see proc(5)."""

    pid: int
    ppid: int
    comm: str
    uid: int
    cpu_ticks: int
    rss_bytes: int
    start_ticks: int

    def user(self) -> str:
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)


def processes() -> list[Seen]:
    """Every process but kernel threads, zombies and ourselves, by pid."""
    own = os.getpid()
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return [seen for pid in pids if pid != own and (seen := look_at(pid)) is not None]


def look_at(pid: int) -> Seen | None:
    """None when it is gone, a zombie or a kernel thread."""
    head, _, tail = _read(f"/proc/{pid}/stat", _STAT_BYTES).rpartition(b")")
    fields = tail.split()
    if len(fields) < 22 or fields[0] in (b"Z", b"X") or int(fields[6]) & _KERNEL_THREAD:
        return None
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
    return Seen(
        pid=pid,
        ppid=int(fields[1]),
        comm=head.partition(b"(")[2].decode("utf-8", "replace"),
        uid=uid,
        cpu_ticks=int(fields[11]) + int(fields[12]),
        rss_bytes=int(fields[21]) * _PAGE_BYTES,
        start_ticks=int(fields[19]),
    )


def matching(text: str, candidates: Iterable[Seen]) -> list[Seen]:
    """Those whose name, arguments or user contain `text`, in any case."""
    wanted = text.casefold()
    return [
        seen
        for seen in candidates
        if wanted in seen.comm.casefold()
        or wanted in _arguments(seen.pid).casefold()
        or wanted in seen.user().casefold()
    ]


async def busiest(candidates: Iterable[Seen], look_s: float) -> list[tuple[Seen, float]]:
    """Processes with the share of one core each used during the look, the busiest first.

    Among those that did nothing, the one that used more CPU in its life comes first.
    """
    await anyio.sleep(look_s)
    shares = [
        (now, (now.cpu_ticks - before.cpu_ticks) / _TICKS_PER_S / look_s)
        for before in candidates
        if (now := look_at(before.pid)) is not None and now.start_ticks == before.start_ticks
    ]
    return sorted(shares, key=lambda item: (-item[1], -item[0].cpu_ticks))


def _arguments(pid: int) -> str:
    return _read(f"/proc/{pid}/cmdline", 65536).replace(b"\0", b" ").decode("utf-8", "replace")


def _read(path: str, limit_bytes: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, limit_bytes)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
