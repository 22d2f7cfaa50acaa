"""Which mappings hold anonymous memory: a condensed smaps, and what grew between two of them."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mapping:
    """One range of addresses, with its anonymous memory (resident or swapped out)."""

    begin: int
    end: int
    anon_bytes: int
    name: str  # "[heap]", "/usr/lib/x.so", "" for anonymous mappings


def condense(pid: int) -> str:
    """One line `begin-end anon_bytes name` for each mapping with anonymous memory.

    Raises OSError.
    """
    with open(f"/proc/{pid}/smaps", errors="backslashreplace") as smaps:
        lines = [f"{m.begin:x}-{m.end:x} {m.anon_bytes} {m.name}" for m in _from_smaps(smaps)]
    return "\n".join([*lines, ""])


def parse(text: str) -> list[Mapping]:
    """What `condense` wrote; lines that it did not write are left out."""
    found: list[Mapping] = []
    for line in text.splitlines():
        place, _, rest = line.partition(" ")
        size, _, name = rest.partition(" ")
        begin, _, end = place.partition("-")
        try:
            found.append(Mapping(int(begin, 16), int(end, 16), int(size), name))
        except ValueError:
            continue
    return found


def growth(before: Iterable[Mapping], after: Iterable[Mapping]) -> Counter[str]:
    """By how many bytes each mapping grew. Unnamed ones are told by where they are now.

    A mapping that was extended or merged is compared with all that it now covers.
    """
    old = sorted(before, key=lambda mapping: mapping.begin)
    ends = [mapping.end for mapping in old]  # sorted too: mappings never overlap
    grown: Counter[str] = Counter()
    for mapping in after:
        had = 0
        at = bisect_right(ends, mapping.begin)
        while at < len(old) and old[at].begin < mapping.end:
            had += old[at].anon_bytes
            at += 1
        name = mapping.name or f"anonymous mapping at {mapping.begin:#x}"
        grown[name] += mapping.anon_bytes - had
    return grown


def _from_smaps(lines: Iterable[str]) -> Iterator[Mapping]:
    place, name, size = "", "", 0
    for line in lines:
        field, _, value = line.partition(":")
        if field in ("Anonymous", "Swap"):
            size += int(value.split()[0]) * 1024
        elif "-" in (head := line.split(maxsplit=5))[0]:
            if size:
                yield _mapping(place, size, name)
            place, name, size = head[0], head[5].strip() if len(head) > 5 else "", 0
    if size:
        yield _mapping(place, size, name)


def _mapping(place: str, size: int, name: str) -> Mapping:
    begin, _, end = place.partition("-")
    return Mapping(int(begin, 16), int(end, 16), size, name)
