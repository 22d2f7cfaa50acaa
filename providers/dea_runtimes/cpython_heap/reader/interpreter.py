"""Finds the roots of an interpreter: its modules, its threads and the lists of its objects."""

import time
from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.cpython_heap.reader.image import Image
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.cpython_heap.reader.objects import Objects
from dea_runtimes.cpython_heap.reader.offsets import offsets_of, published

_SEARCHED_BYTES = 16384
_HEAD_BYTES = 24  # two links, threshold, count
_ENABLED_BEFORE = 12
_COLLECTING_AT = 96  # behind the permanent generation's head and three statistics
_MOST_INTERPRETERS = 1000
_TRIES = 100
_PAUSE_S = 0.003
_TYPE_NAMES = {
    "Dict": "dict",
    "List": "list",
    "Tuple": "tuple",
    "Set": "set",
    "FrozenSet": "frozenset",
    "ByteArray": "bytearray",
    "Unicode": "str",
    "Type": "type",
    "Module": "module",
    "Function": "function",
    "Method": "method",
    "Cell": "cell",
    "Gen": "generator",
    "Coro": "coroutine",
    "AsyncGen": "async_generator",
    "Property": "property",
    "StaticMethod": "staticmethod",
    "ClassMethod": "classmethod",
    "MemberDescr": "member_descriptor",
}


@dataclass
class Interpreter:
    """The main interpreter of a target.

    `generations` is the head of its first list of objects; `collector` is "on" or "off", or
    "unknown".
    """

    objects: Objects
    address: int
    modules: int
    generations: int
    collector: str
    notes: list[str]

    def heads(self) -> list[int]:
        return list_heads(self.generations, self.objects.minor)

    def collecting(self, memory: Memory) -> bool:
        """A collection keeps reference counts where the back links are, so we must not look."""
        return memory.read_now(self.heads()[3] + _COLLECTING_AT, 4) != b"\0\0\0\0"


def find_interpreter(memory: Memory, image: Image) -> Interpreter:
    """Raises CannotLookError when a root is not where it should be, nor near."""
    offsets = offsets_of(image.minor)
    notes = list(image.notes)
    for name, value in published(memory, image.runtime, image.minor).items():
        if offsets[name] != value:
            notes.append(f"{name}: {value} is published, the table has {offsets[name]}")
            offsets[name] = value
    objects = Objects(memory, image.minor, offsets, image.types)
    require_types(objects)
    try:
        address = memory.u64(image.runtime + offsets["runtime.interpreters"])
        following = memory.u64(address + offsets["interpreter.next"])
        if following:
            notes.append("it has subinterpreters; only the main one was looked at")
        for _ in range(_MOST_INTERPRETERS):  # the main interpreter is the last
            if not following:
                break
            address = following
            following = memory.u64(address + offsets["interpreter.next"])
        modules = _find_modules(objects, address, notes)
        base = image.runtime if image.minor == 8 else address
        name = "runtime.generations" if image.minor == 8 else "interpreter.generations"
        generations = _find_generations(objects, base, base + offsets[name], notes)
        enabled = memory.i32(base + offsets[name] - _ENABLED_BEFORE)
    except TornError as error:
        raise CannotLookError(f"its interpreter is not laid out as expected ({error})") from None
    collector = {0: "off", 1: "on"}.get(enabled, "unknown")
    return Interpreter(objects, address, modules, generations, collector, notes)


def require_types(objects: Objects) -> None:
    """The types that we go by must be there under their names."""
    for name, address in objects.types.items():
        try:
            seen = objects.info(address).name
            fits = objects.is_a(address, "Type")
        except TornError:
            seen, fits = "nothing", False
        if seen != _TYPE_NAMES[name] or not fits:
            raise CannotLookError(f"where the type {_TYPE_NAMES[name]} should be is {seen}")


def list_heads(first: int, minor: int) -> list[int]:
    """Generations 0 to 2 and the permanent one (behind one more pointer before 3.14)."""
    permanent = first + 72 if minor >= 14 else (first + 79 & ~7) + 8
    return [first, first + _HEAD_BYTES, first + 2 * _HEAD_BYTES, permanent]


def _find_modules(objects: Objects, interpreter: int, notes: list[str]) -> int:
    """The dict sys.modules; searched for when it is not where the table says."""
    memory, offset = objects.memory, objects.offsets["interpreter.modules"]
    for at in (offset, *range(0, _SEARCHED_BYTES, 8)):
        try:
            address = memory.u64(interpreter + at)
            if objects.is_a(address, "Dict"):
                names = {objects.text(key) for key, _ in objects.items(address, 50)}
                if {"sys", "builtins"} <= names:
                    if at != offset:
                        notes.append(f"sys.modules found at {at}, the table has {offset}")
                    return address
        except TornError:
            continue
    raise CannotLookError("sys.modules was not found where its version keeps it")


def _find_generations(objects: Objects, base: int, expected: int, notes: list[str]) -> int:
    """The first list head; a collection moves whole lists, so it is tried again for a while."""
    memory = objects.memory
    # Debian's 3.13 has it 4 bytes earlier.
    places = (expected, expected - 4) if objects.minor == 13 else (expected,)
    for _ in range(_TRIES):
        for place in places:
            memory.forget()
            if _heads_fit(memory, place, objects.minor):
                return place
        time.sleep(_PAUSE_S)
    for place in range(base, base + _SEARCHED_BYTES, 4):
        if _heads_fit(memory, place, objects.minor):
            notes.append(f"object lists found at {place - base}, the table has {expected - base}")
            return place
    raise CannotLookError("the lists of its objects were not found where its version keeps them")


def _heads_fit(memory: Memory, first: int, minor: int) -> bool:
    """Four circular lists, one after the other. The end of the youngest moves all the time."""
    try:
        for head in list_heads(first, minor):
            following, previous = (link & ~3 for link in memory.u64s(head, 2))
            if memory.u64(following + 8) & ~3 != head:
                return False
            if head != first and memory.u64(previous) & ~3 != head:
                return False
            if not 0 <= memory.i32(head + 16) <= 10**9:
                return False
    except TornError:
        return False
    return True
