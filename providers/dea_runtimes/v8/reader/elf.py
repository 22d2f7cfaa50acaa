"""The symbols of node's ELF file: V8's constants, and which function an address belongs to."""

import functools
import mmap
import os
import struct
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.failures import CannotLookError
from dea_runtimes.v8.reader.native import BUILTIN, plain_name

_ET_EXEC, _PT_LOAD, _PT_TLS = 2, 1, 7
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_OBJECT, _FUNCTION, _THREAD_LOCAL = 1, 2, 6
_UNTYPED = 0  # V8's builtins, which its own assembler names
_SYMBOL_BYTES = 24
_CONSTANTS = "v8dbg_"
_ISOLATE = "_ZN2v88internal18g_current_isolate_E"
_ISOLATE_KEY = "_ZN2v88internal7Isolate12isolate_key_E"


@dataclass(frozen=True)
class Binary:
    """Addresses as in the file; `isolate_at` is counted from the thread pointer (negative).

    Up to node 18 there is `isolate_key` instead, the key of a value that each thread has of its own.
    """

    is_fixed: bool
    first_address: int
    segments: Sequence[tuple[int, int, int]]  # offset in the file, address, size
    constants: dict[str, int]
    isolate_at: int | None
    isolate_key: int | None
    starts: Sequence[int]
    ends: Sequence[int]
    names: list[str]

    def function_at(self, offset: int) -> str:
        """The mangled name of the function at this place of the file, empty when there is none."""
        address = next(
            (offset - at + start for at, start, size in self.segments if at <= offset < at + size),
            0,
        )
        index = bisect_right(self.starts, address) - 1
        if index < 0 or address >= self.ends[index]:
            return ""
        return self.names[index]

    def ranges(self, *parts: str) -> list[tuple[int, int]]:
        """Where functions stand whose names hold one of `parts`."""
        return [
            (self.starts[n], self.ends[n])
            for n, name in enumerate(self.names)
            if any(part in name for part in parts)
        ]


@functools.cache
def read_binary(path: str) -> Binary:
    """Raises CannotLookError when it is no ELF file with V8's constants."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as image:
                binary = _binary(image)
        finally:
            os.close(descriptor)
    except (OSError, struct.error, ValueError, IndexError) as error:
        raise CannotLookError(f"the symbols of {path} cannot be read: {error}") from None
    if not binary.constants:
        raise CannotLookError(f"{path} does not tell the layout of V8's objects (no v8dbg symbols)")
    return binary


def _binary(image: mmap.mmap) -> Binary:
    if image[:5] != b"\x7fELF\x02":
        raise ValueError("no 64-bit ELF file")
    (kind,) = struct.unpack_from("<H", image, 16)
    (segments_at,) = struct.unpack_from("<Q", image, 32)
    (segments,) = struct.unpack_from("<H", image, 56)
    headers = [
        struct.unpack_from("<IIQQQQQQ", image, segments_at + i * 56) for i in range(segments)
    ]
    loads = [
        (at, address, size) for what, _, at, address, _, size, _, _ in headers if what == _PT_LOAD
    ]
    constants: dict[str, int] = {}
    isolate: list[int] = []
    key: int | None = None
    functions: dict[int, tuple[int, str]] = {}
    for name, kind_of_symbol, value, size in _symbols(image):
        if (kind_of_symbol == _FUNCTION and size) or name.startswith(BUILTIN):
            known = functions.get(value)
            # Functions that are equal may have been merged: then which one it is cannot be told.
            if known is not None and plain_name(known[1]) != plain_name(name):
                name = ""
            functions[value] = (size, name)
        elif kind_of_symbol == _OBJECT and name.startswith(_CONSTANTS):
            constants[name.removeprefix(_CONSTANTS)] = value
        elif name == _ISOLATE_KEY:
            key = value
        elif kind_of_symbol == _THREAD_LOCAL and name == _ISOLATE:
            isolate.append(value)
    starts = array("Q", sorted(functions))
    return Binary(
        is_fixed=kind == _ET_EXEC,
        first_address=min(address for _, address, _ in loads) & ~4095,
        segments=loads,
        constants=constants,
        isolate_at=isolate[0] - _thread_block_bytes(headers) if isolate else None,
        isolate_key=key,
        starts=starts,
        ends=_ends(starts, functions),
        names=[functions[start][1] for start in starts],
    )


def _thread_block_bytes(headers: list[tuple[int, ...]]) -> int:
    """The program's own thread-local variables end where the thread pointer points."""
    for what, _, _, _, _, _, size, align in headers:
        if what == _PT_TLS:
            return -(-size // max(align, 1)) * max(align, 1)
    return 0


def _ends(starts: Sequence[int], functions: dict[int, tuple[int, str]]) -> Sequence[int]:
    following = [*starts[1:], starts[-1] + 1] if starts else []
    return array(
        "Q",
        [
            start + functions[start][0] if functions[start][0] else next_start
            for start, next_start in zip(starts, following, strict=True)
        ],
    )


def _symbols(image: mmap.mmap) -> list[tuple[str, int, int, int]]:
    """Name, type, value and size of each defined symbol of the fullest table."""
    sections_at = struct.unpack_from("<Q", image, 40)[0]
    section_bytes, sections = struct.unpack_from("<2H", image, 58)
    headers = [
        struct.unpack_from("<IIQQQQII", image, sections_at + i * section_bytes)
        for i in range(sections)
    ]
    tables = [header for header in headers if header[1] in _SYMBOL_TABLES]
    if not tables:
        return []
    _, _, _, _, at, size, link, _ = max(tables, key=lambda header: header[5])
    names_at, names_size = headers[link][4:6]
    names = image[names_at : names_at + names_size]
    table = image[at : at + size - size % _SYMBOL_BYTES]
    return [
        (
            names[name_at : names.find(b"\0", name_at)].decode("ascii", "replace"),
            info & 15,
            value,
            length,
        )
        for name_at, info, _, section, value, length in struct.iter_unpack("<IBBHQQ", table)
        if section and info & 15 in (_UNTYPED, _OBJECT, _FUNCTION, _THREAD_LOCAL)
    ]
