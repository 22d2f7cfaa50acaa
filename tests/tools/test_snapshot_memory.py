"""The flow of snapshot_memory: series, and what holds the memory of the process that grows."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO

import pytest

from dea.contracts.data import FrameHot, HeapRetainer, MetricSeries, Process
from dea.contracts.result import ToolResult
from dea.tools.invoke import invoke

GROWS = """
import sys, time
KEPT = []
print("ready", flush=True)
while True:
    KEPT.append(bytes(bytearray(b"x" * 20000)))
    time.sleep(0.002)
"""


def ready(process: "subprocess.Popen[bytes]") -> "subprocess.Popen[bytes]":
    output: IO[bytes] | None = process.stdout
    assert output is not None
    assert output.readline() == b"ready\n"
    return process


@pytest.fixture
def growing() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", GROWS], stdout=subprocess.PIPE) as process:
        yield ready(process)
        process.kill()


async def snapshot(pid: int, **arguments: object) -> ToolResult:
    attached = await invoke("attach", {"target": str(pid)})
    assert attached.ok, attached.error
    session = {"session_id": attached.session_id}
    return await invoke("snapshot_memory", {**session, "window_s": 2, **arguments})


@pytest.mark.anyio
async def test_a_python_heap_is_read_in_the_same_window(growing: "subprocess.Popen[bytes]") -> None:
    result = await snapshot(growing.pid)
    first = result.findings[0]
    assert first.severity in ("warn", "high")
    assert "KEPT" in first.summary
    kinds = {type(item.data) for item in result.evidence}
    assert {MetricSeries, HeapRetainer, Process} < kinds
    assert result.duration_ms < 15_000


@pytest.mark.anyio
async def test_metrics_only(growing: "subprocess.Popen[bytes]") -> None:
    result = await snapshot(growing.pid, heap=False)
    assert result.findings[0].confidence == "observed"
    kinds = {type(item.data) for item in result.evidence}
    assert not kinds & {HeapRetainer, FrameHot}
    assert not any("heap" in artifact.path for artifact in result.artifacts)


@pytest.mark.anyio
async def test_a_child_that_grows_is_the_one_whose_heap_is_read() -> None:
    shell = ["sh", "-c", '"$0" -c "$1" & wait', sys.executable, GROWS]
    with subprocess.Popen(shell, stdout=subprocess.PIPE, process_group=0) as process:
        try:
            result = await snapshot(ready(process).pid)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    (who,) = [item.data for item in result.evidence if isinstance(item.data, Process)]
    assert who.pid != process.pid
    assert who.runtime == "python"
    assert f"process {who.pid}" in result.findings[0].summary
    assert "KEPT" in result.findings[0].summary


@pytest.mark.anyio
async def test_a_target_that_has_ended_is_an_error() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        attached = await invoke("attach", {"target": str(process.pid)})
        process.kill()
    result = await invoke("snapshot_memory", {"session_id": attached.session_id})
    assert not result.ok
    assert "has ended" in (result.error or "")


@pytest.mark.anyio
async def test_one_look_at_an_idle_program_says_what_cannot_be_seen() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        result = await snapshot(process.pid, window_s=0)
        process.kill()
    assert result.ok
    assert not result.findings
    assert "no heap reader for native yet: metrics only" in result.limitations


@pytest.mark.anyio
async def test_that_nothing_grew_is_said() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        result = await snapshot(process.pid)
        process.kill()
    (finding,) = result.findings
    assert finding.severity == "info"
    assert "nothing grew in 2" in finding.summary
    assert "anonymous memory " in finding.summary


@pytest.mark.anyio
async def test_the_series_of_a_target_that_ends_are_kept() -> None:
    """Its heap can no longer be read then."""
    with subprocess.Popen([sys.executable, "-c", GROWS], stdout=subprocess.PIPE) as process:
        threading.Timer(3.0, process.kill).start()
        result = await snapshot(ready(process).pid, window_s=30)
    assert result.ok, result.error
    assert any(isinstance(item.data, MetricSeries) for item in result.evidence)
    assert any("what holds the memory was not read" in text for text in result.limitations)
