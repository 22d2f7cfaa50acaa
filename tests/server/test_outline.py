"""The short schema says nothing that is not true of the long one."""

import json
from typing import Any

import jsonschema
import pytest

from dea.contracts.result import ToolResult
from dea.contracts.schemas import schema_of
from dea.contracts.target import Target
from dea.server.outline import outline

FULL = schema_of(ToolResult, sent=True)
SHORT = outline(FULL)


def test_it_names_every_field_and_its_type() -> None:
    assert list(SHORT["properties"]) == list(ToolResult.model_fields)
    assert SHORT["required"] == FULL["required"]
    assert SHORT["properties"]["target"] == {"type": "object"}
    assert SHORT["properties"]["evidence"] == {"type": "array"}
    assert SHORT["properties"]["error"] == {"type": "string"}


def test_it_closes_nothing_and_is_small() -> None:
    text = json.dumps(SHORT, separators=(",", ":"))
    assert "additionalProperties" not in text
    assert len(text) < 620


def test_a_result_fits_it_and_a_broken_one_does_not() -> None:
    result = ToolResult(
        ok=True, tool="t", session_id="", target=Target(kind="pid", id="7"), duration_ms=1,
        findings=[], evidence=[], limitations=[], suggested_next=[], artifacts=[],
    ).to_wire()  # fmt: skip
    jsonschema.validate(result, SHORT)
    without = {name: value for name, value in result.items() if name != "evidence"}
    broken: list[dict[str, Any]] = [without, {**result, "findings": "none"}]
    for content in broken:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(content, SHORT)
