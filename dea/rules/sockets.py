"""Rules over sockets: queues that do not move, peers that do not answer, ends never closed.

Idle connections, also very many, say nothing: each rule needs something that did not happen over
the window although it should have.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from dea.contracts.data import Socket, SocketChange
from dea.rules.draft import Cited, Draft, Facts, Rule

_CLOSE_WAIT_MANY = 5
# A pool of idle outgoing connections keeps a few that the server has closed until it needs them.
_CLOSE_WAIT_POOL = 10
_HELD_MS = 2000
_RECV_FULL_BYTES = 64 * 1024
_RETRANSMITS_MANY = 3


def accept_queue(facts: Facts) -> Iterator[Draft]:
    """A listener whose queue was full at both looks, or that turned connections away."""
    for cited in facts.of(Socket):
        sock, change = cited.data, cited.data.change
        if sock.role != "listen" or sock.backlog is None or change is None:
            continue
        limit = max(sock.backlog_limit or 0, 1)
        full = sock.backlog >= limit and (change.backlog_was or 0) >= limit
        dropped = change.drops or 0
        if not full and not (dropped and sock.backlog):
            continue
        lost = f"; {dropped} connection attempts were dropped in {change.window_s:.1f} s"
        yield Draft(
            "warn",
            f"{_who(sock)} does not accept connections fast enough on {sock.local}: "
            f"{sock.backlog} wait, the limit is {sock.backlog_limit}{lost if dropped else ''}",
            [cited.id],
            "observed",
            "New clients hang or time out until it calls accept again. Look at what its accepting "
            "thread does meanwhile; a longer backlog only hides it.",
            weight=0.8,
            next=("dump_stacks", "time_budget"),
        )


def close_wait(facts: Facts) -> Iterator[Draft]:
    """Many connections that the peer has closed and we have not."""
    for cited in facts.of(Socket):
        sock = cited.data
        if sock.state != "CLOSE_WAIT" or sock.count < _CLOSE_WAIT_MANY or sock.change is None:
            continue
        if sock.since_heard_ms is not None and sock.since_heard_ms < _HELD_MS:
            continue
        pooled = sock.role == "outbound" and sock.count < _CLOSE_WAIT_POOL
        yield Draft(
            "info" if pooled else "warn",
            f"{_who(sock)} holds {sock.count} connections {_with(sock)} that the peer has closed "
            "(CLOSE_WAIT) and has not closed its own end",
            [cited.id],
            "observed",
            "A pool that keeps idle connections looks the same when there are few; if the number "
            "grows, a code path forgets to close. Descriptors run out in the end.",
            weight=0.6,
            next=("inspect_files", "dump_stacks"),
        )


def peer_does_not_take(facts: Facts) -> Iterator[Draft]:
    """Bytes sent that the peer neither acknowledged nor makes room for."""
    for group in _by_peer(facts, _is_stuck):
        sock, bytes_ = group[0].data, sum(c.data.send_queue_bytes or 0 for c in group)
        why = "it does not read" if sock.peer_window_closed else "it does not answer"
        yield Draft(
            "warn",
            f"{bytes_} bytes from {_who(sock)} to {_peer(sock)}{_on(group)} do not move: {why}",
            [cited.id for cited in group],
            "observed",
            "Nothing was acknowledged between two looks"
            + (f", {sock.unanswered} attempts in a row went unanswered" if sock.unanswered else "")
            + ". Whoever writes to this socket blocks once its buffer is full.",
            weight=0.7,
            next=("dump_stacks",),
        )


def connect_unanswered(facts: Facts) -> Iterator[Draft]:
    """Connection attempts that get no reply at all."""
    for group in _by_peer(facts, lambda sock, _: sock.state == "SYN_SENT" and sock.unanswered):
        sock = group[0].data
        yield Draft(
            "warn",
            f"{_who(sock)} tries to connect to {_peer(sock)}{_on(group)} and gets no answer "
            f"(asked again {sock.unanswered} times)",
            [cited.id for cited in group],
            "observed",
            "Packets are dropped on the way (firewall, wrong address, host down) or the "
            "listener's queue is full.",
            weight=0.7,
            next=("dump_stacks",),
        )


def retransmits(facts: Facts) -> Iterator[Draft]:
    """Segments lost again and again on connections that do move."""
    for group in _by_peer(facts, _loses):
        sock, lost = (
            group[0].data,
            sum(c.data.change.retransmits or 0 for c in group if c.data.change),
        )
        yield Draft(
            "warn",
            f"{_who(sock)} had to send {lost} segments again to {_peer(sock)}{_on(group)} within "
            f"{_window(group):.1f} s (round trip {sock.rtt_ms or 0:.1f} ms): packets get lost",
            [cited.id for cited in group],
            "observed",
            weight=0.5,
            next=("capture_traffic",),
        )


def unread(facts: Facts) -> Iterator[Draft]:
    """Bytes that came in, wait, and were not read while more came."""
    for group in _by_peer(facts, _is_unread):
        sock, bytes_ = group[0].data, sum(c.data.recv_queue_bytes or 0 for c in group)
        yield Draft(
            "warn",
            f"{_who(sock)} does not read what {_peer(sock)} sends{_on(group)}: {bytes_} bytes "
            f"wait, none were read in {_window(group):.1f} s",
            [cited.id for cited in group],
            "observed",
            "The peer stops sending once the buffer is full. The thread that should read is busy "
            "or waits for something else.",
            weight=0.6,
            next=("dump_stacks", "time_budget"),
        )


def datagrams_dropped(facts: Facts) -> Iterator[Draft]:
    """Datagrams thrown away since the program reads too slowly."""
    for cited in facts.of(Socket):
        sock, change = cited.data, cited.data.change
        if sock.protocol == "udp" and change is not None and change.drops:
            yield Draft(
                "warn",
                f"{_who(sock)} reads {sock.local} (UDP) too slowly: {change.drops} datagrams were "
                f"dropped in {change.window_s:.1f} s, {sock.recv_queue_bytes or 0} bytes wait",
                [cited.id],
                "observed",
                weight=0.6,
                next=("dump_stacks",),
            )


def _is_stuck(sock: Socket, change: SocketChange) -> object:
    """Something waits to be acknowledged, nothing was, and there is a reason other than distance."""
    waits = sock.send_queue_bytes and change.send_queue_was_bytes and not change.acked_bytes
    return waits and (sock.peer_window_closed or sock.unanswered)


def _loses(_sock: Socket, change: SocketChange) -> object:
    return (change.retransmits or 0) >= _RETRANSMITS_MANY and change.acked_bytes


def _is_unread(sock: Socket, change: SocketChange) -> object:
    queue, was = sock.recv_queue_bytes or 0, change.recv_queue_was_bytes or 0
    return was and change.read_bytes == 0 and (queue > was or queue >= _RECV_FULL_BYTES)


def _by_peer(
    facts: Facts, wanted: Callable[[Socket, SocketChange], object]
) -> Iterable[list[Cited[Socket]]]:
    """Wanted TCP connections that were there at both looks, those with one peer together."""
    groups: dict[tuple[object, ...], list[Cited[Socket]]] = {}
    for cited in facts.of(Socket):
        sock = cited.data
        if sock.protocol != "tcp" or sock.remote is None or sock.change is None:
            continue
        if wanted(sock, sock.change):
            peer = sock.remote.rpartition(":")[0] if sock.role == "inbound" else sock.remote
            groups.setdefault((sock.pid, sock.role, peer), []).append(cited)
    return groups.values()


def _on(group: Sequence[Cited[Socket]]) -> str:
    return "" if len(group) == 1 else f" and {len(group) - 1} more connections like it"


def _window(group: Sequence[Cited[Socket]]) -> float:
    return max(cited.data.change.window_s for cited in group if cited.data.change)


def _who(sock: Socket) -> str:
    return f"pid {sock.pid} ({sock.command})" if sock.command else f"pid {sock.pid}"


def _peer(sock: Socket) -> str:
    if sock.peer_pid is None or sock.peer_pid == sock.pid:
        return f"{sock.remote}"
    return f"{sock.remote} (pid {sock.peer_pid}, {sock.peer_command})"


def _with(sock: Socket) -> str:
    """The peer of a group: a server by its port, clients by their address."""
    if sock.role == "inbound":
        return f"of clients at {(sock.remote or '').rpartition(':')[0]} on {sock.local}"
    return f"to {_peer(sock)}"


RULES: tuple[Rule, ...] = (
    accept_queue,
    close_wait,
    peer_does_not_take,
    connect_unanswered,
    retransmits,
    unread,
    datagrams_dropped,
)
