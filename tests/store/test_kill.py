"""Writers that are killed at any moment, many at once, and a disk that is full."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dea.contracts.session import Session
from dea.errors import StoreError
from dea.store import home
from dea.store.atomic import locked, sweep
from dea.store.session import StoredSession
from tests.store.conftest import TARGET, Finished

KILLS = 60


def fork(work: Callable[[], None]) -> int:
    """The pid of a child that does the work and ends without a trace of pytest."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def test_killed_at_any_moment_it_leaves_a_session_that_opens(
    session: StoredSession, finished: Finished
) -> None:
    def work_forever() -> None:
        mine = StoredSession(session.folder)
        while True:
            slot = mine.begin_run("profile_cpu")
            mine.end_run(slot, finished(slot, limitations=["x" * 5000]))

    chance = random.Random(1)
    for _ in range(KILLS):
        pid = fork(work_forever)
        time.sleep(chance.uniform(0.0, 0.03))  # the moment of the kill is what is tried out
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        json.loads((session.folder / "session.json").read_bytes())
    index = session.read()
    assert index.runs
    numbers = [int(run.file[5:8]) for run in index.runs]
    assert numbers == sorted(set(numbers))
    assert len(session.results()) == len(index.runs)
    stems = {f"{number:03}-profile_cpu" for number in numbers}
    assert stems.isdisjoint(session.interrupted())
    known = stems | set(session.interrupted())
    assert known == {f"{number:03}-profile_cpu" for number in range(1, len(known) + 1)}


def test_runs_of_several_processes_get_distinct_numbers_and_all_are_listed(
    session: StoredSession, finished: Finished
) -> None:
    def work() -> None:
        mine = StoredSession(session.folder)
        for _ in range(8):
            slot = mine.begin_run("attach")
            mine.end_run(slot, finished(slot))

    pids = [fork(work) for _ in range(4)]
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    ids = [run.run_id for run in session.read().runs]
    assert ids == [f"attach#{nth}" for nth in range(1, 33)]


def test_a_killed_run_is_reported_and_a_running_one_is_not(session: StoredSession) -> None:
    reader, writer = os.pipe()

    def begin_and_hang() -> None:
        StoredSession(session.folder).begin_run("trace_syscalls")
        os.write(writer, b"x")
        signal.pause()

    pid = fork(begin_and_hang)
    os.read(reader, 1)
    assert session.interrupted() == []
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert session.interrupted() == ["001-trace_syscalls"]
    os.close(reader)
    os.close(writer)


def test_a_writer_that_is_stopped_does_not_stop_the_others_forever(
    session: StoredSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dea.store.atomic._LOCK_LIMIT_S", 0.05)
    with locked(session.folder), pytest.raises(StoreError, match="keeps .* locked.*is stopped"):
        session.begin_run("attach")
    assert session.begin_run("attach").number == 1


def test_half_written_files_of_killed_writers_are_swept(session: StoredSession) -> None:
    old, new = session.folder / ".a.part", session.folder / ".b.part"
    old.touch()
    os.utime(old, (0, 0))
    new.touch()
    sweep(session.folder)
    assert [path.exists() for path in (old, new)] == [False, True]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "dea-test", disk], check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount here")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_is_a_clear_error_and_loses_nothing(
    tiny_disk: Path, monkeypatch: pytest.MonkeyPatch, finished: Finished
) -> None:
    monkeypatch.setenv("DEA_HOME", str(tiny_disk))
    session = home.create(TARGET)
    slot = session.begin_run("attach")
    session.end_run(slot, finished(slot))
    before = (session.folder / "session.json").read_bytes()
    cut = session.begin_run("profile_cpu")
    with suppress(OSError):
        (tiny_disk / "filler").write_bytes(b"x" * 2**20)
    with pytest.raises(StoreError, match=r"No space left on device. Free some space"):
        session.end_run(cut, finished(cut))
    assert (session.folder / "session.json").read_bytes() == before
    assert not list(session.folder.rglob("*.part"))
    assert session.interrupted() == ["002-profile_cpu"]
    (tiny_disk / "filler").unlink()

    def detach(index: Session) -> Session:
        return index.model_copy(update={"state": "detached"})

    assert session.change(detach).state == "detached"
