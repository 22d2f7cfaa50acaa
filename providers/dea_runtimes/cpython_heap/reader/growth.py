"""Looks twice and tells which containers and classes grew, and where they hang."""

import time
from collections.abc import Callable
from typing import Any

from dea_runtimes.cpython_heap.reader.account import Account, Record, Told
from dea_runtimes.cpython_heap.reader.failures import TooLargeError, TornError
from dea_runtimes.cpython_heap.reader.image import find_image
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter, find_interpreter
from dea_runtimes.cpython_heap.reader.look import Look, take_look
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.cpython_heap.reader.objects import BYTE_KINDS
from dea_runtimes.cpython_heap.reader.places import ModulePlaces
from dea_runtimes.cpython_heap.reader.spread import find_spread
from dea_runtimes.cpython_heap.reader.unheld import observe_unheld
from dea_runtimes.cpython_heap.reader.values import named_values
from dea_runtimes.cpython_heap.reader.watch import Watch, Watched

_SECOND_LOOK_AT = 0.6  # of the window; what grew by then is watched for the rest of it
_POLL_S = 0.1
_VALUE_SAMPLES = 10  # some may catch the target in the middle of a change
_MOST_WATCHED = 200
_MOST_GROWN = 32
_LEAST_ADDED = 16
_LEAST_NEW = 64  # items of a container that was not there at the first look
_BYTES_PER_ITEM = 1024  # so many bytes added to a buffer count as one item
_MOST_TYPES = 400


def observe_growth(
    pid: int, duration_s: float, limit_bytes: int, record: Callable[[Record], None]
) -> None:
    """Record what was seen, one JSON object at a time. Raises CannotLookError."""
    memory = Memory(pid)
    image = find_image(memory)
    interpreter = find_interpreter(memory, image)
    record(
        {
            "record": "target",
            "version": ".".join(map(str, image.version)),
            "image": image.path,
            "collector": interpreter.collector,
            "notes": interpreter.notes,
        }
    )
    try:
        _Window(interpreter, duration_s, limit_bytes, record).observe()
    except TooLargeError as error:
        observe_unheld(interpreter, duration_s, str(error), record)


class _Window:
    """Two looks, the containers that grew watched until the end, and a third look if needed."""

    def __init__(
        self,
        interpreter: Interpreter,
        duration_s: float,
        limit_bytes: int,
        record: Callable[[Record], None],
    ) -> None:
        self._interpreter, self._record = interpreter, record
        self._duration_s, self._limit_bytes = duration_s, limit_bytes
        self._watch = Watch(interpreter.objects.memory)
        self._began = time.monotonic()

    def observe(self) -> None:
        first = self._look()
        lengths = {address: length for address, _, length, _ in first.census.containers()}
        _watch_longest(self._watch, first)
        first.snapshot.close()
        self._poll_until(_SECOND_LOOK_AT * self._duration_s)
        second = self._look()
        grown = _grown(second, lengths, self._watch)
        spread = find_spread(second, lengths, _LEAST_ADDED)
        told = list(Account(self._interpreter, first, second).tell(grown, spread))
        second.snapshot.close()
        watched_s = self._follow(told)
        self._recount(told)
        for one in told:
            if one.watched:
                one.record.update(points=one.watched.thinned(), gone=one.watched.gone)
            self._record(one.record)
        self._record({"record": "end", "window_s": round(watched_s, 3)})

    def _look(self) -> Look:
        look = take_look(self._interpreter, self._limit_bytes, self._began)
        self._record(_look_record(self._interpreter, look))
        return look

    def _follow(self, told: list[Told]) -> float:
        """Watch what was told to the end of the window; the second of the last reading."""
        began_s = time.monotonic() - self._began
        step_s = max(0.0, self._duration_s - began_s) / _VALUE_SAMPLES
        watched_s = began_s
        for number in range(1, _VALUE_SAMPLES + 1):
            watched_s = self._poll_until(began_s + number * step_s)
            if any(one.key for one in told):
                self._read_values(told)
        return watched_s

    def _read_values(self, told: list[Told]) -> None:
        """Read the variables of the running target, without holding it."""
        objects = self._interpreter.objects.of(self._interpreter.objects.memory)
        objects.memory.forget()
        try:
            values = named_values(self._interpreter, objects)
        except TornError:
            return
        for one in told:
            if one.key in values:
                one.record["samples"].append(values[one.key].length)

    def _recount(self, told: list[Told]) -> None:
        """Hold the target once more only if something can be told in no other way."""
        if any(one.recount for one in told):
            third = self._look()
            for one in told:
                if one.recount:
                    one.record["counts"].append(one.recount(third))

    def _poll_until(self, end_s: float) -> float:
        """Read the watched lengths until then, once at least; the second of the last reading."""
        while True:
            left = self._began + end_s - time.monotonic()
            time.sleep(max(0.0, min(_POLL_S, left)))
            now_s = time.monotonic() - self._began
            self._watch.poll(now_s)
            if now_s >= end_s:
                return now_s


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
