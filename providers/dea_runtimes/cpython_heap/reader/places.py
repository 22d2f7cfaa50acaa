"""Where modules, classes and functions come from, and which of them are the user's own."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.objects import Objects

_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3", "/zipimport/")


def is_own(file: str) -> bool:
    """Whether a source file is the user's: not the standard library, installed or frozen code."""
    return bool(file) and not file.startswith("<") and not any(part in file for part in _FOREIGN)


@dataclass(frozen=True)
class ModulePlace:
    """A module. `title` is its name as a reader knows it: a script is called by its file's name."""

    address: int
    name: str
    file: str
    variables: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    @property
    def title(self) -> str:
        stem = PurePosixPath(self.file).stem
        return stem if self.name == "__main__" and stem not in ("", "__main__") else self.name


class ModulePlaces:
    """The modules that a target has imported."""

    def __init__(self, objects: Objects, modules: int) -> None:
        self._by_name: dict[str, ModulePlace] = {}
        self._by_address: dict[int, ModulePlace] = {}
        for name, address in objects.named(modules):
            try:
                if objects.is_a(address, "Module"):
                    self._add(objects, name, address)
            except TornError:
                continue

    def _add(self, objects: Objects, name: str, address: int) -> None:
        variables = objects.named(objects.memory.u64(address + 16))
        file = dict(variables).get("__file__", 0)
        text = objects.text(file, 1000) if file and objects.is_a(file, "Unicode") else ""
        place = ModulePlace(address, name, text, variables)
        self._by_name[name] = self._by_address[address] = place

    def spec_type(self, objects: Objects) -> int:
        """The class of modules' `__spec__`, which is written in Python; 0 when none has any."""
        for place in self._by_name.values():
            spec = dict(place.variables).get("__spec__", 0)
            if spec and objects.info_of(spec).name.endswith("_importlib.ModuleSpec"):
                return objects.type_of(spec)
        return 0

    def own_first(self) -> Iterable[ModulePlace]:
        """The user's modules before all others."""
        return sorted(self._by_name.values(), key=lambda place: not is_own(place.file))

    def own_files(self) -> list[str]:
        """Source files of the user's own modules."""
        return [place.file for place in self._by_name.values() if is_own(place.file)]

    def at(self, address: int) -> ModulePlace:
        return self._by_address[address]

    def file_of(self, name: str) -> str:
        """The source file of a module, empty when it has none."""
        place = self._by_name.get(name)
        return place.file if place else ""

    def class_title(self, name: str) -> str:
        """A class's name with its module's title: `__main__.Store` of app.py is `app.Store`."""
        module, _, rest = name.rpartition(".")
        place = self._by_name.get(module)
        return f"{place.title}.{rest}" if place else name

    def class_file(self, name: str) -> str:
        return self.file_of(name.rpartition(".")[0])
