"""What the heap reader says of running programs, under every CPython of this machine."""

import subprocess
from pathlib import Path

import pytest

from dea.contracts.data import HeapRetainer, HeapSummary, Note
from dea.errors import BackendError
from dea_runtimes.cpython_heap import backend, retainers
from dea_runtimes.cpython_heap.backend import RECORDS, CPythonHeapGrowth
from tests.providers.dea_runtimes.cpython_heap.targets import (
    interpreters,
    left_alone,
    running,
    site_line,
)
from tests.providers.observing import observe

BACKEND = CPythonHeapGrowth()
PYTHONS = pytest.mark.parametrize("python", interpreters().values(), ids=interpreters().keys())
WINDOW_S = 1.6
# Type, path, and which line fills it.
GROWERS = [
    ("list", "module global growing.LISTED", "LISTED"),
    ("dict", "module global growing.MAPPED", "MAPPED"),
    ("set", "module global growing.UNIQUE", "UNIQUE"),
    ("collections.OrderedDict", "module global growing.ORDERED", "ORDERED"),
    ("collections.deque", "module global growing.ENDED", "ENDED"),
    (
        "collections.deque",
        "attribute queue of queue.Queue, held by module global growing.JOBS",
        "JOBS",
    ),
    ("bytearray", "module global growing.RAW", "RAW"),
    ("_io.BytesIO", "module global growing.TEXT", "TEXT"),
    ("list", "inside module global growing.SPREAD", "SPREAD"),
    ("tuple", "module global growing.REPLACED", "REPLACED"),
    ("str", "module global growing.LOG", "LOG"),
    ("dict", "attribute SESSIONS of class growing.Store", "Store.SESSIONS"),
    (
        "list",
        "attribute items of growing.Store, held by module global growing.STORE",
        "Store.items",
    ),
    (
        "list",
        "attribute rows of growing.Slotted, held by module global growing.SLOTTED",
        "Slotted.rows",
    ),
    ("list", "closure variable seen of make_handler.handler growing.py:", "handler.seen"),
    ("dict", "lru_cache of fetch growing.py:", "fetch"),
    ("list", "inside default argument of remember growing.py:", "remember.known"),
    ("list", "variable taken of pump growing.py:", "pump.taken"),
    ("list", "variable rows of main growing.py:", "main.rows"),
    ("growing.Session", "items of attribute SESSIONS of class growing.Store", "Store.SESSIONS"),
]


@PYTHONS
@pytest.mark.anyio
async def test_every_growing_container_is_named(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retainers, "MOST_RETAINERS", 100)
    with running("growing.py", python) as target:
        observation = await observe(BACKEND, [target.pid], tmp_path / "run", WINDOW_S)
        assert left_alone(target.pid)
    parsed = BACKEND.parse(observation)
    found = [fact.data for fact in parsed.facts if isinstance(fact.data, HeapRetainer)]
    for kind, path, site in GROWERS:
        data = next((d for d in found if d.type == kind and d.path.startswith(path)), None)
        assert data is not None, f"{kind} {path} in {[(d.type, d.path) for d in found]}"
        assert (data.added or 0) >= 16
        assert data.count > (data.added or 0)
        assert data.own
        assert site_line(site) in [frame.line for frame in data.sites], data
    assert any("HANDED" in data.path for data in found)
    assert not any("BOUND" in data.path for data in found)
    notes = [fact.data.text for fact in parsed.facts if isinstance(fact.data, Note)]
    assert any("growing.BOUND fills up" in note and "1,000,000" in note for note in notes)
    assert isinstance(parsed.facts[0].data, HeapSummary)
    assert parsed.facts[0].data.added["growing.Session"] >= 16
    assert b"secret-value" not in b"".join(observation.files.values())


@PYTHONS
@pytest.mark.anyio
async def test_a_steady_program_has_nothing_that_grows(python: str, tmp_path: Path) -> None:
    with running("steady.py", python) as target:
        observation = await observe(BACKEND, [target.pid], tmp_path / "run", WINDOW_S)
    found = [fact.data for fact in BACKEND.parse(observation).facts]
    assert [data for data in found if isinstance(data, HeapRetainer)] == []
    assert isinstance(found[0], HeapSummary)
    assert found[0].objects > 1000


@PYTHONS
@pytest.mark.anyio
async def test_a_heap_too_large_to_copy_is_read_without_holding_the_target(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "COPY_LIMIT_MIB", 1)
    monkeypatch.setattr(retainers, "MOST_RETAINERS", 100)
    with running("growing.py", python) as target:
        observation = await observe(BACKEND, [target.pid], tmp_path / "run", WINDOW_S)
    parsed = BACKEND.parse(observation)
    found = {fact.data.path for fact in parsed.facts if isinstance(fact.data, HeapRetainer)}
    assert {
        "module global growing.LISTED",
        "module global growing.LOG",
        "attribute SESSIONS of class growing.Store",
        "attribute items of growing.Store, held by module global growing.STORE",
    } <= found
    assert not any("BOUND" in path for path in found)
    assert b"held_s" not in observation.files[RECORDS]
    assert any("1 MiB that are copied at most" in text for text in parsed.limitations)


@pytest.mark.anyio
async def test_what_is_no_cpython_is_refused(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as target:
        with pytest.raises(BackendError, match="could not look: no CPython symbols"):
            await observe(BACKEND, [target.pid], tmp_path / "run", WINDOW_S)
        target.kill()


@pytest.mark.anyio
async def test_a_target_that_ends_meanwhile_is_an_error(tmp_path: Path) -> None:
    with running("steady.py") as target:
        target.kill()
        target.wait()
        with pytest.raises(BackendError, match="could not look"):
            await observe(BACKEND, [target.pid], tmp_path / "run", WINDOW_S)
