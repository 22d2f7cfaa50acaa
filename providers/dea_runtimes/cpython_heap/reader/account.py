"""Tells about what grew: where it hangs, what it holds, and which lines may have filled it."""

from collections.abc import Callable, Iterator
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
from dea_runtimes.cpython_heap.reader.steps import Step, StepReader
from dea_runtimes.cpython_heap.reader.verify import length_fits
from dea_runtimes.cpython_heap.reader.watch import Watched

Record = Callable[[dict[str, Any]], None]

_MOST_CLASSES = 6
_LEAST_INSTANCES = 16
_ITEMS_LOOKED_AT = 16


class Account:
    """Reads the copy of the second look."""

    def __init__(self, interpreter: Interpreter, look: Look, record: Record) -> None:
        self._interpreter, self._look, self._record = interpreter, look, record
        self._objects = look.objects
        self._modules = ModulePlaces(self._objects, interpreter.modules)
        self._sites = SiteFinder(Sources(look.snapshot.pid), self._modules.own_files())
        self._sizes = Sizes(self._objects, look.census)

    def tell(self, first: Look, grown: list[Watched], spread: Spread | None) -> None:
        fitting = [watched for watched in grown if self._fits(watched)]
        if len(fitting) < len(grown):
            self._record({"record": "dropped", "containers": len(grown) - len(fitting)})
        classes = dict(self._grown_classes(first))
        holds = {watched.address: self._held_classes(watched) for watched in fitting}
        holders = {name: at for at in reversed(holds) for name in holds[at] & classes.keys()}
        targets = [*holds, *(spread.samples if spread else ())]
        hoped = [at for name in classes.keys() - holders for at in self._samples(name)[:1]]
        walk = find_paths(self._interpreter, self._objects, self._modules, targets, hoped)
        steps = StepReader(self._objects, self._modules, walk)
        for watched in fitting:
            self._record(self._container(watched, walk, steps, holds[watched.address]))
        if spread:
            self._tell_spread(spread, steps)
        for name, (before, now) in classes.items():
            reached = (sample for sample in self._samples(name) if sample in walk.origins)
            at = holders.get(name) or next(reached, 0)
            self._tell_class(name, before, now, steps.steps(at), held=name in holders)

        self._tell_suspended(first)

    def _tell_suspended(self, first: Look) -> None:
        """Calls of one function that pile up, such as tasks that never end."""
        for call, now in self._look.suspended.items():
            before = first.suspended.get(call, 0)
            if now - before >= _LEAST_INSTANCES:
                kind, function, file, line = call
                self._record(
                    {
                        "record": "suspended",
                        "type": kind,
                        "function": function,
                        "file": file,
                        "line": line,
                        "before": before,
                        "now": now,
                    }
                )

    def _fits(self, watched: Watched) -> bool:
        length = self._objects.length(watched.address, watched.info.kind)
        return length_fits(self._objects, watched.address, watched.info.kind, length)

    def _held_classes(self, watched: Watched) -> set[str]:
        try:
            items = newest(self._objects, watched.address, watched.info, _ITEMS_LOOKED_AT)
        except TornError:
            return set()
        return class_names(self._objects, items)

    def _container(
        self, watched: Watched, walk: Walk, steps: StepReader, holds: set[str]
    ) -> dict[str, Any]:
        way = steps.steps(watched.address)
        length = self._objects.length(watched.address, watched.info.kind)
        return {
            "record": "container",
            "type": self._modules.class_title(watched.info.name),
            "kind": watched.info.kind,
            "address": f"{watched.address:#x}",
            "points": watched.thinned(),
            "gone": watched.gone,
            "bound": bound_of(self._objects, walk, watched.address, watched.info),
            "length": length,
            "bytes": self._sizes.estimate(watched.address, watched.info, length),
            "holds": sorted(self._modules.class_title(name) for name in holds),
            "steps": way,
            "sites": self._sites.additions(way),
        }

    def _tell_spread(self, spread: Spread, steps: StepReader) -> None:
        for type_address, (way, share) in spread.groups(steps).items():
            self._record(
                {
                    "record": "spread",
                    "type": self._objects.info(type_address).name,
                    "containers": round(spread.containers * share),
                    "length": round(spread.length * share),
                    "added": round(spread.added * share),
                    "bytes": self._spread_bytes(spread, type_address, share),
                    "steps": way,
                    "sites": self._sites.additions(way),
                }
            )

    def _spread_bytes(self, spread: Spread, type_address: int, share: float) -> int | None:
        """As much for each as the samples have on average."""
        info = self._objects.info(type_address)
        samples = [sample for sample in spread.samples if spread.types[sample] == type_address]
        total = 0
        for sample in samples:
            length = self._objects.length(sample, info.kind)
            size_bytes = self._sizes.estimate(sample, info, length)
            if size_bytes is None:
                return None
            total += size_bytes
        return round(total / len(samples) * spread.containers * share)

    def _grown_classes(self, first: Look) -> Iterator[tuple[str, tuple[int, int]]]:
        """Classes made by Python code with more instances than before."""
        before, now = first.census.by_name(), self._look.census.by_name()
        made = {c.info.name for c in self._look.census.types.values() if c.info.is_heap_type}
        grown = [name for name in made if now[name] - before.get(name, 0) >= _LEAST_INSTANCES]
        grown.sort(key=lambda name: before.get(name, 0) - now[name])
        for name in grown[:_MOST_CLASSES]:
            yield name, (before.get(name, 0), now[name])

    def _samples(self, name: str) -> list[int]:
        counted = self._look.census.types.values()
        return [address for c in counted if c.info.name == name for address in c.samples]

    def _tell_class(self, name: str, before: int, now: int, way: list[Step], *, held: bool) -> None:
        self._record(
            {
                "record": "class",
                "type": self._modules.class_title(name),
                "file": self._modules.class_file(name),
                "before": before,
                "now": now,
                "held": held,
                "steps": way,
                "sites": self._sites.constructions(name),
            }
        )
