"""Looks at descriptors again and again, and writes down what changed from look to look."""

import os
import time
from dataclasses import dataclass, field
from typing import Any

from dea.errors import BackendError
from dea_linux import procfs
from dea_linux.descendants import descendants
from dea_linux.files import peers
from dea_linux.pace import Pace

_MOST_DESCENDANTS = 8
_MOST_DETAILS = 300  # descriptors of one process that are asked for more than their name
_FAMILY_EVERY_S = 0.5
_DEAR_S = 0.02

Links = dict[int, bytes]  # what each descriptor points to, by number


@dataclass
class Watch:
    """`changes` holds lines `@ SECONDS PID` for a look, then `+ FD LINK` and `- FD`."""

    pid: int
    every_s: float
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    ended: bool = False
    _changes: list[bytes] = field(default_factory=list[bytes])
    _now: dict[int, Links] = field(default_factory=dict[int, Links])
    _family: list[int] = field(default_factory=list[int])
    _family_pace: Pace = field(default_factory=lambda: Pace(_FAMILY_EVERY_S))
    _paces: dict[int, Pace] = field(default_factory=dict[int, Pace])
    _peers: peers.Peers = field(default_factory=peers.Peers)
    _refused: set[int] = field(default_factory=set[int])
    _details: list[str] = field(default_factory=list[str])
    _began_s: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        self.look()
        self._peers.ask(self.pid, self._sockets())

    def look(self) -> None:
        """Look at the target and at those descendants that are due."""
        self._look_at(self.pid)
        if self._family_pace.due():
            self._family = self._family_pace.look(lambda: descendants(self.pid))
        for pid in self._family[:_MOST_DESCENDANTS]:
            self._look_at(pid)
        new = self._sockets() - self._peers.known()
        if self._peers.cost_s < _DEAR_S:  # one that is closed before the end is asked about now
            self._peers.ask(self.pid, new)

    def end(self) -> None:
        if not self.ended:
            for pace in self._paces.values():
                pace.hurry(self.every_s / 2)
            self.look()
            self._peers.ask(self.pid, self._sockets())
        self.facts = {
            "window_s": round(time.monotonic() - self._began_s, 3),
            "ended": self.ended,
            "soft_limits": {str(pid): _soft_limit(pid) for pid in self._now},
            "refused": sorted(self._refused),
            "left_out": max(0, len(self._family) - _MOST_DESCENDANTS),
            "sockets_refused": self._peers.refused,
        }
        for pid, links in self._now.items():
            self._details += _details(pid, links)

    def files(self) -> dict[str, bytes]:
        return {
            "changes": b"\n".join([*self._changes, b""]),
            "sockets": self._peers.text().encode("utf-8", "replace"),
            "details": "\n".join([*self._details, ""]).encode(),
        }

    def _look_at(self, pid: int) -> None:
        pace = self._paces.setdefault(pid, Pace(self.every_s / 2))
        if pid in self._refused or not pace.due():
            return
        try:
            links = pace.look(lambda: _links(pid))
        except PermissionError as error:
            self._refuse(pid, error)
        except OSError:  # it has ended
            self.ended = self.ended or pid == self.pid
        else:
            self._write(pid, links)

    def _refuse(self, pid: int, error: OSError) -> None:
        self._refused.add(pid)
        if pid == self.pid:
            raise BackendError(
                f"the descriptors of process {pid} may not be read",
                "Run as root or as the user of the process",
            ) from error

    def _write(self, pid: int, links: Links) -> None:
        before = self._now.get(pid, {})
        at_s = time.monotonic() - self._began_s
        self._changes.append(b"@ %.3f %d" % (at_s, pid))
        self._changes += [b"- %d" % fd for fd in before if fd not in links]
        self._changes += [
            b"+ %d %s" % (fd, link.replace(b"\n", b"\\n"))
            for fd, link in links.items()
            if before.get(fd) != link
        ]
        self._now[pid] = links

    def _sockets(self) -> set[int]:
        """Inodes of all sockets that are open now."""
        return {
            int(link[8:-1])
            for links in self._now.values()
            for link in links.values()
            if link.startswith(b"socket:[")
        }


def _links(pid: int) -> Links:
    """Raises OSError when the process is gone or its descriptors may not be read."""
    found: Links = {}
    folder = b"/proc/%d/fd" % pid
    for name in os.listdir(folder):
        try:
            found[int(name)] = os.readlink(folder + b"/" + name)
        except FileNotFoundError:  # closed meanwhile
            continue
    return found


def _details(pid: int, links: Links) -> list[str]:
    """Lines `dir PID FD` and `size PID FD BYTES`, the latter for deleted files only."""
    found: list[str] = []
    paths = [(fd, link) for fd, link in links.items() if link.startswith(b"/")]
    for fd, link in paths[:_MOST_DETAILS]:
        info = procfs.read_text(f"/proc/{pid}/fdinfo/{fd}")
        flags = next((line[6:] for line in info.splitlines() if line.startswith("flags:")), "0")
        if int(flags, 8) & os.O_DIRECTORY:
            found.append(f"dir {pid} {fd}")
        elif link.endswith(b" (deleted)"):
            try:
                found.append(f"size {pid} {fd} {os.stat(f'/proc/{pid}/fd/{fd}').st_size}")
            except OSError:
                continue
    return found


def _soft_limit(pid: int) -> int | None:
    for line in procfs.read_text(f"/proc/{pid}/limits").splitlines():
        if line.startswith("Max open files"):
            word = line.split()[3]
            return int(word) if word.isdigit() else None
    return None
