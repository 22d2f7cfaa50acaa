"""A session's index, runs and artifacts, also when a file is damaged or was never finished."""

import hashlib
import stat
import subprocess
from pathlib import Path

import pytest

from dea.contracts.artifact import Artifact
from dea.contracts.session import Session, Spawned
from dea.errors import SessionError
from dea.store import home
from dea.store.session import StoredSession
from tests.store.conftest import TARGET, Finished


def run_once(session: StoredSession, tool: str, finished: Finished) -> str:
    slot = session.begin_run(tool)
    session.end_run(slot, finished(slot))
    return slot.run_id


def test_runs_are_numbered_over_the_session_and_per_tool(
    session: StoredSession, finished: Finished
) -> None:
    ids = [run_once(session, tool, finished) for tool in ("attach", "profile_cpu", "profile_cpu")]
    assert ids == ["attach#1", "profile_cpu#1", "profile_cpu#2"]
    files = [run.file for run in session.read().runs]
    assert files == [
        "runs/001-attach.json",
        "runs/002-profile_cpu.json",
        "runs/003-profile_cpu.json",
    ]
    assert session.result("profile_cpu#2").run_id == "profile_cpu#2"


def test_runs_that_end_in_another_order_are_listed_in_the_order_they_began(
    session: StoredSession, finished: Finished
) -> None:
    first, second = session.begin_run("a"), session.begin_run("b")
    session.end_run(second, finished(second))
    session.end_run(first, finished(first))
    assert [run.run_id for run in session.read().runs] == ["a#1", "b#1"]


def test_everything_is_for_the_owner_alone(
    session: StoredSession, finished: Finished, dea_home: Path
) -> None:
    slot = session.begin_run("attach", {"target": "7"})
    (session.artifacts / "raw.txt").touch(0o600)
    session.end_run(
        slot, finished(slot, artifacts=[Artifact(path="artifacts/raw.txt", kind="log", bytes=0)])
    )
    for path in (dea_home / "sessions").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_run_that_was_stored_but_not_listed_is_listed_on_the_next_read(
    session: StoredSession, finished: Finished
) -> None:
    slot = session.begin_run("profile_cpu")
    before = session.read()
    session.end_run(slot, finished(slot))
    session.write(before)  # as if it was killed before it wrote the index
    slot.mark(session.folder / "runs").touch()
    again = StoredSession(session.folder)
    assert [run.run_id for run in again.read().runs] == ["profile_cpu#1"]
    assert again.result("profile_cpu#1").ok
    assert again.interrupted() == []
    assert run_once(again, "profile_cpu", finished) == "profile_cpu#2"
    assert '"profile_cpu#1"' in (session.folder / "session.json").read_text()


def test_hashes_are_what_sha256sum_checks(session: StoredSession, finished: Finished) -> None:
    slot = session.begin_run("detach")
    raw = session.artifacts / "stdout.log"
    raw.write_bytes(b"first")
    session.record_hashes([raw, session.artifacts / "never-written"])
    raw.write_bytes(b"first and last")
    artifact = Artifact(path="artifacts/stdout.log", kind="log", bytes=14)
    session.end_run(slot, finished(slot, artifacts=[artifact]))
    digest = hashlib.sha256(b"first and last").hexdigest()
    assert session.hashes() == {"artifacts/stdout.log": digest}
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=session.folder, check=True)


@pytest.mark.parametrize("damage", [b"", b'{"id": "x", "sta', b"[]", b"\xff\xfe", b'{"id": "x"}'])
def test_a_damaged_index_is_a_clear_error_and_hides_no_other_session(
    session: StoredSession, damage: bytes
) -> None:
    other = home.create(TARGET)
    (session.folder / "session.json").write_bytes(damage)
    with pytest.raises(SessionError, match=rf"session {session.id} is unreadable.*attach again"):
        session.read()
    assert set(home.names()) == {session.id, other.id}
    assert home.find(other.id).read().state == "attached"


def test_a_session_without_its_runs_folder_says_so(session: StoredSession) -> None:
    (session.folder / "runs").rmdir()
    assert session.read().runs == []
    (session.folder / "runs").touch()
    with pytest.raises(SessionError, match=rf"session {session.id} is unreadable: .*/runs"):
        session.read()


@pytest.mark.parametrize("damage", [None, b"", b'{"ok": tru'])
def test_a_damaged_run_is_a_clear_error_and_hides_no_other_run(
    session: StoredSession, finished: Finished, damage: bytes | None
) -> None:
    run_once(session, "attach", finished)
    run_once(session, "profile_cpu", finished)
    path = session.folder / "runs" / "001-attach.json"
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(SessionError, match=r"run attach#1 is unreadable.*run the tool again"):
        session.result("attach#1")
    assert [result.run_id for result in session.results()] == ["profile_cpu#1"]


def test_an_unknown_run_names_those_that_exist(session: StoredSession, finished: Finished) -> None:
    with pytest.raises(SessionError, match="none yet"):
        session.result("profile_cpu#1")
    run_once(session, "profile_cpu", finished)
    with pytest.raises(SessionError, match="It has: profile_cpu#1"):
        session.result("profile_cpu#2")


def test_the_exit_code_that_the_keeper_wrote_is_in_the_index(session: StoredSession) -> None:
    def spawn(index: Session) -> Session:
        spawned = Spawned(pid=7, stdout="artifacts/stdout.log", stderr="artifacts/stderr.log")
        return index.model_copy(update={"spawned": spawned})

    session.change(spawn)
    assert session.read().to_wire()["spawned"]["exit_code"] is None
    session.save_private("launched", {"pid": 7, "exit_code": -9})
    assert session.read().to_wire()["spawned"]["exit_code"] == -9
