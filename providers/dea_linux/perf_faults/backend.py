"""Records the stacks of page faults, and which of the pages are still there at the end."""

import itertools
import math
import os
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import anyio

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, ProgramResult, Request
from dea.contracts.secrets import target_text
from dea.contracts.target import Runtime
from dea.errors import BackendError
from dea_linux import procfs
from dea_linux.perf_faults import pages
from dea_linux.perf_faults.parser import parse
from dea_linux.perf_faults.script import read

_STACK_BYTES = 8192
_MOST_SAMPLES = 1500  # each carries a copy of the stack, taken while the target waits
_LOOK_S = 0.25
_MOST_BYTES = 64 * 2**20
_READ_WITHIN_S = 15.0


class Sites(LinuxBackend):
    """The target is not stopped; it pays some 10 us for each fault that is sampled."""

    name: ClassVar[str] = "perf.faults"
    tool: ClassVar[str] = "snapshot_memory.sites"
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"native", "go", "unknown"})
    programs: ClassVar[tuple[str, ...]] = ("perf",)
    install_hint: ClassVar[str] = "apt-get install linux-perf"

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        """Raises BackendError when perf may not look at the target."""
        every = await _every(request.pid, request.duration_s)
        with tempfile.TemporaryFile() as unnamed:  # nothing is left of it though we are killed
            data = Path(f"/proc/{os.getpid()}/fd/{unnamed.fileno()}")
            await _record(request, every, data, instruments)
            script, has_lines = await _to_text(data, instruments)
        instruments.save("faults", script)
        addresses = [fault.address for fault in read(script.decode("utf-8", "replace")).faults]
        present = await anyio.to_thread.run_sync(pages.present, request.pid, addresses)
        instruments.save("present", "\n".join([*(f"{page:x}" for page in present or ()), ""]))
        return {
            "every": every,
            "window_s": request.duration_s,
            "lines": has_lines,
            "present_known": present is not None,
            "runtime": request.target.runtime or "unknown",
        }

    def parse(self, observation: Observation) -> Parsed:
        return parse(observation)


async def _every(pid: int, duration_s: float) -> int:
    """Sample one fault in so many, so that a target that faults a lot is not slowed.

    A prime: a block of four pages faults four times, and every fourth would always be the same.
    """
    before = _faults(pid)
    await anyio.sleep(_LOOK_S)
    wanted = (_faults(pid) - before) / _LOOK_S * duration_s / _MOST_SAMPLES
    if wanted <= 1:
        return 1
    return next(n for n in itertools.count(max(5, math.ceil(wanted))) if _is_prime(n))


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def _faults(pid: int) -> int:
    """Minor faults so far: field 10 of /proc/PID/stat."""
    fields = procfs.stat_fields(procfs.read_text(f"/proc/{pid}/stat"))
    if len(fields) < 8:
        raise BackendError(f"process {pid} has ended")
    return int(fields[7])


async def _record(request: Request, every: int, data: Path, instruments: Instruments) -> None:
    argv = ["perf", "record", "--quiet", "--no-buildid-cache", "--event", "page-faults"]
    argv += ["--no-bpf-event"]  # or it spends a second on programs of the kernel
    argv += ["--count", str(every), "--data", "--call-graph", f"dwarf,{_STACK_BYTES}"]
    argv += ["--pid", str(request.pid), "--output", str(data)]
    argv += ["--", "sleep", f"{max(0.5, request.duration_s):g}"]
    result = await instruments.run(
        argv, timeout_s=request.duration_s + 10, writes=data, max_bytes=_MOST_BYTES
    )
    if not data.stat().st_size:
        raise BackendError(f"perf cannot record page faults: {_complaint(result)}")


async def _to_text(data: Path, instruments: Instruments) -> tuple[bytes, bool]:
    """perf's text, and whether it has source lines: those of a large program may take too long."""
    argv = ["perf", "script", "--input", str(data), "--full-source-path"]
    fields = "tid,addr,ip,sym,dso"
    result = await instruments.run([*argv, "-F", f"{fields},srcline"], timeout_s=_READ_WITHIN_S)
    if result.returncode == 0 and not result.timed_out:
        return result.stdout, True
    result = await instruments.run([*argv, "--no-inline", "-F", fields], timeout_s=_READ_WITHIN_S)
    if result.returncode:
        raise BackendError(f"perf cannot read what it recorded: {_complaint(result)}")
    return result.stdout, False


def _complaint(result: ProgramResult) -> str:
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    return target_text(lines[0] if lines else f"it ended with {result.returncode}", 200)
