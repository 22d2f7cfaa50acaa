"""Reads the functions that a profile points at from the target's files, and nothing else of them."""

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from dea.contracts.data import Frame
from dea.contracts.secrets import hide_secrets
from dea.profile.hot import Hot
from dea.profile.target_files import read_target_text

_LONGEST_LINES = 400
_HOT, _CALLERS = 8, 3  # how many hot functions, and callers of each, are read


@dataclass(frozen=True)
class Function:
    """The text of one function as it stands in its file from line `first_line` on."""

    file: str
    first_line: int
    text: str

    def holds(self, file: str, line: int) -> bool:
        last_line = self.first_line + self.text.count("\n")
        return file == self.file and self.first_line <= line <= last_line


def read_functions(hots: Iterable[Hot]) -> list[Function]:
    """The user's own functions that are hot, and the own functions that called them."""
    found: list[Function] = []
    texts: dict[str, str | None] = {}
    for pid, frame in _wanted(hots):
        file, line = frame.file or "", frame.line or 0
        if any(function.holds(file, line) for function in found):
            continue
        if file not in texts:
            texts[file] = read_target_text(pid, file)
        text = texts[file]
        if text is not None and (function := _enclosing(file, text, line)) is not None:
            found.append(function)
    return found


def to_json(functions: Iterable[Function]) -> str:
    return json.dumps([asdict(function) for function in functions], ensure_ascii=False, indent=1)


def from_json(text: str) -> list[Function]:
    return [Function(**item) for item in json.loads(text)] if text else []


def _wanted(hots: Iterable[Hot]) -> Iterator[tuple[int, Frame]]:
    for hot in list(hots)[:_HOT]:
        chain = [hot.data.frame, *hot.chain[1:]]
        own = [frame for frame in chain if frame.own and frame.file and frame.line]
        yield from [(hot.data.pid, frame) for frame in own[: 1 + _CALLERS]]


def _enclosing(file: str, text: str, line: int) -> Function | None:
    """The innermost function around the line, or a few lines when the file cannot be parsed."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines) or "PRIVATE KEY" in text:
        return None
    first, last = _span(text, line) or (max(line - 3, 1), min(line + 3, len(lines)))
    last = min(last, max(line, first + _LONGEST_LINES))
    # Line by line, so that a replaced secret never moves the lines below it.
    kept = [hide_secrets(text) for text in lines[first - 1 : last]]
    return Function(file, first, "\n".join(kept))


def _span(text: str, line: int) -> tuple[int, int] | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    spans = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if spans:
        return max(spans)  # the one that begins last is the innermost
    for node in tree.body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            return node.lineno, node.end_lineno or node.lineno
    return None
