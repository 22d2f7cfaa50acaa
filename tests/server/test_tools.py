"""tools/list and tools/call, as a client of either era sees them."""

import json
from typing import Any

import anyio
import jsonschema
import pytest
from mcp_types import CallToolResult, TextContent

from dea.contracts.arguments import BY_TOOL
from dea.contracts.data import Metric, Note
from dea.contracts.evidence import Fact
from dea.contracts.schemas import arguments_schema
from dea.rules.draft import Draft
from dea.tools import catalog
from dea.tools.run import Run
from tests.real.targets import Target
from tests.server.conftest import Checked, Connect, StandIn

pytestmark = pytest.mark.anyio


async def test_every_tool_of_the_catalog_is_listed_as_it_describes_itself(connect: Connect) -> None:
    async with connect() as client:
        listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == list(catalog.tools())
    for tool in listed:
        own = catalog.find(tool.name)
        assert tool.input_schema == arguments_schema(tool.name)
        assert tool.description == own.description
        assert tool.title == own.title
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint == own.read_only
        assert tool.annotations.destructive_hint == own.destructive
        assert tool.annotations.idempotent_hint == own.idempotent
        assert tool.annotations.open_world_hint is False


async def test_the_list_of_tools_is_small_enough_to_be_read(connect: Connect) -> None:
    async with connect() as client:
        listed = (await client.list_tools()).tools
    for tool in listed:
        jsonschema.Draft202012Validator.check_schema(tool.output_schema or {})
        assert len(json.dumps(tool.output_schema, separators=(",", ":"))) < 620


async def test_a_session_from_attach_to_detach(
    connect: Connect, checked: Checked, specimen: Target
) -> None:
    async with connect() as client:
        attached = await client.call_tool("attach", {"target": str(specimen.pid)})
        result = checked(attached)
        assert result["ok"]
        assert result["target"]["pid"] == specimen.pid
        assert result["target"]["runtime"] == "python"
        session = result["session_id"]
        assert session in text(attached)
        detached = checked(await client.call_tool("detach", {"session_id": session}))
    assert detached["ok"]
    assert detached["run_id"] == "detach#1"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("attach", {}, "target"),
        ("attach", {"target": 7}, "target"),
        ("attach", {"target": "1", "colour": "red"}, "colour"),
        ("profile_cpu", {"session_id": "x", "duration_s": 61}, "duration_s"),
        ("profile_cpu", {"session_id": "x", "duration_s": "10"}, "duration_s"),
        ("detach", {"session_id": "nope"}, "no session 'nope'"),
        ("detach", {"session_id": "../../etc"}, "no session"),
        ("attach", {"target": "4194305"}, "no process"),
        ("no_such_tool", {}, "no tool 'no_such_tool'"),
        ("x" * 100_000, {}, "no tool"),
        ("attach", {"target": "\x00\x1b[31m\u202eevil" * 1000}, "no process"),
    ],
)
async def test_bad_calls_are_results_that_say_what_is_wrong(
    connect: Connect, checked: Checked, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with connect() as client:
        answer = await client.call_tool(tool, arguments)
    result = checked(answer)
    assert not result["ok"]
    assert said in result["error"]
    assert "failed: " in text(answer)
    assert len(json.dumps(result)) < 24 * 1024


async def test_the_rejected_value_is_not_repeated(connect: Connect, checked: Checked) -> None:
    async with connect() as client:
        answer = await client.call_tool("profile_cpu", {"session_id": "x", "consent": "hunter2"})
    assert "hunter2" not in json.dumps(checked(answer)) + text(answer)


async def test_nothing_a_target_says_can_break_the_reply(
    connect: Connect, checked: Checked, stand_in: StandIn
) -> None:
    async def behave(run: Run) -> None:
        run.cite(Fact(Note(text="\udcff\ud800\x00\u202e" * 50), "lone \udcff surrogate"))
        run.cite(Fact(Metric.model_construct(name="n", value=float("nan"), unit=""), "no number"))
        run.cite(Fact(Metric(name="big", value=1.0, unit="", pid=2**70), "too large"))
        run.limit("\udcff limit")
        run.drafts.append(Draft("info", "a \ud800 cause", ["readiness.e1"], "observed", "\udcff"))

    stand_in.behave = behave
    async with connect() as client:
        answer = await client.call_tool("readiness", {})
    result = checked(answer)
    assert result["ok"]
    json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
    text(answer).encode()
    assert result["evidence"][1]["data"]["value"] is None
    assert result["evidence"][2]["data"]["pid"] == 2**53 - 1


async def test_a_bug_in_a_tool_is_an_answer(
    connect: Connect, checked: Checked, stand_in: StandIn
) -> None:
    async def behave(_run: Run) -> None:
        raise ZeroDivisionError("oops")

    stand_in.behave = behave
    async with connect() as client:
        result = checked(await client.call_tool("readiness", {}))
    assert "internal error in readiness: ZeroDivisionError" in result["error"]


async def test_progress_comes_while_a_tool_runs_and_only_grows(
    connect: Connect, checked: Checked, stand_in: StandIn
) -> None:
    told: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert total == 1.0
        told.append((progress, message))
        if len(told) == 2:
            stand_in.finish.set()

    async with connect() as client:
        with anyio.fail_after(20):
            answer = await client.call_tool("readiness", {}, progress_callback=on_progress)
    assert checked(answer)["ok"]
    assert [message for _, message in told] == ["half way", "half way"]
    assert 0.5 <= told[0][0] < told[1][0]


async def test_calls_run_side_by_side(
    connect: Connect, checked: Checked, stand_in: StandIn, specimen: Target
) -> None:
    async with connect() as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "readiness")
        await stand_in.started.wait()
        attached = checked(await client.call_tool("attach", {"target": str(specimen.pid)}))
        assert attached["ok"]
        assert not stand_in.cleaned.is_set()
        stand_in.finish.set()


async def test_a_cancelled_call_cleans_up_and_the_server_goes_on(
    connect: Connect, checked: Checked, stand_in: StandIn
) -> None:
    async with connect() as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "readiness")
            await stand_in.started.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(10):
            await stand_in.cleaned.wait()
        assert not checked(await client.call_tool("detach", {"session_id": "none"}))["ok"]


def test_each_tool_has_arguments_in_the_contract() -> None:
    assert set(catalog.tools()) <= set(BY_TOOL)


def text(answer: CallToolResult) -> str:
    first = answer.content[0]
    assert isinstance(first, TextContent)
    assert 0 < len(first.text.encode()) < 1500
    return first.text
