"""Starts a target command under its keeper, and ends it again."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio

from dea.errors import TargetError
from dea.process import identity

_KEEPER = Path(__file__).with_name("keeper.py")
_START_LIMIT_S = 20.0
_END_LIMIT_S = 10.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Launched:
    """A command that runs, or ran: `exit_code` is None while it does."""

    pid: int
    exit_code: int | None


async def launch(argv: Sequence[str], status: Path, stdout: Path, stderr: Path) -> Launched:
    """Start `argv` in a session of its own. Raises TargetError when it cannot be started.

    Not cut short by a cancellation: it is quick, and a command must not be left without its keeper.
    """
    command = [sys.executable, "-I", "-S", str(_KEEPER), str(status), str(stdout), str(stderr)]
    state = await anyio.to_thread.run_sync(_start_keeper, [*command, *argv])
    if "error" in state:
        raise TargetError(
            f"cannot start {argv[0]!r}: {state['error']}", "Check its path and permissions"
        )
    return look(status) or Launched(state["pid"], None)


def _start_keeper(command: list[str]) -> dict[str, Any]:
    try:
        started = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=_START_LIMIT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"error": str(error)}
    return _object(started.stdout) or {"error": "its keeper did not start"}


def look(status: Path) -> Launched | None:
    """How a launched command is doing; None when nothing was launched."""
    state = _read(status)
    return Launched(state["pid"], state.get("exit_code")) if "pid" in state else None


async def end(status: Path, start_ticks: int | None) -> Launched | None:
    """End a launched command and all that came of it; SIGTERM first, then SIGKILL.

    `start_ticks` of the command: when its keeper was killed, that alone tells whether the pid is
    still the command's.
    """
    state = _read(status)
    keeper, ticks = state.get("keeper", 0), state.get("keeper_ticks")
    if keeper and ticks and identity.is_same(keeper, ticks):
        await _end_keeper(keeper, ticks)
    command = state.get("pid", 0)
    if command and start_ticks and identity.is_same(command, start_ticks):
        await _end_group(command, start_ticks)
    return look(status)


async def _end_keeper(keeper: int, ticks: int) -> None:
    """The keeper knows what came of the command. It is ours, so its end is awaited by its pidfd."""
    try:
        pidfd = os.pidfd_open(keeper)
    except ProcessLookupError:
        return
    try:
        if identity.is_same(keeper, ticks):
            signal.pidfd_send_signal(pidfd, signal.SIGTERM)
            with anyio.move_on_after(_END_LIMIT_S):
                await anyio.wait_readable(pidfd)
    except ProcessLookupError:
        return
    finally:
        os.close(pidfd)


async def _end_group(command: int, start_ticks: int) -> None:
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        if identity.is_same(command, start_ticks):
            os.killpg(command, signal_number)
        with anyio.move_on_after(_END_LIMIT_S / 2):
            while identity.is_same(command, start_ticks):
                await anyio.sleep(_POLL_S)


def _read(status: Path) -> dict[str, Any]:
    try:
        return _object(status.read_bytes())
    except OSError:
        return {}


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
