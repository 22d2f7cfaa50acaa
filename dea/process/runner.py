"""Runs a program to its end within a time limit and an output cap, in its own process group."""

import contextlib
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
_PRIVATE = 0o077  # umask: what a program writes into the session is for its owner alone


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
        outputs = (out.fileno(), err.fileno(), writes)
        process = _start(argv, out.fileno(), err.fileno(), env)
        timed_out = False
        try:
            pidfd = os.pidfd_open(process.pid)
            try:
                with anyio.move_on_after(timeout_s) as limit:
                    await _wait_capped(pidfd, outputs, max_bytes)
                timed_out = limit.cancelled_caught
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process, pidfd)
                os.close(pidfd)
        finally:
            _reap(process)
        return ProgramResult(
            returncode=-signal.SIGKILL if process.returncode is None else process.returncode,
            stdout=os.pread(out.fileno(), max_bytes, 0),
            stderr=os.pread(err.fileno(), _STDERR_KEPT_BYTES, 0).decode("utf-8", "replace"),
            truncated=_written(*outputs) > max_bytes,
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
            umask=_PRIVATE,
            preexec_fn=die_with_parent(),  # noqa: PLW1509 (three calls, no locks)
        )
    except (OSError, ValueError) as error:
        raise BackendError(
            f"cannot start {argv[0]}: {error}", "See `dea doctor` for what is missing"
        ) from error


async def _wait_capped(pidfd: int, outputs: tuple[int, int, Path | None], max_bytes: int) -> None:
    """Wait for the end, or until it wrote too much."""
    while not await _exited(pidfd, _CAP_CHECK_S):
        if _written(*outputs) > max_bytes:
            return


def _written(stdout: int, stderr: int, writes: Path | None) -> int:
    """Size of the largest of its outputs."""
    sizes = [os.fstat(stdout).st_size, os.fstat(stderr).st_size]
    if writes is not None:
        with contextlib.suppress(OSError):  # not written yet, or replaced this very moment
            sizes.append(writes.stat().st_size)
    return max(sizes)


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


def _reap(process: "subprocess.Popen[bytes]") -> None:
    """End what it may have left in its group. One that hangs in the kernel is not waited for."""
    _signal_group(process.pid, signal.SIGKILL)
    process.poll()


def _signal_group(group: int, signal_number: int) -> None:
    try:
        os.killpg(group, signal_number)
    except (ProcessLookupError, PermissionError):
        return
