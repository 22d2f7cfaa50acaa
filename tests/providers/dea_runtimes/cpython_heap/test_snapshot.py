"""The copy of a heap holds what was there, and leaves out what nobody can read."""

import subprocess
import sys

import pytest

from dea_runtimes.cpython_heap.reader.memory import PAGE_BYTES, Memory
from dea_runtimes.cpython_heap.reader.snapshot import Snapshot

# Five pages of 1, 2, 3, 4, 5; the third becomes a guard page, as glibc makes them for stacks.
TARGET = """
import ctypes, mmap, sys
MADV_GUARD_INSTALL = 102
memory = mmap.mmap(-1, 5 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.write(b"".join(bytes([n]) * 4096 for n in range(1, 6)))
try:
    memory.madvise(MADV_GUARD_INSTALL, 2 * 4096, 4096)
except OSError:
    print("none", flush=True)
print(ctypes.addressof(ctypes.c_char.from_buffer(memory)), flush=True)
sys.stdin.read()
"""


def never_busy(_: Memory) -> bool:
    return False


def test_a_page_that_cannot_be_read_is_left_out() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as target:
        assert target.stdout is not None
        said = target.stdout.readline().strip()
        try:
            if said == "none":
                pytest.skip("this kernel has no guard pages (6.13)")
            first = int(said)
            snapshot = Snapshot(target.pid, 1 << 30)
            assert snapshot.take(never_busy)
        finally:
            target.kill()
    for page in (0, 1, 3, 4):
        assert snapshot.segment(first + page * PAGE_BYTES), page
        assert snapshot.read(first + page * PAGE_BYTES, 8) == bytes([page + 1]) * 8
    assert not snapshot.segment(first + 2 * PAGE_BYTES)


def test_nothing_is_copied_while_the_target_is_busy() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as target:
        assert target.stdout is not None
        target.stdout.readline()
        snapshot = Snapshot(target.pid, 1 << 30)
        assert not snapshot.take(lambda _: True)
        assert snapshot.size_bytes == 0
        target.kill()
