"""Which connection a socket descriptor is, by its inode: asked from the kernel, kept as text."""

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import cast

from dea.contracts.data.sockets import SocketRole
from dea_linux import netlink
from dea_linux.sockets import snapshot
from dea_linux.sockets.roles import EPHEMERAL_FROM, listening_ports, role_of, unix_role_of

# Connections in TIME_WAIT (6) and not yet accepted (12) have no inode, and there may be thousands.
_HELD = netlink.ALL_STATES & ~(1 << 6 | 1 << 12)


@dataclass(frozen=True)
class Peer:
    """`name`: "tcp to 10.0.0.7:5432"; clients of one listener and ephemeral ports are alike."""

    name: str
    state: str
    role: SocketRole


@dataclass
class Peers:
    """The sockets asked about so far. What was seen last of a socket counts."""

    refused: bool = False
    cost_s: float = 0.0  # of the dearest time we asked
    _found: dict[int, Peer] = field(default_factory=dict[int, Peer])

    def ask(self, pid: int, inodes: Collection[int]) -> None:
        """Learn about these sockets, which belong to the network namespace of the process."""
        if not inodes or self.refused:
            return
        began_s = time.monotonic()
        try:
            self._found.update(_inet(pid, inodes))
            if not self._found.keys() >= set(inodes):
                self._found.update(_unix(pid, inodes))
        except OSError:
            self.refused = True
        self.cost_s = max(self.cost_s, time.monotonic() - began_s)

    def known(self) -> set[int]:
        return set(self._found)

    def text(self) -> str:
        """One line `INODE STATE ROLE NAME` for each."""
        lines = [f"{inode} {p.state} {p.role} {p.name}" for inode, p in self._found.items()]
        return "\n".join([*lines, ""])


def parse(text: str) -> dict[int, Peer]:
    """What `Peers.text` wrote; lines that it did not write are left out."""
    found: dict[int, Peer] = {}
    for line in text.splitlines():
        words = line.split(maxsplit=3)
        if len(words) == 4 and words[0].isdigit():
            found[int(words[0])] = Peer(words[3], words[1], cast(SocketRole, words[2]))
    return found


def _inet(pid: int, inodes: Collection[int]) -> Iterator[tuple[int, Peer]]:
    sockets = snapshot.take(pid, _HELD).sockets()
    listening = listening_ports(sockets)
    for sock in sockets:
        if sock.inode in inodes:
            role = role_of(sock, listening)
            yield sock.inode, Peer(_inet_name(sock, role), sock.state, role)


def _inet_name(sock: netlink.InetSocket, role: SocketRole) -> str:
    if role == "listen":
        return f"{sock.protocol} listening on {sock.local}"
    if role == "inbound":
        return f"{sock.protocol} from clients of {sock.local}"
    if sock.remote:
        return f"{sock.protocol} to {sock.remote}"
    local = sock.local
    if sock.local_port >= EPHEMERAL_FROM:
        local = f"{local.rpartition(':')[0]}:*"
    return f"{sock.protocol} on {local}"


def _unix(pid: int, inodes: Collection[int]) -> Iterator[tuple[int, Peer]]:
    foreign = netlink.netns_of(pid) != netlink.netns_of()
    raw = netlink.dump_unix(netns_pid=pid if foreign else None)
    sockets = {sock.inode: sock for sock in netlink.parse_unix(raw)}
    for inode in inodes:
        if sock := sockets.get(inode):
            peer = sockets.get(sock.peer_inode)
            path = sock.path or (peer.path if peer else "") or "(unnamed)"
            yield inode, Peer(f"unix {path}", sock.state, unix_role_of(sock, peer))
