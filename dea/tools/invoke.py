"""Runs one tool: checks its arguments, keeps time, stores the result, turns errors into results."""

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
from dea.errors import ArgumentError, DeaError
from dea.observe import Progress
from dea.store import home
from dea.tools import catalog
from dea.tools.run import Run
from dea.tools.tool import Tool

_TICK_S = 1.0


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
            run.open(home.find(arguments.session_id), arguments.model_dump(mode="json"))
        await tool.run(arguments, run)
    except DeaError as error:
        return one_line(str(error), 1000)
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        return one_line(f"{run.tool}: {error.strerror or error}{place}", 1000)
    except Exception as error:  # noqa: BLE001 (an agent must get an answer, whatever we did wrong)
        traceback.print_exc(file=sys.stderr)
        return one_line(f"internal error in {run.tool}: {type(error).__name__}: {error}", 1000)
    return None


def check_arguments(tool: Tool[Any], raw: dict[str, Any]) -> Arguments:
    """Raises ArgumentError that names each wrong field, never its value's content."""
    try:
        checked: Arguments = tool.arguments.model_validate(raw)
    except ValidationError as error:
        known = ", ".join(tool.arguments.model_fields) or "none"
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)
        )
        raise ArgumentError(f"{tool.name}: {problems}", f"It takes: {known}") from None
    return checked


def _result(run: Run, error: str | None, started_at: str, duration_ms: int) -> ToolResult:
    return ToolResult(
        ok=error is None,
        tool=run.tool or "?",
        session_id=run.session.id if run.session else "",
        target=run.target,
        duration_ms=duration_ms,
        findings=run.findings(),
        evidence=run.evidence,
        limitations=run.limitations,
        suggested_next=run.next_steps(),
        artifacts=run.artifacts,
        error=error,
        started_at=started_at,
        run_id=run.slot.run_id if run.slot else None,
    )


def _store(run: Run, result: ToolResult) -> ToolResult:
    """Keep the result in its session; a full disk must not lose it for the caller."""
    if run.session is None or run.slot is None:
        return result
    try:
        run.session.end_run(run.slot, result)
    except DeaError as error:
        limitations = [*result.limitations, f"this result was not stored: {error}"]
        return result.model_copy(update={"limitations": limitations})
    return result


@asynccontextmanager
async def _ticking(run: Run, progress: Progress) -> AsyncGenerator[None]:
    """Report progress once a second for as long as the tool runs."""
    latest = (0.0, f"{run.tool} runs")

    async def remember(fraction: float, message: str) -> None:
        nonlocal latest
        latest = (fraction, message)

    async def tick() -> None:
        while True:
            await anyio.sleep(_TICK_S)
            await progress(*latest)

    run.report = remember
    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        yield
        group.cancel_scope.cancel()
