"""Why py-spy could not look, and what to do about it."""

import re

from dea.backend import ProgramResult
from dea.contracts.secrets import target_text
from dea.errors import BackendError

_NO_RIGHTS = re.compile(r"permission denied|operation not permitted|EPERM|EACCES", re.IGNORECASE)
_GONE = re.compile(r"no such (?:file|process)|process (?:is not|isn't) running", re.IGNORECASE)
_VERSION = re.compile(r"unsupported version of python:?\s*(\S+)", re.IGNORECASE)
_NOT_PYTHON = re.compile(r"failed to find python version", re.IGNORECASE)
_NOT_READ = re.compile(r"failed to find.*interpreter", re.IGNORECASE)  # after the version was


def refusal(result: ProgramResult, pid: int) -> BackendError:
    """What the failed run of py-spy means."""
    said = result.stderr
    if result.timed_out:
        return BackendError(f"py-spy did not end in {result.duration_s:.0f} s")
    if _NO_RIGHTS.search(said):
        return BackendError(
            f"py-spy may not read the memory of process {pid}",
            "Run dea as root or as the target's user, or give it CAP_SYS_PTRACE "
            "(in a container: --cap-add SYS_PTRACE); see kernel.yama.ptrace_scope",
        )
    if version := _VERSION.search(said):
        return BackendError(f"py-spy does not support Python {version[1]} of process {pid}")
    if _NOT_PYTHON.search(said):
        return BackendError(f"py-spy finds no Python interpreter in process {pid}")
    if _NOT_READ.search(said):
        return BackendError(
            f"py-spy could not read process {pid} (a very deep stack, or a Python it does not know)"
        )
    if _GONE.search(said):
        return BackendError(f"process {pid} ended before py-spy could look")
    lines = [line for line in said.splitlines() if line.strip() and "py-spy>" not in line]
    first = target_text(lines[0], 200) if lines else f"it ended with {result.returncode}"
    return BackendError(f"py-spy could not look at process {pid}: {first}")
