"""What `sockets.diag` makes of a process: one recorded with every trouble, and this one, healthy."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from dea.backend import Observation
from dea.contracts.data import Socket, SocketSummary
from dea.errors import BackendError
from dea.rules.draft import judge
from dea.rules.sockets import RULES
from dea_linux.sockets.backend import SocketsDiag
from tests.providers.observing import evidence_of, observe, recorded


def sockets_of(observation: Observation) -> list[Socket]:
    facts = SocketsDiag().parse(observation).facts
    return [fact.data for fact in facts if isinstance(fact.data, Socket)]


def test_every_trouble_of_the_recorded_process_is_found_once() -> None:
    parsed = SocketsDiag().parse(recorded("sockets.diag", "trouble"))
    said = [draft.summary for draft in judge(evidence_of(parsed.facts), RULES)]
    expected = [
        "does not accept connections fast enough on 127.0.0.1:",
        "holds 12 connections of clients at 127.0.0.1",
        "do not move: it does not read",
        "gets no answer",
        "does not read what 127.0.0.1",
        "(UDP) too slowly",
    ]
    assert len(said) == len(expected), said
    for text in expected:
        assert sum(text in line for line in said) == 1, (text, said)


def test_secrets_of_a_command_line_stay_out_of_the_evidence() -> None:
    parsed = SocketsDiag().parse(recorded("sockets.diag", "trouble"))
    text = json.dumps([fact.data.to_wire() for fact in parsed.facts])
    assert "server.py" in text
    assert "abcdef0123" not in text


@pytest.mark.anyio
async def test_secrets_of_a_unix_name_stay_out_of_the_evidence(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0dea-{os.getpid()}-password=hunter2hunter99")
        server.listen()
        observation = await observe(SocketsDiag(), [os.getpid()], tmp_path / "look", 0.02)
    parsed = SocketsDiag().parse(observation)
    said = str([(fact.summary, fact.data) for fact in parsed.facts])
    assert f"@dea-{os.getpid()}-password=<secret>" in said
    assert "hunter99" not in said


def test_alike_sockets_are_one_piece_of_evidence_that_cites_a_line_for_each() -> None:
    parsed = SocketsDiag().parse(recorded("sockets.diag", "trouble"))
    (group,) = (fact for fact in parsed.facts if getattr(fact.data, "state", "") == "CLOSE_WAIT")
    assert group.lines is not None
    first, last = group.lines
    listing = parsed.products[0].data.decode().splitlines()
    assert last - first + 1 == 12
    assert all("CLOSE_WAIT" in line for line in listing[first - 1 : last])


@pytest.mark.anyio
async def test_own_connection_with_both_ends_and_what_was_read(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0],
    ):
        observation = await observe(SocketsDiag(), [os.getpid()], tmp_path / "look", 0.6)
        port = server.getsockname()[1]
        local_port = client.getsockname()[1]
    found = {sock.role: sock for sock in sockets_of(observation) if str(port) in sock.local}
    ours = [sock for sock in sockets_of(observation) if sock.remote == f"127.0.0.1:{port}"]
    assert found["listen"].backlog_limit is not None
    assert found["inbound"].remote == f"127.0.0.1:{local_port}"
    assert [(sock.role, sock.peer_pid) for sock in ours] == [("outbound", os.getpid())]
    assert ours[0].change is not None
    assert "of a CPU" in SocketsDiag().parse(observation).limitations[-1]
    assert ours[0].change.read_bytes == 0


@pytest.mark.anyio
async def test_idle_keep_alive_connections_say_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ends = [socket.create_connection(server.getsockname()) for _ in range(30)]
        ends += [server.accept()[0] for _ in range(30)]
        observation = await observe(SocketsDiag(), [os.getpid()], tmp_path / "look", 0.02)
        for end in ends:
            end.close()
    parsed = SocketsDiag().parse(observation)
    summary = next(fact.data for fact in parsed.facts if isinstance(fact.data, SocketSummary))
    assert summary.by_state["tcp ESTABLISHED"] >= 60
    assert not judge(evidence_of(parsed.facts), RULES)


def test_damaged_tables_are_an_error_not_an_empty_answer() -> None:
    whole = recorded("sockets.diag", "trouble")
    torn = Observation(
        whole.backend, whole.tool, whole.pid, {**whole.files, "holders.json": b'{"fir'}, whole.facts
    )
    with pytest.raises(BackendError, match=r"holders\.json is damaged"):
        SocketsDiag().parse(torn)


@pytest.mark.anyio
async def test_a_process_that_has_ended_is_no_question_of_rights(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    with pytest.raises(BackendError, match=f"process {process.pid} has ended"):
        await observe(SocketsDiag(), [process.pid], tmp_path / "look")
