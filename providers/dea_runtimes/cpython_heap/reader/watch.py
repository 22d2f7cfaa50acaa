"""Reads the lengths of single containers while the target runs; nothing is held for that."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.cpython_heap.reader.objects import LENGTH_AT, TypeInfo


@dataclass
class Watched:
    """Lengths of one container: (seconds, length). `gone` once something else is in its place."""

    address: int
    info: TypeInfo
    points: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    gone: bool = False

    def thinned(self, most: int = 40) -> list[tuple[float, int]]:
        """At most so many points, the first and the last among them."""
        step = max(1, len(self.points) // most)
        kept = self.points[:-1:step] + self.points[-1:]
        return [(round(at_s, 2), length) for at_s, length in kept]


class Watch:
    """Containers that are read again and again."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.all: dict[int, Watched] = {}

    def begin(self, containers: Iterable[tuple[int, TypeInfo, int]], at_s: float) -> None:
        """Watch more containers; those already watched stay as they are."""
        for address, info, length in containers:
            if address not in self.all:
                self.all[address] = Watched(address, info, [(at_s, length)])

    def poll(self, at_s: float) -> None:
        for watched in self.all.values():
            if not watched.gone:
                self._read(watched, at_s)

    def _read(self, watched: Watched, at_s: float) -> None:
        words = LENGTH_AT[watched.info.kind] // 8  # from the type to the length
        try:
            kind, *_, length = struct.unpack(
                f"<{words}Q", self._memory.read_now(watched.address + 8, 8 * words)
            )
        except TornError:
            watched.gone = True
            return
        if kind != watched.info.address or length >= 1 << 40:
            watched.gone = True
        elif at_s > watched.points[-1][0]:
            watched.points.append((at_s, length))
