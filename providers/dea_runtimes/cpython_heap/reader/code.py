"""Code objects, functions and frames: names of variables and places in source files."""

from collections.abc import Iterator
from contextlib import suppress

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.objects import Objects

_MOST_NAMES = 2000
_MOST_THREADS = 5000
_MOST_FRAMES = 1000
OWNED_BY_GENERATOR = 1  # who owns a frame
_OWNED_BY_C = 3  # it only stands for a call from C
_FINISHED = (1, 2, 3, 4)  # of a generator's frame: completed, cleared (3.11 and later)


def is_code(objects: Objects, address: int) -> bool:
    try:
        return bool(address) and objects.info_of(address).name == "code"
    except TornError:
        return False


def tuple_items(objects: Objects, address: int, limit: int) -> tuple[int, ...]:
    count = min(objects.memory.u64(address + 16), limit)
    return objects.memory.u64s(address + objects.offsets["tuple.items"], count)


def variables(objects: Objects, code: int) -> list[str]:
    """Names of a code object's variables in the order of their slots; the closure's are last."""
    keys = ["code.variables"]
    if objects.minor <= 10:
        keys += ["code.cells", "code.free"]
    tables = [objects.memory.u64(code + objects.offsets[key]) for key in keys]
    return [
        objects.text(name) for table in tables for name in tuple_items(objects, table, _MOST_NAMES)
    ]


def code_place(objects: Objects, code: int) -> tuple[str, str, int]:
    """Name, file and first line. The name is qualified ("Store.add") from 3.11 on."""
    memory, offsets = objects.memory, objects.offsets
    name = offsets.get("code.qualname", offsets["code.name"])
    return (
        objects.text(memory.u64(code + name)),
        objects.text(memory.u64(code + offsets["code.filename"])),
        memory.u32(code + offsets["code.first_line"]),
    )


def function_place(objects: Objects, function: int) -> tuple[str, str, int]:
    """Qualified name, file and first line of a function."""
    memory, offsets = objects.memory, objects.offsets
    _, file, line = code_place(objects, memory.u64(function + offsets["function.code"]))
    return objects.text(memory.u64(function + offsets["function.qualname"])), file, line


def closure(objects: Objects, function: int) -> list[tuple[str, int]]:
    """Names and values of the variables that a function closes over."""
    memory, offsets = objects.memory, objects.offsets
    cells = memory.u64(function + offsets["function.closure"])
    if not cells:
        return []
    held = tuple_items(objects, cells, _MOST_NAMES)
    names = variables(objects, memory.u64(function + offsets["function.code"]))
    if len(held) > len(names):
        raise TornError("a function closes over more variables than it has")
    values = [memory.u64(cell + 16) for cell in held]
    return list(zip(names[len(names) - len(held) :], values, strict=True))


def frame_code(objects: Objects, frame: int) -> int:
    """3.14 keeps tag bits in the pointer."""
    return objects.memory.u64(frame + objects.offsets["frame.code"]) & ~7


def frame_locals(objects: Objects, frame: int) -> list[tuple[str, int]]:
    """Names and values of a frame's variables; a cell stands for what is in it."""
    names = variables(objects, frame_code(objects, frame))
    slots = objects.memory.u64s(frame + objects.offsets["frame.locals"], len(names))
    found: list[tuple[str, int]] = []
    for name, slot in zip(names, slots, strict=True):
        value = slot & ~7
        if value and objects.is_a(value, "Cell"):
            value = objects.memory.u64(value + 16)
        if value:
            found.append((name, value))
    return found


def generator_frame(objects: Objects, generator: int) -> int:
    """The frame of a suspended generator or coroutine; 0 when it is finished."""
    memory, offsets = objects.memory, objects.offsets
    if objects.minor <= 10:
        return memory.u64(generator + offsets["generator.frame"])
    if memory.u8(generator + offsets["generator.state"]) in _FINISHED:
        return 0
    return generator + offsets["generator.frame"]


def frames(interpreter: Interpreter, objects: Objects) -> Iterator[int]:
    """The Python frames of all threads, innermost first."""
    memory, offsets = objects.memory, objects.offsets
    thread = memory.u64(interpreter.address + offsets["interpreter.threads"])
    seen: set[int] = set()
    while thread and thread not in seen and len(seen) < _MOST_THREADS:
        seen.add(thread)
        if objects.minor in (11, 12):
            running = memory.u64(thread + offsets["thread.cframe"])
            frame = memory.u64(running + offsets["cframe.current"])
        else:
            frame = memory.u64(thread + offsets["thread.frame"])
        with suppress(TornError):  # a thread that was just entering or leaving a function
            yield from _chain(objects, frame)
        thread = memory.u64(thread + 8)


def _chain(objects: Objects, frame: int) -> Iterator[int]:
    memory, offsets = objects.memory, objects.offsets
    for _ in range(_MOST_FRAMES):
        if not frame:
            return
        owner = memory.u8(frame + offsets["frame.owner"]) if "frame.owner" in offsets else 0
        if owner < _OWNED_BY_C and is_code(objects, frame_code(objects, frame)):
            yield frame
        frame = memory.u64(frame + offsets["frame.back"])
