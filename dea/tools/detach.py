"""Closes a session: ends what DEA launched, writes the report."""

from typing import Any

from dea.contracts.arguments import InSession
from dea.contracts.data import Process
from dea.contracts.evidence import Fact
from dea.contracts.session import Session
from dea.process import identity, launch
from dea.store import home
from dea.tools.run import Run
from dea.tools.tool import Tool


async def detach(arguments: InSession, run: Run) -> None:
    session, _ = run.stored()
    ticks = session.load_private("identity")
    changes: dict[str, Any] = {"state": "detached", "detached_at": home.now()}
    before = session.read()
    if before.spawned is not None:
        ended = await launch.end(
            session.folder / "launched.json", ticks.get(str(before.spawned.pid))
        )
        if ended is not None:
            changes["spawned"] = before.spawned.model_copy(update={"exit_code": ended.exit_code})
        session.record_hashes([p for p in session.artifacts.glob("std*.log") if p.is_file()])

    def edit(index: Session) -> Session:
        return index.model_copy(update=changes)

    session.change(edit)
    _prove_undone(run)


def _prove_undone(run: Run) -> None:
    pid = run.target.pid
    if pid is None:
        return
    state = identity.state(pid) or "ended"
    data = Process(pid=pid, comm=run.target.comm or "?", state=state)
    tracer = identity.tracer_of(pid)
    traced = f"traced by pid {tracer}, which is not ours" if tracer else "untraced"
    run.cite(Fact(data, f"process {pid} is {'ended' if state in ('ended', 'Z') else traced}"))


TOOL = Tool(
    name="detach",
    title="Close a session",
    description=(
        "Close the session. A command that attach launched is ended; a process that was running "
        "before runs on. The session's files stay readable."
    ),
    arguments=InSession,
    run=detach,
    read_only=False,
    destructive=True,
)
