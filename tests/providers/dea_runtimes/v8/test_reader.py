"""V8's strings and stacks, built by hand: what adds up is read, all else is refused."""

import struct
from dataclasses import fields
from typing import Any, cast

import pytest

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.v8.reader.layout import Layout
from dea_runtimes.v8.reader.objects import Objects
from dea_runtimes.v8.reader.stack import StackCopy, Walker

BASE = 0x10000
JS, ENTRY, EXIT, REGEXP = -1, 1, 3, 27


def layout() -> Layout:
    """Of node 20, as far as these tests need it."""
    values: dict[str, Any] = {field.name: 0 for field in fields(Layout)}
    values |= {"string_length": 12, "string_chars": 16, "map_type": 12, "first_other_type": 128}
    values |= {"cons_first": 16, "cons_second": 24, "sliced_parent": 16, "sliced_offset": 24}
    values |= {"thin_actual": 16, "external_resource": 16, "fp_context": -8, "fp_function": -16}
    values |= {"entry_frames": frozenset({ENTRY}), "exit_frames": frozenset({EXIT})}
    return Layout(**values)


class Heap:
    """A memory in which objects are put one after the other."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.shapes: dict[int, int] = {}

    def put(self, raw: bytes) -> int:
        at = BASE + len(self.data)
        self.data += raw + bytes(-len(raw) % 8)
        return at + 1

    def string(self, kind: int, length: int, rest: bytes) -> int:
        if kind not in self.shapes:
            self.shapes[kind] = self.put(struct.pack("<QIHH", 1, 0, kind, 0))
        return self.put(struct.pack("<QII", self.shapes[kind], 0, length) + rest)

    def text(self, tagged: int, limit: int = 1000) -> str:
        return Objects(cast(Memory, self), layout()).text(tagged, limit)

    def read(self, address: int, count: int) -> bytes:
        data = bytes(self.data[address - BASE : address - BASE + count])
        if address < BASE or len(data) != count:
            raise TornError("unmapped")
        return data

    read_now = read

    def u64(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")

    def i32(self, address: int) -> int:
        return int.from_bytes(self.read(address, 4), "little", signed=True)


def test_strings_of_every_kind() -> None:
    heap = Heap()
    one = heap.string(40, 5, b"hello")
    two = heap.string(32, 3, "ö€x".encode("utf-16-le"))
    both = heap.string(33, 8, struct.pack("<QQ", one, two))
    part = heap.string(35, 5, struct.pack("<QQ", both, 3 << 32))
    thin = heap.string(45, 5, struct.pack("<Q", part))
    outside = heap.put(b"external") - 1
    external = heap.string(42, 8, struct.pack("<QQ", 0, outside))
    assert heap.text(both) == "helloö€x"
    assert heap.text(part) == "loö€x"
    assert heap.text(thin) == "loö€x"
    assert heap.text(external) == "external"


def test_strings_that_do_not_add_up() -> None:
    heap = Heap()
    short = heap.string(40, 2, b"ab")
    beyond = heap.string(43, 5, struct.pack("<QQ", short, 1 << 32))
    itself = BASE + len(heap.data) + 1 + 16
    endless = heap.string(37, 4, struct.pack("<Q", itself))
    no_string = heap.string(262, 2, b"ab")
    for bad in (beyond, endless, no_string, BASE, 0x7F0000000001):
        with pytest.raises(TornError):
            heap.text(bad)
    with pytest.raises(TornError, match="2 characters"):
        heap.text(short, limit=1)


def stack(*frames: tuple[int, int], outer_exit: int | None = None) -> tuple[Walker, list[int]]:
    """Frames (marker, function), innermost first, and where each is."""
    size = 256
    data = bytearray(size * (len(frames) + 1))
    places = [BASE + size * n + 200 for n in range(len(frames))]
    for number, (marker, function) in enumerate(frames):
        at = places[number] - BASE
        following = places[number + 1] if number + 1 < len(frames) else 0
        context = 0x5001 if marker == JS else marker << 1
        struct.pack_into("<4Q", data, at - 16, function, context, following, 0x4000 + number)
        if marker == ENTRY and outer_exit is not None:
            struct.pack_into("<Q", data, at - 64, places[outer_exit])

    def read(address: int, count: int) -> bytes:
        return bytes(data[address - BASE : address - BASE + count])

    return Walker(StackCopy(read, BASE, BASE + len(data)), layout()), places


def test_functions_from_the_innermost_to_where_javascript_was_entered() -> None:
    walker, places = stack((REGEXP, 0), (JS, 0x6001), (JS, 0x7001), (ENTRY, 0))
    walk = walker.walk(places[0], 0x3000)
    assert walk is not None
    assert [frame.function for frame in walk.frames] == [0, 0x6001, 0x7001]
    assert [frame.pc for frame in walk.frames] == [0x3000, 0x4000, 0x4001]


def test_javascript_that_was_entered_again_from_c() -> None:
    frames = ((JS, 0x6001), (ENTRY, 0), (EXIT, 0), (JS, 0x7001), (ENTRY, 0))
    walker, places = stack(*frames, outer_exit=2)
    walk = walker.walk(places[0], 0)
    assert walk is not None
    assert [frame.function for frame in walk.frames] == [0x6001, 0, 0x7001]


def test_a_chain_that_leads_nowhere_names_nothing() -> None:
    walker, places = stack((JS, 0x6001), (JS, 0x7001))
    assert walker.walk(places[0], 0) is None
    assert walker.walk(places[0] + 8, 0) is None
    assert walker.walk(0xDEAD0000, 0) is None
