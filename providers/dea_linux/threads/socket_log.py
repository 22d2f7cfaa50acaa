"""Asks the kernel now and then about the sockets that threads wait on."""

import base64
import socket
import struct
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from dea_linux import netlink, procfs
from dea_linux.netlink_frames import HEADER, SOCK_DIAG_BY_FAMILY, messages

_EVERY_S, _SOON_S = 0.2, 0.04  # soon: when a socket is new, since it may be closed again
_COST_LIMIT = 0.02  # of a CPU, so a host with many sockets is asked less often
_MOST_SOCKETS = 128
_LISTEN = 10
# Sockets in TIME_WAIT and half-open ones belong to no process, and there can be very many.
_HELD_STATES = netlink.ALL_STATES & ~(1 << 3 | 1 << 6 | 1 << 12)
_MAPPED = bytes(10) + b"\xff\xff"


@dataclass
class SocketLog:
    """`records` are JSON objects that hold raw replies: those about wanted sockets and their peers.

    `pid` tells the network namespace; the first record also holds all sockets that listen.
    """

    pid: int
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    peers: set[int] = field(default_factory=set[int])  # inodes of the other ends on this host
    error: str = ""
    _asked: set[int] = field(default_factory=set[int])
    _last_s: float = 0.0
    _cost_s: float = 0.0

    def ask_when_due(self, at_ms: int, inodes: Collection[int]) -> None:
        pause_s = _SOON_S if not self._asked.issuperset(inodes) else _EVERY_S
        due_s = self._last_s + max(pause_s, self._cost_s / _COST_LIMIT)
        if inodes and not self.error and time.monotonic() >= due_s:
            self.ask(at_ms, inodes)

    def ask(self, at_ms: int, inodes: Collection[int], *, everything: bool = False) -> None:
        """Store the replies about these sockets, and about the peers of new ones (or all)."""
        cpu_before = time.thread_time()
        try:
            raw = self._dump_inet()
        except OSError as error:
            self.error = f"sockets could not be read: {error}"
            return
        kept = list(self._keep(raw, set(inodes), everything=everything))
        self._store(at_ms, "inet", kept)
        self._asked |= set(inodes)
        self._last_s = time.monotonic()
        self._cost_s = time.thread_time() - cpu_before

    def ask_unix(self, at_ms: int, inodes: Collection[int]) -> None:
        """Store the replies about those of the sockets that are AF_UNIX, and about their peers."""
        try:
            raw = netlink.dump_unix(self._namespace())
        except OSError:  # a kernel without unix_diag
            return
        ends = {end.inode: end for end in netlink.parse_unix(raw)}
        wanted = {inode for inode in inodes if inode in ends}
        self.peers |= {ends[inode].peer_inode for inode in wanted} - {0}
        kept = [
            _frame(sequence, body)
            for sequence, body in messages(raw)
            if struct.unpack_from("=I", body, 4)[0] in wanted | self.peers
        ]
        self._store(at_ms, "unix", kept)

    def _keep(self, raw: bytes, inodes: set[int], *, everything: bool) -> Iterator[bytes]:
        """Frames about these sockets and their peers; or only about what may have changed since.

        What clients send to us is of no interest while we look, nor are peers that are known.
        """
        bodies = [(sequence, body) for sequence, body in messages(raw) if len(body) >= 72]
        listening = {body[4:6] for _, body in bodies if body[1] == _LISTEN}
        ours = [item for item in bodies if _inode(item[1]) in inodes][:_MOST_SOCKETS]
        fresh = [body for _, body in ours if everything or _inode(body) not in self._asked]
        other_ends = {_reversed(body) for body in fresh}
        for sequence, body in ours:
            if everything or body[4:6] not in listening or body in fresh:
                yield _frame(sequence, body)
        for sequence, body in bodies:
            if not self.records and body[1] == _LISTEN:
                yield _frame(sequence, body)
            elif _ends(body) in other_ends:
                self.peers.add(_inode(body))
                yield _frame(sequence, body)

    def _store(self, at_ms: int, family: str, frames: list[bytes]) -> None:
        if frames:
            raw = base64.b64encode(b"".join(frames)).decode()
            self.records.append({"at_ms": at_ms, "family": family, "netlink": raw})

    def _dump_inet(self) -> bytes:
        return netlink.dump_inet(_HELD_STATES, netns_pid=self._namespace())

    def _namespace(self) -> int | None:
        """The pid to enter a namespace by, None when it is our own."""
        theirs = procfs.read_link(f"/proc/{self.pid}/ns/net")
        return self.pid if theirs and theirs != procfs.read_link("/proc/self/ns/net") else None


def _frame(sequence: int, body: bytes) -> bytes:
    head = HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, 0, sequence, 0)
    return head + body + bytes(-len(body) % 4)


def _inode(body: bytes) -> int:
    return int(struct.unpack_from("=I", body, 68)[0])


def _ends(body: bytes) -> tuple[bytes, bytes]:
    """(local, remote) of struct inet_diag_msg, each port and address, IPv4 mapped into IPv6."""
    local, remote = body[8:24], body[24:40]
    if body[0] == socket.AF_INET:
        local, remote = _MAPPED + local[:4], _MAPPED + remote[:4]
    return body[4:6] + local, body[6:8] + remote


def _reversed(body: bytes) -> tuple[bytes, bytes]:
    local, remote = _ends(body)
    return remote, local
