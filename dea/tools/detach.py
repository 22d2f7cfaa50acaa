"""Closes a session: ends what DEA launched, writes the report."""

from typing import Any

import anyio

from dea.contracts.arguments import InSession
from dea.contracts.artifact import Artifact, ArtifactKind
from dea.contracts.data import Process
from dea.contracts.evidence import Fact
from dea.contracts.session import Session
from dea.process import identity, launch
from dea.store import home
from dea.store.session import StoredSession
from dea.tools.run import Run
from dea.tools.tool import Tool

_OUTPUT = ("artifacts/stdout.log", "artifacts/stderr.log")


async def detach(_arguments: InSession, run: Run) -> None:
    session, _ = run.stored()
    ended = await _end_launched(session, run)

    def edit(index: Session) -> Session:
        changes: dict[str, Any] = {"state": "detached"}
        if index.state == "attached":
            changes["detached_at"] = home.now()
        if index.spawned is not None and ended is not None:
            changes["spawned"] = index.spawned.model_copy(update={"exit_code": ended.exit_code})
        return index.model_copy(update=changes)

    session.change(edit)
    _prove_undone(run, ended)
    if cut := session.interrupted():
        run.limit(f"DEA was killed during {len(cut)} of its runs: {', '.join(cut)}")
    await _write_report(session, run)


async def _end_launched(session: StoredSession, run: Run) -> launch.Launched | None:
    """What became of the command that attach launched; None when it launched none."""
    status = session.folder / "launched.json"
    command = launch.look(status)
    if command is None:
        return None
    ended = await launch.end(status, run.start_ticks().get(command.pid))
    for path in _OUTPUT:
        _list(session, run, path, "log")
    return ended


def _prove_undone(run: Run, ended: launch.Launched | None) -> None:
    pid = run.target.pid
    if pid is None:
        return
    same = identity.is_same(pid, run.start_ticks().get(pid))
    state = (identity.state(pid) if same else None) or "ended"
    data = Process(pid=pid, comm=run.target.comm or "?", state=state)
    if not same:
        code = None if ended is None else ended.exit_code
        how = "ended" if code is None else f"ended, exit code {code}"
    else:
        tracer = identity.tracer_of(pid)
        how = f"traced by pid {tracer}, which is not ours" if tracer else "untraced and runs on"
    run.cite(Fact(data, f"process {pid} is {how}"))


async def _write_report(session: StoredSession, run: Run) -> None:
    from dea.report import write_report

    try:
        await anyio.to_thread.run_sync(write_report, session)
    except Exception as error:  # noqa: BLE001 (a report that fails must not keep a session open)
        run.limit(f"no report was written: {error}")
    _list(session, run, "report.md", "markdown")


def _list(session: StoredSession, run: Run, path: str, kind: ArtifactKind) -> None:
    file = session.folder / path
    if file.is_file():
        run.artifacts.append(Artifact(path=path, kind=kind, bytes=file.stat().st_size))


TOOL = Tool(
    name="detach",
    title="Close a session",
    description=(
        "Close the session and write its report. A command that attach launched is ended; a "
        "process that was running before runs on. The session's files stay readable."
    ),
    arguments=InSession,
    run=detach,
    observes=False,
    read_only=False,
    destructive=True,
)
