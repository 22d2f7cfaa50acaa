"""A socket of the table as evidence, and as one line of text."""

from collections.abc import Mapping

from dea.contracts.data import Socket, SocketChange
from dea.contracts.data.sockets import SocketRole
from dea.contracts.secrets import target_text
from dea_linux.netlink import InetSocket
from dea_linux.sockets.processes import Who
from dea_linux.sockets.table import Row, UnixRow, command_of

_NEVER_MS = 2**31  # the kernel's clock has no earlier event to count from


def inet_data(row: Row, people: Mapping[int, Who], window_s: float) -> Socket:
    sock, tcp = row.sock, row.sock.tcp
    listens = sock.state == "LISTEN"
    pid, fd = row.holders[0] if row.holders else (None, None)
    peer_pid = row.peer_holders[0][0] if row.peer_holders else None
    return Socket(
        protocol="udp" if sock.protocol == "udp" else "tcp",
        family="ipv6" if sock.family == "ipv6" else "ipv4",
        state=sock.state,
        local=sock.local,
        remote=sock.remote,
        role=row.role,
        inode=sock.inode,
        pid=pid,
        fd=fd,
        command=command_of(people.get(pid or 0)),
        holders=sorted({other for other, _ in row.holders})[:8],
        user=people.get(pid or 0, Who()).get("user"),
        recv_queue_bytes=None if listens else unread_bytes(sock),
        send_queue_bytes=None if listens else unacknowledged_bytes(sock),
        backlog=sock.recv_queue if listens else None,
        backlog_limit=sock.send_queue if listens else None,
        rtt_ms=tcp.rtt_ms if tcp else None,
        retransmits=tcp.retransmits if tcp else None,
        bytes_sent=tcp.bytes_sent if tcp else None,
        bytes_received=tcp.bytes_received if tcp else None,
        since_sent_ms=_since(tcp.since_sent_ms) if tcp else None,
        since_received_ms=_since(tcp.since_received_ms) if tcp else None,
        since_heard_ms=_since(tcp.since_heard_ms) if tcp else None,
        unanswered=sock.unanswered or None,
        peer_window_closed=sock.timer == "persist" or None,
        ipv6_only=sock.ipv6_only,
        peer_pid=peer_pid,
        peer_command=command_of(people.get(peer_pid)) if peer_pid else None,
        change=change_between(row.before, sock, window_s) if row.before else None,
    )


def unix_data(row: UnixRow, people: Mapping[int, Who]) -> Socket:
    sock = row.sock
    listens = sock.state == "LISTEN"
    pid, fd = row.holders[0]
    peer_pid = row.peer_holders[0][0] if row.peer_holders else None
    remote = row.peer.path if row.peer and row.peer.path else None
    return Socket(
        protocol="unix",
        family="unix",
        state=sock.state,
        local=target_text(sock.path) or f"unnamed {sock.type}",
        remote=target_text(remote) if remote else None,
        role=row.role,
        inode=sock.inode,
        pid=pid,
        fd=fd,
        command=command_of(people.get(pid)),
        holders=sorted({other for other, _ in row.holders})[:8],
        recv_queue_bytes=None if listens else sock.recv_queue,
        send_queue_bytes=None if listens else sock.send_queue,
        backlog=sock.recv_queue if listens else None,
        backlog_limit=sock.send_queue if listens else None,
        peer_pid=peer_pid,
        peer_command=command_of(people.get(peer_pid)) if peer_pid else None,
    )


def unread_bytes(sock: InetSocket) -> int:
    """The receive queue without the peer's FIN, which the kernel counts as one byte."""
    return max(0, sock.recv_queue - (sock.state in ("CLOSE_WAIT", "LAST_ACK", "CLOSING")))


def unacknowledged_bytes(sock: InetSocket) -> int:
    """The send queue without our own SYN or FIN, which the kernel counts as one byte."""
    counted = ("SYN_SENT", "FIN_WAIT1", "LAST_ACK", "CLOSING")
    return max(0, sock.send_queue - (sock.state in counted))


def change_between(before: InetSocket, after: InetSocket, window_s: float) -> SocketChange:
    """What the counters say happened; None where the kernel does not count it."""
    received = _added(_tcp(before, "bytes_received"), _tcp(after, "bytes_received"))
    read = None if received is None else received - unread_bytes(after) + unread_bytes(before)
    listens = after.state == "LISTEN"
    return SocketChange(
        window_s=window_s,
        read_bytes=None if read is None else max(0, read),
        acked_bytes=_added(_tcp(before, "bytes_acked"), _tcp(after, "bytes_acked")),
        recv_queue_was_bytes=None if listens else unread_bytes(before),
        send_queue_was_bytes=None if listens else unacknowledged_bytes(before),
        retransmits=_added(_tcp(before, "retransmits"), _tcp(after, "retransmits")),
        drops=_added(before.drops, after.drops),
        backlog_was=before.recv_queue if listens else None,
    )


def describe(data: Socket) -> str:
    """One line for people and for the listing."""
    ends = data.local if data.remote is None else f"{data.local} -> {data.remote}"
    if data.role == "inbound" and data.remote:
        ends = f"{data.local} <- {data.remote}"
    holder = "no holder seen" if data.pid is None else f"pid {data.pid} fd {data.fd}"
    parts = [f"{data.protocol} {data.state} {ends} ({_role(data.role)}{holder})"]
    if data.count > 1:
        parts.append(f"{data.count} alike")
    if data.backlog is not None:
        parts.append(f"{data.backlog} of at most {data.backlog_limit} wait for accept")
    if data.recv_queue_bytes:
        parts.append(f"{data.recv_queue_bytes} bytes not read")
    if data.send_queue_bytes:
        parts.append(f"{data.send_queue_bytes} bytes not acknowledged")
    if data.unanswered:
        parts.append(f"sent again {data.unanswered} times without an answer")
    if data.peer_pid and data.peer_pid == data.pid:
        parts.append("both ends are its own")
    elif data.peer_pid:
        parts.append(f"peer is pid {data.peer_pid} ({data.peer_command})")
    if data.rtt_ms:
        parts.append(f"rtt {data.rtt_ms:g} ms")
    return "; ".join(parts)


def _role(role: SocketRole) -> str:
    return "" if role in ("unknown", "listen") else f"{role}, "


def _since(value_ms: int) -> int | None:
    return value_ms if value_ms < _NEVER_MS else None


def _tcp(sock: InetSocket, name: str) -> int | None:
    return None if sock.tcp is None else getattr(sock.tcp, name)


def _added(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
