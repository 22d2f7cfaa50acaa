"""For a heap too large to copy: the user's own variables only, and the target is never held."""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

from dea_runtimes.cpython_heap.reader.bounds import deque_limit
from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.landmarks import check_landmarks
from dea_runtimes.cpython_heap.reader.objects import Objects
from dea_runtimes.cpython_heap.reader.places import ModulePlaces
from dea_runtimes.cpython_heap.reader.sites import SiteFinder
from dea_runtimes.cpython_heap.reader.sizes import Sizes
from dea_runtimes.cpython_heap.reader.source import Sources
from dea_runtimes.cpython_heap.reader.values import Key, Value, named_values

Record = dict[str, Any]
Moment = tuple[float, dict[Key, Value]]

_READINGS = 12
_LEAST_READINGS = 5
_CHECKS = 20
_PAUSE_S = 0.01
_MOST_VALUES = 32


def observe_unheld(
    interpreter: Interpreter, duration_s: float, reason: str, record: Callable[[Record], None]
) -> None:
    """Record the variables whose length only ever went up. Raises CannotLookError."""
    fitted = _check(interpreter)
    moments = _read(interpreter, duration_s)
    record(
        {"record": "unheld", "reason": reason, "fitted": fitted, "at_s": [at for at, _ in moments]}
    )
    objects = _now(interpreter)
    modules = ModulePlaces(objects, interpreter.modules)
    sites = SiteFinder(Sources(objects.memory.pid), modules.own_files())
    sizes = Sizes(objects, modules)
    for seen in _climbing(moments)[:_MOST_VALUES]:
        record(_value_record(seen, sites, sizes, _now(interpreter)))
    record({"record": "end", "window_s": round(moments[-1][0], 3)})


def _now(interpreter: Interpreter) -> Objects:
    """The running target, with nothing remembered of how it was."""
    objects = interpreter.objects.of(interpreter.objects.memory)
    objects.memory.forget()
    return objects


def _check(interpreter: Interpreter) -> dict[str, int]:
    """A running target may be caught in the middle of a change, so it gets several chances."""
    reason = ""
    for _ in range(_CHECKS):
        try:
            return check_landmarks(interpreter, _now(interpreter))
        except TornError as error:
            reason = str(error)
            time.sleep(_PAUSE_S)
    raise CannotLookError(reason)


def _read(interpreter: Interpreter, duration_s: float) -> list[Moment]:
    began = time.monotonic()
    moments: list[Moment] = []
    for number in range(_READINGS):
        time.sleep(max(0.0, began + duration_s * number / (_READINGS - 1) - time.monotonic()))
        at_s = round(time.monotonic() - began, 3)
        try:
            moments.append((at_s, named_values(interpreter, _now(interpreter))))
        except TornError:
            continue
    if len(moments) < _LEAST_READINGS:
        raise CannotLookError("its variables change too fast to be read while it runs")
    return moments


def _climbing(moments: list[Moment]) -> list[list[tuple[float, Value]]]:
    """Values seen often enough that never got shorter and grew enough, most grown first."""
    found: list[tuple[int, list[tuple[float, Value]]]] = []
    for key in dict.fromkeys(key for _, values in moments for key in values):
        seen = [(at_s, values[key]) for at_s, values in moments if key in values]
        lengths = [value.length for _, value in seen]
        added = lengths[-1] - lengths[0]
        same_type = len({value.type_name for _, value in seen}) == 1
        if len(seen) < _LEAST_READINGS or added < seen[0][1].least_added or not same_type:
            continue
        if all(early <= late for early, late in pairwise(lengths)):
            found.append((added, seen))
    found.sort(key=lambda one: -one[0])
    return [seen for _, seen in found]


def _value_record(
    seen: list[tuple[float, Value]], sites: SiteFinder, sizes: Sizes, objects: Objects
) -> Record:
    first, middle, last = seen[0], seen[len(seen) // 2], seen[-1]
    value = last[1]
    size_bytes = bound = None
    with suppress(TornError):
        bound = deque_limit(objects, value.address) if value.kind == "deque" else None
        size_bytes = sizes.estimate(value.address, objects.info_of(value.address), value.length)
    return {
        "record": "value",
        "type": value.type_name,
        "kind": value.kind,
        "replaced": first[1].address != value.address,
        "at_s": [at_s for at_s, _ in (first, middle, last)],
        "counts": [moment.length for _, moment in (first, middle, last)],
        "samples": [moment.length for _, moment in seen],
        "length": value.length,
        "bound": bound,
        "bytes": size_bytes,
        "steps": value.way,
        "sites": sites.additions(value.way),
    }
