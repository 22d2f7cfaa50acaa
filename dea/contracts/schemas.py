"""JSON Schemas of the contracts, as other programs read them."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from dea.contracts import arguments
from dea.contracts.artifact import Artifact
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.readiness import Readiness
from dea.contracts.result import ToolResult
from dea.contracts.session import Session
from dea.contracts.target import Target

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _AbsentNotNull(GenerateJsonSchema):
    """An optional field may be absent but is never null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        json_schema = super().default_schema(schema)
        if json_schema.get("default", ...) is None:
            del json_schema["default"]
        return json_schema


class _Sent(_AbsentNotNull):
    """What we send always holds the fields that have a value by default."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        inner = field["schema"]
        if inner["type"] != "default":
            return super().field_is_required(field, total)
        return "default" not in inner or inner["default"] is not None


def schema_of(model: type[BaseModel], *, sent: bool) -> dict[str, Any]:
    """The schema of one model; `sent` for what leaves DEA, else for what it accepts."""
    schema = model.model_json_schema(
        ref_template=DEFAULT_REF_TEMPLATE, schema_generator=_Sent if sent else _AbsentNotNull
    )
    return {"$schema": DIALECT, **schema}


def arguments_schema(tool: str) -> dict[str, Any]:
    """What one tool takes; fields with a default are not required."""
    return schema_of(arguments.BY_TOOL[tool], sent=False)


def all_schemas() -> dict[str, dict[str, Any]]:
    """Every contract by the name of its file in schemas/."""
    sent: dict[str, type[BaseModel]] = {
        "tool_result": ToolResult,
        "finding": Finding,
        "evidence": Evidence,
        "artifact": Artifact,
        "target": Target,
        "session": Session,
        "readiness": Readiness,
    }
    schemas = {name: schema_of(model, sent=True) for name, model in sent.items()}
    schemas["tool_args"] = {tool: arguments_schema(tool) for tool in arguments.BY_TOOL}
    return schemas
