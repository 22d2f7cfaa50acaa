"""Closing a session: what was launched ends, what ran before runs on, and the report is written."""

import hashlib
from pathlib import Path

import pytest

from dea import report
from dea.contracts.artifact import Artifact
from dea.errors import StoreError
from dea.process import identity
from dea.store import home
from dea.tools.invoke import invoke
from tests.process.waiting import until, wait_gone
from tests.tools.targets import call, sleeping

pytestmark = pytest.mark.anyio


async def test_a_process_that_ran_before_runs_on() -> None:
    with sleeping() as process:
        session = (await call("attach", target=str(process.pid))).session_id
        result = await call("detach", session_id=session)
        assert process.poll() is None
        assert result.evidence[0].summary == f"process {process.pid} is untraced and runs on"
    index = home.find(session).read()
    assert index.state == "detached"
    assert index.detached_at is not None


async def test_a_command_ends_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! > {pids}; wait"
    attached = await call("attach", target=f"sh -c '{script}'", kind="command")
    await until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    result = await call("detach", session_id=attached.session_id)
    assert attached.target.pid is not None
    for pid in (attached.target.pid, int(pids.read_text())):
        wait_gone(pid)
    assert result.evidence[0].summary.endswith("ended, exit code -15")
    index = home.find(attached.session_id).read()
    assert index.spawned is not None
    assert index.spawned.exit_code == -15


async def test_what_the_command_printed_is_hashed_and_listed() -> None:
    attached = await call("attach", target="sh -c 'echo hi; exec sleep 600'", kind="command")
    stored = home.find(attached.session_id)
    await until((stored.artifacts / "stdout.log").read_bytes)
    result = await call("detach", session_id=attached.session_id)
    assert Artifact(path="artifacts/stdout.log", kind="log", bytes=3) in result.artifacts
    assert stored.hashes()["artifacts/stdout.log"] == hashlib.sha256(b"hi\n").hexdigest()


async def test_the_report_is_written_and_listed() -> None:
    with sleeping() as process:
        session = (await call("attach", target=str(process.pid))).session_id
        result = await call("detach", session_id=session)
    path = home.find(session).folder / "report.md"
    assert str(process.pid) in path.read_text()
    assert result.artifacts == [
        Artifact(path="report.md", kind="markdown", bytes=path.stat().st_size)
    ]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert home.find(session).hashes()["report.md"] == digest


@pytest.mark.parametrize("error", [StoreError("cannot write report.md: full"), KeyError("x")])
async def test_a_report_that_fails_does_not_keep_the_session_open(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_session: object) -> Path:
        raise error

    monkeypatch.setattr(report, "write_report", fail)
    with sleeping() as process:
        session = (await call("attach", target=str(process.pid))).session_id
        result = await call("detach", session_id=session)
    assert result.limitations[0].startswith("no report was written: ")
    assert home.find(session).read().state == "detached"


async def test_detaching_twice_keeps_when_it_was_detached() -> None:
    with sleeping() as process:
        session = (await call("attach", target=str(process.pid))).session_id
        await call("detach", session_id=session)
        detached_at = home.find(session).read().detached_at
        await call("detach", session_id=session)
    assert home.find(session).read().detached_at == detached_at


async def test_a_process_that_took_over_the_pid_is_not_called_ours() -> None:
    with sleeping() as process:
        session = (await call("attach", target=str(process.pid))).session_id
        home.find(session).save_private("identity", {str(process.pid): 1})
        result = await call("detach", session_id=session)
        assert result.evidence[0].summary == f"process {process.pid} is ended"
        assert identity.is_same(process.pid, None)


async def test_runs_that_were_cut_short_are_said() -> None:
    with sleeping() as process:
        session = (await call("attach", target=str(process.pid))).session_id
        (home.find(session).folder / "runs" / "002-profile_cpu.json.begun").touch()
        result = await call("detach", session_id=session)
    assert result.limitations == ["DEA was killed during 1 of its runs: 002-profile_cpu"]
    assert result.run_id == "detach#1"


async def test_a_session_that_is_not_there() -> None:
    result = await invoke("detach", {"session_id": "nope"})
    assert "no session 'nope'" in (result.error or "")
