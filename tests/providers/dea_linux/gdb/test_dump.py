"""Stacks of native threads by gdb."""

import subprocess
from pathlib import Path

import pytest

from dea.backend import Parsed
from dea.contracts.data import Stack
from dea.errors import BackendError
from dea_linux.eu_stack import BACKENDS as EU_STACK
from dea_linux.gdb import BACKENDS
from tests.providers.observing import observe, recorded

(DUMP,) = BACKENDS


def own(parsed: Parsed) -> list[list[str]]:
    stacks = [fact.data for fact in parsed.facts if isinstance(fact.data, Stack)]
    return sorted([f.place() for f in stack.frames if f.own] for stack in stacks)


def test_it_says_the_same_as_eu_stack() -> None:
    ours = DUMP.parse(recorded(DUMP.name, "mutex_contention"))
    theirs = EU_STACK[0].parse(recorded(EU_STACK[0].name, "mutex_contention"))
    assert own(ours) == own(theirs)


def test_no_value_of_an_argument_is_shown() -> None:
    text = recorded(DUMP.name, "mutex_contention").text
    assert "(...)" in text(next(iter(recorded(DUMP.name, "mutex_contention").files)))


def test_a_fact_cites_the_thread_in_the_text() -> None:
    observation = recorded(DUMP.name, "mutex_contention")
    for fact in DUMP.parse(observation).facts:
        if isinstance(fact.data, Stack):
            assert fact.lines is not None
            line = observation.text(fact.file or "").split("\n")[fact.lines[0] - 1]
            assert f"LWP {fact.data.tid})" in line or f"LWP {fact.data.tid} " in line


@pytest.mark.anyio
@pytest.mark.needs("gdb")
async def test_a_running_program_goes_on(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        parsed = DUMP.parse(await observe(DUMP, [process.pid], tmp_path / "x"))
        (stack,) = [fact.data for fact in parsed.facts if isinstance(fact.data, Stack)]
        assert any("nanosleep" in frame.function for frame in stack.frames)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


@pytest.mark.anyio
@pytest.mark.needs("gdb")
async def test_a_process_that_has_ended(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(BackendError, match="has ended"):
        await observe(DUMP, [process.pid], tmp_path / "x")
