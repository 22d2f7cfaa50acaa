"""The newest items of a container: what they are and about how much memory they take."""

from collections.abc import Iterable

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.objects import BYTE_KINDS, Objects, TypeInfo
from dea_runtimes.cpython_heap.reader.references import ReferenceReader

_SAMPLED = 24
_DEPTH = 4
_MOST_PER_CONTAINER = 3000
_SHARED_FROM = 6  # an object with more references than this belongs to nobody
_LINKS_BYTES = 16  # in front of every object that the collector knows
# fmt: off
_NOT_COUNTED = frozenset((
    "type", "module", "function", "code", "builtin_function_or_method", "NoneType", "bool",
    "method_descriptor", "wrapper_descriptor", "getset_descriptor", "member_descriptor",
    "property", "ellipsis",
))
# fmt: on


def newest(objects: Objects, address: int, info: TypeInfo, count: int) -> list[int]:
    """The values that came last, for a set any."""
    memory = objects.memory
    match info.kind:
        case "list":
            length, at = memory.u64s(address + 16, 2)
            first = max(0, length - count)
            return [item for item in memory.u64s(at + 8 * first, length - first) if item]
        case "dict":
            entries = objects.items(address)[-count:]
            return [item for entry in entries for item in entry]
        case "deque":
            return _deque_end(objects, address, count)
        case _:
            found = ReferenceReader(objects, 16 * count).of(address)
            return [reference.target for reference in found if reference.role == "item"][:count]


def _deque_end(objects: Objects, address: int, count: int) -> list[int]:
    memory = objects.memory
    left = min(memory.u64(address + 16), count)
    block, index = memory.u64(address + 32), memory.u64(address + 48)
    found: list[int] = []
    while left > 0 and index < 64:
        took = min(left, index + 1)
        found += memory.u64s(block + 8 + 8 * (index + 1 - took), took)
        block, index, left = memory.u64(block), 63, left - took
    return found


def class_names(objects: Objects, addresses: Iterable[int]) -> set[str]:
    """Classes among the objects, and among what plain containers in it hold."""
    found: set[str] = set()
    for address in addresses:
        try:
            info = objects.info_of(address)
            found.add(info.name)
            if info.kind in ("tuple", "list", "dict", "set", "deque"):
                found |= {objects.info_of(item).name for item in newest(objects, address, info, 4)}
        except TornError:
            continue
    return found


class Sizes:
    """Estimates memory by type and length; the content of strings is never read."""

    def __init__(self, objects: Objects) -> None:
        self._objects, self._memory = objects, objects.memory
        self._references = ReferenceReader(objects, 200)

    def estimate(self, address: int, info: TypeInfo, length: int) -> int | None:
        """Bytes that a container keeps alive, going by its newest items; None when unreadable."""
        if info.kind in BYTE_KINDS:
            return length
        try:
            items = newest(self._objects, address, info, _SAMPLED)
            own = self._own_bytes(address, info)
        except TornError:
            return None
        if not items:
            return own
        seen: set[int] = {address}
        total = sum(self._deep(item, seen, _DEPTH) for item in items)
        places = min(length, _SAMPLED)  # a dict yields keys and values
        return own + total * length // max(1, places)

    def _deep(self, address: int, seen: set[int], depth: int) -> int:
        if address in seen or len(seen) > _MOST_PER_CONTAINER:
            return 0
        seen.add(address)
        try:
            info = self._objects.info_of(address)
            if info.name in _NOT_COUNTED or self._memory.u32(address) > _SHARED_FROM:
                return 0
            total = self._own_bytes(address, info)
            if depth:
                for reference in self._references.of(address):
                    total += self._deep(reference.target, seen, depth - 1)
        except TornError:
            return 0
        return total

    def _own_bytes(self, address: int, info: TypeInfo) -> int:
        memory = self._memory
        match info.kind:
            case "list":
                return info.size_bytes + _LINKS_BYTES + 8 * memory.u64(address + 32)
            case "dict":
                return info.size_bytes + _LINKS_BYTES + self._objects.table_bytes(address)
            case "tuple":
                return info.size_bytes + _LINKS_BYTES + 8 * memory.u64(address + 16)
            case "set":
                return info.size_bytes + _LINKS_BYTES + 16 * (memory.u64(address + 32) + 1)
            case "deque":
                return info.size_bytes + 9 * memory.u64(address + 16)
            case "str":
                width = memory.u32(address + 32) >> 2 & 7
                return info.size_bytes + width * memory.u64(address + 16)
            case _:
                if info.name in ("bytes", "bytearray"):
                    return info.size_bytes + memory.u64(address + 16)
                return info.size_bytes + (_LINKS_BYTES if info.is_heap_type else 0)
