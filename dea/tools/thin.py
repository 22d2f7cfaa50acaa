"""Makes contract models smaller without breaking them: long texts cut, long lists thinned."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar, cast

from dea.contracts.data import Frame
from dea.contracts.evidence import Evidence
from dea.contracts.finding import Finding
from dea.contracts.readiness import ProviderReadiness, UnavailableTool
from dea.contracts.scrub import clean_text
from dea.contracts.wire import Wire

M = TypeVar("M", bound=Wire)
T = TypeVar("T")

PATH_LIMIT = 160  # a longer path is left out, since part of one is of no use
_SCALARS = 4  # numbers and names take so little room that four count as one item


@dataclass(frozen=True)
class Caps:
    """How much may stay: `items` of a list or mapping, bytes of a text and of a finding's detail."""

    items: int
    text_bytes: int
    detail_bytes: int


def thin(model: M, caps: Caps) -> M:
    """The same model, with every list, mapping and text in it within the caps."""
    changed = {name: small for name, value in model if (small := _thin(value, caps)) != value}
    return model.model_copy(update=changed) if changed else model


def thin_finding(finding: Finding, caps: Caps) -> Finding:
    detail = cut(finding.detail, caps.detail_bytes) if finding.detail else None
    return finding.model_copy(update={"summary": cut(finding.summary, 400), "detail": detail})


def thin_evidence(evidence: Evidence, caps: Caps) -> Evidence:
    changes: dict[str, Any] = {
        "summary": cut(evidence.summary, 300),
        "data": thin(evidence.data, caps),
    }
    if len(evidence.artifact or "") > PATH_LIMIT:
        changes |= {"artifact": None, "lines": None}
    return evidence.model_copy(update=changes)


def cut(text: str, cap: int) -> str:
    """The text, or as much of its beginning as takes `cap` bytes in JSON, with an ellipsis."""
    head = text[:cap]
    while len(json.dumps(clean_text(head), ensure_ascii=False).encode()) > cap + 2:
        head = head[: len(head) * 3 // 4]
    return text if len(head) == len(text) else head + "…"


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _thin(value: Any, caps: Caps) -> Any:
    if isinstance(value, str):
        return cut(value, caps.text_bytes)
    if isinstance(value, Wire):
        return thin(value, caps)
    if _is_list(value):
        return [_thin(item, caps) for item in _most_telling(value, caps.items)]
    if isinstance(value, dict):
        entries = _largest(cast(dict[str, Any], value), caps.items)
        return {cut(key, caps.text_bytes): _thin(item, caps) for key, item in entries}
    return value


def _most_telling(values: list[Any], count: int) -> list[Any]:
    """Those that tell most, in their order; a list begins with what matters, but for these."""
    match values[:1]:
        case [UnavailableTool()]:  # few by nature, and one that is left out would read as available
            return values
        case [str() | int()]:
            return values[: count * _SCALARS]
        case [Frame()]:  # the innermost shows what is called, the user's own show from where
            return _best(values, count, [i > 0 and not f.own for i, f in enumerate(values)])
        case [ProviderReadiness()]:
            return _best(values, count, [p.status == "ready" for p in values])
        case [tuple()] if len(values) > count:  # points of a series
            last = len(values) - 1
            return [values[round(i * last / max(count - 1, 1))] for i in range(count)]
        case _:
            return values[:count]


def _largest(mapping: dict[str, Any], count: int) -> list[tuple[str, Any]]:
    """The entries with the largest numbers, in their order."""
    entries = list(mapping.items())
    sizes = [-abs(v) if isinstance(v, int | float) else 0 for _, v in entries]
    return _best(entries, count, sizes)


def _best(values: Sequence[T], count: int, keys: Sequence[float]) -> list[T]:
    """The `count` values with the least keys, in their order."""
    wanted = sorted(range(len(values)), key=lambda i: (keys[i], i))[:count]
    return [values[i] for i in sorted(wanted)]
