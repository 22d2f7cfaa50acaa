"""Recordings of JavaScript stacks as evidence, and live programs of known shape."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dea.backend import Observation, Parsed
from dea.contracts.data import FrameHot, Metric, Note, Stack
from dea.errors import BackendError
from dea_runtimes.v8.backend import Dump, Record, Wall
from dea_runtimes.v8.records import STACKS
from tests.providers.observing import observe, recorded

RECORD, WALL, DUMP = Record(), Wall(), Dump()


def hot(parsed: Parsed) -> list[FrameHot]:
    return [fact.data for fact in parsed.facts if isinstance(fact.data, FrameHot)]


def stacks(parsed: Parsed) -> list[Stack]:
    return [fact.data for fact in parsed.facts if isinstance(fact.data, Stack)]


def changed(observation: Observation, change: Callable[[bytes], bytes]) -> Observation:
    return replace(
        observation,
        files={**observation.files, STACKS: change(observation.files[STACKS])},
    )


def test_the_hot_function_and_what_was_compiled_into_it() -> None:
    parsed = RECORD.parse(recorded(RECORD.name, "inlined"))
    first = hot(parsed)[0]
    assert first.frame.place() == "score score.js:7"
    assert first.frame.own
    assert first.share > 0.9
    assert first.callers == ["(anonymous) score.js:14"]
    assert "mix score.js:1 (compiled into it)" in first.below


def test_the_fact_cites_the_stack_that_shows_it() -> None:
    observation = recorded(RECORD.name, "inlined")
    fact = RECORD.parse(observation).facts[0]
    assert fact.lines is not None
    line = json.loads(observation.text(STACKS).splitlines()[fact.lines[0] - 1])
    assert line["record"] == "stack"
    assert line["samples"] >= 10


def test_a_regular_expression_counts_for_the_function_that_uses_it() -> None:
    first = hot(RECORD.parse(recorded(RECORD.name, "regexp")))[0]
    assert first.frame.place() == "validate regexp.js:3"
    assert "[regular expression]" in first.below


def test_the_share_of_garbage_collection() -> None:
    parsed = RECORD.parse(recorded(RECORD.name, "garbage"))
    (share,) = [
        fact.data.value
        for fact in parsed.facts
        if isinstance(fact.data, Metric) and fact.data.name == "gc_share"
    ]
    assert 0.05 < share < 0.5
    assert hot(parsed)[0].frame.place() == "build garbage.js:3"


def test_a_callback_that_waits_is_known_to_hold_up_the_loop() -> None:
    (only,) = hot(WALL.parse(recorded(WALL.name, "exec_sync")))
    assert only.frame.place() == "version exec_sync.js:3"
    assert only.event_loop == "Node.js"
    assert "epoll_pwait (kernel)" in only.below


def test_an_idle_loop_names_nobody() -> None:
    (only,) = hot(WALL.parse(recorded(WALL.name, "idle")))
    assert not only.frame.own
    assert only.event_loop is None


def test_waiting_does_not_count_as_cpu_time() -> None:
    observation = recorded(WALL.name, "exec_sync")
    total = sum(one.total_samples for one in hot(RECORD.parse(observation))[:1])
    assert total < hot(WALL.parse(observation))[0].total_samples / 4


def test_a_stack_shows_node_s_own_frames_as_a_library() -> None:
    (stack,) = stacks(DUMP.parse(recorded(DUMP.name, "regexp")))
    assert [frame.place() for frame in stack.frames[:4]] == [
        "[regular expression]",
        "test (built-in)",
        "validate regexp.js:3",
        "(anonymous) regexp.js:7",
    ]
    assert [frame.own for frame in stack.frames] == [False, False, True, True, False, False]
    assert stack.on_cpu


def test_lines_that_cannot_be_read_are_told() -> None:
    parsed = RECORD.parse(changed(recorded(RECORD.name, "inlined"), lambda raw: b"??\n" + raw))
    (note,) = [fact.data for fact in parsed.facts if isinstance(fact.data, Note)]
    assert (note.skipped_lines, note.first_bad_line) == (1, "??")
    assert hot(parsed)[0].frame.function == "score"


def test_records_that_end_early_are_an_error() -> None:
    observation = recorded(RECORD.name, "inlined")
    with pytest.raises(BackendError, match="cannot be read"):
        RECORD.parse(changed(observation, lambda raw: raw[:300]))


PROGRAM = """
import { createHash } from 'node:crypto';
class Cart {
  total(n) { let sum = 0; for (let i = 0; i < n; i++) sum += Math.random(); return sum; }
}
const spread = (n) => { let text = ''; for (let i = 0; i < n; i++) text += i; return text.length; };
const handlers = [function (n) { const all = {}; for (let i = 0; i < n; i++) all['k' + i % 99] = i; }];
console.log('ready');
setInterval(() => { new Cart().total(3e5); spread(3e4); handlers[0](3e4); }, 1);
"""
BLOCKED = """
function waitForever(flag) {
  while (flag.go) { }
}
process.stdout.write('ready\\n', () => waitForever({ go: true }));
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str, str], "subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(name: str, text: str) -> "subprocess.Popen[bytes]":
        script = tmp_path / name
        script.write_text(text.strip())
        process = subprocess.Popen(["node", str(script)], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        return process

    yield begin
    for process in started:
        assert process.poll() is None
        process.kill()
        process.communicate()


@pytest.mark.anyio
@pytest.mark.needs("node")
async def test_methods_arrows_and_nameless_functions_of_a_module(
    start: Callable[[str, str], "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    process = start("shop app.mjs", PROGRAM)
    parsed = RECORD.parse(await observe(RECORD, [process.pid], tmp_path / "x", 2.0))
    places = {one.frame.place(): one.frame for one in hot(parsed) if one.frame.own}
    known = {
        f"{name} shop app.mjs:{line}"
        for name, line in [("total", 3), ("spread", 5), ("handlers", 6), ("(anonymous)", 8)]
    }
    assert places
    assert set(places) <= known
    assert all(frame.file == str(tmp_path / "shop app.mjs") for frame in places.values())


@pytest.mark.anyio
@pytest.mark.needs("node")
async def test_a_loop_that_never_comes_back(
    start: Callable[[str, str], "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    process = start("blocked.js", BLOCKED)
    observation = await observe(DUMP, [process.pid], tmp_path / "x")
    (stack,) = stacks(DUMP.parse(observation))
    assert stack.frames[0].place() == "waitForever blocked.js:1"
    assert status(process.pid) == ("R", "0")


@pytest.mark.anyio
@pytest.mark.needs("node")
async def test_a_reader_that_is_killed_leaves_the_target_running(
    start: Callable[[str, str], "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    process = start("blocked.js", BLOCKED)
    for limit_s in (0.7, 1.1):
        argv = [sys.executable, "-P", "-m", "dea_runtimes.v8.reader", str(process.pid)]
        reader = subprocess.Popen([*argv, "60", "50", "cpu", str(tmp_path / "out")])
        with pytest.raises(subprocess.TimeoutExpired):
            reader.wait(limit_s)
        os.kill(reader.pid, signal.SIGKILL)
        reader.wait()
        assert status(process.pid) == ("R", "0")


@pytest.mark.anyio
async def test_a_program_without_v8(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(BackendError, match="could not look: .*no v8dbg symbols"):
            await observe(RECORD, [process.pid], tmp_path / "x", 1.0)
    finally:
        process.kill()
        process.wait()


def status(pid: int) -> tuple[str, str]:
    """The state's letter and who traces it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return fields["State"][0], fields["TracerPid"]
