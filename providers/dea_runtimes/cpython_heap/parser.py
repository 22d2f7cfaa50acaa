"""Turns the reader's records into evidence: what grew, where it hangs, which lines may fill it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from dea.backend import Observation, Parsed
from dea.contracts.data import Frame, HeapRetainer, HeapSummary, Note
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea_runtimes.cpython_heap.path import clean, is_own_path, path_of

Record = dict[str, Any]

_LEAST_ADDED = 16
_LEAST_ADDED_BYTES = 16 << 10
_KEPT_SHARE = 0.5  # of the growth to its peak that must still be there at the end
_MOST_RETAINERS = 8
_MOST_CLASSES = 4
_MOST_TYPES = 15
_MOST_ADDED_TYPES = 10
_LIMITATIONS = (
    "the heap shows what grew while we looked, not whether it will be freed later",
    "lines that add to a container are inferred from the source, they were not seen to run",
    "memory held by C code (native libraries, array buffers) is not in the Python heap's counts",
)


@dataclass(frozen=True)
class Numbered:
    """A record and the line it stands in."""

    line: int
    record: Record

    def steps(self) -> list[Record]:
        return list(self.record.get("steps", []))


@dataclass(frozen=True)
class Grown:
    """One container or several that hang at the same place: lengths at both ends of the window."""

    records: list[Numbered]
    before: int
    now: int

    @property
    def added(self) -> int:
        return self.now - self.before

    @property
    def first(self) -> Record:
        return self.records[0].record


def parse_growth(observation: Observation, file: str) -> Parsed:
    """Raises BackendError when the records hold no two looks."""
    records, bad = _read(observation.text(file))
    looks = [r for r in records if r.record["record"] == "look"]
    failures = [r.record for r in records if r.record["record"] == "failure"]
    if failures:
        raise BackendError(f"could not look: {clean(failures[0].get('reason'), 300)}")
    if len(looks) < 2:
        raise BackendError(f"no two looks in {file}: {clean(bad[0] if bad else 'it ends early')}")
    facts = [_summary(looks[0], looks[-1], file)]
    window_s = float(observation.facts.get("duration_s", looks[-1].record["at_s"]))
    facts += _retainers(records, window_s, file)
    facts += _notes(records, bad, file)
    return Parsed(facts, [*_LIMITATIONS, *_limits(records)])


def _read(text: str) -> tuple[list[Numbered], list[str]]:
    """The records, and lines that are none."""
    records: list[Numbered] = []
    bad: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict) and isinstance(cast(Record, value).get("record"), str):
            records.append(Numbered(number, cast(Record, value)))
        else:
            bad.append(line)
    return records, bad


def _summary(first: Numbered, second: Numbered, file: str) -> Fact:
    before: dict[str, int] = first.record["types"]
    now: dict[str, int] = second.record["types"]
    # A type that only one look lists was rare in the other.
    added = {name: count - before[name] for name, count in now.items() if name in before}
    changed = sorted(added.items(), key=lambda item: -abs(item[1]))[:_MOST_ADDED_TYPES]
    window_s = round(second.record["at_s"] - first.record["at_s"], 2)
    held = [hold for look in (first, second) for hold in look.record["held_s"]]
    data = HeapSummary(
        objects=second.record["objects"],
        bytes=second.record["copied_bytes"],
        by_type={clean(name, 80): count for name, count in list(now.items())[:_MOST_TYPES]},
        added={clean(name, 80): count for name, count in changed if count},
        window_s=window_s,
    )
    return Fact(
        data,
        f"{first.record['objects']:,} objects of Python's collector, {second.record['objects']:,} "
        f"{window_s} s later; the target was held for {sum(held) * 1000:.0f} ms in all, "
        f"{max(held) * 1000:.0f} ms at the longest",
        file,
        (first.line, second.line),
    )


def _retainers(records: list[Numbered], window_s: float, file: str) -> Iterator[Fact]:
    groups: dict[str, list[Numbered]] = defaultdict(list)
    for number, numbered in enumerate(_of(records, "container")):
        if numbered.record.get("bound") is None and _still_grown(numbered.record):
            key = json.dumps([numbered.record["type"], numbered.steps() or number])
            groups[key].append(numbered)
    grown = [_grown(group) for group in groups.values()]
    grown += [_spread(numbered) for numbered in _of(records, "spread")]
    grown.sort(key=lambda one: -one.added)
    for one in grown[:_MOST_RETAINERS]:
        yield _container_fact(one, window_s, file)
    looks = _of(records, "look")
    instances_s = looks[-1].record["at_s"] - looks[0].record["at_s"]
    for numbered in _of(records, "class")[:_MOST_CLASSES]:
        yield _class_fact(numbered, instances_s, file)


def _of(records: list[Numbered], name: str) -> list[Numbered]:
    return [numbered for numbered in records if numbered.record["record"] == name]


def _still_grown(record: Record) -> bool:
    """Not when it shrank again by most of what it had grown."""
    lengths = [length for _, length in record["points"]]
    added, highest = lengths[-1] - lengths[0], max(lengths) - lengths[0]
    least = _LEAST_ADDED_BYTES if record["kind"] == "bytearray" else _LEAST_ADDED
    return not record["gone"] and added >= max(least, _KEPT_SHARE * highest)


def _grown(group: list[Numbered]) -> Grown:
    points = [numbered.record["points"] for numbered in group]
    return Grown(group, sum(p[0][1] for p in points), sum(p[-1][1] for p in points))


def _spread(numbered: Numbered) -> Grown:
    length, added = numbered.record["length"], numbered.record["added"]
    return Grown([numbered], length - added, length)


def _container_fact(one: Grown, window_s: float, file: str) -> Fact:
    first, steps = one.first, one.records[0].steps()
    kind, path = clean(first["type"], 80), path_of(steps)
    how_many = first.get("containers", len(one.records))
    what = kind if how_many == 1 else f"{how_many} objects of type {kind}"
    unit = "bytes" if first.get("kind") == "bytearray" else "items"
    known = [r.record["bytes"] for r in one.records if r.record.get("bytes") is not None]
    sites = _sites(first)
    data = HeapRetainer(
        type=kind,
        path=path,
        count=one.now,
        bytes=sum(known) if known else None,
        added=one.added,
        window_s=window_s,
        own=is_own_path(steps),
        sites=sites,
    )
    where = path or "a place that no name leads to (held by C code, or too deep)"
    where = where if where.startswith("inside ") else f"at {where}"
    return Fact(
        data,
        f"{what} {where} grew from {one.before:,} to {one.now:,} {unit} in {window_s:g} s"
        f"{_size(data.bytes)}{_holding(first)}{_said(sites, 'added to (inferred)')}",
        file,
        (min(r.line for r in one.records), max(r.line for r in one.records)),
    )


def _class_fact(numbered: Numbered, window_s: float, file: str) -> Fact:
    record, steps = numbered.record, numbered.steps()
    name, path = clean(record["type"], 80), path_of(steps)
    if path and record["held"]:
        path = f"items of {path}"
    sites = _sites(record)
    data = HeapRetainer(
        type=name,
        path=path,
        count=record["now"],
        added=record["now"] - record["before"],
        window_s=round(window_s, 2),
        own=is_own_path([record, *steps]),
        sites=sites,
    )
    return Fact(
        data,
        f"instances of {name} grew from {record['before']:,} to {record['now']:,} in "
        f"{window_s:.1f} s{f'; {path}' if path else ''}{_said(sites, 'made (inferred)')}",
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


def _size(size_bytes: int | None) -> str:
    if not size_bytes:
        return ""
    shown = f"{size_bytes / 2**20:.1f} MiB" if size_bytes >= 2**20 else f"{size_bytes >> 10} KiB"
    return f", about {shown} by its newest items"


def _holding(record: Record) -> str:
    names = [clean(name, 60) for name in record.get("holds", []) if "." in str(name)]
    return f", holding {', '.join(names[:2])}" if names else ""


def _said(sites: list[Frame], how: str) -> str:
    return f"; {how} at {', '.join(site.place() for site in sites)}" if sites else ""


def _notes(records: list[Numbered], bad: list[str], file: str) -> Iterator[Fact]:
    for numbered in _of(records, "container"):
        bound = numbered.record.get("bound")
        if bound is not None and _still_grown(numbered.record):
            now = numbered.record["points"][-1][1]
            text = f"{path_of(numbered.steps())} fills up: {now:,} of at most {bound:,} items"
            yield Fact(Note(text=text), text, file, (numbered.line, numbered.line))
    if bad:
        text = f"{len(bad)} lines of {file} could not be read"
        note = Note(text=text, skipped_lines=len(bad), first_bad_line=clean(bad[0]))
        yield Fact(note, text)


def _limits(records: Iterable[Numbered]) -> Iterator[str]:
    for numbered in records:
        match numbered.record["record"]:
            case "target":
                yield from (clean(note) for note in numbered.record.get("notes", []))
            case "dropped":
                yield f"{numbered.record['containers']} containers did not pass the checks"
            case _:
                pass
