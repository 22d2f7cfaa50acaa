"""Records of the heap reader become evidence, the same way each time."""

import json
from dataclasses import replace
from typing import Any

import pytest

from dea.backend import Host, Observation
from dea.contracts.data import HeapRetainer, HeapSummary, Note
from dea.errors import BackendError
from dea_runtimes.cpython_heap.backend import RECORDS, CPythonHeapGrowth
from tests.providers.observing import recorded

BACKEND = CPythonHeapGrowth()
CACHE = {"role": "global", "name": "CACHE", "of": "app", "file": "/srv/app.py", "line": 0}


def container(*lengths: int, **other: Any) -> dict[str, Any]:
    points = [(float(at_s), length) for at_s, length in enumerate(lengths)]
    known: dict[str, Any] = {"type": "list", "kind": "list", "gone": False, "steps": [CACHE]}
    known |= {"address": "0x20"}
    known |= {"points": points, "length": lengths[-1], "bytes": None, "bound": None}
    return {"record": "container", **known, **other}


def look(at_s: float) -> dict[str, Any]:
    counted: dict[str, Any] = {"copied_bytes": 1, "objects": 9, "types": {}}
    return {"record": "look", "at_s": at_s, "held_s": [0.01], **counted}


def counted(*counts: int, **other: Any) -> dict[str, Any]:
    known = {"record": "class", "type": "app.Session", "file": "/srv/app.py", "holder": None}
    return {**known, "counts": counts, "steps": [], "sites": [], **other}


def observation(*records: dict[str, Any], collector: str = "on") -> Observation:
    target = {"record": "target", "collector": collector}
    every = [target, look(0.0), look(1.0), look(3.0), *records, {"record": "end", "window_s": 3.0}]
    raw = "".join(json.dumps(record) + "\n" for record in every).encode()
    return Observation(BACKEND.name, BACKEND.tool, 7, {RECORDS: raw}, {})


def retainers(seen: Observation) -> list[HeapRetainer]:
    return [f.data for f in BACKEND.parse(seen).facts if isinstance(f.data, HeapRetainer)]


def test_recorded_growth() -> None:
    seen = recorded(BACKEND.name, "growing")
    parsed = BACKEND.parse(seen)
    summary = parsed.facts[0].data
    assert isinstance(summary, HeapSummary)
    assert summary.added["growing.Session"] > 50
    assert summary.window_s is not None
    assert summary.window_s >= 2.0
    found = {data.path: data for data in retainers(seen)}
    listed = found["module global growing.LISTED"]
    assert (listed.type, listed.own) == ("list", True)
    assert [frame.place() for frame in listed.sites] == ["step growing.py:87"]
    assert any("inferred from the source" in text for text in parsed.limitations)
    lines = seen.text(RECORDS).splitlines()
    for fact in parsed.facts:
        assert fact.lines is not None
        assert json.loads(lines[fact.lines[0] - 1])["record"] in (
            *("look", "container", "spread", "value", "class", "suspended"),
        )
    assert BACKEND.parse(seen) == parsed


def test_recorded_steady_program() -> None:
    assert retainers(recorded(BACKEND.name, "steady")) == []


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (container(100, 110), "too little"),
        (container(100, 900, 100), "it shrank again"),
        (container(100, 900, 400), "it shrank by more than half of what it had grown"),
        (container(100, 900, gone=True), "it is gone"),
        (container(100, 900, bound=1000), "its owner limits it"),
        (container(4096, 9000, kind="bytearray"), "five kilobytes are nothing"),
    ],
)
def test_what_does_not_count_as_growth(record: dict[str, Any], why: str) -> None:
    assert retainers(observation(record)) == [], why


def test_growth_keeps_its_numbers() -> None:
    (data,) = retainers(observation(container(100, 500, 900, length=450, bytes=45_000)))
    assert (data.added, data.count, data.bytes, data.window_s) == (800, 900, 90_000, 3.0)


def test_containers_at_one_place_are_one() -> None:
    item = {"role": "item", "name": "", "of": "dict", "file": "", "line": 0}
    many = [container(100, 150, steps=[CACHE, item]) for _ in range(3)]
    (fact,) = BACKEND.parse(observation(*many)).facts[1:]
    assert isinstance(fact.data, HeapRetainer)
    assert (fact.data.path, fact.data.added) == ("inside module global app.CACHE", 150)
    assert fact.lines == (5, 7)


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ((100, 130, 190), True),
        ((100, 130), False),  # two counts cannot tell growth from a busy moment
        ((100, 900, 900), False),  # it stopped
        ((100, 900, 910), False),
        ((100, 900, 300), False),
        ((100, 105, 112), False),
    ],
)
def test_instances_must_grow_to_the_end(counts: tuple[int, ...], told: bool) -> None:
    assert [data.added for data in retainers(observation(counted(*counts)))] == [90] * told


def test_instances_in_a_growing_container_hang_there() -> None:
    held = counted(100, 160, holder="0x10", steps=[CACHE])
    grows = retainers(observation(container(100, 190, address="0x10"), held))
    assert [data.path for data in grows] == [
        "module global app.CACHE",
        "items of module global app.CACHE",
    ]
    assert retainers(observation(container(100, 100, address="0x10"), held)) == []


def test_cycles_are_told_where_the_collector_is_off() -> None:
    (data,) = retainers(observation(counted(100, 130, 190), collector="off"))
    assert "automatic garbage collection is off" in data.path


def test_growth_spread_thinly_must_go_on() -> None:
    spread = {"record": "spread", "type": "list", "containers": 50, "share": 0.5, "length": 450}
    spread |= {"bytes": None, "steps": [CACHE], "sites": []}
    (data,) = retainers(observation({**spread, "counts": [800, 900, 1100]}))
    assert (data.count, data.added) == (550, 150)
    assert retainers(observation({**spread, "counts": [800, 900, 890]})) == []


def test_calls_that_do_not_end() -> None:
    calls: dict[str, Any] = {
        "record": "suspended",
        "kind": "coroutine",
        "function": "serve.<locals>.wait",
    }
    calls |= {"file": "/srv/app.py", "line": 12, "counts": [10, 40, 100]}
    (data,) = retainers(observation(calls))
    assert (data.type, data.path) == ("coroutine", "unfinished calls of serve.wait app.py:12")


@pytest.mark.parametrize(
    ("samples", "told"),
    [([100, 130, 140, 150, 160], True), ([100, 130, 90, 150, 160], False), ([100, 130], False)],
)
def test_a_variable_must_never_have_held_less(samples: list[int], told: bool) -> None:
    value: dict[str, Any] = {"record": "value", "type": "tuple", "length": 130, "bytes": None}
    value |= {"counts": [100, 130, 190], "samples": samples, "steps": [CACHE], "sites": []}
    assert [data.added for data in retainers(observation(value))] == [90] * told


def test_names_from_the_target_are_cleaned() -> None:
    evil = {**CACHE, "name": "A\x1b[31m\nB\u202e", "of": "password=hunter2"}
    site = {"function": "f\n\x00", "file": "/srv/app.py", "line": 3, "text": "x"}
    seen = observation(container(1, 99, type="x\ny", steps=[evil], sites=[site]))
    wire = BACKEND.parse(seen).facts[1].data.model_dump_json()
    assert "\\n" not in wire
    assert "\\u001b" not in wire
    assert "hunter2" not in wire


def test_a_bad_line_is_told_and_the_rest_is_kept() -> None:
    seen = observation(container(1, 99))
    broken = replace(seen, files={RECORDS: seen.files[RECORDS] + b'{"record": "cl'})
    parsed = BACKEND.parse(broken)
    assert len(retainers(broken)) == 1
    note = parsed.facts[-1].data
    assert isinstance(note, Note)
    assert (note.skipped_lines, note.first_bad_line) == (1, '{"record": "cl')


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "it ends early"),
        (b"nonsense\n", "nonsense"),
        (b'{"record": "look"}', "it ends early"),
        (b'{"record": "failure", "reason": "its heap is too large"}', "its heap is too large"),
    ],
)
def test_nothing_usable_is_an_error(raw: bytes, said: str) -> None:
    seen = Observation(BACKEND.name, BACKEND.tool, 7, {RECORDS: raw}, {})
    with pytest.raises(BackendError, match=said):
        BACKEND.parse(seen)


def test_only_x86_64_is_known() -> None:
    host = Host("linux", "6.1", "aarch64", True, frozenset(), None, None, {})
    assert BACKEND.availability(host).status == "unsupported_platform"
    assert BACKEND.availability(replace(host, arch="x86_64")).status == "ready"
    restricted = replace(host, arch="x86_64", is_root=False, ptrace_scope=1)
    assert BACKEND.availability(restricted).status == "missing"
