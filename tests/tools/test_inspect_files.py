"""The flow of inspect_files on a live process that leaks descriptors, and on one that does not."""

import subprocess
import sys
from pathlib import Path

import pytest

from dea.contracts.result import ToolResult
from dea.tools.invoke import invoke

LEAKS = """
import sys, time
kept = []
print("ready", flush=True)
while True:
    kept.append(open(sys.argv[1] + f"/part-{len(kept)}.tmp", "w"))
    time.sleep(0.05 if sys.argv[2] == "leak" else 0)
    if sys.argv[2] == "close":
        kept.pop().close()
        time.sleep(0.05)
"""


async def inspect(folder: Path, how: str, window_s: int) -> ToolResult:
    program = [sys.executable, "-c", LEAKS, str(folder), how]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        attached = await invoke("attach", {"target": str(process.pid)})
        call = {"session_id": attached.session_id, "window_s": window_s}
        result = await invoke("inspect_files", call)
        process.kill()
    assert result.ok, result.error
    return result


@pytest.mark.anyio
async def test_files_that_stay_open_are_named(tmp_path: Path) -> None:
    result = await inspect(tmp_path, "leak", 2)
    (finding,) = result.findings
    assert finding.severity in ("warn", "high")
    assert "open files" in finding.summary
    assert "part-*.tmp" in finding.summary


@pytest.mark.anyio
async def test_files_that_are_closed_are_not(tmp_path: Path) -> None:
    (finding,) = (await inspect(tmp_path, "close", 2)).findings
    assert finding.severity == "info"
    assert "nothing grew in" in finding.summary
    assert "descriptors 3" in finding.summary


@pytest.mark.anyio
async def test_one_look(tmp_path: Path) -> None:
    result = await inspect(tmp_path, "leak", 0)
    assert not result.findings
    assert result.evidence[0].kind == "fd_summary"
