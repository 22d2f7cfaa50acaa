"""A shorter schema that is still true of whatever the longer one accepts."""

from collections.abc import Collection
from typing import Any

# A tool's schema is read by a model with every list of tools: what says nothing to it stays out.
_KEPT = ("type", "required", "enum")
_LONGEST_ENUM = 4


def outline(schema: dict[str, Any], detailed: Collection[str]) -> dict[str, Any]:
    """Types, names and short enums; no references, bounds or closed objects.

    All fields at the top; inside of those that are `detailed`, the ones that are always there.
    """
    known = schema.get("$defs", {})
    fields = {
        name: _outline(part, known) if name in detailed else _type_of(part, known)
        for name, part in schema["properties"].items()
    }
    return {"type": "object", "properties": fields, "required": schema["required"]}


def _outline(schema: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    schema = _resolved(schema, known)
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if len(kept.get("enum", ())) > _LONGEST_ENUM:
        del kept["enum"]
    if "properties" in schema:
        always = schema.get("required", ())
        parts = schema["properties"]
        kept["properties"] = {name: _outline(parts[name], known) for name in always}
    if "items" in schema:
        kept["items"] = _outline(schema["items"], known)
    return kept or {"type": "object"}  # evidence data has no schema; it is always an object


def _type_of(schema: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    schema = _resolved(schema, known)
    items = {"items": _type_of(schema["items"], known)} if "items" in schema else {}
    return {"type": schema["type"], **items}


def _resolved(schema: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    resolved: dict[str, Any] = (
        known[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    )
    return resolved
