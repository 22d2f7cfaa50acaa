"""How many items a container may hold at most, where its owner says so."""

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.objects import Objects, TypeInfo
from dea_runtimes.cpython_heap.reader.paths import Walk
from dea_runtimes.cpython_heap.reader.references import ReferenceReader

_DEQUE_LIMIT_AT = 64
_LRU_LIMIT_AT = 96
_LIMIT_ATTRIBUTES = ("maxsize", "_maxsize")  # of queue.Queue and asyncio.Queue
_SIGN = 1 << 63


def bound_of(objects: Objects, walk: Walk, address: int, info: TypeInfo) -> int | None:
    """None when nothing limits it, as far as can be seen."""
    try:
        if info.kind == "deque" and (limit := deque_limit(objects, address)):
            return limit
        origin = walk.origins.get(address)
        if origin is None or origin.parent is None:
            return None
        if origin.role == "cache":
            return _positive(objects, origin.parent + _LRU_LIMIT_AT)
        return _queue_limit(objects, origin.parent) if origin.role == "attribute" else None
    except TornError:
        return None


def deque_limit(objects: Objects, address: int) -> int | None:
    return _positive(objects, address + _DEQUE_LIMIT_AT)


def _positive(objects: Objects, at: int) -> int | None:
    value = objects.memory.u64(at)
    return value if 0 < value < _SIGN else None


def _queue_limit(objects: Objects, owner: int) -> int | None:
    attributes = ReferenceReader(objects, 0).attributes(owner, objects.info_of(owner))
    for name, value in attributes:
        if name in _LIMIT_ATTRIBUTES and objects.info_of(value).name == "int":
            return _small_int(objects, value)
    return None


def _small_int(objects: Objects, address: int) -> int | None:
    """A positive int of one digit."""
    size, digit = objects.memory.u64(address + 16), objects.memory.u32(address + 24)
    if objects.minor >= 12:  # the digits are counted from bit 3; 1 and 2 below mean zero and less
        return digit if size >> 3 == 1 and not size & 3 else None
    return digit if size == 1 else None
