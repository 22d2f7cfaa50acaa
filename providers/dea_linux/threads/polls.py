"""What epoll, poll and select wait for, told by all the descriptors that they watch."""

from collections import defaultdict
from typing import Any

from dea_linux.threads.calls import Kind
from dea_linux.threads.descriptors import epoll_descriptors, watched_descriptors
from dea_linux.threads.stored import Look, Stored
from dea_linux.threads.things import Thing, Things
from dea_linux.threads.wait import Wait, wait_on

_MOST_NAMED = 3
_MOST_WATCHED = 64


class Polls:
    """Looks up what was watched at a time."""

    def __init__(self, stored: Stored, things: Things) -> None:
        self._things = things
        self._epolls: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
        self._arrays: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
        for raw in stored.descriptors:
            if "epoll" in raw:
                self._epolls[raw["pid"], raw["fd"]].append(raw)
            elif "array" in raw:
                self._arrays[raw["pid"], raw["tid"]].append(raw)

    def wait(self, pid: int, look: Look, kind: Kind, syscall: str) -> Wait:
        """The one thing it waits on, or a summary of all."""
        if kind != "epoll" and _watches_nothing(kind, look.arguments):
            return Wait("sleep", syscall)
        watched = self._watched(pid, look, kind)
        if watched is None:
            return Wait("poll", syscall, "descriptors that could not be read")
        outside = [(thing, writes) for thing, writes in watched if thing.kind != "wakeup"]
        if kind != "epoll" and len(outside) == 1:
            thing, writes = outside[0]
            return wait_on(thing, syscall, writes=writes)
        return _summary([thing for thing, _ in outside], syscall)

    def _watched(self, pid: int, look: Look, kind: Kind) -> list[tuple[Thing, bool]] | None:
        if kind == "epoll":
            record = _latest(self._epolls[pid, look.arguments[0] & 0xFFFFFFFF], look.at_ms)
            fds = [(fd, False) for fd in epoll_descriptors(record["epoll"])] if record else None
        else:
            record = _latest(self._arrays[pid, look.tid], look.at_ms)
            raw = bytes.fromhex(record["array"]) if record else b""
            fds = watched_descriptors(kind, raw) if raw else None
        if fds is None:
            return None
        found = [
            (self._things.at(pid, fd, look.at_ms, writes=writes), writes)
            for fd, writes in fds[:_MOST_WATCHED]
        ]
        return [(thing, writes) for thing, writes in found if thing is not None]


def _watches_nothing(kind: Kind, arguments: tuple[int, ...]) -> bool:
    if kind == "poll":
        return not arguments[1] & 0xFFFFFFFF
    return not arguments[0] & 0xFFFFFFFF or not any(arguments[1:4])


def _latest(records: list[dict[str, Any]], at_ms: int) -> dict[str, Any] | None:
    earlier = [record for record in records if record["at_ms"] <= at_ms]
    return earlier[-1] if earlier else records[0] if records else None


def _summary(things: list[Thing], syscall: str) -> Wait:
    """Clients first: a server that also holds idle connections to others waits for clients."""
    phrases: list[str] = []
    by_role = {
        role: sorted({thing.name for thing in things if thing.role == role})
        for role in ("listen", "inbound", "outbound")
    }
    clients = by_role["listen"] or by_role["inbound"]
    if clients:
        phrases.append("clients on " + _named([name.split()[1] for name in clients]))
    if by_role["outbound"]:
        phrases.append(_named(by_role["outbound"]))
    phrases += sorted({thing.name for thing in things if thing.kind in ("pipe", "tty")})[:2]
    if not phrases:
        others = {thing.name for thing in things if thing.kind in ("signal", "other", "socket")}
        phrases = sorted(others)[:2] or ["timer only"]
    outbound = [thing for thing in things if thing.role == "outbound"]
    role = next((role for role, names in by_role.items() if names), None)
    peers = {
        pid
        for thing in things
        if thing.kind == "pipe" or thing in outbound
        for pid in thing.peer_pids
    }
    return Wait(
        cause="poll",
        syscall=syscall,
        object="; ".join(phrases),
        role=role,
        peer_pids=tuple(sorted(peers))[:4],
        inodes=tuple(sorted({thing.inode for thing in outbound if thing.inode})),
    )


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
