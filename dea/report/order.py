"""In which order findings and evidence of several runs are told, each once."""

from collections.abc import Sequence

from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult

_LOUDNESS = {"high": 0, "warn": 1, "info": 2}


def ranked_findings(results: Sequence[ToolResult]) -> list[Finding]:
    """Those of the newest investigation as it ranked them, then what other runs add to them."""
    newest = next((r for r in reversed(results) if r.tool == "investigate" and r.ok), None)
    first = list(newest.findings) if newest else []
    others = [f for result in reversed(results) if result is not newest for f in result.findings]
    others.sort(key=lambda finding: _LOUDNESS[finding.severity])
    told: dict[str, Finding] = {}
    for finding in (*first, *others):
        told.setdefault(finding.summary, finding)
    return list(told.values())


def evidence_in_order(results: Sequence[ToolResult], findings: Sequence[Finding]) -> list[Evidence]:
    """Each piece once: what the first finding cites comes first, what none cites last."""
    by_id = {evidence.id: evidence for result in results for evidence in result.evidence}
    cited = [id_ for finding in findings for id_ in finding.evidence_ids if id_ in by_id]
    return [by_id[id_] for id_ in dict.fromkeys([*cited, *by_id])]
