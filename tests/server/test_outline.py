"""The short schema says nothing that is not true of the long one."""

from dea.contracts.result import ToolResult
from dea.contracts.schemas import schema_of
from dea.server.outline import outline

FULL = schema_of(ToolResult, sent=True)


def test_it_names_every_field_and_details_only_what_is_asked_for() -> None:
    short = outline(FULL, detailed=("findings",))
    assert list(short["properties"]) == list(ToolResult.model_fields)
    assert short["required"] == FULL["required"]
    assert short["properties"]["target"] == {"type": "object"}
    assert short["properties"]["evidence"] == {"type": "array", "items": {"type": "object"}}
    finding = short["properties"]["findings"]["items"]
    assert finding["properties"]["severity"]["enum"] == ["info", "warn", "high"]
    assert "detail" not in finding["properties"]


def test_it_has_no_references_and_closes_nothing() -> None:
    short = str(outline(FULL, detailed=("findings", "evidence", "target", "artifacts")))
    assert "$ref" not in short
    assert "additionalProperties" not in short
    assert "{}" not in short
