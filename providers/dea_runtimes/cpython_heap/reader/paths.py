"""Finds where objects hang: a walk from the modules' variables and the threads' frames."""

import time
from collections import deque
from collections.abc import Collection, Iterator
from typing import NamedTuple

from dea_runtimes.cpython_heap.reader.code import code_place, frame_code, frame_locals, frames
from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.objects import Objects
from dea_runtimes.cpython_heap.reader.places import ModulePlaces
from dea_runtimes.cpython_heap.reader.references import Reference, ReferenceReader

# Far most objects are of these; they refer to nothing, or to nothing that names a container.
# fmt: off
_LEAVES = frozenset((
    "str", "int", "float", "complex", "bytes", "bytearray", "bool", "NoneType", "ellipsis",
    "range", "code", "memoryview", "module", "builtin_function_or_method", "wrapper_descriptor",
    "method_descriptor", "classmethod_descriptor", "getset_descriptor", "member_descriptor",
    "method-wrapper", "PyCapsule", "weakref", "ReferenceType", "weakref.ReferenceType",
    "frozen_importlib.ModuleSpec", "importlib._bootstrap.ModuleSpec",
    "_frozen_importlib.ModuleSpec", "_frozen_importlib_external.SourceFileLoader",
))
# fmt: on
_SKIPPED_GLOBALS = frozenset(("__builtins__", "__spec__", "__loader__"))
# First a walk that sees little of each container; only if it misses something, one that sees most.
_ROUNDS = ((300, 300_000), (200_000, 1_500_000))
_LIMIT_S = 8.0  # of CPU time


class Origin(NamedTuple):
    """How an object was reached. A root has no parent: a module, or a frame."""

    role: str
    name: str
    parent: int | None


class Walk:
    """One breadth-first walk. `origins` tells how each object was reached first."""

    def __init__(
        self, interpreter: Interpreter, objects: Objects, modules: ModulePlaces, fan_out: int
    ) -> None:
        self._interpreter, self._objects, self._modules = interpreter, objects, modules
        self._reader = ReferenceReader(objects, fan_out)
        self._todo: deque[int] = deque()
        self._leaf_types: dict[int, bool] = {}
        self.origins: dict[int, Origin] = {}
        self.unreadable = 0
        self._missing: set[int] = set()

    def run(self, targets: Collection[int], most: int, until: float) -> None:
        """Walk until all targets were reached, `most` objects were, or the time is over."""
        self._missing = set(targets)
        for reference, owner in self._roots():
            self._reach(reference.role, reference.name, reference.target, owner)
        while self._missing and self._todo and len(self.origins) < most:
            self._follow(self._todo.popleft())
            if not len(self._todo) & 1023 and time.process_time() > until:
                return

    def _follow(self, address: int) -> None:
        try:
            info = self._objects.info_of(address)
            for item in self._reader.items(address, info):
                self._reach("item", "", item, address)
            for role, name, target in self._reader.named(address, info):
                self._reach(role, name, target, address)
        except TornError:
            self.unreadable += 1

    def _reach(self, role: str, name: str, target: int, owner: int) -> None:
        if not target or target in self.origins:
            return
        try:
            leaf = self._is_leaf(self._objects.memory.u64(target + 8))
        except TornError:
            self.unreadable += 1
            return
        wanted = target in self._missing
        if leaf and not wanted:
            return
        self.origins[target] = Origin(role, name, owner)
        if wanted:
            self._missing.discard(target)
        if not leaf:
            self._todo.append(target)

    def _is_leaf(self, type_address: int) -> bool:
        found = self._leaf_types.get(type_address)
        if found is None:
            found = self._objects.info(type_address).name in _LEAVES
            self._leaf_types[type_address] = found
        return found

    def _roots(self) -> Iterator[tuple[Reference, int]]:
        for place in self._modules.own_first():
            self.origins[place.address] = Origin("module", place.name, None)
        for place in self._modules.own_first():
            for name, value in place.variables:
                if name not in _SKIPPED_GLOBALS and not self._objects.is_a(value, "Module"):
                    yield Reference("global", name, value), place.address
        for frame in frames(self._interpreter, self._objects):
            try:
                held = frame_locals(self._objects, frame)
                code_place(self._objects, frame_code(self._objects, frame))
            except TornError:
                self.unreadable += 1
                continue
            self.origins[frame] = Origin("frame", "", None)
            for name, value in held:
                yield Reference("local", name, value), frame


def find_paths(
    interpreter: Interpreter,
    objects: Objects,
    modules: ModulePlaces,
    targets: Collection[int],
    hoped_for: Collection[int],
) -> Walk:
    """The last walk made. What is hoped for is not worth a walk that sees most."""
    until = time.process_time() + _LIMIT_S
    (fan_out, most), (wide_fan_out, wide_most) = _ROUNDS
    walk = Walk(interpreter, objects, modules, fan_out)
    walk.run({*targets, *hoped_for}, most, until)
    if any(target not in walk.origins for target in targets) and time.process_time() < until:
        walk = Walk(interpreter, objects, modules, wide_fan_out)
        walk.run(targets, wide_most, until)
    return walk
