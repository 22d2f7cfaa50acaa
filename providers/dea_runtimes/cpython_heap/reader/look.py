"""One look at the whole heap: copy it, count it, and do so again when the moment was a bad one."""

import time
from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.census import Census, take_census
from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.landmarks import check_landmarks
from dea_runtimes.cpython_heap.reader.objects import Objects
from dea_runtimes.cpython_heap.reader.snapshot import Snapshot
from dea_runtimes.cpython_heap.reader.suspended import Suspended, count_suspended
from dea_runtimes.cpython_heap.reader.values import Key, Value, named_values
from dea_runtimes.cpython_heap.reader.verify import verify_layout

_BUSY_TRIES = 300
_TORN_TRIES = 5
_PAUSE_S = 0.004


@dataclass
class Look:
    """What one look saw. `hold_s` are the times the target was held, one for each try."""

    at_s: float
    hold_s: list[float]
    snapshot: Snapshot
    objects: Objects
    census: Census
    fitted: dict[str, int]
    suspended: dict[Suspended, int]
    values: dict[Key, Value]


def take_look(interpreter: Interpreter, limit_bytes: int, began: float) -> Look:
    """Raises CannotLookError when no whole picture could be had."""
    holds: list[float] = []
    reason = ""
    for _ in range(_TORN_TRIES):
        snapshot = Snapshot(interpreter.objects.memory.pid, limit_bytes)
        try:
            at_s = _copy(interpreter, snapshot, holds, began)
            objects = interpreter.objects.of(snapshot)
            census = take_census(interpreter, objects, snapshot)
            fitted = verify_layout(objects, census) | check_landmarks(interpreter, objects)
            suspended = count_suspended(objects, census)
            values = named_values(interpreter, objects)
            return Look(at_s, holds, snapshot, objects, census, fitted, suspended, values)
        except TornError as error:
            reason = str(error)
            snapshot.close()
            time.sleep(_PAUSE_S)
    raise CannotLookError(f"no whole picture of its objects in {_TORN_TRIES} tries: {reason}")


def _copy(interpreter: Interpreter, snapshot: Snapshot, holds: list[float], began: float) -> float:
    """Copy at a moment when no collection is under way; the second at which it was taken."""
    for _ in range(_BUSY_TRIES):
        at_s = time.monotonic() - began
        free = snapshot.take(interpreter.collecting)
        holds.append(snapshot.hold_s)
        if free:
            return at_s
        time.sleep(_PAUSE_S)
    raise CannotLookError("its garbage collector was at work whenever we looked")
