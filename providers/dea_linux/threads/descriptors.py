"""Notes what the descriptors are that threads wait on, at the moment when they wait."""

import os
import re
import struct
from dataclasses import dataclass, field
from typing import Any

from dea_linux import procfs
from dea_linux.threads.calls import Kind

_MOST_WATCHED = 64  # descriptors of one epoll, poll or select that are looked at
_REFRESH_MS = 1000
_WATCHED_BY_EPOLL = re.compile(r"^tfd:\s+(\d+)", re.MULTILINE)


@dataclass
class Descriptors:
    """`records` are JSON objects in the order they were seen: raw links, fdinfo texts, bytes.

    `links` are the pipes and sockets seen so far: others may hold their other ends.
    """

    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    links: set[str] = field(default_factory=set[str])
    _known: set[tuple[int, int, str]] = field(default_factory=set[tuple[int, int, str]])
    _watched: dict[tuple[int, ...], tuple[int, str]] = field(
        default_factory=dict[tuple[int, ...], tuple[int, str]]
    )
    _memories: dict[int, int] = field(default_factory=dict[int, int])

    def link(self, at_ms: int, pid: int, fd: int, *, polled: bool = False) -> str:
        """What a descriptor is now: a path, "socket:[7]", "pipe:[8]" or "anon_inode:...".

        The file itself is never touched: a stat of one on a dead network drive would not return.
        A path that is polled is a FIFO or a device, since other files are always ready.
        """
        path = f"/proc/{pid}/fd/{fd}"
        link = procfs.read_link(path)
        if link and (pid, fd, link) not in self._known:
            self._known.add((pid, fd, link))
            record = {"at_ms": at_ms, "pid": pid, "fd": fd, "link": link, "access": _access(path)}
            if link.startswith("anon_inode:"):
                record["info"] = procfs.read_text(f"/proc/{pid}/fdinfo/{fd}")
            self.records.append(record)
        if link.startswith(("pipe:", "socket:")) or (polled and link.startswith("/")):
            self.links.add(link)
        return link

    def watching(self, at_ms: int, pid: int, tid: int, kind: Kind, arguments: list[int]) -> None:
        """Note which descriptors a poll, select or epoll waits for."""
        if not arguments:
            return
        if kind == "epoll":
            self._watching_epoll(at_ms, pid, arguments[0] & 0xFFFFFFFF)
            return
        raw = self._poll_array(pid, kind, arguments)
        if self._is_news((pid, tid), at_ms, raw.hex()):
            self.records.append({"at_ms": at_ms, "pid": pid, "tid": tid, "array": raw.hex()})
        for fd, _ in watched_descriptors(kind, raw)[:_MOST_WATCHED]:
            self.link(at_ms, pid, fd, polled=True)

    def memory(self, pid: int, address: int, size: int) -> bytes:
        """Bytes of a process, empty when they cannot be read."""
        try:
            if pid not in self._memories:
                self._memories[pid] = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(self._memories[pid], size, address)
        except (OSError, OverflowError, ValueError):
            return b""

    def close(self) -> None:
        for file in self._memories.values():
            os.close(file)
        self._memories.clear()

    def _watching_epoll(self, at_ms: int, pid: int, fd: int) -> None:
        last = self._watched.get((pid, fd, -1))
        if last and at_ms - last[0] < _REFRESH_MS:
            return
        info = procfs.read_text(f"/proc/{pid}/fdinfo/{fd}")
        if not self._is_news((pid, fd, -1), at_ms, info):
            return
        self.records.append({"at_ms": at_ms, "pid": pid, "fd": fd, "epoll": info})
        for watched in epoll_descriptors(info)[:_MOST_WATCHED]:
            self.link(at_ms, pid, watched, polled=True)

    def _is_news(self, key: tuple[int, ...], at_ms: int, content: str) -> bool:
        last = self._watched.get(key)
        self._watched[key] = (at_ms, content)
        return last is None or last[1] != content

    def _poll_array(self, pid: int, kind: Kind, arguments: list[int]) -> bytes:
        """The struct pollfd array of poll(2), or the read and write sets of select(2)."""
        if kind == "poll":
            count = min(arguments[1] & 0xFFFFFFFF, _MOST_WATCHED)
            return self.memory(pid, arguments[0], 8 * count) if count else b""
        width = (min(arguments[0] & 0xFFFFFFFF, 1024) + 63) // 64 * 8
        sets = [self.memory(pid, where, width) if where else b"" for where in arguments[1:3]]
        return b"".join(chunk.ljust(width, b"\0") for chunk in sets)


def epoll_descriptors(info: str) -> list[int]:
    """The descriptors in the fdinfo text of an epoll."""
    return [int(fd) for fd in _WATCHED_BY_EPOLL.findall(info)]


def watched_descriptors(kind: str, raw: bytes) -> list[tuple[int, bool]]:
    """(descriptor, whether it waits to write only) from what `_poll_array` read."""
    if kind == "poll":
        entries = struct.iter_unpack("=ihh", raw[: len(raw) // 8 * 8])
        return [(fd, bool(events & 4) and not events & 1) for fd, events, _ in entries if fd >= 0]
    half = len(raw) // 2
    read, write = _bits(raw[:half]), _bits(raw[half:])
    return [(fd, fd not in read) for fd in sorted(read | write)]


def _bits(chunk: bytes) -> set[int]:
    return {8 * i + bit for i, byte in enumerate(chunk) for bit in range(8) if byte >> bit & 1}


def _access(path: str) -> int:
    """Mode bits of the descriptor: 0400 reads, 0200 writes."""
    try:
        return os.lstat(path).st_mode & 0o600
    except OSError:
        return 0
