"""Turns the way to an object into steps that can be told: names, owners and places."""

from typing import TypedDict

from dea_runtimes.cpython_heap.reader.code import (
    code_place,
    frame_code,
    function_place,
    generator_frame,
)
from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.objects import Objects
from dea_runtimes.cpython_heap.reader.paths import Walk
from dea_runtimes.cpython_heap.reader.places import ModulePlaces
from dea_runtimes.cpython_heap.reader.references import ReferenceReader

_MOST_STEPS = 20


class Step(TypedDict):
    """One reference: `name` in the role it plays for its owner.

    `of` names the owner (a module, class or function), `file` and `line` say where it is from.
    """

    role: str
    name: str
    of: str
    file: str
    line: int


class StepReader:
    """Describes references by what owns them."""

    def __init__(self, objects: Objects, modules: ModulePlaces, walk: Walk) -> None:
        self._objects, self._modules, self._walk = objects, modules, walk

    def steps(self, target: int) -> list[Step]:
        """From the root to the target, the middle of a long way left out; empty without a way."""
        origin = self._walk.origins.get(target)
        links: list[tuple[str, str, int]] = []
        while origin is not None and origin.parent is not None:
            links.append((origin.role, origin.name, origin.parent))
            origin = self._walk.origins.get(origin.parent)
        if len(links) > _MOST_STEPS:
            links = [*links[: _MOST_STEPS // 2], *links[-_MOST_STEPS // 2 :]]
        return [self._step(*link) for link in reversed(links)]

    def _step(self, role: str, name: str, parent: int) -> Step:
        try:
            of, file, line = self._owner(role, parent)
        except TornError:
            of, file, line = "", "", 0
        return Step(role=role, name=name, of=of, file=file, line=line)

    def _owner(self, role: str, owner: int) -> tuple[str, str, int]:
        objects = self._objects
        if role == "global":
            place = self._modules.at(owner)
            return place.title, place.file, 0
        if role == "local" and self._walk.origins[owner].role == "frame":
            return code_place(objects, frame_code(objects, owner))
        if role == "class attribute":
            name = objects.info(owner).name
            return self._modules.class_title(name), self._modules.class_file(name), 0
        info = objects.info_of(owner)
        if info.address == objects.types["Function"]:
            return function_place(objects, owner)
        if role == "local":  # of a suspended generator or coroutine
            name = objects.text(objects.memory.u64(owner + objects.offsets["generator.qualname"]))
            return name, *self._generator_place(owner)
        if role == "cache":
            return self._cached_function(owner)
        return self._modules.class_title(info.name), self._modules.class_file(info.name), 0

    def _generator_place(self, generator: int) -> tuple[str, int]:
        frame = generator_frame(self._objects, generator)
        _, file, line = code_place(self._objects, frame_code(self._objects, frame))
        return file, line

    def _cached_function(self, owner: int) -> tuple[str, str, int]:
        """What functools.lru_cache wraps."""
        for reference in ReferenceReader(self._objects, 1).of(owner):
            if reference.role == "wrapped":
                return function_place(self._objects, reference.target)
        return "", "", 0
