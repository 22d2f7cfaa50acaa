"""Opening a session: on a process, or on a command that is launched for it."""

import json
import os
import signal
import subprocess
from pathlib import Path

import anyio
import pytest

from dea.process import identity
from dea.process.launch import look
from dea.store import home
from dea.tools.invoke import invoke
from tests.process.waiting import until, wait_gone
from tests.tools.targets import call, sleeping

pytestmark = pytest.mark.anyio


async def test_a_process_is_described_and_remembered() -> None:
    with sleeping() as process:
        result = await call("attach", target=str(process.pid))
        (evidence,) = result.evidence
        assert evidence.kind == "process"
        assert evidence.summary == f"native process {process.pid} (cat) runs"
        assert result.suggested_next == ["investigate"]
        stored = home.find(result.session_id)
        index = stored.read()
        assert (index.state, index.target.pid) == ("attached", process.pid)
        assert index.target == result.target
        assert [run.run_id for run in index.runs] == ["attach#1"]
        ticks = identity.start_ticks(process.pid)
        assert stored.load_private("identity") == {str(process.pid): ticks}


async def test_a_session_on_a_process_that_ended_says_so() -> None:
    with sleeping() as process:
        session = (await call("attach", target=str(process.pid))).session_id
    result = await invoke("dump_stacks", {"session_id": session})
    assert not result.ok
    assert f"process {process.pid} has ended" in (result.error or "")


async def test_a_process_that_took_over_the_pid_is_not_examined() -> None:
    with sleeping() as process:
        session = (await call("attach", target=str(process.pid))).session_id
        stored = home.find(session)
        stored.save_private("identity", {str(process.pid): 1})
        result = await invoke("dump_stacks", {"session_id": session})
        assert "belongs to another process" in (result.error or "")


@pytest.mark.needs("strace")
async def test_a_process_that_is_traced_already_is_said_at_once() -> None:
    with sleeping() as process:
        strace = subprocess.Popen(
            ["strace", "-p", str(process.pid)], stderr=subprocess.PIPE, text=True, errors="replace"
        )
        try:
            assert strace.stderr is not None
            assert "attached" in strace.stderr.readline()
            result = await call("attach", target=str(process.pid))
            (limitation,) = result.limitations
            assert f"is being traced by pid {strace.pid}" in limitation
        finally:
            strace.kill()
            strace.communicate()


async def test_a_command_line_of_no_stated_kind_is_launched() -> None:
    result = await call("attach", target="sh -c 'exit 3'")
    assert result.target.kind == "command"
    await call("detach", session_id=result.session_id)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": "999999999"}, "there is no process 999999999"),
        ({"target": "no-such-name"}, "no process is named"),
        ({"target": "no-such-program app.py"}, "to launch it as a command: `dea why -- COMMAND`"),
        ({"target": "./app"}, "to launch it as a command: `dea why -- COMMAND`"),
        ({"target": "'x", "kind": "command"}, "cannot parse the command"),
        ({"target": " ", "kind": "command"}, "the command is empty"),
        ({"target": "web", "kind": "container"}, "kind container are not supported yet"),
    ],
)
async def test_what_cannot_be_attached_to_leaves_no_session(
    arguments: dict[str, str], said: str
) -> None:
    result = await invoke("attach", arguments)
    assert not result.ok
    assert said in (result.error or "")
    assert home.names() == []


async def test_a_command_is_launched_and_kept() -> None:
    result = await call("attach", target="sh -c 'echo hi; exec sleep 600'", kind="command")
    try:
        stored = home.find(result.session_id)
        index = stored.read()
        assert index.spawned is not None
        assert index.spawned.pid == result.target.pid == index.target.pid
        assert index.spawned.exit_code is None
        await until((stored.folder / index.spawned.stdout).read_bytes)
        assert (stored.folder / index.spawned.stdout).read_bytes() == b"hi\n"
        assert result.target.kind == "command"
    finally:
        await call("detach", session_id=result.session_id)


async def test_a_command_that_executes_another_is_known_by_what_it_became() -> None:
    attached = await call("attach", target="sh -c 'exec sleep 600'", kind="command")
    try:
        pid = attached.target.pid
        await until(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")
        result = await invoke("container_info", {"session_id": attached.session_id})
        assert (result.target.comm, result.target.kind) == ("sleep", "command")
        assert result.target.id == attached.target.id
    finally:
        await call("detach", session_id=attached.session_id)


async def test_a_command_that_ends_at_once_can_still_be_examined() -> None:
    result = await call("attach", target="sh -c 'echo oops >&2; exit 3'", kind="command")
    stored = home.find(result.session_id)
    await until(lambda: (spawned := stored.read().spawned) and spawned.exit_code is not None)
    spawned = stored.read().spawned
    assert spawned is not None
    assert spawned.exit_code == 3
    detached = await call("detach", session_id=result.session_id)
    assert "ended, exit code 3" in detached.evidence[0].summary
    assert (stored.artifacts / "stderr.log").read_text() == "oops\n"


async def test_a_command_that_cannot_be_started_leaves_a_session_that_tells_why() -> None:
    result = await invoke("attach", {"target": "nosuchcommand --x", "kind": "command"})
    assert not result.ok
    stored = home.find(result.session_id)
    index = stored.read()
    assert (index.state, index.detached_at is None) == ("detached", False)
    (kept,) = stored.results()
    assert kept.error == (
        "cannot start 'nosuchcommand': No such file or directory. Check its path and permissions"
    )


async def test_secrets_of_a_command_are_not_stored() -> None:
    command = "sh -c 'exec sleep 600' x --password hunter2"
    result = await call("attach", target=command, kind="command")
    stored = home.find(result.session_id)
    await call("detach", session_id=result.session_id)
    texts = [p.read_text() for p in stored.folder.rglob("*") if p.is_file()]
    assert [text for text in texts if "hunter2" in text] == []
    assert "--password <secret>" in result.target.id


async def test_an_attach_that_is_cancelled_loses_no_command() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(invoke, "attach", {"target": "sleep 600", "kind": "command"})
        await until(lambda: home.names() and look(status_of(home.names()[0])))
        group.cancel_scope.cancel()
    (name,) = home.names()
    launched = look(status_of(name))
    assert launched is not None
    await call("detach", session_id=name)
    wait_gone(launched.pid)
    assert json.loads(status_of(name).read_bytes())["exit_code"] == -signal.SIGTERM


def status_of(name: str) -> Path:
    return home.sessions_folder() / name / "launched.json"


async def test_dea_itself_may_be_looked_at() -> None:
    result = await call("attach", target=str(os.getpid()))
    assert result.target.runtime == "python"


async def test_all_descendants_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large family the target names the nearest only."""

    def many(_pid: int) -> list[int]:
        return list(range(10_000_000, 10_000_300))

    with sleeping() as process:
        monkeypatch.setattr("dea.targets.resolve.descendants", many)
        monkeypatch.setattr("dea.tools.attach.descendants", many)
        result = await call("attach", target=str(process.pid))
    assert result.evidence[0].summary.endswith("runs with 300 descendants")
    assert len(result.target.pids or []) == 256
