"""A copy of all that a process has written, taken while it is held; the rest is read live."""

import bisect
import ctypes
import errno
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TooLargeError, TornError
from dea_runtimes.cpython_heap.reader.hold import held
from dea_runtimes.cpython_heap.reader.memory import PAGE_BYTES, Memory, read_mappings

_BRIDGED_PAGES = 4  # so many absent pages are copied as well rather than begin a new range
_RANGES_PER_CALL = 512  # process_vm_readv takes at most 1024
_MOST_UNREADABLE_PAGES = 5000
_SLACK_BYTES = 24 << 20
# The top byte of a pagemap entry: bit 63 present, bit 62 swapped, bit 58 a guard that none may read.
_IN_USE = bytes(flags >= 0x40 and not flags & 0x04 for flags in range(256))
_readv = ctypes.CDLL(None, use_errno=True).process_vm_readv
_readv.argtypes = [
    ctypes.c_long,
    *(ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong),
]
_readv.restype = ctypes.c_ssize_t


class Snapshot(Memory):
    """Memory that was copied at one instant.

    `words` is the copy as 64-bit words; a copied address lies at word `(address + shift) >> 3`,
    where `segment(address)` tells the shift.
    """

    def __init__(self, pid: int, limit_bytes: int) -> None:
        super().__init__(pid)
        size = _written_bytes(pid)
        if size > limit_bytes:
            raise TooLargeError(
                f"its heap of {size >> 20} MiB is larger than the {limit_bytes >> 20} MiB that are "
                "copied at most, because it would be held for too long"
            )
        self._limit_bytes = limit_bytes
        self._buffer = mmap.mmap(
            -1,
            size + size // 8 + _SLACK_BYTES,
            flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE,
        )
        self.copied = memoryview(self._buffer)
        self.words = self.copied[: len(self.copied) & ~7].cast("Q")
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._buffer))
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.shifts: list[int] = []
        self.size_bytes = 0
        self.hold_s = 0.0
        self._low, self._high, self._shift = 1, 0, 0

    def close(self) -> None:
        """Give the copy's memory back."""
        super().close()
        self.words.release()
        self.copied.release()
        self._buffer.close()

    def take(self, busy: Callable[[Memory], bool]) -> bool:
        """Hold the target and copy. False, with nothing copied, when it was `busy`."""
        started = time.perf_counter()
        with held(self.pid):
            self.forget()
            free = not busy(self)
            if free:
                self._copy()
        self.hold_s = time.perf_counter() - started
        return free

    def _copy(self) -> None:
        self.starts, self.ends, self.shifts, at = [], [], [], 0
        self._low, self._high = 1, 0
        ranges = list(_in_use(self.pid))
        needed = sum(end - start for start, end in ranges)
        if needed > len(self.copied):
            raise TornError(f"the heap grew to {needed >> 20} MiB while it was looked at")
        unreadable = 0
        while ranges:
            if unreadable > _MOST_UNREADABLE_PAGES:
                raise TornError("much of the heap cannot be read")
            group, ranges = ranges[:_RANGES_PER_CALL], ranges[_RANGES_PER_CALL:]
            done = self._read_group(group, at)
            for number, (start, end) in enumerate(group):
                count = min(done, end - start)
                self._note(start, start + count, at)
                at, done = at + count, done - count
                if start + count < end:
                    # A page that cannot be read, such as the guard of a thread's stack.
                    behind = start + count + PAGE_BYTES
                    ranges = [(behind, end)] * (behind < end) + group[number + 1 :] + ranges
                    unreadable += 1
                    break
        self.size_bytes = at

    def _note(self, start: int, end: int, at: int) -> None:
        if start < end:
            self.starts.append(start)
            self.ends.append(end)
            self.shifts.append(at - start)

    def _read_group(self, ranges: list[tuple[int, int]], at: int) -> int:
        """Copy until a page cannot be read; how many bytes came."""
        total = sum(end - start for start, end in ranges)
        remote = b"".join(struct.pack("QQ", start, end - start) for start, end in ranges)
        local = struct.pack("QQ", self._address + at, total)
        done = int(_readv(self.pid, local, 1, remote, len(ranges), 0))
        if done < 0 and ctypes.get_errno() != errno.EFAULT:
            reason = os.strerror(ctypes.get_errno())
            raise CannotLookError(f"the heap could not be copied: {reason}")
        return max(0, done) // PAGE_BYTES * PAGE_BYTES

    def segment(self, address: int) -> bool:
        """Make the copied range around an address current; False when it was not copied."""
        place = bisect.bisect_right(self.starts, address) - 1
        if place < 0 or address >= self.ends[place]:
            return False
        self._low, self._high = self.starts[place], self.ends[place]
        self._shift = self.shifts[place]
        return True

    def current(self) -> tuple[int, int, int]:
        """First address, end and shift of the current range."""
        return self._low, self._high, self._shift

    def u64(self, address: int) -> int:
        if (self._low <= address < self._high or self.segment(address)) and not address & 7:
            return self.words[(address + self._shift) >> 3]
        return super().u64(address)

    def read(self, address: int, count: int) -> bytes:
        inside = self._low <= address < self._high or self.segment(address)
        if inside and count >= 0 and address + count <= self._high:
            at = address + self._shift
            return bytes(self.copied[at : at + count])
        return super().read(address, count)


def _written_bytes(pid: int) -> int:
    """Memory that only this process has. Raises CannotLookError when much of it is swapped out."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        raise CannotLookError(f"process {pid} has ended") from None
    if "RssAnon" not in fields:
        raise CannotLookError(f"process {pid} has no memory (a zombie or a kernel thread)")
    resident = int(fields["RssAnon"].split()[0]) << 10
    swapped = int(fields.get("VmSwap", "0").split()[0]) << 10
    if swapped > 64 << 20:
        raise CannotLookError(
            f"{swapped >> 20} MiB of it are swapped out, and reading them would bring them back"
        )
    return resident + swapped


def _in_use(pid: int) -> Iterator[tuple[int, int]]:
    """Ranges of private writable memory whose pages exist, neighbours joined."""
    start = end = 0
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        for mapping in read_mappings(pid):
            if mapping.permissions[:2] != "rw" or mapping.permissions[3] != "p":
                continue
            if mapping.path in ("[vvar]", "[vsyscall]") or mapping.path.startswith("/dev/"):
                continue
            for low, high in _present(pagemap.fileno(), mapping.start, mapping.end):
                if low == end:
                    end = high
                    continue
                if start < end:
                    yield start, end
                start, end = low, high
    if start < end:
        yield start, end


def _present(pagemap: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Runs of pages that exist, in memory or swapped out."""
    entries = os.pread(pagemap, (end - start) // PAGE_BYTES * 8, start // PAGE_BYTES * 8)
    used = entries[7::8].translate(_IN_USE)
    first = used.find(1)
    while first >= 0:
        last = following = first
        while 0 <= following <= last + _BRIDGED_PAGES:
            absent = used.find(0, following)
            last = len(used) if absent < 0 else absent
            following = used.find(1, last)
        yield start + first * PAGE_BYTES, start + last * PAGE_BYTES
        first = following
