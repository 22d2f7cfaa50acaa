"""Who holds a port: real processes, each with another reason why the port is busy."""

import os
import socket
from pathlib import Path

import pytest

from dea.backend import Parsed
from dea.contracts.data import Process, Socket, SocketSummary
from dea.rules.draft import Draft, judge
from dea.rules.ports import PORT_RULES
from dea_linux.sockets.port_backend import SocketsPort
from tests.providers.dea_linux.sockets.conftest import Child
from tests.providers.observing import evidence_of, observe

pytestmark = pytest.mark.anyio
KERNEL = tuple(int(part) for part in os.uname().release.split(".")[:2])


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture
def asker(child: Child) -> int:
    """A process that wants the port and has nothing to do with its holder."""
    return child("").pid


async def look(port: int, folder: Path, pid: int) -> Parsed:
    """As the process sees it that wants the port."""
    observation = await observe(SocketsPort(), [pid], folder / "look", port=port)
    return SocketsPort().parse(observation)


def conclude(parsed: Parsed) -> list[Draft]:
    return judge(evidence_of(parsed.facts), PORT_RULES)


def sockets_of(parsed: Parsed) -> list[Socket]:
    return [fact.data for fact in parsed.facts if isinstance(fact.data, Socket)]


async def test_a_dual_stack_listener_is_named_with_command_and_start(
    child: Child, asker: int, tmp_path: Path
) -> None:
    port = free_port()
    holder = child(
        f"keep += [socket.create_server(('::', {port}), family=socket.AF_INET6,"
        " dualstack_ipv6=True)]"
    )
    parsed = await look(port, tmp_path, asker)
    first = conclude(parsed)[0]
    assert first.severity == "high"
    assert f"port {port} is held by pid {holder.pid} (" in first.summary
    assert f"listening on [::]:{port}; it runs since 20" in first.summary
    assert f"started by pid {os.getpid()} " in first.summary
    assert "takes the port for IPv4 as well" in first.detail


async def test_the_target_on_its_own_port_is_normal(child: Child, tmp_path: Path) -> None:
    port = free_port()
    holder = child(f"keep += [socket.create_server(('127.0.0.1', {port}))]")
    (draft,) = conclude(await look(port, tmp_path, holder.pid))
    assert draft.severity == "info"
    assert f"held by the target itself: pid {holder.pid}" in draft.summary


async def test_an_inherited_listener_is_found_at_the_child_that_keeps_it(
    child: Child, asker: int, tmp_path: Path
) -> None:
    """The parent that opened it has ended; its child lives and never heard of the port."""
    port = free_port()
    child(f"server = socket.create_server(('127.0.0.1', {port}))\nif os.fork():\n    os._exit(0)")
    parsed = await look(port, tmp_path, asker)
    (holder,) = [fact.data for fact in parsed.facts if isinstance(fact.data, Process)]
    (sock,) = sockets_of(parsed)
    assert sock.pid == holder.pid
    assert f"port {port} is held by pid {holder.pid} " in conclude(parsed)[0].summary


async def test_all_holders_of_one_socket_are_listed(
    child: Child, asker: int, tmp_path: Path
) -> None:
    port = free_port()
    first = child(
        f"keep += [socket.create_server(('127.0.0.1', {port}))]\n"
        "if not os.fork():\n    sys.stdin.read(); os._exit(0)"
    )
    parsed = await look(port, tmp_path, asker)
    (sock,) = sockets_of(parsed)
    assert first.pid in sock.holders
    assert len(sock.holders) == 2
    draft = conclude(parsed)[0]
    assert "hold the same socket" in draft.summary
    assert "until every holder has closed it" in draft.detail


async def test_a_pair_that_shares_by_reuse_port_is_told_as_such(
    child: Child, tmp_path: Path
) -> None:
    port = free_port()
    code = (
        "sock = socket.socket(); sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
        f"sock.bind(('127.0.0.1', {port})); sock.listen(); keep += [sock]"
    )
    target, other = child(code), child(code)
    parsed = await look(port, tmp_path, target.pid)
    assert [sock.reuse_port for sock in sockets_of(parsed)] == [True, True]
    drafts = conclude(parsed)
    assert {draft.severity for draft in drafts} == {"info"}
    (shared,) = (draft for draft in drafts if f"pid {other.pid}" in draft.summary)
    assert "SO_REUSEPORT" in shared.detail


async def test_a_socket_that_is_bound_and_does_not_listen_keeps_the_port_too(
    child: Child, asker: int, tmp_path: Path
) -> None:
    if KERNEL < (6, 8):
        pytest.skip("this kernel does not tell merely bound sockets")
    port = free_port()
    holder = child(f"sock = socket.socket(); sock.bind(('127.0.0.1', {port})); keep += [sock]")
    draft = conclude(await look(port, tmp_path, asker))[0]
    assert draft.severity == "high"
    assert f"pid {holder.pid}" in draft.summary
    assert "bound, without listening, to" in draft.summary


async def test_udp_is_told_apart_from_tcp(child: Child, asker: int, tmp_path: Path) -> None:
    port = free_port()
    child(
        "sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f"sock.bind(('127.0.0.1', {port})); keep += [sock]"
    )
    (draft,) = conclude(await look(port, tmp_path, asker))
    assert draft.severity == "warn"
    assert draft.summary.startswith(f"UDP port {port} is held by pid ")


async def test_an_outgoing_connection_on_the_port_is_no_listener(
    child: Child, asker: int, tmp_path: Path
) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        client = child(
            f"sock = socket.socket(); sock.bind(('127.0.0.1', {port}))\n"
            f"sock.connect({address}); keep += [sock]"
        )
        with server.accept()[0]:
            draft = conclude(await look(port, tmp_path, asker))[0]
    assert draft.severity == "high"
    assert f"local port of an outgoing connection of pid {client.pid}" in draft.summary
    assert f"to 127.0.0.1:{address[1]}" in draft.summary


async def test_time_wait_alone_is_no_holder(child: Child, asker: int, tmp_path: Path) -> None:
    port = free_port()
    child(
        f"server = socket.create_server(('127.0.0.1', {port}))\n"
        f"client = socket.create_connection(('127.0.0.1', {port}))\n"
        "server.accept()[0].close(); client.recv(1); client.close(); server.close()"
    )
    (draft,) = conclude(await look(port, tmp_path, asker))
    assert draft.severity == "info"
    assert "nobody holds port" in draft.summary
    assert "TIME_WAIT" in draft.summary
    assert "SO_REUSEADDR" in draft.detail


async def test_a_free_port_says_so(asker: int, tmp_path: Path) -> None:
    port = free_port()
    parsed = await look(port, tmp_path, asker)
    (draft,) = conclude(parsed)
    assert (draft.severity, f"nobody holds port {port}" in draft.summary) == ("info", True)
    (summary,) = [fact.data for fact in parsed.facts if isinstance(fact.data, SocketSummary)]
    assert (summary.port, summary.total) == (port, 0)


@pytest.mark.needs("unshare")
async def test_another_network_namespace_is_no_conflict_but_is_told(
    child: Child, asker: int, tmp_path: Path
) -> None:
    port = free_port()
    holder = child(f"keep += [socket.create_server(('', {port}))]", "unshare", "-n")
    parsed = await look(port, tmp_path, asker)
    assert [sock.netns is not None for sock in sockets_of(parsed)] == [True]
    drafts = conclude(parsed)
    assert {draft.severity for draft in drafts} == {"info"}
    assert any(f"pid {holder.pid}" in draft.summary for draft in drafts)
    inside = conclude(await look(port, tmp_path, holder.pid))
    assert "held by the target itself" in inside[0].summary


async def test_a_target_that_has_ended_is_looked_up_from_here(child: Child, tmp_path: Path) -> None:
    """The usual case: the server could not bind and is gone, the holder is still there."""
    port = free_port()
    holder = child(f"keep += [socket.create_server(('127.0.0.1', {port}))]")
    observation = await observe(
        SocketsPort(), [os.getpid()], tmp_path / "look", target_pid=2**22 + 1, port=port
    )
    draft = conclude(SocketsPort().parse(observation))[0]
    assert draft.severity == "high"
    assert f"pid {holder.pid}" in draft.summary


async def test_replay_gives_the_same_evidence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        observation = await observe(
            SocketsPort(), [os.getpid()], tmp_path / "look", port=server.getsockname()[1]
        )
    assert SocketsPort().parse(observation) == SocketsPort().parse(observation)
