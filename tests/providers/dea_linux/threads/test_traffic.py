"""Bytes are told only of connections that were watched until the end."""

from dea_linux.sock_diag import InetSocket, TcpInfo
from dea_linux.threads.stored import Stored
from dea_linux.threads.traffic import Traffic, TrafficLog


def seen(at_ms: int, inode: int, moved: int) -> tuple[int, InetSocket]:
    tcp = TcpInfo(1.0, 0, 0, 40, 90, 40, bytes_acked=moved, bytes_received=moved)
    end = InetSocket(
        *("tcp", "ipv4", "ESTABLISHED", "127.0.0.1", 4000 + inode, "127.0.0.1", 80),
        *(inode, 0, 0, 0),
        tcp=tcp,
    )
    return at_ms, end


def traffic(*sockets: tuple[int, InetSocket]) -> Traffic:
    found = TrafficLog(Stored({}, sockets=list(sockets))).of({1, 2})
    assert found is not None
    return found


def test_what_moved_on_a_connection_that_lasts() -> None:
    found = traffic(seen(0, 1, 10), seen(900, 1, 250))
    assert (found.sent_bytes, found.received_bytes) == (240, 240)


def test_what_moved_on_connections_that_were_closed_is_unknown_not_nothing() -> None:
    found = traffic(seen(0, 1, 0), seen(200, 1, 0), seen(700, 2, 0), seen(900, 2, 0))
    assert (found.sent_bytes, found.received_bytes) == (None, None)
    assert found.unanswered == 1.0
    assert traffic(seen(0, 1, 0)).sent_bytes is None
