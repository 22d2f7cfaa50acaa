"""Looks twice at the sockets of a process and its descendants, so that what moved is known."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import anyio

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea.errors import BackendError
from dea_linux import netlink
from dea_linux.netlink import Holders, InetSocket
from dea_linux.own_cost import OwnCost
from dea_linux.sockets import parser, processes, snapshot
from dea_linux.sockets.peers import Peers
from dea_linux.sockets.snapshot import Snapshot

_WINDOW_S = 1.0


@dataclass(frozen=True)
class Look:
    """What one moment shows. `held` is by the examined processes only."""

    inet: Snapshot
    unix: bytes
    held: Holders
    at_s: float


class SocketsDiag(LinuxBackend):
    """sock_diag in the target's network namespace, and the descriptors of its processes."""

    name: ClassVar[str] = "sockets.diag"
    tool: ClassVar[str] = "inspect_sockets"
    rank: ClassVar[int] = 10

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        window_s, cost = request.duration_s or _WINDOW_S, OwnCost()
        try:
            first = await anyio.to_thread.run_sync(cost.of, _look, request.pids)
            await anyio.sleep(window_s)
            second = await anyio.to_thread.run_sync(cost.of, _look, request.pids)
        except OSError as error:
            raise _refused(request.pid, error) from error
        _require_readable(request.pids, second.held)
        await anyio.to_thread.run_sync(cost.of, _save, first, second, request.pids, instruments)
        return {
            "window_s": round(second.at_s - first.at_s, 3),
            "pids": list(request.pids),
            "no_sock_diag": second.inet.reason,
            **cost.noted(),
        }

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse(observation)


def _refused(pid: int, error: OSError) -> BackendError:
    if isinstance(error, FileNotFoundError | ProcessLookupError):
        return BackendError(f"process {pid} has ended", "Start it again and attach to that")
    return BackendError(
        f"cannot read the sockets of process {pid}: {error.strerror}", "Run DEA as root"
    )


def _look(pids: Sequence[int]) -> Look:
    inet = snapshot.take(pids[0])
    at_s = time.monotonic()
    foreign = netlink.netns_of(pids[0]) != netlink.netns_of()
    try:
        unix = netlink.dump_unix(netns_pid=pids[0] if foreign else None)
    except OSError:  # the module is missing: TCP and UDP are still worth telling
        unix = b""
    return Look(inet, unix, netlink.holders(None, pids), at_s)


def _require_readable(pids: Sequence[int], held: Holders) -> None:
    if held.scanned == 0 and held.unreadable:
        raise BackendError(
            f"the descriptors of process {pids[0]} may not be read",
            "Run DEA as root or as the user that runs it",
        )


def _save(first: Look, second: Look, pids: Sequence[int], instruments: Instruments) -> None:
    ours = set(first.held.by_inode) | set(second.held.by_inode)
    sockets = second.inet.sockets()
    peers = Peers(sockets)
    ends = {peers.inode_of(sock) for sock in sockets if sock.inode in ours} - ours - {0}
    unix_ends = {
        sock.peer_inode for sock in netlink.parse_unix(second.unix) if sock.inode in ours
    } - ours
    everyone = netlink.holders(ends | unix_ends) if ends or unix_ends else Holders()
    relevant = ours | ends
    ports = {sock.local_port for sock in sockets if sock.inode in ours}

    def worth_storing(sock: InetSocket) -> bool:
        return sock.inode in relevant or (
            sock.local_port in ports and (sock.state == "LISTEN" or not sock.inode)
        )

    for number, look in enumerate((first, second), 1):
        instruments.save(f"look-{number}.{look.inet.suffix}", look.inet.keep(worth_storing))
    instruments.save("unix.netlink", netlink.keep_unix(second.unix, ours | unix_ends))
    table = {
        "first": first.held.by_inode,
        "second": second.held.by_inode,
        "others": everyone.by_inode,
        "unreadable": [*second.held.unreadable, *everyone.unreadable],
    }
    instruments.save("holders.json", json.dumps(table), "json")
    holding = {pid for found in everyone.by_inode.values() for pid, _ in found} | set(pids)
    instruments.save("processes.json", json.dumps(processes.describe(holding)), "json")
