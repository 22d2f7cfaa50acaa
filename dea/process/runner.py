"""Runs a program to its end within a time limit and an output cap, in its own process group."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from dea.backend import ProgramResult
from dea.errors import BackendError
from dea.process.lifeline import die_with_parent

_STDERR_KEPT_BYTES = 64 * 1024
_ENDING = ((signal.SIGINT, 1.5), (signal.SIGTERM, 1.0), (signal.SIGKILL, 10.0))
_CAP_CHECK_S = 0.1


async def run_program(
    argv: Sequence[str],
    *,
    timeout_s: float,
    writes: Path | None = None,
    max_bytes: int = 64 * 2**20,
    env: Mapping[str, str] | None = None,
) -> ProgramResult:
    """Run `argv` and wait for it.

    stdout is kept up to `max_bytes`; `writes` names a file that the program itself writes and that
    must not grow past `max_bytes` either. Past a cap or `timeout_s` it is asked to end (SIGINT,
    SIGTERM, then SIGKILL) and the result says `truncated` or `timed_out`. When the caller is
    cancelled the program is ended before the cancellation goes on. Raises BackendError when it
    cannot be started.
    """
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = _start(argv, out.fileno(), err.fileno(), env)
        pidfd = os.pidfd_open(process.pid)
        truncated = timed_out = False
        try:
            with anyio.move_on_after(timeout_s) as limit:
                truncated = await _wait_capped(pidfd, out.fileno(), writes, max_bytes)
            timed_out = limit.cancelled_caught
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process, pidfd)
            os.close(pidfd)
        stdout = _head(out.fileno(), max_bytes)
        stderr = _head(err.fileno(), _STDERR_KEPT_BYTES).decode("utf-8", "replace")
    return ProgramResult(
        returncode=process.returncode,
        stdout=stdout,
        stderr=stderr,
        truncated=truncated,
        timed_out=timed_out,
        duration_s=time.monotonic() - started,
    )


def _start(
    argv: Sequence[str], stdout: int, stderr: int, env: Mapping[str, str] | None
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
            start_new_session=True,
            preexec_fn=die_with_parent(),  # noqa: PLW1509 (two system calls, no locks, no Python state)
        )
    except (OSError, ValueError) as error:
        raise BackendError(
            f"cannot start {argv[0]}: {error}", "See `dea doctor` for what is missing"
        ) from error


async def _wait_capped(pidfd: int, stdout: int, writes: Path | None, max_bytes: int) -> bool:
    """Wait for the end; True when it was cut short because it wrote too much."""
    while not await _exited(pidfd, _CAP_CHECK_S):
        written = os.fstat(stdout).st_size
        if writes is not None and writes.exists():
            written = max(written, writes.stat().st_size)
        if written > max_bytes:
            return True
    return False


async def _exited(pidfd: int, limit_s: float) -> bool:
    """Whether the process has ended (it is not reaped, so its pid and group stay ours)."""
    with anyio.move_on_after(limit_s):
        await anyio.wait_readable(pidfd)
        return True
    return False


async def _end(process: "subprocess.Popen[bytes]", pidfd: int) -> None:
    """Ask politely first: tracers and profilers detach and write their file on SIGINT."""
    for signal_number, grace_s in _ENDING:
        if await _exited(pidfd, 0.001):
            break
        _signal_group(process.pid, signal_number)
        await _exited(pidfd, grace_s)
    _signal_group(process.pid, signal.SIGKILL)  # what it may have left in its group
    process.wait()


def _signal_group(group: int, signal_number: int) -> None:
    try:
        os.killpg(group, signal_number)
    except (ProcessLookupError, PermissionError):
        return


def _head(descriptor: int, limit_bytes: int) -> bytes:
    return os.pread(descriptor, limit_bytes, 0)
