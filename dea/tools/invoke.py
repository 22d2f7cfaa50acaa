"""Runs one tool: checks its arguments, keeps time, stores the result, turns errors into results."""

import functools
import sys
import time
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from pydantic import ValidationError

from dea.contracts.arguments import Arguments, InSession
from dea.contracts.result import ToolResult
from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets
from dea.errors import ArgumentError, DeaError, SessionError, root_of
from dea.observe import Progress
from dea.store import home
from dea.tools import catalog
from dea.tools.run import Run
from dea.tools.tool import Tool

_TICK_S = 1.0
_ERROR_CAP = 1000


async def quiet(_fraction: float, _message: str) -> None:
    """Progress for nobody."""


async def invoke(name: str, raw: dict[str, Any], progress: Progress = quiet) -> ToolResult:
    """The full result of one tool call. Never raises but for cancellation."""
    started_at, began = home.now(), time.monotonic()

    async def call(other: str, arguments: dict[str, Any]) -> ToolResult:
        return await invoke(other, arguments)

    run = Run(name, progress, call)
    error: str | None = "cancelled before it was done"
    try:
        async with _ticking(run, progress):
            error = await _attempt(run, raw)
    finally:
        result = _result(run, error, started_at, int((time.monotonic() - began) * 1000))
        result = _store(run, result)
    return result


async def _attempt(run: Run, raw: dict[str, Any]) -> str | None:
    """What went wrong, or None."""
    try:
        tool = catalog.find(run.tool)
        arguments = check_arguments(tool, raw)
        if isinstance(arguments, InSession):
            _open_session(run, tool, arguments)
        await tool.run(arguments, run)
    except Exception as error:  # noqa: BLE001 (an agent must get an answer, whatever we did wrong)
        return _told(run, error)
    return None


def _open_session(run: Run, tool: Tool[Any], arguments: InSession) -> None:
    """A session that is detached can still be read, but not added to by what looks at its target."""
    session = home.find(arguments.session_id)
    index = session.read()
    run.session, run.target = session, index.target  # so that an error names them
    if tool.observes and index.state == "detached":
        raise SessionError(
            f"session {session.id} is detached, so {tool.name} cannot look at its target any more",
            f"Attach to {index.target.id} again for a new session",
        )
    run.open(session, arguments.model_dump(mode="json"))


def _told(run: Run, error: Exception) -> str:
    """What a user reads of an error."""
    root = root_of(error)
    if isinstance(root, DeaError):
        text = str(root)
    elif isinstance(root, OSError):
        place = f" ({root.filename})" if root.filename else ""
        text = f"{run.tool}: {root.strerror or root}{place}"
    else:
        traceback.print_exception(error, file=sys.stderr)
        text = f"internal error in {run.tool}: {type(root).__name__}: {_detail(root)}"
    return one_line(hide_secrets(text), _ERROR_CAP)


def _detail(error: Exception) -> str:
    """Of a value that does not fit its model only the fields, since the value is the target's."""
    return _problems(error) if isinstance(error, ValidationError) else str(error)


def check_arguments(tool: Tool[Any], raw: dict[str, Any]) -> Arguments:
    """Raises ArgumentError that names each wrong field, never its value's content."""
    try:
        checked: Arguments = tool.arguments.model_validate(raw)
    except ValidationError as error:
        known = ", ".join(tool.arguments.model_fields) or "none"
        raise ArgumentError(f"{tool.name}: {_problems(error)}", f"It takes: {known}") from None
    return checked


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)
    )


def _result(run: Run, error: str | None, started_at: str, duration_ms: int) -> ToolResult:
    """The run as a result. When a rule of ours does not make sound findings, without any."""
    build = functools.partial(
        ToolResult,
        tool=run.tool or "?",
        session_id=run.session.id if run.session else "",
        target=run.target,
        duration_ms=duration_ms,
        suggested_next=run.next_steps(),
        limitations=run.limitations,
        artifacts=run.artifacts,
        started_at=started_at,
        run_id=run.slot.run_id if run.slot else None,
    )
    try:
        findings = run.findings()
        return build(ok=error is None, findings=findings, evidence=run.evidence, error=error)
    except ValidationError as unsound:
        return build(ok=False, findings=[], evidence=[], error=_told(run, unsound))


def _store(run: Run, result: ToolResult) -> ToolResult:
    """Keep the result in its session; a full disk must not lose it for the caller."""
    if run.session is None or run.slot is None:
        return result
    try:
        run.session.end_run(run.slot, result)
    except (DeaError, OSError) as error:
        limitations = [*result.limitations, f"this result was not stored: {error}"]
        return result.model_copy(update={"limitations": limitations})
    return result


@asynccontextmanager
async def _ticking(run: Run, progress: Progress) -> AsyncGenerator[None]:
    """Report progress once a second for as long as the tool runs."""
    latest = (0.0, f"{run.tool} runs")

    async def remember(fraction: float, message: str) -> None:
        nonlocal latest
        latest = (fraction, one_line(message))

    async def tick() -> None:
        while True:
            await anyio.sleep(_TICK_S)
            try:
                await progress(*latest)
            except Exception:  # noqa: BLE001 (whoever waited is gone; the run is stored all the same)
                return

    run.report = remember
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        yield
        group.cancel_scope.cancel()
