"""Checks the layout against what every CPython holds: its own modules and their functions."""

from itertools import pairwise

from dea_runtimes.cpython_heap.reader.code import (
    code_place,
    frame_code,
    frame_locals,
    frames,
    function_place,
    variables,
)
from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.objects import Objects
from dea_runtimes.cpython_heap.reader.references import ReferenceReader

_STANDARD = ("os", "posixpath", "codecs", "_collections_abc", "threading", "functools")
_LEAST_FUNCTIONS = 5
_LEAST_SPECS = 5
_LEAST_SHARE = 0.5
_LEAST_ORDERED_SHARE = 0.8


def check_landmarks(interpreter: Interpreter, objects: Objects) -> dict[str, int]:
    """How many landmarks were found. Raises TornError when they are not as they must be."""
    modules = dict(objects.named(interpreter.modules))
    return {
        "module specs": _check_specs(objects, modules),
        "standard functions": _check_functions(objects, modules),
        "variables": _check_variables(objects, modules),
        "frames": _check_frames(interpreter, objects),
    }


def _check_specs(objects: Objects, modules: dict[str, int]) -> int:
    """`__spec__.name` of a module is its name: so attributes are read from the right places."""
    reader, fitting, seen = ReferenceReader(objects, 0), 0, 0
    for name, module in modules.items():
        if not objects.is_a(module, "Module"):
            continue
        spec = dict(objects.named(objects.memory.u64(module + 16))).get("__spec__", 0)
        if not spec or not objects.info_of(spec).name.endswith("ModuleSpec"):
            continue
        seen += 1
        said = dict(reader.attributes(spec, objects.info_of(spec))).get("name", 0)
        if said and objects.is_a(said, "Unicode"):
            fitting += objects.text(said) == name
    if fitting < max(_LEAST_SPECS, _LEAST_SHARE * seen):
        raise TornError(f"{fitting} of {seen} module specs have their module's name")
    return fitting


def _check_functions(objects: Objects, modules: dict[str, int]) -> int:
    """Functions of a standard module carry their names and stand in the order of their lines."""
    for title in _STANDARD:
        module = modules.get(title)
        places = _functions(objects, title, module) if module else []
        if len(places) < _LEAST_FUNCTIONS:
            continue
        ordered = sum(a < b for a, b in pairwise(places))
        if ordered >= _LEAST_ORDERED_SHARE * (len(places) - 1):
            return len(places)
    raise TornError("no functions of the standard library under their names")


def _check_variables(objects: Objects, modules: dict[str, int]) -> int:
    """`posixpath.join(a, *p)` has had these parameters ever since."""
    module = modules.get("posixpath", 0)
    held = dict(objects.named(objects.memory.u64(module + 16))) if module else {}
    function = held.get("join", 0)
    if not function or not objects.is_a(function, "Function"):
        return 0
    names = variables(objects, objects.memory.u64(function + objects.offsets["function.code"]))
    if names[:2] != ["a", "p"]:
        raise TornError("the variables of functions are not where they should be")
    return len(names)


def _functions(objects: Objects, title: str, module: int) -> list[int]:
    """First lines of those functions of a module that have the right names and file."""
    memory, offsets = objects.memory, objects.offsets
    lines: list[int] = []
    for name, value in objects.named(memory.u64(module + 16)):
        if not objects.is_a(value, "Function"):
            continue
        code = memory.u64(value + offsets["function.code"])
        qualified, file, line = function_place(objects, value)
        names = {name, qualified, code_place(objects, code)[0]}
        names.add(objects.text(memory.u64(code + offsets["code.name"])))
        if len(names) == 1 and title in file:
            lines.append(line)
    return lines


def _check_frames(interpreter: Interpreter, objects: Objects) -> int:
    """What the variables of running functions hold must be objects."""
    fitting, misfits = 0, 0
    for frame in frames(interpreter, objects):
        try:
            known = all(objects.info_of(value).name for _, value in frame_locals(objects, frame))
        except TornError:
            known = False
        if known and _stack_fits(objects, frame):
            fitting += 1
        else:
            misfits += 1
    if misfits > fitting:
        raise TornError(f"{misfits} of {misfits + fitting} running functions do not fit")
    return fitting


def _stack_fits(objects: Objects, frame: int) -> bool:
    """Until 3.10 a frame tells where its variables end."""
    if objects.minor > 10:
        return True
    names = variables(objects, frame_code(objects, frame))
    end = frame + objects.offsets["frame.locals"] + 8 * len(names)
    return objects.memory.u64(frame + objects.offsets["frame.stack"]) == end
