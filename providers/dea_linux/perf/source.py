"""The text of hot source lines, where the source file is still there."""

from collections.abc import Iterable

from dea.profile.hot import Hot
from dea.profile.stacks import said
from dea.profile.target_files import read_target_text

_HOT = 8


def hot_lines(hots: Iterable[Hot]) -> dict[str, str]:
    """Each hot line's text by `file:line`."""
    found: dict[str, str] = {}
    for hot in list(hots)[:_HOT]:
        frame = hot.data.frame
        if frame.own and frame.file and frame.file.startswith("/") and frame.line:
            lines = (read_target_text(hot.data.pid, frame.file) or "").split("\n")
            if frame.line <= len(lines):
                found[f"{frame.file}:{frame.line}"] = said(lines[frame.line - 1])
    return found
