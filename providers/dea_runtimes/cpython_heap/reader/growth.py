"""Looks twice and tells which containers and classes grew, and where they hang."""

import time
from typing import Any

from dea_runtimes.cpython_heap.reader.account import Account, Record
from dea_runtimes.cpython_heap.reader.image import find_image
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter, find_interpreter
from dea_runtimes.cpython_heap.reader.look import Look, take_look
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.cpython_heap.reader.objects import BYTE_KINDS
from dea_runtimes.cpython_heap.reader.places import ModulePlaces
from dea_runtimes.cpython_heap.reader.spread import find_spread
from dea_runtimes.cpython_heap.reader.watch import Watch, Watched

_SECOND_LOOK_AT = 0.6  # of the window; what grew by then is watched for the rest of it
_POLL_S = 0.1
_MOST_WATCHED = 200
_MOST_GROWN = 32
_LEAST_ADDED = 16
_LEAST_NEW = 64  # items of a container that was not there at the first look
_BYTES_PER_ITEM = 1024  # so many bytes added to a buffer count as one item
_MOST_TYPES = 400


def observe_growth(pid: int, duration_s: float, limit_bytes: int, record: Record) -> None:
    """Record what was seen, one JSON object at a time. Raises CannotLookError."""
    memory = Memory(pid)
    image = find_image(memory)
    interpreter = find_interpreter(memory, image)
    record(
        {
            "record": "target",
            "version": ".".join(map(str, image.version)),
            "image": image.path,
            "notes": interpreter.notes,
        }
    )
    began = time.monotonic()
    watch = Watch(memory)
    first = take_look(interpreter, limit_bytes, began)
    record(_look_record(interpreter, first))
    lengths = {address: length for address, _, length, _ in first.census.containers()}
    _watch_longest(watch, first)
    first.snapshot.close()
    _poll_until(watch, began, _SECOND_LOOK_AT * duration_s)
    second = take_look(interpreter, limit_bytes, began)
    record(_look_record(interpreter, second))
    grown = _grown(second, lengths, watch)
    _poll_until(watch, began, duration_s)
    spread = find_spread(second, lengths, _LEAST_ADDED)
    Account(interpreter, second, record).tell(first, grown, spread)
    record({"record": "end", "window_s": round(duration_s, 3)})


def _look_record(interpreter: Interpreter, look: Look) -> dict[str, Any]:
    modules = ModulePlaces(look.objects, interpreter.modules)
    counts = sorted(look.census.by_name().items(), key=lambda item: -item[1])[:_MOST_TYPES]
    return {
        "record": "look",
        "at_s": round(look.at_s, 3),
        "held_s": [round(hold, 4) for hold in look.hold_s],
        "copied_bytes": look.snapshot.size_bytes,
        "objects": look.census.objects,
        "fitted": look.fitted,
        "types": {modules.class_title(name): count for name, count in counts},
    }


def _watch_longest(watch: Watch, look: Look) -> None:
    longest = sorted(look.census.containers(), key=lambda found: -found[2])[:_MOST_WATCHED]
    watch.begin(((address, info, length) for address, info, length, _ in longest), look.at_s)


def _poll_until(watch: Watch, began: float, end_s: float) -> None:
    while (left := began + end_s - time.monotonic()) > 0:
        time.sleep(min(_POLL_S, left))
        watch.poll(time.monotonic() - began)


def _grown(look: Look, before: dict[int, int], watch: Watch) -> list[Watched]:
    """Containers that are longer than at the first look, those that grew most first."""
    found: list[tuple[int, Watched]] = []
    for address, info, length, alive in look.census.containers():
        least = _LEAST_ADDED if address in before else _LEAST_NEW
        unit = _BYTES_PER_ITEM if info.kind in BYTE_KINDS else 1
        added = (length - before.get(address, 0)) // unit
        if added < least or (not alive and address not in before):
            continue
        watched = watch.all.get(address) or Watched(address, info)
        if not watched.points and address in before:
            watched.points.append((0.0, before[address]))
        watched.points.append((look.at_s, length))
        found.append((added, watched))
    found.sort(key=lambda pair: -pair[0])
    kept = [watched for _, watched in found[:_MOST_GROWN]]
    watch.all |= {watched.address: watched for watched in kept}
    return kept
