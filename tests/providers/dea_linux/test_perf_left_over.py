"""perf's file holds copies of the target's memory: nothing of it is left though DEA is killed."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.process.waiting import until, wait_gone

ROOT = Path(__file__).parents[3]
CODE = """
import anyio, os, pathlib, sys
from dea_linux.{backend} import BACKENDS
from tests.providers.observing import observe
anyio.run(observe, BACKENDS[0], [os.getppid()], pathlib.Path(sys.argv[1]), 30.0)
"""


@pytest.mark.needs("perf")
@pytest.mark.anyio
@pytest.mark.parametrize("backend", ["perf", "perf_faults"])
async def test_nothing_is_left_in_the_temporary_folder(backend: str, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    dea = subprocess.Popen(
        [sys.executable, "-c", CODE.format(backend=backend), str(tmp_path / "seen")],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT)},
    )
    started = await _records(dea.pid)
    dea.kill()
    dea.wait()
    for process in started:
        if process.is_running() and process.name() == "sleep":
            process.kill()  # it would end by itself, which is too late for us
        wait_gone(process.pid)
    assert list((tmp_path / "tmp").iterdir()) == []


async def _records(dea: int) -> list[psutil.Process]:
    """perf and its `sleep`, once it records."""
    found: list[psutil.Process] = []

    def records() -> bool:
        found[:] = psutil.Process(dea).children(recursive=True)
        return "sleep" in {process.name() for process in found}

    await until(records)
    return found
