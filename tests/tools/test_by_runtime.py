"""A family with several runtimes: each process goes to the backend that suits it."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from dea import registry
from dea.backend import Backend, Instruments, LinuxBackend, Observation, Parsed, Request
from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea.contracts.target import Runtime, Target
from dea.errors import BackendError
from dea.process import identity
from dea.store import home
from dea.tools import by_runtime
from dea.tools.by_runtime import observe_each
from dea.tools.run import Run

RUNTIMES: dict[int, Runtime] = {1: "native", 2: "python", 3: "python", 4: "go"}


class Looks(LinuxBackend):
    """Notes which pids it was asked to look at, or refuses."""

    tool: ClassVar[str] = "profile_cpu"

    def __init__(self, name: str, rank: int, *runtimes: Runtime, fails: bool = False) -> None:
        self.__dict__.update(rank=rank, runtimes=frozenset(runtimes))
        self.name = name
        self.fails = fails
        self.looked: list[int] = []

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        if self.fails:
            raise BackendError(f"{self.name} refuses")
        self.looked += request.pids
        return {}

    def parse(self, observation: Observation) -> Parsed:
        return Parsed([Fact(Note(text="seen"), "seen")])


def _accept(_pid: int, _ticks: int | None) -> None:
    """Any process is the one that was attached to."""


async def look(monkeypatch: pytest.MonkeyPatch, *backends: Looks) -> Run:
    everything: Sequence[Any] = sorted(backends, key=lambda backend: backend.rank)
    found: Sequence[Backend] = everything

    async def quiet(_fraction: float, _message: str) -> None:
        return

    monkeypatch.setattr(registry, "backends", lambda: found)
    monkeypatch.setattr(by_runtime, "detect_runtime", RUNTIMES.__getitem__)
    monkeypatch.setattr(identity, "require_same", _accept)
    target = Target(kind="pid", id="1", pid=1, runtime="native")
    run = Run("profile_cpu", quiet, None)  # type: ignore[arg-type]  # it calls no other tool
    run.open(home.create(target))
    await observe_each(run, Request(target, (2, 1, 3, 4), 1.0))
    return run


@pytest.mark.anyio
async def test_each_process_goes_to_the_backend_for_its_runtime(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python, every = Looks("a.python", 10, "python"), Looks("b.every", 50)
    run = await look(monkeypatch, python, every)
    assert (python.looked, every.looked) == ([2, 3], [1, 4])
    assert len(run.evidence) == 2


@pytest.mark.anyio
async def test_one_that_fails_does_not_hide_what_the_others_saw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor may it take over a backend that others use at that moment: their files would clash."""
    python, every = Looks("a.python", 10, "python", fails=True), Looks("b.every", 50)
    run = await look(monkeypatch, python, every)
    assert every.looked == [1, 4]
    assert any("a.python refuses" in limitation for limitation in run.limitations)


@pytest.mark.anyio
async def test_the_next_backend_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Looks("a.first", 10, fails=True), Looks("b.second", 50)
    await look(monkeypatch, first, second)
    assert second.looked == [2, 1, 3, 4]


@pytest.mark.anyio
async def test_when_none_could_look_that_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BackendError, match="refuses"):
        await look(monkeypatch, Looks("a.only", 10, fails=True))
    with pytest.raises(BackendError, match="cannot observe a"):
        await look(monkeypatch, Looks("a.java", 10, "java"))
