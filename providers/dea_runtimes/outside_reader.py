"""What backends share that read a process's memory through a reader program of their own.

The reader is a process, so that a hold of the target never waits for the rest of DEA, and ending
the reader frees the target.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from dea.backend import Availability, Host, Instruments, LinuxBackend
from dea.contracts.secrets import target_text
from dea.errors import BackendError


class OutsideReader(LinuxBackend):
    """`reader` is the module to run; it writes records, the last of which tells why it gave up."""

    traces: ClassVar[bool] = True
    reader: ClassVar[str]
    knows: ClassVar[str]  # what of the runtime is known on x86-64 only

    def availability(self, host: Host) -> Availability:
        state = super().availability(host)
        if state.status == "ready" and host.arch != "x86_64":
            return Availability("unsupported_platform", f"knows {self.knows} on x86-64 only")
        if state.status == "ready" and host.ptrace_scope and not host.may_trace_others():
            return Availability(
                "missing",
                "ptrace is restricted (yama)",
                "Run as root, or set kernel.yama.ptrace_scope=0",
            )
        return state

    async def read(
        self,
        instruments: Instruments,
        arguments: Sequence[str],
        out: Path,
        *,
        timeout_s: float,
        max_bytes: int,
    ) -> None:
        """Run the reader, which writes `out`. Raises BackendError with its reason to give up."""
        result = await instruments.run(
            [sys.executable, "-P", "-m", self.reader, *arguments, str(out)],
            timeout_s=timeout_s,
            writes=out,
            max_bytes=max_bytes,
        )
        if result.returncode != 0:
            raise BackendError(f"could not look: {_reason(out.read_bytes(), result.stderr)}")


def _reason(records: bytes, stderr: str) -> str:
    """What the reader said last, or how it broke."""
    lines = records.decode("utf-8", "replace").splitlines()
    try:
        return target_text(str(json.loads(lines[-1])["reason"]), 300)
    except (IndexError, KeyError, TypeError, ValueError):
        last = stderr.strip().splitlines()[-1:] or ["it did not finish in time"]
        return target_text(f"the reader ended early ({last[0]})", 300)
