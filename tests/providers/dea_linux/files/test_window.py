"""Looks at descriptors: recorded ones as evidence, and live ones of a process the test moves."""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dea.backend import Observation, Parsed
from dea.contracts.data import Fd, FdSummary, MetricSeries, Note
from dea.errors import BackendError
from dea_linux.files import BACKENDS
from tests.providers.observing import observe, recorded

(WINDOW,) = BACKENDS


def parsed(case: str) -> Parsed:
    return WINDOW.parse(recorded(WINDOW.name, case))


def groups(found: Parsed) -> list[Fd]:
    return [fact.data for fact in found.facts if isinstance(fact.data, Fd)]


def summaries(found: Parsed) -> dict[int, FdSummary]:
    all_ = [fact.data for fact in found.facts if isinstance(fact.data, FdSummary)]
    return {summary.pid: summary for summary in all_}


def test_a_file_opened_again_and_again() -> None:
    found = parsed("growing_fds")
    (summary,) = summaries(found).values()
    assert summary.added == {"file": 58}
    assert (summary.total, summary.soft_limit) == (95, 20000)
    first = groups(found)[0]
    assert first.path.endswith("/settings.ini")
    assert (first.type, first.count, first.added) == ("file", 90, 58)
    assert (first.looks[0], first.looks[-1], len(first.fds)) == (32, 90, 10)


def test_a_socket_group_is_named_by_its_peer() -> None:
    first = groups(parsed("growing_sockets"))[0]
    assert (first.path, first.state, first.role) == (
        "tcp to 127.0.0.1:38537",
        "ESTABLISHED",
        "outbound",
    )


def test_clients_are_one_group_whatever_their_ports() -> None:
    first = groups(parsed("clients_connect"))[0]
    assert (first.path, first.role) == ("tcp from clients of 127.0.0.1:38537", "inbound")
    assert first.count > 100


def test_rotated_logs_are_folded_and_a_deleted_file_is_told_with_its_size() -> None:
    found = groups(parsed("rotated_logs"))
    assert found[0].path == "/var/log/app/x-*.log"
    (deleted,) = [fd for fd in found if fd.deleted]
    assert (deleted.path, deleted.size_bytes) == ("/var/log/app/big.bin", 5_000_000)


def test_only_the_descendant_that_grows_is_shown() -> None:
    observation = recorded(WINDOW.name, "growing_children")
    target, child = summaries(WINDOW.parse(observation)).values()
    assert target.pid == observation.pid
    assert not target.added
    assert child.added == {"file": 58}


def test_each_fact_cites_the_lines_of_its_process() -> None:
    observation = recorded(WINDOW.name, "growing_children")
    lines = observation.text("changes").splitlines()
    for fact in WINDOW.parse(observation).facts:
        assert fact.lines is not None
        assert isinstance(fact.data, Fd | FdSummary | MetricSeries)
        assert lines[fact.lines[0] - 1].split()[::2] == ["@", str(fact.data.pid)]


def test_torn_lines_are_counted_and_the_rest_is_kept() -> None:
    good = recorded(WINDOW.name, "growing_fds")
    torn = good.files["changes"] + b"? 9\n+ 7"
    found = WINDOW.parse(replace(good, files={**good.files, "changes": torn}))
    (note,) = [fact.data for fact in found.facts if isinstance(fact.data, Note)]
    assert (note.skipped_lines, note.first_bad_line) == (1, "? 9")


def test_nothing_readable_is_an_error() -> None:
    with pytest.raises(BackendError, match="what is this"):
        WINDOW.parse(Observation("", "", 1, {"changes": b"what is this\n"}, {}))


OPENS_WHEN_TOLD = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
held = []
for path in sys.stdin.buffer:
    held.append(open(path.rstrip(), "w"))
    held.append(open(path.rstrip().replace(b".", b"2."), "w"))
    held.append(socket.create_connection(server.getsockname()))
    held.append(server.accept()[0])
    print("held", flush=True)
"""


@pytest.mark.anyio
async def test_live_descriptors_of_another_process(tmp_path: Path) -> None:
    """A name that is no UTF-8 and holds a newline is told in one line."""
    program = [sys.executable, "-c", OPENS_WHEN_TOLD]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        port = int(process.stdout.readline())
        process.stdin.write(os.fsencode(tmp_path) + b"/token=abcdef123 \xff.log\n")
        process.stdin.flush()
        process.stdout.readline()
        observation = await observe(WINDOW, [process.pid], tmp_path / "seen")
        process.stdin.close()
    assert len(os.listdir(tmp_path)) == 3
    links = observation.text("changes")
    assert "token=abcdef123 \ufffd.log" in links
    found = {fd.path: fd for fd in groups(WINDOW.parse(observation))}
    summary = summaries(WINDOW.parse(observation))[process.pid]
    assert summary.by_type["file"] >= 2
    assert summary.by_type["socket"] == 3
    assert summary.window_s == 0
    assert not any("abcdef123" in path for path in found)
    assert f"{port}" in observation.text("sockets")


@pytest.mark.anyio
async def test_live_window_sees_what_comes_meanwhile(tmp_path: Path) -> None:
    pairs: list[socket.socket] = []
    first = await observe(WINDOW, [os.getpid()], tmp_path / "first")
    try:
        pairs += [end for _ in range(20) for end in socket.socketpair()]
        last = await observe(WINDOW, [os.getpid()], tmp_path / "last", 0.6)
    finally:
        for end in pairs:
            end.close()
    before, after = (summaries(WINDOW.parse(seen))[os.getpid()] for seen in (first, last))
    assert after.by_type["socket"] - before.by_type.get("socket", 0) == 40
    assert after.window_s > 0.4
    assert "of a CPU" in WINDOW.parse(last).limitations[-1]
    unnamed = next(fd for fd in groups(WINDOW.parse(last)) if fd.path == "unix (unnamed)")
    assert (unnamed.count >= 40, unnamed.state) == (True, "ESTABLISHED")


@pytest.mark.anyio
async def test_descriptors_of_others_are_an_error_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> list[bytes]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dea_linux.files.watch.os.listdir", refuse)
    with pytest.raises(BackendError, match="may not be read"):
        await observe(WINDOW, [os.getpid()], tmp_path)


def test_descendants_beyond_the_few_that_are_watched_are_counted() -> None:
    observation = recorded(WINDOW.name, "growing_children")
    crowded = replace(observation, facts={**observation.facts, "left_out": 292})
    assert "292 more descendants were not looked at" in WINDOW.parse(crowded).limitations
