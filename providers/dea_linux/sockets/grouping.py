"""Which sockets are worth showing one by one, and which stand for many that are alike."""

from collections.abc import Iterable
from dataclasses import dataclass

from dea.contracts.data import Socket, SocketChange

# A closed end that we have not closed after this time is held, not just about to be closed.
_HELD_MS = 2000
_ALONE = 12  # at most so many are shown one by one for their trouble


@dataclass(frozen=True)
class Group:
    """Sockets that are alike; `shown` stands for all `members`."""

    shown: Socket
    members: list[Socket]


def grouped(sockets: Iterable[Socket]) -> list[Group]:
    """All sockets, the most telling group first."""
    ordered = sorted(sockets, key=lambda sock: -_trouble(sock))
    alone = [sock for sock in ordered if _trouble(sock) and not _waits_to_close(sock)][:_ALONE]
    taken = {sock.inode for sock in alone}
    alike: dict[tuple[object, ...], list[Socket]] = {}
    for sock in ordered:
        if sock.inode not in taken:
            alike.setdefault(_likeness(sock), []).append(sock)
    groups = [Group(sock, [sock]) for sock in alone]
    groups += [
        Group(members[0].model_copy(update={"count": len(members)}), members)
        for members in alike.values()
    ]
    return sorted(groups, key=_rank)


def _trouble(sock: Socket) -> int:
    """How much a socket looks like trouble; 0 for a quiet one."""
    change = sock.change
    if sock.backlog:
        return 100 if sock.backlog >= (sock.backlog_limit or 0) else 30
    if change is not None and (change.drops or change.retransmits):
        return 90
    if sock.unanswered or sock.peer_window_closed:
        return 80
    if _waits_to_close(sock):
        return 60
    if change is not None and _stands_still(sock, change):
        return 40
    return 50 if sock.state == "SYN_SENT" else 0


def _stands_still(sock: Socket, change: SocketChange) -> bool:
    """Something waited at both looks, and nothing of it was read or acknowledged meanwhile."""
    unread = sock.recv_queue_bytes and change.recv_queue_was_bytes and not change.read_bytes
    unsent = sock.send_queue_bytes and change.send_queue_was_bytes and not change.acked_bytes
    return bool(unread or unsent)


def _waits_to_close(sock: Socket) -> bool:
    """The peer has closed, we have not, and not only just now."""
    return (
        sock.state == "CLOSE_WAIT"
        and sock.change is not None
        and (sock.since_heard_ms is None or sock.since_heard_ms >= _HELD_MS)
    )


def _likeness(sock: Socket) -> tuple[object, ...]:
    if sock.role == "inbound":
        peer: tuple[str | None, str] = (sock.local, (sock.remote or "").rpartition(":")[0])
    elif sock.role == "outbound":
        peer = (sock.remote, "")
    else:
        peer = (sock.local, sock.remote or "")
    return (sock.protocol, sock.state, sock.role, peer, sock.pid, _waits_to_close(sock))


def _rank(group: Group) -> tuple[int, int, int]:
    kinds = ("listen", "outbound", "inbound", "unconnected", "unknown")
    shown = group.shown
    return (-_trouble(shown), shown.protocol == "unix", kinds.index(shown.role))
