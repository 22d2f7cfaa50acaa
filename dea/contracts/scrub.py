"""Makes any JSON-like value safe to send: text that every client can read, numbers that JSON holds."""

import math
import re
from collections.abc import Sequence
from typing import Any

SAFE_INTEGER = 2**53 - 1  # the largest integer a JavaScript client reads exactly
MAX_DEPTH = 32
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Text without lone surrogates, control or bidi-override characters (tab and newline stay)."""
    return _CONTROL.sub(
        "\N{REPLACEMENT CHARACTER}", _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    )


def one_line(text: str, cap: int = 200) -> str:
    """Text from a target as one printable line of at most `cap` characters."""
    line = " ".join(clean_text(text).split())
    return line if len(line) <= cap else line[: cap - 1] + "…"


def scrub(value: Any, depth: int = 0) -> Any:
    """The value with clean strings, finite floats, safe integers and bounded nesting."""
    if depth > MAX_DEPTH:
        return "…"
    match value:
        case str():
            return clean_text(value)
        case bool() | None:
            return value
        case int():
            return max(-SAFE_INTEGER, min(SAFE_INTEGER, value))
        case float():
            return value if math.isfinite(value) else None
        case dict():
            fields: dict[Any, Any] = value
            return {clean_text(str(key)): scrub(item, depth + 1) for key, item in fields.items()}
        case list() | tuple():
            items: Sequence[Any] = value
            return [scrub(item, depth + 1) for item in items]
        case _:
            return clean_text(str(value))
