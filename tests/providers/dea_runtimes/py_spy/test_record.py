"""Recordings of py-spy as evidence, and py-spy itself on a small program."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dea.backend import Observation, Parsed, ProgramResult
from dea.contracts.data import FrameHot, Metric, Note, Process
from dea.errors import BackendError
from dea_runtimes.py_spy.record import Record, Wall
from dea_runtimes.py_spy.refusal import refusal
from tests.providers.observing import observe, recorded

RECORD, WALL = Record(), Wall()
SPECIMENS = Path(__file__).parents[3] / "specimens"


def hot(parsed: Parsed) -> list[FrameHot]:
    return [fact.data for fact in parsed.facts if isinstance(fact.data, FrameHot)]


def metrics(parsed: Parsed) -> dict[str, float]:
    found = (fact.data for fact in parsed.facts)
    return {m.name: m.value for m in found if isinstance(m, Metric) and m.tid is None}


def test_the_line_that_is_hot_and_the_loop_around_it() -> None:
    first = hot(RECORD.parse(recorded(RECORD.name, "n_plus_one")))[0]
    assert first.frame.place() == "items_of n_plus_one.py:11"
    assert first.frame.own
    assert first.share > 0.8
    assert first.callers[0] == "list_orders n_plus_one.py:20"
    assert set(first.calls) == {"db.execute", "fetchall"}
    assert first.in_loop is False
    assert first.loop == "list_orders n_plus_one.py:20"
    assert set(first.loop_fed_by) == {"db.execute", "fetchall"}
    assert first.source is not None
    assert first.source.startswith("return db.execute(question, (order,)).fetchall()")


def test_the_fact_cites_the_line_of_the_recording_that_shows_it() -> None:
    observation = recorded(RECORD.name, "n_plus_one")
    fact = RECORD.parse(observation).facts[0]
    assert fact.file is not None
    assert fact.lines is not None
    line = observation.text(fact.file).split("\n")[fact.lines[0] - 1]
    assert "items_of (/srv/app/n_plus_one.py:11)" in line


def test_a_descendant_is_told_from_the_target() -> None:
    parsed = RECORD.parse(recorded(RECORD.name, "child_works"))
    processes = [fact.data for fact in parsed.facts if isinstance(fact.data, Process)]
    target, child = processes
    assert target.pid == target.target == child.target
    assert {one.pid for one in hot(parsed)} == {child.pid}
    assert (child.cpu_share or 0) > 10 * (target.cpu_share or 0)
    assert (child.cmdline or "").endswith("cpu_hot.py")


def test_a_process_that_never_runs_is_a_result_not_an_error() -> None:
    parsed = RECORD.parse(recorded(RECORD.name, "idle_pool"))
    assert hot(parsed) == []
    assert metrics(parsed)["cpu_share"] < 0.05
    assert parsed.products == []


def test_wall_clock_names_the_line_of_each_thread() -> None:
    found = hot(WALL.parse(recorded(WALL.name, "lock_contention")))
    where = {(one.thread, one.frame.place()) for one in found if one.share > 0.9}
    assert ("Thread-1 (audit)", "audit lock_contention.py:14") in where
    assert ("Thread-2 (deposit)", "deposit lock_contention.py:21") in where
    assert {one.scope for one in found} == {"wall"}
    assert all(one.tid is not None for one in found)


def test_a_flame_graph_comes_with_it() -> None:
    (picture,) = RECORD.parse(recorded(RECORD.name, "n_plus_one")).products
    assert picture.kind == "flamegraph_svg"
    assert b"items_of" in picture.data


def changed(case: str, stacks: bytes) -> Observation:
    observation = recorded(RECORD.name, case)
    files = {**observation.files, "stacks.folded": stacks}
    return Observation(RECORD.name, RECORD.tool, observation.pid, files, observation.facts)


def test_a_damaged_recording_keeps_its_good_part() -> None:
    good = recorded(RECORD.name, "n_plus_one").files["stacks.folded"]
    parsed = RECORD.parse(changed("n_plus_one", good + b"\xff\xfe torn"))
    (note,) = [fact.data for fact in parsed.facts if isinstance(fact.data, Note)]
    assert note.skipped_lines == 1
    assert hot(parsed)[0].frame.function == "items_of"


def test_nothing_readable_is_an_error_with_the_first_line() -> None:
    with pytest.raises(BackendError, match="not folded at all"):
        RECORD.parse(changed("n_plus_one", b"not folded at all\n"))


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        ("Permission Denied: Try running again with elevated permissions", "CAP_SYS_PTRACE"),
        ("Error: Unsupported version of Python: 3.99.1\n", "does not support Python 3.99.1"),
        ("Error: Failed to find python version from target process", "no Python interpreter"),
        ("Error: Failed to find a python interpreter in the .data section", "a very deep stack"),
        ("Caused by:\n    0: No such file or directory (os error 2)", "ended before"),
        ("py-spy> hello\nError: something new\n\nStack backtrace:", "something new"),
    ],
)
def test_refusals_say_what_to_do(stderr: str, said: str) -> None:
    result = ProgramResult(1, b"", stderr, truncated=False, timed_out=False, duration_s=1.0)
    assert said in str(refusal(result, 7))


@pytest.fixture
def busy() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, str(SPECIMENS / "cpu_hot.py")], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout
        assert process.stdout.readline().startswith(b"ready")
        yield process
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


@pytest.mark.anyio
@pytest.mark.needs("py-spy")
async def test_a_running_program(busy: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    observation = await observe(RECORD, [busy.pid], tmp_path / "x", 1.0)
    first = hot(RECORD.parse(observation))[0]
    assert first.frame.function == "checksum"
    assert first.source is not None


@pytest.mark.anyio
@pytest.mark.needs("py-spy")
async def test_a_program_that_is_not_python(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(BackendError, match="no Python interpreter"):
            await observe(RECORD, [process.pid], tmp_path / "x", 1.0)
    finally:
        process.kill()
        process.wait()
