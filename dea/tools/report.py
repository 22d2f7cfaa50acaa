"""Writes the session's report."""

from pathlib import Path

import anyio

from dea.contracts.arguments import Report
from dea.contracts.artifact import Artifact
from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea.errors import ArgumentError, StoreError
from dea.report import FIRST_LINE, render_report, write_report
from dea.store.atomic import write_bytes
from dea.store.session import StoredSession
from dea.tools.run import Run
from dea.tools.tool import Tool


async def report(arguments: Report, run: Run) -> None:
    session, _ = run.stored()
    copy = None if arguments.out is None else _place_for_copy(arguments.out)
    path = await anyio.to_thread.run_sync(write_report, session)
    run.artifacts.append(Artifact(path=path.name, kind="markdown", bytes=path.stat().st_size))
    run.cite(Fact(Note(text=str(path)), f"the report is {path}"))
    if copy is not None:
        await anyio.to_thread.run_sync(_write_copy, session, copy)
        run.cite(Fact(Note(text=str(copy)), f"a copy is {copy}; its links lead to the session"))


def _place_for_copy(text: str) -> Path:
    """Where the user wants a copy. Raises ArgumentError: nothing but a DEA report is replaced."""
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        raise ArgumentError(f"{path} is a folder", f"Name a file: out={path / 'report.md'}")
    if not path.parent.is_dir():
        raise ArgumentError(f"there is no folder {path.parent}", "Make it, or name another")
    if path.exists() and not _is_report(path):
        raise ArgumentError(f"{path} exists and is not a DEA report", "Name another file")
    return path


def _is_report(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(len(FIRST_LINE)) == FIRST_LINE.encode()
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", "Name another file") from error


def _write_copy(session: StoredSession, path: Path) -> None:
    write_bytes(path, render_report(session, path.parent).encode())


TOOL = Tool(
    name="report",
    title="Write the report",
    description=(
        "Write report.md from everything the session holds: ranked findings linked to their "
        "evidence, pictures, limits, and how to repeat each observation. `out` also writes a copy "
        "there. Call it at the end, for people who review."
    ),
    arguments=Report,
    run=report,
    observes=False,
    read_only=False,
)
