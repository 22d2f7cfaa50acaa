"""Makes any JSON-like value safe to send: text that every client can read, numbers that JSON holds."""

import math
import re
from collections.abc import Iterable
from typing import Any, TypeGuard

SAFE_INTEGER = 2**53 - 1  # the largest integer a JavaScript client reads exactly
MAX_DEPTH = 32
# Control characters but tab and newline, line separators, lone surrogates, and what is invisible or
# turns the direction of text: such as tag characters, which a person does not see but a model reads.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]"
)


def clean_text(text: str) -> str:
    """Text with each character that is unsafe to show or to send replaced by U+FFFD."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str, cap: int = 200) -> str:
    """Text from a target as one printable line of at most `cap` characters."""
    line = clean_text(" ".join(text.split()))
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
        case bytes() | bytearray():
            return clean_text(value.decode("utf-8", "replace"))
        case _ if _is_fields(value):
            return {clean_text(str(key)): scrub(item, depth + 1) for key, item in value.items()}
        case _ if _is_items(value):
            return [scrub(item, depth + 1) for item in value]
        case _:
            return clean_text(str(value))


def _is_fields(value: Any) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def _is_items(value: Any) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, list | tuple | set | frozenset)
