"""Runs one command line and turns whatever goes wrong into a message and an exit code."""

from typing import cast

import typer
import typer.main

from dea.cli.app import build
from dea.cli.finish import COULD_NOT, DONE, failed, print_json
from dea.cli.interrupt import Interrupted
from dea.cli.streams import accept_any_text, complain
from dea.cli.tool_commands import takes_command
from dea.errors import DeaError

_INTERRUPTED = 130
# The base of typer's usage errors, which typer keeps under several names over its versions.
_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])
_TOOL_OF = {"why": "investigate", "ps": "list_processes", "doctor": "readiness"}


def run(argv: list[str]) -> int:
    """The exit code of `dea ARGV...`."""
    accept_any_text()
    words, command = split_command(argv)
    try:
        return _run(words, command)
    except DeaError as error:
        return _refuse(argv, error)
    except Interrupted as interrupted:
        complain(f"{interrupted}: stopped, and let go of the target")
        return interrupted.code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        return _refuse(argv, f"{error.strerror or error} {error.filename or ''}".strip())


def split_command(argv: list[str]) -> tuple[list[str], list[str] | None]:
    """The words for us, and the command behind `--` for commands that can launch one."""
    if "--" not in argv or not takes_command(argv[0]):
        return argv, None
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def _run(words: list[str], command: list[str] | None) -> int:
    try:
        code = typer.main.get_command(build())(
            args=words or ["--help"], prog_name="dea", standalone_mode=False, obj=command
        )
    except _UsageError as error:
        return _refuse(words, _usage(words, error))
    except typer.Abort:
        return _INTERRUPTED
    return code if isinstance(code, int) else DONE


def _usage(words: list[str], error: Exception) -> str:
    format_message = getattr(error, "format_message", None)
    message = str(format_message() if format_message else error).rstrip(".")
    if "unexpected extra argument" in message and takes_command(words[0]):
        return f"{message}. To launch a command, put -- before it"
    known = "" if "No such command" in message or words[:1] == [] else f"{words[0]} "
    return f"{message}. See dea {known}--help"


def _refuse(argv: list[str], error: DeaError | str) -> int:
    """Say what is wrong; to a machine as a result."""
    complain(str(error))
    if "--json" in argv:
        name = argv[0] if argv and not argv[0].startswith("-") else "dea"
        print_json(failed(_TOOL_OF.get(name, name.replace("-", "_")), error).to_wire())
    return COULD_NOT
