"""Everything on this host that concerns one port: who holds it, in every network namespace."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

import anyio

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea.errors import BackendError
from dea_linux import netlink, procfs
from dea_linux.netlink import InetSocket
from dea_linux.sockets import port_parser, processes, snapshot

_NAMESPACES = 64  # at most so many others are looked into
_SETTINGS = ("ip_local_port_range", "ip_local_reserved_ports", "ip_unprivileged_port_start")


@dataclass
class Sight:
    """What was seen of one port. `inodes` are its sockets in all namespaces."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    inodes: set[int] = field(default_factory=set[int])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])


class SocketsPort(LinuxBackend):
    """sock_diag in the target's and all other network namespaces, and one scan for the holders.

    Needs `request.options["port"]`. Without a live process of the target (a server that could not
    start has ended) it looks at our own namespace; our own pid stands for "none".
    """

    name: ClassVar[str] = "sockets.port"
    tool: ClassVar[str] = "port_busy"
    rank: ClassVar[int] = 10

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        port = request.options.get("port")
        if not isinstance(port, int):
            raise BackendError("no port was given", "Say which port is busy")
        try:
            sight = await anyio.to_thread.run_sync(_look, port, request.pids, request.target.pid)
        except OSError as error:
            raise BackendError(
                f"cannot read the sockets of this host: {error.strerror}", "Run DEA as root"
            ) from error
        for name, raw in sight.files.items():
            instruments.save(name, raw, "json" if name.endswith(".json") else "raw_text")
        return sight.facts

    def parse(self, observation: Observation) -> Parsed:
        return port_parser.parse(observation)


def _look(port: int, pids: Sequence[int], target: int | None) -> Sight:
    alive = [pid for pid in pids if pid != os.getpid() and netlink.netns_of(pid) is not None]
    home = alive[0] if alive else os.getpid()
    sight = Sight()
    reason = _add_namespace(sight, "home", home, port, netlink.ALL_STATES)
    unseen = _other_namespaces(sight, home, port)
    held = netlink.holders(sight.inodes)
    holding = {pid for found in held.by_inode.values() for pid, _ in found}
    family = {member for pid in alive for member in processes.family_of(pid)}
    who = processes.describe(holding | set(alive))
    table = {"others": held.by_inode, "unreadable": held.unreadable}
    sight.files["holders.json"] = json.dumps(table).encode()
    sight.files["processes.json"] = json.dumps(who).encode()
    sight.files["settings.json"] = json.dumps(_settings(home)).encode()
    sight.facts = {
        "port": port,
        "target": target or 0,
        "family": sorted(family & (holding | set(alive))),
        "home_netns": netlink.netns_of(home) or 0,
        "no_sock_diag": reason,
        "unseen_namespaces": unseen,
        "at": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    return sight


def _add_namespace(sight: Sight, stem: str, pid: int, port: int, states: int) -> str:
    """Add the port's sockets in the namespace of a process; why sock_diag was not asked, if so."""
    seen = snapshot.take(pid, states)
    found = [sock for sock in seen.sockets() if sock.local_port == port]
    served = {sock.remote_port for sock in found}

    def worth_storing(sock: InetSocket) -> bool:
        """The port's sockets, and listeners that they may be connected to: that tells their role."""
        return sock.local_port == port or (sock.state == "LISTEN" and sock.local_port in served)

    if found or stem == "home":
        sight.files[f"{stem}.{seen.suffix}"] = seen.keep(worth_storing)
        sight.inodes.update(sock.inode for sock in found)
    return seen.reason


def _other_namespaces(sight: Sight, home: int, port: int) -> int:
    """Add whoever listens in another namespace; returns how many could not be looked into."""
    members: dict[int, int] = {}
    unseen = 0
    for pid in procfs.processes():
        if (netns := netlink.netns_of(pid)) is not None:
            members.setdefault(netns, pid)
    members.pop(netlink.netns_of(home) or 0, None)
    for netns, pid in sorted(members.items())[:_NAMESPACES]:
        try:
            _add_namespace(sight, f"netns-{netns}", pid, port, netlink.LISTEN_ONLY)
        except OSError:
            unseen += 1
    return unseen + max(0, len(members) - _NAMESPACES)


def _settings(home: int) -> dict[str, str]:
    """net.ipv4 settings about ports, as they are in that namespace."""

    def read() -> dict[str, str]:
        return {name: procfs.read_text(f"/proc/sys/net/ipv4/{name}").strip() for name in _SETTINGS}

    try:
        return netlink.in_netns(home, read) if _is_foreign(home) else read()
    except OSError:
        return {}


def _is_foreign(pid: int) -> bool:
    return netlink.netns_of(pid) != netlink.netns_of()
