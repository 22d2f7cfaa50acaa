"""Sockets from the bytes that NETLINK_SOCK_DIAG answered, live or stored.

Numbers are those of linux/inet_diag.h, linux/unix_diag.h, linux/tcp.h and net/tcp_states.h.
"""

import socket
import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from dea_linux.netlink_frames import attributes, frame, messages

STATES = {
    1: "ESTABLISHED",
    2: "SYN_SENT",
    3: "SYN_RECV",
    4: "FIN_WAIT1",
    5: "FIN_WAIT2",
    6: "TIME_WAIT",
    7: "CLOSE",
    8: "CLOSE_WAIT",
    9: "LAST_ACK",
    10: "LISTEN",
    11: "CLOSING",
    12: "NEW_SYN_RECV",
}
TIMERS = {1: "retransmit", 2: "keepalive", 3: "time_wait", 4: "persist"}  # idiag_timer


@dataclass(frozen=True)
class TcpInfo:
    """What TCP knows of a connection, from struct tcp_info. Times count from the last such event."""

    rtt_ms: float
    retransmits: int  # since the connection began
    unacked: int  # segments in flight
    since_sent_ms: int
    since_received_ms: int
    since_heard_ms: int  # since the peer's last acknowledgement, data or not
    bytes_acked: int | None = None
    bytes_received: int | None = None
    bytes_sent: int | None = None
    not_sent_bytes: int | None = None
    segments_sent: int | None = None
    data_segments_sent: int | None = None
    data_segments_received: int | None = None


@dataclass(frozen=True)
class InetSocket:
    """One TCP or UDP socket.

    An IPv4 address that an IPv6 socket speaks to is given as plain IPv4. For LISTEN,
    `recv_queue` counts connections that wait for accept and `send_queue` is their limit.
    TIME_WAIT and SYN_RECV have no inode (0): no process holds them.
    """

    protocol: str  # "tcp", "udp"
    family: str  # "ipv4", "ipv6"
    state: str
    local_address: str
    local_port: int
    remote_address: str
    remote_port: int
    inode: int
    uid: int
    recv_queue: int
    send_queue: int
    ipv6_only: bool | None = None
    timer: str = ""  # which timer runs: "retransmit", "keepalive", "time_wait", "persist", ""
    unanswered: int = 0  # how often the oldest unanswered segment, or window probe, was sent again
    drops: int | None = None  # packets thrown away for want of room since the socket was made
    tcp: TcpInfo | None = None

    @property
    def local(self) -> str:
        return endpoint(self.local_address, self.local_port)

    @property
    def remote(self) -> str | None:
        """The peer, None when there is none."""
        return endpoint(self.remote_address, self.remote_port) if self.remote_port else None

    @property
    def ends(self) -> tuple[str, int, str, int]:
        return self.local_address, self.local_port, self.remote_address, self.remote_port

    @property
    def reversed_ends(self) -> tuple[str, int, str, int]:
        """The `ends` of the socket at the other end, when that is on the same host."""
        return self.remote_address, self.remote_port, self.local_address, self.local_port


@dataclass(frozen=True)
class UnixSocket:
    """One AF_UNIX socket. `peer_inode` is 0 when it is not connected; `path` "@..." is abstract."""

    type: str  # "stream", "dgram", "seqpacket"
    state: str
    inode: int
    path: str
    peer_inode: int
    recv_queue: int
    send_queue: int
    uid: int | None = None


def endpoint(address: str, port: int) -> str:
    """`127.0.0.1:80` or `[::1]:80`."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def parse_inet(raw: bytes) -> Iterator[InetSocket]:
    """Sockets from the bytes of `dump` or `dump_inet`; a torn tail is left out.

    A reply does not tell its protocol, so the request's sequence number carries it.
    """
    return (sock for _, _, sock in _inet(raw))


def _inet(raw: bytes) -> Iterator[tuple[int, bytes, InetSocket]]:
    for sequence, body in messages(raw):
        if len(body) >= 72 and body[0] in (socket.AF_INET, socket.AF_INET6):
            protocol = "udp" if sequence == socket.IPPROTO_UDP else "tcp"
            yield sequence, body, _inet_socket(body, protocol)


def keep_inet(raw: bytes, wanted: Callable[[InetSocket], bool]) -> bytes:
    """The replies about wanted sockets only: what is worth storing of a host with many."""
    return b"".join(frame(body, sequence) for sequence, body, sock in _inet(raw) if wanted(sock))


def parse_unix(raw: bytes) -> Iterator[UnixSocket]:
    """AF_UNIX sockets from the bytes of `dump_unix`; a torn tail is left out."""
    for _, body in messages(raw):
        if len(body) >= 16 and body[0] == socket.AF_UNIX:
            yield _unix_socket(body)


def keep_unix(raw: bytes, inodes: Collection[int]) -> bytes:
    """The replies about the sockets with these inodes only."""
    return b"".join(
        frame(body, sequence)
        for sequence, body in messages(raw)
        if len(body) >= 16 and struct.unpack_from("=I", body, 4)[0] in inodes
    )


def _unix_socket(body: bytes) -> UnixSocket:
    """From struct unix_diag_msg and the attributes after it."""
    extras = attributes(body, 16)
    peer, uid = extras.get(2), extras.get(7)
    received, sent = struct.unpack_from("=II", extras.get(4, bytes(8)))
    return UnixSocket(
        type={1: "stream", 2: "dgram", 5: "seqpacket"}.get(body[1], str(body[1])),
        state=STATES.get(body[2], str(body[2])),
        inode=struct.unpack_from("=I", body, 4)[0],
        path=_unix_path(extras.get(0, b"")),
        peer_inode=struct.unpack("=I", peer)[0] if peer else 0,
        recv_queue=received,
        send_queue=sent,
        uid=struct.unpack("=I", uid)[0] if uid else None,
    )


def _inet_socket(body: bytes, protocol: str) -> InetSocket:
    """From struct inet_diag_msg and the attributes after it."""
    family, state = body[0], body[1]
    local_port, remote_port = struct.unpack_from("!HH", body, 4)
    received, sent, uid, inode = struct.unpack_from("=IIII", body, 56)
    extras = attributes(body, 72)
    only, info = extras.get(11), extras.get(2)  # INET_DIAG_SKV6ONLY, INET_DIAG_INFO
    memory = extras.get(7, b"")  # INET_DIAG_SKMEMINFO: nine numbers, the last one is drops
    return InetSocket(
        protocol=protocol,
        family="ipv4" if family == socket.AF_INET else "ipv6",
        state=STATES.get(state, str(state)),
        local_address=_address(family, body[8:24]),
        local_port=local_port,
        remote_address=_address(family, body[24:40]),
        remote_port=remote_port,
        inode=inode,
        uid=uid,
        recv_queue=received,
        send_queue=sent,
        ipv6_only=bool(only[0]) if only else None,
        timer=TIMERS.get(body[2], ""),
        unanswered=body[3],
        drops=struct.unpack_from("=I", memory, 32)[0] if len(memory) >= 36 else None,
        tcp=_tcp_info(info) if info and protocol == "tcp" and state != 10 else None,
    )


def _tcp_info(info: bytes) -> TcpInfo | None:
    """From struct tcp_info, which grew over the years: later fields may be missing."""
    if len(info) < 104:
        return None

    def optional(layout: str, offset: int) -> int | None:
        if len(info) < offset + struct.calcsize(layout):
            return None
        return int(struct.unpack_from(layout, info, offset)[0])

    unacked, since_sent, since_received, since_heard, rtt_us, retransmits = (
        struct.unpack_from("=I", info, offset)[0] for offset in (24, 44, 52, 56, 68, 100)
    )
    return TcpInfo(
        rtt_ms=rtt_us / 1000,
        retransmits=retransmits,
        unacked=unacked,
        since_sent_ms=since_sent,
        since_received_ms=since_received,
        since_heard_ms=since_heard,
        bytes_acked=optional("=Q", 120),
        bytes_received=optional("=Q", 128),
        not_sent_bytes=optional("=I", 144),
        bytes_sent=optional("=Q", 200),
        segments_sent=optional("=I", 136),
        data_segments_sent=optional("=I", 156),
        data_segments_received=optional("=I", 152),
    )


def _address(family: int, packed: bytes) -> str:
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, packed[:4])
    if packed.startswith(bytes(10) + b"\xff\xff"):
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return socket.inet_ntop(socket.AF_INET6, packed)


def _unix_path(name: bytes) -> str:
    text = name.rstrip(b"\0").decode("utf-8", "replace")
    return "@" + text[1:] if text.startswith("\0") else text
