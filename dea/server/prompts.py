"""prompts/list and prompts/get: the guided investigations, one text file each."""

import functools
import re
from collections.abc import Mapping
from pathlib import Path

import mcp_types as types
from mcp.shared.exceptions import MCPError

import dea
from dea.contracts.scrub import one_line
from dea.server.calls import Context

_ARGUMENTS = {
    "target": "pid, process name or command line",
    "port": "the port that is taken, such as 8080",
}
_LONGEST = 500
_BLANK = re.compile(r"\{(\w+)\}")


async def list_prompts(
    _context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[_describe(n, t) for n, t in texts().items()])


async def get_prompt(
    _context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    text = texts().get(params.name)
    if text is None:
        raise MCPError(
            code=types.INVALID_PARAMS,
            message=f"no prompt {one_line(params.name, 60)!r}; there are: {', '.join(texts())}",
        )
    return types.GetPromptResult(
        description=_purpose(text),
        messages=[
            types.PromptMessage(
                role="user",
                content=types.TextContent(text=_filled(params.name, text, params.arguments or {})),
            )
        ],
    )


@functools.cache
def texts() -> dict[str, str]:
    """Each prompt's text by its name; the wheel holds them inside the package."""
    package = Path(dea.__file__).parent
    inside, beside = package / "_data" / "prompts", package.parent / "prompts"
    folder = inside if inside.is_dir() else beside
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def _describe(name: str, text: str) -> types.Prompt:
    return types.Prompt(
        name=name,
        title=_purpose(text).rstrip("."),
        description=_purpose(text),
        arguments=[
            types.PromptArgument(name=blank, description=_ARGUMENTS[blank], required=True)
            for blank in _blanks(text)
        ],
    )


def _blanks(text: str) -> list[str]:
    """The arguments a text asks for, in the order of _ARGUMENTS."""
    found = set(_BLANK.findall(text))
    return [name for name in _ARGUMENTS if name in found]


def _purpose(text: str) -> str:
    """The first line, without a certain target."""
    return _BLANK.sub(
        lambda blank: f"a {blank[1]}", text.partition("\n")[0].replace("port {port}", "{port}")
    )


def _filled(name: str, text: str, arguments: Mapping[str, str]) -> str:
    given = {key: one_line(value, _LONGEST) for key, value in arguments.items()}
    if missing := [blank for blank in _blanks(text) if not given.get(blank)]:
        raise MCPError(code=types.INVALID_PARAMS, message=f"{name} needs: {', '.join(missing)}")
    return _BLANK.sub(lambda blank: given.get(blank[1], blank[0]), text)
