"""Samples the stacks of running threads with perf: the target is never stopped."""

import os
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from dea.backend import (
    READY,
    Availability,
    Host,
    Instruments,
    LinuxBackend,
    Observation,
    Parsed,
    ProgramResult,
    Request,
)
from dea.contracts.secrets import target_text
from dea.errors import BackendError
from dea.profile.clocks import read_clocks
from dea.profile.family import read_family
from dea_linux.perf import parser
from dea_linux.perf.lasting import lasting
from dea_linux.perf.lines import LINES, find_lines
from dea_linux.perf.script import read_script
from dea_linux.perf.source import hot_lines
from dea_linux.perf.stacks import stacks_of

_PIDS = 64
_SAMPLES = 4800  # in all: each carries up to 8 KB of stack
_FASTEST_HZ, _SLOWEST_HZ = 99, 5
_STACK_BYTES = 8192
_MOST_BYTES = 64 * 2**20
_GRACE_S, _READ_WITHIN_S = 15.0, 30.0
_OPEN_TO_USERS = 2  # kernel.perf_event_paranoid up to which a user may sample own processes


class Record(LinuxBackend):
    """Functions and lines of compiled code, and the kernel's share."""

    name: ClassVar[str] = "perf.record"
    tool: ClassVar[str] = "profile_cpu"
    rank: ClassVar[int] = 50  # it suits every target, so those made for a runtime come first
    programs: ClassVar[tuple[str, ...]] = ("perf",)
    install_hint: ClassVar[str] = "apt-get install linux-perf elfutils"

    def availability(self, host: Host) -> Availability:
        state = super().availability(host)
        if state != READY:
            return state
        allowed = host.is_root or {"CAP_PERFMON", "CAP_SYS_ADMIN"} & host.capabilities
        paranoid = host.perf_event_paranoid
        if not allowed and paranoid is not None and paranoid > _OPEN_TO_USERS:
            return Availability(
                "no_permission",
                f"kernel.perf_event_paranoid is {paranoid}",
                f"Run dea as root, or: sysctl kernel.perf_event_paranoid={_OPEN_TO_USERS}",
            )
        return READY

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        pids = request.pids[:_PIDS]
        duration_s = max(1.0, request.duration_s)
        rate_hz = _rate_hz(pids, duration_s)
        noted: dict[str, Any] = {
            "target_pid": request.target.pid or request.pid,
            "runtime": request.target.runtime,
            "family": read_family(pids),
            "rate_hz": rate_hz,
            "left_out": len(request.pids) - len(pids),
        }
        # perf's file holds copies of the target's memory, so only its text is kept.
        with tempfile.TemporaryFile() as unnamed:  # nothing is left of it though we are killed
            data = Path(f"/proc/{os.getpid()}/fd/{unnamed.fileno()}")
            instruments.save(parser.BEFORE, read_clocks(pids))
            await _record(data, pids, duration_s, rate_hz, request.target.runtime, instruments)
            instruments.save(parser.AFTER, read_clocks(pids))
            script = await _to_text(data, instruments)
        instruments.save(parser.SCRIPT, script.stdout)
        noted["timed_out"] = script.timed_out
        return noted | await _look_up(noted, script.stdout, instruments)

    def parse(self, observation: Observation) -> Parsed:
        return parser.parse(observation)


async def _record(
    data: Path,
    pids: Sequence[int],
    duration_s: float,
    rate_hz: int,
    runtime: str | None,
    instruments: Instruments,
) -> None:
    # Go keeps frame pointers, which cost less than copies of the stack.
    stacks = "fp" if runtime == "go" else f"dwarf,{_STACK_BYTES}"
    argv = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(rate_hz), "--call-graph", stacks]
    argv += ["--no-buildid-cache", "--no-bpf-event", "-p"]
    argv += [",".join(map(str, lasting(pids, duration_s)))]
    argv += ["-o", str(data), "--", "sleep", f"{duration_s:g}"]
    result = await instruments.run(
        argv, timeout_s=duration_s + _GRACE_S, writes=data, max_bytes=_MOST_BYTES
    )
    if not data.stat().st_size or not _is_whole(result):
        raise BackendError(f"perf could not sample process {pids[0]}: {_complaint(result)}")


def _is_whole(result: ProgramResult) -> bool:
    """When the target ends first, perf writes its file, ends its `sleep` and then as that did."""
    target_ended = result.returncode == -signal.SIGTERM and not result.timed_out
    return result.returncode == 0 or result.truncated or target_ended


async def _to_text(data: Path, instruments: Instruments) -> ProgramResult:
    argv = [
        "perf",
        "script",
        "-i",
        str(data),
        "--no-inline",
        "-F",
        "comm,pid,tid,ip,sym,symoff,dso",
    ]
    result = await instruments.run(argv, timeout_s=_READ_WITHIN_S)
    if result.returncode != 0 and not result.stdout:
        raise BackendError(f"perf could not read what it recorded: {_complaint(result)}")
    return result


async def _look_up(
    noted: dict[str, Any], script: bytes, instruments: Instruments
) -> dict[str, Any]:
    """Source lines, while the files are at hand: where code stands, and the text of hot lines."""
    samples = read_script(script.decode("utf-8", "replace")).samples
    program = parser.program_of(noted, "")
    asked = await find_lines(samples, program.executables, instruments)
    lines = instruments.path(LINES).read_text(errors="replace")
    program = parser.program_of(noted | {"asked": asked}, lines)
    hots = parser.hot_native_frames(stacks_of(samples, program))
    return {"asked": asked, "source": hot_lines(hots)}


def _rate_hz(pids: Sequence[int], duration_s: float) -> int:
    threads = sum(_threads(pid) for pid in pids)
    busy = max(1, min(threads, os.cpu_count() or 1))
    return max(_SLOWEST_HZ, min(_FASTEST_HZ, int(_SAMPLES / (busy * duration_s))))


def _threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def _complaint(result: ProgramResult) -> str:
    if result.timed_out:
        return f"it did not end in {result.duration_s:.0f} s"
    lines = [line for line in result.stderr.splitlines() if line.strip(" :\t")]
    return target_text(lines[0] if lines else f"it ended with {result.returncode}", 200)
