"""Each socket rule speaks for its trouble and is silent for what looks like it and is healthy."""

from typing import Any

import pytest

from dea.contracts.data import Socket, SocketChange
from dea.rules.draft import Draft, judge
from dea.rules.sockets import RULES
from tests.providers.observing import as_evidence


def sock(change: dict[str, Any] | None = None, **fields: Any) -> Socket:
    """An idle inbound connection, but for what is given."""
    known: dict[str, Any] = {
        "protocol": "tcp",
        "family": "ipv4",
        "state": "ESTABLISHED",
        "local": "10.0.0.1:8080",
        "remote": "10.0.0.2:50000",
        "role": "inbound",
        "inode": 7,
        "pid": 5,
        "command": "server",
        "recv_queue_bytes": 0,
        "send_queue_bytes": 0,
        "since_heard_ms": 60_000,
    }
    idle = {"read_bytes": 0, "acked_bytes": 0, "recv_queue_was_bytes": 0, "send_queue_was_bytes": 0}
    moved = SocketChange(window_s=1.0, **(idle | {"retransmits": 0, "drops": 0} | (change or {})))
    everything: dict[str, Any] = {**known, "change": moved, **fields}
    return Socket(**everything)


def conclude(*sockets: Socket) -> list[Draft]:
    return judge(as_evidence(*sockets), RULES)


LISTENER = {"state": "LISTEN", "role": "listen", "remote": None, "backlog_limit": 128}

TROUBLE = {
    "accept queue full at both looks": (
        sock({"backlog_was": 129}, **LISTENER, backlog=129),
        "129 wait, the limit is 128",
    ),
    "connections dropped by a listener": (
        sock({"backlog_was": 0, "drops": 4}, **LISTENER, backlog=3),
        "4 connection attempts were dropped",
    ),
    "ends that clients closed": (
        sock(state="CLOSE_WAIT", count=5),
        "5 connections of clients at 10.0.0.2 on 10.0.0.1:8080",
    ),
    "ends that a server closed": (
        sock(state="CLOSE_WAIT", count=40, role="outbound", peer_pid=9, peer_command="redis"),
        "40 connections to 10.0.0.2:50000 (pid 9, redis)",
    ),
    "peer that does not read": (
        sock({"send_queue_was_bytes": 9000}, send_queue_bytes=9000, peer_window_closed=True),
        "9000 bytes from pid 5 (server) to 10.0.0.2:50000 do not move: it does not read",
    ),
    "peer that does not answer": (
        sock({"send_queue_was_bytes": 90}, send_queue_bytes=90, unanswered=3),
        "do not move: it does not answer",
    ),
    "connect without an answer": (
        sock(state="SYN_SENT", role="outbound", unanswered=2),
        "tries to connect to 10.0.0.2:50000 and gets no answer",
    ),
    "lost segments": (
        sock({"retransmits": 12, "acked_bytes": 10_000}, rtt_ms=80.0),
        "had to send 12 segments again",
    ),
    "unread and growing": (
        sock({"recv_queue_was_bytes": 100}, recv_queue_bytes=900),
        "does not read what 10.0.0.2:50000 sends: 900 bytes wait",
    ),
    "datagrams dropped": (
        sock({"drops": 50}, protocol="udp", state="CLOSE", remote=None, role="unconnected"),
        "50 datagrams were dropped",
    ),
}

HEALTHY = {
    "idle connection": sock(),
    "many idle connections": sock(count=10_000),
    "idle listener": sock({"backlog_was": 0}, **LISTENER, backlog=0),
    "listener with a short queue": sock({"backlog_was": 5}, **LISTENER, backlog=3),
    "queue that was full and is not": sock({"backlog_was": 128}, **LISTENER, backlog=2),
    "end just closed by the peer": sock(state="CLOSE_WAIT", count=9, since_heard_ms=300),
    "few ends closed by clients": sock(state="CLOSE_WAIT", count=4),
    "sender that moves": sock(
        {"send_queue_was_bytes": 9000, "acked_bytes": 4000}, send_queue_bytes=9000
    ),
    "request that has just come": sock(recv_queue_bytes=400),
    "request that waits its turn": sock({"recv_queue_was_bytes": 400}, recv_queue_bytes=400),
    "reader that keeps up": sock(
        {"recv_queue_was_bytes": 100, "read_bytes": 5000}, recv_queue_bytes=900
    ),
    "one lost segment": sock({"retransmits": 1, "acked_bytes": 10_000}),
    "seen only once": sock(recv_queue_bytes=900_000, send_queue_bytes=9000, change=None),
}


@pytest.mark.parametrize(("data", "said"), TROUBLE.values(), ids=TROUBLE)
def test_trouble_is_told(data: Socket, said: str) -> None:
    (draft,) = conclude(data)
    assert draft.severity == "warn"
    assert said in draft.summary


@pytest.mark.parametrize("data", HEALTHY.values(), ids=HEALTHY)
def test_healthy_is_silent(data: Socket) -> None:
    assert conclude(data) == []


def test_a_pool_with_some_ends_that_the_server_closed_is_only_noted() -> None:
    (draft,) = conclude(sock(state="CLOSE_WAIT", count=8, role="outbound"))
    assert draft.severity == "info"


def test_connections_to_one_peer_are_told_together() -> None:
    stuck = {"send_queue_bytes": 100, "unanswered": 2, "role": "outbound"}
    alike = [sock({"send_queue_was_bytes": 100}, inode=n, **stuck) for n in range(3)]
    (draft,) = conclude(*alike)
    assert "and 2 more connections like it" in draft.summary
    assert len(draft.evidence_ids) == 3
