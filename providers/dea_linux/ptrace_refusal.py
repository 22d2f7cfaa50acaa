"""Why a program could not attach to a process, and what to do about it."""

import re

from dea.backend import ProgramResult
from dea.contracts.secrets import target_text
from dea.errors import BackendError

_NO_RIGHTS = re.compile(r"operation not permitted|permission denied", re.IGNORECASE)
_GONE = re.compile(r"no such (?:file|process)", re.IGNORECASE)


def refusal(program: str, result: ProgramResult, pid: int) -> BackendError:
    """What the failed run of a debugger means."""
    if result.timed_out:
        return BackendError(f"{program} did not end in {result.duration_s:.0f} s and was stopped")
    if _NO_RIGHTS.search(result.stderr):
        return BackendError(
            f"{program} may not attach to process {pid}",
            "Run dea as root or as the target's user, or give it CAP_SYS_PTRACE "
            "(in a container: --cap-add SYS_PTRACE); see kernel.yama.ptrace_scope",
        )
    if _GONE.search(result.stderr):
        return BackendError(f"process {pid} ended before {program} could look")
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    first = target_text(lines[0], 200) if lines else f"it ended with {result.returncode}"
    return BackendError(f"{program} could not look at process {pid}: {first}")
