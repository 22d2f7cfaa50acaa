"""Sockets as the kernel tells them: our own, which we know all about."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from dea_linux import netlink
from dea_linux.netlink import InetSocket, UnixSocket

KERNEL = tuple(int(part) for part in os.uname().release.split(".")[:2])


@pytest.fixture
def keep() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def inet_of(sock: socket.socket) -> InetSocket:
    inode = os.fstat(sock.fileno()).st_ino
    (found,) = (s for s in netlink.parse_inet(netlink.dump_inet()) if s.inode == inode)
    return found


def unix_of(sock: socket.socket) -> UnixSocket:
    inode = os.fstat(sock.fileno()).st_ino
    (found,) = (s for s in netlink.parse_unix(netlink.dump_unix()) if s.inode == inode)
    return found


def test_listener_tells_its_address_and_how_many_wait_for_accept(keep: ExitStack) -> None:
    server = keep.enter_context(socket.create_server(("127.0.0.1", 0), backlog=7))
    for _ in range(3):
        keep.enter_context(socket.create_connection(server.getsockname()))
    found = inet_of(server)
    assert (found.protocol, found.family, found.state) == ("tcp", "ipv4", "LISTEN")
    assert found.local == f"127.0.0.1:{server.getsockname()[1]}"
    assert found.remote is None
    assert (found.recv_queue, found.send_queue) == (3, 7)


def test_connection_counts_what_was_sent_read_and_left_in_the_queue(keep: ExitStack) -> None:
    server = keep.enter_context(socket.create_server(("127.0.0.1", 0)))
    client = keep.enter_context(socket.create_connection(server.getsockname()))
    accepted = keep.enter_context(server.accept()[0])
    client.sendall(b"x" * 1000)
    assert len(accepted.recv(300)) == 300
    ours, theirs = inet_of(client), inet_of(accepted)
    assert ours.tcp is not None
    assert theirs.tcp is not None
    assert (ours.tcp.bytes_sent, theirs.tcp.bytes_received) == (1000, 1000)
    assert theirs.recv_queue == 700
    assert ours.ends == theirs.reversed_ends


def test_ipv4_peer_of_a_dual_stack_listener_is_told_as_ipv4(keep: ExitStack) -> None:
    try:
        server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    except OSError:
        pytest.skip("no IPv6 on this machine")
    keep.enter_context(server)
    client = keep.enter_context(socket.create_connection(("127.0.0.1", server.getsockname()[1])))
    accepted = keep.enter_context(server.accept()[0])
    assert inet_of(server).ipv6_only is False
    found = inet_of(accepted)
    assert found.family == "ipv6"
    assert found.remote == f"127.0.0.1:{client.getsockname()[1]}"


def test_udp_and_merely_bound_sockets_are_told(keep: ExitStack) -> None:
    udp = keep.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    tcp = keep.enter_context(socket.socket())
    for sock in (udp, tcp):
        sock.bind(("127.0.0.1", 0))
    assert inet_of(udp).protocol == "udp"
    assert inet_of(udp).local == f"127.0.0.1:{udp.getsockname()[1]}"
    if KERNEL >= (6, 8):  # earlier kernels do not tell
        assert (inet_of(tcp).state, inet_of(tcp).remote) == ("CLOSE", None)


def test_unix_sockets_know_their_peer_and_their_path(keep: ExitStack) -> None:
    left, right = socket.socketpair()
    keep.enter_context(left)
    keep.enter_context(right)
    left.send(b"four")
    assert unix_of(right).peer_inode == os.fstat(left.fileno()).st_ino
    named = keep.enter_context(socket.socket(socket.AF_UNIX))
    named.bind(f"\0dea-test-{os.getpid()}")
    named.listen(1)
    assert (unix_of(named).state, unix_of(named).path) == ("LISTEN", f"@dea-test-{os.getpid()}")


def test_stored_replies_survive_filtering_and_a_torn_tail(keep: ExitStack) -> None:
    server = keep.enter_context(socket.create_server(("127.0.0.1", 0)))
    keep.enter_context(socket.create_server(("127.0.0.1", 0)))
    raw = netlink.dump_inet()
    port = server.getsockname()[1]
    kept = netlink.keep_inet(raw, lambda sock: sock.local_port == port)
    assert [sock.local_port for sock in netlink.parse_inet(kept)] == [port]
    everything = len(list(netlink.parse_inet(kept + kept)))
    assert len(list(netlink.parse_inet((kept + kept)[:-5]))) == everything - 1


def test_holders_names_pid_and_descriptor(keep: ExitStack) -> None:
    server = keep.enter_context(socket.create_server(("127.0.0.1", 0)))
    inode = os.fstat(server.fileno()).st_ino
    found = netlink.holders({inode}, [os.getpid()])
    assert found.of(inode) == [(os.getpid(), server.fileno())]
    assert netlink.holders({inode}).of(inode) == [(os.getpid(), server.fileno())]
    assert netlink.holders({0, 1}).by_inode == {}


def test_a_missing_namespace_is_an_error_not_an_empty_answer() -> None:
    with pytest.raises(OSError, match="No such file"):
        netlink.dump_inet(netns_pid=2**22 + 1)
