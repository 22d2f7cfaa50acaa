"""Opens a session on a process, or launches a command and opens a session on that."""

import os
import platform
from datetime import UTC, datetime

import psutil

from dea import __version__
from dea.contracts.arguments import Attach
from dea.contracts.data import Process
from dea.contracts.evidence import Fact
from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_in_argv, hide_secrets
from dea.contracts.session import Session, Spawned
from dea.contracts.target import Target
from dea.errors import TargetError
from dea.process import identity
from dea.process.launch import Launched, launch
from dea.store import home
from dea.store.session import StoredSession
from dea.targets.family import descendants
from dea.targets.resolve import describe, meant_kind, parse_command, resolve_process
from dea.tools.run import Run
from dea.tools.tool import Tool


async def attach(arguments: Attach, run: Run) -> None:
    kind = arguments.kind or meant_kind(arguments.target)
    if kind in ("container", "pod"):
        raise TargetError(
            f"targets of kind {kind} are not supported yet",
            "Attach to the pid of the process inside, as the host sees it (see `dea ps`)",
        )
    if kind == "command":
        await _launch(arguments.target, run)
    else:
        session = home.create(resolve_process(arguments.target))
        run.open(session)
    _remember(run)
    _describe(run)


async def _launch(text: str, run: Run) -> None:
    argv = parse_command(text)
    shown = one_line(hide_in_argv(argv), 300)
    session = home.create(Target(kind="command", id=shown, cmdline=shown))
    run.open(session)
    out, err = session.artifacts / "stdout.log", session.artifacts / "stderr.log"
    try:
        launched = await launch(argv, session.folder / "launched.json", out, err)
    except TargetError:
        session.change(_detached)  # there is nothing to look at; the run keeps the reason
        raise
    _enter(session, shown, launched, run)


def _detached(index: Session) -> Session:
    return index.model_copy(update={"state": "detached", "detached_at": home.now()})


def _enter(session: StoredSession, shown: str, launched: Launched, run: Run) -> None:
    """The command and where its output goes, into the session's index."""
    target = _launched_target(shown, launched)
    spawned = Spawned(
        pid=launched.pid,
        stdout="artifacts/stdout.log",
        stderr="artifacts/stderr.log",
        exit_code=launched.exit_code,
    )

    def edit(index: Session) -> Session:
        return index.model_copy(update={"target": target, "spawned": spawned})

    session.change(edit)
    run.target = target


def _launched_target(shown: str, launched: Launched) -> Target:
    """A command that has ended already is a target too: what it printed is the evidence."""
    try:
        live = describe(launched.pid)
    except TargetError:
        live = Target(kind="command", id=shown, pid=launched.pid, cmdline=shown)
    return live.model_copy(update={"kind": "command", "id": shown})


def _remember(run: Run) -> None:
    """Start times, so that a recycled pid is never taken for the target."""
    session, _ = run.stored()
    session.save_private("identity", start_times(run.target))
    here = {"dea": __version__, "kernel": platform.release(), "cpus": os.cpu_count()}
    session.save_private("host", here)


def start_times(target: Target) -> dict[str, int]:
    """Clock ticks since boot at which each process of the target started, by pid."""
    pids = [pid for pid in (target.pid, *(target.pids or ())) if pid is not None]
    return {str(pid): ticks for pid in pids if (ticks := identity.start_ticks(pid)) is not None}


def _describe(run: Run) -> None:
    target = run.target
    pid = run.require_pid()
    data = Process(
        pid=pid,
        comm=target.comm or "?",
        cmdline=target.cmdline,
        runtime=target.runtime,
        state=identity.state(pid) or "ended",
        children=(target.pids or [])[:32],
        started_at=_started_at(pid),
        cwd=_folder(pid),
    )
    below = len(descendants(pid)) if target.pids else 0
    family = f" with {below} descendant{'' if below == 1 else 's'}" if below else ""
    state = "has already ended" if data.state in ("ended", "Z") else f"runs{family}"
    run.cite(Fact(data, f"{target.runtime or 'unknown'} process {pid} ({data.comm}) {state}"))
    if tracer := identity.tracer_of(pid):
        run.limit(
            f"process {pid} is being traced by pid {tracer}; steps that use ptrace will refuse"
        )
    run.suggested_next += ["investigate"]


def _started_at(pid: int) -> str | None:
    try:
        moment = psutil.Process(pid).create_time()
    except psutil.Error:
        return None
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def _folder(pid: int) -> str | None:
    try:
        return hide_secrets(one_line(os.readlink(f"/proc/{pid}/cwd"), 300))
    except OSError:  # it has ended, or is another user's
        return None


TOOL = Tool(
    name="attach",
    title="Attach to a process",
    description=(
        "Open a session on a running process (pid or unique name), or launch a command line "
        "(kind=command) and open a session on it. Call this first; pass the returned session_id "
        "to every other tool. Only looks: nothing is changed in the target."
    ),
    arguments=Attach,
    run=attach,
    read_only=False,
    idempotent=False,
)
