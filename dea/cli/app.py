"""The whole command line: what people type, and a command for every tool."""

from typing import Annotated

import typer

from dea import __version__
from dea.cli.finish import DONE
from dea.cli.lists import doctor, ps, sessions, show
from dea.cli.streams import say
from dea.cli.tool_commands import add_tool_commands
from dea.cli.why import why


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        help="Finds out why a running process is slow, leaking, hung, crashing or in the way.",
        epilog="Targets: a pid, a process name, or -- and a command. Sessions: an id or its start.",
        add_completion=False,
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


def mcp() -> int:
    """Serve the tools over MCP on stdin and stdout."""
    from dea.server import main

    main()
    return DONE
