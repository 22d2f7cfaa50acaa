"""Attaches strace to running processes for a while. It stops the target at every system call."""

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import anyio

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea.errors import BackendError
from dea_linux import netlink
from dea_linux.sockets import snapshot
from dea_linux.strace import parser
from dea_linux.strace.progress import Progress

_MAX_BYTES = 64 * 2**20
_PIDS = 8  # each takes a tracer's attention; children born meanwhile are followed anyway
_LOOK_BEFORE_S = 0.4
_WAITS = "?poll,?ppoll,?select,?pselect6,?epoll_wait,?epoll_pwait,?epoll_pwait2"
_CATEGORIES = {  # strace(1), -e trace=; a question mark lets a call be unknown on this machine
    "network": f"%network,?read,?readv,?write,?writev,?close,{_WAITS}",
    "file": "%file,%desc",
    "process": "%process",
    "signal": "%signal",
    "memory": "%memory",
}


class StraceTrace(LinuxBackend):
    """Every call with its arguments, result and time. The dearest way to see system calls."""

    name: ClassVar[str] = "strace.trace"
    tool: ClassVar[str] = "trace_syscalls"
    rank: ClassVar[int] = 50
    programs: ClassVar[tuple[str, ...]] = ("strace",)
    install_hint: ClassVar[str] = "apt-get install strace"
    traces: ClassVar[bool] = True

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        pids = request.pids[:_PIDS]
        before = await _progress_before(pids, request.duration_s)
        await anyio.to_thread.run_sync(_save_sockets, pids, "sockets-before", instruments)
        during = Progress.read(pids)
        trace = instruments.path("trace.txt")
        began_at = time.time()
        result = await instruments.run(
            [
                *_argv(request.options.get("categories") or ["all"]),
                "-o",
                str(trace),
                *_targets(pids),
            ],
            timeout_s=request.duration_s,
            writes=trace,
            max_bytes=_MAX_BYTES,
        )
        lasted_s = min(result.duration_s, request.duration_s)
        done = Progress.read(pids)
        if not result.timed_out and not trace.stat().st_size:
            raise BackendError(f"strace did not attach: {_reason(result.stderr)}")
        await anyio.to_thread.run_sync(_save_sockets, pids, "sockets-after", instruments)
        instruments.save("stderr.txt", result.stderr)
        return {
            "pids": list(pids),
            "left_out": len(request.pids) - len(pids),
            "began_at": began_at,
            "window_s": round(lasted_s, 3),
            "truncated": result.truncated,
            "before": before,
            "during": done.since(during),
        }

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse(observation)


def _argv(categories: Sequence[str]) -> list[str]:
    """Follow threads and children, stamp and time each call, name what descriptors are.

    Only four bytes of each buffer are kept (-s): enough to tell that there was data, too few to
    hold a secret.
    """
    argv = ["strace", "-f", "-ttt", "-T", "-y", "-s", "4", "-a", "1"]
    if "all" not in categories:
        argv += ["-e", "trace=" + ",".join(_CATEGORIES[name] for name in categories)]
    return argv


def _targets(pids: Sequence[int]) -> list[str]:
    return [text for pid in pids for text in ("-p", str(pid))]


async def _progress_before(pids: Sequence[int], duration_s: float) -> dict[str, float] | None:
    """How fast the target is while nobody traces it; not for windows too short to spare it."""
    if duration_s < 2:
        return None
    start = Progress.read(pids)
    await anyio.sleep(_LOOK_BEFORE_S)
    return Progress.read(pids).since(start)


def _save_sockets(pids: Sequence[int], stem: str, instruments: Instruments) -> None:
    """Addresses of the sockets that strace names by inode; without them the inode must do."""
    try:
        held = netlink.holders(None, pids).by_inode
        seen = snapshot.take(pids[0])
    except OSError:
        return
    kept = seen.keep(lambda sock: sock.inode in held)
    instruments.save(f"{stem}.{seen.suffix}", kept)


def _reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    return lines[-1].removeprefix("strace: ") if lines else "it said nothing"
