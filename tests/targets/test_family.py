"""Which process of a family does the work."""

import os
import signal
import subprocess
import sys

import pytest

from dea.process import identity
from dea.targets import family
from dea.targets.family import busiest
from tests.process.waiting import until, wait_gone


@pytest.mark.anyio
async def test_the_one_that_computes_comes_first_and_the_dead_are_left_out() -> None:
    spin = "print(flush=True)\nwhile True: pass"
    spinning = subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE)
    sleeping, dead = subprocess.Popen(["sleep", "600"]), subprocess.Popen(["true"])
    try:
        assert spinning.stdout is not None
        spinning.stdout.readline()
        wait_gone(dead.pid)
        workers = await busiest([sleeping.pid, dead.pid, spinning.pid])
        assert [worker.pid for worker in workers] == [spinning.pid, sleeping.pid]
        assert workers[0].cpu_share > 0.02 >= workers[1].cpu_share
    finally:
        for process in (spinning, sleeping, dead):
            process.kill()
            process.communicate()


@pytest.mark.anyio
async def test_idle_processes_keep_their_order() -> None:
    sleepers = [subprocess.Popen(["sleep", "600"]) for _ in range(3)]
    pids = [process.pid for process in sleepers]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)  # one that still starts is not idle yet
        await until(lambda: {identity.state(pid) for pid in pids} == {"T"})
        assert [worker.pid for worker in await busiest(pids[::-1], 0.05)] == pids[::-1]
    finally:
        for process in sleepers:
            process.kill()
            process.wait()


def test_a_large_family_is_known_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that works may have been born last."""

    def children(pid: int) -> list[int]:
        return list(range(2, 302)) if pid == 1 else []

    monkeypatch.setattr(family, "_kernel_lists_children", lambda: True)
    monkeypatch.setattr(family, "_children", children)
    assert family.descendants(1) == children(1)
