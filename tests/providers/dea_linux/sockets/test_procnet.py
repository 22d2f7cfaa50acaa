"""The fallback without sock_diag agrees with sock_diag."""

import os
import socket

from dea_linux import netlink
from dea_linux.sockets import procnet


def test_both_ways_see_the_same_sockets() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
        server.accept()[0] as accepted,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("127.0.0.1", 0))
        inodes = {os.fstat(sock.fileno()).st_ino for sock in (server, accepted, udp)}
        from_proc = procnet.parse(procnet.collect(os.getpid()).decode())
        from_kernel = netlink.parse_inet(netlink.dump_inet())
        told = [
            {(s.protocol, s.family, s.state, *s.ends, s.inode) for s in seen if s.inode in inodes}
            for seen in (from_proc, from_kernel)
        ]
    assert len(told[0]) == len(inodes)
    assert told[0] == told[1]


def test_addresses_of_both_families_and_a_torn_tail() -> None:
    text = (
        "== tcp\n"
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000002 00:00000000 00000000    33"
        "        0 4242 1 0000000000000000 100 0 0 10 0\n"
        "== tcp6\n"
        "   0: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:D431 01"
        " 00000000:00000000 04:00000000 00000003     0        0 77 1 0 20 4 30 10 -1\n"
        "   1: 00000000000000000000000001000000:1F90 0000"
    )
    listener, mapped = procnet.parse(text)
    assert (listener.local, listener.state, listener.recv_queue) == ("127.0.0.1:8080", "LISTEN", 2)
    assert (listener.uid, listener.inode) == (33, 4242)
    assert (mapped.family, mapped.local, mapped.remote) == (
        "ipv6",
        "127.0.0.1:8080",
        "127.0.0.1:54321",
    )
    assert (mapped.timer, mapped.unanswered) == ("persist", 3)
