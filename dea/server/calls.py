"""tools/list and tools/call: every tool of the catalog, and its result as an agent reads it."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext

from dea import resources
from dea.contracts.result import ToolResult
from dea.contracts.schemas import arguments_schema, schema_of
from dea.errors import DeaError
from dea.observe import Progress
from dea.server.outline import outline
from dea.server.wording import in_tools
from dea.store import home
from dea.tools import catalog
from dea.tools.brief import brief, text_of
from dea.tools.invoke import invoke
from dea.tools.tool import Tool

Context = ServerRequestContext[Any, Any]

_LINKED = ("markdown", "flamegraph_svg")
_LINKS = 2
_STEP = 0.001  # progress must grow with every notification, also when nothing is known of it


async def list_tools(
    _context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    output = outline(schema_of(ToolResult, sent=True))
    return types.ListToolsResult(tools=[_describe(t, output) for t in catalog.tools().values()])


def _describe(tool: Tool[Any], output: dict[str, Any]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=arguments_schema(tool.name),
        output_schema=output,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """A failed call is a result too (`ok` is false): an agent reads it like any other."""
    result = await invoke(params.name, params.arguments or {}, _reporter(context))
    short = brief(in_tools(result), full=_place(result))
    return types.CallToolResult(
        content=[types.TextContent(text=text_of(short)), *_links(short)],
        structured_content=short.to_wire(),
        is_error=False,
    )


def _reporter(context: Context) -> Progress:
    told = 0.0

    async def report(fraction: float, message: str) -> None:
        nonlocal told
        told = max(fraction, told + _STEP)
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the client is gone
            await context.session.report_progress(told, 1.0, message)

    return report


def _place(result: ToolResult) -> str:
    """Where the full result lies, as the session's index tells."""
    try:
        runs = home.find(result.session_id).read().runs if result.session_id else []
    except DeaError:
        return ""
    file = next((run.file for run in runs if run.run_id == result.run_id), None)
    return f"{file} in the session folder" if file else ""


def _links(result: ToolResult) -> Iterator[types.ResourceLink]:
    """Links to what a person would look at; the other artifacts are in the result by path."""
    for artifact in [a for a in result.artifacts if a.kind in _LINKED][:_LINKS]:
        yield types.ResourceLink(
            name=artifact.path.rpartition("/")[2],
            uri=resources.artifact_uri(result.session_id, artifact.path),
            mime_type="image/svg+xml" if artifact.kind == "flamegraph_svg" else "text/markdown",
            size=artifact.bytes,
        )
