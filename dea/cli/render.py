"""A ToolResult as people read it: the target, what was concluded, what that rests on, what to do next."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dea.cli.next_steps import commands, install_first
from dea.cli.screen import heading, plain, severity, show
from dea.cli.stack_view import stacks
from dea.contracts.data import SocketSummary
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult
from dea.contracts.session import Session

_CITED_SHOWN, _EVIDENCE_SHOWN = 10, 25
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Tools whose evidence alone does not say whether it is as it should be.
_LOOKS = frozenset(
    {
        "inspect_files",
        "inspect_sockets",
        "profile_cpu",
        "snapshot_memory",
        "time_budget",
        "trace_syscalls",
    }
)


def show_result(result: ToolResult, session: Session | None, report: Path | None = None) -> None:
    """Print it. `session` is the one it belongs to, `report` the report that was written."""
    show(_parts(result, session, report))


def _parts(
    result: ToolResult, session: Session | None, report: Path | None
) -> Iterator[RenderableType]:
    yield _target(result)
    yield ""
    if result.tool == "investigate" and all(f.severity == "info" for f in result.findings):
        yield plain("No fault was found in what was looked at.", "bold green")
        yield ""
    if result.findings:
        yield _findings(result.findings)
    elif result.ok and result.evidence and result.tool in _LOOKS:
        yield plain("No sign of a fault in this look.", "bold green")
        yield ""
    if result.tool == "dump_stacks":
        yield from stacks(result)
    yield from _evidence(result)
    if result.limitations:
        yield heading("What this cannot see")
        for text in alike_once(result.limitations):
            yield _item(plain(text))
        yield ""
    if session is not None:
        yield from _next(result.suggested_next, session)
        yield plain(f"Session  {session.dir}")
    if report is not None:
        yield plain(f"Report   {report}")


def alike_once(texts: Sequence[str]) -> list[str]:
    """Texts that differ in numbers only, as of two looks of one backend, once."""
    return list({_NUMBER.sub("#", text): text for text in reversed(texts)}.values())[::-1]


def _target(result: ToolResult) -> Text:
    target = result.target
    ports = [item.data.port for item in result.evidence if isinstance(item.data, SocketSummary)]
    if any(ports) and (target.pid == os.getpid() or target.comm == "dea"):  # nobody named one
        return Text(f"port {ports[0]} of this host", style="bold")
    runtime = f"{target.runtime} " if target.runtime not in (None, "unknown") else ""
    text = Text(f"{runtime}process {target.pid or target.id}", style="bold")
    if target.comm:
        text.append_text(plain(f" ({target.comm})", "not bold"))
    if target.cmdline:
        text.append_text(plain(f"  {target.cmdline}", "not bold dim"))
    text.truncate(400, overflow="ellipsis")
    return text


def _findings(findings: Sequence[Finding]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right")
    table.add_column()
    table.add_column()
    for number, finding in enumerate(findings, 1):
        lines: list[RenderableType] = [plain(finding.summary, "bold")]
        if finding.detail:
            lines.append(plain(finding.detail, "dim"))
        cited = ", ".join(finding.evidence_ids)
        lines += [plain(f"{finding.confidence}, from {cited}", "dim"), ""]
        table.add_row(str(number), severity(finding.severity), Group(*lines))
    return table


def _evidence(result: ToolResult) -> Iterator[RenderableType]:
    """What findings cite; all there is when there are none."""
    cited = {id_ for finding in result.findings for id_ in finding.evidence_ids}
    chosen = [item for item in result.evidence if item.id in cited] or result.evidence
    if not chosen:
        return
    most = _CITED_SHOWN if result.findings else _EVIDENCE_SHOWN
    yield heading("Evidence")
    yield Padding(_evidence_table(chosen[:most]), (0, 0, 0, 2))
    left = len(chosen) - most
    if left > 0:
        yield _item(plain(f"and {left} more: dea show {result.session_id} {result.run_id} --json"))
    yield ""


def _evidence_table(evidence: Sequence[Evidence]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for item in evidence:
        what = plain(item.summary)
        if item.artifact:
            at = f":{item.lines[0]}-{item.lines[1]}" if item.lines else ""
            what.append_text(plain(f"\n{item.artifact}{at}", "dim"))
        table.add_row(plain(item.id, "dim"), what)
    return table


def _next(tools: Sequence[str], session: Session) -> Iterator[RenderableType]:
    install = install_first(session)
    if not tools and not install:
        return
    yield heading("To learn more")
    if install:
        yield _item(plain(f"{install}  # then once more"))
    for command in commands(tools, session):
        yield _item(plain(command))
    yield ""


def _item(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))
