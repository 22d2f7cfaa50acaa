"""What grew, as evidence: containers, classes by their instances, and calls that do not end."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from dea.contracts.data import Frame, HeapRetainer
from dea.contracts.evidence import Fact
from dea_runtimes.cpython_heap.path import clean, is_own_path, path_of
from dea_runtimes.cpython_heap.reader.objects import BYTE_KINDS
from dea_runtimes.cpython_heap.records import Numbered, Record, records_of

_LEAST_ADDED = 16
_LEAST_ADDED_BYTES = 16 << 10
_KEPT_SHARE = 0.5  # of the growth to its peak that must still be there at the end
MOST_RETAINERS = 8
_LEAST_LATE = 3
_LEAST_SAMPLES = 5
_KEPT_PACE = 0.3  # of the pace at first that must be kept to the end
_MOST_CLASSES = 4
_UNCOLLECTED = "cycles that nobody frees: automatic garbage collection is off (inferred)"
_LEAST_SHOWN_BYTES = 100 << 10


@dataclass(frozen=True)
class Grown:
    """One container or several that hang at the same place: lengths at both ends of the window."""

    records: list[Numbered]
    before: int
    now: int
    window_s: float

    @property
    def added(self) -> int:
        return self.now - self.before

    @property
    def weight(self) -> int:
        """What was added, a KiB of a buffer counted as one item."""
        return self.added >> 10 if self.unit != "items" else self.added

    @property
    def unit(self) -> str:
        if self.first["type"] == "str":
            return "characters"
        is_bytes = self.first["type"] == "bytes" or self.first.get("kind") in BYTE_KINDS
        return "bytes" if is_bytes else "items"

    @property
    def first(self) -> Record:
        return self.records[0].record


def retainers(records: list[Numbered], file: str) -> Iterator[Fact]:
    (end,) = records_of(records, "end")
    window_s = round(float(end.record["window_s"]), 1)
    collector_off = any(n.record["collector"] == "off" for n in records_of(records, "target"))
    groups: dict[str, list[Numbered]] = defaultdict(list)
    for number, numbered in enumerate(records_of(records, "container")):
        if numbered.record.get("bound") is None and still_grown(numbered.record):
            key = json.dumps([numbered.record["type"], numbered.steps() or number])
            groups[key].append(numbered)
    looks = [look.record["at_s"] for look in records_of(records, "look")]
    looks_s = round(looks[-1] - looks[0], 2) if looks else window_s
    grown = [_grown(group, window_s) for group in groups.values()]
    grown += [_spread(one, looks_s) for one in records_of(records, "spread") if _rises(one, looks)]
    grown += [_value(one, looks) for one in records_of(records, "value") if _climbs(one, looks)]
    grown.sort(key=lambda one: (not is_own_path(one.records[0].steps()), -one.weight))
    for one in grown[:MOST_RETAINERS]:
        yield _container_fact(one, file)
    addresses = {n.record["address"] for group in groups.values() for n in group}
    classes = [
        one
        for one in records_of(records, "class")
        if one.record["holder"] in addresses or (not one.record["holder"] and _rises(one, looks))
    ]
    for numbered in classes[:_MOST_CLASSES]:
        counted_s = looks[len(numbered.record["counts"]) - 1] - looks[0]
        yield _class_fact(numbered, round(counted_s, 2), collector_off, file)
    calls = [one for one in records_of(records, "suspended") if _rises(one, looks)]
    for numbered in calls[:_MOST_CLASSES]:
        yield _suspended_fact(numbered, looks_s, file)


def _rises(numbered: Numbered, looks: list[float]) -> bool:
    """Whether it went on growing between the later looks about as fast as before."""
    counts: list[int] = numbered.record["counts"]
    if len(counts) < 3 or len(looks) < 3:
        return False
    early, late = counts[1] - counts[0], counts[2] - counts[1]
    fast = early / max(0.001, looks[1] - looks[0])
    still = late / max(0.001, looks[2] - looks[1])
    return early + late >= _LEAST_ADDED and late >= _LEAST_LATE and still >= _KEPT_PACE * fast


def _climbs(numbered: Numbered, looks: list[float]) -> bool:
    """A variable whose length only ever went up; a value of random length would not do so."""
    samples: list[int] = [*numbered.record["samples"], numbered.record["counts"][-1]]
    if numbered.record.get("bound") is not None:
        return False
    never_fell = all(early <= late for early, late in pairwise(samples))
    at_s = numbered.record.get("at_s", looks)
    return never_fell and len(samples) >= _LEAST_SAMPLES and _rises(numbered, at_s)


def still_grown(record: Record) -> bool:
    """Not when it shrank again by most of what it had grown."""
    lengths = [length for _, length in record["points"]]
    added, highest = lengths[-1] - lengths[0], max(lengths) - lengths[0]
    least = _LEAST_ADDED_BYTES if record["kind"] in BYTE_KINDS else _LEAST_ADDED
    return not record["gone"] and added >= max(least, _KEPT_SHARE * highest)


def _grown(group: list[Numbered], window_s: float) -> Grown:
    points = [numbered.record["points"] for numbered in group]
    return Grown(group, sum(p[0][1] for p in points), sum(p[-1][1] for p in points), window_s)


def _spread(numbered: Numbered, window_s: float) -> Grown:
    share, counts = numbered.record["share"], numbered.record["counts"]
    return Grown([numbered], round(counts[0] * share), round(counts[-1] * share), window_s)


def _value(numbered: Numbered, looks: list[float]) -> Grown:
    counts, at_s = numbered.record["counts"], numbered.record.get("at_s", looks)
    return Grown([numbered], counts[0], counts[-1], round(at_s[-1] - at_s[0], 2))


def _container_fact(one: Grown, file: str) -> Fact:
    first, steps = one.first, one.records[0].steps()
    kind, path = clean(first["type"], 80), path_of(steps)
    how_many = first.get("containers", len(one.records))
    what = kind if how_many == 1 else f"{how_many} {kind} objects"
    sites = _sites(first)
    data = HeapRetainer(
        type=kind,
        path=path,
        count=one.now,
        bytes=_bytes_now(one),
        added=one.added,
        window_s=one.window_s,
        own=is_own_path(steps),
        sites=sites,
    )
    where = path or "a place that no name leads to (held by C code, or too deep)"
    where = where if where.startswith("inside ") else f"at {where}"
    return Fact(
        data,
        f"{what} {where} grew from {one.before:,} to {one.now:,} {one.unit} in {one.window_s:g} s"
        f"{_anew(first)}{_size(data.bytes)}{_holding(first)}{_said(sites, 'added to (inferred)')}",
        file,
        (min(r.line for r in one.records), max(r.line for r in one.records)),
    )


def _bytes_now(one: Grown) -> int | None:
    """The sizes were estimated at the second look, and more may have come since."""
    sizes = [numbered.record.get("bytes") for numbered in one.records]
    length = sum(numbered.record["length"] for numbered in one.records)
    known = [size for size in sizes if size is not None]
    return sum(known) * one.now // max(1, length) if len(known) == len(sizes) else None


def _class_fact(numbered: Numbered, window_s: float, collector_off: bool, file: str) -> Fact:
    record, steps, counts = numbered.record, numbered.steps(), numbered.record["counts"]
    name, path = clean(record["type"], 80), path_of(steps)
    if path and record["holder"]:
        path = f"items of {path}"
    if not path and collector_off:
        path = _UNCOLLECTED
    sites = _sites(record)
    data = HeapRetainer(
        type=name,
        path=path,
        count=counts[-1],
        added=counts[-1] - counts[0],
        window_s=window_s,
        own=is_own_path([record, *steps]),
        sites=sites,
    )
    return Fact(
        data,
        f"instances of {name} grew from {counts[0]:,} to {counts[-1]:,} in {window_s:g} s"
        f"{f'; {path}' if path else ''}{_said(sites, 'made (inferred)')}",
        file,
        (numbered.line, numbered.line),
    )


def _suspended_fact(numbered: Numbered, window_s: float, file: str) -> Fact:
    record, counts = numbered.record, numbered.record["counts"]
    own = is_own_path([record])
    frame = Frame(
        function=clean(str(record["function"]).replace("<locals>.", ""), 80),
        file=clean(record["file"], 200),
        line=int(record["line"]),
        own=own,
    )
    data = HeapRetainer(
        type=clean(record["kind"], 80),
        path=f"unfinished calls of {frame.place()}",
        count=counts[-1],
        added=counts[-1] - counts[0],
        window_s=window_s,
        own=own,
        sites=[frame],
    )
    return Fact(
        data,
        f"{data.type}s of {frame.place()} that have not ended grew from {counts[0]:,} to "
        f"{counts[-1]:,} in {window_s:g} s",
        file,
        (numbered.line, numbered.line),
    )


def _sites(record: Record) -> list[Frame]:
    return [
        Frame(
            function=clean(site["function"], 80),
            file=clean(site["file"], 200),
            line=int(site["line"]),
            own=True,
        )
        for site in record.get("sites", [])
    ]


def _anew(record: Record) -> str:
    return ", replaced by a longer one each time" if record.get("replaced") else ""


def _size(size_bytes: int | None) -> str:
    if not size_bytes or size_bytes < _LEAST_SHOWN_BYTES:
        return ""
    return f", about {size_bytes / 2**20:.1f} MiB going by its newest items"


def _holding(record: Record) -> str:
    names = [clean(name, 60) for name in record.get("holds", []) if "." in str(name)]
    return f", holding {', '.join(names[:2])}" if names else ""


def _said(sites: list[Frame], how: str) -> str:
    return f"; {how} at {', '.join(site.place() for site in sites)}" if sites else ""
