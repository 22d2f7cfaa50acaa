"""A result as a few plain lines, for whoever does not read structured content."""

from collections.abc import Iterator, Sequence

from dea.contracts.data import ProcessList, ProcessRow
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.quantities import in_bytes
from dea.contracts.result import ToolResult
from dea.contracts.scrub import clean_text
from dea.tools.thin import cut

_TEXT_BYTES = 1400
_LIMITS_BYTES = 560  # kept for limitations, however much there is to say above them
_LIMIT_BYTES = 90


def text_of(result: ToolResult) -> str:
    """The result as a few plain lines, below 1.5 KB."""
    head = clean_text(_outcome(result))
    last = [clean_text(cut(f"Next: {', '.join(result.suggested_next)}", 200))]
    tail = last if result.suggested_next else []
    left = _TEXT_BYTES - _size([head, *tail])
    least = _limits(result.limitations, min(_LIMITS_BYTES, left))
    shown = _fitting(_body(result), left - _size(least))
    limits = _limits(result.limitations, left - _size(shown))
    return "\n".join([head, *shown, *limits, *tail])


def _body(result: ToolResult) -> Iterator[str]:
    for number, finding in enumerate(result.findings, 1):
        yield _said(number, finding)
    for evidence in () if result.findings else result.evidence:
        yield f"- {cut(evidence.summary, 200)} [{evidence.id}]"
        yield from _rows(evidence)


def _rows(evidence: Evidence) -> Iterator[str]:
    """Of a list that was asked for, its first rows."""
    if isinstance(evidence.data, ProcessList):
        yield from map(_row, evidence.data.processes)


def _row(row: ProcessRow) -> str:
    what = cut(row.cmdline or row.comm, 60)
    return f"  {row.pid} {row.runtime} {row.cpu_share:.0%} CPU {in_bytes(row.rss_bytes)}: {what}"


def _limits(limitations: Sequence[str], room: int) -> list[str]:
    """Each limitation, or its beginning; of those that do not fit how many there are."""
    if not limitations:
        return []
    lines = [f"- {cut(text, _LIMIT_BYTES)}" for text in limitations]
    shown = _fitting(lines, room - 60)
    more = f" ({len(limitations) - len(shown)} more)" if len(shown) < len(limitations) else ""
    return [f"Not seen{more}:", *shown]


def _fitting(lines: Iterator[str] | Sequence[str], room: int) -> list[str]:
    """The first lines that fit into so many bytes."""
    shown: list[str] = []
    for line in map(clean_text, lines):
        room -= _size([line])
        if room < 0:
            break
        shown.append(line)
    return shown


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


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
