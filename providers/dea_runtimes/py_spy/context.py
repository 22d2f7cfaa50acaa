"""What a line of Python does: what it calls, and which loop runs it again and again."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dea_runtimes.py_spy.source import Function

_PLACEHOLDER = re.compile(r"<([a-z-]+)>")  # what hide_secrets leaves
_Statement = ast.For | ast.AsyncFor | ast.While
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_NAMES = 8


@dataclass(frozen=True)
class LineContext:
    """One line of a function.

    `calls`: what it calls (in a loop: what it calls each time round). `loop_line`: where the
    innermost loop over data begins, if any; `loop_calls` what is called each time round and
    `fed_by` what the function calls outside that loop. `uses_item`: the line reads the loop's
    variable.
    """

    text: str
    in_loop: bool | None = None
    calls: list[str] = field(default_factory=list[str])
    loop_line: int | None = None
    loop_calls: list[str] = field(default_factory=list[str])
    fed_by: list[str] = field(default_factory=list[str])
    uses_item: bool = False


def line_context(
    functions: Sequence[Function], file: str | None, line: int | None
) -> LineContext | None:
    """None when the line's text is not known."""
    for function in functions:
        if file is not None and line is not None and function.holds(file, line):
            text = function.text.split("\n")[line - function.first_line].strip()
            tree = _tree(function.text)
            if tree is None:
                return LineContext(text)
            offset = function.first_line - 2  # the added first line counts too
            return _describe(tree, text, line - offset, offset)
    return None


def _tree(text: str) -> ast.AST | None:
    indented = text[:1].isspace()
    head = "if True:\n" if indented else "\n"
    try:
        return ast.parse(head + _PLACEHOLDER.sub("hidden", text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _describe(tree: ast.AST, text: str, line: int, offset: int) -> LineContext:
    here = [node for node in ast.walk(tree) if _begins_on(node, line)]
    calls = [node for node in here if isinstance(node, ast.Call)]
    subjects = calls or here
    loops = [
        loop
        for loop in ast.walk(tree)
        if isinstance(loop, _Statement | _Comprehension)
        and _repeats(loop).intersection(map(id, subjects))
    ]
    repeated = {node for loop in loops for node in _repeats(loop)}
    calls = [call for call in calls if id(call) in repeated] if loops else calls
    over_data = [loop for loop in loops if not _drives(loop)]
    if not over_data:
        return LineContext(text, bool(loops), _names(calls))
    loop = over_data[-1]  # ast.walk goes outside in
    each_time = _repeats(loop)
    all_calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return LineContext(
        text=text,
        in_loop=True,
        calls=_names(calls),
        loop_line=loop.lineno + offset,
        loop_calls=_names([call for call in all_calls if id(call) in each_time]),
        fed_by=_names([call for call in all_calls if id(call) not in each_time]),
        uses_item=_reads(here, _targets(loop)),
    )


def _begins_on(node: ast.AST, line: int) -> bool:
    """Whether running the node is shown as this line: a call shows where its function's name ends."""
    if isinstance(node, ast.Call):
        return line in (node.lineno, node.func.end_lineno)
    return isinstance(node, ast.stmt | ast.expr) and node.lineno == line


def _repeats(loop: _Statement | _Comprehension) -> set[int]:
    """Ids of the nodes that run each time round; what a loop goes over is worked out once."""
    match loop:
        case ast.For() | ast.AsyncFor():
            parts: list[ast.AST] = [*loop.body]
        case ast.While():
            parts = [loop.test, *loop.body]
        case ast.DictComp():
            parts = [loop.key, loop.value, *_inner(loop.generators)]
        case _:
            parts = [loop.elt, *_inner(loop.generators)]
    return {id(node) for part in parts for node in ast.walk(part)}


def _inner(generators: list[ast.comprehension]) -> list[ast.AST]:
    conditions = [test for generator in generators for test in generator.ifs]
    return [*conditions, *(generator.iter for generator in generators[1:])]


def _drives(loop: _Statement | _Comprehension) -> bool:
    """`while True` or `while running` keeps a program going; it does not go over data."""
    return isinstance(loop, ast.While) and not isinstance(loop.test, ast.NamedExpr)


def _targets(loop: _Statement | _Comprehension) -> set[str]:
    match loop:
        case ast.For() | ast.AsyncFor():
            targets: list[ast.AST] = [loop.target]
        case ast.While():
            targets = []
        case _:
            targets = [generator.target for generator in loop.generators]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _reads(nodes: Sequence[ast.AST], names: set[str]) -> bool:
    return any(
        isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in names
        for node in nodes
        for part in ast.walk(node)
    )


def _names(calls: Sequence[ast.Call]) -> list[str]:
    return list(dict.fromkeys(name for call in calls for name in _name(call.func)))[:_NAMES]


def _name(function: ast.expr) -> Iterator[str]:
    """`db.execute`; of a longer expression only its last part, since the rest may hold values."""
    parts: list[str] = []
    while isinstance(function, ast.Attribute):
        parts.insert(0, function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.insert(0, function.id)
    elif parts:
        parts = parts[-1:]
    if parts:
        yield ".".join(parts)
