"""Offsets that do not fit the live heap are refused, never believed."""

import time

import pytest

from dea_runtimes.cpython_heap.reader import interpreter as interpreter_module
from dea_runtimes.cpython_heap.reader.failures import CannotLookError
from dea_runtimes.cpython_heap.reader.image import find_image
from dea_runtimes.cpython_heap.reader.interpreter import find_interpreter
from dea_runtimes.cpython_heap.reader.look import Look, take_look
from dea_runtimes.cpython_heap.reader.memory import Memory
from dea_runtimes.cpython_heap.reader.offsets import VERSIONS, Offsets, offsets_of
from tests.providers.dea_runtimes.cpython_heap.targets import running

# Those on which counts, names and places stand.
GUARDED = [
    *("code.filename", "code.first_line", "code.variables", "function.code"),
    *("tuple.items", "str.ascii", "heaptype.keys", "values.items"),
]


def look_with(pid: int, changed: Offsets, monkeypatch: pytest.MonkeyPatch) -> Look:
    memory = Memory(pid)

    def changed_offsets(_: int) -> Offsets:
        return dict(changed)

    def nothing_published(*_: object) -> Offsets:
        return {}

    monkeypatch.setattr(interpreter_module, "offsets_of", changed_offsets)
    monkeypatch.setattr(interpreter_module, "published", nothing_published)
    return take_look(find_interpreter(memory, find_image(memory)), 1 << 30, time.monotonic())


@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize("shift", [-16, 16])
def test_a_wrong_offset_is_refused(name: str, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with running("growing.py") as target:
        memory = Memory(target.pid)
        right = offsets_of(find_image(memory).minor)
        look_with(target.pid, right, monkeypatch)
        with pytest.raises(CannotLookError):
            look_with(target.pid, {**right, name: right[name] + shift}, monkeypatch)


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(CannotLookError, match=r"3\.99"):
        offsets_of(99)
    assert all(offsets_of(minor)["tuple.items"] >= 24 for minor in VERSIONS)


def test_a_heap_over_the_limit_is_refused() -> None:
    with running("growing.py") as target:
        memory = Memory(target.pid)
        interpreter = find_interpreter(memory, find_image(memory))
        with pytest.raises(CannotLookError, match="larger than the 1 MiB"):
            take_look(interpreter, 1 << 20, time.monotonic())
