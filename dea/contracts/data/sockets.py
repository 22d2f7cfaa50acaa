"""Sockets, and what is seen on the wire."""

from typing import ClassVar, Literal

from dea.contracts.data.base import Data, EvidenceKind

SocketRole = Literal["listen", "inbound", "outbound", "unconnected", "unknown"]


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


class SocketSummary(Data):
    """How many sockets, by state and by peer."""

    kind: ClassVar[EvidenceKind] = "socket_summary"

    pid: int
    total: int
    by_state: dict[str, int]
    by_peer: dict[str, int] = {}


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
