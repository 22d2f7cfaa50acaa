"""The text of hot source lines, where the source file is still there."""

import os
import stat
from collections.abc import Iterable

from dea.profile.hot import Hot
from dea.profile.stacks import said

_LARGEST_BYTES = 2**20
_HOT = 8


def hot_lines(hots: Iterable[Hot]) -> dict[str, str]:
    """Each hot line's text by `file:line`."""
    found: dict[str, str] = {}
    for hot in list(hots)[:_HOT]:
        frame = hot.data.frame
        if frame.own and frame.file and frame.file.startswith("/") and frame.line:
            text = _line(frame.file, frame.line)
            if text:
                found[f"{frame.file}:{frame.line}"] = text
    return found


def _line(file: str, line: int) -> str:
    """Empty when there is no such line, or the file is no plain file of bounded size."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST_BYTES:
                return ""
            lines = opened.read(_LARGEST_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ""
    return said(lines[line - 1]) if 0 < line <= len(lines) else ""
