"""What to type next: commands for the tools that would tell more, and what to install for others."""

from collections.abc import Iterator, Sequence

from dea import registry
from dea.contracts.session import Session
from dea.contracts.target import Target
from dea.process.packages import install_line
from dea.tools.run import host

# Commands that people type for a tool, and those of them that speak of no session.
_COMMANDS = {"investigate": "why", "list_processes": "ps", "readiness": "doctor"}
_WITHOUT_SUBJECT = frozenset({"list_processes", "readiness"})


def commands(tools: Sequence[str], session: Session) -> Iterator[str]:
    """A session that is closed cannot look any more, so they name the target then."""
    for tool in tools:
        command = _COMMANDS.get(tool, tool.replace("_", "-"))
        yield f"dea {command}" if tool in _WITHOUT_SUBJECT else f"dea {command} {_on(session)}"


def install_first(session: Session) -> str:
    """One command that installs what the tools lacked that could not run; "" when that is nothing."""
    worked = {run.tool for run in session.runs if run.ok}
    failed = {run.tool for run in session.runs if not run.ok} - worked
    return install_line(_lacking(failed, session.target)) if failed else ""


def _lacking(tools: set[str], target: Target) -> set[str]:
    """The programs that are not there, of backends that suit the target's runtime."""
    here = host().programs
    return {
        program
        for backend in registry.backends()
        if backend.tool in tools and (not backend.runtimes or target.runtime in backend.runtimes)
        for program in backend.programs
        if program not in here
    }


def _on(session: Session) -> str:
    target = session.target
    if session.state == "attached":
        return session.id
    return f"-- {target.id}" if target.kind == "command" else str(target.pid or target.id)
