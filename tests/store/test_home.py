"""Finding sessions, and a home that cannot be used."""

import os
from pathlib import Path

import pytest

from dea.errors import SessionError, StoreError
from dea.store import home
from tests.store.conftest import TARGET


def test_ids_sort_by_time_and_are_short() -> None:
    ids = [home.create(TARGET).id for _ in range(20)]
    assert home.names() == ids[::-1]
    assert all(len(name) == 17 for name in ids)


def test_two_sessions_never_share_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["250101-000000-aaa"] * 3 + ["250101-000000-bbb"])
    monkeypatch.setattr(home, "new_id", lambda: next(drawn))
    first, second = home.create(TARGET), home.create(TARGET)
    assert (first.id, second.id) == ("250101-000000-aaa", "250101-000000-bbb")
    assert second.read().id == second.id
    assert second.read().dir == str(second.folder)
    assert sorted(os.listdir(home.sessions_folder())) == [first.id, second.id]


def test_a_unique_prefix_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["250101-000000-aaa", "250101-000000-abc", "250102-000000-xyz"])
    monkeypatch.setattr(home, "new_id", lambda: next(drawn))
    for _ in range(3):
        home.create(TARGET)
    assert home.find("250102").id == "250102-000000-xyz"
    assert home.find("250101-000000-aaa").id == "250101-000000-aaa"
    with pytest.raises(SessionError, match=r"'250101' matches 2 sessions. Use 250101-000000-abc, "):
        home.find("250101")
    with pytest.raises(SessionError, match=r"no session '26'.*the newest is 250102-000000-xyz"):
        home.find("26")
    for nothing in ("", "../x", "."):
        with pytest.raises(SessionError, match="no session"):
            home.find(nothing)


def test_no_session_yet() -> None:
    assert home.names() == []
    with pytest.raises(SessionError, match="Attach first.*there are none yet"):
        home.find("25")


def test_what_is_only_being_made_is_not_listed() -> None:
    session = home.create(TARGET)
    (home.sessions_folder() / ".new-0123").mkdir()
    (home.sessions_folder() / "notes.txt").touch()
    assert home.names() == [session.id]


def test_a_session_whose_files_are_gone_is_listed_and_says_so() -> None:
    (home.create(TARGET).folder / "session.json").unlink()
    (name,) = home.names()
    with pytest.raises(SessionError, match="No such file"):
        home.find(name).read()


def test_a_home_that_cannot_be_written_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DEA_HOME", str(tmp_path / "file" / "dea"))
    with pytest.raises(StoreError, match=r"cannot make .*Set DEA_HOME"):
        home.create(TARGET)
    with pytest.raises(StoreError, match=r"cannot read .*Not a directory"):
        home.names()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody who may not write")
def test_a_home_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("DEA_HOME", str(tmp_path / "dea"))
    os.seteuid(65534)
    try:
        with pytest.raises(StoreError, match=r"Permission denied. Set DEA_HOME"):
            home.create(TARGET)
    finally:
        os.seteuid(0)


def test_a_relative_home_does_not_move_when_the_folder_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEA_HOME", "here")
    session = home.create(TARGET)
    monkeypatch.chdir("/")
    assert session.read().dir == str(tmp_path / "here" / "sessions" / session.id)


def test_a_session_that_is_not_there_names_no_command() -> None:
    """The same words reach people and agents."""
    home.create(TARGET)
    with pytest.raises(SessionError) as refused:
        home.find("99")
    assert "`dea " not in str(refused.value)
