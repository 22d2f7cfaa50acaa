"""Which process holds a port, from /proc/net and one pass over the descriptors of all processes."""

import os
from collections.abc import Iterator
from pathlib import Path

_LISTENS = {"tcp": "0A", "udp": "07"}  # net/tcp_states.h; a bound UDP socket is in TCP_CLOSE


def holder_of(port: int) -> int | None:
    """The process that listens on the port in our network namespace; of several the lowest pid.

    None when nobody does, or when its descriptors may not be read.
    """
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not sockets:
        return None
    return min((pid for pid in _pids() if _holds(pid, sockets)), default=None)


def _inodes(port: int) -> Iterator[str]:
    """proc(5): sl local_address rem_address st ... uid timeout inode."""
    for table in ("tcp", "tcp6", "udp", "udp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENS[table[:3]] and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _holds(pid: int, sockets: set[str]) -> bool:
    try:
        with os.scandir(f"/proc/{pid}/fd") as descriptors:
            return any(_link(descriptor.path) in sockets for descriptor in descriptors)
    except OSError:
        return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
