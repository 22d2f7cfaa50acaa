"""Reads the last Python traceback in what a program printed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dea.contracts.data import Frame, Stack
from dea.contracts.scrub import one_line
from dea.contracts.secrets import hide_secrets

_HEAD = "Traceback (most recent call last):"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_ERROR = re.compile(r"^[A-Za-z_][\w.]*(?:: .*)?$")
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python\d|^<frozen ")


@dataclass(frozen=True)
class Traceback:
    """`lines`: where it stands in the output, counted from 1; `error` is its last line."""

    stack: Stack
    error: str
    lines: tuple[int, int]


def last_traceback(output: Sequence[str], pid: int) -> Traceback | None:
    """The last complete traceback; None when there is none."""
    heads = [number for number, line in enumerate(output) if line.strip() == _HEAD]
    for head in reversed(heads):
        found = _read(output, head, pid)
        if found is not None:
            return found
    return None


def _read(output: Sequence[str], head: int, pid: int) -> Traceback | None:
    frames: list[Frame] = []
    for number in range(head + 1, len(output)):
        line = output[number]
        if match := _FRAME.match(line):
            frames.append(_frame(match))
        elif frames and _ERROR.match(line):
            stack = Stack(pid=pid, tid=pid, thread="", frames=frames[::-1])
            error = hide_secrets(one_line(line, 300))
            return Traceback(stack, error, (head + 1, number + 1))
        elif line and not line[0].isspace():
            return None
    return None


def _frame(match: re.Match[str]) -> Frame:
    file = match["file"]
    return Frame(
        function=one_line(match["function"] or "<module>", 100),
        file=one_line(file, 300),
        line=int(match["line"]),
        own=not _LIBRARY.search(file),
    )
