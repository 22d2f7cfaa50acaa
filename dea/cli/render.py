"""A ToolResult as people read it: the target, what was concluded, what that rests on, what to do next."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dea.cli.screen import heading, plain, severity, show
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult

_EVIDENCE_SHOWN = 25


def show_result(result: ToolResult, folder: Path | None, report: Path | None = None) -> None:
    """Print it. `folder` is the session's, `report` the report that was written."""
    show(_parts(result, folder, report))


def _parts(
    result: ToolResult, folder: Path | None, report: Path | None
) -> Iterator[RenderableType]:
    yield _target(result)
    yield ""
    if result.tool == "investigate" and all(f.severity == "info" for f in result.findings):
        yield plain("No fault was found in what was looked at.", "bold green")
        yield ""
    if result.findings:
        yield _findings(result.findings)
    yield from _evidence(result)
    if result.limitations:
        yield heading("What this cannot see")
        for text in result.limitations:
            yield _item(plain(text))
        yield ""
    yield from _next(result)
    if folder is not None:
        yield plain(f"Session  {folder}")
    if report is not None:
        yield plain(f"Report   {report}")


def _target(result: ToolResult) -> Text:
    target = result.target
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
    yield heading("Evidence")
    yield Padding(_evidence_table(chosen[:_EVIDENCE_SHOWN]), (0, 0, 0, 2))
    left = len(chosen) - _EVIDENCE_SHOWN
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


def _next(result: ToolResult) -> Iterator[RenderableType]:
    if not result.suggested_next or not result.session_id:
        return
    yield heading("To learn more")
    for tool in result.suggested_next:
        command = "why" if tool == "investigate" else tool.replace("_", "-")
        yield _item(plain(f"dea {command} {result.session_id}"))
    yield ""


def _item(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))
