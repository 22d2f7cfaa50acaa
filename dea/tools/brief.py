"""What is handed to an agent: all that was concluded, what that rests on, and of the rest what fits."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dea.contracts.artifact import Artifact
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult
from dea.contracts.wire import Wire
from dea.tools.plain import text_of
from dea.tools.thin import PATH_LIMIT, Caps, cut, thin, thin_evidence, thin_finding

__all__ = ["HARD_BYTES", "brief", "text_of"]

HARD_BYTES = 18_000  # nothing handed over is larger than 24 KB, text and links beside it included
_LEVELS = (
    Caps(24, 300, 700),
    Caps(10, 200, 400),
    Caps(5, 120, 240),
    Caps(3, 100, 160),
    Caps(2, 80, 160),
)
_TIGHTEST = Caps(1, 80, 80)
_LONE = (Caps(60, 300, 0), Caps(24, 120, 0), Caps(16, 100, 0), Caps(10, 80, 0), Caps(4, 80, 0))
_FILL = 0.6  # of the budget, for evidence that nothing cites
_LIMITATIONS, _ARTIFACTS, _PIDS = 8, 6, 8
_NOTE_BYTES = 400
_PICTURES = ("flamegraph_svg", "markdown")
# Evidence that nothing cites: what a reader misses least comes last.
_DULL = ("stack", "fd", "socket", "process", "stack_summary", "packet_summary")

_Core = tuple[list[Finding], list[Evidence]]


def brief(result: ToolResult, budget_bytes: int = 4800, *, full: str = "") -> ToolResult:
    """The result, small enough for an agent to read; `full` says where all of it is.

    Findings and the evidence they cite stay, within `budget_bytes` where thinning makes that
    possible and below HARD_BYTES in any case; other evidence fills up what is left.
    """
    shell = _shell(result)
    findings, cited = _core(result, budget_bytes - _size(shell), HARD_BYTES - _size(shell))
    ids = {evidence.id for evidence in cited}
    uncited = [evidence for evidence in result.evidence if evidence.id not in ids]
    alone = len(result.evidence) == 1  # such as a list that was asked for: it is the answer itself
    taken = _size(shell) + _weight((findings, cited)) + _NOTE_BYTES
    room = int(budget_bytes * (1 if alone else _FILL)) - taken
    rest = _fill(_by_use(uncited), _LONE if alone else _LEVELS[1:3], room)
    small = {evidence.id: evidence for evidence in (*cited, *rest)}
    evidence = [small[e.id] for e in result.evidence if e.id in small]
    whole = shell.model_copy(
        update={
            "findings": findings,
            "evidence": evidence,
            "artifacts": _artifacts(result, {e.artifact for e in evidence}),
        }
    )
    note = _note(result, whole, full)
    return ToolResult.model_validate(
        dict(whole) | {"limitations": [*whole.limitations, *([note] if note else [])]}
    )


def _shell(result: ToolResult) -> ToolResult:
    """The result without findings, evidence and artifacts."""
    tight = Caps(_PIDS, 200, 0)
    changes: dict[str, Any] = {
        "tool": cut(result.tool, 80),
        "session_id": cut(result.session_id, 80),
        "target": thin(result.target, tight),
        "limitations": [cut(text, 240) for text in result.limitations[:_LIMITATIONS]],
        "suggested_next": [cut(text, 60) for text in result.suggested_next[:6]],
        "findings": [],
        "evidence": [],
        "artifacts": [],
    }
    if result.error is not None:
        changes["error"] = cut(result.error, 1000)
    return result.model_copy(update=changes)


def _core(result: ToolResult, budget: int, hard: int) -> _Core:
    """Findings and what they cite, thinned no more than needed. Past `hard` the least go."""
    findings = result.findings
    tighter = (*_LEVELS[1:], _TIGHTEST)
    tries = (_thinned(result, findings, *caps) for caps in zip(_LEVELS, tighter, strict=True))
    core = next((core for core in tries if _weight(core) <= budget), None)
    core = core or _thinned(result, findings, _LEVELS[-1], _TIGHTEST)
    count = len(findings)
    while _weight(core) > hard:
        fewer = [_fewer_ids(finding) for finding in findings[:count]]
        core = _thinned(result, fewer, _TIGHTEST, _TIGHTEST)
        count = count * 3 // 4
    return core


def _thinned(result: ToolResult, findings: Sequence[Finding], caps: Caps, others: Caps) -> _Core:
    """`caps` for what the first finding cites first, `others` for all else that is cited."""
    wanted = {id_: others for finding in findings for id_ in finding.evidence_ids}
    wanted |= {id_: caps for finding in findings[:1] for id_ in finding.evidence_ids[:3]}
    return (
        [thin_finding(finding, caps) for finding in findings],
        [thin_evidence(item, wanted[item.id]) for item in result.evidence if item.id in wanted],
    )


def _fewer_ids(finding: Finding) -> Finding:
    return finding.model_copy(update={"evidence_ids": finding.evidence_ids[:8]})


def _fill(evidence: Sequence[Evidence], levels: Sequence[Caps], room: int) -> list[Evidence]:
    """What fits of the evidence, in this order, each as full as the room allows."""
    chosen: list[Evidence] = []
    for item in evidence:
        for small in (thin_evidence(item, caps) for caps in levels):
            if (size := _size(small)) <= room:
                chosen.append(small)
                room -= size
                break
    return chosen


def _by_use(items: Sequence[Evidence]) -> list[Evidence]:
    """The first of each kind before the second of any: a kind's order is that of its backend."""
    seen: Counter[str] = Counter()
    rank: dict[str, tuple[int, bool]] = {}
    for item in items:
        rank[item.id] = (seen[item.kind], item.kind in _DULL)
        seen[item.kind] += 1
    return sorted(items, key=lambda item: rank[item.id])


def _artifacts(result: ToolResult, shown: set[str | None]) -> list[Artifact]:
    """Pictures and reports, then the files that the shown evidence stands in."""
    pictures = [a for a in result.artifacts if a.kind in _PICTURES]
    cited = [a for a in result.artifacts if a.path in shown and a.kind not in _PICTURES]
    kept = [a for a in (*pictures, *cited) if len(a.path) <= PATH_LIMIT][:_ARTIFACTS]
    return [artifact.model_copy(update={"description": None}) for artifact in kept]


def _note(result: ToolResult, shown: ToolResult, full: str) -> str:
    """What is missing here, and where it is; empty when nothing is."""
    counts = {
        "findings": len(result.findings) - len(shown.findings),
        "evidence items": len(result.evidence) - len(shown.evidence),
        "limitations": len(result.limitations) - len(shown.limitations),
    }
    missing = [f"{count} more {what}" for what, count in counts.items() if count]
    if _is_thinner(shown.evidence, result.evidence) or _is_thinner(shown.findings, result.findings):
        missing.append("longer lists and texts")
    if not missing:
        return ""
    if result.session_id:
        return f"shortened: {', '.join(missing)} in {full or 'runs/ in the session folder'}"
    return f"shortened: {', '.join(missing)} left out; a narrower call shows more"


def _is_thinner(shown: Sequence[Finding | Evidence], whole: Sequence[Finding | Evidence]) -> bool:
    originals = {item.id: item for item in whole}
    return any(item != originals[item.id] for item in shown)


def _size(model: Wire) -> int:
    """Bytes as JSON, escaped and spaced, which no writer exceeds."""
    return len(json.dumps(model.to_wire())) + 2


def _weight(core: _Core) -> int:
    return sum(_size(model) for models in core for model in models)
