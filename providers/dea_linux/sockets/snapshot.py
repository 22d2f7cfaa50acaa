"""One look at the TCP and UDP sockets of a network namespace, as bytes that can be stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dea_linux import netlink
from dea_linux.netlink import InetSocket
from dea_linux.sockets import procnet


@dataclass(frozen=True)
class Snapshot:
    """`suffix` tells how `raw` is to be read; `reason` why it was not read by sock_diag."""

    raw: bytes
    suffix: str  # "netlink", "proc"
    reason: str = ""

    def sockets(self) -> list[InetSocket]:
        return _sockets(self.raw, self.suffix)

    def keep(self, wanted: Callable[[InetSocket], bool]) -> bytes:
        """What of it is worth storing."""
        return netlink.keep_inet(self.raw, wanted) if self.suffix == "netlink" else self.raw


def take(pid: int, states: int = netlink.ALL_STATES) -> Snapshot:
    """All sockets in the network namespace of a process.

    Raises OSError when neither the kernel may be asked nor /proc/PID/net be read.
    """
    foreign = netlink.netns_of(pid) != netlink.netns_of()
    try:
        return Snapshot(netlink.dump_inet(states, netns_pid=pid if foreign else None), "netlink")
    except OSError as error:
        return Snapshot(procnet.collect(pid), "proc", error.strerror or str(error))


def stored(files: Mapping[str, bytes], stem: str) -> list[InetSocket]:
    """The sockets of a snapshot that was saved as `STEM.netlink` or `STEM.proc`."""
    for suffix in ("netlink", "proc"):
        if f"{stem}.{suffix}" in files:
            return _sockets(files[f"{stem}.{suffix}"], suffix)
    return []


def _sockets(raw: bytes, suffix: str) -> list[InetSocket]:
    if suffix == "netlink":
        return list(netlink.parse_inet(raw))
    return list(procnet.parse(raw.decode("utf-8", "replace")))
