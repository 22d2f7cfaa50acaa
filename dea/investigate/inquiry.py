"""What a plan may do. The tool `investigate` provides it."""

from collections.abc import Iterable
from typing import Any, Protocol

from dea.contracts.data import Data
from dea.contracts.evidence import Evidence
from dea.contracts.session import Session
from dea.contracts.target import Target
from dea.rules.draft import Rule


class Inquiry(Protocol):
    """One investigation under way. Everything it sees is kept, also what no cause cites."""

    target: Target
    port: int | None
    duration_s: int | None
    consent: bool

    @property
    def evidence(self) -> list[Evidence]:
        """All evidence so far, of every step."""
        ...

    def session(self) -> Session:
        """The session as it is now."""
        ...

    def output(self, stream: str) -> list[str]:
        """Lines that a launched command printed on "stdout" or "stderr", the first 256 KiB."""
        ...

    async def wait_for_exit(self, limit_s: float) -> int | None:
        """The exit code of a launched command, None if it still runs after `limit_s`."""
        ...

    async def step(self, tool: str, **arguments: Any) -> bool:
        """Run another tool as a run of its own and take over its evidence; False if it failed."""
        ...

    async def side_by_side(self, *steps: tuple[str, dict[str, Any]]) -> None:
        """Run several tools at the same time."""
        ...

    async def observe(self, serving: str, duration_s: float = 0.0, **options: Any) -> bool:
        """Let the backend that serves `serving` look, as part of this run; False if it failed."""
        ...

    def cite(
        self, data: Data, summary: str, log: str = "", lines: tuple[int, int] = (1, 1)
    ) -> None:
        """Take a fact as evidence; `log` ("stderr") and `lines` say where it was printed."""
        ...

    def judge(self, *families: Iterable[Rule]) -> None:
        """Conclude from all evidence so far."""
        ...

    def limit(self, *texts: str) -> None:
        """Say what this investigation cannot see."""
        ...

    def suggest(self, *tools: str) -> None:
        """Name tools that would tell more."""
        ...
