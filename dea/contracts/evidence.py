"""One fact, and where it stands in the raw bytes."""

from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import Field, SerializeAsAny, WithJsonSchema, model_validator

from dea.contracts.data import DATA_MODELS, Data, EvidenceKind
from dea.contracts.wire import Text, Wire

Line = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Fact:
    """What a parser yields: evidence that has no id yet.

    `file` is the name under which the backend stored the bytes, `lines` the first and last line
    (counted from 1) that show it.
    """

    data: Data
    summary: str
    file: str | None = None
    lines: tuple[int, int] | None = None


class Evidence(Wire):
    """`data` is the model of its kind, also after it was read back from JSON."""

    id: Text
    kind: EvidenceKind
    summary: Text
    data: Annotated[SerializeAsAny[Data], WithJsonSchema({})]
    artifact: str | None = None
    lines: tuple[Line, Line] | None = None

    @model_validator(mode="before")
    @classmethod
    def _type_data(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        fields = cast(dict[str, Any], value)
        model = DATA_MODELS.get(str(fields.get("kind")))
        if model is None or not isinstance(fields.get("data"), dict):
            return fields
        return {**fields, "data": model.model_validate(fields["data"])}

    @model_validator(mode="after")
    def _kind_fits(self) -> "Evidence":
        if self.data.kind != self.kind:
            raise ValueError(f"data of kind {self.data.kind} in evidence of kind {self.kind}")
        if self.lines is not None and self.lines[0] > self.lines[1]:
            raise ValueError(f"lines {self.lines} end before they begin")
        return self
