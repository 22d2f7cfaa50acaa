"""Runs a tool on what the user named: a session, or a target that is attached to for this one call."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from dea.cli.streams import complain
from dea.contracts.result import ToolResult
from dea.errors import ArgumentError
from dea.observe import Progress
from dea.tools.invoke import invoke

_SESSION_ID = re.compile(r"\d{6}-[\w-]*")  # see dea.store.home.new_id


@dataclass(frozen=True)
class Subject:
    """What to examine: `session_id`, or `target` to attach to first (`kind` "" lets attach guess)."""

    session_id: str = ""
    target: str = ""
    kind: str = ""

    def attach_arguments(self) -> dict[str, Any]:
        return {"target": self.target, **({"kind": self.kind} if self.kind else {})}


def subject_of(text: str | None, command: Sequence[str] | None) -> Subject:
    """From the one word that was given, or from what stood behind `--`. Raises ArgumentError.

    A number is a pid, so a session's prefix needs at least its first hyphen.
    """
    if command is not None:
        if text:
            raise ArgumentError(f"both {text!r} and a command were given", "Give one of them")
        if not command:
            raise ArgumentError(
                "the command behind -- is empty", "Write it there: -- python app.py"
            )
        return Subject(target=shlex.join(command), kind="command")
    if not text:
        raise ArgumentError(
            "nothing to examine was named",
            "Give a session, a pid, a process name, or -- and a command",
        )
    return Subject(session_id=text) if _SESSION_ID.fullmatch(text) else Subject(target=text)


async def ask(
    tool: str, subject: Subject, arguments: dict[str, Any], progress: Progress
) -> ToolResult:
    """The tool's result; that of attach when it fails. What was attached is detached again."""
    if subject.session_id:
        return await invoke(tool, {"session_id": subject.session_id, **arguments}, progress)
    attached = await _attach(subject, progress)
    if not attached.ok:
        return attached
    try:
        return await invoke(tool, {"session_id": attached.session_id, **arguments}, progress)
    finally:
        with anyio.CancelScope(shield=True):
            await _detach(attached.session_id)


async def _attach(subject: Subject, progress: Progress) -> ToolResult:
    """Not to be cancelled: it is short, and cut short it would leave a session open."""
    with anyio.CancelScope(shield=True):
        return await invoke("attach", subject.attach_arguments(), progress)
    raise AssertionError("a shield swallows nothing")


async def _detach(session_id: str) -> None:
    result = await invoke("detach", {"session_id": session_id})
    if not result.ok:
        complain(f"could not detach: {result.error}")
