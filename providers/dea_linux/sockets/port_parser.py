"""Evidence about one port: its sockets with their holders, the holders, and what the kernel allows."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dea.backend import Observation, Parsed
from dea.contracts.data import Metric, Note, Process, Socket, SocketSummary
from dea.contracts.evidence import Fact
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea_linux.netlink import InetSocket
from dea_linux.sockets import snapshot, table
from dea_linux.sockets.evidence import describe, inet_data
from dea_linux.sockets.processes import Who
from dea_linux.sockets.roles import listening_ports, role_of
from dea_linux.sockets.table import Held, Row

_KEPT = 20
_HOLDERS = 8
_NETNS_FILE = re.compile(r"netns-(\d+)\.")


def parse(observation: Observation) -> Parsed:
    """Raises BackendError when nothing that it needs was stored."""
    files, seen = observation.files, observation.facts
    if "holders.json" not in files:
        raise BackendError("holders.json is missing: the look did not end")
    held, people = table.read_held(files), table.read_processes(files)
    sockets = [
        *_sockets(files, "home", held, people, seen, None),
        *(
            data
            for name in sorted(files)
            if (match := _NETNS_FILE.match(name))
            for data in _sockets(files, name.rpartition(".")[0], held, people, seen, int(match[1]))
        ),
    ]
    shown = _alike_together(sockets)
    facts = [_summary(sockets, shown, seen)]
    facts += [Fact(data, _said(data), _file_of(data, files)) for data in shown[:_KEPT]]
    facts += _processes(shown, people)
    facts += _settings(table.read_json(files, "settings.json"), people, seen)
    return Parsed(facts, _limitations(observation, held))


def _sockets(
    files: Mapping[str, bytes],
    stem: str,
    held: Held,
    people: Mapping[int, Who],
    seen: Mapping[str, Any],
    netns: int | None,
) -> Iterator[Socket]:
    """The port's sockets in one namespace, listeners first."""
    sockets = snapshot.stored(files, stem)
    listening = listening_ports(sockets)
    on_port = [sock for sock in sockets if sock.local_port == seen["port"]]
    shared = Counter(_bound_to(sock) for sock in on_port if _waits_for_peers(sock))
    for sock in sorted(on_port, key=lambda sock: sock.state != "LISTEN"):
        role = role_of(sock, listening)
        data = inet_data(Row(sock, None, role, held.of(sock.inode), []), people, 0.0)
        holders = {pid for pid, _ in held.of(sock.inode)}
        who = people.get(data.pid or 0, Who())
        yield data.model_copy(
            update={
                "netns": netns,
                "user": data.user or f"uid {sock.uid}",
                "started_at": who.get("started_at") or None,
                "reuse_port": (shared[_bound_to(sock)] > 1 and _waits_for_peers(sock)) or None,
                "held_by_target": bool(holders & set(seen.get("family", ()))) if holders else None,
            }
        )


def _waits_for_peers(sock: InetSocket) -> bool:
    return sock.state == "LISTEN" or not sock.remote_port


def _bound_to(sock: InetSocket) -> tuple[str, str, str]:
    return sock.protocol, sock.family, sock.local


def _alike_together(sockets: Sequence[Socket]) -> list[Socket]:
    """Connections in one state, role and hand become one with a count; listeners stay apart."""
    groups: dict[tuple[object, ...], list[Socket]] = {}
    for data in sockets:
        apart = data.inode if data.remote is None else 0
        key = (apart, data.protocol, data.state, data.role, data.pid, data.netns)
        groups.setdefault(key, []).append(data)
    return [found[0].model_copy(update={"count": len(found)}) for found in groups.values()]


def _said(data: Socket) -> str:
    text = describe(data)
    if data.netns is not None:
        text += f"; in another network namespace ({data.netns})"
    if len(data.holders) > 1:
        text += f"; held by {len(data.holders)} processes: {', '.join(map(str, data.holders))}"
    return text


def _file_of(data: Socket, files: Mapping[str, bytes]) -> str | None:
    stem = "home" if data.netns is None else f"netns-{data.netns}"
    return next((name for name in files if name.startswith(f"{stem}.")), None)


def _summary(sockets: Sequence[Socket], shown: Sequence[Socket], seen: Mapping[str, Any]) -> Fact:
    port = int(seen["port"])
    home = [data for data in sockets if data.netns is None]
    states = Counter(f"{data.protocol} {data.state}" for data in home)
    data = SocketSummary(
        pid=int(seen.get("target", 0)),
        port=port,
        total=len(home),
        by_state=dict(states.most_common()),
    )
    said = ", ".join(f"{count} {state}" for state, count in states.most_common()) or "none"
    elsewhere = len([other for other in shown if other.netns is not None])
    more = f"; {elsewhere} listeners in other network namespaces" if elsewhere else ""
    return Fact(data, f"sockets on port {port} at {seen.get('at', '?')}: {said}{more}")


def _processes(shown: Sequence[Socket], people: Mapping[int, Who]) -> Iterator[Fact]:
    pids = dict.fromkeys(
        pid for data in shown for pid in (data.pid, *data.holders) if pid is not None
    )
    for pid in list(pids)[:_HOLDERS]:
        if who := people.get(pid):
            yield _process(pid, who)


def _process(pid: int, who: Who) -> Fact:
    data = Process(
        pid=pid,
        comm=target_text(who.get("comm", "?")) or "?",
        ppid=who.get("ppid"),
        cmdline=table.command_of(who),
        user=who.get("user"),
        started_at=who.get("started_at") or None,
        cwd=target_text(who["cwd"]) if "cwd" in who else None,
        container=who.get("container"),
        unit=who.get("unit"),
        orphaned=who.get("orphaned") or None,
        parents=[target_text(parent) for parent in who.get("parents", [])[:6]],
    )
    started_by = data.parents[0] if data.parents else "nobody"
    return Fact(
        data,
        f"process {pid} ({data.cmdline}) of user {data.user}, started {data.started_at} by "
        f"{started_by}",
        "processes.json",
    )


def _settings(
    settings: Mapping[str, str], people: Mapping[int, Who], seen: Mapping[str, Any]
) -> Iterator[Fact]:
    """What the kernel allows, where it concerns this port."""
    port = int(seen["port"])
    limits = settings.get("ip_local_port_range", "").split()
    if len(limits) == 2 and int(limits[0]) <= port <= int(limits[1]):
        yield Fact(
            Metric(name="ip_local_port_range_low", value=float(limits[0]), unit="port"),
            f"port {port} lies in the range {'-'.join(limits)} from which outgoing connections "
            "take their local ports",
            "settings.json",
        )
    if reserved := settings.get("ip_local_reserved_ports"):
        yield Fact(
            Note(text=f"reserved against use by outgoing connections: {target_text(reserved)}"),
            f"net.ipv4.ip_local_reserved_ports = {target_text(reserved)}",
            "settings.json",
        )
    first_free = int(settings.get("ip_unprivileged_port_start") or "0")
    target = people.get(int(seen.get("target", 0)))
    if port < first_free and target is not None and not target.get("may_bind_any", True):
        yield Fact(
            Metric(
                name="ip_unprivileged_port_start",
                value=float(first_free),
                unit="port",
                pid=target.get("pid"),
            ),
            f"process {target.get('pid')} of user {target.get('user')} may not bind ports below "
            f"{first_free}",
            "settings.json",
        )


def _limitations(observation: Observation, held: Held) -> list[str]:
    said: list[str] = []
    if held.unreadable:
        said.append(
            f"the descriptors of {len(held.unreadable)} processes may not be read: a holder may be "
            "among them (run DEA as root)"
        )
    if unseen := observation.facts.get("unseen_namespaces"):
        said.append(f"{unseen} other network namespaces could not be looked into")
    if reason := observation.facts.get("no_sock_diag"):
        said.append(
            f"sock_diag could not be asked ({reason}): sockets that are bound but do not listen, "
            "and IPV6_V6ONLY, do not show"
        )
    return said
