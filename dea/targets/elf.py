"""The little of an ELF executable that tells its runtime: sections, libraries, defined symbols.

Reads only the tables it needs: a node executable has 100 MB, its tables 7. See elf(5).
"""

import os
import struct
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

_HEADER = struct.Struct("<40xQ10xHHH")  # e_shoff, e_shentsize, e_shnum, e_shstrndx
_SECTION = struct.Struct("<II16xQQI20x")
_SYMBOL_BYTES = 24
_DYNSYM = 11
_TABLE_LIMIT_BYTES = 64 * 2**20


class NotElf(ValueError):
    """Not a 64-bit little-endian ELF file."""


class Section(NamedTuple):
    """A row of the section table; `link` is the index of the section that belongs to it."""

    name: int
    type: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class Image:
    """`names` and `symbols` are the sections .dynstr and .dynsym."""

    sections: frozenset[str] = frozenset()
    names: bytes = field(default=b"", repr=False)
    symbols: bytes = field(default=b"", repr=False)

    def needs(self, library: str) -> bool:
        """Whether it is linked with a library whose file name begins so."""
        return b"\0" + library.encode() in self.names

    def defines(self, symbol: str) -> bool:
        """Whether it defines the symbol for others, and does not merely use it."""
        place = self.names.find(b"\0" + symbol.encode() + b"\0") + 1
        if place == 0:
            return False
        wanted = struct.pack("<I", place)
        at = self.symbols.find(wanted)
        while at >= 0 and at % _SYMBOL_BYTES:
            at = self.symbols.find(wanted, at + 1)
        return at >= 0 and self.symbols[at + 6 : at + 8] != b"\0\0"  # st_shndx: 0 is undefined


def read(file: BinaryIO) -> Image:
    """Raises NotElf."""
    sections, names_index = _sections(file)
    if names_index >= len(sections):
        return Image()  # stripped of its sections
    text = _part(file, sections[names_index])
    found = frozenset(_text(text, section.name) for section in sections)
    for section in sections:
        if section.type == _DYNSYM and section.link < len(sections):
            return Image(found, _part(file, sections[section.link]), _part(file, section))
    return Image(found)


def _sections(file: BinaryIO) -> tuple[list[Section], int]:
    """The section table, and which of them holds the sections' names. Raises NotElf."""
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size or head[:6] != b"\x7fELF\x02\x01":
        raise NotElf("not a 64-bit little-endian ELF file")
    offset, entry_bytes, count, names_index = _HEADER.unpack(head)
    table = os.pread(file.fileno(), count * _SECTION.size, min(offset, 2**63 - 1))
    if entry_bytes != _SECTION.size or len(table) < count * _SECTION.size:
        return [], 0
    return [Section(*fields) for fields in _SECTION.iter_unpack(table)], names_index


def _part(file: BinaryIO, section: Section) -> bytes:
    size = min(section.size, _TABLE_LIMIT_BYTES)
    return os.pread(file.fileno(), size, min(section.offset, 2**63 - 1))


def _text(table: bytes, start: int) -> str:
    return table[start : table.find(b"\0", start)].decode("ascii", "replace")
