"""Which pages of a process are there now: /proc/PID/pagemap (admin-guide/mm/pagemap)."""

import os
from collections.abc import Iterable

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ENTRY_BYTES = 8
_PRESENT_OR_SWAPPED = 0b11 << 62


def page_of(address: int) -> int:
    """The address at which the page begins."""
    return address - address % _PAGE_BYTES


def present(pid: int, addresses: Iterable[int]) -> list[int] | None:
    """The pages among these that are in memory or swapped out; None when it cannot be told."""
    try:
        with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
            return [
                page
                for page in sorted({*map(page_of, addresses)})
                if _is_there(pagemap.fileno(), page)
            ]
    except OSError:
        return None


def _is_there(pagemap: int, page: int) -> bool:
    try:
        entry = os.pread(pagemap, _ENTRY_BYTES, page // _PAGE_BYTES * _ENTRY_BYTES)
    except OSError:
        return False
    return bool(int.from_bytes(entry, "little") & _PRESENT_OR_SWAPPED)
