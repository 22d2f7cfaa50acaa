"""Reads the memory of a process while it runs."""

import os
import struct
from dataclasses import dataclass

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError

PAGE_BYTES = 4096
_LAST_ADDRESS = 1 << 47
_LONGEST_READ_BYTES = 1 << 28
_PAGES_KEPT = 50_000


@dataclass(frozen=True)
class Mapping:
    """One line of /proc/PID/maps."""

    start: int
    end: int
    permissions: str
    offset: int
    path: str


def read_mappings(pid: int) -> list[Mapping]:
    """The address space of a process. Raises CannotLookError when it may not be read."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError as error:
        raise CannotLookError(f"the memory map of {pid} cannot be read: {error.strerror}") from None
    found: list[Mapping] = []
    for line in lines:
        where, permissions, offset, _, _, *path = line.rstrip("\n").split(None, 5)
        start, end = where.split("-")
        found.append(
            Mapping(
                int(start, 16), int(end, 16), permissions, int(offset, 16), path[0] if path else ""
            )
        )
    return found


class Memory:
    """The memory of a running process, page by page; pages stay cached until `forget`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pages: dict[int, bytes] = {}
        try:
            self._file = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise CannotLookError(f"the memory of {pid} cannot be read: {error.strerror}") from None

    def close(self) -> None:
        os.close(self._file)

    def forget(self) -> None:
        """Drop what was read, so that the next read sees the present."""
        self._pages.clear()

    def read_now(self, address: int, count: int) -> bytes:
        """`count` bytes, past every cache. Raises TornError when they are not all there."""
        try:
            data = os.pread(self._file, count, address)
        except (OSError, OverflowError):
            data = b""
        if len(data) != count:
            raise TornError(f"unmapped {address:#x}")
        return data

    def read(self, address: int, count: int) -> bytes:
        if (
            not 0 <= count <= _LONGEST_READ_BYTES
            or not PAGE_BYTES <= address < _LAST_ADDRESS - count
        ):
            raise TornError(f"read of {count} bytes at {address:#x}")
        number, within = divmod(address, PAGE_BYTES)
        if within + count <= PAGE_BYTES:
            return self._page(number)[within : within + count]
        if count > 16 * PAGE_BYTES:
            return self.read_now(address, count)
        last = (address + count - 1) // PAGE_BYTES
        pages = b"".join(self._page(page) for page in range(number, last + 1))
        return pages[within : within + count]

    def _page(self, number: int) -> bytes:
        page = self._pages.get(number)
        if page is None:
            page = self.read_now(number * PAGE_BYTES, PAGE_BYTES)
            if len(self._pages) >= _PAGES_KEPT:
                self._pages.clear()
            self._pages[number] = page
        return page

    def u64(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")

    def u32(self, address: int) -> int:
        return int.from_bytes(self.read(address, 4), "little")

    def i32(self, address: int) -> int:
        return int.from_bytes(self.read(address, 4), "little", signed=True)

    def u8(self, address: int) -> int:
        return self.read(address, 1)[0]

    def u64s(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}Q", self.read(address, 8 * count)) if count > 0 else ()

    def text(self, address: int, limit: int = 200) -> str:
        """A C string."""
        data = self.read(address, min(limit, PAGE_BYTES - address % PAGE_BYTES))
        if b"\0" not in data:
            data = self.read(address, limit)
        return data.split(b"\0")[0].decode("utf-8", "replace")
