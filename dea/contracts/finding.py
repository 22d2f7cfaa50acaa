"""What a rule concludes. Without evidence it cannot be constructed."""

from typing import Annotated, Literal

from pydantic import Field

from dea.contracts.wire import Text, Wire

Severity = Literal["info", "warn", "high"]
Confidence = Literal["observed", "inferred"]


class Finding(Wire):
    """`observed`: read directly. `inferred`: concluded from what was read."""

    id: Text
    severity: Severity
    summary: Text
    evidence_ids: Annotated[list[Text], Field(min_length=1)]
    confidence: Confidence
    detail: str | None = None
