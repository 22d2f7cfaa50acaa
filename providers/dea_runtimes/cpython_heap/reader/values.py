"""Lengths of what the user's own variables hold, by name: a value may be replaced by a longer one.

`LOG += text` or `ROWS = ROWS + [row]` lets nothing grow in place; only the name shows it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from dea_runtimes.cpython_heap.reader.code import code_place, frame_code, frame_locals, frames
from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.objects import Objects
from dea_runtimes.cpython_heap.reader.places import ModulePlaces, is_own
from dea_runtimes.cpython_heap.reader.references import ReferenceReader
from dea_runtimes.cpython_heap.reader.steps import Step

TEXTS = ("str", "bytes")
_CONTAINERS = ("list", "dict", "set", "tuple")
_LEAST_ADDED = {**dict.fromkeys(TEXTS, 16 << 10), **dict.fromkeys(_CONTAINERS, 16)}
_MOST_ATTRIBUTES = 200

Key = tuple[tuple[str, str, str], ...]


class Value(NamedTuple):
    """What one variable held at one moment."""

    type_name: str
    address: int
    length: int
    way: list[Step]


def named_values(interpreter: Interpreter, objects: Objects) -> dict[Key, Value]:
    """Variables of the user's modules and running functions, and attributes of what they hold."""
    found: dict[Key, Value] = {}
    reader = ReferenceReader(objects, 0)
    modules = ModulePlaces(objects, interpreter.modules)
    for way, address in _variables(interpreter, objects, modules):
        try:
            _add(objects, found, way, address)
            for name, value, of, file in _members(objects, modules, reader, address):
                role = "attribute" if objects.info_of(address).kind != "type" else "class attribute"
                step = Step(role=role, name=name, of=of, file=file, line=0)
                _add(objects, found, [*way, step], value)
        except TornError:
            continue
    return found


def replaced(first: dict[Key, Value], second: dict[Key, Value]) -> list[tuple[Key, int]]:
    """Names that hold a longer value than before and its length then; the most grown first."""
    found: list[tuple[int, Key, int]] = []
    for key, now in second.items():
        before = first.get(key)
        if before is None or before.type_name != now.type_name:
            continue
        added = now.length - before.length
        moved = before.address != now.address or now.type_name in TEXTS
        if moved and added >= _LEAST_ADDED[now.type_name]:
            found.append((added, key, before.length))
    return [(key, length) for _, key, length in sorted(found, reverse=True)]


def _variables(
    interpreter: Interpreter, objects: Objects, modules: ModulePlaces
) -> Iterator[tuple[list[Step], int]]:
    for place in modules.own_first():
        for name, value in place.variables if is_own(place.file) else ():
            step = Step(role="global", name=name, of=place.title, file=place.file, line=0)
            yield [step], value
    for frame in frames(interpreter, objects):
        try:
            of, file, line = code_place(objects, frame_code(objects, frame))
            held = frame_locals(objects, frame) if is_own(file) and of != "<module>" else []
        except TornError:
            continue
        for name, value in held:
            yield [Step(role="local", name=name, of=of, file=file, line=line)], value


def _add(objects: Objects, found: dict[Key, Value], way: list[Step], address: int) -> None:
    name = objects.info_of(address).name
    if name in TEXTS or name in _CONTAINERS:
        length = objects.memory.u64(address + (24 if name == "set" else 16))
        key = tuple((step["role"], step["name"], step["of"]) for step in way)
        found.setdefault(key, Value(name, address, length, way))


def _members(
    objects: Objects, modules: ModulePlaces, reader: ReferenceReader, address: int
) -> Iterator[tuple[str, int, str, str]]:
    """Attributes of an instance of the user's classes, or of such a class: name, value, owner."""
    info = objects.info_of(address)
    cls = objects.info(address) if info.kind == "type" else info
    file = modules.class_file(cls.name)
    if not cls.is_heap_type or not is_own(file):
        return
    of = modules.class_title(cls.name)
    if info.kind == "type":
        held = [(r.name, r.target) for r in reader.named(address, info)]
    else:
        held = reader.attributes(address, info)
    for name, value in held[:_MOST_ATTRIBUTES]:
        if value:
            yield name, value, of, file
