"""`dea ps`, `doctor`, `sessions` and `show`: what there is to look at."""

from typing import Annotated

import typer

from dea.cli.finish import DONE, finish, print_json
from dea.cli.interrupt import run_interruptible
from dea.cli.outcome import outcome_of
from dea.cli.streams import say
from dea.cli.tool_commands import Json
from dea.contracts.result import ToolResult
from dea.contracts.session import Session
from dea.errors import SessionError
from dea.store import home
from dea.tools.invoke import invoke

_SESSIONS_SHOWN = 20


def ps(
    filter: Annotated[
        str | None, typer.Argument(help="Part of the command, its arguments or the user")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many at most")] = 100,
    as_json: Json = False,
) -> int:
    """List processes, the busiest first."""
    result = _without_session("list_processes", filter=filter, limit=limit)
    return finish(result, as_json=as_json)


def doctor(as_json: Json = False) -> int:
    """Say what DEA can observe on this host, and the fix for each thing that is missing."""
    return finish(_without_session("readiness"), as_json=as_json)


def _without_session(tool: str, **arguments: object) -> ToolResult:
    return run_interruptible(lambda: invoke(tool, arguments))


def sessions(
    every: Annotated[bool, typer.Option("--all", help="Also the old ones")] = False,
    as_json: Json = False,
) -> int:
    """List sessions, the newest first."""
    from dea.cli import tables

    known = home.names()
    shown = known if every else known[:_SESSIONS_SHOWN]
    found = [(name, _index(name)) for name in shown]
    if as_json:
        print_json([{"id": n, "error": s} if isinstance(s, str) else s.to_wire() for n, s in found])
    elif not known:
        say("There are no sessions yet: dea why PID, or dea attach PID\n")
    else:
        outcomes = {
            name: outcome_of(home.find(name), index)
            for name, index in found
            if not isinstance(index, str)
        }
        tables.show_sessions(found, outcomes, len(known) - len(shown))
    return DONE


def _index(name: str) -> Session | str:
    try:
        return home.find(name).read()
    except SessionError as error:
        return str(error)


def show(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Session id or its start")],
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="profile_cpu#2, or a tool for its newest")
    ] = None,
    as_json: Json = False,
) -> int:
    """Show a session, or the full result of one of its runs."""
    stored = home.find(session)
    index = stored.read()
    if run is not None:
        result = stored.result(_run_id(run, index))
        finish(result, as_json=as_json, full=True)
        return DONE
    if as_json:
        print_json(index.to_wire())
    else:
        from dea.cli import tables

        tables.show_session(index, outcome_of(stored, index))
    return DONE


def _run_id(text: str, index: Session) -> str:
    """`text` is a run id, or a tool's name that stands for its newest run."""
    tool = text.replace("-", "_")
    newest = [entry.run_id for entry in index.runs if entry.tool == tool][-1:]
    return newest[0] if newest else text
