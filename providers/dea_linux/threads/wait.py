"""What a thread waits for, and how that follows from the thing it waits on."""

from dataclasses import dataclass

from dea.contracts.data.causes import Cause
from dea_linux.threads.things import Thing


@dataclass(frozen=True)
class Wait:
    """Looks with equal waits are one cause. `inodes` are the connections it depends on."""

    cause: Cause
    syscall: str | None = None
    object: str | None = None
    role: str | None = None
    peer_pids: tuple[int, ...] = ()
    inodes: tuple[int, ...] = ()
    address: int = 0  # of a lock


def wait_on(thing: Thing, syscall: str, *, writes: bool) -> Wait:
    """Waiting to read from the thing, or to write to it."""
    return Wait(
        cause=_cause(thing, writes=writes),
        syscall=syscall,
        object=thing.name,
        role=thing.role,
        peer_pids=thing.peer_pids,
        inodes=(thing.inode,) if thing.inode and thing.role == "outbound" else (),
    )


def _cause(thing: Thing, *, writes: bool) -> Cause:
    match thing.kind:
        case "socket" if thing.state == "SYN_SENT":
            return "connect"
        case "socket" if thing.role == "listen":
            return "accept"
        case "socket":
            return "send" if writes else "receive"
        case "pipe":
            return "pipe_write" if writes else "pipe_read"
        case "wakeup":
            return "poll"
        case "tty":
            return "tty"
        case "timer":
            return "sleep"
        case "signal":
            return "signal_wait"
        case "file":
            return "disk"
        case "other":
            return "other"
