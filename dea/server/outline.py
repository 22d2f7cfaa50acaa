"""A shorter schema that is still true of whatever the longer one accepts."""

from typing import Any


def outline(schema: dict[str, Any]) -> dict[str, Any]:
    """Which fields there are and of which type, and no more.

    A model reads it once for each tool, and what is inside of a field it sees in every result.
    """
    known = schema.get("$defs", {})
    fields = {name: {"type": _type(part, known)} for name, part in schema["properties"].items()}
    return {"type": "object", "properties": fields, "required": schema["required"]}


def _type(schema: dict[str, Any], known: dict[str, Any]) -> str:
    kind: str = (known[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema)["type"]
    return kind
