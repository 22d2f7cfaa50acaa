"""Who opened a connection: we, or a client of one of our listeners?"""

from collections.abc import Collection, Iterable

from dea.contracts.data.sockets import SocketRole
from dea_linux.netlink import InetSocket, UnixSocket

EPHEMERAL_FROM = 32768  # the kernel's default for net.ipv4.ip_local_port_range


def listening_ports(sockets: Iterable[InetSocket]) -> frozenset[int]:
    return frozenset(s.local_port for s in sockets if s.state == "LISTEN")


def role_of(sock: InetSocket, listening: Collection[int]) -> SocketRole:
    """`listening`: the TCP ports that somebody listens on in the socket's namespace.

    Without a listener (it may have been closed, or be on another host) the side with the lower
    port, when only one port is ephemeral, is the server.
    """
    if sock.state == "LISTEN":
        return "listen"
    if not sock.remote_port:
        return "unconnected"
    if sock.protocol == "udp":
        return "outbound"
    if sock.local_port in listening:
        return "inbound"
    if sock.remote_port in listening:
        return "outbound"
    if sock.local_port < EPHEMERAL_FROM <= sock.remote_port:
        return "inbound"
    return "outbound"


def unix_role_of(sock: UnixSocket, peer: UnixSocket | None) -> SocketRole:
    """An accepted socket carries its listener's path, so the side without a path connected."""
    if sock.state == "LISTEN":
        return "listen"
    if not sock.peer_inode:
        return "unconnected"
    if sock.path:
        return "inbound"
    return "outbound" if peer is not None and peer.path else "unknown"
