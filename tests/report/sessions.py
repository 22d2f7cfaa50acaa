"""Makes sessions with results in them, as if tools had run, and reads markdown back."""

from collections.abc import Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt

from dea.contracts.artifact import Artifact
from dea.contracts.data import Data, MetricSeries, Note
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding, Severity
from dea.contracts.result import ToolResult
from dea.contracts.target import Target
from dea.store import home
from dea.store.session import StoredSession

RENDERER = MarkdownIt("gfm-like", {"html": True, "linkify": False})
TARGET = Target(kind="pid", id="4711", pid=4711, comm="shop", cmdline="shop --port 80")


def series(name: str = "anon_bytes", pid: int = 4711) -> MetricSeries:
    """Ten points, growing by 1 MB/s."""
    return MetricSeries(
        name=name,
        unit="bytes",
        pid=pid,
        points=[(second, 5e7 + second * 1e6) for second in range(10)],
        samples=10,
        first=5e7,
        last=5.9e7,
        slope_per_s=1e6,
        slope_low_per_s=9e5,
        slope_high_per_s=1.1e6,
        shape="growing",
    )


class Writer:
    """Adds runs to one session."""

    def __init__(self, target: Target = TARGET) -> None:
        self.session: StoredSession = home.create(target)
        self.target = target

    def run(
        self,
        tool: str,
        data: Sequence[Data] = (),
        *,
        findings: Sequence[tuple[Severity, str]] = (),
        detail: str | None = None,
        artifact: str | None = None,
        error: str | None = None,
        limitations: Sequence[str] = (),
        arguments: Mapping[str, Any] | None = None,
        artifacts: Sequence[Artifact] = (),
    ) -> ToolResult:
        """Each finding cites the first piece of evidence, which stands in `artifact`, lines 2-3."""
        slot = self.session.begin_run(tool, dict(arguments or {}))
        evidence = [
            Evidence(
                id=f"{slot.run_id}.e{number}",
                kind=item.kind,
                summary=item.text if isinstance(item, Note) else f"{item.kind} {number}",
                data=item,
                artifact=artifact if number == 1 else None,
                lines=(2, 3) if artifact and number == 1 else None,
            )
            for number, item in enumerate(data, 1)
        ]
        result = ToolResult(
            ok=error is None,
            tool=tool,
            session_id=self.session.id,
            target=self.target,
            duration_ms=1234,
            findings=[
                Finding(
                    id=f"{slot.run_id}.f{number}",
                    severity=severity,
                    summary=summary,
                    evidence_ids=[evidence[0].id],
                    confidence="inferred",
                    detail=detail,
                )
                for number, (severity, summary) in enumerate(findings, 1)
            ],
            evidence=evidence,
            limitations=list(limitations),
            suggested_next=["dump_stacks"],
            artifacts=list(artifacts),
            error=error,
            started_at=home.now(),
            run_id=slot.run_id,
        )
        self.session.end_run(slot, result)
        return result
