"""What a command is asked about: a pid, a name, a command, or a session that is open already."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dea.cli.ask import Subject, subject_of
from dea.errors import ArgumentError
from dea.process import identity
from dea.store import home
from tests.cli.conftest import Dea

Process = subprocess.Popen[bytes]
CRASH = ["--", sys.executable, "-c", "raise ValueError('no such order')"]


@pytest.mark.parametrize(
    ("text", "command", "subject"),
    [
        ("261130", None, Subject(target="261130")),  # a number is a pid
        ("261130-", None, Subject(session_id="261130-")),
        ("261130-175402-abc", None, Subject(session_id="261130-175402-abc")),
        ("nginx", None, Subject(target="nginx")),
        (None, ["sh", "-c", "a 'b'"], Subject(target="sh -c 'a '\"'\"'b'\"'\"''", kind="command")),
    ],
)
def test_subject(text: str | None, command: list[str] | None, subject: Subject) -> None:
    assert subject_of(text, command) == subject


def test_nothing_named_is_refused() -> None:
    with pytest.raises(ArgumentError, match="nothing to examine"):
        subject_of(None, None)


def test_a_bare_pid_is_attached_to_and_detached_again(dea: Dea, sleeper: Process) -> None:
    answer = dea("inspect-files", sleeper.pid, "--window-s", "0", "--json")
    assert answer.code == 0, answer.err
    result = answer.result()
    session = home.find(result["session_id"]).read()
    assert session.state == "detached"
    assert [run.tool for run in session.runs] == ["attach", "inspect_files", "detach"]
    assert identity.tracer_of(sleeper.pid) == 0


def test_a_session_stays_open(dea: Dea, sleeper: Process) -> None:
    attached = dea("attach", sleeper.pid, "--json").result()["session_id"]
    prefix = attached[:-1]
    assert dea("inspect-files", prefix, "--window-s", "0").code == 0
    assert home.find(attached).read().state == "attached"
    assert f"dea why {attached}" in dea("show", attached, "attach").out
    assert dea("detach", attached).code == 0
    assert home.find(attached).read().state == "detached"
    assert f"dea why {sleeper.pid}" in dea("show", attached, "attach").out


def test_a_target_that_is_not_there_is_not_attached_to(dea: Dea, sleeper: Process) -> None:
    answer = dea("inspect-files", "2147483646", "--json")
    assert (answer.code, answer.result()["ok"]) == (2, False)
    assert answer.result()["tool"] == "attach"
    assert "there is no process 2147483646" in answer.err
    assert home.names() == []


def test_a_command_is_launched_and_ended(dea: Dea) -> None:
    pause = [sys.executable, "-c", "import signal; signal.pause()"]
    answer = dea("inspect-files", "--window-s", "0", "--json", "--", *pause)
    assert answer.code == 0, answer.err
    spawned = home.find(answer.result()["session_id"]).read().spawned
    assert spawned is not None
    assert spawned.exit_code is not None
    assert identity.start_ticks(spawned.pid) is None


def test_why_tells_a_crash_and_writes_the_report(dea: Dea) -> None:
    answer = dea("why", "--symptom", "crash", *CRASH)
    assert answer.code == 0, answer.err
    assert "ValueError: no such order" in answer.out
    assert "\x1b" not in answer.out
    path = re.search(r"^Report +(\S+)$", answer.out, re.MULTILINE)
    assert path is not None
    assert "ValueError: no such order" in Path(path[1]).read_text()


@pytest.mark.parametrize(("level", "code"), [("high", 1), ("warn", 1)])
def test_findings_fail_the_command_when_asked(level: str, code: int, dea: Dea) -> None:
    answer = dea("why", "--symptom", "crash", "--fail-on", level, "--json", *CRASH)
    assert answer.code == code
    assert [f["severity"] for f in answer.result()["findings"]] == ["high"]


def test_a_healthy_end_does_not_fail_the_command(dea: Dea) -> None:
    answer = dea("why", "--symptom", "crash", "--fail-on", "warn", "--", sys.executable, "-c", "0")
    assert answer.code == 0, answer.out + answer.err


def test_the_result_of_a_session_is_short_and_the_stored_one_whole(dea: Dea) -> None:
    answer = dea("why", "--symptom", "crash", "--json", *CRASH)
    result = answer.result()
    whole = dea("show", result["session_id"], "investigate", "--json").result()
    assert whole["run_id"] == result["run_id"]
    assert {item["id"] for item in result["evidence"]} <= {item["id"] for item in whole["evidence"]}


LISTEN = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder() -> Iterator[tuple[int, int]]:
    """Pid and port of another program that listens."""
    with subprocess.Popen(
        [sys.executable, "-c", LISTEN, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        yield process.pid, int(process.stdout.readline())
        process.stdin.close()


def test_a_port_needs_no_target_and_its_holder_is_a_warning(
    dea: Dea, holder: tuple[int, int]
) -> None:
    pid, port = holder
    answer = dea("why", "--port", port, "--json", "--fail-on", "warn")
    assert answer.code == 1, answer.err
    first = answer.result()["findings"][0]
    assert first["severity"] == "warn"
    for part in (f"port {port}", f"pid {pid}", "user ", f"127.0.0.1:{port}", "since"):
        assert part in first["summary"]
    assert f"kill {pid}" in first["detail"]


@pytest.mark.parametrize("symptom", ["port_busy", "crash"])
def test_a_server_that_ends_because_of_its_port_is_told_the_holder(
    symptom: str, dea: Dea, holder: tuple[int, int]
) -> None:
    pid, port = holder
    named = ["--port", port] if symptom == "port_busy" else []
    code = f"import socket\ns = socket.socket()\ns.bind(('127.0.0.1', {port}))"
    server = [sys.executable, "-c", code, str(port)]
    script = f"echo 'bind to port {port} failed: Address already in use' >&2; exec \"$@\""
    answer = dea(
        "why", "--symptom", symptom, *named, "--json", "--", "sh", "-c", script, "sh", *server
    )
    assert answer.code == 0, answer.err
    loud = [f["summary"] for f in answer.result()["findings"] if f["severity"] == "high"]
    assert any(f"port {port} is held by pid {pid}" in summary for summary in loud), loud


def test_a_port_that_nobody_holds_is_no_error(dea: Dea) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    answer = dea("why", "--symptom", "port_busy", "--port", port, "--json")
    assert answer.code == 0, answer.err
    assert not [f for f in answer.result()["findings"] if f["severity"] != "info"]
    assert dea("why", "--port", port).out.startswith(f"port {port} of this host")
