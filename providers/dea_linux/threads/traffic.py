"""What moved on the connections that a thread waited on, and whether it was owed an answer."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from dea_linux.netlink import TcpInfo
from dea_linux.threads.stored import Stored


@dataclass(frozen=True)
class Traffic:
    """See Part: bytes in the window, None when a connection was closed before its last bytes were
    counted; `unanswered` is a share of looks, `unanswered_s` an age."""

    sent_bytes: int | None
    received_bytes: int | None
    unanswered: float
    unanswered_s: float | None


class TrafficLog:
    """All that was stored about TCP connections, by inode, in the order of time."""

    def __init__(self, stored: Stored) -> None:
        self._by_inode: dict[int, list[tuple[int, TcpInfo]]] = defaultdict(list)
        self._last_ms = max((at_ms for at_ms, _ in stored.sockets), default=0)
        for at_ms, end in stored.sockets:
            if end.tcp and end.inode and end.state == "ESTABLISHED":
                self._by_inode[end.inode].append((at_ms, end.tcp))

    def of(self, inodes: Iterable[int]) -> Traffic | None:
        """Summed over some connections; None when nothing is known of them."""
        seen = {inode: self._by_inode[inode] for inode in inodes if inode in self._by_inode}
        if not seen:
            return None
        ages: dict[int, float] = {}
        times = {at_ms for looks in seen.values() for at_ms, _ in looks}
        for looks in seen.values():
            asks_at_once = _asks_at_once(looks)
            for at_ms, tcp in looks:
                if _is_owed(tcp, asks_at_once=asks_at_once):
                    ages[at_ms] = max(ages.get(at_ms, 0.0), tcp.since_sent_ms / 1000)
        counted = all(self._is_counted(looks) for looks in seen.values())
        sent, received = (
            sum(_moved(looks, sent=sent) for looks in seen.values()) if counted else None
            for sent in (True, False)
        )
        return Traffic(
            sent_bytes=sent,
            received_bytes=received,
            unanswered=round(len(ages) / len(times), 2),
            unanswered_s=round(sum(ages.values()) / len(ages), 3) if ages else None,
        )

    def _is_counted(self, looks: list[tuple[int, TcpInfo]]) -> bool:
        """Whether it was looked at more than once and until the end."""
        return len(looks) > 1 and looks[-1][0] == self._last_ms


def _is_owed(tcp: TcpInfo, *, asks_at_once: bool) -> bool:
    """Something was sent after the last byte came. On a new connection both count from its start."""
    nothing_came = tcp.bytes_received == 0 and (tcp.bytes_acked or 0) > 1  # the handshake counts 1
    same_tick = tcp.since_sent_ms == tcp.since_received_ms
    return tcp.since_sent_ms < tcp.since_received_ms or nothing_came or (same_tick and asks_at_once)


def _asks_at_once(looks: list[tuple[int, TcpInfo]]) -> bool:
    """Whether each answer is followed by the next request within a clock tick.

    The times look the same when an answer comes within a tick of its request (a heartbeat). But
    then the answer must be acknowledged on its own, while a request that follows at once does it.
    """
    first, last = looks[0][1], looks[-1][1]
    answers = (last.data_segments_received or 0) - (first.data_segments_received or 0)
    sent = (last.segments_sent or 0) - (first.segments_sent or 0)
    requests = (last.data_segments_sent or 0) - (first.data_segments_sent or 0)
    return answers > 1 and requests > 0 and sent - requests <= answers / 2


def _moved(looks: list[tuple[int, TcpInfo]], *, sent: bool) -> int:
    first, last = (
        (tcp.bytes_acked if sent else tcp.bytes_received) or 0
        for tcp in (looks[0][1], looks[-1][1])
    )
    return max(0, last - first)
