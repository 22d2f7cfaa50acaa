"""Socket evidence of a process: the ones with trouble one by one, the others by the group."""

from collections import Counter
from collections.abc import Sequence

from dea.backend import Observation, Parsed, Product
from dea.contracts.data import Socket, SocketSummary
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea_linux import own_cost
from dea_linux.sockets import table
from dea_linux.sockets.evidence import describe, inet_data, unix_data
from dea_linux.sockets.grouping import Group, grouped

LISTING = "sockets.txt"
_KEPT = 25
_PEERS = 10


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when nothing that it needs was stored."""
    files = observation.files
    if "holders.json" not in files:
        raise BackendError("holders.json is missing: the look did not end")
    held, people = table.read_held(files), table.read_processes(files)
    window_s = float(observation.facts.get("window_s", 0.0))
    sockets = [
        *(inet_data(row, people, window_s) for row in table.inet_rows(files, held)),
        *(unix_data(row, people) for row in table.unix_rows(files, held)),
    ]
    groups = grouped(sockets)
    return Parsed(
        facts=[*_shown(groups), _summary(observation, sockets, held)],
        limitations=_limitations(observation, held, len(groups)),
        products=[Product(LISTING, "raw_text", _listing(groups))],
    )


def _shown(groups: Sequence[Group]) -> list[Fact]:
    """The first groups, each citing its lines of the listing."""
    facts: list[Fact] = []
    line = 1
    for group in groups[:_KEPT]:
        last = line + len(group.members) - 1
        facts.append(Fact(group.shown, describe(group.shown), LISTING, (line, last)))
        line = last + 1
    return facts


def _listing(groups: Sequence[Group]) -> bytes:
    return "".join(f"{describe(sock)}\n" for group in groups for sock in group.members).encode()


def _summary(observation: Observation, sockets: Sequence[Socket], held: table.Held) -> Fact:
    states = Counter(f"{sock.protocol} {sock.state}" for sock in sockets)
    states.update(
        {f"tcp {state}": n for state, n in table.count_closing(observation.files).items()}
    )
    peers = Counter(peer for sock in sockets if (peer := _peer(sock)))
    data = SocketSummary(
        pid=observation.pid,
        total=states.total(),
        added=len(held.second) - len(held.first),
        by_state=dict(states.most_common()),
        by_peer=dict(peers.most_common(_PEERS)),
    )
    said = ", ".join(f"{n} {state}" for state, n in states.most_common(4)) or "none"
    more = f" ({data.added:+d} meanwhile)" if data.added else ""
    processes = len(observation.facts.get("pids", ()))
    who = f"{processes} processes have" if processes > 1 else f"process {observation.pid} has"
    return Fact(data, f"{who} {data.total} sockets{more}: {said}")


def _peer(sock: Socket) -> str | None:
    """Whom a connection is with: a server by address and port, a client by address only."""
    if sock.remote is None or sock.protocol == "unix":
        return None
    return sock.remote if sock.role == "outbound" else sock.remote.rpartition(":")[0]


def _limitations(observation: Observation, held: table.Held, groups: int) -> list[str]:
    said: list[str] = []
    if held.unreadable:
        said.append(
            f"the descriptors of {len(set(held.unreadable))} processes may not be read; they may "
            "hold the other end of a connection or share a socket"
        )
    if reason := observation.facts.get("no_sock_diag"):
        said.append(
            f"sock_diag could not be asked ({reason}): /proc/net has no round trips, byte counts "
            "or listen limits"
        )
    if groups > _KEPT:
        said.append(f"{_KEPT} of {groups} groups of sockets are shown, all are in {LISTING}")
    return said + own_cost.said(observation.facts, "sockets")
