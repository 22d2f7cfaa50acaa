"""What a report says, gathered from the stored results of a session. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dea.contracts.data import Process
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.result import ToolResult
from dea.contracts.session import RunEntry, Session
from dea.report.looks import Look, repeat_command
from dea.report.order import evidence_in_order, ranked_findings
from dea.report.pictures import Picture, pictures

_UNCITED_SHOWN = 60
_ASKED = {
    "slow": "why it is slow",
    "leak": "what leaks",
    "hang": "why it hangs",
    "crash": "why it crashed",
    "port_busy": "who holds the port",
}


@dataclass(frozen=True)
class RunView:
    """One run: what was asked, how it was observed, how to repeat it, what it cannot see."""

    entry: RunEntry
    arguments: Mapping[str, Any]
    result: ToolResult | None
    looks: Sequence[Look]
    repeat: str


@dataclass(frozen=True)
class Content:
    """Everything that the template prints."""

    session: Session
    asked: str
    found: str
    certainty: str
    findings: Sequence[Finding]
    pictures: Sequence[Picture]
    evidence: Sequence[Evidence]
    evidence_left_out: int
    limits: Mapping[str, Sequence[str]]  # a limit, and the runs that it holds for
    runs: Sequence[RunView]
    interrupted: Sequence[str]
    hashes: Mapping[str, str]  # of the files that evidence stands in
    unlisted_hashes: int  # how many others there are
    circumstances: Mapping[str, str]


def gather(
    session: Session,
    results: Sequence[ToolResult],
    looks: Sequence[Look],
    *,
    arguments: Mapping[str, Any],
    interrupted: Sequence[str],
    hashes: Mapping[str, str],
    host: Mapping[str, Any],
) -> Content:
    """`results` are oldest first, `arguments` by run id, `hashes` sha256 by path."""
    findings = ranked_findings(results)
    evidence = evidence_in_order(results, findings)
    cited = {id_ for finding in findings for id_ in finding.evidence_ids}
    shown = [e for e in evidence if e.id in cited]
    others = [e for e in evidence if e.id not in cited]
    places = {item.artifact for item in evidence}
    return Content(
        session=session,
        asked=_asked(results, arguments),
        found=_found(results, findings),
        certainty=_certainty(results, findings),
        findings=findings,
        pictures=pictures(results, evidence),
        evidence=[*shown, *others[:_UNCITED_SHOWN]],
        evidence_left_out=max(0, len(others) - _UNCITED_SHOWN),
        limits=_limits(results),
        runs=_runs(session, results, looks, arguments),
        interrupted=interrupted,
        hashes={path: digest for path, digest in hashes.items() if path in places},
        unlisted_hashes=sum(path not in places for path in hashes),
        circumstances=_circumstances(host, results),
    )


def _circumstances(host: Mapping[str, Any], results: Sequence[ToolResult]) -> dict[str, str]:
    """Where and on what it was observed, as far as it was noted when it was attached to."""
    processes = [
        item.data
        for result in results
        if result.tool == "attach"
        for item in result.evidence
        if isinstance(item.data, Process)
    ]
    target = processes[0] if processes else None
    told = {
        "DEA": host.get("dea"),
        "Kernel": host.get("kernel"),
        "CPUs": host.get("cpus"),
        "Target started": target.started_at if target else None,
        "Target's folder": target.cwd if target else None,
    }
    return {name: str(value) for name, value in told.items() if value}


def _asked(results: Sequence[ToolResult], arguments: Mapping[str, Any]) -> str:
    runs = [result.run_id or "" for result in results if result.tool == "investigate"]
    symptoms = [str(arguments.get(run_id, {}).get("symptom", "")) for run_id in runs]
    if asked := [_ASKED.get(symptom, symptom) for symptom in dict.fromkeys(symptoms) if symptom]:
        return ", ".join(asked)
    looked = [r.run_id or r.tool for r in results if r.tool not in ("attach", "detach", "report")]
    return f"no cause was asked for; {', '.join(looked) or 'nothing'} ran"


def _found(results: Sequence[ToolResult], findings: Sequence[Finding]) -> str:
    looked = [r for r in results if r.tool not in ("attach", "detach", "report")]
    if findings and findings[0].severity != "info":
        return f"{findings[0].severity}: {findings[0].summary}"
    if not looked:
        return "nothing was looked at"
    if not any(result.ok for result in looked):
        return f"could not look: {looked[-1].error}"
    worth_knowing = f"; worth knowing: {findings[0].summary}" if findings else ""
    return f"no fault in what was looked at{worth_knowing}"


def _certainty(results: Sequence[ToolResult], findings: Sequence[Finding]) -> str:
    failed = [result.run_id or result.tool for result in results if not result.ok]
    words: list[str] = []
    if findings:
        first = findings[0]
        how = "read directly" if first.confidence == "observed" else "concluded"
        words.append(f"{how} from {_count(len(first.evidence_ids), 'piece')} of evidence")
        words.append(f"{_count(len(findings) - 1, 'other finding')}")
    words.append(f"{_count(len(_limits(results)), 'limit')} stated below")
    if failed:
        words.append(f"could not look: {', '.join(failed)}")
    return "; ".join(words)


def _limits(results: Sequence[ToolResult]) -> dict[str, list[str]]:
    """A plan takes over what its steps say: the shorter, more exact run is named first."""
    found: dict[str, list[str]] = {}
    for result in results:
        texts = [
            *result.limitations,
            *([f"could not look: {result.error}"] if not result.ok else []),
        ]
        for text in texts:
            found.setdefault(text, []).append(result.run_id or result.tool)
    return found


def _runs(
    session: Session,
    results: Sequence[ToolResult],
    looks: Sequence[Look],
    arguments: Mapping[str, Any],
) -> list[RunView]:
    by_id = {result.run_id: result for result in results}
    return [
        RunView(
            entry=entry,
            arguments=arguments.get(entry.run_id, {}),
            result=by_id.get(entry.run_id),
            looks=[look for look in looks if look.run_id == entry.run_id],
            repeat=repeat_command(entry, session, arguments.get(entry.run_id, {})),
        )
        for entry in session.runs
        if entry.tool not in ("detach", "report")
    ]


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
