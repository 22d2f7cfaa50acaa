"""The base of everything that crosses a boundary: strict fields, absent instead of null, safe text."""

from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)

from dea.contracts.scrub import SAFE_INTEGER, scrub

Count = Annotated[int, Field(ge=0, le=SAFE_INTEGER)]
Pid = Annotated[int, Field(gt=0, le=SAFE_INTEGER)]
Text = Annotated[str, Field(min_length=1)]
# Null is a value here ("does not apply on this platform"), not an unset field.
NullableInt = Annotated[
    int | None, WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "null"}]})
]
NullableBool = Annotated[bool | None, WithJsonSchema({"type": ["boolean", "null"]})]
NullableText = Annotated[str | None, WithJsonSchema({"type": ["string", "null"]})]


class Wire(BaseModel):
    """No extra fields, no NaN; a field that is None is left out, but for those named in `nullable`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    nullable: ClassVar[frozenset[str]] = frozenset()
    terse: ClassVar[bool] = False  # an optional list or dict that is empty is left out too

    @model_serializer(mode="wrap")
    def _leave_out_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        return {k: v for k, v in fields.items() if self._is_said(k, v)}

    def _is_said(self, name: str, value: Any) -> bool:
        if value is None:
            return name in self.nullable
        unsaid = (
            self.terse and value in ([], {}) and not type(self).model_fields[name].is_required()
        )
        return not unsaid

    def to_wire(self) -> dict[str, Any]:
        """The JSON object as it leaves DEA: scrubbed, without unset fields."""
        wire: dict[str, Any] = scrub(self.model_dump(mode="json"))
        return wire
