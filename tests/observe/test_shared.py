"""One look serves two runs that want the same bytes at the same time, and only those."""

import subprocess
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from dea.backend import Instruments, Observation, Parsed, Request
from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea.errors import BackendError
from tests.backends import Scripted, run_on

pytestmark = pytest.mark.anyio


@pytest.fixture
def pid() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


class Looks:
    """Counts looks; each waits until `go` is set."""

    def __init__(self, *, fails: bool = False) -> None:
        self.count = 0
        self.fails = fails
        self.begun, self.go = anyio.Event(), anyio.Event()

    async def observe(self, _request: Request, instruments: Instruments) -> dict[str, Any]:
        self.count += 1
        self.begun.set()
        await self.go.wait()
        if self.fails and self.count == 1:
            raise BackendError("no")
        instruments.save("raw.txt", "seen")
        return {"rate": 9}


def parse(observation: Observation) -> Parsed:
    text = f"{observation.text('raw.txt')} {observation.facts['rate']}"
    return Parsed([Fact(Note(text=text), text, "raw.txt", (1, 1))])


async def observe_twice(pid: int, looks: Looks, *names: str) -> list[str]:
    """Two runs at once, each with a backend of that look; what each found."""
    found: list[str] = []

    async def observe(look: str) -> None:
        run = run_on(pid)
        backend = Scripted(looks.observe, parse, look=look)
        try:
            await run.observe(await run.request(), backends=[backend])  # type: ignore[list-item]
        except BackendError as error:
            found.append(str(error))
            return
        found.extend(evidence.summary for evidence in run.evidence)
        session, _ = run.stored()
        assert (session.artifacts / "001-fake.look.raw.txt").read_bytes() == b"seen"

    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(observe, name)
        await looks.begun.wait()
        await anyio.wait_all_tasks_blocked()
        looks.go.set()
    return found


async def test_the_second_takes_over_what_the_first_saved(pid: int) -> None:
    looks = Looks()
    assert await observe_twice(pid, looks, "sampling", "sampling") == ["seen 9", "seen 9"]
    assert looks.count == 1


async def test_other_looks_and_those_of_no_name_are_their_own(pid: int) -> None:
    looks = Looks()
    await observe_twice(pid, looks, "sampling", "tracing", "", "")
    assert looks.count == 4


async def test_when_the_first_fails_the_second_looks_itself(pid: int) -> None:
    looks = Looks(fails=True)
    found = await observe_twice(pid, looks, "sampling", "sampling")
    assert sorted(found) == ["fake.look: no", "seen 9"]
