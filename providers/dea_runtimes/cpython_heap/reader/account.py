"""Tells about what grew: where it hangs, what it holds, and which lines may have filled it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from dea_runtimes.cpython_heap.reader.bounds import bound_of
from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.items import class_names, newest
from dea_runtimes.cpython_heap.reader.look import Look
from dea_runtimes.cpython_heap.reader.paths import Walk, find_paths
from dea_runtimes.cpython_heap.reader.places import ModulePlaces
from dea_runtimes.cpython_heap.reader.sites import SiteFinder
from dea_runtimes.cpython_heap.reader.sizes import Sizes
from dea_runtimes.cpython_heap.reader.source import Sources
from dea_runtimes.cpython_heap.reader.spread import Spread
from dea_runtimes.cpython_heap.reader.steps import StepReader
from dea_runtimes.cpython_heap.reader.suspended import Suspended
from dea_runtimes.cpython_heap.reader.values import Key, replaced
from dea_runtimes.cpython_heap.reader.verify import length_fits
from dea_runtimes.cpython_heap.reader.watch import Watched

Record = dict[str, Any]

_MOST_CLASSES = 6
_MOST_CALLS = 6
_MOST_VALUES = 6
_LEAST_INSTANCES = 16
_ITEMS_LOOKED_AT = 16


@dataclass(frozen=True)
class Told:
    """A record that is complete once the window ends.

    A container was watched meanwhile, a variable (`key`) is read a few times more. What no
    container accounts for is counted once more by a last look: two counts alone cannot tell growth
    from a busy moment.
    """

    record: Record
    watched: Watched | None = None
    key: Key | None = None
    recount: Callable[[Look], int] | None = None


class Account:
    """Reads the copy of the second look."""

    def __init__(self, interpreter: Interpreter, first: Look, second: Look) -> None:
        self._interpreter, self._first, self._second = interpreter, first, second
        self._objects = second.objects
        self._modules = ModulePlaces(self._objects, interpreter.modules)
        self._sites = SiteFinder(Sources(second.snapshot.pid), self._modules.own_files())
        self._sizes = Sizes(self._objects, self._modules)

    def tell(self, grown: list[Watched], spread: Spread | None) -> Iterator[Told]:
        fitting = [watched for watched in grown if self._fits(watched)]
        if len(fitting) < len(grown):
            yield Told({"record": "dropped", "containers": len(grown) - len(fitting)})
        classes = self._grown_classes()
        holds = {watched.address: self._held_classes(watched) for watched in fitting}
        holders = {name: at for at in reversed(holds) for name in holds[at] & classes.keys()}
        targets = [*holds, *(spread.samples if spread else ())]
        hoped = [at for name in classes.keys() - holders for at in self._samples(name)[:1]]
        walk = find_paths(self._interpreter, self._objects, self._modules, targets, hoped)
        steps = StepReader(self._objects, self._modules, walk)
        for watched in fitting:
            yield self._container(watched, walk, steps, holds[watched.address])
        yield from self._spread(spread, steps) if spread else ()
        for name, counts in classes.items():
            yield self._class(name, counts, holders.get(name), walk, steps)
        yield from self._replaced()
        yield from self._suspended()

    def _fits(self, watched: Watched) -> bool:
        length = self._objects.length(watched.address, watched.info.kind)
        return length_fits(self._objects, watched.address, watched.info.kind, length)

    def _held_classes(self, watched: Watched) -> set[str]:
        try:
            items = newest(self._objects, watched.address, watched.info, _ITEMS_LOOKED_AT)
        except TornError:
            return set()
        return class_names(self._objects, items)

    def _container(self, watched: Watched, walk: Walk, steps: StepReader, holds: set[str]) -> Told:
        way = steps.steps(watched.address)
        length = self._objects.length(watched.address, watched.info.kind)
        record = {
            "record": "container",
            "type": self._modules.class_title(watched.info.name),
            "kind": watched.info.kind,
            "address": f"{watched.address:#x}",
            "bound": bound_of(self._objects, walk, watched.address, watched.info),
            "length": length,
            "bytes": self._sizes.estimate(watched.address, watched.info, length),
            "holds": sorted(self._modules.class_title(name) for name in holds),
            "steps": way,
            "sites": self._sites.additions(way),
        }
        return Told(record, watched)

    def _spread(self, spread: Spread, steps: StepReader) -> Iterator[Told]:
        for type_address, (way, share) in spread.groups(steps).items():
            record = {
                "record": "spread",
                "type": self._objects.info(type_address).name,
                "containers": round(len(spread.members) * share),
                "share": round(share, 3),
                "length": round(spread.now * share),
                "counts": [spread.before, spread.now],
                "bytes": self._spread_bytes(spread, type_address, share),
                "steps": way,
                "sites": self._sites.additions(way),
            }
            yield Told(record, recount=spread.recount)

    def _spread_bytes(self, spread: Spread, type_address: int, share: float) -> int | None:
        """As much for each as the samples have on average."""
        info = self._objects.info(type_address)
        samples = [sample for sample in spread.samples if spread.members[sample] == type_address]
        total = 0
        for sample in samples:
            length = self._objects.length(sample, info.kind)
            size_bytes = self._sizes.estimate(sample, info, length)
            if size_bytes is None:
                return None
            total += size_bytes
        return round(total / len(samples) * len(spread.members) * share)

    def _grown_classes(self) -> dict[str, tuple[int, int]]:
        """Classes made by Python code with more instances than before, and both counts."""
        before, now = self._first.census.by_name(), self._second.census.by_name()
        made = {c.info.name for c in self._second.census.types.values() if c.info.is_heap_type}
        grown = [name for name in made if now[name] - before.get(name, 0) >= _LEAST_INSTANCES]
        grown.sort(key=lambda name: before.get(name, 0) - now[name])
        return {name: (before.get(name, 0), now[name]) for name in grown[:_MOST_CLASSES]}

    def _samples(self, name: str) -> list[int]:
        counted = self._second.census.types.values()
        return [address for c in counted if c.info.name == name for address in c.samples]

    def _class(
        self,
        name: str,
        counts: tuple[int, int],
        holder: int | None,
        walk: Walk,
        steps: StepReader,
    ) -> Told:
        reached = (sample for sample in self._samples(name) if sample in walk.origins)
        record = {
            "record": "class",
            "type": self._modules.class_title(name),
            "file": self._modules.class_file(name),
            "counts": list(counts),
            "holder": f"{holder:#x}" if holder else None,
            "steps": steps.steps(holder or next(reached, 0)),
            "sites": self._sites.constructions(name),
        }
        return Told(record, recount=None if holder else partial(_instances, name))

    def _replaced(self) -> Iterator[Told]:
        """Variables that hold a longer value each time."""
        names = replaced(self._first.values, self._second.values)
        for key, before in names[:_MOST_VALUES]:
            value = self._second.values[key]
            info = self._objects.info_of(value.address)
            record = {
                "record": "value",
                "type": value.type_name,
                "kind": value.kind,
                "replaced": True,
                "counts": [before, value.length],
                "samples": [before, value.length],
                "length": value.length,
                "bytes": self._sizes.estimate(value.address, info, value.length),
                "steps": value.way,
                "sites": self._sites.additions(value.way),
            }
            yield Told(record, key=key, recount=partial(_length, key))

    def _suspended(self) -> Iterator[Told]:
        """Calls of one function that pile up, such as tasks that never end."""
        before, now = self._first.suspended, self._second.suspended
        grown = [call for call in now if now[call] - before.get(call, 0) >= _LEAST_INSTANCES]
        grown.sort(key=lambda call: before.get(call, 0) - now[call])
        for call in grown[:_MOST_CALLS]:
            counts = [before.get(call, 0), now[call]]
            record = {"record": "suspended", **call._asdict(), "counts": counts}
            yield Told(record, recount=partial(_calls, call))


def _instances(name: str, look: Look) -> int:
    return look.census.by_name().get(name, 0)


def _length(key: Key, look: Look) -> int:
    value = look.values.get(key)
    return value.length if value else 0


def _calls(call: Suspended, look: Look) -> int:
    return look.suspended.get(call, 0)
