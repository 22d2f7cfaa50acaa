"""Says what a descriptor is: which peer a socket talks to, who holds the other end of a pipe."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Literal

from dea.contracts.data.sockets import SocketRole
from dea.contracts.secrets import target_text
from dea_linux.netlink import InetSocket, UnixSocket
from dea_linux.threads.sockets import Sockets
from dea_linux.threads.stored import Stored

ThingKind = Literal["socket", "pipe", "tty", "timer", "signal", "wakeup", "file", "other"]
_READS, _WRITES = 0o400, 0o200
_ANONYMOUS: dict[str, ThingKind] = {
    "timerfd": "timer",
    "signalfd": "signal",
    "eventfd": "wakeup",
}


@dataclass(frozen=True)
class Thing:
    """What a descriptor stands for. Kind `wakeup`: only its own process can make it ready."""

    kind: ThingKind
    name: str
    role: SocketRole | None = None
    peer_pids: tuple[int, ...] = ()
    inode: int = 0  # of a connection to elsewhere
    state: str = ""  # of a TCP socket


class Things:
    """Looks things up in what was stored."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self.sockets = Sockets(stored)
        self._links: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
        for raw in stored.descriptors:
            if "link" in raw:
                self._links[raw["pid"], raw["fd"]].append(raw)

    def of(self, pid: int, link: str, *, writes: bool = False, fifo: bool = False) -> Thing:
        """What `link` stands for, to a thread of `pid` that waits to read (or to write)."""
        if link.startswith("socket:["):
            return self._socket(pid, int(link[8:-1]))
        if link.startswith("pipe:[") or fifo:
            return self._pipe(pid, link, writes=writes)
        if link.startswith("anon_inode:"):
            name = link.removeprefix("anon_inode:").strip("[]")
            return Thing(_ANONYMOUS.get(name, "other"), name)
        if link.startswith(("/dev/pts/", "/dev/tty", "/dev/console")):
            return Thing("tty", link)
        is_file = link.startswith("/") and not link.startswith("/dev/")
        return Thing("file" if is_file else "other", safe(link))

    def at(self, pid: int, fd: int, at_ms: int, *, writes: bool) -> Thing | None:
        """What a polled descriptor was at that time."""
        known = self._links.get((pid, fd), [])
        if not known:
            return None
        earlier = [raw for raw in known if raw["at_ms"] <= at_ms]
        link: str = (earlier or known)[-1]["link"]
        fifo = link.startswith("/") and not link.startswith("/dev/")
        return self.of(pid, link, writes=writes, fifo=fifo)

    def _holders(self, link: str, *, but: int = 0, access: int = 0) -> list[tuple[int, str]]:
        """(pid, command) of other processes that hold it, able to `access` it."""
        found = {
            holder["holder"]: safe(holder["command"])
            for holder in self._stored.holders.get(link, [])
            if holder["holder"] != but and (not access or holder["access"] & access)
        }
        return sorted(found.items())

    def _pipe(self, pid: int, link: str, *, writes: bool) -> Thing:
        others = self._holders(link, but=pid, access=_READS if writes else _WRITES)
        if link in self._stored.holders and not others:
            return Thing("wakeup", f"{safe(link)} within the process")
        who = _named(others)
        name = f"{safe(link)} {'read' if writes else 'written'} by {who}" if who else safe(link)
        return Thing("pipe", name, peer_pids=_pids(others))

    def _socket(self, pid: int, inode: int) -> Thing:
        if inode in self.sockets.inet:
            return self._inet_socket(self.sockets.inet[inode])
        if inode in self.sockets.unix:
            return self._unix_socket(pid, self.sockets.unix[inode])
        return Thing("socket", "a socket that is closed by now or of another kind", "unknown")

    def _inet_socket(self, end: InetSocket) -> Thing:
        role = self.sockets.role(end)
        if role in ("listen", "inbound", "unconnected"):
            return Thing("socket", f"{end.protocol} {end.local} ({role})", role, state=end.state)
        other = self.sockets.other_end(end)
        peers = _pids(self._holders(f"socket:[{other}]")) if other else ()
        name = f"{end.protocol} {end.remote} ({role})"
        return Thing("socket", name, role, peers, end.inode, end.state)

    def _unix_socket(self, pid: int, end: UnixSocket) -> Thing:
        if end.state == "LISTEN":
            return Thing("socket", f"unix {safe(end.path)} (listen)", "listen", state=end.state)
        link = f"socket:[{end.peer_inode}]"
        others = self._holders(link, but=pid)
        if end.peer_inode and link in self._stored.holders and not others:
            return Thing("wakeup", "a socket pair within the process")
        peer = self.sockets.unix.get(end.peer_inode)
        if end.path:
            return Thing("socket", f"unix {safe(end.path)} (inbound)", "inbound", _pids(others))
        if peer and peer.path:
            return Thing("socket", f"unix {safe(peer.path)} (outbound)", "outbound", _pids(others))
        who = _named(others)
        name = f"unix socket pair with {who}" if who else "unix socket"
        return Thing("socket", name, "unknown", _pids(others))


def _pids(holders: list[tuple[int, str]]) -> tuple[int, ...]:
    return tuple(pid for pid, _ in holders[:4])


def _named(holders: list[tuple[int, str]]) -> str:
    return " or ".join(f"pid {pid} ({command})" for pid, command in holders[:2])


def safe(text: str) -> str:
    """Text from the target as one line without secrets."""
    return target_text(text, 120)
