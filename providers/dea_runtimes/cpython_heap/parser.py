"""Turns the reader's records into evidence: what grew, where it hangs, which lines may fill it."""

from collections.abc import Iterable, Iterator

from dea.backend import Observation, Parsed
from dea.contracts.data import HeapSummary, Note
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from dea_runtimes.cpython_heap.path import clean, path_of
from dea_runtimes.cpython_heap.records import Numbered, read_records, records_of
from dea_runtimes.cpython_heap.retainers import retainers, still_grown

_MOST_TYPES = 15
_MOST_ADDED_TYPES = 10
_LIMITATIONS = (
    "the heap shows what grew while we looked, not whether it will be freed later",
    "lines that add to a container are inferred from the source, they were not seen to run",
    "memory held by C code (native libraries, array buffers) is not in the Python heap's counts",
)


def parse_growth(observation: Observation, file: str) -> Parsed:
    """Raises BackendError when the records hold no two looks."""
    records, bad = read_records(observation.text(file))
    looks, failures = records_of(records, "look"), records_of(records, "failure")
    if failures:
        raise BackendError(f"could not look: {clean(failures[0].record.get('reason'), 300)}")
    unheld = records_of(records, "unheld")
    if not records_of(records, "end") or (len(looks) < 2 and not unheld):
        raise BackendError(f"no two looks in {file}: {clean(bad[0] if bad else 'it ends early')}")
    facts = [] if unheld else [_summary(looks, file)]
    facts += retainers(records, file)
    facts += _notes(records, bad, file)
    return Parsed(facts, [*_LIMITATIONS, *_limits(records)])


def _summary(looks: list[Numbered], file: str) -> Fact:
    first, second = looks[0], looks[-1]
    before: dict[str, int] = first.record["types"]
    now: dict[str, int] = second.record["types"]
    # A type that only one look lists was rare in the other.
    added = {name: count - before[name] for name, count in now.items() if name in before}
    changed = sorted(added.items(), key=lambda item: -abs(item[1]))[:_MOST_ADDED_TYPES]
    window_s = round(second.record["at_s"] - first.record["at_s"], 2)
    held = [hold for look in looks for hold in look.record["held_s"]]
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


def _notes(records: list[Numbered], bad: list[str], file: str) -> Iterator[Fact]:
    for numbered in records_of(records, "container"):
        bound = numbered.record.get("bound")
        if bound is not None and still_grown(numbered.record):
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
            case "unheld":
                reason = clean(numbered.record["reason"], 300)
                yield f"{reason}; only the user's own variables were read, while it ran"
            case "dropped":
                yield f"{numbered.record['containers']} containers did not pass the checks"
            case _:
                pass
