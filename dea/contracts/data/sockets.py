"""Sockets, and what is seen on the wire."""

from typing import ClassVar, Literal

from dea.contracts.data.base import Data, EvidenceKind, Terse

SocketRole = Literal["listen", "inbound", "outbound", "unconnected", "unknown"]


class SocketChange(Terse):
    """What happened on one socket between two looks."""

    window_s: float
    read_bytes: int | None = None  # what the program took out of the receive queue
    acked_bytes: int | None = None  # what the peer acknowledged
    recv_queue_was_bytes: int | None = None
    send_queue_was_bytes: int | None = None
    retransmits: int | None = None
    drops: int | None = None  # connections or datagrams thrown away for want of room
    backlog_was: int | None = None


class Socket(Data):
    """One socket. `outbound`: we connected; `inbound`: a client connected to our listener."""

    kind: ClassVar[EvidenceKind] = "socket"

    protocol: Literal["tcp", "udp", "unix"]
    family: Literal["ipv4", "ipv6", "unix"]
    state: str  # LISTEN, ESTABLISHED, TIME_WAIT, ...
    local: str  # "127.0.0.1:8080", "[::]:80", a unix path
    remote: str | None = None
    role: SocketRole = "unknown"
    inode: int
    pid: int | None = None  # the holder; several holders: the first, the rest in `holders`
    fd: int | None = None
    command: str | None = None
    holders: list[int] = []
    user: str | None = None
    started_at: str | None = None  # of the holder
    netns: int | None = None  # inode of its network namespace when it is not the target's
    recv_queue_bytes: int | None = None
    send_queue_bytes: int | None = None
    rtt_ms: float | None = None
    retransmits: int | None = None
    bytes_sent: int | None = None
    bytes_received: int | None = None
    since_sent_ms: int | None = None
    since_received_ms: int | None = None
    backlog: int | None = None  # LISTEN: connections not yet accepted
    backlog_limit: int | None = None
    reuse_port: bool | None = None
    ipv6_only: bool | None = None
    count: int = 1  # how many are alike (state, role, peer, holder); this is one of them
    peer_pid: int | None = None  # who holds the other end, when that is on this host
    peer_command: str | None = None
    held_by_target: bool | None = None  # by the target, one that descends from it or its parents
    since_heard_ms: int | None = None  # since anything came from the peer, acknowledgements too
    unanswered: int | None = None  # how often in a row the same segment was sent again
    peer_window_closed: bool | None = None  # the peer has no room: it does not read
    change: SocketChange | None = None  # absent when it was seen only once


class SocketSummary(Data):
    """How many sockets, by state and by peer."""

    kind: ClassVar[EvidenceKind] = "socket_summary"

    pid: int
    total: int
    by_state: dict[str, int]
    by_peer: dict[str, int] = {}
    added: int | None = None  # net change over the window
    port: int | None = None  # set when only sockets on this port were looked at


class PacketSummary(Data):
    """What a capture holds for one conversation."""

    kind: ClassVar[EvidenceKind] = "packet_summary"

    local: str
    remote: str
    packets: int
    bytes: int
    retransmits: int = 0


class DnsQuery(Data):
    """One name looked up."""

    kind: ClassVar[EvidenceKind] = "dns_query"

    name: str
    query_type: str
    server: str
    latency_ms: float | None = None
    response_code: str | None = None


class TlsSni(Data):
    """The server name a TLS client asked for."""

    kind: ClassVar[EvidenceKind] = "tls_sni"

    name: str
    remote: str
    version: str | None = None
