"""Which way a connection was made, which socket is its other end, and who holds that."""

import ipaddress
import socket
import struct

from dea.contracts.data.sockets import SocketRole
from dea_linux.netlink import InetSocket, UnixSocket, endpoint
from dea_linux.threads.stored import Stored

_EPHEMERAL = 32768  # the first port that Linux gives to clients by default


class Sockets:
    """The sockets that were stored, as they were seen last."""

    def __init__(self, stored: Stored) -> None:
        self.inet = {end.inode: end for _, end in stored.sockets if end.inode}
        self.unix: dict[int, UnixSocket] = stored.unix
        self._by_ends = {(end.local, end.remote): end for end in self.inet.values() if end.remote}
        self._listeners = [end for _, end in stored.sockets if end.state == "LISTEN"]
        self._listening = {(end.local_address, end.local_port) for end in self._listeners}

    def role(self, end: InetSocket) -> SocketRole:
        """By who listens: on our port (a client came to us) or on the peer's (we went there)."""
        if end.state == "LISTEN":
            return "listen"
        if not end.remote_port:
            return "unconnected"
        if end.state == "SYN_SENT" or end.protocol == "udp":
            return "outbound"
        if self._listens(end.local_address, end.local_port):
            return "inbound"
        if self._listens(end.remote_address, end.remote_port):
            return "outbound"
        ours, theirs = end.local_port >= _EPHEMERAL, end.remote_port >= _EPHEMERAL
        if ours == theirs:
            return "unknown"
        return "outbound" if ours else "inbound"

    def other_end(self, end: InetSocket) -> int:
        """Inode of the peer on this host: its socket, or the listener that has yet to accept; or 0."""
        peer = self._by_ends.get((end.remote or "", end.local))
        if peer:
            return peer.inode
        if end.state != "SYN_SENT" or not _is_local(end):
            return 0
        return next((e.inode for e in self._listeners if e.local_port == end.remote_port), 0)

    def _listens(self, address: str, port: int) -> bool:
        return bool({(address, port), ("0.0.0.0", port), ("::", port)} & self._listening)


def _is_local(end: InetSocket) -> bool:
    remote = ipaddress.ip_address(end.remote_address)
    return remote.is_loopback or end.remote_address == end.local_address


def socket_address(raw: bytes) -> str:
    """The endpoint in a struct sockaddr, empty when it is of another family or torn."""
    if len(raw) < 8:
        return ""
    family, port = struct.unpack_from("=H", raw)[0], struct.unpack_from("!H", raw, 2)[0]
    if family == socket.AF_INET:
        return "tcp " + endpoint(socket.inet_ntop(family, raw[4:8]), port)
    if family == socket.AF_INET6 and len(raw) >= 24:
        return "tcp " + endpoint(socket.inet_ntop(family, raw[8:24]), port)
    if family == socket.AF_UNIX:
        return "unix " + raw[2:].split(b"\0")[0].decode("utf-8", "replace")
    return ""
