"""A shorter schema that is still true of whatever the longer one accepts."""

from typing import Any

# A tool's schema is read by a model with every list of tools: what says nothing to it stays out.
_KEPT = ("type", "required", "enum")
_LONGEST_ENUM = 4


def outline(schema: dict[str, Any]) -> dict[str, Any]:
    """Types, names and short enums; no references, bounds or closed objects.

    Below the top it names only what is always there.
    """
    known = schema.get("$defs", {})
    top = _outline(schema, known)
    optional = {name: _outline(part, known) for name, part in schema["properties"].items()}
    return top | {"properties": optional | top["properties"]}


def _outline(schema: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
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
