"""Estimates how much memory a container keeps alive, going by its newest items."""

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.items import newest
from dea_runtimes.cpython_heap.reader.objects import BYTE_KINDS, Objects, TypeInfo
from dea_runtimes.cpython_heap.reader.places import ModulePlaces
from dea_runtimes.cpython_heap.reader.references import ReferenceReader

_SAMPLED = 24
_DEPTH = 4
_MOST_PER_CONTAINER = 3000
_SHARED_FROM = 6  # an object with more references than this belongs to nobody
_LINKS_BYTES = 16  # in front of every object that the collector knows
_EXCEPTION = 1 << 30
_DEALLOCATOR_AT = 48
# fmt: off
_NOT_COUNTED = frozenset((
    "type", "module", "function", "code", "builtin_function_or_method", "NoneType", "bool",
    "method_descriptor", "wrapper_descriptor", "getset_descriptor", "member_descriptor",
    "property", "ellipsis",
))
# Types of C that hold no memory but what their fields and references show.
_TRANSPARENT = frozenset((
    "object", "int", "float", "complex", "str", "bytes", "bytearray", "tuple", "list", "dict",
    "set", "frozenset", "cell", "method", "generator", "coroutine", "async_generator", "slice",
    "range", "collections.deque", "collections.OrderedDict", "collections.defaultdict",
    "functools.partial", "weakref", "ReferenceType", "weakref.ReferenceType", "datetime.datetime",
    "datetime.date", "datetime.time", "datetime.timedelta", "datetime.timezone", "_asyncio.Future",
    "_asyncio.Task", "_io.BytesIO", "_io.StringIO", "_thread.lock", "traceback", "frame",
))
# fmt: on


class OpaqueError(Exception):
    """A type of C that may own memory which no field shows."""


class Sizes:
    """Goes by types and lengths; the content of strings is never read."""

    def __init__(self, objects: Objects, modules: ModulePlaces) -> None:
        self._objects, self._memory = objects, objects.memory
        self._references = ReferenceReader(objects, 200)
        # All classes made by Python code share one deallocator; ModuleSpec is such a class.
        spec_type = modules.spec_type(objects)
        self._python_made = self._memory.u64(spec_type + _DEALLOCATOR_AT) if spec_type else 0
        self._transparent: dict[int, bool] = {}

    def estimate(self, address: int, info: TypeInfo, length: int) -> int | None:
        """Bytes that a container keeps alive; None when its items do not tell."""
        if info.kind in BYTE_KINDS:
            return length
        if info.kind == "str" or info.name == "bytes":
            return self._own_bytes(address, info)
        try:
            items = newest(self._objects, address, info, _SAMPLED)
            own = self._own_bytes(address, info)
            seen: set[int] = {address}
            total = sum(self._deep(item, seen, _DEPTH) for item in items)
        except (TornError, OpaqueError):
            return None
        return own + total * length // max(1, min(length, _SAMPLED))

    def _deep(self, address: int, seen: set[int], depth: int) -> int:
        if address in seen or len(seen) > _MOST_PER_CONTAINER:
            return 0
        seen.add(address)
        try:
            info = self._objects.info_of(address)
            if info.name in _NOT_COUNTED or self._memory.u32(address) > _SHARED_FROM:
                return 0
            if not self._is_transparent(info):
                raise OpaqueError(info.name)
            total = self._own_bytes(address, info)
            if depth:
                for reference in self._references.of(address):
                    total += self._deep(reference.target, seen, depth - 1)
        except TornError:
            return 0
        return total

    def _is_transparent(self, info: TypeInfo) -> bool:
        found = self._transparent.get(info.address)
        if found is None:
            found = all(self._is_open(base) for base in self._objects.bases(info.address))
            self._transparent[info.address] = found
        return found

    def _is_open(self, type_address: int) -> bool:
        info = self._objects.info(type_address)
        if info.name in _TRANSPARENT or info.flags & _EXCEPTION:
            return True
        deallocator = self._memory.u64(type_address + _DEALLOCATOR_AT)
        return info.is_heap_type and deallocator == self._python_made

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
                if info.kind in BYTE_KINDS:
                    return info.size_bytes + self._objects.length(address, info.kind)
                if info.name == "bytes":
                    return info.size_bytes + memory.u64(address + 16)
                return info.size_bytes + (_LINKS_BYTES if info.is_heap_type else 0)
