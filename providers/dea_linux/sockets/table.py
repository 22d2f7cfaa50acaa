"""The sockets that the examined processes hold, from what was stored: who holds each, since when."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dea.contracts.data.sockets import SocketRole
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea_linux import netlink
from dea_linux.netlink import InetSocket, UnixSocket
from dea_linux.sockets import snapshot
from dea_linux.sockets.peers import Peers
from dea_linux.sockets.processes import Who
from dea_linux.sockets.roles import listening_ports, role_of, unix_role_of

_COMMAND_CAP = 80


@dataclass(frozen=True)
class Row:
    """One TCP or UDP socket. `before` is the same one at the first look, when it was there."""

    sock: InetSocket
    before: InetSocket | None
    role: SocketRole
    holders: list[tuple[int, int]]  # (pid, fd)
    peer_holders: list[tuple[int, int]]


@dataclass(frozen=True)
class UnixRow:
    """One AF_UNIX socket; `peer` when its other end was seen too."""

    sock: UnixSocket
    peer: UnixSocket | None
    role: SocketRole
    holders: list[tuple[int, int]]
    peer_holders: list[tuple[int, int]]


HolderTable = dict[int, list[tuple[int, int]]]


@dataclass(frozen=True)
class Held:
    """Holders by inode at both looks, and of sockets that others hold."""

    first: HolderTable
    second: HolderTable
    others: HolderTable
    unreadable: list[int]

    def of(self, inode: int) -> list[tuple[int, int]]:
        return self.second.get(inode) or self.others.get(inode) or []


def read_json(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """A stored JSON object, empty when there is none. Raises BackendError when it is damaged."""
    try:
        stored: dict[str, Any] = json.loads(files.get(name) or b"{}")
    except ValueError as error:
        raise BackendError(f"{name} is damaged: {error}") from error
    return stored


def read_held(files: Mapping[str, bytes]) -> Held:
    stored = read_json(files, "holders.json")

    def table(name: str) -> HolderTable:
        return {
            int(inode): [(int(pid), int(fd)) for pid, fd in found]
            for inode, found in stored.get(name, {}).items()
        }

    return Held(table("first"), table("second"), table("others"), stored.get("unreadable", []))


def read_processes(files: Mapping[str, bytes]) -> dict[int, Who]:
    return {int(pid): who for pid, who in read_json(files, "processes.json").items()}


def command_of(who: Who | None) -> str | None:
    """The command line as one short line without secrets; the name when it has none."""
    if who is None:
        return None
    text = who.get("cmdline") or who.get("comm", "")
    return target_text(text, _COMMAND_CAP) or None


def inet_rows(files: Mapping[str, bytes], held: Held) -> list[Row]:
    sockets = snapshot.stored(files, "look-2")
    before = {sock.inode: sock for sock in snapshot.stored(files, "look-1") if sock.inode}
    listening, peers = listening_ports(sockets), Peers(sockets)
    return [
        Row(
            sock,
            before.get(sock.inode) if sock.inode in held.first else None,
            role_of(sock, listening),
            held.second[sock.inode],
            held.of(peers.inode_of(sock)),
        )
        for sock in sockets
        if sock.inode in held.second
    ]


def unix_rows(files: Mapping[str, bytes], held: Held) -> list[UnixRow]:
    by_inode = {sock.inode: sock for sock in netlink.parse_unix(files.get("unix.netlink", b""))}
    rows: list[UnixRow] = []
    for sock in by_inode.values():
        if sock.inode in held.second:
            peer = by_inode.get(sock.peer_inode)
            role = unix_role_of(sock, peer)
            rows.append(
                UnixRow(sock, peer, role, held.second[sock.inode], held.of(sock.peer_inode))
            )
    return rows


def count_closing(files: Mapping[str, bytes]) -> dict[str, int]:
    """Sockets on our listening ports that no process holds any more, by state (TIME_WAIT, ...)."""
    counts: dict[str, int] = {}
    for sock in snapshot.stored(files, "look-2"):
        if not sock.inode and sock.state not in ("ESTABLISHED", "SYN_RECV", "NEW_SYN_RECV"):
            counts[sock.state] = counts.get(sock.state, 0) + 1
    return counts
