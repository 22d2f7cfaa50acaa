"""Lengths of what the user's own variables hold, by name: a value may be replaced by a longer one.

`LOG += text` or `ROWS = ROWS + [row]` lets nothing grow in place; only the name shows it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from dea_runtimes.cpython_heap.reader.code import code_place, frame_code, frame_locals, frames
from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.objects import BYTE_KINDS, LENGTH_AT, Kind, Objects
from dea_runtimes.cpython_heap.reader.places import ModulePlaces, is_own
from dea_runtimes.cpython_heap.reader.references import ReferenceReader
from dea_runtimes.cpython_heap.reader.steps import Step

_TEXTS = ("str", "bytes")
_LEAST_ADDED = 16
_LEAST_ADDED_BYTES = 16 << 10
_MOST_ATTRIBUTES = 200
_DEPTH = 2  # attributes of attributes of what a variable holds

Key = tuple[tuple[str, str, str], ...]


class Value(NamedTuple):
    """What one variable held at one moment."""

    type_name: str
    kind: Kind
    address: int
    length: int
    way: list[Step]

    @property
    def least_added(self) -> int:
        """What must be added to count as growth."""
        is_bytes = self.type_name in _TEXTS or self.kind in BYTE_KINDS
        return _LEAST_ADDED_BYTES if is_bytes else _LEAST_ADDED


def named_values(interpreter: Interpreter, objects: Objects) -> dict[Key, Value]:
    """Variables of the user's modules and running functions, and attributes of what they hold."""
    return _Collector(interpreter, objects).collect()


def replaced(first: dict[Key, Value], second: dict[Key, Value]) -> list[tuple[Key, int]]:
    """Names that hold a longer value than before and its length then; the most grown first."""
    found: list[tuple[int, Key, int]] = []
    for key, now in second.items():
        before = first.get(key)
        if before is None or before.type_name != now.type_name:
            continue
        added = now.length - before.length
        moved = before.address != now.address or now.type_name in _TEXTS
        if moved and added >= now.least_added:
            found.append((added, key, before.length))
    return [(key, length) for _, key, length in sorted(found, reverse=True)]


class _Collector:
    """Collects the values of one moment."""

    def __init__(self, interpreter: Interpreter, objects: Objects) -> None:
        self._interpreter, self._objects = interpreter, objects
        self._modules = ModulePlaces(objects, interpreter.modules)
        self._reader = ReferenceReader(objects, 0)
        self._found: dict[Key, Value] = {}

    def collect(self) -> dict[Key, Value]:
        for step, address in self._variables():
            self._visit([step], address, _DEPTH)
        return self._found

    def _visit(self, way: list[Step], address: int, depth: int) -> None:
        try:
            self._add(way, address)
            for step, value in self._members(address) if depth else ():
                self._visit([*way, step], value, depth - 1)
        except TornError:
            return

    def _add(self, way: list[Step], address: int) -> None:
        info = self._objects.info_of(address)
        if info.name in _TEXTS or info.kind == "tuple":
            length = self._objects.memory.u64(address + 16)
        elif info.kind in LENGTH_AT:
            length = self._objects.length(address, info.kind)
        else:
            return
        key = tuple((step["role"], step["name"], step["of"]) for step in way)
        self._found.setdefault(key, Value(info.name, info.kind, address, length, way))

    def _variables(self) -> Iterator[tuple[Step, int]]:
        objects = self._objects
        for place in self._modules.own_first():
            if not is_own(place.file):
                continue
            objects.memory.forget()  # of a running target, the values as they are right now
            for name, value in objects.named(objects.memory.u64(place.address + 16)):
                yield _step("global", name, place.title, place.file), value
        for frame in frames(self._interpreter, objects):
            objects.memory.forget()
            try:
                of, file, line = code_place(objects, frame_code(objects, frame))
                held = frame_locals(objects, frame) if is_own(file) and of != "<module>" else []
            except TornError:
                continue
            for name, value in held:
                yield _step("local", name, of, file, line), value

    def _members(self, address: int) -> Iterator[tuple[Step, int]]:
        """Attributes of an instance of the user's classes, or of such a class."""
        info = self._objects.info_of(address)
        cls = self._objects.info(address) if info.kind == "type" else info
        file = self._modules.class_file(cls.name)
        if not cls.is_heap_type or not is_own(file):
            return
        of = self._modules.class_title(cls.name)
        if info.kind == "type":
            role = "class attribute"
            held = [(r.name, r.target) for r in self._reader.named(address, info)]
        else:
            role, held = "attribute", self._reader.attributes(address, info)
        for name, value in held[:_MOST_ATTRIBUTES]:
            if value:
                yield _step(role, name, of, file), value


def _step(role: str, name: str, of: str, file: str, line: int = 0) -> Step:
    return Step(role=role, name=name, of=of, file=file, line=line)
