"""What a run hands to backends, and what it says of the processes that they look at."""

import pytest

from dea.contracts.target import Target
from dea.targets import family
from dea.targets.family import Worker
from dea.tools.invoke import quiet
from dea.tools.run import Run
from tests.process.waiting import stop
from tests.tools.targets import call, sleeping

pytestmark = pytest.mark.anyio


async def test_of_a_large_family_the_busiest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def many(_pid: int) -> list[int]:
        return list(range(2, 302))

    async def last_first(pids: list[int]) -> list[Worker]:
        return [Worker(pid, 0.0) for pid in reversed(pids)]

    monkeypatch.setattr(family, "descendants", many)
    monkeypatch.setattr(family, "busiest", last_first)
    target = Target(kind="pid", id="1", pid=1)
    run = Run("time_budget", quiet, None, target=target)  # type: ignore[arg-type]
    request = await run.request(whole_family=True)
    assert request.pids == tuple(range(301, 45, -1))
    assert run.limitations == ["256 of 301 processes were looked at, the busiest first"]


@pytest.mark.parametrize("tool", ["inspect_files", "time_budget"])
async def test_that_the_target_is_stopped_is_said_by_whatever_looks(tool: str) -> None:
    with sleeping() as process:
        stop(process.pid)
        session = (await call("attach", target=str(process.pid))).session_id
        result = await call(tool, session_id=session)
    assert any(f"process {process.pid} is stopped" in text for text in result.limitations)
