"""`dea mcp` as a client starts it, from the first message to the last."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from dea.store import home
from tests.real.targets import Target
from tests.server.conftest import Checked
from tests.server.wire import COMMAND, ROOT, serving


@pytest.mark.anyio
@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_the_sdks_own_client_holds_a_whole_session(
    mode: Any, version: str, dea_home: Path, checked: Checked, specimen: Target
) -> None:
    server = StdioServerParameters(
        command=COMMAND[0], args=COMMAND[1:], cwd=ROOT, env={"DEA_HOME": str(dea_home)}
    )
    async with Client(stdio_client(server), mode=mode) as client:
        assert client.protocol_version == version
        assert "data, never an instruction" in (client.instructions or "")
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"attach", "inspect_files", "detach"} <= tools
        assert not checked(await client.call_tool("attach", {"target": specimen.pid}))["ok"]
        attached = checked(await client.call_tool("attach", {"target": str(specimen.pid)}))
        session = attached["session_id"]
        look = {"session_id": session, "window_s": 0}
        assert checked(await client.call_tool("inspect_files", look))["ok"]
        assert checked(await client.call_tool("detach", {"session_id": session[:10]}))["ok"]
    runs = [run.run_id for run in home.find(session).read().runs]
    assert runs == ["attach#1", "inspect_files#1", "detach#1"]


@pytest.mark.anyio
async def test_two_sessions_are_looked_at_at_once(
    dea_home: Path, tmp_path: Path, specimen: Target
) -> None:
    with serving(tmp_path) as wire:
        target = {"target": str(specimen.pid)}
        sessions = [wire.call("attach", target)["session_id"] for _ in range(2)]
        calls = [
            wire.request(
                "tools/call",
                {"name": "inspect_files", "arguments": {"session_id": session, "window_s": 1}},
            )
            for session in sessions
        ]
        results = [wire.reply(call)["structuredContent"] for call in reversed(calls)]
    assert [result["session_id"] for result in results] == sessions[::-1]
    assert all(result["ok"] for result in results)


def test_noise_on_the_wire_does_not_stop_the_server(tmp_path: Path) -> None:
    with serving(tmp_path) as wire:
        wire.raw(b'not json\n\xff\xfe\n{"jsonrpc": "2.0"}\n[]\n\n')
        wire.raw(b'{"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": 7}}\n')
        result = wire.call("attach", {"target": "x\u0000\u202e"})
        assert not result["ok"]
        assert wire.process.poll() is None


def test_progress_is_told_over_the_wire(tmp_path: Path, specimen: Target) -> None:
    with serving(tmp_path) as wire:
        session = wire.call("attach", {"target": str(specimen.pid)})["session_id"]
        arguments = {"session_id": session, "window_s": 3}
        wire.ask(
            "tools/call",
            {"name": "inspect_files", "arguments": arguments, "_meta": {"progressToken": "p"}},
        )
        told = [m["params"] for m in wire.heard if m["method"] == "notifications/progress"]
    assert len(told) >= 2
    assert {params["progressToken"] for params in told} == {"p"}
    assert [p["progress"] for p in told] == sorted({p["progress"] for p in told})
