"""A result as a few plain lines, for whoever does not read structured content."""

from collections.abc import Sequence

from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult
from dea.contracts.scrub import clean_text
from dea.tools.thin import cut

_TEXT_BYTES = 1400


def text_of(result: ToolResult) -> str:
    """The result as a few plain lines, below 1.5 KB."""
    head = clean_text(_outcome(result))
    tail = [f"{_count(result.limitations, 'limitation')} to read."] if result.limitations else []
    if result.suggested_next:
        tail.append(clean_text(cut(f"Next: {', '.join(result.suggested_next)}", 200)))
    left = _TEXT_BYTES - sum(len(line.encode()) + 1 for line in (head, *tail))
    shown: list[str] = []
    for line in map(clean_text, _body(result)):
        left -= len(line.encode()) + 1
        if left < 0:
            break
        shown.append(line)
    return "\n".join([head, *shown, *tail])


def _body(result: ToolResult) -> list[str]:
    if result.findings:
        return [_said(number, finding) for number, finding in enumerate(result.findings, 1)]
    return [f"- {cut(e.summary, 200)} [{e.id}]" for e in result.evidence]


def _outcome(result: ToolResult) -> str:
    tool = cut(result.tool, 80)
    run = f" ({result.run_id})" if result.run_id else ""
    where = f" in session {result.session_id}" if result.session_id else ""
    if result.error is not None:
        return f"{tool}{run}{where} failed: {cut(result.error, 500)}"
    found = _count(result.findings, "finding")
    return f"{tool}{run}{where}: {found}, {_count(result.evidence, 'evidence item')}"


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things) or 'no'} {name}{'s' * (len(things) != 1)}"


def _said(number: int, finding: Finding) -> str:
    cited = ", ".join(finding.evidence_ids[:4])
    summary = cut(finding.summary, 260)
    return f"{number}. {finding.severity} ({finding.confidence}): {summary} [{cited}]"
