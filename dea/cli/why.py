"""`dea why`: the cause of a symptom, in one command."""

import enum
import os
from typing import Annotated

import typer

from dea.cli.ask import ask, subject_of
from dea.cli.finish import finish, report_of
from dea.cli.interrupt import run_interruptible
from dea.cli.progress import progress_on_stderr
from dea.cli.streams import complain
from dea.cli.tool_commands import FailOn, Json


class Symptom(enum.StrEnum):
    """What is wrong with the target."""

    SLOW = "slow"
    LEAK = "leak"
    HANG = "hang"
    CRASH = "crash"
    PORT_BUSY = "port_busy"


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
        target = str(os.getpid())  # the look needs a target; ours is none that wants the port
    subject = subject_of(target, context.obj)
    arguments = {"symptom": asked.value, "port": port, "duration_s": duration, "consent": consent}
    given = {name: value for name, value in arguments.items() if value}
    with progress_on_stderr(f"looking for the cause of: {asked.value}") as progress:
        result = run_interruptible(lambda: ask("investigate", subject, given, progress))
    report = report_of(result, is_written=not subject.session_id)
    if not result.ok and subject.kind == "command" and asked is not Symptom.CRASH:
        complain(f"if the command ended by itself: dea why --symptom crash -- {subject.target}")
    return finish(result, as_json=as_json, fail_on=fail_on, report=report)
