"""Lists as people read them: what this host can observe, sessions, the runs of one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dea.cli.outcome import Outcome
from dea.cli.screen import heading, plain, show
from dea.contracts.data import ReadinessData
from dea.contracts.readiness import ProviderReadiness
from dea.contracts.session import Session
from dea.process.packages import install_line

_STATES = {"ready": "green", "missing": "yellow", "no_permission": "yellow"}


def show_readiness(data: ReadinessData, limits: Sequence[str]) -> None:
    """Each backend and its state, then one command that installs what is missing."""
    show(_readiness(data, limits))


def _readiness(data: ReadinessData, limits: Sequence[str]) -> Iterator[RenderableType]:
    yield plain(
        f"DEA {data.dea_version} on {data.os} {data.kernel or ''} {data.arch}, "
        f"{'root' if data.is_root else 'not root'}, Node.js {data.node or 'not found'}"
    )
    rights = data.permissions
    yield plain(
        f"ptrace_scope {_or_none(rights.ptrace_scope)}, perf_event_paranoid "
        f"{_or_none(rights.perf_event_paranoid)}, {', '.join(rights.capabilities) or 'no capabilities'}",
        "dim",
    )
    yield ""
    yield _backends(data)
    yield ""
    if data.tools_unavailable:
        yield heading("Tools that cannot work here")
        for item in data.tools_unavailable:
            yield plain(f"  {item.tool}: {item.reason}")
        yield ""
    sees_all = data.is_root or "CAP_SYS_PTRACE" in rights.capabilities
    missing = {r.binary for p in data.providers for r in p.requires if r.path is None}
    if missing and (line := install_line(missing)):
        yield heading("Install what is missing")
        yield plain(f"  {line}")
    elif all(provider.status == "ready" for provider in data.providers):
        rest = "and no permission is missing" if sees_all else "is missing"
        yield Text(f"No program {rest}.", style="green")
    for text in limits:
        yield plain(f"({text})", "dim")


def _backends(data: ReadinessData) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("Tool", "Backend", "State", "What to do"):
        table.add_column(title, overflow="fold")
    shown = ""
    for provider in sorted(data.providers, key=lambda provider: provider.tools):
        tool = ", ".join(provider.tools)
        state = Text(provider.status.replace("_", " "), style=_STATES.get(provider.status, "red"))
        name = "" if tool == shown else tool
        table.add_row(name, plain(provider.name), state, plain(_what_to_do(provider)))
        shown = tool
    return table


def _what_to_do(provider: ProviderReadiness) -> str:
    if provider.status == "ready":
        return ""
    reason = provider.notes[-1] if provider.notes else ""
    return ": ".join(text for text in (reason, provider.install_hint) if text)


def show_sessions(
    sessions: Iterable[tuple[str, Session | str]], outcomes: Mapping[str, Outcome], hidden: int
) -> None:
    """Newest first; a session that cannot be read shows why."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("Session", "State", "Target", "Asked", "Found"):
        table.add_column(title, overflow="fold", no_wrap=title == "Session")
    for id_, session in sessions:
        if isinstance(session, str):
            table.add_row(id_, Text("unreadable", style="red"), plain(session), "", "")
        else:
            target = session.target
            what = target.comm or target.cmdline or target.id
            table.add_row(
                id_,
                session.state,
                plain(_short(f"{target.pid or ''} {what}".strip(), 32)),
                plain(outcomes[id_].symptom),
                plain(_short(outcomes[id_].found(), 72)),
            )
    show([table, *([plain(f"and {hidden} older: --all", "dim")] if hidden else [])])


def _short(text: str, cap: int) -> str:
    return text if len(text) <= cap else f"{text[: cap - 1]}…"


def show_session(session: Session, outcome: Outcome) -> None:
    """One session: what was found, its runs and where its files are."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("Run", "Started", "Took", "Outcome"):
        table.add_column(title)
    for run in session.runs:
        ended = Text("ok", style="green") if run.ok else Text("could not run", style="red")
        table.add_row(run.run_id, run.started_at, f"{run.duration_ms / 1000:.1f} s", ended)
    target = session.target
    show(
        [
            plain(f"{session.id}  {session.state}  {session.created_at}", "bold"),
            plain(
                f"{target.kind} {target.pid or target.id}  {target.cmdline or target.comm or ''}"
            ),
            *([plain(f"Asked    {outcome.symptom}")] if outcome.symptom else []),
            *([plain(f"Found    {outcome.found()}")] if outcome.found() else []),
            "",
            table,
            plain(f"Session  {session.dir}"),
            *([plain(f"Report   {outcome.report}")] if outcome.report else []),
            plain(f"A run    dea show {session.id} RUN", "dim"),
        ]
    )


def _or_none(value: int | None) -> str:
    return "not set" if value is None else str(value)
