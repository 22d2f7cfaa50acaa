"""Counts the objects of an interpreter: by type, with the length of every longer container."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from dea_runtimes.cpython_heap.reader.failures import TornError
from dea_runtimes.cpython_heap.reader.interpreter import Interpreter
from dea_runtimes.cpython_heap.reader.objects import LENGTH_AT, Objects, TypeInfo
from dea_runtimes.cpython_heap.reader.snapshot import Snapshot

LEAST_ITEMS = 8  # shorter containers are not listed
_LEAST_BUFFER_BYTES = 4096
_LONGEST = 1 << 40
_REFERENCES = 0xFFFFFFFF
_SAMPLES = 40
_SUSPENDED_SAMPLES = 20_000  # of generators and coroutines, which are told apart by their function
_MOST_OBJECTS = 50_000_000


@dataclass
class Counted:
    """All objects of one type. `lengths` is by address, `samples` are a few addresses."""

    info: TypeInfo
    length_word: int  # distance of the length from the list links, in words; 0: no container
    most_samples: int = _SAMPLES
    count: int = 0
    lengths: dict[int, int] = field(default_factory=dict[int, int])
    samples: list[int] = field(default_factory=list[int])


@dataclass
class Census:
    """What one look counted, by type address. `loose` holds containers outside the object lists."""

    types: dict[int, Counted]
    loose: dict[int, Counted]

    @property
    def objects(self) -> int:
        return sum(counted.count for counted in self.types.values())

    def by_name(self) -> dict[str, int]:
        """Counts by type name; types of one name are added up."""
        found: dict[str, int] = {}
        for counted in self.types.values():
            found[counted.info.name] = found.get(counted.info.name, 0) + counted.count
        return found

    def containers(self) -> Iterator[tuple[int, TypeInfo, int, bool]]:
        """Address, type and length of each; last whether it surely lives (it is in a list)."""
        for group, alive in ((self.types, True), (self.loose, False)):
            for counted in group.values():
                for address, length in counted.lengths.items():
                    yield address, counted.info, length, alive


def take_census(interpreter: Interpreter, objects: Objects, snapshot: Snapshot) -> Census:
    """Raises TornError when the lists were not whole at the moment of the copy."""
    types: dict[int, Counted] = {}
    for head in interpreter.heads():
        _walk(objects, snapshot, head, types)
    loose: dict[int, Counted] = {}
    if objects.minor <= 13:  # until then a dict of plain values is in no list
        loose[objects.types["Dict"]] = _loose(objects, snapshot, "Dict", LEAST_ITEMS)
    loose[objects.types["ByteArray"]] = _loose(objects, snapshot, "ByteArray", _LEAST_BUFFER_BYTES)
    return Census(types, loose)


def _walk(objects: Objects, snapshot: Snapshot, head: int, types: dict[int, Counted]) -> None:
    """Follow one circular list. This loop sees every object: it is written for speed."""
    words, segment, current = snapshot.words, snapshot.segment, snapshot.current
    low, high, shift = 1, 0, 0
    link, previous, left = snapshot.u64(head) & ~3, head, _MOST_OBJECTS
    while link != head:
        if not low <= link < high:
            if not segment(link) or link & 7:
                raise TornError("a list of objects leads out of the heap")
            low, high, shift = current()
        at = (link + shift) >> 3
        if words[at + 1] & ~3 != previous:
            raise TornError("a list of objects was being changed")
        counted = types.get(words[at + 3])
        if counted is None:
            counted = types[words[at + 3]] = _new_type(objects, words[at + 3])
        counted.count += 1
        if counted.length_word:
            length = words[at + counted.length_word]
            if length >= LEAST_ITEMS:
                counted.lengths[link + 16] = length
        if counted.count <= counted.most_samples:
            counted.samples.append(link + 16)
        previous = link
        link = words[at] & ~3
        left -= 1
        if not left:
            raise TornError("a list of objects does not end")


def _new_type(objects: Objects, address: int) -> Counted:
    """Tuples and frozen sets never grow, so their lengths are of no interest."""
    info = objects.info(address)
    fixed = info.name == "frozenset" or info.kind not in LENGTH_AT
    # The links are the two words before the object.
    length_word = 0 if fixed else 2 + LENGTH_AT[info.kind] // 8
    suspended = address in (objects.types["Gen"], objects.types["Coro"], objects.types["AsyncGen"])
    return Counted(info, length_word, _SUSPENDED_SAMPLES if suspended else _SAMPLES)


def _loose(objects: Objects, snapshot: Snapshot, name: str, least: int) -> Counted:
    """Objects of one type found by its address in the copy. Some of them may be long dead."""
    address = objects.types[name]
    counted = Counted(objects.info(address), 0)
    pattern = re.compile(re.escape(struct.pack("<Q", address)), re.DOTALL)
    words, tracked = snapshot.words, name == "Dict"
    for start, end, shift in zip(snapshot.starts, snapshot.ends, snapshot.shifts, strict=True):
        first, last = start + shift, end + shift
        for match in pattern.finditer(snapshot.copied, first, last):
            at = match.start()
            found = at - shift - 8
            if found & 15 or at - first < 24 or last - at < 16:
                continue
            word = at >> 3
            length = words[word + 1]
            if least <= length < _LONGEST and words[word - 1] & _REFERENCES:
                if tracked and words[word - 3] != 0:
                    continue  # it is in a list of objects, or no dict at all
                counted.count += 1
                counted.lengths[found] = length
    return counted
