"""Which processes hold a socket open: one walk over /proc/PID/fd."""

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Holders:
    """`by_inode` lists (pid, fd) of every holder; an inode nobody holds is absent.

    `unreadable` are processes whose descriptors may not be read: they may hold any of them.
    """

    by_inode: dict[int, list[tuple[int, int]]] = field(
        default_factory=dict[int, list[tuple[int, int]]]
    )
    scanned: int = 0
    unreadable: tuple[int, ...] = ()

    def of(self, inode: int) -> list[tuple[int, int]]:
        return self.by_inode.get(inode, [])


def holders(inodes: Collection[int] | None, pids: Iterable[int] | None = None) -> Holders:
    """Who holds the sockets with these inodes (None: every socket), among `pids` or all processes.

    A process that ends meanwhile holds nothing any more and is not counted as unreadable.
    """
    wanted = None if inodes is None else {inode for inode in inodes if inode}
    found: dict[int, list[tuple[int, int]]] = {}
    unreadable: list[int] = []
    scanned = 0
    for pid in sorted(_all_pids() if pids is None else pids):
        try:
            with os.scandir(f"/proc/{pid}/fd") as entries:
                _collect(pid, entries, wanted, found)
            scanned += 1
        except PermissionError:
            unreadable.append(pid)
        except OSError:
            continue
    return Holders(found, scanned, tuple(unreadable))


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _collect(
    pid: int,
    entries: Iterable["os.DirEntry[str]"],
    wanted: set[int] | None,
    found: dict[int, list[tuple[int, int]]],
) -> None:
    """Add the sockets among a process's descriptors, as readlink shows them: `socket:[INODE]`."""
    for entry in entries:
        try:
            link = os.readlink(entry.path)
        except OSError:  # closed meanwhile
            continue
        if link.startswith("socket:["):
            inode = int(link[8:-1])
            if wanted is None or inode in wanted:
                found.setdefault(inode, []).append((pid, int(entry.name)))
