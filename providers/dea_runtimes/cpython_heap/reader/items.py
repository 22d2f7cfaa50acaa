"""The newest items of a container, and of which classes they are."""

from collections.abc import Iterable

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.objects import Objects, TypeInfo
from dea_runtimes.cpython_heap.reader.references import ReferenceReader


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
