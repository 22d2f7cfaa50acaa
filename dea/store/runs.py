"""The run files of a session: which numbers are taken, what has finished and what was cut short."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from dea.contracts.result import ToolResult
from dea.contracts.session import RunEntry
from dea.errors import SessionError
from dea.store.atomic import is_held

_FILE = re.compile(r"((\d{3,})-([a-z_]+))\.json(\.begun)?")


@dataclass(frozen=True)
class RunSlot:
    """A place that a run has taken: `number` over the session, `run_id` per tool."""

    number: int
    tool: str
    run_id: str

    @property
    def stem(self) -> str:
        return f"{self.number:03}-{self.tool}"

    def file(self, folder: Path) -> Path:
        return folder / f"{self.stem}.json"

    def mark(self, folder: Path) -> Path:
        """There from when the run begins until it is listed."""
        return folder / f"{self.stem}.json.begun"


def next_slot(folder: Path, tool: str) -> RunSlot:
    taken = _matches(folder)
    numbers = {int(match[2]) for match in taken}
    nth = len({match[2] for match in taken if match[3] == tool}) + 1
    return RunSlot(max(numbers, default=0) + 1, tool, f"{tool}#{nth}")


def entry(name: str, run_id: str, result: ToolResult) -> RunEntry:
    """How the index lists a run whose file has that name."""
    return RunEntry(
        run_id=run_id,
        tool=result.tool,
        ok=result.ok,
        started_at=result.started_at or "",
        duration_ms=result.duration_ms,
        file=f"runs/{name}",
    )


def complete(folder: Path, listed: Sequence[RunEntry]) -> list[RunEntry]:
    """The listed runs and those that have their file but are not listed, in order of number."""
    known = {run.file: run for run in listed}
    for match in _matches(folder):
        if match[4] or f"runs/{match[0]}" in known:
            continue
        try:
            result = ToolResult.model_validate_json((folder / match[0]).read_bytes())
        except (OSError, ValidationError):
            continue  # not one of ours, or damaged: it is still there for a person to look at
        known[f"runs/{match[0]}"] = entry(match[0], result.run_id or match[1], result)
    return [known[file] for file in sorted(known, key=_number)]


def interrupted(folder: Path) -> list[str]:
    """Stems of runs that have a mark, no file, and nobody who is at it."""
    matches = _matches(folder)
    finished = {match[1] for match in matches if not match[4]}
    return [
        match[1]
        for match in matches
        if match[4] and match[1] not in finished and not is_held(folder / match[0])
    ]


def _number(file: str) -> tuple[int, str]:
    match = _FILE.fullmatch(file.rpartition("/")[2])
    return (int(match[2]) if match else 0, file)


def _matches(folder: Path) -> list[re.Match[str]]:
    try:
        names = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SessionError(
            f"session {folder.parent.name} is unreadable: {folder} ({error.strerror})",
            "Its other files are beside it; attach again for a new session",
        ) from error
    return [match for name in names if (match := _FILE.fullmatch(name))]
