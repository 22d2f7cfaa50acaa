"""Finds the ELF image that holds CPython in a process, where it is loaded, and its version."""

import os
import re
from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.elf import Symbols, read_symbols
from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.cpython_heap.reader.memory import Mapping, Memory, read_mappings

TYPES = (
    *("Dict", "List", "Tuple", "Set", "FrozenSet", "ByteArray", "Unicode", "Type", "Module"),
    *("Function", "Method", "Cell", "Gen", "Coro", "AsyncGen"),
    *("Property", "StaticMethod", "ClassMethod", "MemberDescr"),
)
_WANTED = ("_PyRuntime", "Py_Version", *(f"Py{name}_Type" for name in TYPES))
_LIBRARY = re.compile(r"libpython3")
# Py_GetVersion() formats this into a buffer of the image: "3.10.13 (main, ...) [GCC 12.2.0]".
_VERSION = re.compile(rb"(3)\.(\d+)\.(\d+)\S* \([^)]{3,80}\) \[?[ -~]")
_FILE_VERSION = re.compile(r"python(3)\.(\d+)")


@dataclass(frozen=True)
class Image:
    """CPython as it lies in the target. `notes` says what could not be told for sure."""

    path: str
    version: tuple[int, int, int]
    runtime: int
    types: dict[str, int]
    notes: list[str]

    @property
    def minor(self) -> int:
        return self.version[1]


def find_image(memory: Memory) -> Image:
    """Raises CannotLookError when the process runs no CPython that we can read."""
    mappings = read_mappings(memory.pid)
    for path in _candidates(memory.pid, mappings):
        own = [mapping for mapping in mappings if mapping.path == path]
        symbols = _symbols(memory.pid, path, own)
        if symbols and "_PyRuntime" in symbols.values:
            return _image(memory, path, own, symbols, mappings)
    raise CannotLookError("no CPython symbols: another implementation, older than 3.7, or stripped")


def _candidates(pid: int, mappings: list[Mapping]) -> list[str]:
    """Shared libraries first: the program itself may be a small launcher."""
    try:
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError as error:
        raise CannotLookError(f"its program cannot be told: {error.strerror}") from None
    libraries = {m.path for m in mappings if _LIBRARY.search(os.path.basename(m.path))}
    return [*sorted(libraries, reverse=True), program]


def _symbols(pid: int, path: str, own: list[Mapping]) -> Symbols | None:
    """map_files reaches the very file that is mapped: in any mount namespace, even deleted."""
    files = [f"/proc/{pid}/map_files/{m.start:x}-{m.end:x}" for m in own[:1]]
    files += [f"/proc/{pid}/root{path}", f"/proc/{pid}/exe"]
    for file in files if own else []:
        try:
            return read_symbols(file, _WANTED)
        except (OSError, TornError):
            continue
    return None


def _image(
    memory: Memory, path: str, own: list[Mapping], symbols: Symbols, mappings: list[Mapping]
) -> Image:
    bias = 0
    if symbols.base is not None:
        bias = min(m.start for m in own if m.offset == 0) - symbols.base
    values = {name: value + bias for name, value in symbols.values.items()}
    missing = [name for name in TYPES if f"Py{name}_Type" not in values]
    if missing:
        raise CannotLookError(f"its CPython does not export Py{missing[0]}_Type")
    notes: list[str] = []
    if "Py_Version" in values:
        number = memory.u32(values["Py_Version"])
        version = (number >> 24, number >> 16 & 255, number >> 8 & 255)
    else:
        version = _version_text(memory, path, own, mappings, notes)
    types = {name: values[f"Py{name}_Type"] for name in TYPES}
    return Image(path, version, values["_PyRuntime"], types, notes)


def _version_text(
    memory: Memory, path: str, own: list[Mapping], mappings: list[Mapping], notes: list[str]
) -> tuple[int, int, int]:
    """Before 3.11: from the text of sys.version in the image, else from the file's name."""
    zeroed = [m for m in mappings if m.start == own[-1].end and not m.path]
    for mapping in [*own, *zeroed]:
        if "w" in mapping.permissions:
            data = memory.read(mapping.start, mapping.end - mapping.start)
            if match := _VERSION.search(data):
                major, minor, micro = map(int, match.groups())
                return major, minor, micro
    name = _FILE_VERSION.search(path)
    if name is None:
        raise CannotLookError("the version of its CPython cannot be told")
    notes.append("version known from the file's name only")
    return int(name[1]), int(name[2]), 0
