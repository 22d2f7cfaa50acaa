"""Where the parts of an ELF file are loaded: from its program headers."""

import struct
from pathlib import Path

_PT_LOAD = 1
_EXECUTABLE = 0x1

Load = tuple[int, int, int]  # offset in the file, virtual address, size in the file


def executable_loads(path: Path) -> list[Load]:
    """The parts that hold code; empty when the file is no ELF file for 64 bits that we can read."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
                return []
            table: int = struct.unpack_from("<Q", head, 32)[0]
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(table)
            entries = file.read(size * count)
    except (OSError, ValueError):
        return []
    loads: list[Load] = []
    for at in range(0, len(entries) - 55, max(size, 56)):
        kind, flags, offset, address, _, filed = struct.unpack_from("<IIQQQQ", entries, at)
        if kind == _PT_LOAD and flags & _EXECUTABLE:
            loads.append((offset, address, filed))
    return loads


def address_of(offset: int, loads: list[Load]) -> int | None:
    """The virtual address, as debug information has it, of a place in the file."""
    for start, address, size in loads:
        if start <= offset < start + size:
            return offset - start + address
    return None
