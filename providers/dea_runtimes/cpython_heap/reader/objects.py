"""Reads Python objects: strings, dictionaries and types."""

from dataclasses import dataclass
from typing import Literal

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.cpython_heap.reader.offsets import Offsets

Kind = Literal[
    "dict", "list", "tuple", "set", "deque", "ring", "bytearray", "buffer", "type", "str", ""
]

HEAP_TYPE, READY = 1 << 9, 1 << 12
INLINE_VALUES, MANAGED_DICT = 1 << 2, 1 << 4
_KIND_FLAGS: tuple[tuple[int, Kind], ...] = (
    (1 << 29, "dict"),
    (1 << 25, "list"),
    (1 << 26, "tuple"),
    (1 << 31, "type"),
    (1 << 28, "str"),
)
# Types written in C that are told by their name.
_KIND_NAMES: dict[str, Kind] = {
    "collections.deque": "deque",
    "_queue.SimpleQueue": "ring",  # from 3.13 on
    "_io.BytesIO": "buffer",
    "_io.StringIO": "buffer",
}
# The field that holds the number of items: ob_size, ma_used, `used` of a set, ...
LENGTH_AT: dict[Kind, int] = {
    "dict": 16,
    "list": 16,
    "deque": 16,
    "bytearray": 16,
    "set": 24,
    "buffer": 32,
    "ring": 56,
}
BYTE_KINDS: frozenset[Kind] = frozenset(("bytearray", "buffer"))  # their length is in bytes
_STRING_KINDS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True)
class TypeInfo:
    """What matters of a type object. `name` has its module when it was made by Python code."""

    address: int
    name: str
    flags: int
    size_bytes: int
    dict_offset: int
    kind: Kind

    @property
    def is_heap_type(self) -> bool:
        return bool(self.flags & HEAP_TYPE)


class Objects:
    """The Python objects in a memory. `types` maps "Dict" to the address of PyDict_Type."""

    def __init__(self, memory: Memory, minor: int, offsets: Offsets, types: dict[str, int]) -> None:
        self.memory, self.minor, self.offsets, self.types = memory, minor, offsets, types
        self._types: dict[int, TypeInfo] = {}
        self._texts: dict[int, str] = {}

    def of(self, memory: Memory) -> "Objects":
        """The same interpreter, seen through another memory."""
        return Objects(memory, self.minor, self.offsets, self.types)

    def type_of(self, address: int) -> int:
        return self.memory.u64(address + 8)

    def info_of(self, address: int) -> TypeInfo:
        return self.info(self.type_of(address))

    def is_a(self, address: int, name: str) -> bool:
        return self.type_of(address) == self.types[name]

    def text(self, address: int, limit: int = 300) -> str:
        """A str that names something (a variable, class, module or file)."""
        found = self._texts.get(address)
        if found is None:
            found = self._texts[address] = self._read_text(address, limit)
        return found

    def _read_text(self, address: int, limit: int) -> str:
        memory = self.memory
        if not self.is_a(address, "Unicode"):
            raise TornError(f"no str at {address:#x}")
        state = memory.u32(address + 32)
        width = state >> 2 & 7
        if not state & 32 or width not in _STRING_KINDS:
            raise TornError(f"odd str at {address:#x}")
        data = address + self.offsets["str.ascii" if state & 64 else "str.data"]
        count = min(memory.u64(address + 16), limit) * width
        return memory.read(data, count).decode(_STRING_KINDS[width], "replace")

    def items(self, dictionary: int, limit: int = _MOST_ENTRIES) -> list[tuple[int, int]]:
        """Keys and values of a dict, as addresses."""
        keys, values = self.memory.u64s(dictionary + 32, 2)
        return self.entries(keys, values and values + self.offsets["values.items"], limit)

    def named(self, dictionary: int, limit: int = _MOST_ENTRIES) -> list[tuple[str, int]]:
        """A dict whose keys are names."""
        return [(self.text(key), value) for key, value in self.items(dictionary, limit)]

    def key_names(self, keys: int) -> list[str]:
        """All names in a key table, in order."""
        at, count, words = self._key_table(keys)
        table = self.memory.u64s(at, count * words)
        return [self.text(key) if key else "" for key in table[words - 2 :: words]]

    def entries(self, keys: int, values: int, limit: int = _MOST_ENTRIES) -> list[tuple[int, int]]:
        """Entries of a key table; `values`, when set, is where its values lie instead."""
        at, count, words = self._key_table(keys)
        count = min(count, limit)
        table = self.memory.u64s(at, count * words)
        names = table[words - 2 :: words]
        found = self.memory.u64s(values, count) if values else table[words - 1 :: words]
        return [(key, value) for key, value in zip(names, found, strict=True) if key and value]

    def table_bytes(self, dictionary: int) -> int:
        """The size of a dict's key table."""
        keys = self.memory.u64(dictionary + 32)
        at, count, words = self._key_table(keys)
        return at - keys + 8 * words * count

    def _key_table(self, keys: int) -> tuple[int, int, int]:
        """Where the entries begin, how many there are, and how many words each has."""
        memory = self.memory
        if self.minor <= 10:
            size, count = memory.u64(keys + 8), memory.u64(keys + 32)
            if not 0 < size <= 1 << 40 or size & size - 1:
                raise TornError(f"odd dict at {keys:#x}")
            width = 1 if size <= 0xFF else 2 if size <= 0xFFFF else 4 if size < 1 << 32 else 8
            at, words = keys + 40 + size * width, 3
        else:
            size_log2, index_log2, kind = memory.read(keys + 8, 3)
            if size_log2 > 40 or index_log2 > 44 or kind > 2:
                raise TornError(f"odd dict at {keys:#x}")
            size, count = 1 << size_log2, memory.u64(keys + 24)
            at, words = keys + 32 + (1 << index_log2), 2 if kind else 3
        if count > size:
            raise TornError(f"odd dict at {keys:#x}")
        return at, count, words

    def info(self, address: int) -> TypeInfo:
        """A type object, checked for plausibility."""
        found = self._types.get(address)
        if found is None:
            found = self._types[address] = self._read_type(address)
        return found

    def _read_type(self, address: int) -> TypeInfo:
        memory = self.memory
        name, flags = memory.text(memory.u64(address + 24)), memory.u64(address + 168)
        size_bytes, dict_offset = memory.u64(address + 32), memory.u64(address + 288)
        # 3.8 and 3.9 never ready the helper types of async generators.
        ready = flags & READY or name.startswith("async_generator")
        if not name or not name.isprintable() or not 16 <= size_bytes < 1 << 20 or not ready:
            raise TornError(f"no type at {address:#x}")
        if flags & HEAP_TYPE and "." not in name:
            name = self._qualified(address, name)
        if dict_offset >> 63:
            dict_offset -= 1 << 64
        return TypeInfo(address, name, flags, size_bytes, dict_offset, self._kind(address, flags))

    def _qualified(self, address: int, name: str) -> str:
        for key, value in self.items(self.memory.u64(address + 264), 300):
            if self.text(key) == "__module__" and self.is_a(value, "Unicode"):
                module = self.text(value)
                return name if module == "builtins" else f"{module}.{name}"
        return name

    def _kind(self, address: int, flags: int) -> Kind:
        for flag, kind in _KIND_FLAGS:
            if flags & flag:
                return kind
        sets = (self.types["Set"], self.types["FrozenSet"])
        for base in self.bases(address):
            if base in sets:
                return "set"
            if base == self.types["ByteArray"]:
                return "bytearray"
            kind = _KIND_NAMES.get(self.memory.text(self.memory.u64(base + 24)), "")
            if kind and (kind != "ring" or self.minor >= 13):
                return kind
        return ""

    def bases(self, address: int) -> list[int]:
        """The type and its first bases, innermost first."""
        chain: list[int] = []
        while address and len(chain) < 30:
            chain.append(address)
            address = self.memory.u64(address + 256)
        return chain

    def length(self, address: int, kind: Kind) -> int:
        return self.memory.u64(address + LENGTH_AT[kind])
