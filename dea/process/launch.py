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
_START_LIMIT_S = 10.0
_END_LIMIT_S = 3.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Launched:
    """A command that runs, or ran: `exit_code` is None while it does."""

    pid: int
    exit_code: int | None


async def launch(argv: Sequence[str], status: Path, stdout: Path, stderr: Path) -> Launched:
    """Start `argv` in a session of its own. Raises TargetError when it cannot be started."""
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_KEEPER), str(status), str(stdout), str(stderr), *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with anyio.move_on_after(_START_LIMIT_S):
        while not status.exists() and keeper.poll() is None:
            await anyio.sleep(_POLL_S)
    state = _read(status)
    if "pid" not in state:
        reason = state.get("error", "its keeper did not start")
        raise TargetError(f"cannot start {argv[0]!r}: {reason}", "Check the path and permissions")
    return Launched(state["pid"], state.get("exit_code"))


def look(status: Path) -> Launched | None:
    """How a launched command is doing; None when nothing was launched."""
    state = _read(status)
    return Launched(state["pid"], state.get("exit_code")) if "pid" in state else None


async def end(status: Path, start_ticks: int | None) -> Launched | None:
    """End a launched command and its process group; SIGTERM first, then SIGKILL."""
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        state = look(status)
        if state is None or state.exit_code is not None:
            break
        if start_ticks is None or identity.start_ticks(state.pid) != start_ticks:
            break  # the pid is somebody else's by now
        _signal_group(state.pid, signal_number)
        with anyio.move_on_after(_END_LIMIT_S):
            while (state := look(status)) and state.exit_code is None and _alive(state.pid):
                await anyio.sleep(_POLL_S)
    return look(status)


def _alive(pid: int) -> bool:
    return identity.start_ticks(pid) is not None


def _signal_group(pid: int, signal_number: int) -> None:
    try:
        os.killpg(pid, signal_number)
    except (ProcessLookupError, PermissionError):
        return


def _read(status: Path) -> dict[str, Any]:
    try:
        value = json.loads(status.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
