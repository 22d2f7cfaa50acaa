"""The other end of a connection, when it is on the same host."""

from collections.abc import Iterable

from dea_linux.netlink import InetSocket

_ANY = ("0.0.0.0", "::")


class Peers:
    """Finds other ends among all sockets of one network namespace."""

    def __init__(self, sockets: Iterable[InetSocket]) -> None:
        self._by_ends: dict[tuple[str, int, str, int], InetSocket] = {}
        self._listeners: dict[int, list[InetSocket]] = {}
        for sock in sockets:
            if sock.state == "LISTEN":
                self._listeners.setdefault(sock.local_port, []).append(sock)
            elif sock.remote_port and sock.protocol == "tcp":
                self._by_ends[sock.ends] = sock

    def inode_of(self, sock: InetSocket) -> int:
        """Inode of the other end, 0 when it is not on this host.

        A connection that waits for accept has no inode yet: then it is the listener's.
        """
        if not sock.remote_port or sock.protocol != "tcp":
            return 0
        end = self._by_ends.get(sock.reversed_ends)
        if end is not None and end.inode:
            return end.inode
        if end is None and sock.state != "SYN_SENT":
            return 0
        return next(
            (s.inode for s in self._listeners.get(sock.remote_port, ()) if _hears(s, sock)), 0
        )


def _hears(listener: InetSocket, client: InetSocket) -> bool:
    """Whether this listener is the one that the client connects to."""
    address = client.remote_address
    if listener.local_address == address:
        return True
    local = address.startswith("127.") or address in ("::1", client.local_address)
    return listener.local_address in _ANY and local
