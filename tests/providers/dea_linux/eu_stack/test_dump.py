"""Stacks of native threads by eu-stack."""

import subprocess
from pathlib import Path

import pytest

from dea.backend import Observation, Parsed
from dea.contracts.data import Note, Stack, StackSummary
from dea.errors import BackendError
from dea_linux.eu_stack import BACKENDS
from tests.providers.observing import observe, recorded

(DUMP,) = BACKENDS


def stacks(parsed: Parsed) -> list[Stack]:
    return [fact.data for fact in parsed.facts if isinstance(fact.data, Stack)]


def own(stack: Stack) -> list[str]:
    return [frame.place() for frame in stack.frames if frame.own]


def test_own_frames_with_lines_and_library_frames_below() -> None:
    found = stacks(DUMP.parse(recorded(DUMP.name, "mutex_contention")))
    assert [own(stack) for stack in found] == [
        ["main mutex_contention.c:43"],
        ["sleep_ms lifeline.h:36", "audit mutex_contention.c:11"],
        *[["post_entry mutex_contention.c:20", "clerk mutex_contention.c:28"]] * 3,
    ]
    assert found[2].frames[0].function == "futex_wait"
    assert not found[2].frames[0].own
    assert {(stack.state, stack.on_cpu) for stack in found} == {("S", False)}


def test_waiters_at_one_place_are_one_group() -> None:
    parsed = DUMP.parse(recorded(DUMP.name, "mutex_contention"))
    (summary,) = [fact.data for fact in parsed.facts if isinstance(fact.data, StackSummary)]
    assert [group.threads for group in summary.groups] == [3, 1, 1]


def test_a_fact_cites_the_thread_in_the_text() -> None:
    observation = recorded(DUMP.name, "mutex_contention")
    for fact in DUMP.parse(observation).facts:
        if isinstance(fact.data, Stack):
            assert fact.lines is not None
            lines = observation.text(fact.file or "").split("\n")[fact.lines[0] - 1 : fact.lines[1]]
            assert lines[0] == f"TID {fact.data.tid}:"
            assert sum(line.startswith("#") for line in lines) >= len(fact.data.frames)


STRIPPED = """\
PID 9 - process
TID 9:
#0  0x00007fede8e88e43 - /usr/lib/x86_64-linux-gnu/liblzma.so.5.4.1
#1  0x000055f000001234 app::run(std::vector<int> - 1) - /srv/x
    /srv/x.cpp:7:3
#2  0x00007f0000000001
something else
"""


def text(raw: str) -> Parsed:
    family = [{"pid": 9, "comm": "x", "executable": "/srv/x"}]
    facts = {"pids": [9], "family": family, "failures": [], "runtime": None}
    rest = {"took_s": 0.1, "left_out": 0}
    files = {"stacks.9.txt": raw.encode(), "threads.9.txt": b""}
    return DUMP.parse(Observation(DUMP.name, DUMP.tool, 9, files, {**facts, **rest}))


def test_functions_without_a_name_are_told_by_where_they_are() -> None:
    (stack,) = stacks(text(STRIPPED))
    assert [frame.function for frame in stack.frames] == [
        "liblzma.so.5.4.1 at 0x7fede8e88e43",
        "app::run",
        "unknown code at 0x7f0000000001",
    ]
    assert own(stack) == ["app::run x.cpp:7"]
    (note,) = [f.data for f in text(STRIPPED).facts if isinstance(f.data, Note)]
    assert note.first_bad_line == "something else"


def test_no_thread_at_all_is_an_error() -> None:
    with pytest.raises(BackendError, match="oops"):
        text("oops\n")


@pytest.mark.anyio
@pytest.mark.needs("eu-stack")
async def test_a_running_program_goes_on(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        (stack,) = stacks(DUMP.parse(await observe(DUMP, [process.pid], tmp_path / "x")))
        assert stack.tid == process.pid
        assert any("nanosleep" in frame.function for frame in stack.frames)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
