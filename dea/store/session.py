"""One session on disk: its index, its runs, its artifacts and their hashes."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from dea.contracts.result import ToolResult
from dea.contracts.session import RunEntry, Session
from dea.errors import SessionError, StoreError
from dea.store.atomic import locked, write_bytes, write_json

_RUN_FILE = re.compile(r"(\d{3,})-([a-z_]+)\.json(\.begun)?")


@dataclass(frozen=True)
class RunSlot:
    """A place that a run has taken: `number` over the session, `run_id` per tool."""

    number: int
    tool: str
    run_id: str

    @property
    def stem(self) -> str:
        return f"{self.number:03}-{self.tool}"


class StoredSession:
    """All files of one session. Safe to use from several processes at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"

    def read(self) -> Session:
        """The index, with runs that a killed server had finished but not yet listed."""
        path = self.folder / "session.json"
        try:
            session = Session.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise SessionError(
                f"session {self.id} is unreadable: {path} {_why(error)}",
                f"Its runs and artifacts are still in {self.folder}; attach again for a new session",
            ) from error
        return session.model_copy(update={"dir": str(self.folder)})

    def write(self, session: Session) -> None:
        write_json(self.folder / "session.json", session.to_wire())

    def change(self, edit: Callable[[Session], Session]) -> Session:
        """Read, edit and write the index as one step."""
        with locked(self.folder):
            session = edit(self.read())
            self.write(session)
        return session

    def begin_run(self, tool: str, arguments: dict[str, Any] | None = None) -> RunSlot:
        """Take the next run number; a run that never ends leaves its `.begun` mark.

        Its `arguments` are kept beside the index, since a result does not hold them.
        """
        with locked(self.folder):
            taken = [m for p in self._run_files() if (m := _RUN_FILE.fullmatch(p.name))]
            numbers = {int(m[1]) for m in taken}
            nth = len({int(m[1]) for m in taken if m[2] == tool}) + 1
            slot = RunSlot(max(numbers, default=0) + 1, tool, f"{tool}#{nth}")
            write_bytes(self.folder / "runs" / f"{slot.stem}.json.begun", b"")
            if arguments:
                known = self.load_private("arguments")
                self.save_private("arguments", {**known, slot.run_id: arguments})
        return slot

    def end_run(self, slot: RunSlot, result: ToolResult) -> None:
        """Store the full result, then list it in the index."""
        file = f"runs/{slot.stem}.json"
        write_json(self.folder / file, result.to_wire())
        entry = RunEntry(
            run_id=slot.run_id,
            tool=slot.tool,
            ok=result.ok,
            started_at=result.started_at or "",
            duration_ms=result.duration_ms,
            file=file,
        )
        self.change(lambda session: session.model_copy(update={"runs": [*session.runs, entry]}))
        (self.folder / f"{file}.begun").unlink(missing_ok=True)

    def interrupted(self) -> list[str]:
        """Runs that began and never ended (the server was killed, or they run right now)."""
        return [
            p.name.removesuffix(".json.begun") for p in self._run_files() if p.suffix == ".begun"
        ]

    def result(self, run_id: str) -> ToolResult:
        """The full result of one run. Raises SessionError when unknown or unreadable."""
        session = self.read()
        for run in session.runs:
            if run.run_id == run_id:
                path = self.folder / run.file
                try:
                    return ToolResult.model_validate_json(path.read_bytes())
                except (OSError, ValidationError) as error:
                    raise SessionError(
                        f"run {run_id} is unreadable: {path} {_why(error)}"
                    ) from error
        known = ", ".join(run.run_id for run in session.runs[-8:]) or "none yet"
        raise SessionError(f"no run {run_id!r} in session {self.id}", f"It has: {known}")

    def results(self) -> list[ToolResult]:
        """Full results of all runs that can be read, oldest first."""
        found: list[ToolResult] = []
        for run in self.read().runs:
            try:
                found.append(self.result(run.run_id))
            except SessionError:
                continue  # one damaged file must not hide the others
        return found

    def record_hashes(self, paths: list[Path]) -> None:
        """Add artifacts to SHA256SUMS, in the format `sha256sum -c` reads."""
        if not paths:
            return
        listing = self.folder / "SHA256SUMS"
        with locked(self.folder):
            known = dict(self.hashes())
            for path in paths:
                known[str(path.relative_to(self.folder))] = _sha256(path)
            lines = [f"{digest}  {name}\n" for name, digest in sorted(known.items())]
            write_bytes(listing, "".join(lines).encode())

    def hashes(self) -> dict[str, str]:
        """sha256 by artifact path, relative to the session's folder."""
        try:
            lines = (self.folder / "SHA256SUMS").read_text().splitlines()
        except FileNotFoundError:
            return {}
        return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}

    def save_private(self, name: str, value: dict[str, Any]) -> None:
        """DEA's own state beside the index, such as the start times of the target's processes."""
        write_json(self.folder / f"{name}.json", value)

    def load_private(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads((self.folder / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return cast(dict[str, Any], value) if isinstance(value, dict) else {}

    def _run_files(self) -> list[Path]:
        try:
            return sorted((self.folder / "runs").iterdir())
        except OSError as error:
            raise StoreError(f"cannot read {self.folder / 'runs'}: {error.strerror}") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"({error.strerror})"
    return "does not fit the contract (half-written or edited?)"
