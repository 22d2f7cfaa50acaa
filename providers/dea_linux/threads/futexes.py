"""What a futex is: a mutex with an owner, a thread that must end, Python's GIL, or no more than a word."""

import struct
from collections.abc import Collection
from dataclasses import dataclass

from dea_linux.threads.calls import (
    FUTEX_COMMAND,
    FUTEX_LOCK_PI,
    FUTEX_LOCK_PI2,
    FUTEX_PRIVATE,
    FUTEX_WAIT,
    FUTEX_WAIT_BITSET,
    MUTEX_BYTES,
)

_MUTEX = struct.Struct("=iIiIi")  # struct __pthread_mutex_s of glibc
_LOCKED_WITH_WAITERS = 2
_PLAIN_KINDS = (0, 1, 2, 3)  # normal, recursive, errorcheck, adaptive
_TID_MASK = 0x3FFFFFFF
_PAIR = ~0x7  # the two words of one condition variable lie side by side


@dataclass(frozen=True)
class Futex:
    """`owner` is proven: read from a mutex, with a live thread's id. `joins`: waits for it to end."""

    address: int
    owner: int = 0
    joins: int = 0
    is_gil: bool = False


def read_futex(
    arguments: tuple[int, ...],
    memory: bytes,
    tids: Collection[int],
    static_ranges: Collection[tuple[int, int]],
) -> Futex:
    """From the arguments of futex(2) and the bytes at its address.

    `tids` are the threads of the process, `static_ranges` where Python keeps its own static data.
    """
    address, operation, value = arguments[:3]
    command = operation & FUTEX_COMMAND
    if any(start <= address < end for start, end in static_ranges):
        return Futex(address & _PAIR, is_gil=True)
    if command in (FUTEX_LOCK_PI, FUTEX_LOCK_PI2) and len(memory) == 4:
        owner = struct.unpack("=I", memory)[0] & _TID_MASK
        return Futex(address, owner=owner if owner in tids else 0)
    if command == FUTEX_WAIT_BITSET and not operation & FUTEX_PRIVATE and value in tids:
        return Futex(address, joins=value)  # glibc waits for the tid in the thread to become 0
    if command in (FUTEX_WAIT, FUTEX_WAIT_BITSET) and len(memory) == MUTEX_BYTES:
        owner = _mutex_owner(memory)
        return Futex(address, owner=owner if owner in tids else 0)
    return Futex(address & _PAIR)


def _mutex_owner(memory: bytes) -> int:
    """0 unless all five fields look like a locked mutex that somebody waits for."""
    lock, _, owner, users, kind = _MUTEX.unpack(memory)
    plausible = lock == _LOCKED_WITH_WAITERS and users > 0 and kind & 0x7F in _PLAIN_KINDS
    return owner if plausible else 0


def static_ranges(maps: list[str]) -> list[tuple[int, int]]:
    """Address ranges of the static data of the Python interpreter, from lines of its maps.

    Static data goes on in a mapping without a name right behind the library's last one.
    """
    ranges: list[tuple[int, int]] = []
    end_of_library = 0
    for line in maps:
        fields = line.split()
        start, end = (int(part, 16) for part in fields[0].split("-"))
        name = fields[5].rpartition("/")[2] if len(fields) > 5 else ""
        is_python = name.startswith(("python", "libpython"))
        follows = len(fields) <= 5 and start == end_of_library
        if is_python:
            end_of_library = end
        if fields[1].startswith("rw") and (is_python or follows):
            ranges.append((start, end))
    return ranges
