"""One session on disk: its index, its runs and their results."""

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from dea.contracts.result import ToolResult
from dea.contracts.session import RunEntry, Session, Spawned
from dea.errors import SessionError, StoreError
from dea.store import hashes, runs
from dea.store.atomic import hold, locked, make_folder, sweep, write_bytes, write_json
from dea.store.runs import RunSlot

__all__ = ["RunSlot", "StoredSession"]


class StoredSession:
    """All files of one session. Safe to use from several processes at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: dict[int, int] = {}  # number of a run -> descriptor of its mark

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"

    def read(self) -> Session:
        """The index, with what was not yet written to it when DEA was killed.

        That is runs that had finished, and how a launched command ended. Raises SessionError.
        """
        session = self._index()
        complete = {
            "dir": str(self.folder),
            "runs": runs.complete(self.folder / "runs", session.runs),
            "spawned": session.spawned and self._with_exit_code(session.spawned),
        }
        return session.model_copy(update=complete)

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
        folder = make_folder(self.folder / "runs")
        with locked(self.folder):
            sweep(self.folder)
            sweep(folder)
            slot = runs.next_slot(folder, tool)
            write_bytes(slot.mark(folder), b"")
            self._running[slot.number] = hold(slot.mark(folder))
            if arguments:
                known = self.load_private("arguments")
                with contextlib.suppress(StoreError):  # on a full disk a command can still be ended
                    self.save_private("arguments", {**known, slot.run_id: arguments})
        return slot

    def end_run(self, slot: RunSlot, result: ToolResult) -> None:
        """Store the full result, list it in the index, record the hashes of its artifacts."""
        folder = self.folder / "runs"
        try:
            with locked(self.folder):
                write_json(slot.file(folder), result.to_wire())
                index = self.read()
                listed = [*index.runs, runs.entry(slot.file(folder).name, slot.run_id, result)]
                ordered = runs.complete(folder, listed)
                self.write(index.model_copy(update={"runs": ordered}))
                slot.mark(folder).unlink(missing_ok=True)
        finally:
            if (descriptor := self._running.pop(slot.number, None)) is not None:
                os.close(descriptor)
        names = [artifact.path for artifact in result.artifacts]
        self.record_hashes(hashes.outdated(self.folder, names))

    def interrupted(self) -> list[str]:
        """Runs that began and never ended, because DEA was killed: `002-profile_cpu`."""
        return runs.interrupted(self.folder / "runs")

    def result(self, run_id: str) -> ToolResult:
        """The full result of one run. Raises SessionError when unknown or unreadable."""
        session = self.read()
        for run in session.runs:
            if run.run_id == run_id:
                return self._result(run)
        known = ", ".join(run.run_id for run in session.runs[-8:]) or "none yet"
        raise SessionError(f"no run {run_id!r} in session {self.id}", f"It has: {known}")

    def results(self) -> list[ToolResult]:
        """Full results of all runs that can be read, oldest first."""
        found: list[ToolResult] = []
        for run in self.read().runs:
            try:
                found.append(self._result(run))
            except SessionError:
                continue  # one damaged file must not hide the others
        return found

    def record_hashes(self, paths: Iterable[Path]) -> None:
        """Add artifacts to SHA256SUMS; those that are not there (any more) are left out."""
        hashes.record(self.folder, paths)

    def hashes(self) -> dict[str, str]:
        """sha256 by artifact path, relative to the session's folder."""
        return hashes.read(self.folder)

    def save_private(self, name: str, value: dict[str, Any]) -> None:
        """DEA's own state beside the index, such as the start times of the target's processes."""
        write_json(self.folder / f"{name}.json", value)

    def load_private(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads((self.folder / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return cast(dict[str, Any], value) if isinstance(value, dict) else {}

    def _index(self) -> Session:
        path = self.folder / "session.json"
        try:
            return Session.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise SessionError(
                f"session {self.id} is unreadable: {path} {_why(error)}",
                f"Its runs and artifacts are still in {self.folder}; attach again for a new session",
            ) from error

    def _with_exit_code(self, spawned: Spawned) -> Spawned:
        """The keeper of a launched command writes its exit code whether DEA runs or not."""
        code = self.load_private("launched").get("exit_code")
        if spawned.exit_code is None and isinstance(code, int):
            return spawned.model_copy(update={"exit_code": code})
        return spawned

    def _result(self, run: RunEntry) -> ToolResult:
        path = self.folder / run.file
        try:
            return ToolResult.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise SessionError(
                f"run {run.run_id} is unreadable: {path} {_why(error)}",
                "What it saw is still in the session's artifacts; run the tool again",
            ) from error


def _why(error: OSError | ValidationError) -> str:
    if isinstance(error, OSError):
        return f"({error.strerror})"
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"does not fit the contract ({place + ': ' if place else ''}{first['msg']})"
