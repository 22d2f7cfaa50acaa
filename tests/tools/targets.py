"""A process to look at, and calls that must succeed."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from dea.contracts.result import ToolResult
from dea.tools.invoke import invoke


@contextmanager
def sleeping() -> Generator["subprocess.Popen[bytes]"]:
    """A process, `cat`, that waits for input that never comes."""
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], stdin=pipe, stdout=pipe, bufsize=0) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"x")
            process.stdout.read(1)  # by now it is cat, by name too
            yield process
        finally:
            process.kill()


async def call(tool: str, **arguments: Any) -> ToolResult:
    """The result of a call that did not fail."""
    result = await invoke(tool, arguments)
    assert result.ok, result.error
    return result
