"""One command per tool, made from the tool's one definition."""

import enum
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dea.cli.ask import ask, subject_of
from dea.cli.finish import finish
from dea.cli.interrupt import run_interruptible
from dea.cli.options import arguments_from, keyword, parameters_of
from dea.cli.progress import progress_on_stderr
from dea.contracts.arguments import InSession
from dea.tools import catalog
from dea.tools.invoke import check_arguments, invoke
from dea.tools.tool import Tool

# These speak of a session that is there already; for others a target is attached to first.
_SESSION_ONLY = frozenset({"detach", "report", "diff_runs"})
# What a subject is made of; the command line has its own ways to name it.
_SUBJECT = frozenset({"session_id", "target"})


class Severity(enum.StrEnum):
    """From which severity on findings fail the command."""

    HIGH = "high"
    WARN = "warn"


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else")]
FailOn = Annotated[
    Severity | None, typer.Option(help="Exit with 1 when there are findings as severe as this")
]


def takes_command(name: str) -> bool:
    """Whether `--` and a command may stand behind this command."""
    tool = catalog.tools().get(name.replace("-", "_"))
    return name in ("why", "attach") or (tool is not None and _takes_target(tool))


def add_tool_commands(app: typer.Typer) -> None:
    for tool in catalog.tools().values():
        app.command(
            tool.name.replace("_", "-"),
            help=tool.description.replace("[", "\\["),
            short_help=tool.title,
            rich_help_panel="Not available yet" if tool.missing else "Tools, the same as over MCP",
        )(_command(tool))


def _takes_target(tool: Tool[Any]) -> bool:
    return issubclass(tool.arguments, InSession) and tool.name not in _SESSION_ONLY


def _command(tool: Tool[Any]) -> Callable[..., int]:
    """A function whose signature typer reads."""

    def command(context: typer.Context, **values: Any) -> int:
        as_json, fail_on = values.pop("as_json"), values.pop("fail_on")
        subject = values.pop("subject", None)
        arguments = arguments_from(tool.arguments, values)
        with progress_on_stderr(tool.name) as progress:
            if _takes_target(tool):
                named = subject_of(subject, context.obj)
                check_arguments(tool, {"session_id": "-", **arguments})  # before we attach
                result = run_interruptible(lambda: ask(tool.name, named, arguments, progress))
            else:
                given = arguments | _naming(tool, subject, context.obj)
                result = run_interruptible(lambda: invoke(tool.name, given, progress))
        return finish(result, as_json=as_json, fail_on=fail_on)

    parameters = [
        keyword("context", typer.Context),
        *_subject_parameter(tool),
        *parameters_of(tool.arguments, without=_SUBJECT),
        keyword("fail_on", FailOn, None),
        keyword("as_json", Json, False),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _subject_parameter(tool: Tool[Any]) -> list[inspect.Parameter]:
    if _takes_target(tool):
        info = typer.Argument(metavar="SESSION|TARGET", help="Session, pid, name, or -- COMMAND")
        return [keyword("subject", Annotated[str | None, info], None)]
    if tool.name == "attach":
        info = typer.Argument(metavar="TARGET", help="pid, process name, or -- COMMAND")
        return [keyword("subject", Annotated[str | None, info], None)]
    if tool.name in _SESSION_ONLY:
        info = typer.Argument(metavar="SESSION", help="Session id or its start")
        return [keyword("subject", Annotated[str, info])]
    return []


def _naming(tool: Tool[Any], text: str | None, command: list[str] | None) -> dict[str, Any]:
    """The arguments that say what to examine, of tools that are not asked about a target."""
    if tool.name == "attach":
        subject = subject_of(text, command)
        return subject.attach_arguments() if not subject.session_id else {"target": text}
    return {"session_id": text} if text else {}
