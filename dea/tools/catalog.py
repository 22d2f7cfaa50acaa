"""All tools, found by walking this package."""

import functools
import importlib
import pkgutil
from typing import Any

import dea.tools
from dea.contracts.arguments import BY_TOOL
from dea.errors import ArgumentError
from dea.tools.tool import Tool


@functools.cache
def tools() -> dict[str, Tool[Any]]:
    """Every tool by name, in the order in which the contract lists them."""
    found: dict[str, Tool[Any]] = {}
    for module in pkgutil.iter_modules(dea.tools.__path__, "dea.tools."):
        tool = getattr(importlib.import_module(module.name), "TOOL", None)
        if tool is not None:
            found[tool.name] = tool
    order = list(BY_TOOL)
    return dict(sorted(found.items(), key=lambda item: order.index(item[0])))


def find(name: str) -> Tool[Any]:
    """Raises ArgumentError when there is no such tool."""
    try:
        return tools()[name]
    except KeyError:
        raise ArgumentError(f"no tool {name!r}", f"There are: {', '.join(tools())}") from None
