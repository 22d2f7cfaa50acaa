"""resources/list, resources/templates/list, resources/read and completion/complete."""

import base64

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from dea import resources
from dea.contracts.scrub import one_line
from dea.contracts.session import Session
from dea.errors import DeaError
from dea.server.calls import Context
from dea.store import home
from dea.store.session import StoredSession

_COMPLETIONS = 100  # the protocol's limit


async def list_resources(
    _context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=it.uri, name=it.name, mime_type=it.mime_type, description=it.description
            )
            for it in resources.listing()
        ]
    )


async def list_templates(
    _context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(
                uri_template=it.uri,
                name=it.name,
                mime_type=it.mime_type,
                description=it.description,
            )
            for it in resources.TEMPLATES
        ]
    )


async def read_resource(
    _context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    try:
        content = await anyio.to_thread.run_sync(resources.read, params.uri)
    except (DeaError, OSError) as error:
        raise MCPError(
            code=types.INVALID_PARAMS,
            message=one_line(str(error), 1000),
            data={"uri": one_line(params.uri, 1000)},
        ) from error
    if isinstance(content.body, str):
        contents: types.TextResourceContents | types.BlobResourceContents = (
            types.TextResourceContents(
                uri=params.uri, mime_type=content.mime_type, text=content.body
            )
        )
    else:
        contents = types.BlobResourceContents(
            uri=params.uri,
            mime_type=content.mime_type,
            blob=base64.b64encode(content.body).decode(),
        )
    return types.ReadResourceResult(contents=[contents])


async def complete(_context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    given = (params.context.arguments if params.context else None) or {}
    try:
        known = _known(params, given)
    except (DeaError, OSError):
        known = []  # an unknown session has nothing to offer
    fitting = [value for value in known if value.startswith(params.argument.value)]
    return types.CompleteResult(
        completion=types.Completion(
            values=fitting[:_COMPLETIONS],
            total=len(fitting),
            has_more=len(fitting) > _COMPLETIONS,
        )
    )


def _known(params: types.CompleteRequestParams, given: dict[str, str]) -> list[str]:
    """All values that an argument may have."""
    name = params.argument.name
    if isinstance(params.ref, types.PromptReference):
        return _targets() if name == "target" else []
    if name == "id":
        return home.names()
    session = home.find(given.get("id", "-"))
    if name == "run_id":
        return [run.run_id for run in session.read().runs]
    return resources.artifact_names(session) if name == "name" else []


def _targets() -> list[str]:
    """What the open sessions are about, the newest first."""
    sessions: list[Session] = []
    for name in home.names()[:_COMPLETIONS]:
        try:
            sessions.append(StoredSession(home.sessions_folder() / name).read())
        except DeaError:
            continue
    open_ones = (session.target.id for session in sessions if session.state == "attached")
    return list(dict.fromkeys(open_ones))
