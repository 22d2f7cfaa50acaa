"""time_budget: one account of the time, with stacks beside it where a backend has them."""

import os
from typing import Any

import pytest

from dea import registry
from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea.contracts.data import Frame, FrameHot, Metric, Part
from dea.contracts.evidence import Fact
from dea.contracts.result import ToolResult
from dea.errors import BackendError
from dea.tools.invoke import invoke

pytestmark = pytest.mark.anyio
PID = os.getpid()
WAITS = Metric(
    name="thread_time",
    value=1.0,
    unit="s",
    pid=PID,
    tid=PID,
    parts=[Part(cause="disk", share=1.0, syscall="fsync", object="/x")],
)
LINE = FrameHot(
    pid=PID,
    scope="wall",
    frame=Frame(function="save", file="/srv/a.py", line=3, own=True),
    share=1.0,
    self_share=1.0,
    samples=50,
    total_samples=50,
    tid=PID,
)


class Fake(LinuxBackend):
    """Sees what it was given, or fails."""

    name = "fake"
    tool = "time_budget"
    found: Metric | FrameHot | BackendError = WAITS

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        if isinstance(self.found, BackendError):
            raise self.found
        instruments.save("seen.txt", "seen\n")
        return {}

    def parse(self, observation: Observation) -> Parsed:
        assert not isinstance(self.found, BackendError)
        return Parsed([Fact(self.found, "seen", "seen.txt", (1, 1))])


class FakeStacks(Fake):
    name = "fake_stacks"
    tool = "time_budget.stacks"
    found: Metric | FrameHot | BackendError = LINE


class NoStacks(FakeStacks):
    found = BackendError("no symbols")


class JavaStacks(FakeStacks):
    """Nothing of the kind exists for this target."""

    runtimes = frozenset({"java"})


class NoBudget(Fake):
    found = BackendError("no thread could be read")


async def budget(monkeypatch: pytest.MonkeyPatch, *backends: Fake) -> ToolResult:
    monkeypatch.setattr(registry, "backends", lambda: backends)
    attached = await invoke("attach", {"target": str(PID)})
    arguments = {"session_id": attached.session_id, "duration_s": 1}
    return await invoke("time_budget", arguments)


async def test_stacks_taken_beside_it_name_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    result = await budget(monkeypatch, Fake(), FakeStacks())
    assert "fsync of /x, at save a.py:3" in result.findings[0].summary
    assert len(result.findings[0].evidence_ids) == 2


@pytest.mark.parametrize(
    ("others", "limit"),
    [
        ((), "dump_stacks shows it at one moment"),
        ((JavaStacks(),), "dump_stacks shows it at one moment"),
        ((NoStacks(),), "could not be sampled"),
    ],
)
async def test_without_stacks_the_budget_stands(
    monkeypatch: pytest.MonkeyPatch, others: tuple[Fake, ...], limit: str
) -> None:
    result = await budget(monkeypatch, Fake(), *others)
    assert result.ok
    assert result.findings[0].severity == "high"
    assert any(limit in said for said in result.limitations)
    assert not any("doctor" in said for said in result.limitations)


async def test_a_failing_budget_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    result = await budget(monkeypatch, NoBudget(), FakeStacks())
    assert not result.ok
    assert "no thread could be read" in (result.error or "")
    assert "internal" not in (result.error or "")
