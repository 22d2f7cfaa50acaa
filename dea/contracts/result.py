"""What every tool returns."""

from pydantic import model_validator

from dea.contracts.artifact import Artifact
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.target import Target
from dea.contracts.wire import Count, Text, Wire


class ToolResult(Wire):
    """`error` is set exactly when `ok` is false. Every cited evidence id must be among `evidence`."""

    ok: bool
    tool: Text
    session_id: str
    target: Target
    duration_ms: Count
    findings: list[Finding]
    evidence: list[Evidence]
    limitations: list[str]
    suggested_next: list[str]
    artifacts: list[Artifact]
    error: str | None = None
    started_at: str | None = None
    run_id: str | None = None

    @model_validator(mode="after")
    def _is_sound(self) -> "ToolResult":
        if self.ok == (self.error is not None):
            raise ValueError("error must be set exactly when ok is false")
        ids = [evidence.id for evidence in self.evidence]
        if len(ids) != len(set(ids)):
            raise ValueError("evidence ids are not unique")
        if len(self.findings) != len({finding.id for finding in self.findings}):
            raise ValueError("finding ids are not unique")
        for finding in self.findings:
            if unknown := set(finding.evidence_ids) - set(ids):
                raise ValueError(f"finding {finding.id} cites unknown evidence {sorted(unknown)}")
        return self
