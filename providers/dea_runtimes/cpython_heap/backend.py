"""Runs the heap reader on a Python process: held for two short copies, otherwise left alone."""

import json
import sys
from typing import Any, ClassVar

from dea.backend import Availability, Host, Instruments, LinuxBackend, Observation, Parsed, Request
from dea.contracts.secrets import target_text
from dea.contracts.target import Runtime
from dea.errors import BackendError
from dea_runtimes.cpython_heap.parser import parse_growth

RECORDS = "heap.jsonl"
_READER = "dea_runtimes.cpython_heap.reader"
_DEFAULT_S = 4.0
_EXTRA_S = 45.0  # for walking two copies, on a busy host
COPY_LIMIT_MIB = 1024  # the target is held about 0.3 ms for each
_RECORDS_LIMIT_BYTES = 8 << 20


class CPythonHeapGrowth(LinuxBackend):
    """Two looks at all objects, and what grew between them."""

    name: ClassVar[str] = "cpython_heap.growth"
    tool: ClassVar[str] = "snapshot_memory.heap"
    runtimes: ClassVar[frozenset[Runtime]] = frozenset({"python"})
    rank: ClassVar[int] = 10
    traces: ClassVar[bool] = True

    def availability(self, host: Host) -> Availability:
        state = super().availability(host)
        if state.status == "ready" and host.arch != "x86_64":
            return Availability("unsupported_platform", "knows CPython's heap on x86-64 only")
        if state.status == "ready" and host.ptrace_scope and not host.may_trace_others():
            return Availability(
                "missing",
                "ptrace is restricted (yama)",
                "Run as root, or set kernel.yama.ptrace_scope=0",
            )
        return state

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        """Raises BackendError, with the reason, when the heap could not be read for sure."""
        duration_s = request.duration_s or _DEFAULT_S
        out = instruments.path(RECORDS)
        await instruments.progress(0.1, "reading the Python heap")
        result = await instruments.run(
            [
                *(sys.executable, "-P", "-m", _READER),
                *(str(request.pid), str(duration_s), str(COPY_LIMIT_MIB), str(out)),
            ],
            timeout_s=duration_s + _EXTRA_S,
            writes=out,
            max_bytes=_RECORDS_LIMIT_BYTES,
        )
        if result.returncode != 0:
            raise BackendError(f"could not look: {_reason(out.read_bytes(), result.stderr)}")
        return {"pid": request.pid, "duration_s": duration_s}

    def parse(self, observation: Observation) -> Parsed:
        return parse_growth(observation, RECORDS)


def _reason(records: bytes, stderr: str) -> str:
    """What the reader said last, or how it broke."""
    lines = records.decode("utf-8", "replace").splitlines()
    try:
        return target_text(str(json.loads(lines[-1])["reason"]), 300)
    except (IndexError, KeyError, TypeError, ValueError):
        last = stderr.strip().splitlines()[-1:] or ["it did not finish in time"]
        return target_text(f"the reader ended early ({last[0]})", 300)
