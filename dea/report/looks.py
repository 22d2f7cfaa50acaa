"""How each observation of a session was made, and how to make it again."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from dea.contracts.arguments import BY_TOOL
from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets
from dea.contracts.session import RunEntry, Session
from dea.store.session import StoredSession

_FILE = re.compile(r"(\d{3,})-.+\.observation\.json")
_FACTS_SHOWN = 8


@dataclass(frozen=True)
class Look:
    """What one backend did in one run. `files` are paths relative to the session's folder."""

    run_id: str
    backend: str
    pids: Sequence[int]
    commands: Sequence[str]
    facts: Sequence[str]
    files: Sequence[str]


def looks(session: StoredSession, index: Session) -> list[Look]:
    """Every observation that can be read, oldest first."""
    runs = {number_of(run): run.run_id for run in index.runs}
    found: list[Look] = []
    for path in sorted(session.artifacts.glob("*.observation.json")):
        match, document = _FILE.fullmatch(path.name), _read(path)
        if match and document:
            run_id = runs.get(int(match[1]), f"run {int(match[1])}")
            found.append(_look(run_id, document, f"{session.artifacts}/"))
    return found


def number_of(run: RunEntry) -> int:
    """The number of a run over the whole session, from its file's name."""
    digits = Path(run.file).name.partition("-")[0]
    return int(digits) if digits.isdigit() else 0


def repeat_command(run: RunEntry, index: Session, arguments: Mapping[str, JsonValue]) -> str:
    """The command line that makes this run again on a target like this one."""
    fields = BY_TOOL[run.tool].model_fields if run.tool in BY_TOOL else {}
    options = [
        word
        for name, value in arguments.items()
        if name in fields and name != "session_id" and (value or None) != fields[name].default
        for word in _option(run.tool, name, value)
    ]
    command = "why" if run.tool == "investigate" else run.tool.replace("_", "-")
    if index.target.kind == "command":
        subject = [*options, "--", index.target.id]
    else:
        subject = [shlex.quote(str(index.target.pid or index.target.id)), *options]
    return hide_secrets(" ".join(["dea", command, *subject]))


def _option(tool: str, name: str, value: JsonValue) -> list[str]:
    flag = "duration" if (tool, name) == ("investigate", "duration_s") else name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return [f"--{flag}", shlex.quote(text)]


def _look(run_id: str, document: dict[str, Any], folder: str) -> Look:
    """Paths in `folder` lose it, so that a repeated command does not overwrite what was seen."""
    facts = document.get("facts", {})
    commands = [" ".join(map(shlex.quote, map(str, argv))) for argv in document.get("commands", [])]
    return Look(
        run_id=run_id,
        backend=str(document.get("backend", "?")),
        pids=[pid for pid in document.get("pids", []) if isinstance(pid, int)],
        commands=[
            one_line(hide_secrets(command.replace(folder, "")), 300)
            for command in dict.fromkeys(commands)
        ],
        facts=[f"{name}={value}" for name, value in facts.items() if _is_plain(value)][
            :_FACTS_SHOWN
        ],
        files=[f"artifacts/{name}" for name in document.get("files", {}).values()],
    )


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= 80)


def _read(path: Path) -> dict[str, Any]:
    try:
        value: Any = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
