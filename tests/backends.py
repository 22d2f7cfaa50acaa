"""Backends that do what a test asks for, and a session on a process that they may look at."""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from dea.backend import Instruments, LinuxBackend, Observation, Parsed, Request
from dea.contracts.data import Note
from dea.contracts.evidence import Fact
from dea.contracts.target import Target
from dea.process import identity
from dea.store import home
from dea.store.session import StoredSession
from dea.tools.invoke import quiet
from dea.tools.run import Run

Look = Callable[[Request, Instruments], Awaitable[dict[str, Any]]]


def parse_lines(observation: Observation) -> Parsed:
    """One note per stored file."""
    return Parsed(
        [
            Fact(Note(text=observation.text(name)), f"read {name}", name, (1, 1))
            for name in observation.files
        ]
    )


class Scripted(LinuxBackend):
    """Observes and parses as it is told."""

    tool: ClassVar[str] = "profile_cpu"

    def __init__(
        self,
        observe: Look,
        parse: Callable[[Observation], Parsed] = parse_lines,
        *,
        name: str = "fake.look",
        traces: bool = False,
        look: str = "",
    ) -> None:
        self.__dict__.update(name=name, traces=traces, look=look)
        self._look, self._parse = observe, parse

    async def observe(self, request: Request, instruments: Instruments) -> dict[str, Any]:
        return await self._look(request, instruments)

    def parse(self, observation: Observation) -> Parsed:
        return self._parse(observation)


def session_on(pid: int) -> StoredSession:
    """As attach makes it."""
    session = home.create(Target(kind="pid", id=str(pid), pid=pid, runtime="native"))
    session.save_private("identity", {str(pid): identity.start_ticks(pid)})
    return session


def run_on(pid: int, tool: str = "profile_cpu") -> Run:
    """A run that has begun, of a tool that calls no other."""
    run = Run(tool, quiet, None)  # type: ignore[arg-type]
    run.open(session_on(pid))
    return run
