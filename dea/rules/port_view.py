"""One port as the evidence shows it: what is bound to it, by whom, and who was refused."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dea.contracts.data import LogExcerpt, Process, Socket, SocketSummary, SyscallError
from dea.rules.draft import Cited, Facts

_IN_USE = re.compile(
    r"address already in use|EADDRINUSE|port \d+ is (?:already )?in use", re.IGNORECASE
)
_SOME_PORT = re.compile(r":\d{2,5}\b|port \d+")


@dataclass(frozen=True)
class Holder:
    """Whoever holds sockets bound to the port; `pid` is None when that may not be seen."""

    pid: int | None
    sockets: list[Cited[Socket]]
    process: Cited[Process] | None

    @property
    def is_target(self) -> bool:
        return any(cited.data.held_by_target for cited in self.sockets)

    @property
    def ids(self) -> list[str]:
        return [c.id for c in self.sockets] + ([self.process.id] if self.process else [])

    @property
    def others(self) -> list[int]:
        """Other processes that hold the same socket."""
        pids = {pid for cited in self.sockets for pid in cited.data.holders}
        return sorted(pids - {self.pid})


@dataclass(frozen=True)
class Port:
    """`sockets` are in the target's network namespace, `elsewhere` those in others."""

    number: int
    summary: Cited[SocketSummary]
    sockets: list[Cited[Socket]]
    elsewhere: list[Cited[Socket]]
    processes: dict[int, Cited[Process]]
    refusals: list[str]  # evidence that somebody was refused the port

    def holders(self, protocol: str) -> list[Holder]:
        """Who keeps others from binding: by listening, or by being bound without a peer."""
        found: dict[tuple[int | None, str | None], list[Cited[Socket]]] = {}
        for cited in self.sockets:
            sock = cited.data
            if sock.protocol == protocol and sock.remote is None and sock.inode:
                found.setdefault((sock.pid, sock.user), []).append(cited)
        return [
            Holder(pid, sockets, self.processes.get(pid or 0))
            for (pid, _), sockets in found.items()
        ]

    def connections(self, role: str) -> list[Cited[Socket]]:
        """TCP connections of this role that some process holds."""
        return [
            cited
            for cited in self.sockets
            if cited.data.protocol == "tcp"
            and cited.data.remote is not None
            and cited.data.role == role
            and cited.data.inode
        ]

    def closing(self) -> list[Cited[Socket]]:
        """Remains of connections that no process holds any more (TIME_WAIT and the like)."""
        return [c for c in self.sockets if c.data.remote is not None and not c.data.inode]


def ports(facts: Facts) -> Iterator[Port]:
    """Each port that was looked at."""
    processes = {cited.data.pid: cited for cited in facts.of(Process)}
    for summary in facts.of(SocketSummary):
        if (number := summary.data.port) is None:
            continue
        on_port = [c for c in facts.of(Socket) if c.data.local.endswith(f":{number}")]
        yield Port(
            number,
            summary,
            [cited for cited in on_port if cited.data.netns is None],
            [cited for cited in on_port if cited.data.netns is not None],
            processes,
            [*_refused_binds(facts, number), *_complaints(facts, number)],
        )


def _refused_binds(facts: Facts, number: int) -> Iterator[str]:
    for cited in facts.of(SyscallError):
        error = cited.data
        about = error.object is None or error.object.endswith(f":{number}")
        if error.name == "bind" and error.errno == "EADDRINUSE" and about:
            yield cited.id


def _complaints(facts: Facts, number: int) -> Iterator[str]:
    """Logs in which somebody says that this address, or one not named, is in use."""
    for cited in facts.of(LogExcerpt):
        for line in cited.data.text.splitlines():
            about = re.search(rf"\b{number}\b", line) or not _SOME_PORT.search(line)
            if _IN_USE.search(line) and about:
                yield cited.id
                break
