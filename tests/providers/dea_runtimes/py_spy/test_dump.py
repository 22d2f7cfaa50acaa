"""Stacks of all Python threads at one moment."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dea.backend import Observation
from dea.contracts.data import Stack, StackSummary
from dea.errors import BackendError
from dea_runtimes.py_spy.dump import Dump
from tests.providers.observing import observe, recorded

DUMP = Dump()
SPECIMENS = Path(__file__).parents[3] / "specimens"


def test_each_thread_with_its_own_code() -> None:
    parsed = DUMP.parse(recorded(DUMP.name, "lock_contention"))
    stacks = {s.data.thread: s.data for s in parsed.facts if isinstance(s.data, Stack)}
    deposit = stacks["Thread-2 (deposit)"]
    assert deposit.frames[0].place() == "deposit lock_contention.py:21"
    assert deposit.frames[0].own
    assert not deposit.frames[1].own  # Thread.run
    assert (deposit.on_cpu, deposit.holds_gil, deposit.state) == (False, False, "S")
    assert stacks["MainThread"].tid == stacks["MainThread"].pid


def test_threads_at_the_same_place_are_one_group() -> None:
    parsed = DUMP.parse(recorded(DUMP.name, "lock_contention"))
    (summary,) = [fact.data for fact in parsed.facts if isinstance(fact.data, StackSummary)]
    assert summary.threads == 5
    assert [group.threads for group in summary.groups] == [3, 1, 1]


def test_an_unreadable_dump_is_an_error_that_shows_it() -> None:
    facts: dict[str, Any] = {"pids": [7], "failures": [], "left_out": 0, "native_ids": {}}
    files = {"stacks.7.json": b"[{]", "threads.7.txt": b""}
    with pytest.raises(BackendError, match=r"\[\{\]"):
        DUMP.parse(Observation(DUMP.name, DUMP.tool, 7, files, facts))


@pytest.mark.anyio
@pytest.mark.needs("py-spy")
async def test_a_process_that_ended_does_not_hide_the_others(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SPECIMENS / "idle_pool.py")], stdout=subprocess.PIPE
    )
    gone = subprocess.Popen(["true"])
    gone.wait()
    try:
        assert process.stdout
        process.stdout.readline()
        observation = await observe(DUMP, [gone.pid, process.pid], tmp_path / "x")
    finally:
        process.kill()
        process.communicate()
    parsed = DUMP.parse(observation)
    assert {f.data.pid for f in parsed.facts if isinstance(f.data, Stack)} == {process.pid}
    assert any(str(gone.pid) in limitation for limitation in parsed.limitations)
