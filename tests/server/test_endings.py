"""However a call or the server ends, the target runs on untraced and the session can be read."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dea.contracts.session import Session
from dea.process import identity
from dea.store import home
from tests.real.targets import Target
from tests.server.wire import Wire, serving

TRACED_WITHIN_S = 20.0


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    with serving(tmp_path) as wire:
        yield wire


def hang_up(wire: Wire) -> None:
    wire.hang_up()


def send(number: signal.Signals) -> Callable[[Wire], None]:
    return lambda wire: wire.process.send_signal(number)


ENDINGS = [
    pytest.param(hang_up, 0, id="stdin closed"),
    pytest.param(send(signal.SIGTERM), 143, id="SIGTERM"),
    pytest.param(send(signal.SIGINT), 130, id="SIGINT"),
    pytest.param(send(signal.SIGHUP), 129, id="SIGHUP"),
]


@pytest.mark.parametrize(("end", "code"), ENDINGS)
def test_an_idle_server_ends(wire: Wire, end: Callable[[Wire], None], code: int) -> None:
    end(wire)
    assert wire.end() == code
    assert wire.said() == ""


@pytest.mark.needs("strace")
@pytest.mark.parametrize(("end", "code"), ENDINGS)
def test_a_server_that_traces_lets_go_first(
    wire: Wire, specimen: Target, end: Callable[[Wire], None], code: int
) -> None:
    session, _ = trace(wire, specimen)
    end(wire)
    assert wire.end() == code
    assert identity.tracer_of(specimen.pid) == 0
    assert "Traceback" not in wire.said()
    index = reopened(session)
    assert [(run.tool, run.ok) for run in index.runs] == [
        ("attach", True),
        ("trace_syscalls", False),
    ]


@pytest.mark.needs("strace")
def test_a_cancelled_call_lets_go_and_the_session_goes_on(wire: Wire, specimen: Target) -> None:
    session, call = trace(wire, specimen)
    wire.notify("notifications/cancelled", {"requestId": call, "reason": "enough"})
    wait_untraced(specimen.pid)
    assert wire.call("detach", {"session_id": session})["ok"]
    assert not wire.has_reply(call)
    last = home.find(session).result("trace_syscalls#1")
    assert last.error == "cancelled before it was done"


@pytest.mark.needs("strace")
def test_kill_9_leaves_a_session_that_can_be_used(
    wire: Wire, specimen: Target, tmp_path: Path
) -> None:
    session, _ = trace(wire, specimen)
    wire.process.kill()
    wire.end()
    wait_untraced(specimen.pid)
    assert [run.tool for run in reopened(session).runs] == ["attach"]
    with serving(tmp_path) as next_server:
        look = {"session_id": session, "window_s": 0}
        assert next_server.call("inspect_files", look)["ok"]
        assert next_server.call("detach", {"session_id": session})["ok"]
    assert identity.state(specimen.pid) in ("R", "S")


def trace(wire: Wire, target: Target) -> tuple[str, int]:
    """The session and the number of a call that traces the target by now."""
    session: str = wire.call("attach", {"target": str(target.pid)})["session_id"]
    arguments = {"session_id": session, "duration_s": 40}
    call = wire.request("tools/call", {"name": "trace_syscalls", "arguments": arguments})
    wait(lambda: identity.tracer_of(target.pid) != 0, lambda: wire.said() or "not traced")
    return session, call


def wait_untraced(pid: int) -> None:
    wait(lambda: identity.tracer_of(pid) == 0, lambda: f"traced by {identity.tracer_of(pid)}")


def wait(done: Callable[[], bool], why: Callable[[], str]) -> None:
    """Polls /proc: the kernel tells nobody when a tracer comes or goes."""
    until = time.monotonic() + TRACED_WITHIN_S
    while not done():
        assert time.monotonic() < until, why()
        time.sleep(0.02)


def reopened(session_id: str) -> Session:
    return home.find(session_id).read()
