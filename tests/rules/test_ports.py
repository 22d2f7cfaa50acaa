"""Port rules over made-up evidence: what cannot be arranged on the machine that runs the tests."""

from typing import Any

from dea.contracts.data import (
    Data,
    LogExcerpt,
    Metric,
    Process,
    Socket,
    SocketSummary,
    SyscallError,
)
from dea.rules.draft import Draft, judge
from dea.rules.ports import PORT_RULES
from tests.providers.observing import as_evidence

ON_8080 = SocketSummary(pid=5, port=8080, total=1, by_state={})


def conclude(*data: Data) -> list[Draft]:
    return judge(as_evidence(ON_8080, *data), PORT_RULES)


def listener(**fields: Any) -> Socket:
    known: dict[str, Any] = {
        "protocol": "tcp",
        "family": "ipv4",
        "state": "LISTEN",
        "local": "127.0.0.1:8080",
        "role": "listen",
        "inode": 1,
        "pid": 77,
        "command": "python app.py",
        "holders": [77],
        "user": "www",
        "started_at": "2026-11-30T17:40:12+00:00",
        "held_by_target": False,
    }
    return Socket(**(known | fields))


def refused(port: int = 8080) -> SyscallError:
    return SyscallError(
        name="bind", errno="EADDRINUSE", count=3, window_s=5.0, object=f"0.0.0.0:{port}"
    )


def test_the_first_finding_says_who_what_where_and_since_when() -> None:
    holder = Process(pid=77, comm="python", ppid=1, parents=["1 bash"])
    draft = conclude(listener(), holder, refused())[0]
    assert draft.severity == "high"
    assert draft.summary == (
        "port 8080 is held by pid 77 (python app.py, user www), listening on 127.0.0.1:8080; it "
        "runs since 2026-11-30 17:40:12, started by pid 1 bash"
    )
    assert list(draft.evidence_ids) == ["t.e1", "t.e2", "t.e3"]


def test_own_listener_with_a_refusal_is_in_the_way_after_all() -> None:
    """The family holds the port, yet somebody was refused it just now."""
    assert conclude(listener(held_by_target=True))[0].severity == "info"
    assert conclude(listener(held_by_target=True), refused())[0].severity == "high"
    assert conclude(listener(held_by_target=True), refused(9090))[0].severity == "info"


def test_a_log_counts_when_it_is_about_this_port_or_names_none() -> None:
    own = listener(held_by_target=True)
    for text, severity in {
        "OSError: [Errno 98] Address already in use": "high",
        "Error: listen EADDRINUSE: address already in use :::8080": "high",
        "Error: listen EADDRINUSE: address already in use :::3000": "info",
        "listening on 8080": "info",
    }.items():
        assert conclude(own, LogExcerpt(source="stderr", text=text))[0].severity == severity, text


def test_what_explains_the_holder_is_told() -> None:
    proxy = Process(pid=77, comm="docker-proxy", ppid=9)
    assert "stop that container" in conclude(listener(), proxy)[0].detail
    unit = Process(pid=77, comm="nginx", ppid=1, unit="nginx.service")
    assert "systemctl stop nginx.service" in conclude(listener(), unit)[0].detail
    orphan = Process(pid=77, comm="python", ppid=1, orphaned=True, container="0123456789ab")
    detail = conclude(listener(), orphan)[0].detail
    assert "has ended and left it behind" in detail
    assert "container 0123456789ab" in detail


def test_a_holder_that_may_not_be_seen_is_not_taken_for_nobody() -> None:
    unseen: dict[str, Any] = {"pid": None, "holders": [], "command": None, "held_by_target": None}
    drafts = conclude(listener(**unseen), listener(**unseen, inode=2, local="[::]:8080"))
    (draft,) = (draft for draft in drafts if draft.severity == "high")
    assert "listening on 127.0.0.1:8080 and [::]:8080" in draft.summary
    assert "a socket of www that no process we can see holds" in draft.summary
    assert "run DEA as root" in draft.detail


def test_remains_are_loud_only_when_somebody_was_refused() -> None:
    remains = listener(
        state="TIME_WAIT", remote="127.0.0.1:50000", role="inbound", inode=0, pid=None, holders=[]
    )
    assert conclude(remains)[0].severity == "info"
    assert conclude(remains, refused())[0].severity == "warn"


def test_connections_of_a_former_listener_name_who_keeps_them() -> None:
    left = listener(state="ESTABLISHED", remote="127.0.0.1:50000", role="inbound", count=3)
    (draft,) = conclude(left)
    assert draft.severity == "warn"
    assert "pid 77 (python app.py) still holds 3 connections" in draft.summary


def test_a_low_port_needs_a_right() -> None:
    limit = Metric(name="ip_unprivileged_port_start", value=1024, unit="port", pid=5)
    assert all(draft.severity == "info" for draft in conclude(limit))
    denied = SyscallError(name="bind", errno="EACCES", count=1, window_s=5.0)
    assert conclude(limit, denied)[0].severity == "high"


def test_other_ports_are_none_of_its_business() -> None:
    drafts = conclude(listener(local="127.0.0.1:18080"))
    assert [draft.severity for draft in drafts] == ["info"]
