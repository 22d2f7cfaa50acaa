"""Counts generators and coroutines by the function that they are a call of."""

from collections import Counter
from typing import NamedTuple

from dea_runtimes.cpython_heap.reader.census import Census
from dea_runtimes.cpython_heap.reader.code import code_place, frame_code, generator_frame
from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.objects import Objects


class Suspended(NamedTuple):
    """`kind` is "coroutine", "generator" or "async_generator"."""

    kind: str
    function: str
    file: str
    line: int


def count_suspended(objects: Objects, census: Census) -> dict[Suspended, int]:
    """Calls that have not ended, by function; those that just begin or end are left out."""
    found: Counter[Suspended] = Counter()
    for name in ("Gen", "Coro", "AsyncGen"):
        counted = census.types.get(objects.types[name])
        if counted is None:
            continue
        for address in counted.samples:
            try:
                frame = generator_frame(objects, address)
                if frame:
                    place = code_place(objects, frame_code(objects, frame))
                    found[Suspended(counted.info.name, *place)] += 1
            except TornError:
                continue
    return found
