"""The commands that people type: why, ps, doctor, sessions, show, mcp. Tools add their own."""

import enum
from typing import Annotated

import typer

from dea import __version__
from dea.cli.ask import ask, subject_of
from dea.cli.finish import DONE, finish, print_json, report_of
from dea.cli.interrupt import run_interruptible
from dea.cli.progress import progress_on_stderr
from dea.cli.streams import complain, say
from dea.cli.tool_commands import FailOn, Json, add_tool_commands
from dea.contracts.result import ToolResult
from dea.contracts.session import Session
from dea.errors import SessionError
from dea.store import home
from dea.tools.invoke import invoke

_SESSIONS_SHOWN = 20


class Symptom(enum.StrEnum):
    """What is wrong with the target."""

    SLOW = "slow"
    LEAK = "leak"
    HANG = "hang"
    CRASH = "crash"
    PORT_BUSY = "port_busy"


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        help="Finds out why a running process is slow, leaking, hung, crashing or in the way.",
        epilog="Targets: a pid, a process name, or -- and a command. Sessions: an id or its start.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for command, panel in (
        (why, "Start here"),
        (ps, "Look around"),
        (doctor, "Look around"),
        (sessions, "Look around"),
        (show, "Look around"),
        (mcp, "For agents"),
    ):
        app.command(rich_help_panel=panel)(command)
    add_tool_commands(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        say(f"dea {__version__}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version"),
    ] = False,
) -> None:
    pass


def why(
    context: typer.Context,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="Session, pid, name, or -- COMMAND")
    ] = None,
    symptom: Annotated[
        Symptom | None, typer.Option(help="What is wrong; slow, or port_busy when --port is given")
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The port that is taken")] = (
        None
    ),
    duration: Annotated[
        int | None, typer.Option(min=1, max=120, help="Seconds to observe; default by symptom")
    ] = None,
    consent: Annotated[
        bool, typer.Option("--consent", help="Allow opening a debug port or dumping the heap")
    ] = False,
    fail_on: FailOn = None,
    as_json: Json = False,
) -> int:
    """Find the cause of a symptom: attach, investigate, detach, and write the report."""
    asked = symptom or (Symptom.PORT_BUSY if port else Symptom.SLOW)
    if target is None and context.obj is None and asked is Symptom.PORT_BUSY and port:
        target = _whoever_holds(port)
    subject = subject_of(target, context.obj)
    arguments = {"symptom": asked.value, "port": port, "duration_s": duration, "consent": consent}
    given = {name: value for name, value in arguments.items() if value}
    with progress_on_stderr(f"looking for the cause of: {asked.value}") as progress:
        result = run_interruptible(lambda: ask("investigate", subject, given, progress))
    report = report_of(result, is_written=not subject.session_id)
    if not result.ok and subject.kind == "command" and asked is not Symptom.CRASH:
        complain(f"if the command ended by itself: dea why --symptom crash -- {subject.target}")
    return finish(result, as_json=as_json, fail_on=fail_on, report=report)


def _whoever_holds(port: int) -> str:
    """The holder's pid; ours when nobody can be seen to hold it, since the look needs a target."""
    import os

    from dea.targets.port_holder import holder_of

    return str(holder_of(port) or os.getpid())


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
        tables.show_sessions(found, len(known) - len(shown))
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

        tables.show_session(index)
    return DONE


def _run_id(text: str, index: Session) -> str:
    """`text` is a run id, or a tool's name that stands for its newest run."""
    tool = text.replace("-", "_")
    newest = [entry.run_id for entry in index.runs if entry.tool == tool][-1:]
    return newest[0] if newest else text


def mcp() -> int:
    """Serve the tools over MCP on stdin and stdout."""
    from dea.server import main

    main()
    return DONE
