"""A server to talk to in either protocol era, a process to attach to, and a tool that takes its time."""

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client
from mcp_types import CallToolResult

from dea.contracts.arguments import Arguments, NoArguments
from dea.server.app import build
from dea.tools import catalog
from dea.tools.run import Run
from dea.tools.tool import Tool
from tests.real.catalogue import Specimen
from tests.real.targets import Target, start

SCHEMAS = Path(__file__).parents[2] / "schemas"
ERAS = ("legacy", "2026-07-28")

Structured = dict[str, Any]
Connect = Callable[[], Client]
Checked = Callable[[CallToolResult], Structured]


@pytest.fixture(params=ERAS)
def connect(request: pytest.FixtureRequest) -> Connect:
    """Makes a client of a new server in this process, in each protocol era in turn."""

    def connect_one() -> Client:
        return Client(build(), mode=request.param)

    return connect_one


@pytest.fixture(scope="session")
def checked() -> Checked:
    """The structured content of a call, which must be an exact ToolResult whatever happened."""
    schema = json.loads((SCHEMAS / "tool_result.schema.json").read_text(encoding="utf-8"))

    def check(answer: CallToolResult) -> Structured:
        assert answer.is_error is False
        content: Structured = answer.structured_content
        jsonschema.validate(content, schema)
        cited = {id_ for finding in content["findings"] for id_ in finding["evidence_ids"]}
        assert cited <= {evidence["id"] for evidence in content["evidence"]}
        return content

    return check


@pytest.fixture
def specimen(tmp_path: Path) -> Iterator[Target]:
    """A python process that computes. After the test it must still run, untraced."""
    target = start(Specimen("cpu_hot.py"), lambda source: source, tmp_path)
    try:
        yield target
        assert not list(target.damage())
    finally:
        target.end()


class StandIn:
    """A tool that does what a test asks: by default it runs until it is told to finish."""

    def __init__(self) -> None:
        self.behave: Callable[[Run], Awaitable[None]] = self.take_long
        self.started, self.finish, self.cleaned = anyio.Event(), anyio.Event(), anyio.Event()

    async def run(self, _arguments: Arguments, run: Run) -> None:
        await self.behave(run)

    async def take_long(self, run: Run) -> None:
        self.started.set()
        await run.report(0.5, "half way")
        try:
            await self.finish.wait()
        finally:
            self.cleaned.set()


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Stands in for the tool readiness."""
    it = StandIn()
    tool = Tool(name="readiness", title="T", description="D", arguments=NoArguments, run=it.run)
    tools: dict[str, Tool[Any]] = {**catalog.tools(), "readiness": tool}
    monkeypatch.setattr(catalog, "tools", lambda: tools)
    return it
