"""What an object refers to, and under which name."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dea_runtimes.cpython_heap.reader.code import (
    closure,
    frame_locals,
    generator_frame,
    tuple_items,
)
from dea_runtimes.cpython_heap.reader.objects import (
    INLINE_VALUES,
    MANAGED_DICT,
    Objects,
    TypeInfo,
)

_DEQUE_BLOCK = 64  # items per block
_OBJECT_MEMBERS = (6, 16)  # T_OBJECT, T_OBJECT_EX
_MOST_ATTRIBUTES = 5000
_LRU_CACHE = "functools._lru_cache_wrapper"


class Reference(NamedTuple):
    """`role` says what the name is the name of."""

    role: str
    name: str
    target: int


References = Iterable[Reference]


class ReferenceReader:
    """Lists references. Of a container at most `fan_out` items are followed."""

    def __init__(self, objects: Objects, fan_out: int) -> None:
        self.objects, self.fan_out = objects, fan_out
        self._slots: dict[int, list[tuple[str, int]]] = {}
        self._names: dict[int, list[str]] = {}
        by_name: dict[str, Callable[[int], References]] = {
            "Function": self._function,
            "Cell": lambda a: [Reference("cell", "", objects.memory.u64(a + 16))],
            "Method": self._method,
            "StaticMethod": self._wrapped,
            "ClassMethod": self._wrapped,
            "Property": self._wrapped,
            **dict.fromkeys(("Gen", "Coro", "AsyncGen"), self._generator),
        }
        self._by_type = {objects.types[name]: reader for name, reader in by_name.items()}

    def of(self, address: int) -> References:
        """All references of one object. Raises TornError when it cannot be read."""
        info = self.objects.info_of(address)
        yield from (Reference("item", "", item) for item in self.items(address, info) if item)
        yield from self.named(address, info)

    def items(self, address: int, info: TypeInfo) -> Iterable[int]:
        """What a container holds; some places may be empty (0)."""
        memory, most = self.objects.memory, self.fan_out
        match info.kind:
            case "dict":
                return [value for _, value in self.objects.items(address, most)]
            case "list":
                count, at = memory.u64s(address + 16, 2)
                return memory.u64s(at, min(count, most))
            case "tuple":
                return tuple_items(self.objects, address, most)
            case "set":
                slots = min(memory.u64(address + 32) + 1, most)
                return memory.u64s(memory.u64(address + 40), 2 * slots)[::2]
            case "deque":
                return self._deque(address)
            case "ring":
                at, capacity = memory.u64s(address + 40, 2)
                return memory.u64s(at, min(capacity, most))
            case _:
                return ()

    def named(self, address: int, info: TypeInfo) -> References:
        """What an object refers to by a name, or in a role of its own."""
        special = self._by_type.get(info.address)
        if special is not None:
            return special(address)
        if info.kind == "type":
            return self._class(address)
        found = self._native(address, info) if not info.kind else []
        if info.is_heap_type or info.dict_offset:
            attributes = self.attributes(address, info)
            found += [Reference("attribute", name, value) for name, value in attributes]
        return found

    def _deque(self, address: int) -> list[int]:
        memory = self.objects.memory
        left = min(memory.u64(address + 16), self.fan_out)
        block, index = memory.u64(address + 24), memory.u64(address + 40)
        found: list[int] = []
        while left > 0 and index <= _DEQUE_BLOCK:
            count = min(left, _DEQUE_BLOCK - index)
            found += memory.u64s(block + 8 + 8 * index, count)
            block, index, left = memory.u64(block + 8 + 8 * _DEQUE_BLOCK), 0, left - count
        return found

    def _native(self, address: int, info: TypeInfo) -> list[Reference]:
        """Types written in C that hold Python objects in fields of their own."""
        memory = self.objects.memory
        if info.name == "functools.partial":
            names = ("func", "args", "keywords")
            values = memory.u64s(address + 16, 3)
            return [Reference("attribute", n, v) for n, v in zip(names, values, strict=True)]
        if info.name == _LRU_CACHE:
            return [
                Reference("cache", "", memory.u64(address + 72)),
                Reference("wrapped", "", memory.u64(address + 88)),
            ]
        if info.name == "_queue.SimpleQueue":  # until 3.12 it wraps a list
            return [Reference("attribute", "queue", memory.u64(address + 32))]
        return []

    def _function(self, address: int) -> References:
        memory, offsets = self.objects.memory, self.objects.offsets
        found = [Reference("closure", name, v) for name, v in closure(self.objects, address)]
        for field in ("defaults", "kwdefaults"):
            found.append(
                Reference("default", "", memory.u64(address + offsets[f"function.{field}"]))
            )
        attributes = memory.u64(address + offsets["function.dict"])
        if attributes:
            named = self.objects.named(attributes, _MOST_ATTRIBUTES)
            found += [Reference("attribute", name, value) for name, value in named]
        return found

    def _method(self, address: int) -> References:
        function, owner = self.objects.memory.u64s(address + 16, 2)
        return [Reference("self", "", owner), Reference("wrapped", "", function)]

    def _wrapped(self, address: int) -> References:
        return [Reference("wrapped", "", self.objects.memory.u64(address + 16))]

    def _generator(self, address: int) -> References:
        frame = generator_frame(self.objects, address)
        held = frame_locals(self.objects, frame) if frame else []
        return [Reference("local", name, value) for name, value in held]

    def _class(self, address: int) -> References:
        """Static types of C have nothing that Python code could let grow."""
        if not self.objects.info(address).is_heap_type:
            return []
        named = self.objects.named(self.objects.memory.u64(address + 264), _MOST_ATTRIBUTES)
        return [Reference("class attribute", name, value) for name, value in named]

    def attributes(self, address: int, info: TypeInfo) -> list[tuple[str, int]]:
        """Attributes of an instance: of its __dict__, also where it has none yet, and __slots__."""
        memory = self.objects.memory
        found = list(self._instance_dict(address, info))
        return found + [(name, memory.u64(address + at)) for name, at in self._members(info)]

    def _instance_dict(self, address: int, info: TypeInfo) -> Iterable[tuple[str, int]]:
        objects, memory = self.objects, self.objects.memory
        if objects.minor < 11 or not info.flags & MANAGED_DICT:
            held = memory.u64(address + info.dict_offset) if info.dict_offset > 0 else 0
            return objects.named(held, _MOST_ATTRIBUTES) if held else []
        held, values = memory.u64(address - 24), 0
        if objects.minor == 11:
            values = memory.u64(address - 32)
        elif objects.minor == 12 and held & 1:
            values = held + 1
        elif objects.minor >= 13 and not held and info.flags & INLINE_VALUES:
            used = memory.u8(address + info.size_bytes + 3)  # the values are still valid
            values = address + info.size_bytes if used else 0
        if values:
            names = self._shared_names(info)
            slots = memory.u64s(values + objects.offsets["values.items"], len(names))
            return [(name, value) for name, value in zip(names, slots, strict=True) if value]
        return objects.named(held, _MOST_ATTRIBUTES) if held else []

    def _shared_names(self, info: TypeInfo) -> list[str]:
        """Names of the attributes that instances without a dict of their own have, in order."""
        found = self._names.get(info.address)
        if found is None:
            keys = self.objects.memory.u64(info.address + self.objects.offsets["heaptype.keys"])
            found = self._names[info.address] = self.objects.key_names(keys)
        return found

    def _members(self, info: TypeInfo) -> list[tuple[str, int]]:
        """Names and places of a type's __slots__, those of its bases included."""
        found = self._slots.get(info.address)
        if found is None:
            found = self._slots[info.address] = []
            for base in self.objects.bases(info.address):
                if self.objects.info(base).is_heap_type:
                    found += self._own_members(base)
        return found

    def _own_members(self, address: int) -> list[tuple[str, int]]:
        objects, memory = self.objects, self.objects.memory
        found: list[tuple[str, int]] = []
        for key, value in objects.items(memory.u64(address + 264), _MOST_ATTRIBUTES):
            if objects.is_a(value, "MemberDescr"):
                member = memory.u64(value + 40)
                if memory.i32(member + 8) in _OBJECT_MEMBERS:
                    found.append((objects.text(key), memory.u64(member + 16)))
        return found
