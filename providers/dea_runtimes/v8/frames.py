"""JavaScript frames: which are the user's own, and what the others are called."""

import re
from typing import Any
from urllib.parse import unquote

from dea.contracts.data import Frame
from dea.profile.stacks import said

COLLECTOR, REGEXP = "[garbage collection]", "[regular expression]"
EVENT_LOOP, TOP_LEVEL = "Node.js", "(top level)"
_PACKAGE = re.compile(r".*/node_modules/((?:@[^/]+/)?[^/]+)/")
_NODE = "node:"


def frame_of(record: dict[str, Any]) -> Frame:
    """A frame of the reader's records. Raises KeyError or TypeError when it is none."""
    function = said(str(record["function"]))
    match record["what"]:
        case "js":
            return _script_frame(function, str(record["file"]), record["line"])
        case "builtin":
            return Frame(function=f"{function} (built-in)")
        case "gc":
            return Frame(function=COLLECTOR)
        case "regexp":
            return Frame(function=REGEXP)
        case "syscall":
            return Frame(function=function, module="[kernel]")
        case "native":
            return Frame(function=function, module=said(str(record["file"]), 300) or None)
        case _:
            return Frame(function="[function not known]")


def _script_frame(function: str, file: str, line: int | None) -> Frame:
    if file.startswith("file://"):
        file = unquote(file.removeprefix("file://"))
    package = _PACKAGE.match(file)
    module = package[1] if package else file if file.startswith(_NODE) else None
    return Frame(
        function=function,
        file=said(file, 300) or "[eval]",
        line=line,
        module=None if module is None else said(module, 80),
        own=module is None,
    )
