"""Finds symbols in an ELF file."""

import mmap
import os
import struct
from collections.abc import Collection
from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.failures import TornError

_ET_EXEC, _PT_LOAD = 2, 1
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_SYMBOL_BYTES = 24


@dataclass(frozen=True)
class Symbols:
    """Values by name; `base` is the address of the first segment, None when it cannot move."""

    values: dict[str, int]
    base: int | None


def read_symbols(path: str, wanted: Collection[str]) -> Symbols:
    """The wanted symbols that the file defines. Raises TornError when it is no 64-bit ELF file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as image:
            return _symbols(image, {name.encode() for name in wanted})
    except (struct.error, ValueError, IndexError) as error:
        raise TornError(f"{path}: {error}") from None
    finally:
        os.close(descriptor)


def _symbols(image: mmap.mmap, wanted: set[bytes]) -> Symbols:
    if image[:5] != b"\x7fELF\x02":
        raise TornError("no 64-bit ELF file")
    (kind,) = struct.unpack_from("<H", image, 16)
    segments_at, sections_at = struct.unpack_from("<QQ", image, 32)
    _, segments, section_bytes, sections = struct.unpack_from("<4H", image, 54)
    loads = [struct.unpack_from("<IIQQ", image, segments_at + i * 56) for i in range(segments)]
    base = min(address for what, _, _, address in loads if what == _PT_LOAD) & ~4095
    headers = [
        struct.unpack_from("<IIQQQQII", image, sections_at + i * section_bytes)
        for i in range(sections)
    ]
    found: dict[str, int] = {}
    for _, what, _, _, at, size, link, _ in headers:
        if what in _SYMBOL_TABLES and len(found) < len(wanted):
            names_at, names_size = headers[link][4:6]
            names = image[names_at : names_at + names_size]
            found |= _defined(image[at : at + size - size % _SYMBOL_BYTES], names, wanted)
    return Symbols(found, None if kind == _ET_EXEC else base)


def _defined(table: bytes, names: bytes, wanted: set[bytes]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name_at, _, _, section, value, _ in struct.iter_unpack("<IBBHQQ", table):
        if section:
            name = names[name_at : names.find(b"\0", name_at)]
            if name in wanted:
                found[name.decode()] = value
    return found
