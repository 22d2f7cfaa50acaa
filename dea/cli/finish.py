"""Ends a command: prints a result for people or machines, and says with the exit code how it went."""

import json
import sys
from pathlib import Path
from typing import Any

from dea.cli.process_table import show_processes
from dea.cli.streams import complain, say
from dea.contracts.data import ProcessList, ReadinessData
from dea.contracts.result import ToolResult
from dea.contracts.session import Session
from dea.errors import DeaError
from dea.store import home
from dea.tools.brief import brief
from dea.tools.run import ourselves

DONE, FOUND, COULD_NOT = 0, 1, 2
_FAILING = {"high": ("high",), "warn": ("high", "warn")}


def finish(
    result: ToolResult,
    *,
    as_json: bool,
    fail_on: str | None = None,
    full: bool = False,
    report: Path | None = None,
) -> int:
    """The exit code. As JSON the result is short where all of it lies in a session, else whole."""
    if as_json:
        print_json(_for_machines(result, full).to_wire())
    elif result.ok:
        _for_people(result, report)
    if not result.ok:
        complain(result.error or "could not run")
        return COULD_NOT
    loud = _FAILING.get(fail_on or "", ())
    return FOUND if any(finding.severity in loud for finding in result.findings) else DONE


def _for_people(result: ToolResult, report: Path | None) -> None:
    """A list that was asked for is a table of its own."""
    data = result.evidence[0].data if len(result.evidence) == 1 else None
    if isinstance(data, ProcessList):
        show_processes(data.processes, result.limitations)
    elif isinstance(data, ReadinessData):
        from dea.cli.tables import show_readiness

        show_readiness(data, result.limitations)
    else:
        from dea.cli.render import show_result

        show_result(result, _index(result), report)


def _index(result: ToolResult) -> Session | None:
    try:
        return home.find(result.session_id).read() if result.session_id else None
    except DeaError:  # what was found is shown all the same
        return None


def _for_machines(result: ToolResult, full: bool) -> ToolResult:
    if full or not (result.session_id and result.run_id):
        return result
    return brief(result, full=f"`dea show {result.session_id} {result.run_id} --json`")


def report_of(result: ToolResult, *, is_written: bool) -> Path | None:
    """Where the session's report is; `is_written`: detaching has just written it."""
    if not result.session_id:
        return None
    session = home.find(result.session_id)
    path = session.folder / "report.md"
    if is_written and path.exists():
        return path
    from dea.report import write_report

    try:
        return write_report(session)
    except DeaError as error:
        complain(f"no report was written: {error}")
        return None


def print_json(value: Any) -> None:
    """One JSON document, in characters that any terminal or pipe takes."""
    say(json.dumps(value, indent=2 if sys.stdout.isatty() else None) + "\n")


def failed(tool: str, error: DeaError | str) -> ToolResult:
    """The result of a call that did not even begin."""
    return ToolResult(
        ok=False,
        tool=tool,
        session_id="",
        target=ourselves(),
        duration_ms=0,
        findings=[],
        evidence=[],
        limitations=[],
        suggested_next=[],
        artifacts=[],
        error=str(error),
        started_at=home.now(),
    )
